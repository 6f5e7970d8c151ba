"""Builds the graph, once, and what each peer wants to read it from."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

EDGE_FACTOR = 16
FEATURES = 128  # float32: rows of 512 bytes
ROWS_AT_ONCE = 1 << 16
EDGES_AT_ONCE = 1 << 22
TEXT_EDGES = 1 << 21  # as much as is written as text

Progress = Callable[[str], None]


class SetupError(Exception):
    """The graph can't be made; the message says why."""


@dataclass(frozen=True)
class Data:
    """One graph, in every form."""

    folder: Path
    scale: int

    @property
    def nodes(self) -> int:
        """As many as RMAT makes."""
        return 1 << self.scale

    @property
    def edges(self) -> int:
        """As many as RMAT makes."""
        return EDGE_FACTOR << self.scale

    @property
    def edge_list(self) -> Path:
        """int32 of shape (2, E), what `build` reads."""
        return self.folder / "edges.npy"

    @property
    def graph(self) -> Path:
        """Ours."""
        return self.folder / "graph.bin"

    @property
    def csc(self) -> tuple[Path, Path, Path]:
        """The adjacency as arrays: int64 offsets, int32 ids, and int64 ids, which PyG needs."""
        return self.folder / "colptr.npy", self.folder / "row.npy", self.folder / "row64.npy"

    @property
    def parquet(self) -> Path:
        """The edge list, in the order of edges.npy; what DuckDB reads."""
        return self.folder / "edges.parquet"

    @property
    def text(self) -> Path:
        """The first edges, a line "src dst" for each; what GNU sort reads."""
        return self.folder / "edges.txt"

    @property
    def text_edges(self) -> int:
        """Lines of it."""
        return min(TEXT_EDGES, self.edges)

    @property
    def features(self) -> Path:
        """float32 of shape (N, 128)."""
        return self.folder / "features.npy"

    @property
    def feature_bytes(self) -> int:
        """Without the header."""
        return self.nodes * FEATURES * 4

    def seeds(self, fanouts: Sequence[int]) -> Path:
        """Seeds of all batches of a job, int32, one batch after the other."""
        return self.folder / f"seeds-{'-'.join(map(str, fanouts))}.npy"

    def files(self) -> list[Path]:
        """All that is there."""
        return sorted(path for path in self.folder.iterdir() if path.is_file())


def make(data: Data, binary: Path, plain: Path, memory_bytes: int, say: Progress) -> None:
    """Makes what is not there yet. A file gets its name when it is whole."""
    data.folder.mkdir(parents=True, exist_ok=True)
    seed = ("--seed", "1", "--edge-factor", EDGE_FACTOR, "--dtype", "int32")
    steps: list[tuple[Path, str, Callable[[], None]]] = [
        (
            data.edge_list,
            f"an RMAT graph of scale {data.scale}",
            lambda: tool(binary, "gen", "rmat", "--scale", data.scale, *seed, "--out", data.edge_list),
        ),
        (
            data.graph,
            "graph.bin",
            lambda: tool(binary, "build", data.edge_list, "--out", data.graph, "--memory", memory_bytes),
        ),
        (data.csc[-1], "the same as plain arrays", lambda: tool(plain, "csc", data.edge_list, data.folder)),
        (data.parquet, "the edge list as Parquet", lambda: _whole(data.parquet, lambda out: _parquet(data, out))),
        (data.text, "its first part as text", lambda: _whole(data.text, lambda out: _text(data, out))),
        (data.features, "feature rows", lambda: _whole(data.features, lambda out: _features(data, out))),
    ]
    for path, what, step in steps:
        if not path.exists():
            say(f"making {what}")
            step()


def tool(*argv: object, cwd: Path | None = None) -> None:
    """Runs a program that must succeed."""
    words = [str(word) for word in argv]
    try:
        ran = subprocess.run(words, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise SetupError(f"{words[0]}: {error.strerror}") from error
    if ran.returncode:
        raise SetupError(f"{' '.join(map(str, argv[:3]))}: {ran.stderr.strip()}")


def _whole(path: Path, write: Callable[[Path], None]) -> None:
    part = path.with_suffix(".part")
    write(part)
    part.rename(path)


def _parquet(data: Data, out: Path) -> None:
    edges = np.load(data.edge_list, mmap_mode="r")
    schema = pa.schema([("src", pa.int32()), ("dst", pa.int32())])
    with pq.ParquetWriter(out, schema) as writer:
        for at in range(0, data.edges, EDGES_AT_ONCE):
            part = edges[:, at : at + EDGES_AT_ONCE]
            writer.write_table(pa.table({"src": part[0], "dst": part[1]}, schema=schema))


def _text(data: Data, out: Path) -> None:
    edges = np.load(data.edge_list, mmap_mode="r")[:, : data.text_edges]
    options = csv.WriteOptions(include_header=False, delimiter=" ")
    csv.write_csv(pa.table({"src": edges[0], "dst": edges[1]}), out, options)


def _features(data: Data, out: Path) -> None:
    """Random bits: what is gathered does not matter, but blocks of zeros might be stored as none."""
    random = np.random.default_rng(1)
    header = {"descr": "<f4", "fortran_order": False, "shape": (data.nodes, FEATURES)}
    with out.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for at in range(0, data.nodes, ROWS_AT_ONCE):
            rows = min(ROWS_AT_ONCE, data.nodes - at)
            file.write(random.random((rows, FEATURES), dtype=np.float32).tobytes())


def make_seeds(data: Data, fanouts: Sequence[int], batches: int, batch_size: int) -> None:
    """Distinct random nodes of in-degree above zero for each batch; the same for the same arguments."""
    candidates = np.flatnonzero(np.diff(np.load(data.csc[0]))).astype(np.int32)
    if len(candidates) < batch_size:
        raise SetupError(
            f"only {len(candidates)} nodes have neighbours, a batch needs {batch_size}: use a larger --scale"
        )
    random = np.random.default_rng(1)
    seeds = [random.choice(candidates, batch_size, replace=False) for _ in range(batches)]
    np.save(data.seeds(fanouts), np.concatenate(seeds))
