"""Memory control groups, versions 1 and 2: every contestant runs in a fresh one, so that all have the same memory.

Groups are made below the group that we are in or, where that can't be done (version 2 lets no group have both processes
and limited children), at the top of the hierarchy that we see. Both need root or a delegated hierarchy.

    /sys/fs/cgroup/memory/…/aether-peers-PID     version 1
    /sys/fs/cgroup/…/aether-peers-PID            version 2
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PREFIX = "aether-peers-"
CLEAR_S = 10.0  # for the kernel to let go of what was killed


class NoControlGroupError(Exception):
    """No group can be made here; the message says why."""


@dataclass(frozen=True)
class Version:
    """What the files of one version are called."""

    number: int
    limit: str
    swap: str  # with version 1 memory and swap together
    peak: str
    events: str  # has a line "oom_kill N"


V1 = Version(
    1, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"
)
V2 = Version(2, "memory.max", "memory.swap.max", "memory.peak", "memory.events")


@dataclass(frozen=True)
class Place:
    """A folder in which groups may be made."""

    version: Version
    folder: Path


def places(groups: str, mounts: str) -> list[Place]:
    """Where groups might be made, best first, by /proc/self/cgroup and /proc/self/mountinfo.

    A machine that mounts both versions gives the memory controller to one: to version 1 where that is mounted with it.
    """
    found = []
    for version in (V1, V2):
        own, mount = _own_path(groups, version), _mount(mounts, version)
        if own is None or mount is None:
            continue
        root, point = mount
        found += [Place(version, folder) for folder in dict.fromkeys((point / _below(own, root), point))]
    return found


def _own_path(groups: str, version: Version) -> PurePosixPath | None:
    """The path of our group: "4:memory:/a" with version 1, "0::/a" with version 2."""
    for line in groups.splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(",") if version is V1 else number == "0":
            return PurePosixPath(path)
    return None


def _mount(mounts: str, version: Version) -> tuple[PurePosixPath, Path] | None:
    """Which part of the hierarchy is mounted, and where: `id parent device root point … - type source options`."""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup2" if version is V2 else kind == "cgroup" and "memory" in options.split(","):
            root, point = left.split(" ")[3:5]
            return PurePosixPath(root), Path(point)
    return None


def _below(own: PurePosixPath, root: PurePosixPath) -> PurePosixPath:
    """Our group below the mount point; the mount point itself where a container names them differently."""
    return own.relative_to(root) if own.is_relative_to(root) else PurePosixPath()


class Group:
    """One group, and what lives in it. Use it as a context: leaving kills what still runs and removes the group."""

    def __init__(self, place: Place, limit_bytes: int):
        """Makes the group; raises OSError where that can't be done."""
        self.version = place.version
        self.folder = place.folder / f"{PREFIX}{os.getpid()}"
        self.folder.mkdir()
        try:
            if self.version is V2 and not (self.folder / V2.limit).exists():
                (place.folder / "cgroup.subtree_control").write_text("+memory")
            (self.folder / self.version.limit).write_text(str(limit_bytes))
            with contextlib.suppress(OSError):  # not there where swap is not accounted
                (self.folder / self.version.swap).write_text("0" if self.version is V2 else str(limit_bytes))
        except BaseException:
            self.folder.rmdir()
            raise

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def join(self) -> None:
        """Moves the calling process into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak_bytes(self) -> int | None:
        """The most memory the group had, page cache included; None where the kernel does not say."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / self.version.peak).read_text())
        return None

    def oom_kills(self) -> int:
        """How many of its processes were killed because the group's memory had run out."""
        with contextlib.suppress(OSError):
            return parse_oom_kills((self.folder / self.version.events).read_text())
        return 0

    def pids(self) -> list[int]:
        """What still runs in the group."""
        with contextlib.suppress(OSError):
            return [int(pid) for pid in (self.folder / "cgroup.procs").read_text().split()]
        return []

    def close(self) -> None:
        """Kills what is left and removes the group."""
        deadline = time.monotonic() + CLEAR_S
        while True:
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            try:
                self.folder.rmdir()
                return
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)


def parse_oom_kills(events: str) -> int:
    """The number in the line "oom_kill N"."""
    for line in events.splitlines():
        word, _, number = line.partition(" ")
        if word == "oom_kill":
            return int(number)
    return 0


def find() -> Place:
    """The first place where a group really can be made."""
    tried = ["no memory hierarchy is mounted"]
    for place in places(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text()):
        try:
            remove_dead(place)
            with Group(place, 1 << 30):
                return place
        except OSError as error:
            tried.append(f"{place.folder}: {error.strerror}")
    raise NoControlGroupError(tried[-1])


def remove_dead(place: Place) -> None:
    """Removes the groups of runs that were killed."""
    for folder in place.folder.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX)
        if not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def group(place: Place | None, limit_bytes: int) -> Iterator[tuple[Group | None, Callable[[], None]]]:
    """A group and what a child must call to be in it; without a place, none and nothing."""
    if place is None:
        yield None, lambda: None
        return
    with Group(place, limit_bytes) as made:
        yield made, made.join
