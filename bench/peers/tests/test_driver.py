"""Rounds under a clock that the test turns, and what is left after an interruption."""

from collections.abc import Callable
from pathlib import Path

import pytest

from peers import contestants as who
from peers import driver, launch, outcome
from peers.contestants import Cast, Contestant, Memory, Missing, Tools
from peers.data import Data
from peers.launch import Command, Ran

LINES = '{"batch": 0, "items": 10, "end_seconds": 1.0}\n'


class FakeLog(driver.Log):
    """A log whose time is what the test says."""

    now = 0.0

    def seconds(self) -> float:
        return self.now

    def say(self, line: str) -> None:
        pass


@pytest.fixture
def log() -> FakeLog:
    return FakeLog()


def make_run(folder: Path, only: str, log: FakeLog) -> driver.Run:
    made, peer = Data(folder, 14), Path("/peer")
    cast = Cast(made, Memory.of(made, 0), Tools(peer, peer, peer, peer, peer))
    for name, once in (("a", False), ("slow", True), ("b", False)):
        command = Command([name], 0, 1, 1, {})
        leaf = folder / f"{name}.leaf"
        cast.playing.append(Contestant("build", name, command, outcome.from_lines(0), once=once, leaves=(leaf,)))
    cast.missing.append(Missing("build", "c", "not there"))
    return driver.Run(cast, only, None, log)


def play(monkeypatch: pytest.MonkeyPatch, each: Callable[[str], None]) -> list[str]:
    """Lets contestants be functions; gives the order in which they ran."""
    order: list[str] = []

    def run(command: Command, place: object) -> Ran:
        order.append(str(command.argv[0]))
        each(order[-1])
        return Ran(0, False, 1.0, LINES, "", 1, 2, False)

    monkeypatch.setattr(launch, "run", run)
    return order


def test_rounds_as_long_as_there_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: FakeLog) -> None:
    def each(name: str) -> None:
        log.now += 50 if name == "slow" else 5

    order = play(monkeypatch, each)
    run = make_run(tmp_path, "", log)
    run.rounds(repeat=9, end_s=85)
    assert order == ["a", "slow", "b", "b", "a", "a", "b"]  # 60 s, then 10 s for each round
    assert not run.cut_short
    found = run.table({})
    assert {row.name: len(row.rates) for row in found.rows} == {"a": 3, "slow": 1, "b": 3}
    assert [missing.name for missing in found.missing] == ["c"]


def test_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: FakeLog) -> None:
    order = play(monkeypatch, lambda name: None)
    run = make_run(tmp_path, "build: b", log)
    run.rounds(repeat=1, end_s=1)
    assert (order, run.missing) == (["b"], [])


def test_interrupted_run_reports_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: FakeLog
) -> None:
    def each(name: str) -> None:
        (tmp_path / f"{name}.leaf").touch()
        if name == "slow":
            raise KeyboardInterrupt

    play(monkeypatch, each)
    run = make_run(tmp_path, "", log)
    run.rounds(repeat=2, end_s=1000)
    assert run.cut_short
    assert [row.name for row in run.table({}).rows] == ["a"]
    assert list(tmp_path.iterdir()) == []
    assert who.key("build", "slow") not in run.results
