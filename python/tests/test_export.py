"""What `aether-ooc export` writes, read by NumPy, SciPy and pyarrow, and built again."""

import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from support import aether_ooc

NODES, EDGES = 500, 6000


@pytest.fixture(scope="module", params=["in", "out"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A graph with parallel edges, loops and nodes without edges; its input."""
    folder = tmp_path_factory.mktemp("export")
    edges = np.random.default_rng(7).integers(0, 300, (2, EDGES))
    np.save(folder / "edges.npy", edges)
    aether_ooc(
        "build",
        folder / "edges.npy",
        "--out",
        folder / "graph.bin",
        "--num-nodes",
        NODES,
        "--direction",
        request.param,
    )
    return folder / "graph.bin", edges


def fingerprint(graph: Path) -> str:
    out = subprocess.run(["aether-ooc", "inspect", graph, "--json"], check=True, capture_output=True, text=True).stdout
    return out[out.index('"fingerprint"') :].split('"')[3]


def test_npy(case: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    graph, edges = case
    aether_ooc("export", graph, "--out", tmp_path / "x.npy", "--edge-ids")
    src, dst, ids = np.load(tmp_path / "x.npy")
    assert sorted(ids) == list(range(EDGES))
    assert np.array_equal(edges[:, ids], np.stack([src, dst]))
    aether_ooc("export", graph, "--out", tmp_path / "plain.npy")
    assert np.array_equal(np.load(tmp_path / "plain.npy"), np.stack([src, dst]))


def test_parquet(case: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    graph, edges = case
    aether_ooc("export", graph, "--out", tmp_path / "x.parquet", "--edge-ids")
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names == ["src", "dst", "edge_id"]
    ids = table["edge_id"].to_numpy()
    assert sorted(ids) == list(range(EDGES))
    assert np.array_equal(edges[:, ids], np.stack([table["src"].to_numpy(), table["dst"].to_numpy()]))


@pytest.mark.parametrize("with_ids", [False, True])
def test_csr(case: tuple[Path, np.ndarray], tmp_path: Path, with_ids: bool) -> None:
    graph, edges = case
    aether_ooc("export", graph, "--out", tmp_path / "x.npz", *(["--edge-ids"] if with_ids else []))
    a = scipy.sparse.load_npz(tmp_path / "x.npz")
    assert a.shape == (NODES, NODES)
    assert a.format in ("csr", "csc")
    values = np.arange(EDGES) if with_ids else np.ones(EDGES)
    want = scipy.sparse.coo_array((values, (edges[0], edges[1])), shape=(NODES, NODES))
    assert a.nnz == EDGES
    assert np.array_equal(a.astype(np.int64).toarray(), want.toarray())


@pytest.mark.parametrize("suffix", ["txt", "npy"])
def test_round_trip(case: tuple[Path, np.ndarray], tmp_path: Path, suffix: str) -> None:
    graph, _ = case
    aether_ooc("export", graph, "--out", tmp_path / f"x.{suffix}")
    inspected = subprocess.run(["aether-ooc", "inspect", graph], check=True, capture_output=True, text=True).stdout
    direction = "in" if "direction       in" in inspected else "out"
    again = tmp_path / "again.bin"
    aether_ooc("build", tmp_path / f"x.{suffix}", "--out", again, "--num-nodes", NODES, "--direction", direction)
    assert fingerprint(again) == fingerprint(graph)
