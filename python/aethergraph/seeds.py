"""The nodes that an epoch starts from, as users give them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Seeds:
    """A list of seed nodes, by name; whoever has to send it to an engine loads it.

    Attributes:
        digest: its name in the protocol, the hex SHA-256 of the ids as little-endian int64.
        count: how many ids it has.
        mask: whether they were given as a mask over all nodes; `input_id` is then the node's id, else its position.
        load: gives the ids, int64, shape (count,), C-contiguous, read-only.
    """

    digest: str
    count: int
    mask: bool
    load: Callable[[], Ids] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Held:
    """Ids in this process's memory, as Seeds.load."""

    ids: Ids

    def __call__(self) -> Ids:
        """The ids."""
        return self.ids


def from_ids(ids: Ids, *, mask: bool = False) -> Seeds:
    """Names a list of ids, which the caller gives away."""
    ids.flags.writeable = False
    digest = hashlib.sha256(ids.astype("<i8", copy=False).data).hexdigest()
    return Seeds(digest, ids.size, mask, Held(ids))


def from_user(nodes: Any, num_nodes: int) -> Seeds | None:
    """Reads `input_nodes`: a list, a NumPy array, a torch tensor, a mask of bool, or None for all nodes.

    Raises:
        ValueError: not one-dimensional, not of integers (floats are not rounded), or a mask of another length.
        IndexError: an id that the graph does not have.
    """
    if nodes is None:
        return None
    array = _array(nodes)
    if array.ndim != 1:
        raise ValueError(
            f"input_nodes: a one-dimensional list of node ids is wanted, not an array of shape {array.shape}"
        )
    if array.dtype == bool:
        return _from_mask(array, num_nodes)
    if array.size == 0:
        array = array.astype(np.int64)
    ids = _int64(array)
    _check_range(ids, num_nodes)
    return from_ids(ids)


def from_originals(nodes: Any, lookup: Callable[[Ids], Ids]) -> Seeds | None:
    """Reads `input_nodes` that hold the ids of nodes before `build(relabel=…)`; `lookup` knows the nodes.

    Raises:
        ValueError: not a one-dimensional list of integers, or a mask, which speaks of the graph's own ids.
        IndexError: an id that no node had.
    """
    if nodes is None:
        return None
    array = _array(nodes)
    if array.ndim != 1 or array.dtype == bool:
        raise ValueError("input_nodes: with input_original=True a one-dimensional list of original ids is wanted")
    if array.size == 0:
        array = array.astype(np.int64)
    return from_ids(lookup(_int64(array)))


def _array(nodes: Any) -> NDArray[Any]:
    if hasattr(nodes, "detach"):  # a torch tensor, on whatever device
        nodes = nodes.detach().cpu().numpy()
    try:
        return np.asarray(nodes)
    except ValueError as e:  # lists of unequal lengths
        raise ValueError(f"input_nodes: a flat list of node ids is wanted: {e}") from None


def _from_mask(mask: NDArray[Any], num_nodes: int) -> Seeds:
    if mask.size != num_nodes:
        raise ValueError(
            f"input_nodes: a mask needs one entry per node: it has {mask.size}, the graph {num_nodes} nodes"
        )
    return from_ids(np.flatnonzero(mask).astype(np.int64, copy=False), mask=True)


def _check_range(ids: Ids, num_nodes: int) -> None:
    if ids.size == 0:
        return
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= num_nodes:
        stray = low if low < 0 else high
        raise IndexError(f"input_nodes: node {stray} is not in the graph: it has {num_nodes} nodes, numbered from 0")


def _int64(array: NDArray[Any]) -> Ids:
    if array.dtype == object and all(isinstance(v, int) for v in array):
        raise IndexError("input_nodes: a node id does not fit in 64 bits")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"input_nodes: node ids are integers, not {array.dtype}: convert them, e.g. with .astype('int64')"
        )
    if array.dtype == np.uint64 and int(array.max(initial=0)) >= 2**63:
        raise IndexError(f"input_nodes: node {int(array.max())} is not in the graph")
    return np.array(array, dtype=np.int64, order="C")  # a copy: the caller may change theirs
