"""Running, stopping and cleaning up, with small commands of the shell."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from peers import cgroup, envs, launch
from peers.launch import Command


def command(script: str, timeout_s: float = 20) -> Command:
    return Command(["sh", "-c", script], 1 << 30, 1, timeout_s, {"WORD": "hello"})


def test_output_status_and_use() -> None:
    ran = launch.run(command("echo $WORD; echo no >&2; exit 3"), None)
    assert (ran.status, ran.out, ran.err, ran.timed_out) == (3, "hello\n", "no\n", False)
    assert ran.why() == "no"
    assert ran.peak_bytes is None


def test_peak_memory_is_the_programs_own() -> None:
    ran = launch.run(command("sleep 0.3"), None)
    assert 100_000 < ran.rss_bytes < 10_000_000


def test_peak_memory_of_a_group_counts_everybody() -> None:
    class Group(cgroup.Group):
        def __init__(self) -> None: ...

        def pids(self) -> list[int]:
            return [os.getpid()]  # a second process, which is not small

    pid = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "0.2")
    _, peak, _ = launch._wait(pid, time.monotonic() + 10, Group())
    assert peak > launch._rss_peak(os.getpid())


def test_program_that_is_not_there() -> None:
    ran = launch.run(Command(["/nowhere/x"], 1 << 30, 1, 1, {}), None)
    assert (ran.status, ran.why()) == (127, "[Errno 2] No such file or directory: '/nowhere/x'")


def test_runs_on_as_many_cpus_as_it_may() -> None:
    assert launch.run(command("nproc"), None).out == "1\n"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]


def dies(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


@pytest.mark.parametrize(("script", "timed_out"), [("sleep 100 & echo $!", False), ("sleep 100 & echo $!; wait", True)])
def test_nothing_is_left(script: str, timed_out: bool) -> None:
    ran = launch.run(command(script, timeout_s=1), None)
    assert ran.timed_out == timed_out
    assert dies(int(ran.out))


def test_forget_takes_any_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5000)
    launch.forget([path])
    assert path.read_bytes() == b"x" * 5000


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Collecting x\nERROR: no such thing\nhint\n", "ERROR: no such thing"),
        ("a\nb\n\n", "b"),
        ("", ""),
    ],
)
def test_last_error_of_pip(text: str, want: str) -> None:
    assert envs.last_error(text) == want


def test_environments_are_told_apart_by_their_lock() -> None:
    assert envs.key("a==1") != envs.key("a==2")
    assert envs.key("a==1") == envs.key("a==1")


def test_interrupted_while_it_starts(tmp_path: Path) -> None:
    """An interrupt during the fork is not lost, and neither is the process."""
    started: list[int] = []

    def interrupt_us() -> None:  # in the child, before it becomes the command
        os.kill(os.getppid(), signal.SIGINT)

    @contextlib.contextmanager
    def group(place: object, limit: int) -> Iterator[tuple[None, Callable[[], None]]]:
        yield None, interrupt_us

    pidfile = tmp_path / "pid"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cgroup, "group", group)
        with pytest.raises(KeyboardInterrupt):
            launch.run(command(f"echo $$ > {pidfile}; sleep 100"), None)
    started += [int(pidfile.read_text())] if pidfile.exists() and pidfile.read_text() else []
    assert all(dies(pid) for pid in started)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
