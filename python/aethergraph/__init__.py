"""Neighbour sampling for graphs larger than RAM.

    graph.bin ──► engine (one process per user, machine and graph) ──socket──► trainer
                  engine.py finds or starts it                       client.py asks it and repeats what was lost
                                                                     collate.py makes tensors of what it answers
                                                                     ray/ is the same for Ray Data and Ray Train
    edges ──► building.py ──► aether-ooc build ──► graph.bin

The package never reads a graph itself: it speaks the protocol of docs/PROTOCOL.md through `transport.Transport`.
"""

from aethergraph._version import __version__
from aethergraph.building import BuildResult, build, from_pyg
from aethergraph.errors import AetherGraphError, CorruptGraphError, EngineError, GraphMismatchError

__all__ = [
    "AetherGraphError",
    "BuildResult",
    "CorruptGraphError",
    "EngineError",
    "GraphMismatchError",
    "__version__",
    "build",
    "from_pyg",
]
