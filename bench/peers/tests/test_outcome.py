"""What contestants print, read."""

import json

import pytest

from peers import outcome
from peers.launch import Ran
from peers.outcome import Figure, Outcome


def lines(*batches: tuple[int, int, float]) -> str:
    said = [json.dumps({"batch": b, "items": n, "end_seconds": end}) for b, n, end in batches]
    return "\n".join(['{"ready_seconds": 1.5}', *said]) + "\n"


@pytest.mark.parametrize(
    ("text", "ramp", "want"),
    [
        (lines((0, 10, 1.0), (1, 20, 2.0), (2, 30, 4.0)), 1, (50 / 3, 50, 3.0, (1, 2), 1)),
        (lines((0, 10, 1.0), (1, 20, 2.0)), 0, (15.0, 30, 2.0, (0, 1), 0)),
        # Fewer batches than the ramp should have: half of them are the ramp.
        (lines((0, 10, 1.0), (1, 20, 2.0), (2, 30, 4.0)), 64, (50 / 3, 50, 3.0, (1, 2), 1)),
        (lines((0, 10, 2.0)), 64, (5.0, 10, 2.0, (0,), 0)),
        # Two threads: batches end, and are printed, in no order.
        (lines((1, 20, 2.0), (0, 10, 1.0), (2, 40, 3.0)), 1, (30.0, 60, 2.0, (1, 2), 1)),
        # Killed while printing, and a library that talks.
        ("hello\n" + lines((0, 10, 2.0)) + '{"batch": 1, "ite', 0, (5.0, 10, 2.0, (0,), 0)),
    ],
)
def test_lines(text: str, ramp: int, want: tuple[float, int, float, tuple[int, ...], int]) -> None:
    figure = outcome.from_lines(ramp)(text)
    assert figure is not None
    rate, *rest = want
    assert figure.rate == pytest.approx(rate)
    assert [figure.items, figure.seconds, figure.batches, figure.ramp] == rest


def test_lines_keep_the_counts_of_the_ramp() -> None:
    figure = outcome.from_lines(1)(lines((0, 10, 1.0), (1, 20, 2.0)))
    assert figure is not None
    assert figure.counts == {0: 10, 1: 20}


def test_no_lines_are_no_figure() -> None:
    assert outcome.from_lines(3)('{"ready_seconds": 1}\n') is None


def test_bench_sample() -> None:
    said = {"ramp_batches": 4, "batches": 3, "edges_per_second": 6.0, "sampled_edges": 12, "seconds": 2.0}
    figure = outcome.from_bench_sample(json.dumps({**said, "hit_ratio": 0.5}))
    assert figure == Figure(6.0, 12, 2.0, (4, 5, 6), 4, details={"hit_ratio": 0.5})


def test_bench_features() -> None:
    said = {"rows_per_second": 6.0, "rows": 12, "seconds": 2.0, "hit_ratio": 0.125, "path": "x"}
    assert outcome.from_bench_features(json.dumps(said)) == Figure(6.0, 12, 2.0, details={"hit_ratio": 0.125})


def test_build() -> None:
    figure = outcome.from_build(json.dumps({"edges": 10, "total_ns": 2_000_000_000, "graph_bytes": 99}))
    assert figure == Figure(5.0, 10, 2.0, details={"graph_bytes": 99})


def test_fio() -> None:
    said = {"jobs": [{"read": {"iops": 90000.5, "total_ios": 360002, "runtime": 4000}}]}
    assert outcome.from_fio("fio: a warning\n" + json.dumps(said)) == Figure(90000.5, 360002, 4.0)


def ran(status: int = 0, out: str = "", err: str = "", timed_out: bool = False, oom: bool = False) -> Ran:
    return Ran(status, timed_out, 12.4, out, err, 7, 8, oom)


@pytest.mark.parametrize(
    ("result", "failure"),
    [
        (ran(1, err="usage:\n\nerror: no such flag\n"), "error: no such flag"),
        (ran(-9, oom=True, err="x"), "out of memory"),
        (ran(-9, timed_out=True), "stopped after 12 s"),
        (ran(3), "exit status 3"),
        (ran(0), "it measured nothing"),
        # A figure of a run that failed is no figure.
        (ran(1, out=lines((0, 10, 2.0)), err="boom"), "boom"),
    ],
)
def test_failures(result: Ran, failure: str) -> None:
    stopped = 12.4 if result.timed_out else None
    assert outcome.outcome(result, outcome.from_lines(0)) == Outcome(None, failure, 7, 8, stopped)


def test_output_that_is_not_understood() -> None:
    got = outcome.outcome(ran(0, out='{"edges": 1}'), outcome.from_build)
    assert got.figure is None
    assert got.failure is not None
    assert got.failure.startswith("its output is not understood")


def test_stopped_run_counts_as_far_as_it_came() -> None:
    got = outcome.outcome(ran(-9, out=lines((0, 10, 2.0)), timed_out=True), outcome.from_lines(64))
    assert got.figure is not None
    assert (got.figure.rate, got.failure) == (5.0, None)
