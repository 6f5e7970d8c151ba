"""Makes figures of what contestants print."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from peers.launch import Ran


@dataclass(frozen=True)
class Figure:
    """What one run measured, after its ramp."""

    rate: float  # items a second
    items: int
    seconds: float
    batches: tuple[int, ...] = ()  # numbers of the batches measured
    ramp: int = 0  # batches made before them
    counts: Mapping[int, int] = field(default_factory=dict)  # items of each batch, measured or not, where that is said
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """One run: a figure, or why there is none."""

    figure: Figure | None
    failure: str | None = None
    rss_bytes: int = 0
    peak_bytes: int | None = None
    stopped_seconds: float | None = None  # after which it was stopped without a figure


Reader = Callable[[str], Figure | None]


def outcome(ran: Ran, read: Reader) -> Outcome:
    """The figure in what was printed. A run that was stopped counts as far as it came."""
    figure = None
    if ran.status == 0 or ran.timed_out:
        try:
            figure = read(ran.out)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            return Outcome(None, f"its output is not understood: {error!r}", ran.rss_bytes, ran.peak_bytes)
    failure = None if figure else ran.why() if ran.status else "it measured nothing"
    stopped = ran.seconds if ran.timed_out and not figure else None
    return Outcome(figure, failure, ran.rss_bytes, ran.peak_bytes, stopped)


@dataclass(frozen=True)
class Line:
    """A batch, as workers print it."""

    batch: int
    items: int
    end_seconds: float


def parse_lines(text: str) -> list[Line]:
    """The batches, by the time they ended. The last line of one that was killed may be cut short."""
    lines = []
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(said, dict) and "batch" in said:
            lines.append(Line(**said))
    return sorted(lines, key=lambda line: line.end_seconds)


def from_lines(ramp: int) -> Reader:
    """Reads a worker's lines: measured is what came after `ramp` batches, or after half where few."""

    def read(text: str) -> Figure | None:
        lines = parse_lines(text)
        if not lines:
            return None
        before = min(ramp, len(lines) // 2)
        measured = lines[before:]
        seconds = measured[-1].end_seconds - (lines[before - 1].end_seconds if before else 0.0)
        items = sum(line.items for line in measured)
        counts = {line.batch: line.items for line in lines}
        return Figure(items / seconds, items, seconds, tuple(line.batch for line in measured), before, counts)

    return read


def from_bench_sample(text: str) -> Figure:
    """Reads `aether-ooc bench sample --json`."""
    said = json.loads(text)
    ramp, batches = said["ramp_batches"], said["batches"]
    keep = ("hit_ratio", "reads_per_edge", "blocks_per_edge", "read_iops", "cpu_seconds", "budget_bytes", "state")
    return Figure(
        rate=said["edges_per_second"],
        items=said["sampled_edges"],
        seconds=said["seconds"],
        batches=tuple(range(ramp, ramp + batches)),
        ramp=ramp,
        details={key: said[key] for key in keep if key in said},
    )


def from_bench_features(text: str) -> Figure:
    """Reads `aether-ooc bench features --json`."""
    said = json.loads(text)
    keep = ("hit_ratio", "read_amplification", "read_iops", "budget_bytes", "state")
    details = {key: said[key] for key in keep if key in said}
    return Figure(said["rows_per_second"], said["rows"], said["seconds"], details=details)


def from_build(text: str) -> Figure:
    """Reads `aether-ooc build --json`."""
    said = json.loads(text)
    seconds = said["total_ns"] / 1e9
    return Figure(said["edges"] / seconds, said["edges"], seconds, details={"graph_bytes": said["graph_bytes"]})


def from_fio(text: str) -> Figure:
    """Reads fio's JSON, before which it may say something."""
    read = json.loads(text[text.index("{") :])["jobs"][0]["read"]
    return Figure(read["iops"], read["total_ios"], read["runtime"] / 1000)
