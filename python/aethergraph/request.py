"""What to sample: the ticket of docs/PROTOCOL.md, and its arithmetic."""

import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

from aethergraph.seeds import Seeds

PROTOCOL_VERSION = 1
MAX_HOPS = 255

Uneven = Literal["wrap", "drop", "ragged"]

# What all mini-batches of a training have in common, and what differs where these do.
SAME_EVERYWHERE = {
    "fingerprint": "nodes or edges",
    "content_id": "edge ids, or the features and attributes beside the graph",
    "generator": "how the release of the engine draws",
}


@dataclass(frozen=True)
class Request:
    """One rank's batches of one epoch. The fields are those of the ticket; `None` for seeds and attributes means all.

    Attributes:
        fanouts: neighbours to draw per hop; -1 takes all.
        batch_size: seeds per mini-batch; the last may have fewer.
        seeds: the nodes that the epoch starts from.
        first, count: a range of this rank's batches; count 0 goes to the end.
        fingerprint, content_id: of the graph that is meant; another one is refused.
        generator: that draws; an engine with another one refuses.
    """

    fanouts: tuple[int, ...]
    batch_size: int = 1024
    seeds: Seeds | None = None
    replace: bool = False
    edge_ids: bool = True
    features: bool = True
    node_attrs: tuple[str, ...] | None = None
    original_ids: bool = False
    seed: int = 0
    epoch: int = 0
    shuffle: bool = False
    drop_last: bool = False
    rank: int = 0
    world_size: int = 1
    uneven: Uneven = "wrap"
    first: int = 0
    count: int = 0
    fingerprint: str = ""
    content_id: str = ""
    generator: str = ""

    def ticket(self) -> bytes:
        """The request as the server reads it."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "seeds"}
        nodes: Any = "all" if self.seeds is None else {"upload": self.seeds.digest}
        return json.dumps({"version": PROTOCOL_VERSION, **fields, "nodes": nodes}).encode()

    def of(self, info: dict[str, Any]) -> Self:
        """The same request, of the graph and the generator that an engine says it has: for no others."""
        return self.at(**{name: info[name] for name in SAME_EVERYWHERE})

    def at(self, **changes: Any) -> Self:
        """The same request but for these fields."""
        return replace(self, **changes)

    def check(self) -> Self:
        """Returns the request, or raises ValueError that names the argument, what is wrong, and what would be right."""
        _check_fanouts(self.fanouts)
        _at_least("batch_size", self.batch_size, 1)
        _at_least("seed", self.seed, 0, 2**64)
        _at_least("epoch", self.epoch, 0, 2**64)
        _at_least("world_size", self.world_size, 1)
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"rank: {self.rank} is not one of the {self.world_size} ranks 0 to {self.world_size - 1}")
        if self.uneven not in get_args(Uneven):
            raise ValueError(f"uneven: {self.uneven!r} is not one of {', '.join(get_args(Uneven))}")
        return self

    def share(self, batches: int) -> int:
        """How many of the epoch's `batches` the rank gives, by docs/PROTOCOL.md."""
        if self.uneven == "drop":
            return batches // self.world_size
        if self.uneven == "ragged":
            return max(0, -(-(batches - self.rank) // self.world_size))
        return -(-batches // self.world_size)


def fanouts_from_user(num_neighbors: Sequence[int]) -> tuple[int, ...]:
    """Reads `num_neighbors`; ValueError for what is no list of integers."""
    try:
        return tuple(operator.index(k) for k in num_neighbors)
    except TypeError:
        raise ValueError(
            f"num_neighbors: a list of integers is wanted, one per hop, such as [25, 10], not {num_neighbors!r}"
        ) from None


def integer_from_user(name: str, value: Any) -> int:
    """Reads an argument that must be an integer; ValueError that names it for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: an integer is wanted, not {value!r}") from None


def _check_fanouts(fanouts: tuple[int, ...]) -> None:
    if not 1 <= len(fanouts) <= MAX_HOPS:
        raise ValueError(f"num_neighbors: {len(fanouts)} hops; give between 1 and {MAX_HOPS}, such as [25, 10]")
    for k in fanouts:
        if k < -1:
            raise ValueError(f"num_neighbors: {k} is no fanout: give how many neighbours to draw, or -1 for all")


def _at_least(name: str, value: int, least: int, below: int | None = None) -> None:
    if value < least or (below is not None and value >= below):
        limit = f" and below {below}" if below is not None else ""
        raise ValueError(f"{name}: {value} is out of range: give an integer of at least {least}{limit}")
