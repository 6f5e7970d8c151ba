"""Medians, ratios, the same job, and the pages made of them."""

import html.parser
import json
from pathlib import Path

import pytest

from peers import contestants as who
from peers import outcome, page, table
from peers.contestants import Contestant, Job, Missing
from peers.launch import Command
from peers.outcome import Figure, Outcome
from peers.table import Ratio, Row, Table

JOB = Job((25, 10), 1, 4)
COUNTS = {0: 100, 1: 100, 2: 110, 3: 90, 4: 100}


def contestant(name: str, section: str = JOB.section, **more: object) -> Contestant:
    command = Command(["x"], 64 << 20, 2, 1.0, {})
    return Contestant(section, name, command, outcome.from_lines(0), job=JOB, **more)  # type: ignore[arg-type]


def ran(rate: float, items: int = 400, batches: tuple[int, ...] = (1, 2, 3, 4)) -> Outcome:
    return Outcome(Figure(rate, items, 1.0, batches, 1, COUNTS), None, 10 << 20, 20 << 20)


def key(name: str, section: str = JOB.section) -> str:
    return who.key(section, name)


PLAIN = {key(who.plain_name(1)): {0: ran(10.0)}}


@pytest.mark.parametrize(
    ("items", "want"),
    [(400, []), (411, []), (420, ["NOT THE SAME JOB: +5.0% edges from the same seeds"]), (0, None)],
)
def test_same_job(items: int, want: list[str] | None) -> None:
    got = table.job_notes(Figure(1.0, items, 1.0, (1, 2, 3, 4)), COUNTS)
    assert got == (want if want is not None else ["NOT THE SAME JOB: -100.0% edges from the same seeds"])


def test_job_that_cannot_be_compared_says_so() -> None:
    assert table.job_notes(Figure(1.0, 1, 1.0, (1, 9)), COUNTS) == ["not compared with the plain loop's batches"]
    assert table.job_notes(Figure(1.0, 1, 1.0, ()), COUNTS) == ["not compared with the plain loop's batches"]


def test_rows() -> None:
    a, b, never = contestant("a", note="remark"), contestant("b"), contestant("never")
    results = {
        **PLAIN,
        a.key: {0: ran(3.0), 1: ran(1.0), 2: ran(2.0)},
        b.key: {0: ran(1.0, 100, (2,)), 1: Outcome(None, "out of memory")},
    }
    first, second = table.rows([a, b, never], results)
    assert (first.rates, first.median, first.notes, first.failures) == ([3.0, 1.0, 2.0], 2.0, ["remark"], [])
    assert (first.rss_bytes, first.group_peak_bytes) == (10 << 20, 20 << 20)
    assert second.failures == ["out of memory"]
    assert second.notes == [
        "too slow: 1 batch after 1, not in a steady state",
        "NOT THE SAME JOB: -9.1% edges from the same seeds",
    ]


def test_stopped_before_its_first_batch() -> None:
    slow = contestant("slow")
    results = {**PLAIN, slow.key: {0: Outcome(None, "stopped after 50 s", stopped_seconds=50.0)}}
    (row,) = table.rows([slow], results)
    assert row.failures == ["stopped after 50 s"]
    assert row.notes == ["not one batch was made: below 2 edges/s"]


def test_ratios_are_taken_within_rounds() -> None:
    results = {
        key(who.quarter_name()): {0: ran(10.0), 1: ran(40.0), 2: ran(9.0)},
        key(who.FIO, who.DEVICE): {0: ran(1.0), 1: ran(2.0)},
        key(who.memmap_name()): {0: ran(0.1)},
        key(who.resident_name(1)): {0: ran(6.0)},
        key(who.resident_name(2)): {0: ran(9.0)},
        key(who.plain_name(1)): {0: ran(10.0)},
        key(who.plain_name(2)): {0: ran(20.0)},
        key(who.build_name(), who.BUILD): {0: ran(8.0)},
        key(who.duckdb_name(), who.BUILD): {0: ran(4.0)},
    }
    got = {r.what: r.values for r in table.ratios([who.DEVICE, JOB.section], results)}
    assert got == {
        f"{who.quarter_name()} ÷ fio: edges for each read that fio does": [10.0, 20.0],
        f"{who.quarter_name()} ÷ {who.memmap_name()}": [pytest.approx(100.0)],
        f"{who.resident_name(1)} ÷ {who.plain_name(1)}": [0.6],
        f"{who.resident_name(2)} ÷ {who.plain_name(2)}": [0.45],
        "two threads ÷ one, resident, against the same of the plain loop": [0.75],
        f"{who.build_name()} ÷ {who.duckdb_name()}": [2.0],
    }


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (0, "0"),
        (2140.2, "2,140"),
        (99_950, "100 k"),
        (12_345, "12.3 k"),
        (999_000, "999 k"),
        (999_900, "1.00 M"),
        (1_234_567, "1.23 M"),
        (9.5e9, "9.50 G"),
    ],
)
def test_amount(value: float, want: str) -> None:
    assert table.amount(value) == want


def found(cut: bool = False) -> Table:
    row = Row("sampling [25,10]", "aether-ooc <&>", 64 << 20, 2, [1e6, 3e6, 2e6], 50 << 20, None, ["remark"])
    dead = Row("sampling [25,10]", "dead", 64 << 20, 1, [], failures=["out of memory"])
    missing = [Missing("build", "DuckDB", "no wheel"), Missing("sampling [25,10]", "PyG", "not built")]
    return Table([row, dead], [Ratio("build", "a ÷ b", [2.0, 4.0])], missing, {"host": "Linux"}, cut)


def test_text() -> None:
    text = table.text(found())
    assert text == Path(__file__).with_name("golden.txt").read_text()
    assert table.text(found(cut=True)).endswith("CUT SHORT: the figures are of the runs that ended\n")


def test_json() -> None:
    said = json.loads(json.dumps(found().as_json()))
    assert [row["median_per_second"] for row in said["rows"]] == [2e6, None]
    assert [ratio["median"] for ratio in said["ratios"]] == [3.0]
    assert [missing["name"] for missing in said["missing"]] == ["DuckDB", "PyG"]


class Balanced(html.parser.HTMLParser):
    """Complains of a tag that is closed but was not opened last, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {name for name, _ in attrs} & {"src", "href"}, "the page must need nothing else"
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page() -> None:
    parser = Balanced()
    parser.feed(page.page(found(cut=True)))
    parser.close()
    assert parser.open == []
    for words in ("aether-ooc <&>", "out of memory", "missing", "no wheel", "a ÷ b", "Cut short"):
        assert words in parser.text
