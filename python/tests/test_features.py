"""What `aether-ooc features` writes, against NumPy and PyTorch, through the engine that samples."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from support import aether_ooc

ROWS, DIM = 700, 100  # rows of 400 bytes: ten to a block


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("features")
    np.save(folder / "edges.npy", np.random.default_rng(1).integers(0, ROWS, (2, 3000)))
    aether_ooc("build", folder / "edges.npy", "--out", folder / "graph.bin", "--num-nodes", ROWS)
    return folder / "graph.bin"


def matrix(dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(0, 100, (ROWS, DIM))
    x.flat[:8] = [0, -0.0, 2**-24, 2**-25, 3 * 2**-25, 65504, 1e-8, 65519]
    return x.astype(dtype)


def rows(path: Path, dtype: Any, dim: int = DIM) -> np.ndarray:
    """The rows of a feature file, by its description in package features."""
    raw = np.fromfile(path, np.uint8)
    assert raw[1:4].tobytes() == b"AEF"
    n, d = raw[32:48].view(np.int64)
    assert d == dim
    size = d * np.dtype(dtype).itemsize
    if size > 4096:
        return raw[4096 : 4096 + n * size].view(dtype).reshape(n, d)
    per = 4096 // size
    blocks = raw[4096:].reshape(-1, 4096)[:, : per * size]
    return blocks.reshape(-1, size)[:n].copy().view(dtype)


def features(*arguments: object) -> None:
    aether_ooc("features", *arguments)


def refused(*arguments: object) -> str:
    done = subprocess.run(["aether-ooc", "features", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode in (1, 2)
    return done.stderr


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("container", ["npy", "npz", "compressed", "raw"])
def test_containers(tmp_path: Path, order: str, byteorder: str, container: str) -> None:
    x = np.asarray(matrix(), dtype=np.dtype(np.float32).newbyteorder(byteorder), order=order)  # type: ignore[call-overload]
    out = tmp_path / "x.aef"
    if container == "npy":
        np.save(tmp_path / "x.npy", x)
        features(tmp_path / "x.npy", "--out", out)
    elif container == "npz":
        np.savez(tmp_path / "x.npz", other=np.zeros(3), feat=x)
        features(tmp_path / "x.npz", "--array", "feat", "--out", out)
    elif container == "compressed":
        np.savez_compressed(tmp_path / "x.npz", x)
        if order == "F":
            assert "ascontiguousarray" in refused(tmp_path / "x.npz", "--out", out)
            return
        features(tmp_path / "x.npz", "--out", out)
    else:
        matrix().tofile(tmp_path / "x.f32")
        features(tmp_path / "x.f32", "--raw", "float32", "--shape", f"{ROWS},{DIM}", "--out", out)
    assert np.array_equal(rows(out, np.float32), matrix())


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_become_floats(tmp_path: Path, dtype: str) -> None:
    x = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 127, (ROWS, 3)).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    features(tmp_path / "x.npy", "--out", tmp_path / "x.aef", "--dtype", "f32")
    assert np.array_equal(rows(tmp_path / "x.aef", np.float32, 3), x.astype(np.float32))


@pytest.mark.parametrize("source", [np.float64, np.float32])
def test_rounding(tmp_path: Path, source: Any) -> None:
    x = matrix(source)
    np.save(tmp_path / "x.npy", x)
    features(tmp_path / "x.npy", "--out", tmp_path / "h.aef", "--dtype", "f16")
    assert np.array_equal(rows(tmp_path / "h.aef", np.uint16), x.astype(np.float16).view(np.uint16))
    features(tmp_path / "x.npy", "--out", tmp_path / "b.aef", "--dtype", "bf16")
    want = torch.from_numpy(x).to(torch.float32).to(torch.bfloat16).view(torch.int16).numpy()
    assert np.array_equal(rows(tmp_path / "b.aef", np.int16), want)


def test_every_half_is_exact(tmp_path: Path) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)].reshape(-1, 64)
    np.save(tmp_path / "x.npy", x)
    features(tmp_path / "x.npy", "--out", tmp_path / "x.aef", "--dtype", "f32")
    assert np.array_equal(rows(tmp_path / "x.aef", np.float32, 64), x.astype(np.float32))
    np.save(tmp_path / "y.npy", x.astype(np.float64))
    features(tmp_path / "y.npy", "--out", tmp_path / "y.aef", "--dtype", "f16")
    assert np.array_equal(rows(tmp_path / "y.aef", np.uint16, 64), x.view(np.uint16))


def test_bfloat16_words(tmp_path: Path) -> None:
    words = torch.randn(ROWS, 8).bfloat16().view(torch.int16).numpy()
    np.save(tmp_path / "x.npy", words)
    features(tmp_path / "x.npy", "--words", "bf16", "--out", tmp_path / "x.aef")
    assert np.array_equal(rows(tmp_path / "x.aef", np.int16, 8), words)
    assert (tmp_path / "x.aef").read_bytes()[16:24] == b"bfloat16"


def test_parquet(tmp_path: Path) -> None:
    x = matrix()
    columns = {f"c{i}": x[:, i] for i in range(DIM)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=123)
    features(tmp_path / "x.parquet", "--out", tmp_path / "x.aef")
    assert np.array_equal(rows(tmp_path / "x.aef", np.float32), x)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), DIM)
    pq.write_table(pa.table({"id": np.arange(ROWS), "x": lists}), tmp_path / "l.parquet")
    features(tmp_path / "l.parquet", "--columns", "x", "--out", tmp_path / "l.aef", "--dtype", "f16")
    assert np.array_equal(rows(tmp_path / "l.aef", np.float16), x.astype(np.float16))
    pq.write_table(pa.table({"x": x[:, 0], "n": np.arange(ROWS)}), tmp_path / "m.parquet")
    features(tmp_path / "m.parquet", "--out", tmp_path / "m.aef")
    assert np.array_equal(rows(tmp_path / "m.aef", np.float64, 2), np.stack([x[:, 0], np.arange(ROWS)], 1))


@pytest.mark.parametrize("by", ["key", "ids"])
@pytest.mark.parametrize("fill", ["0", "nan", None])
def test_named_rows(tmp_path: Path, by: str, fill: str | None) -> None:
    order = np.random.default_rng(2).permutation(ROWS)[: ROWS if fill is None else 500]
    x = matrix()
    want = np.full_like(x, float(fill or 0))
    want[order] = x[order]
    if by == "key":
        table = {"node": order.astype(np.uint32)} | {f"c{i}": x[order, i] for i in range(DIM)}
        pq.write_table(pa.table(table), tmp_path / "x.parquet", row_group_size=77)
        arguments = [tmp_path / "x.parquet", "--key", "node"]
    else:
        np.save(tmp_path / "x.npy", x[order])
        np.save(tmp_path / "ids.npy", order)
        arguments = [tmp_path / "x.npy", "--ids", tmp_path / "ids.npy"]
    arguments += ["--rows", ROWS, "--out", tmp_path / "x.aef"]
    if fill is not None:
        assert "no row is named" in refused(*arguments)
        arguments += ["--fill", fill]
    features(*arguments)
    assert np.array_equal(rows(tmp_path / "x.aef", np.float32), want, equal_nan=True)


def test_wide_rows(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(50, 1500)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    features(tmp_path / "x.npy", "--out", tmp_path / "x.aef")
    assert np.array_equal(rows(tmp_path / "x.aef", np.float32, 1500), x)


def test_sampled_with_a_graph(graph: Path, tmp_path: Path) -> None:
    x = matrix()
    np.save(tmp_path / "x.npy", x)
    features(tmp_path / "x.npy", "--out", tmp_path / "x.aef", "--graph", graph)
    assert (tmp_path / "x.aef.sums").exists()
    for name in ("x.npy", "x.aef"):
        aether_ooc(
            "sample", graph, "--fanouts", "5,5", "--features", tmp_path / name, "--out", tmp_path / f"{name}.arrow"
        )
    batches = [pa.ipc.open_file(tmp_path / f"{name}.arrow").read_all() for name in ("x.npy", "x.aef")]
    assert batches[0].equals(batches[1])
    n_id, rows_of = batches[1]["n_id"][0].values.to_numpy(), batches[1]["x"][0].values.to_numpy()
    assert np.array_equal(rows_of.reshape(-1, DIM), x[n_id])


def test_refusals(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.aef"
    np.save(tmp_path / "x.npy", matrix()[:-1])
    assert "699 rows for 700 nodes" in refused(tmp_path / "x.npy", "--out", out, "--graph", graph)
    np.save(tmp_path / "big.npy", np.full((3, 2), 65520.0))
    assert "row 0, column 0" in refused(tmp_path / "big.npy", "--out", out, "--dtype", "f16")
    np.save(tmp_path / "ids.npy", np.r_[np.arange(698), 3])
    assert "named before" in refused(tmp_path / "x.npy", "--ids", tmp_path / "ids.npy", "--rows", 700, "--out", out)
    np.save(tmp_path / "ids.npy", np.arange(699) + 2)
    assert "id 700" in refused(tmp_path / "x.npy", "--ids", tmp_path / "ids.npy", "--rows", 700, "--out", out)
    np.save(tmp_path / "ids.npy", np.arange(699) - 1)
    assert "no id" in refused(tmp_path / "x.npy", "--ids", tmp_path / "ids.npy", "--rows", 700, "--out", out)
    np.save(tmp_path / "o.npy", np.array([{}]), allow_pickle=True)
    assert "o.npy" in refused(tmp_path / "o.npy", "--out", out)
    (tmp_path / "x.csv").write_text("1,2\n")
    assert "suffix" in refused(tmp_path / "x.csv", "--out", out)
    pq.write_table(pa.table({"a": pa.array([1.0, None])}), tmp_path / "n.parquet")
    assert "row 1, column" in refused(tmp_path / "n.parquet", "--out", out)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
    assert "cut short" in refused(tmp_path / "cut.npy", "--out", out)
    assert sorted(p.name for p in tmp_path.iterdir() if "aef" in p.name) == []
