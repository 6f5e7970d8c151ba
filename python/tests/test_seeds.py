import hashlib

import numpy as np
import pytest
import torch

from aethergraph import seeds

N = 10
IDS = [3, 1, 1, 9]


@pytest.mark.parametrize(
    "nodes",
    [
        IDS,
        tuple(IDS),
        np.array(IDS),
        np.array(IDS, np.uint8),
        np.array(IDS, np.uint64),
        np.array(IDS, ">i4"),
        np.array([IDS, IDS]).T[:, 0],  # strided
        torch.tensor(IDS),
        torch.tensor(IDS, dtype=torch.int32),
        torch.tensor(IDS, dtype=torch.uint8),
    ],
)
def test_reads_lists(nodes: object) -> None:
    got = seeds.from_user(nodes, N)
    assert got is not None
    assert (got.count, got.mask) == (4, False)
    assert got.load().tolist() == IDS
    assert got.load().dtype == np.int64
    assert got.digest == hashlib.sha256(np.array(IDS, "<i8").tobytes()).hexdigest()


@pytest.mark.parametrize("wrap", [list, np.array, torch.tensor])
def test_reads_masks(wrap: type) -> None:
    got = seeds.from_user(wrap([i in (2, 7) for i in range(N)]), N)
    assert got is not None
    assert got.mask
    assert got.load().tolist() == [2, 7]


def test_none_is_all() -> None:
    assert seeds.from_user(None, N) is None


@pytest.mark.parametrize("nodes", [[], np.array([]), torch.tensor([])])
def test_an_empty_list_is_empty(nodes: object) -> None:
    got = seeds.from_user(nodes, N)
    assert got is not None
    assert got.count == 0


def test_keeps_its_own_copy() -> None:
    theirs = np.array(IDS)
    ours = seeds.from_user(theirs, N)
    theirs[:] = 0
    assert ours is not None
    assert ours.load().tolist() == IDS


@pytest.mark.parametrize(
    ("nodes", "error", "words"),
    [
        ([1.0, 2.0], ValueError, "integers, not float64"),
        (torch.tensor([1.5]), ValueError, "integers, not float32"),
        (["a"], ValueError, "integers"),
        ([[1, 2], [3, 4]], ValueError, "shape"),
        ([[1], [2, 3]], ValueError, "flat list"),
        (5, ValueError, "shape"),
        ([-1], IndexError, "node -1"),
        ([10], IndexError, "node 10"),
        ([2**63], IndexError, "not in the graph"),
        ([2**70], IndexError, "64 bits"),
        ([True] * 9, ValueError, "mask needs one entry per node"),
        ([True] * 11, ValueError, "mask needs one entry per node"),
    ],
)
def test_refuses(nodes: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as e:
        seeds.from_user(nodes, N)
    assert str(e.value).startswith("input_nodes: ")
