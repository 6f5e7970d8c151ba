"""What can go wrong, by kind. Bad arguments raise ValueError, IndexError or FileNotFoundError as usual.

A message names the thing, the place and the remedy; that a graph is damaged, for example, is told with file, section,
block and offset, as the engine saw it.
"""


class AetherGraphError(Exception):
    """The root of the errors of this package that no built-in exception fits."""


class CorruptGraphError(AetherGraphError):
    """A file of the graph is damaged. The engine goes on serving what is not."""


class GraphMismatchError(AetherGraphError):
    """The graph is another than the one that the request was made for: their fingerprints or content ids differ."""


class EngineError(AetherGraphError):
    """The engine could not be started, or ended again and again; the message has its last words."""


class EngineGoneError(AetherGraphError):
    """Nobody answers on the engine's socket (any more). Clients start it again and repeat their request."""


class UnknownUploadError(AetherGraphError):
    """The engine does not have (any more) the list of seeds that a request names. Clients send it again."""
