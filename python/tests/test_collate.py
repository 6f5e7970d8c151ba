"""collate_to_pyg, of mini-batches made without an engine."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from ray.data import Dataset  # noqa: F401 (registers Ray's tensor extensions)
from ray.data._internal.tensor_extensions.arrow import ArrowTensorArray, ArrowVariableShapedTensorArray
from support import Expected, Graph, expected, record_batch
from torch_geometric.data import Data
from torch_geometric.utils import trim_to_layer

from aethergraph import collate
from aethergraph.collate import collate_to_pyg

FINGERPRINT = "0f" * 16
FANOUTS = (4, 3)


@pytest.fixture(scope="module")
def plain() -> Graph:
    """A graph that is not built: the oracle alone needs none."""
    rng = np.random.default_rng(1)
    n = 80
    src, dst = rng.integers(0, n, 500), rng.integers(0, n - 10, 500)
    attrs: dict[str, Any] = {
        "y": rng.integers(0, 9, n),
        "pos": rng.standard_normal((n, 3)),
        "mask": rng.random(n) < 0.5,
        "half": rng.standard_normal((n, 1)).astype(np.float16),
        "tiny": rng.integers(0, 200, n).astype(np.uint8),
    }
    return Graph("", src, dst, n, rng.standard_normal((n, 5)).astype(np.float32), attrs)


@pytest.fixture(scope="module")
def wanted(plain: Graph) -> list[Expected]:
    return expected(plain, FINGERPRINT, FANOUTS, 30, nodes=[79, 3, 3, *range(60)])


@pytest.fixture(scope="module")
def table(plain: Graph, wanted: list[Expected]) -> pa.Table:
    return pa.Table.from_batches([record_batch(plain, w) for w in wanted])


@pytest.fixture(autouse=True)
def _warnings_are_errors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    collate.expect_unions()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def check(data: Data, graph: Graph, want: Expected) -> None:
    b = want.batch
    assert graph.x is not None
    assert data.n_id.tolist() == b.n_id
    assert data.edge_index.tolist() == [b.row, b.col]
    assert data.e_id.tolist() == b.e_id
    assert data.input_id.tolist() == want.input_id
    assert (data.batch_size, data.batch_index, data.epoch) == (len(want.input_id), want.index, want.epoch)
    assert data.num_sampled_nodes == b.num_sampled_nodes
    assert data.num_sampled_edges == b.num_sampled_edges
    assert all(type(n) is int for n in (*data.num_sampled_nodes, *data.num_sampled_edges, data.batch_size))
    for name, values in {"x": graph.x, **graph.attrs}.items():
        got = data[name]
        assert got.shape == values[b.n_id].shape
        assert got.numpy().dtype == values.dtype
        assert (got.numpy() == values[b.n_id]).all()
    assert data.validate()
    assert data.num_nodes == len(b.n_id)
    assert not [name for name in data.keys() if name.endswith(("_dim", "_dtype"))]  # noqa: SIM118


def to_dict(table: pa.Table, rows: slice) -> dict[str, Any]:
    """As Ray's batch_format="numpy" gives it."""
    columns = {}
    for name in table.column_names:
        values = [np.asarray(v) if isinstance(v, list) else v for v in table[name].to_pylist()[rows]]
        kind: Any = None
        if isinstance(values[0], np.ndarray):
            element = table.schema.field(name).type.value_type.to_pandas_dtype()
            values, kind = [v.astype(element) for v in values], object
        column = np.empty(len(values), kind) if kind is object else np.array(values)
        if kind is object:
            column[:] = values
        columns[name] = column
    return columns


def extension(table: pa.Table, variable: bool) -> pa.Table:
    """With Ray's tensor extensions for lists, as its map_batches leaves them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        return _extension(table, variable)


def _extension(table: pa.Table, variable: bool) -> pa.Table:
    columns = []
    for column in table.columns:
        if pa.types.is_large_list(column.type):
            values = column.type.value_type.to_pandas_dtype()
            arrays = [np.array(v, values) for v in column.to_pylist()]
            column = (
                ArrowVariableShapedTensorArray.from_numpy(arrays)
                if variable
                else ArrowTensorArray.from_numpy(np.stack(arrays))
            )
        columns.append(column)
    return pa.table(columns, table.column_names)


def as_list(table: pa.Table) -> pa.Table:
    """With 32-bit lists."""
    columns = [
        column.cast(pa.list_(column.type.value_type)) if pa.types.is_large_list(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, table.column_names)


FORMATS = {
    "table": lambda t, i: t.slice(i, 1),
    "combined": lambda t, i: t.combine_chunks().slice(i, 1),
    "record batch": lambda t, i: t.to_batches()[i],
    "list": lambda t, i: as_list(t).slice(i, 1),
    "tensors": lambda t, i: extension(t.slice(i, 1), variable=False),
    "ragged tensors": lambda t, i: extension(t.combine_chunks(), variable=True).slice(i, 1),
    "numpy": lambda t, i: to_dict(t, slice(i, i + 1)),
    "numpy stacked": lambda t, i: {k: np.stack(v) for k, v in to_dict(t, slice(i, i + 1)).items()},
    "pandas": lambda t, i: pd.DataFrame({k: list(v) for k, v in to_dict(t, slice(i, i + 1)).items()}),
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("copy", [False, True])
def test_takes_every_format(plain: Graph, wanted: list[Expected], table: pa.Table, kind: str, copy: bool) -> None:
    for i, want in enumerate(wanted):
        check(collate_to_pyg(FORMATS[kind](table, i), copy=copy), plain, want)


def test_tensors_lie_in_the_arrow_buffers(table: pa.Table) -> None:
    for batch in (*table.to_batches(), table.combine_chunks().slice(1, 1).to_batches()[0]):
        data = collate_to_pyg(batch)
        for name in ("x", "n_id", "e_id", "edge_index", "input_id", "y", "pos", "mask", "half", "tiny"):
            values = batch.column(name)[0].values
            address = values.buffers()[1].address + values.offset * values.type.bit_width // 8
            assert data[name].data_ptr() == address, name
        assert data.edge_index[1].data_ptr() == data.edge_index.data_ptr() + 8 * data.num_edges


def test_read_only_memory_gives_no_warning(table: pa.Table, tmp_path: Path) -> None:
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table)
    mapped = pa.ipc.open_file(pa.memory_map(str(tmp_path / "b.arrow"))).get_batch(0)
    data = collate_to_pyg(mapped)
    assert data.x.data_ptr() == mapped.column("x")[0].values.buffers()[1].address
    frozen = to_dict(table, slice(0, 1))
    for column in frozen.values():
        for value in column:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
    assert collate_to_pyg(frozen).x.data_ptr() == frozen["x"][0].ctypes.data


def test_a_copy_may_be_written_to(table: pa.Table) -> None:
    batch = table.to_batches()[0]
    before = batch.to_pylist()
    data = collate_to_pyg(batch, copy=True)
    data.x.zero_()
    data.edge_index.zero_()
    assert batch.to_pylist() == before


def test_bfloat16_travels_as_bits() -> None:
    rows = torch.randn(3, 2).bfloat16()
    batch = minimal(x=pa.array([rows.view(torch.int16).flatten().tolist()], pa.large_list(pa.int16())), dim=2)
    data = collate_to_pyg(batch.set_column(batch.schema.get_field_index("x_dtype"), "x_dtype", pa.array(["bfloat16"])))
    assert data.x.dtype == torch.bfloat16
    assert torch.equal(data.x, rows)


def minimal(x: pa.Array | None = None, dim: int = 0, **more: pa.Array) -> pa.RecordBatch:
    """Three seeds without an edge."""
    longs = pa.large_list(pa.int64())
    columns = {
        "edge_index": pa.array([[]], longs),
        "n_id": pa.array([[5, 6, 7]], longs),
        "input_id": pa.array([[0, 1, 2]], longs),
        "num_sampled_nodes": pa.array([[3, 0]], longs),
        "num_sampled_edges": pa.array([[0]], longs),
        "batch_size": pa.array([3]),
        "batch_index": pa.array([0]),
        "epoch": pa.array([0]),
        "fingerprint": pa.array([FINGERPRINT]),
        "content_id": pa.array([FINGERPRINT]),
        "generator": pa.array(["philox4x32-10/1"]),
    }
    if x is not None:
        columns |= {"x": x, "x_dim": pa.array([dim]), "x_dtype": pa.array(["float32"])}
    return pa.RecordBatch.from_pydict(columns | more)


def test_without_features_edges_and_edge_ids() -> None:
    data = collate_to_pyg(minimal())
    assert data.x is None
    assert (data.fingerprint, data.content_id, data.generator) == (FINGERPRINT, FINGERPRINT, "philox4x32-10/1")
    assert "e_id" not in data
    assert data.edge_index.shape == (2, 0)
    assert data.edge_index.dtype == torch.int64
    assert data.num_sampled_nodes == [3, 0]
    union = collate_to_pyg(pa.Table.from_batches([minimal()] * 2))
    assert union.edge_index.shape == (2, 0)
    assert union.num_sampled_nodes == [6, 0]


def test_features_with_one_axis_are_a_column() -> None:
    data = collate_to_pyg(minimal(x=pa.array([[1, 2, 3]], pa.large_list(pa.float32())), dim=0))
    assert data.x.tolist() == [[1], [2], [3]]


def test_other_columns_come_along() -> None:
    data = collate_to_pyg(minimal(weight=pa.array([0.5]), extra=pa.array([[1, 2]]), y_dim=pa.array([9])))
    assert (data.weight, data.extra.tolist(), data.y_dim) == (0.5, [1, 2], 9)


@pytest.mark.parametrize("kind", ["table", "numpy", "pandas", "ragged tensors"])
def test_several_rows_are_a_disjoint_union_hop_by_hop(
    plain: Graph, wanted: list[Expected], table: pa.Table, kind: str
) -> None:
    whole = {
        "table": lambda: table,
        "numpy": lambda: to_dict(table, slice(None)),
        "pandas": lambda: pd.DataFrame({k: list(v) for k, v in to_dict(table, slice(None)).items()}),
        "ragged tensors": lambda: extension(table, variable=True),
    }[kind]()
    union, ones = collate_to_pyg(whole), [collate_to_pyg(b) for b in table.to_batches()]
    hops = [[one.num_sampled_nodes[h] for one in ones] for h in range(len(FANOUTS) + 1)]
    assert union.num_sampled_nodes == [sum(h) for h in hops]
    assert union.num_sampled_edges == [sum(one.num_sampled_edges[h] for one in ones) for h in range(len(FANOUTS))]
    assert union.batch_size == sum(len(w.input_id) for w in wanted)
    assert union.input_id.tolist() == [i for w in wanted for i in w.input_id]
    assert union.batch_index == [w.index for w in wanted]
    for name in ("n_id", "x", "y", "pos", "mask", "half"):
        parts = [one[name].split(one.num_sampled_nodes) for one in ones]
        assert torch.equal(union[name], torch.cat([p[h] for h in range(len(FANOUTS) + 1) for p in parts])), name
    parts = [one.e_id.split(one.num_sampled_edges) for one in ones]
    assert torch.equal(union.e_id, torch.cat([p[h] for h in range(len(FANOUTS)) for p in parts]))
    for place, e in zip(union.edge_index.T.tolist(), union.e_id.tolist(), strict=True):
        assert [plain.src[e], plain.dst[e]] == union.n_id[place].tolist()
    assert union.edge_index[1].diff().min() >= 0
    assert union.validate()


def test_a_union_computes_what_its_parts_do(table: pa.Table) -> None:
    """Also when layers are trimmed hop by hop."""
    from torch_geometric.nn import SAGEConv

    torch.manual_seed(0)
    layers = [SAGEConv(5, 8), SAGEConv(8, 3)]

    def run(data: Data, trim: bool) -> torch.Tensor:
        x, edges = data.x, data.edge_index
        for i, layer in enumerate(layers):
            if trim:
                x, edges, _ = trim_to_layer(i, data.num_sampled_nodes, data.num_sampled_edges, x, edges)
            x = layer(x, edges).relu()
        return x[: data.batch_size]

    parts = torch.cat([run(collate_to_pyg(b), trim=False) for b in table.to_batches()])
    for trim in (False, True):
        torch.testing.assert_close(run(collate_to_pyg(table), trim), parts)


def test_warns_of_a_union_once(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collate, "_union_expected", type(collate._union_expected)())
    with pytest.warns(UserWarning, match="3 mini-batches at once.*batch_size=1"):
        collate_to_pyg(table)
    collate_to_pyg(table)


@pytest.mark.parametrize(
    ("batch", "error", "words"),
    [
        (minimal().slice(0, 0), ValueError, "no rows"),
        ({}, ValueError, "no rows"),
        (minimal().drop_columns(["n_id"]), ValueError, "'n_id' is missing"),
        ([1, 2], TypeError, "not a list"),
        *(
            (
                pa.Table.from_batches([minimal(), minimal(**{name: pa.array(["ab" * 16])})]),
                ValueError,
                f"different graphs.*{name}",
            )
            for name in ("fingerprint", "content_id", "generator")
        ),
    ],
)
def test_refuses(batch: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        collate_to_pyg(batch)
