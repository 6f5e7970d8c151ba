"""Every form of an edge list, as the library that it comes from writes it, builds the same graph."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse
import torch
from support import aether_ooc

NODES, EDGES = 400, 50_000
SRC, DST = np.random.default_rng(11).integers(0, NODES, (2, EDGES))
INDEX = np.stack([SRC, DST])


def build(source: object, out: Path, *flags: object) -> bytes:
    aether_ooc("build", source, "--out", out, "--num-nodes", NODES, *flags)
    return out.read_bytes()


def refused(source: object, *flags: object) -> str:
    out = Path(str(source)).with_name("refused.bin")
    done = subprocess.run(
        ["aether-ooc", "build", str(source), "--out", str(out), *map(str, flags)], capture_output=True, text=True
    )
    assert done.returncode in (1, 2)
    assert not out.exists()
    return done.stderr


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("sources")
    np.save(folder / "e.npy", INDEX)
    return build(folder / "e.npy", folder / "g.bin")


def table(dtype: Any = np.int64, **more: Any) -> pa.Table:
    return pa.table({"weight": np.arange(EDGES) / 2, "dst": DST.astype(dtype), "src": SRC.astype(dtype)} | more)


def stream(path: Path) -> None:
    with pa.ipc.new_stream(path, table().schema) as out:
        out.write_table(table(), max_chunksize=777)


def arrow_file(path: Path) -> None:
    with pa.ipc.new_file(path, table().schema) as out:
        out.write_table(table(), max_chunksize=777)


IN_ORDER: dict[str, tuple[str, Callable[[Path], object]]] = {
    "parquet": ("e.parquet", lambda p: pq.write_table(table(), p, row_group_size=999)),
    "parquet, plain": ("e.pq", lambda p: pq.write_table(table(np.uint16), p, compression="none", use_dictionary=False)),
    "parquet, gzip": ("e.parquet", lambda p: pq.write_table(table(np.int32), p, compression="gzip")),
    "parquet, brotli": ("e.parquet", lambda p: pq.write_table(table(np.uint64), p, compression="brotli")),
    "parquet, v1": ("e.parquet", lambda p: pq.write_table(table(), p, version="1.0", data_page_version="1.0")),
    "parquet, v2": ("e.parquet", lambda p: pq.write_table(table(), p, data_page_version="2.0", compression="zstd")),
    "arrow stream": ("e.arrows", stream),
    "arrow file": ("e.arrow", arrow_file),
    "feather, lz4": ("e.feather", lambda p: pyarrow.feather.write_feather(table(), p, compression="lz4")),
    "feather, zstd": ("e.feather", lambda p: pyarrow.feather.write_feather(table(), p, compression="zstd")),
    "named otherwise": ("e.dat", lambda p: pq.write_table(table(), p)),
    "by place": ("e.parquet", lambda p: pq.write_table(pa.table({"a": SRC, "b": DST}), p)),
    "npz, edge_index": ("e.npz", lambda p: np.savez(p, x=np.zeros(3), edge_index=INDEX)),
    "npz, compressed": ("e.npz", lambda p: np.savez_compressed(p, edge_index=INDEX.astype(np.int32))),
    "npz, by rows": ("e.npz", lambda p: np.savez_compressed(p, edge_index=np.ascontiguousarray(INDEX.T))),
    "npz, Fortran": ("e.npz", lambda p: np.savez(p, edge_index=np.asfortranarray(INDEX))),
    "npz, one array": ("e.npz", lambda p: np.savez(p, INDEX)),
    "npz, OGB": ("data.npz", lambda p: np.savez(p, edge_index=INDEX, num_nodes_list=[NODES], num_edges_list=[EDGES])),
    "scipy coo": (
        "e.npz",
        lambda p: scipy.sparse.save_npz(p, scipy.sparse.coo_matrix((np.ones(EDGES), (SRC, DST)), (NODES, NODES))),
    ),
}


@pytest.mark.parametrize("form", IN_ORDER)
def test_edges_in_their_order(plain: bytes, tmp_path: Path, form: str) -> None:
    name, write = IN_ORDER[form]
    write(tmp_path / name)
    assert build(tmp_path / name, tmp_path / "g.bin") == plain


def grouped(by: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(by, kind="stable")
    return np.searchsorted(by[order], np.arange(NODES + 1)), other[order]


@pytest.mark.parametrize("form", ["scipy csr", "scipy csc", "graphbolt", "compressed"])
def test_grouped_edges(tmp_path: Path, form: str) -> None:
    path = tmp_path / "e.npz"
    starts, entries = grouped(SRC, DST) if form == "scipy csr" else grouped(DST, SRC)
    if form.startswith("scipy"):
        kind = scipy.sparse.csr_matrix if form == "scipy csr" else scipy.sparse.csc_matrix
        scipy.sparse.save_npz(path, kind((np.ones(EDGES), entries, starts), (NODES, NODES)))
    else:
        (np.savez if form == "graphbolt" else np.savez_compressed)(path, indptr=starts, indices=entries)
    owner = np.repeat(np.arange(NODES), np.diff(starts))
    pairs = np.stack([owner, entries] if form == "scipy csr" else [entries, owner])
    np.save(tmp_path / "same.npy", pairs)
    assert build(path, tmp_path / "g.bin") == build(tmp_path / "same.npy", tmp_path / "h.bin")


def test_streams_from_standard_input(plain: bytes, tmp_path: Path) -> None:
    stream(tmp_path / "e.arrows")
    for redirect in (f"cat {tmp_path}/e.arrows | ", ""):
        command = f"{redirect}aether-ooc build - --out {tmp_path}/g.bin --num-nodes {NODES}"
        subprocess.run(command if redirect else f"{command} < {tmp_path}/e.arrows", shell=True, check=True)
        assert (tmp_path / "g.bin").read_bytes() == plain


def test_ogb_folder(plain: bytes, tmp_path: Path) -> None:
    raw = tmp_path / "ogbn_x" / "raw"
    raw.mkdir(parents=True)
    np.savetxt(raw / "edge.csv.gz", INDEX.T, fmt="%d", delimiter=",")
    np.savetxt(raw / "num-node-list.csv.gz", [NODES], fmt="%d")
    aether_ooc("build", tmp_path / "ogbn_x", "--out", tmp_path / "g.bin")
    assert (tmp_path / "g.bin").read_bytes() == plain
    np.savetxt(raw / "num-node-list.csv.gz", [NODES, 3], fmt="%d")
    assert "several graphs" in refused(tmp_path / "ogbn_x")
    np.savetxt(raw / "num-node-list.csv.gz", [7], fmt="%d")
    assert "7" in refused(tmp_path / "ogbn_x")


def test_declared_nodes_are_kept(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "e.npz", scipy.sparse.csc_matrix((5, 5)))
    aether_ooc("build", tmp_path / "e.npz", "--out", tmp_path / "g.bin")
    out = subprocess.run(
        ["aether-ooc", "inspect", tmp_path / "g.bin", "--json"], check=True, capture_output=True, text=True
    )
    assert '"nodes": 5' in out.stdout


WRONG: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "null": ("e.parquet", lambda p: pq.write_table(pa.table({"a": pa.array([1, None]), "b": [1, 2]}), p), "row 1"),
    "negative": ("e.parquet", lambda p: pq.write_table(pa.table({"a": [1, 2], "b": [1, -7]}), p), '"-7"'),
    "huge": (
        "e.parquet",
        lambda p: pq.write_table(pa.table({"a": pa.array([2**64 - 1], pa.uint64()), "b": [1]}), p),
        "18446744073709551615",
    ),
    "floats": ("e.parquet", lambda p: pq.write_table(pa.table({"a": [1.0], "b": [1.0]}), p), "integers"),
    "one column": ("e.parquet", lambda p: pq.write_table(pa.table({"a": [1]}), p), "--columns"),
    "cut": ("e.parquet", lambda p: p.write_bytes(parquet_bytes(p)[:-9]), "e.parquet"),
    "cut stream": ("e.arrows", lambda p: (stream(p), p.write_bytes(p.read_bytes()[:-5000])), "cut short"),
    "cut npz": ("e.npz", lambda p: (np.savez(p, INDEX), p.write_bytes(p.read_bytes()[:-50])), "cut short"),
    "damaged npz": ("e.npz", lambda p: (np.savez(p, INDEX), p.write_bytes(flipped(p.read_bytes()))), "damaged"),
    "torch.save": ("e.npz", lambda p: torch.save(torch.zeros(3), p), "torch.save"),
    "strange names": ("e.npz", lambda p: np.savez(p, a=INDEX, b=INDEX), "edge_index"),
    "bsr": ("e.npz", lambda p: scipy.sparse.save_npz(p, scipy.sparse.bsr_matrix((4, 4))), "bsr"),
    "wrong starts": ("e.npz", lambda p: np.savez(p, indptr=[0, 3, 2, 4], indices=[0, 1, 2, 0]), '"2"'),
    "starts end early": ("e.npz", lambda p: np.savez(p, indptr=[0, 1, 2], indices=[0, 1, 1]), "entries"),
    "starts from 1": ("e.npz", lambda p: np.savez(p, indptr=[1, 2], indices=[0, 0]), "begins at 0"),
    "coo of two lengths": ("e.npz", lambda p: np.savez(p, row=[1, 2], col=[1], format="coo"), "alike"),
    "float indices": ("e.npz", lambda p: np.savez(p, indptr=[0, 1], indices=[0.5]), "float64"),
}


def parquet_bytes(path: Path) -> bytes:
    pq.write_table(table(), path)
    return path.read_bytes()


def flipped(b: bytes) -> bytes:
    middle = len(b) // 2
    return b[:middle] + bytes([b[middle] ^ 1]) + b[middle + 1 :]


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input(tmp_path: Path, case: str) -> None:
    name, write, words = WRONG[case]
    write(tmp_path / name)
    message = refused(tmp_path / name)
    assert name in message
    assert words in message
    assert "goroutine" not in message


def test_pipes_that_cannot_be(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "e.parquet")
    command = f"cat {tmp_path}/e.parquet | aether-ooc build - --out {tmp_path}/g.bin"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pipe" in done.stderr
