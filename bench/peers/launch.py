"""Runs one contestant: in its control group, on its CPUs, for no longer than it may, and nothing of it is left."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from peers import cgroup

POLL_S = 0.03
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NOT_FOUND = 127  # what a shell gives for a program that is not there


@dataclass(frozen=True)
class Command:
    """What to run and under which conditions."""

    argv: Sequence[str | Path]
    memory_bytes: int
    cpus: int
    timeout_s: float
    env: Mapping[str, str]


@dataclass(frozen=True)
class Ran:
    """How it went."""

    status: int  # exit status, or minus the signal
    timed_out: bool
    seconds: float
    out: str
    err: str
    rss_bytes: int
    peak_bytes: int | None  # of the control group
    oom: bool

    def why(self) -> str:
        """Why it failed, in a line."""
        if self.oom:
            return "out of memory"
        if self.timed_out:
            return f"stopped after {self.seconds:.0f} s"
        said = [line for line in self.err.splitlines() if line.strip()]
        return said[-1].strip() if said else f"exit status {self.status}"


def run(command: Command, place: cgroup.Place | None) -> Ran:
    """Runs the command to its end, or kills it; on an exception (Ctrl-C) too."""
    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
        cgroup.group(place, command.memory_bytes) as (group, join),
    ):
        begun, pid = time.monotonic(), 0
        try:
            with _signals_held() as mask:
                pid = _start(command, out, err, join, mask)
            status, rss, timed_out = _wait(pid, begun + command.timeout_s, group)
        except BaseException as error:
            if pid:
                _kill(pid)
                os.waitpid(pid, 0)
            elif isinstance(error, OSError):
                return Ran(NOT_FOUND, False, 0.0, "", str(error), 0, None, False)
            raise
        finally:
            if pid:
                _kill(pid)  # whatever it had started, in its session
        return Ran(
            status=status,
            timed_out=timed_out,
            seconds=time.monotonic() - begun,
            out=_text(out),
            err=_text(err),
            rss_bytes=rss,
            peak_bytes=group.peak_bytes() if group else None,
            oom=bool(group and group.oom_kills()),
        )


@contextlib.contextmanager
def _signals_held() -> Iterator[set[signal.Signals]]:
    """Keeps what would interrupt us until the end, and gives the mask to return to.

    An exception that a signal raises while Python forks is lost, and one right after it would lose the process.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield mask  # type: ignore[misc]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start(command: Command, out: IO[str], err: IO[str], join: Callable[[], None], mask: set[signal.Signals]) -> int:
    cpus = sorted(os.sched_getaffinity(0))[: command.cpus]

    def before_exec() -> None:
        join()
        os.sched_setaffinity(0, cpus)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    # The driver has one thread, so that running Python between fork and exec is safe.
    process = subprocess.Popen(
        [str(word) for word in command.argv],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env={**os.environ, **command.env},
        start_new_session=True,
        preexec_fn=before_exec,
    )
    process.returncode = 0  # we wait for it ourselves, to learn what it used
    return process.pid


def _wait(pid: int, deadline: float, group: cgroup.Group | None) -> tuple[int, int, bool]:
    """Exit status, peak of resident memory in bytes, and whether it was killed at the deadline.

    The peak is that of each process of the group, added up. It is looked up while they run: what wait4 tells includes
    the driver's own, whose fork each once was.
    """
    timed_out, peaks = False, {pid: 0}
    while True:
        for one in {pid, *(group.pids() if group else ())}:
            peaks[one] = _rss_peak(one) or peaks.get(one, 0)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), sum(peaks.values()), timed_out
        if time.monotonic() > deadline:
            timed_out = True
            _kill(pid)
        time.sleep(POLL_S)


def _rss_peak(pid: int) -> int:
    """Bytes; 0 when it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def _kill(pid: int) -> None:
    """Kills the session that the process leads."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def forget(paths: Sequence[Path]) -> None:
    """Drops files from the page cache, so that nobody reads what another has brought there."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)
