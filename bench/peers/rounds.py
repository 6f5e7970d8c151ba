"""Interleaving: in each round everybody runs once, so that those who are compared run at about the same time."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar


class Runs(Protocol):
    """Somebody who runs."""

    @property
    def key(self) -> str:
        """Unique."""

    @property
    def once(self) -> bool:
        """Too slow to run in every round."""


R = TypeVar("R", bound=Runs)


def of(contestants: Iterable[R], repeat: int) -> Iterator[list[R]]:
    """The rounds. Every second one runs backwards, so that nobody always comes after the same neighbour."""
    everybody = list(contestants)
    yield everybody
    again = [c for c in everybody if not c.once]
    for number in range(1, repeat):
        yield again[::-1] if number % 2 else again


def expected_seconds(everybody: Iterable[Runs], took: Mapping[str, float]) -> float:
    """How long a round will take, by how long each took before; nobody has run before the first one."""
    return sum(took.get(c.key, 0.0) for c in everybody)
