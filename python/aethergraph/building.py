"""Building a graph file from what Python holds, or from files.

    edge_index ─┐
    Table ──────┼─ Arrow IPC stream ─► stdin ┐
    iterator ───┘                            ├─► aether-ooc build ─► graph.bin
    path ────────────────────────────────────┘         │ stderr: a JSON line for each step, and for an error
                                                       └─► tqdm, exceptions

The work is the command's, in bounded memory and in a process of its own; edges are streamed to it and never all copied.
"""

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aethergraph import engine
from aethergraph.errors import AetherGraphError, CorruptGraphError

Array = NDArray[Any]
PathLike = str | os.PathLike[str]

_CHUNK = 1 << 18  # edges in a record: 4 MiB


@dataclass(frozen=True)
class BuildResult:
    """What was built.

    Attributes:
        path: the graph file.
        nodes: number of nodes.
        edges: number of entries in all lists; with `undirected` both directions count.
        fingerprint: of nodes and edges, hexadecimal; the same for every encoding.
        content_id: of those with edge ids and the files beside the graph, hexadecimal.
        report: the command's whole JSON report.
    """

    path: Path
    nodes: int
    edges: int
    fingerprint: str
    content_id: str
    report: Mapping[str, Any]


def build(
    source: Any,
    out: PathLike,
    *,
    num_nodes: int | None = None,
    direction: str = "in",
    edge_ids: str = "input",
    relabel: str | None = None,
    undirected: bool = False,
    dedup: bool = False,
    drop_self_loops: bool = False,
    features: Any = None,
    node_attrs: Mapping[str, Any] | None = None,
    memory: int | str | None = None,
    progress: bool = True,
    options: Sequence[str] = (),
) -> BuildResult:
    """Builds a graph file. It appears whole or not at all.

    Args:
        source: the edges, as one of
            a path (or a list of them) of any form that `aether-ooc build` reads;
            an `edge_index`: a NumPy array or torch tensor of integers, shape (2, E): sources, targets;
            a `pyarrow.Table`, `RecordBatch` or `RecordBatchReader`: its columns src and dst, else its first two;
            an iterator of `edge_index` pieces, tables or record batches, taken one at a time.
        out: the file to write.
        num_nodes: number of nodes; None: the largest id + 1.
        direction: "in": a node's list holds the sources of its incoming edges, as PyTorch Geometric samples; "out".
        edge_ids: "input": `e_id` is the edge's row in the source; "stored": its place in the file, which saves space.
        relabel: "ids": number the nodes anew, by the rank of their ids, which may be any 64-bit ones; what they were is
            kept in the graph, and given back where a dataset is made with `original_ids=True`.
        undirected: add the reverse of every edge, with the same edge id; loops are not doubled.
        dedup: of parallel edges keep the one of the lowest row.
        drop_self_loops: leave self loops out.
        features: a path of a `.npy`, or an array or tensor of shape (N, D).
        node_attrs: name to path, array or tensor with one row for each node, such as labels.
        memory: bytes, or words such as "2GiB"; None: half of what the machine or control group allows.
        progress: show a tqdm bar.
        options: further flags of `aether-ooc build`, as on the command line.

    Returns:
        What was built.

    Raises:
        ValueError: an input, an option or a value of the source is wrong; the message names file or row, and the value.
        FileNotFoundError: there is no such file, or no folder to write to.
        PermissionError: a file may not be read or written.
        MemoryError: `memory` is too little; the message says how much would do.
        CorruptGraphError: a file is damaged.
        AetherGraphError: it failed otherwise, for example for want of disk space.
    """
    with ExitStack() as stack:
        edges = _Edges.of(source)
        flags = _flags(num_nodes, direction, edge_ids, relabel, undirected, dedup, drop_self_loops, memory)
        flags += _attachments(stack, features, node_attrs or {})
        arguments = ["build", *edges.arguments, "--out", os.fspath(out), *flags, *options]
        report = _run(arguments, edges.batches, progress)
    return BuildResult(Path(out), report["nodes"], report["edges"], report["fingerprint"], report["content_id"], report)


def from_pyg(data: Any, out: PathLike, **options: Any) -> BuildResult:
    """Builds a graph file from a `torch_geometric.data.Data`.

    `x` becomes the features; every other tensor with one row for each node (labels, masks, positions) an attribute of
    its name. Edges keep their rows: `data.edge_attr[batch.e_id]` is right.

    Args:
        data: with `edge_index` of shape (2, E).
        out: the file to write.
        options: as of `build`.

    Raises:
        ValueError: there is no `edge_index` (heterogeneous data has several), or it is wrong; and what `build` raises.
    """
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None or not hasattr(data, "node_attrs"):
        raise ValueError(f"from_pyg: {type(data).__name__} has no single edge_index; give a torch_geometric.data.Data")
    attrs = {
        name: data[name]
        for name in data.node_attrs()
        if name != "x" and hasattr(data[name], "detach") and data[name].dim() > 0
    }
    options = {"num_nodes": data.num_nodes, "features": data.get("x"), "node_attrs": attrs} | options
    return build(edge_index, out, **options)


@dataclass(frozen=True)
class _Edges:
    """The edges as the command gets them: by name, or as a stream."""

    arguments: list[str]
    batches: Iterator[pa.RecordBatch] | None

    @staticmethod
    def of(source: Any) -> "_Edges":
        if isinstance(source, str | os.PathLike):
            return _Edges([os.fspath(source)], None)
        if isinstance(source, list | tuple) and source and all(isinstance(s, str | os.PathLike) for s in source):
            return _Edges([os.fspath(s) for s in source], None)
        return _Edges(["-", "--format", "arrow"], _batches(source))


def _batches(source: Any) -> Iterator[pa.RecordBatch]:
    """The edges in records of two columns of int64."""
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return _of_table(source)
    if hasattr(source, "detach") or isinstance(source, np.ndarray):
        return _of_array(source)
    if isinstance(source, list | tuple) and not any(hasattr(piece, "shape") for piece in source):
        return _of_array(np.asarray(source))
    if isinstance(source, Iterable):
        return (batch for piece in source for batch in _batches(piece))
    raise ValueError(f"build: edges cannot be read from {type(source).__name__}; give a path, an edge_index or a Table")


def _of_array(edge_index: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(edge_index, "detach"):
        edge_index = edge_index.detach().cpu().numpy()
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"build: an edge_index has the shape (2, E), not {edge_index.shape}")
    if edge_index.size and not np.issubdtype(edge_index.dtype, np.integer):
        raise ValueError(f"build: node ids are integers, not {edge_index.dtype}")
    for at in range(0, edge_index.shape[1], _CHUNK):
        src, dst = np.ascontiguousarray(edge_index[:, at : at + _CHUNK])
        yield pa.RecordBatch.from_arrays([_ids(src), _ids(dst)], names=["src", "dst"])


def _ids(values: Array) -> pa.Array:
    if values.dtype == np.uint64 and values.max(initial=0) >= 2**63:
        raise ValueError(f"build: node id {values.max()} is beyond 2^63-2")
    return pa.array(values.astype(np.int64, copy=False))


def _of_table(table: Any) -> Iterator[pa.RecordBatch]:
    names = ["src", "dst"] if {"src", "dst"} <= set(table.schema.names) else table.schema.names[:2]
    if len(names) < 2:
        raise ValueError(f"build: a table of edges has two columns, this one {table.schema.names}")
    batches = [table] if isinstance(table, pa.RecordBatch) else table
    if isinstance(table, pa.Table):
        batches = table.to_batches(max_chunksize=_CHUNK)
    for batch in batches:
        columns = [batch.column(batch.schema.get_field_index(name)) for name in names]
        yield pa.RecordBatch.from_arrays(
            [_column(name, c) for name, c in zip(names, columns, strict=True)], ["src", "dst"]
        )


def _column(name: str, values: pa.Array) -> pa.Array:
    if not pa.types.is_integer(values.type):
        raise ValueError(f"build: column {name!r} has type {values.type}; node ids are integers")
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid as e:
        raise ValueError(f"build: column {name!r}: {e}") from None


def _flags(
    num_nodes: int | None,
    direction: str,
    edge_ids: str,
    relabel: str | None,
    undirected: bool,
    dedup: bool,
    drop_self_loops: bool,
    memory: int | str | None,
) -> list[str]:
    flags = ["--direction", direction, "--edge-ids", edge_ids]
    if relabel is not None:
        flags += ["--relabel", relabel]
    if num_nodes is not None:
        flags += ["--num-nodes", str(num_nodes)]
    for name, wanted in (("undirected", undirected), ("dedup", dedup), ("drop-self-loops", drop_self_loops)):
        flags += [f"--{name}"] if wanted else []
    return flags + (["--memory", str(memory)] if memory is not None else [])


def _attachments(stack: ExitStack, features: Any, attrs: Mapping[str, Any]) -> list[str]:
    """Flags for the arrays beside the graph; those in memory are saved to files for the time being."""
    saved = _Saved(stack)
    flags = []
    if features is not None:
        path, words = saved.path(features, "x")
        flags += ["--features", path, *(["--dtype", "bf16"] if words else [])]
    for name, values in attrs.items():
        path, words = saved.path(values, name)
        if words:
            raise ValueError(f"build: attribute {name!r} is bfloat16, which only features may be; give float32")
        flags += ["--node-attr", f"{name}={path}"]
    return flags


class _Saved:
    """A folder for arrays on their way, made when it is needed."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._folder: Path | None = None
        self._count = 0

    def path(self, values: Any, name: str) -> tuple[str, bool]:
        """Where the array lies, and whether it is bfloat16's words."""
        if isinstance(values, str | os.PathLike):
            return os.fspath(values), False
        words = str(getattr(values, "dtype", "")) == "torch.bfloat16"
        if hasattr(values, "detach"):
            values = values.detach().cpu()
            values = values.view(_torch_int16()).numpy() if words else values.numpy()
        array = np.ascontiguousarray(values)
        if array.dtype == object:
            raise ValueError(f"build: {name!r} is no array of numbers")
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="aethergraph-")))
        self._count += 1
        path = self._folder / f"{self._count}.npy"
        np.save(path, array)
        return str(path), words


def _torch_int16() -> Any:
    import torch

    return torch.int16


def _run(arguments: list[str], batches: Iterator[pa.RecordBatch] | None, progress: bool) -> dict[str, Any]:
    """Runs the command to its end; its errors are ours."""
    command = [engine.command(), *arguments, "--json", "--progress", "json"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL if batches is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,  # Ctrl-C reaches us, and we tell it
    )
    listener = _Listener(process, progress)
    try:
        _feed(process.stdin, batches)
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    finally:
        listener.close()
    if process.returncode != 0:
        raise listener.error(process.returncode)
    return listener.report()


def _feed(pipe: IO[bytes] | None, batches: Iterator[pa.RecordBatch] | None) -> None:
    """Sends the edges. A command that has stopped reading says why itself."""
    if pipe is None or batches is None:
        return
    schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    with suppress(BrokenPipeError), pipe, pa.ipc.new_stream(pipe, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)


class _Listener:
    """Reads what the command says while it works: steps, an error, at last its report."""

    def __init__(self, process: "subprocess.Popen[bytes]", progress: bool) -> None:
        self._progress = progress
        self._bar: Any = None
        self._phase = ""
        self._done = 0
        self._error: dict[str, str] = {}
        self._words: list[str] = []
        self._report = b""
        self._threads = [
            threading.Thread(target=self._listen, args=(process.stderr,), daemon=True),
            threading.Thread(target=self._collect, args=(process.stdout,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _collect(self, pipe: IO[bytes]) -> None:
        with pipe:
            self._report = pipe.read()

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                self._hear(line.decode(errors="replace").strip())

    def _hear(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            self._words.append(line)
        elif "error" in said:
            self._error = said
        elif "phase" in said and self._progress:
            self._show(said["phase"], said["done"], said["total"])

    def _show(self, phase: str, done: int, total: int) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        if phase != self._phase:
            self._end_bar()
            self._phase, self._done = phase, 0
            self._bar = tqdm(total=total or None, desc=phase, unit_scale=True, leave=False)
        self._bar.update(done - self._done)
        self._done = done

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def close(self) -> None:
        """Waits for the last word."""
        for thread in self._threads:
            thread.join()
        self._end_bar()

    def report(self) -> dict[str, Any]:
        """The command's report."""
        report: dict[str, Any] = json.loads(self._report)
        return report

    def error(self, code: int) -> Exception:
        """The exception that the command's error is."""
        text = self._error.get("error") or "\n".join(self._words[-20:]) or f"aether-ooc ended with code {code}"
        return _EXCEPTIONS.get(self._error.get("kind", ""), AetherGraphError)(text)


_EXCEPTIONS: dict[str, type[Exception]] = {
    "usage": ValueError,
    "input": ValueError,
    "not_found": FileNotFoundError,
    "permission": PermissionError,
    "memory": MemoryError,
    "corrupt": CorruptGraphError,
}
