"""Nodes whose ids are sparse 64-bit numbers: numbered anew as NumPy would, and given back."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from numpy.typing import NDArray

import aethergraph
from aethergraph import engine, seeds
from aethergraph.client import Client
from aethergraph.collate import collate_to_pyg
from aethergraph.ray import create_sampling_dataset
from aethergraph.request import Request

CORNERS = [0, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**53 + 1, 2**63 - 2]


@pytest.fixture(scope="module")
def edges() -> NDArray[np.int64]:
    """Sources and targets, shape (2, E)."""
    rng = np.random.default_rng(3)
    ids = np.concatenate([CORNERS, rng.integers(0, 2**63 - 2, 400)])
    return rng.choice(ids, (2, 5000)).astype(np.int64)


@pytest.fixture(scope="module")
def graph(edges: NDArray[np.int64], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("original") / "graph.bin"
    aethergraph.build(edges, out, relabel="ids", progress=False)
    return out


def test_numbers_as_numpy_does(graph: Path, edges: NDArray[np.int64], tmp_path: Path) -> None:
    own, dense = np.unique(edges, return_inverse=True)
    plain = aethergraph.build(dense.reshape(2, -1), tmp_path / "plain.bin", progress=False)
    client = Client(engine.spec(str(graph), None, None, None))
    info = client.info()
    assert info["original_ids"] == "ids"
    assert (info["fingerprint"], info["nodes"]) == (plain.fingerprint, len(own))
    assert info["content_id"] != plain.content_id
    assert np.array_equal(client.lookup(own[::-1]), np.arange(len(own))[::-1])
    assert client.lookup(own[:0]).size == 0
    for stray in (5, 2**63 - 1, -1):
        with pytest.raises(IndexError, match="original id"):
            client.lookup(np.array([own[1], stray]))


def test_batches_give_them_back(graph: Path, edges: NDArray[np.int64]) -> None:
    own = np.unique(edges)
    client = Client(engine.spec(str(graph), None, None, None))
    chosen = np.array(CORNERS[::-1])
    request = Request((5, 5), 3, seeds.from_originals(chosen, client.lookup), original_ids=True)
    with client.stream(request) as stream:
        batches = list(stream)
    assert len(batches) == 3
    first = []
    for batch in batches:
        data = collate_to_pyg(batch)
        assert data.n_id_original.dtype == torch.int64
        assert np.array_equal(data.n_id_original.numpy(), own[data.n_id.numpy()])
        first += data.n_id_original[: data.batch_size].tolist()
        ends = data.n_id_original[data.edge_index].numpy()
        assert np.array_equal(ends, edges[:, data.e_id.numpy()])
    assert first == chosen.tolist()
    union = collate_to_pyg(pa.Table.from_batches(batches))
    assert np.array_equal(union.n_id_original.numpy(), own[union.n_id.numpy()])


@pytest.mark.usefixtures("cluster")
def test_dataset(graph: Path, edges: NDArray[np.int64]) -> None:
    own = np.unique(edges)
    ds = create_sampling_dataset(str(graph), [3], CORNERS, 4, original_ids=True, input_original=True)
    batches = [collate_to_pyg(b) for b in ds.iter_batches(batch_format="pyarrow")]
    assert [v for b in batches for v in b.n_id_original[: b.batch_size].tolist()] == CORNERS
    assert all(np.array_equal(b.n_id_original.numpy(), own[b.n_id.numpy()]) for b in batches)
    without = next(iter(create_sampling_dataset(str(graph), [3]).iter_batches(batch_format="pyarrow")))
    assert "n_id_original" not in without.column_names


@pytest.mark.usefixtures("cluster")
def test_refusals(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexError, match="original id"):
        create_sampling_dataset(str(graph), [3], [3], input_original=True)
    with pytest.raises(ValueError, match="input_original"):
        create_sampling_dataset(str(graph), [3], np.ones(9, bool), input_original=True)
    aethergraph.build(np.array([[0, 1], [1, 2]]), tmp_path / "plain.bin", progress=False)
    with pytest.raises(ValueError, match="relabel"):
        create_sampling_dataset(str(tmp_path / "plain.bin"), [3], original_ids=True)
    with pytest.raises(ValueError, match="number of nodes"):
        aethergraph.build(np.array([[0], [1]]), tmp_path / "x.bin", relabel="ids", num_nodes=5, progress=False)
