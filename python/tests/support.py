"""Graphs for tests, and what their batches must be."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pyarrow as pa

from aethergraph import engine
from aethergraph.client import Client

NODES, DIM = 600, 48
Array = np.ndarray[Any, Any]


@dataclass
class Graph:
    """A graph file and what it was made of."""

    path: str
    src: Array = field(repr=False)
    dst: Array = field(repr=False)
    nodes: int
    x: Array | None = field(repr=False)
    attrs: dict[str, Array] = field(repr=False)

    def client(self, **spec: Any) -> Client:
        return Client(engine.spec(self.path, **spec))

    def lists(self) -> oracle.Lists:
        return oracle.adjacency(self.src, self.dst, self.nodes)


def aether_ooc(*arguments: object) -> None:
    """Runs the command; its words are the error's."""
    done = subprocess.run([engine.command(), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def build(folder: Path, src: Any, dst: Any, nodes: int, x: Any = None, **attrs: Any) -> Graph:
    """Builds graph.bin in the folder."""
    np.save(folder / "edges.npy", np.stack([src, dst]).astype(np.int64))
    flags: list[object] = ["--num-nodes", nodes]
    if x is not None:
        np.save(folder / "x.npy", x)
        flags += ["--features", folder / "x.npy"]
    for name, values in attrs.items():
        np.save(folder / f"{name}.npy", values)
        flags += ["--node-attr", f"{name}={folder / name}.npy"]
    path = folder / "graph.bin"
    aether_ooc("build", folder / "edges.npy", "--out", path, *flags)
    return Graph(str(path), np.asarray(src), np.asarray(dst), nodes, x, attrs)


def make_graph(folder: Path) -> Graph:
    rng = np.random.default_rng(7)
    n = NODES
    src, dst = rng.integers(0, n, 3000), rng.integers(0, n - 50, 3000)  # the last 50 have no list
    hub_src = rng.integers(0, n, 2500)
    loops = np.arange(0, n, 40)
    src = np.r_[src, hub_src, loops, src[:200]]
    dst = np.r_[dst, np.full(2500, 11), loops, dst[:200]]  # parallel edges too
    return build(
        folder,
        src,
        dst,
        n,
        rng.standard_normal((n, DIM)).astype(np.float32),
        y=rng.integers(0, 10, n),
        pos=rng.standard_normal((n, 3)),
        train_mask=rng.random(n) < 0.5,
        half=rng.standard_normal((n, 1)).astype(np.float16),
    )


@dataclass
class Expected:
    """What the oracle says of one mini-batch."""

    index: int
    epoch: int
    input_id: list[int]
    batch: oracle.Batch


def expected(
    graph: Graph,
    fingerprint: str,
    fanouts: Sequence[int],
    batch_size: int,
    *,
    nodes: Sequence[int] | None = None,
    replace: bool = False,
    seed: int = 0,
    epoch: int = 0,
    **which: Any,
) -> list[Expected]:
    """The mini-batches of a request, by the oracle."""
    fp = bytes.fromhex(fingerprint)
    ids = list(range(graph.nodes)) if nodes is None else list(nodes)
    lists = graph.lists()
    found = []
    for index, at in oracle.batches(fp, len(ids), batch_size, seed=seed, epoch=epoch, **which):
        key = oracle.batch_key(fp, seed, epoch, index)
        found.append(Expected(index, epoch, at, oracle.sample(lists, key, [ids[i] for i in at], fanouts, replace)))
    return found


def assert_row(graph: Graph, row: dict[str, Any], want: Expected) -> None:
    """Compares a row, as Python values, with what the oracle says."""
    b = want.batch
    assert (row["batch_index"], row["epoch"], row["batch_size"]) == (want.index, want.epoch, len(want.input_id))
    assert list(row["input_id"]) == want.input_id
    assert list(row["n_id"]) == b.n_id
    assert list(row["edge_index"]) == b.row + b.col
    assert list(row["num_sampled_nodes"]) == b.num_sampled_nodes
    assert list(row["num_sampled_edges"]) == b.num_sampled_edges
    if "e_id" in row:
        assert list(row["e_id"]) == b.e_id
        n_id = np.asarray(b.n_id)
        assert (graph.src[b.e_id] == n_id[b.row]).all()
        assert (graph.dst[b.e_id] == n_id[b.col]).all()


def record_batch(graph: Graph, want: Expected, fingerprint: str = "0" * 32) -> pa.RecordBatch:
    """A mini-batch as the engine sends it, made without one."""
    b = want.batch
    columns: dict[str, pa.Array] = {
        "edge_index": _list(np.array(b.row + b.col, np.int64)),
        "n_id": _list(np.array(b.n_id, np.int64)),
        "input_id": _list(np.array(want.input_id, np.int64)),
        "num_sampled_nodes": _list(np.array(b.num_sampled_nodes, np.int64)),
        "num_sampled_edges": _list(np.array(b.num_sampled_edges, np.int64)),
        "batch_size": pa.array([len(want.input_id)]),
        "batch_index": pa.array([want.index]),
        "epoch": pa.array([want.epoch], pa.uint64()),
        "fingerprint": pa.array([fingerprint]),
        "e_id": _list(np.array(b.e_id, np.int64)),
    }
    for name, values in {"x": graph.x, **graph.attrs}.items():
        if values is not None:
            columns |= _matrix(name, values[b.n_id])
    return pa.RecordBatch.from_pydict(columns)


def _matrix(name: str, rows: Array) -> dict[str, pa.Array]:
    travelling = rows.view(np.uint8) if rows.dtype == bool else rows
    return {
        name: _list(travelling.reshape(-1)),
        f"{name}_dim": pa.array([rows.shape[1] if rows.ndim == 2 else 0]),
        f"{name}_dtype": pa.array([rows.dtype.name]),
    }


def _list(values: Array) -> pa.Array:
    kind = pa.large_list(pa.field("item", pa.from_numpy_dtype(values.dtype), nullable=False))
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), pa.array(values), type=kind)
