"""Who runs, and under which conditions."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peers import outcome
from peers.data import Data
from peers.launch import Command

IMPORTS = Path(__file__).parents[1]  # where workers find this package
BATCH_SIZE = 1024
GATHER = 16384  # rows at once
MIB = 1 << 20
FIXED_BUDGET = 800_000_000

DEVICE, FEATURES, BUILD = "device", "features", "build"
FIO = "fio"


@dataclass(frozen=True)
class Job:
    """What is sampled: batches of 1,024 seeds, the first `ramp` of which are not measured."""

    fanouts: tuple[int, ...]
    ramp: int
    batches: int

    @property
    def words(self) -> str:
        """As flags want them."""
        return ",".join(map(str, self.fanouts))

    @property
    def section(self) -> str:
        """The title of its part of the table."""
        return f"sampling [{self.words}]"

    @property
    def total(self) -> int:
        """Batches, measured or not."""
        return self.ramp + self.batches


JOBS = (Job((25, 10), 64, 64), Job((20, 15, 10), 16, 24))


@dataclass(frozen=True)
class Memory:
    """What each kind of contestant may have, in bytes: the same for all of a kind."""

    budget: int  # ours, out of core: a quarter of the adjacency as plain 32-bit ids
    out_of_core: int
    fixed: int  # for those that have FIXED_BUDGET
    in_ram: int
    feature_budget: int  # ours: an eighth of the feature file
    features: int
    build: int

    @classmethod
    def of(cls, data: Data, allowance: int) -> "Memory":
        """`allowance` is for runtimes: Python, torch, Go."""
        in_ram = 24 * data.edges + 2048 * MIB
        feature_budget = data.feature_bytes // 8
        return cls(
            budget=data.edges,
            out_of_core=data.edges + allowance,
            fixed=FIXED_BUDGET + allowance,
            in_ram=in_ram,
            feature_budget=feature_budget,
            features=feature_budget + 128 * MIB,
            build=40 * data.edges + 192 * MIB,
        )


@dataclass(frozen=True)
class Contestant:
    """One row of the table."""

    section: str
    name: str
    command: Command
    read: outcome.Reader
    once: bool = False  # too slow to run in every round
    job: Job | None = None
    note: str = ""
    leaves: tuple[Path, ...] = ()  # files to be removed after each run

    @property
    def key(self) -> str:
        """Unique among all."""
        return key(self.section, self.name)


@dataclass(frozen=True)
class Missing:
    """A row without a figure."""

    section: str
    name: str
    why: str


@dataclass(frozen=True)
class Tools:
    """Programs and environments. A peer that can't be had is a reason in place of a path."""

    binary: Path
    plain: Path
    graphbolt: Path | str
    duckdb: Path | str
    pyg_sampler: Path | str
    seconds: float = 8.0  # what peers have for ramp and measuring each
    slow_seconds: float = 90.0  # after which a slow one is stopped


@dataclass
class Cast:
    """Everybody, and who is missing."""

    data: Data
    memory: Memory
    tools: Tools
    playing: list[Contestant] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def assemble(self) -> "Cast":
        """In the order of the table."""
        self._fio()
        for job in JOBS:
            self._ours(job)
            self._pyg(job)
            self._in_ram(job)
        self._features()
        self._build()
        return self

    def _add(
        self,
        section: str,
        name: str,
        argv: Sequence[object],
        memory: int,
        cpus: int,
        read: outcome.Reader,
        timeout: float = 300,
        **more: object,
    ) -> None:
        command = Command([str(word) for word in argv], memory, cpus, timeout, {"PYTHONPATH": str(IMPORTS)})
        self.playing.append(Contestant(section, name, command, read, **more))  # type: ignore[arg-type]

    def _fio(self) -> None:
        program = shutil.which("fio")
        if program is None:
            self.missing.append(Missing(DEVICE, FIO, "fio is not installed (its package is called fio)"))
            return
        what = f"--name=r --filename={self.data.graph} --readonly --rw=randread --bs=4k --iodepth=128 --direct=1"
        how = "--ioengine=io_uring --time_based --runtime=4 --ramp_time=1 --output-format=json"
        argv = [program, *what.split(" "), *how.split(" ")]
        self._add(DEVICE, FIO, argv, self.memory.out_of_core, 2, outcome.from_fio, note="4 KiB, depth 128, O_DIRECT")

    def _ours(self, job: Job) -> None:
        memory = self.memory
        quarter, resident = ("--memory", memory.budget), ("--memory", memory.in_ram // 2, "--preload")
        fixed = ("--memory", FIXED_BUDGET)
        for name, budget, limit, lanes, edge_ids in (
            (quarter_name(), quarter, memory.out_of_core, 2, False),
            (quarter_name(edge_ids=True), quarter, memory.out_of_core, 2, True),
            (fixed_name(), fixed, memory.fixed, 2, False),
            (fixed_name(edge_ids=True), fixed, memory.fixed, 2, True),
            (resident_name(1), resident, memory.in_ram, 1, False),
            (resident_name(2), resident, memory.in_ram, 2, False),
            (resident_name(2, edge_ids=True), resident, memory.in_ram, 2, True),
        ):
            argv = [self.tools.binary, "bench", "sample", self.data.graph, *budget, "--lanes", lanes]
            argv += ["--input-nodes", self.data.seeds(job.fanouts), "--in-order", "--batch-size", BATCH_SIZE]
            argv += ["--fanouts", job.words, "--ramp", job.ramp, "--batches", job.batches]
            argv += [f"--edge-ids={str(edge_ids).lower()}", "--json"]
            self._add(job.section, name, argv, limit, lanes, outcome.from_bench_sample, job=job)

    def _pyg(self, job: Job) -> None:
        kinds = (
            (pyg_name(), (), self.memory.in_ram, False),
            (memmap_name(), ("--map",), self.memory.out_of_core, True),
            (memmap_name(random=True), ("--map-random",), self.memory.out_of_core, True),
            (memmap_name() + FIXED, ("--map",), self.memory.fixed, True),
        )
        for name, flags, limit, slow in kinds:
            if isinstance(self.tools.pyg_sampler, str):
                self.missing.append(Missing(job.section, name, self.tools.pyg_sampler))
                continue
            argv = [
                sys.executable,
                *_worker("pyg"),
                self.data.folder,
                self.data.seeds(job.fanouts),
                self.tools.pyg_sampler,
            ]
            argv += ["--fanouts", job.words, "--batch-size", BATCH_SIZE, "--seconds", 2 * self.tools.seconds, *flags]
            timeout = self.tools.slow_seconds if slow else 300
            read = outcome.from_lines(job.ramp)
            self._add(job.section, name, argv, limit, 1, read, timeout, once=slow, job=job)

    def _in_ram(self, job: Job) -> None:
        files = (self.data.folder, self.data.seeds(job.fanouts))
        read = outcome.from_lines(job.ramp)
        for threads in (1, 2):
            argv: list[object] = [self.tools.plain, "sample", "--fanouts", job.words, "--threads", threads, *files]
            note = "no cache, no encoding: bounds our compute"
            self._add(job.section, plain_name(threads), argv, self.memory.in_ram, threads, read, job=job, note=note)
        for threads in (1, 2):
            if isinstance(self.tools.graphbolt, str):
                self.missing.append(Missing(job.section, graphbolt_name(threads), self.tools.graphbolt))
                continue
            argv = [self.tools.graphbolt, *_worker("graphbolt"), *files, "--fanouts", job.words]
            argv += ["--threads", threads, "--seconds", 2 * self.tools.seconds]
            note = "expands the nodes of earlier hops again"
            name = graphbolt_name(threads)
            self._add(job.section, name, argv, self.memory.in_ram, threads, read, job=job, note=note)

    def _features(self) -> None:
        argv = [self.tools.binary, "bench", "features", self.data.features, "--ids", "uniform", "--lanes", 2]
        argv += ["--memory", self.memory.feature_budget, "--gather", GATHER, "--ramp", 16, "--batches", 32, "--json"]
        name, limit = features_name(), self.memory.features
        self._add(FEATURES, name, argv, limit, 2, outcome.from_bench_features)
        for name, flags in ((gather_name(), ()), (gather_name(random=True), ("--random",))):
            argv = [sys.executable, *_worker("gather"), self.data.features, *flags, "--rows", 512]
            argv += ["--seconds", 2 * self.tools.seconds]
            self._add(FEATURES, name, argv, limit, 1, outcome.from_lines(16))

    def _build(self) -> None:
        sorted_edges, graph = self.data.folder / "sorted.parquet", self.data.folder / "built.bin"
        allowed = self.memory.build - 128 * MIB
        argv: list[object] = [self.tools.binary, "build", self.data.edge_list, "--out", graph]
        argv += ["--memory", allowed, "--json"]
        self._add(BUILD, build_name(), argv, self.memory.build, 2, outcome.from_build, leaves=(graph,))
        self._build_from_text(allowed, graph)
        if isinstance(self.tools.duckdb, str):
            self.missing.append(Missing(BUILD, duckdb_name(), self.tools.duckdb))
            return
        argv = [self.tools.duckdb, *_worker("duck"), self.data.parquet, sorted_edges, "--memory", allowed]
        argv += ["--spill", self.data.folder / "spill"]
        note = "sorted Parquet only: no index, no edge ids"
        read = outcome.from_lines(0)
        self._add(BUILD, duckdb_name(), argv, self.memory.build, 2, read, leaves=(sorted_edges,), note=note)

    def _build_from_text(self, allowed: int, graph: Path) -> None:
        """Ours and GNU sort, on the first part of the edges as text."""
        text, out = self.data.text, self.data.folder / "sorted.txt"
        note = f"the first {self.data.text_edges:,} edges, as text"
        argv: list[object] = [self.tools.binary, "build", text, "--out", graph, "--memory", allowed, "--json"]
        self._add(
            BUILD, build_name(text=True), argv, self.memory.build, 2, outcome.from_build, leaves=(graph,), note=note
        )
        if shutil.which("sort") is None:
            self.missing.append(Missing(BUILD, sort_name(), "sort is not installed (its package is called coreutils)"))
            return
        argv = [sys.executable, *_worker("gnusort"), text, out, "--memory", allowed // 2, "--spill", self.data.folder]
        note += "; a sorted text only: no index, no edge ids"
        self._add(BUILD, sort_name(), argv, self.memory.build, 2, outcome.from_lines(0), leaves=(out,), note=note)


def key(section: str, name: str) -> str:
    """What results are kept under."""
    return f"{section}: {name}"


def quarter_name(edge_ids: bool = False) -> str:
    """Ours, out of core."""
    return "aether-ooc, a quarter" + _with_ids(edge_ids)


FIXED = ", 800 MB"


def fixed_name(edge_ids: bool = False) -> str:
    """Ours, with a budget that does not hang on the graph."""
    return "aether-ooc" + FIXED + _with_ids(edge_ids)


def resident_name(lanes: int, edge_ids: bool = False) -> str:
    """Ours, in RAM."""
    return f"aether-ooc, resident{_with_ids(edge_ids)}, {_threads(lanes)}"


def pyg_name() -> str:
    """PyG with everything in RAM."""
    return "PyG in RAM, 1 thread"


def memmap_name(random: bool = False) -> str:
    """PyG over np.memmap."""
    return "PyG over np.memmap" + (", MADV_RANDOM" if random else "")


def plain_name(threads: int) -> str:
    """The plain loop."""
    return f"plain loop in Go, {_threads(threads)}"


def graphbolt_name(threads: int) -> str:
    """GraphBolt."""
    return f"GraphBolt in RAM, {_threads(threads)}"


def gather_name(random: bool = False) -> str:
    """Rows by np.memmap."""
    return "np.memmap" + (", MADV_RANDOM" if random else "")


def build_name(text: bool = False) -> str:
    """Ours."""
    return "aether-ooc build" + (" of a text" if text else "")


def sort_name() -> str:
    """GNU sort."""
    return "GNU sort -n -k2,2 -k1,1"


def duckdb_name() -> str:
    """DuckDB."""
    return "DuckDB ORDER BY dst, src"


def _worker(name: str) -> list[str]:
    return ["-W", "ignore", "-m", f"peers.workers.{name}"]


def _threads(n: int) -> str:
    return "1 thread" if n == 1 else f"{n} threads"


def _with_ids(edge_ids: bool) -> str:
    return " with e_id" if edge_ids else ""


def features_name() -> str:
    """Ours."""
    return "aether-ooc features"
