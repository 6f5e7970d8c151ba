"""aethergraph.build and from_pyg: what they make of edges in memory, and how they fail."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from support import aether_ooc
from torch_geometric.data import Data, HeteroData

import aethergraph

EDGES = np.random.default_rng(5).integers(0, 400, (2, 600_000))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same edges, built by the command from a file."""
    folder = tmp_path_factory.mktemp("building")
    np.save(folder / "edges.npy", EDGES)
    aether_ooc("build", folder / "edges.npy", "--out", folder / "graph.bin")
    return folder / "graph.bin"


def pieces() -> Iterator[np.ndarray]:
    yield from np.array_split(EDGES, 7, axis=1)


SOURCES: dict[str, Any] = {
    "array": lambda: EDGES,
    "int32": lambda: EDGES.astype(np.int32),
    "uint64": lambda: EDGES.astype(np.uint64),
    "fortran": lambda: np.asfortranarray(EDGES),
    "tensor": lambda: torch.from_numpy(EDGES),
    "transposed tensor": lambda: torch.from_numpy(EDGES.T.copy()).t(),
    "iterator": pieces,
    "list of arrays": lambda: list(pieces()),
    "table": lambda: pa.table({"other": np.zeros(EDGES.shape[1]), "dst": EDGES[1], "src": EDGES[0].astype(np.uint16)}),
    "table by place": lambda: pa.table({"a": EDGES[0], "b": EDGES[1]}),
    "reader": lambda: pa.table({"src": EDGES[0], "dst": EDGES[1]}).to_reader(max_chunksize=1000),
    "iterator of tables": lambda: (pa.table({"src": p[0], "dst": p[1]}) for p in pieces()),
}


@pytest.mark.parametrize("name", SOURCES)
def test_same_graph_from_any_source(plain: Path, tmp_path: Path, name: str) -> None:
    result = aethergraph.build(SOURCES[name](), tmp_path / "g.bin", progress=False)
    assert (tmp_path / "g.bin").read_bytes() == plain.read_bytes()
    assert (result.nodes, result.edges) == (400, EDGES.shape[1])
    assert result.report["fingerprint"] == result.fingerprint


def test_from_a_path(plain: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = aethergraph.build(plain.with_name("edges.npy"), tmp_path / "g.bin")
    assert result.path.read_bytes() == plain.read_bytes()
    assert "sort" in capfd.readouterr().err, "a bar was shown"


def test_options(tmp_path: Path) -> None:
    result = aethergraph.build(
        np.array([[0, 0, 1, 2], [1, 1, 0, 2]]),
        tmp_path / "g.bin",
        num_nodes=9,
        direction="out",
        edge_ids="stored",
        undirected=True,
        dedup=True,
        drop_self_loops=True,
        memory="256MiB",
        progress=False,
        options=["--workers", "1"],
    )
    assert (result.nodes, result.edges) == (9, 2)
    assert result.report["workers"] == 1
    assert result.report["direction"] == "out"


def test_from_pyg(tmp_path: Path) -> None:
    data = Data(
        x=torch.randn(500, 6).bfloat16(),
        edge_index=torch.from_numpy(EDGES[:, :2000]),
        y=torch.arange(500),
        train_mask=torch.arange(500) < 100,
        edge_attr=torch.randn(2000, 3),
        name="not a tensor",
    )
    result = aethergraph.from_pyg(data, tmp_path / "g.bin", progress=False)
    assert result.nodes == 500
    assert np.array_equal(np.load(tmp_path / "g.bin.attr.y.npy"), data.y.numpy())
    assert np.array_equal(np.load(tmp_path / "g.bin.attr.train_mask.npy"), data.train_mask.numpy())
    assert not (tmp_path / "g.bin.attr.edge_attr.npy").exists()
    words = data.x.view(torch.int16).numpy()
    assert np.array_equal(np.load(tmp_path / "g.bin.features.npy").view(np.int16).reshape(words.shape), words)
    aether_ooc("verify", tmp_path / "g.bin")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.zeros((3, 4), int), "shape"),
        (np.zeros((2, 4)), "integers"),
        (np.array([[0], [2**63]], np.uint64), "9223372036854775808"),
        (np.array([[0, 3], [1, -7]]), "-7"),
        (pa.table({"src": [1.0], "dst": [2.0]}), "integers"),
        (pa.table({"src": [1]}), "two columns"),
        (pa.table({"src": pa.array([1, None]), "dst": [1, 2]}), "row 1"),
        (3, "cannot be read"),
    ],
)
def test_wrong_sources(tmp_path: Path, source: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        aethergraph.build(source, tmp_path / "g.bin", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_other_errors(tmp_path: Path) -> None:
    edges = EDGES[:, :10]
    with pytest.raises(FileNotFoundError, match=r"none\.npy"):
        aethergraph.build(tmp_path / "none.npy", tmp_path / "g.bin")
    with pytest.raises(ValueError, match="direction"):
        aethergraph.build(edges, tmp_path / "g.bin", direction="sideways")
    with pytest.raises(MemoryError, match="give"):
        aethergraph.build(edges, tmp_path / "g.bin", memory=1000)
    with pytest.raises(ValueError, match="3 rows"):
        aethergraph.build(edges, tmp_path / "g.bin", num_nodes=400, features=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="edge_index"):
        aethergraph.from_pyg(HeteroData(), tmp_path / "g.bin")
    assert list(tmp_path.iterdir()) == []


def test_an_iterators_error_is_its_own(tmp_path: Path) -> None:
    def broken() -> Iterator[np.ndarray]:
        yield EDGES
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        aethergraph.build(broken(), tmp_path / "g.bin", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_interrupted(tmp_path: Path) -> None:
    program = f"""
import itertools, numpy, aethergraph
edges = (numpy.random.randint(0, 1000, (2, 100000)) for _ in itertools.count())
print("begun", flush=True)
aethergraph.build(edges, {str(tmp_path / "g.bin")!r}, memory="1GiB", progress=False)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in err
    assert list(tmp_path.iterdir()) == []


def test_leaves_no_threads_or_descriptors(tmp_path: Path) -> None:
    aethergraph.build(EDGES, tmp_path / "g.bin", progress=False)
    before = threading.active_count(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        aethergraph.build(EDGES, tmp_path / "g.bin", progress=False)
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before  # noqa: PTH208


def test_report_is_json(tmp_path: Path) -> None:
    result = aethergraph.build(EDGES, tmp_path / "g.bin", progress=False)
    assert json.loads(json.dumps(dict(result.report)))["edges"] == result.edges
