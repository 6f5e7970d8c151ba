"""The one place of the version: the wheel's, and by the linker the engine's."""

__version__ = "0.1.0"
