"""One whole run: get the peers, build the graph, let all run in turn, report, clean up."""

import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from peers import cgroup, contestants, data, envs, launch, outcome, page, rounds, table
from peers.contestants import Cast, Contestant, Memory, Tools
from peers.outcome import Outcome

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
BUILD_BYTES = 4 << 30  # for making the graph, which is not measured


class Log:
    """Progress, on standard error."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.begun

    def say(self, line: str) -> None:
        """One line, with the time since the start."""
        minutes, seconds = divmod(int(self.seconds()), 60)
        print(f"[{minutes:2}:{seconds:02}] {line}", file=sys.stderr, flush=True)


class Run:
    """What has been found so far."""

    def __init__(self, cast: Cast, only: str, place: cgroup.Place | None, log: Log):
        self.cast, self.place, self.log = cast, place, log
        self.playing = [c for c in cast.playing if only in c.key]
        self.missing = [m for m in cast.missing if only in contestants.key(m.section, m.name)]
        self.results: dict[str, dict[int, Outcome]] = defaultdict(dict)
        self.took: dict[str, float] = {}
        self.cut_short = False

    def rounds(self, repeat: int, end_s: float) -> None:
        """As many rounds as there is time for; the first one in any case."""
        try:
            for number, everybody in enumerate(rounds.of(self.playing, repeat)):
                if number and self.log.seconds() + rounds.expected_seconds(everybody, self.took) > end_s:
                    self.log.say(f"no time for round {number + 1}")
                    return
                for i, c in enumerate(everybody):
                    self._one(c, number, f"round {number + 1}, {i + 1} of {len(everybody)}")
        except KeyboardInterrupt:
            self.log.say("interrupted: reporting what was measured")
            self.cut_short = True

    def _one(self, c: Contestant, number: int, where: str) -> None:
        """One run, from a cold page cache."""
        launch.forget(self.cast.data.files())
        begun = self.log.seconds()
        try:
            result = outcome.outcome(launch.run(c.command, self.place), c.read)
        finally:
            for path in c.leaves:
                path.unlink(missing_ok=True)
        self.results[c.key][number] = result
        self.took[c.key] = self.log.seconds() - begun
        figure = result.figure
        said = f"{table.amount(figure.rate)} {table.unit(c.section)}" if figure else f"no figure: {result.failure}"
        self.log.say(f"{where}: {c.key}: {said} ({self.took[c.key]:.0f} s)")

    def table(self, circumstances: dict[str, str]) -> table.Table:
        """Everything, for the report."""
        sections = list(dict.fromkeys(c.section for c in self.playing))
        found = table.rows(self.playing, self.results)
        return table.Table(found, table.ratios(sections, self.results), self.missing, circumstances, self.cut_short)


def main(args: Namespace) -> int:
    """Runs everything; 1 if nothing was measured."""
    log = Log()
    for number in launch.INTERRUPTS[1:]:
        signal.signal(number, signal.default_int_handler)
    revision = _revision()
    place, groups = _place(log)
    made = data.Data(args.dir / f"rmat{args.scale}", args.scale)
    try:
        cast = Cast(made, Memory.of(made, args.allowance * MIB), _tools(args, made.folder, log)).assemble()
        _make(made, cast.tools, log)
        run = Run(cast, args.only, place, log)
        run.rounds(args.repeat, args.minutes * 60)
    finally:
        if not args.keep:
            _remove(made.folder)
    _report(run.table(_circumstances(made, cast.memory, groups, revision, log)), args.out, log)
    return 0 if any(row.rates for row in run.table({}).rows) else 1


def _remove(folder: Path) -> None:
    """Removes the data, and the folder around them if nothing else is in it."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def _place(log: Log) -> tuple[cgroup.Place | None, str]:
    """Where control groups can be made, and what to say of it."""
    try:
        place = cgroup.find()
    except cgroup.NoControlGroupError as error:
        log.say(f"WITHOUT control groups ({error}): peers have all the memory of the machine")
        return None, f"NONE, so that memory is not limited: {error}"
    return place, f"version {place.version.number}, a fresh group for each run"


def _tools(args: Namespace, folder: Path, log: Log) -> Tools:
    """Builds what is ours and gets what is not. Our program is copied, lest it be built anew meanwhile."""
    plain = folder / "plain"
    folder.mkdir(parents=True, exist_ok=True)
    data.tool("go", "build", "-trimpath", "-o", plain, "./bench/peers/plain", cwd=ROOT)
    try:
        binary = Path(shutil.copy2(ROOT / "bin/aether-ooc", folder))
    except OSError as error:
        raise data.SetupError(f"{error.filename}: {error.strerror}: run make build") from error
    cache = args.cache / "peers"

    def get(name: str, how: Callable[[], Path]) -> Path | str:
        try:
            return how()
        except envs.MissingError as error:
            log.say(f"{name} is missing: {error}")
            return str(error)

    return Tools(
        binary=binary,
        plain=plain,
        duckdb=get("DuckDB", lambda: envs.locked("duckdb", cache, log.say)),
        graphbolt=get("GraphBolt", lambda: envs.locked("graphbolt", cache, log.say)),
        pyg_sampler=get("PyG", lambda: envs.pyg_sampler(cache, log.say)),
        seconds=args.seconds,
        slow_seconds=args.slow_seconds,
    )


def _make(made: data.Data, tools: Tools, log: Log) -> None:
    data.make(made, tools.binary, tools.plain, max(BUILD_BYTES, 40 * made.edges), log.say)
    for job in contestants.JOBS:
        data.make_seeds(made, job.fanouts, job.total, contestants.BATCH_SIZE)


def _revision() -> str:
    """Of the source, as it is when the run begins."""
    try:
        said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return said.stdout.strip() or "unknown"


def _circumstances(made: data.Data, memory: Memory, groups: str, revision: str, log: Log) -> dict[str, str]:
    """What figures depend on."""
    budget, limit, in_ram = memory.budget >> 20, memory.out_of_core >> 20, memory.in_ram >> 20
    return {
        "graph": f"RMAT scale {made.scale}: {made.nodes:,} nodes, {made.edges:,} edges, "
        f"{4 * made.edges >> 20:,} MiB as 32-bit ids",
        "memory": f"out of core: {limit:,} MiB for each, of which ours uses a budget of {budget:,} MiB; "
        f"with 800 MB: {memory.fixed >> 20:,} MiB for each; in RAM: {in_ram:,} MiB for each",
        "groups": groups,
        "host": f"{platform.system()} {platform.release()}, {len(os.sched_getaffinity(0))} CPUs: {_cpu()}",
        "load": f"{os.getloadavg()[2]:.1f} over the last 15 minutes",
        "revision": revision,
        "took": f"{log.seconds() / 60:.1f} minutes",
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _report(found: table.Table, folder: Path, log: Log) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = table.text(found)
    (folder / "peers.txt").write_text(text)
    (folder / "peers.json").write_text(json.dumps(found.as_json(), indent=2) + "\n")
    (folder / "peers.html").write_text(page.page(found))
    print(text, end="")
    log.say(f"written: {folder}/peers.txt, peers.json, peers.html")
