"""Makes PyG data of mini-batches, without copying them.

    one row                                       several rows: a disjoint union, hop by hop (which copies)
    edge_index  [r r r r c c c c] ─► (2, E) view   hop 0   seeds of row 0, seeds of row 1, …
    x           [x x x x x x x x] ─► (n, d) view   hop 1   nodes first met by row 0, by row 1, …
    n_id        [n n n n]         ─► (n,) view     …       so trim_to_layer and [:batch_size] work as on one

Tensors share memory with the Arrow buffers, by DLPack: `torch.from_numpy` would warn about memory that is read-only, as
Ray's object store is. Writing to them in place is forbidden there; `copy=True` gives tensors of their own.
"""

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import torch.utils.dlpack
from torch import Tensor
from torch_geometric.data import Data

from aethergraph.request import SAME_EVERYWHERE

Row = dict[str, Any]  # tensors of one dimension for lists, Python values for the others
Counts = list[int]

_DIM, _DTYPE = "_dim", "_dtype"


def collate_to_pyg(batch: Any, *, copy: bool = False) -> Data:
    """Makes one `Data` of a batch of mini-batches.

    Args:
        batch: a pyarrow Table or RecordBatch, a dict of NumPy arrays or a pandas DataFrame with the columns that a
            sampling dataset gives (one row is one mini-batch), as Ray's `batch_format`s or the engine's streams give
            them.
        copy: whether the tensors get memory of their own, which may be written to.

    Returns:
        Data with, for n nodes and E edges:
            x: (n, d) features, in the dtype of the file; None when the graph has none.
            edge_index: (2, E) int64, rows (neighbour, target), places in n_id.
            n_id: (n,) int64 node ids, the seeds first.
            n_id_original: (n,) int64 ids that the nodes had before `build(relabel="ids")`; absent when not asked for.
            e_id: (E,) int64 rows of the edges in the input; absent when they were not asked for.
            input_id: (batch_size,) int64 places of the seeds in input_nodes; node ids for a mask or None.
            batch_size: int, number of seeds.
            num_sampled_nodes, num_sampled_edges: lists of int, per hop, the first begins with the seeds.
            batch_index, epoch: int, which mini-batch this is; lists of int for a union.
            fingerprint, content_id: str, of the graph.
            generator: str, of the draws, with its version.
            and a tensor for each node attribute, such as y: (n,), or (n, d) when it has d columns.

    Raises:
        ValueError: the batch has no row, lacks a column, or mixes graphs.
        TypeError: it is none of the kinds above.
    """
    rows = list(_rows(batch))
    if not rows:
        raise ValueError("collate_to_pyg: the batch has no rows, and so no mini-batch")
    if len(rows) == 1:
        return _to_data(rows[0], copy=copy)
    _warn_once_about_union(len(rows))
    return _to_data(_union(rows), copy=False)


# ── reading a row ────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(batch: Any) -> Iterator[Row]:
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return _arrow_rows(batch)
    if isinstance(batch, Mapping):
        return _column_rows({name: np.asarray(column) for name, column in batch.items()})
    if hasattr(batch, "iloc"):  # a pandas DataFrame, without importing pandas
        return _column_rows({name: batch[name].to_numpy() for name in batch.columns})
    raise TypeError(
        "collate_to_pyg: a pyarrow Table or RecordBatch, a dict of NumPy arrays or a pandas DataFrame is wanted, "
        f"not a {type(batch).__name__}"
    )


def _arrow_rows(table: pa.Table | pa.RecordBatch) -> Iterator[Row]:
    for i in range(table.num_rows):
        yield {name: _arrow_value(table.column(name)[i]) for name in table.column_names}


def _arrow_value(value: Any) -> Any:
    """A tensor over a list's values, or a Python value. Lists may be Ray's tensor extensions."""
    if isinstance(value, pa.ExtensionScalar):
        value = value.value
    if isinstance(value, pa.StructScalar):  # a tensor of variable shape: data and shape
        value = value["data"]
    if isinstance(value, (pa.ListScalar, pa.LargeListScalar, pa.FixedSizeListScalar)):
        return None if value.values is None else _arrow_tensor(value.values)
    return value.as_py()


def _arrow_tensor(values: pa.Array) -> Tensor:
    if len(values) == 0 or pa.types.is_boolean(values.type):  # no address to share; bits, which tensors do not have
        return torch.from_numpy(values.to_numpy(zero_copy_only=False).copy())
    return torch.utils.dlpack.from_dlpack(values)


def _column_rows(columns: Mapping[str, Any]) -> Iterator[Row]:
    for i in range(min(map(len, columns.values()), default=0)):
        yield {name: _numpy_value(column[i]) for name, column in columns.items()}


def _numpy_value(value: Any) -> Any:
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return _numpy_tensor(np.asarray(value))
    return value.item() if isinstance(value, np.generic) else value


def _numpy_tensor(array: np.ndarray[Any, Any]) -> Tensor:
    """Through Arrow, which takes read-only memory as it is."""
    return _arrow_tensor(pa.array(np.ascontiguousarray(array).reshape(-1)))


# ── one row to Data ──────────────────────────────────────────────────────────────────────────────────────────────────


def _to_data(row: Row, *, copy: bool) -> Data:
    try:
        fields = _fields(row)
    except KeyError as e:
        raise ValueError(
            f"collate_to_pyg: column {e} is missing; it wants whole mini-batches, as create_sampling_dataset gives them"
        ) from None
    if copy:
        fields = {name: v.clone() if isinstance(v, Tensor) else v for name, v in fields.items()}
    return Data(**fields)


def _fields(row: Row) -> Row:
    described = {f"{name}{suffix}" for name in row for suffix in (_DIM, _DTYPE)}
    fields = {name: value for name, value in row.items() if name not in described}
    fields["edge_index"] = row["edge_index"].view(2, -1)
    fields["num_sampled_nodes"] = _counts(row["num_sampled_nodes"])
    fields["num_sampled_edges"] = _counts(row["num_sampled_edges"])
    fields["x"] = _shaped(row, "x") if row.get("x") is not None else None
    for name in _attributes(row):
        fields[name] = _shaped(row, name)
    fields["n_id"], fields["input_id"], fields["batch_size"] = row["n_id"], row["input_id"], row["batch_size"]
    return fields


def _attributes(row: Row) -> list[str]:
    """The columns that come with a dimension: the node attributes, without x."""
    return [name for name in row if f"{name}{_DIM}" in row and name != "x" and row[name] is not None]


def _shaped(row: Row, name: str) -> Tensor:
    """The values in their own dtype, as (n, d); as (n,) for an attribute that was given with one axis (d is 0)."""
    values: Tensor = row[name]
    dtype: torch.dtype = getattr(torch, row[f"{name}{_DTYPE}"])
    if values.dtype != dtype:  # bfloat16 and bool travel as integers of their size
        values = values.view(dtype)
    columns = row[f"{name}{_DIM}"]
    return values if columns == 0 and name != "x" else values.view(len(row["n_id"]), max(1, columns))


def _counts(values: Tensor | Sequence[int]) -> Counts:
    return values.tolist() if isinstance(values, Tensor) else [int(v) for v in values]


# ── several rows to one ──────────────────────────────────────────────────────────────────────────────────────────────


def _union(rows: list[Row]) -> Row:
    """The disjoint union, in hop-major order, as a row."""
    _check_same_graph(rows)
    nodes = [_counts(row["num_sampled_nodes"]) for row in rows]
    edges = [_counts(row["num_sampled_edges"]) for row in rows]
    place = _places(nodes)
    union = dict(rows[0])
    for name in _per_node(rows[0]):
        union[name] = _hop_major([_by_node(row, name) for row in rows], nodes).reshape(-1)
    ends = [p[row["edge_index"].view(2, -1)] for p, row in zip(place, rows, strict=True)]
    union["edge_index"] = torch.stack([_hop_major([e[side] for e in ends], edges) for side in (0, 1)]).view(-1)
    if rows[0].get("e_id") is not None:
        union["e_id"] = _hop_major([row["e_id"] for row in rows], edges)
    union["input_id"] = torch.cat([row["input_id"] for row in rows])
    union["batch_size"] = sum(row["batch_size"] for row in rows)
    union["num_sampled_nodes"] = [sum(hop) for hop in zip(*nodes, strict=True)]
    union["num_sampled_edges"] = [sum(hop) for hop in zip(*edges, strict=True)]
    for name in ("batch_index", "epoch"):
        union[name] = [row.get(name) for row in rows]
    return union


def _check_same_graph(rows: list[Row]) -> None:
    for name, what in SAME_EVERYWHERE.items():
        found = {row.get(name) for row in rows}
        if len(found) > 1:
            raise ValueError(
                f"collate_to_pyg: mini-batches of different graphs cannot be united: they differ in {name} ({what}): "
                f"{sorted(map(str, found))}"
            )


def _per_node(row: Row) -> list[str]:
    optional = [name for name in ("n_id_original", "x") if row.get(name) is not None]
    return ["n_id", *optional, *_attributes(row)]


def _by_node(row: Row, name: str) -> Tensor:
    """Values as (n, d), in the dtype that they travel in."""
    values: Tensor = row[name]
    return values.view(len(row["n_id"]), max(1, row.get(f"{name}{_DIM}", 1)))


def _hop_major(parts: list[Tensor], counts: list[Counts]) -> Tensor:
    """Part after part of hop 0, then of hop 1, …; counts[i] are the lengths of parts[i] per hop."""
    split = [torch.split(part, hops) for part, hops in zip(parts, counts, strict=True)]
    return torch.cat([hop for hops in zip(*split, strict=True) for hop in hops])


def _places(nodes: list[Counts]) -> list[Tensor]:
    """For each row, the place in the union of each of its nodes."""
    places: list[list[Tensor]] = [[] for _ in nodes]
    start = 0
    for hop in zip(*nodes, strict=True):
        for row, count in enumerate(hop):
            places[row].append(torch.arange(start, start + count))
            start += count
    return [torch.cat(parts) for parts in places]


# ── the warning ──────────────────────────────────────────────────────────────────────────────────────────────────────

_union_expected = threading.Event()  # set once: by who asks for unions, or by the first warning


def expect_unions() -> None:
    """Says that this process unites mini-batches on purpose, so that nobody needs to be warned."""
    _union_expected.set()


def _warn_once_about_union(rows: int) -> None:
    if not _union_expected.is_set():
        _union_expected.set()
        warnings.warn(
            f"collate_to_pyg got {rows} mini-batches at once and makes their disjoint union, which copies them. Ray "
            "merges rows by default where a dataset is a plain one: pass batch_size=1 to get one mini-batch per turn.",
            stacklevel=3,
        )
