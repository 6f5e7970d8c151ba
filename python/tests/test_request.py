import json
from typing import Any

import numpy as np
import oracle
import pytest

from aethergraph import seeds
from aethergraph.request import Request, fanouts_from_user, integer_from_user


def test_ticket_is_what_the_protocol_says() -> None:
    ids = seeds.from_ids(np.array([4, 2]))
    ticket = json.loads(Request((25, -1), 32, ids, seed=3, epoch=2, rank=1, world_size=2, first=5).ticket())
    assert ticket == {
        "version": 1,
        "fanouts": [25, -1],
        "batch_size": 32,
        "nodes": {"upload": ids.digest},
        "replace": False,
        "edge_ids": True,
        "features": True,
        "node_attrs": None,
        "original_ids": False,
        "seed": 3,
        "epoch": 2,
        "shuffle": False,
        "drop_last": False,
        "rank": 1,
        "world_size": 2,
        "uneven": "wrap",
        "first": 5,
        "count": 0,
        "fingerprint": "",
        "content_id": "",
        "generator": "",
    }
    assert json.loads(Request((1,)).ticket())["nodes"] == "all"
    info = {"fingerprint": "ab" * 16, "content_id": "cd" * 16, "generator": "philox4x32-10/1"}
    assert json.loads(Request((1,)).of({"nodes": 5, **info}).ticket()).items() >= info.items()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fanouts": ()}, "num_neighbors: 0 hops"),
        ({"fanouts": (1,) * 256}, "num_neighbors: 256 hops"),
        ({"fanouts": (5, -2)}, "num_neighbors: -2 is no fanout"),
        ({"batch_size": 0}, "batch_size: 0"),
        ({"seed": -1}, "seed: -1"),
        ({"seed": 2**64}, "seed: 18446744073709551616"),
        ({"epoch": -1}, "epoch: -1"),
        ({"world_size": 0}, "world_size: 0"),
        ({"rank": 2, "world_size": 2}, "rank: 2"),
        ({"rank": -1}, "rank: -1"),
        ({"uneven": "torn"}, "uneven: 'torn' is not one of wrap, drop, ragged"),
    ],
)
def test_refuses(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Request(**{"fanouts": (5,), **changes}).check()


@pytest.mark.parametrize("num_neighbors", [5, [2.5], ["a"], None])
def test_refuses_what_is_no_list_of_integers(num_neighbors: Any) -> None:
    with pytest.raises(ValueError, match="num_neighbors: a list of integers"):
        fanouts_from_user(num_neighbors)


def test_reads_numbers_of_any_integer_type() -> None:
    assert fanouts_from_user(np.array([25, 10])) == (25, 10)
    assert integer_from_user("batch_size", np.int32(4)) == 4
    with pytest.raises(ValueError, match=r"batch_size: an integer is wanted, not 2\.0"):
        integer_from_user("batch_size", 2.0)


@pytest.mark.parametrize("uneven", ["wrap", "drop", "ragged"])
@pytest.mark.parametrize("batches", range(8))
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_share_agrees_with_the_oracle(uneven: Any, batches: int, world_size: int) -> None:
    for rank in range(world_size):
        want = oracle.batches(bytes(16), batches, 1, rank=rank, world_size=world_size, uneven=uneven)
        assert Request((1,), rank=rank, world_size=world_size, uneven=uneven).share(batches) == len(want)
