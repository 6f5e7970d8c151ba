"""Medians, ratios and the question whether all did the same job; as data for JSON, and as text."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from peers import contestants as who
from peers.contestants import Contestant, Missing
from peers.outcome import Figure, Outcome

SAME_JOB = 0.03  # what sampled edges may differ by

Results = Mapping[str, Mapping[int, Outcome]]  # by the contestant's key and the number of the round


@dataclass(frozen=True)
class Row:
    """One contestant, all its runs taken together."""

    section: str
    name: str
    memory_bytes: int
    cpus: int
    rates: list[float]  # items a second of each run, in the order of rounds
    rss_bytes: int = 0
    group_peak_bytes: int | None = None
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """Items a second."""
        return statistics.median(self.rates) if self.rates else None


@dataclass(frozen=True)
class Ratio:
    """A figure that does not depend on how fast the machine is."""

    section: str
    what: str
    values: list[float]  # of each round that has all its parts

    @property
    def median(self) -> float | None:
        """The figure."""
        return statistics.median(self.values) if self.values else None


@dataclass(frozen=True)
class Table:
    """Everything that was found."""

    rows: list[Row]
    ratios: list[Ratio]
    missing: list[Missing]
    circumstances: dict[str, str]
    cut_short: bool

    def as_json(self) -> dict[str, object]:
        """For json.dump, medians included."""
        return {
            "format": "aether-ooc peers 1",
            "circumstances": self.circumstances,
            "cut_short": self.cut_short,
            "rows": [{**asdict(row), "median_per_second": row.median} for row in self.rows],
            "ratios": [{**asdict(ratio), "median": ratio.median} for ratio in self.ratios],
            "missing": [asdict(missing) for missing in self.missing],
        }


def rows(playing: Iterable[Contestant], results: Results) -> list[Row]:
    """A row for everybody who ran."""
    return [
        _row(c, [results[c.key][n] for n in sorted(results[c.key])], results) for c in playing if results.get(c.key)
    ]


def _row(c: Contestant, outcomes: Sequence[Outcome], results: Results) -> Row:
    figures = [o.figure for o in outcomes if o.figure]
    failures = list(dict.fromkeys(o.failure for o in outcomes if o.failure))
    peaks = [o.peak_bytes for o in outcomes if o.peak_bytes is not None]
    return Row(
        section=c.section,
        name=c.name,
        memory_bytes=c.command.memory_bytes,
        cpus=c.command.cpus,
        rates=[figure.rate for figure in figures],
        rss_bytes=max((o.rss_bytes for o in outcomes), default=0),
        group_peak_bytes=max(peaks, default=None),
        notes=_notes(c, figures, results) + [bound for o in outcomes for bound in _bounds(c, o, results)],
        failures=failures,
    )


def _notes(c: Contestant, figures: Sequence[Figure], results: Results) -> list[str]:
    notes = [c.note] if c.note else []
    if c.job and figures:
        few = min(len(figure.batches) for figure in figures)
        if few < c.job.batches // 2:
            notes.append(f"too slow: {few} batch{'es' * (few > 1)} after {figures[0].ramp}, not in a steady state")
        notes += job_notes(figures[-1], reference(c.section, results))
    return notes


def _bounds(c: Contestant, outcome: Outcome, results: Results) -> list[str]:
    """What is known of one that was stopped before its first batch was made."""
    first = reference(c.section, results).get(0)
    if outcome.stopped_seconds is None or first is None:
        return []
    return [f"not one batch was made: below {amount(first / outcome.stopped_seconds)} {unit(c.section)}"]


def reference(section: str, results: Results) -> Mapping[int, int]:
    """How many edges each batch of the section should have, by the plain loop."""
    for outcome in results.get(who.key(section, who.plain_name(1)), {}).values():
        if outcome.figure:
            return outcome.figure.counts
    return {}


def job_notes(figure: Figure, counts: Mapping[int, int]) -> list[str]:
    """What there is to say when it has not sampled about as many edges from the same seeds."""
    known = [counts[batch] for batch in figure.batches if batch in counts]
    if len(known) < len(figure.batches) or not known:
        return ["not compared with the plain loop's batches"]
    more = figure.items / sum(known) - 1
    return [] if abs(more) <= SAME_JOB else [f"NOT THE SAME JOB: {more:+.1%} edges from the same seeds"]


def ratios(sections: Sequence[str], results: Results) -> list[Ratio]:
    """The figures that docs/BENCHMARKING.md makes promises about; those without a value are left out."""
    found = []
    for section in sections:
        if section.startswith("sampling"):
            found += _sampling(section, results)
    found += _simple(results, who.BUILD, who.build_name(), [who.duckdb_name()])
    found += _simple(results, who.BUILD, who.build_name(text=True), [who.sort_name()])
    found += _simple(results, who.FEATURES, who.features_name(), [who.gather_name(), who.gather_name(random=True)])
    return [ratio for ratio in found if ratio.values]


def _sampling(section: str, results: Results) -> list[Ratio]:
    quarter, one, two = who.quarter_name(), who.resident_name(1), who.resident_name(2)
    rates = {n: _rates(results, section, n) for n in (quarter, one, two, who.plain_name(1), who.plain_name(2))}
    fio = _rates(results, who.DEVICE, who.FIO)
    scaling = _divide(_divide(rates[two], rates[one]), _divide(rates[who.plain_name(2)], rates[who.plain_name(1)]))
    return [
        Ratio(
            section, f"{quarter} ÷ {who.FIO}: edges for each read that fio does", _values(_divide(rates[quarter], fio))
        ),
        *_simple(results, section, quarter, [who.memmap_name(), who.memmap_name(random=True)]),
        *_simple(results, section, who.fixed_name(), [who.memmap_name() + who.FIXED]),
        *_simple(results, section, who.quarter_name(edge_ids=True), [quarter]),
        *_simple(results, section, one, [who.pyg_name(), who.plain_name(1)]),
        *_simple(results, section, two, [who.graphbolt_name(2), who.plain_name(2)]),
        Ratio(section, "two threads ÷ one, resident, against the same of the plain loop", _values(scaling)),
    ]


def _simple(results: Results, section: str, name: str, others: Sequence[str]) -> list[Ratio]:
    ours = _rates(results, section, name)
    return [
        Ratio(section, f"{name} ÷ {other}", _values(_divide(ours, _rates(results, section, other)))) for other in others
    ]


def _rates(results: Results, section: str, name: str) -> dict[int, float]:
    """Rates by round."""
    runs = results.get(who.key(section, name), {})
    return {number: run.figure.rate for number, run in runs.items() if run.figure}


def _divide(a: Mapping[int, float], b: Mapping[int, float]) -> dict[int, float]:
    """Quotients within each round."""
    return {number: a[number] / b[number] for number in sorted(a) if b.get(number)}


def _values(quotients: Mapping[int, float]) -> list[float]:
    return list(quotients.values())


UNITS = {who.DEVICE: "reads/s", who.FEATURES: "rows/s", who.BUILD: "edges/s"}


def unit(section: str) -> str:
    """Of the rates of a section."""
    return UNITS.get(section, "edges/s")


def amount(value: float) -> str:
    """A rate with three digits: 9.21 M, 812 k, 2,140."""
    for size, suffix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= max(0.9995 * size, 1e4):
            return f"{value / size:#.3g}".rstrip(".") + suffix
    return f"{value:,.0f}"


def mebibytes(value: int | None) -> str:
    """Memory, in whole MiB."""
    return "-" if value is None else f"{value >> 20:,}"


HEAD = ("", "median", "from", "to", "runs", "limit MiB", "RSS MiB", "")


def cells(row: Row) -> tuple[str, ...]:
    """A row as HEAD has it."""
    remarks = [*row.failures, *row.notes]
    rates = [amount(r) for r in (row.median or 0, min(row.rates), max(row.rates))] if row.rates else ["-"] * 3
    peak = mebibytes(row.rss_bytes)
    return (row.name, *rates, str(len(row.rates)), mebibytes(row.memory_bytes), peak, "; ".join(remarks))


def text(table: Table) -> str:
    """A page for people."""
    lines = []
    for name, value in table.circumstances.items():
        lines.append(f"{name:12}{value}")
    for section in sections(table):
        lines += ["", f"{section} ({unit(section)})"]
        body = [cells(row) for row in table.rows if row.section == section]
        body += [(m.name, "missing", "", "", "", "", "", m.why) for m in table.missing if m.section == section]
        lines += _aligned([HEAD, *body])
    lines += ["", "ratios, each within a round (medians)"]
    lines += _aligned([(r.section, f"{r.median:.3g}", r.what) for r in table.ratios], numbers=(1,))
    if table.cut_short:
        lines += ["", "CUT SHORT: the figures are of the runs that ended"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def sections(table: Table) -> list[str]:
    """In the order of the table."""
    return list(dict.fromkeys([row.section for row in table.rows] + [m.section for m in table.missing]))


def _aligned(body: Sequence[tuple[str, ...]], numbers: Sequence[int] = (1, 2, 3, 4, 5, 6)) -> list[str]:
    if not body:
        return []
    widths = [max(len(line[i]) for line in body) for i in range(len(body[0]))]
    return [
        "  "
        + "  ".join(
            w.rjust(n) if i in numbers else w.ljust(n) for i, (w, n) in enumerate(zip(line, widths, strict=True))
        )
        for line in body
    ]


def _pad(word: str, width: int, right: bool) -> str:
    return word.rjust(width) if right else word.ljust(width)
