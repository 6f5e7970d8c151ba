"""Where control groups are made, on machines of both versions."""

import errno
from pathlib import Path

import pytest

from peers import cgroup
from peers.cgroup import V1, V2, Group, Place

V1_MOUNT = "30 24 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory"
V1_CPU_MOUNT = "29 24 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct"
V2_MOUNT = "28 24 0:24 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
HYBRID_MOUNT = "28 24 0:24 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"


@pytest.mark.parametrize(
    ("groups", "mounts", "want"),
    [
        ("0::/user.slice/a\n", [V2_MOUNT], [(V2, "/sys/fs/cgroup/user.slice/a"), (V2, "/sys/fs/cgroup")]),
        ("0::/\n", [V2_MOUNT], [(V2, "/sys/fs/cgroup")]),
        (
            "4:memory:/x\n3:cpu,cpuacct:/\n",
            [V1_CPU_MOUNT, V1_MOUNT],
            [(V1, "/sys/fs/cgroup/memory/x"), (V1, "/sys/fs/cgroup/memory")],
        ),
        (
            "4:memory:/\n0::/\n",
            [HYBRID_MOUNT, V1_MOUNT],
            [(V1, "/sys/fs/cgroup/memory"), (V2, "/sys/fs/cgroup/unified")],
        ),
        # In a container the group is named as the host sees it.
        (
            "4:memory:/docker/12/in\n",
            [V1_MOUNT.replace("0:26 / ", "0:26 /docker/12 ")],
            [(V1, "/sys/fs/cgroup/memory/in"), (V1, "/sys/fs/cgroup/memory")],
        ),
        ("0::/../../other\n", [V2_MOUNT.replace("0:24 / ", "0:24 /docker/12 ")], [(V2, "/sys/fs/cgroup")]),
        ("0::/a\n", [V1_CPU_MOUNT], []),
        ("3:cpu:/\n", [V1_MOUNT], []),
    ],
)
def test_places(groups: str, mounts: list[str], want: list[tuple[cgroup.Version, str]]) -> None:
    assert cgroup.places(groups, "\n".join(mounts)) == [Place(version, Path(folder)) for version, folder in want]


@pytest.mark.parametrize(
    ("events", "want"),
    [("low 0\noom 3\noom_kill 2\n", 2), ("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 1), ("under_oom 0\n", 0)],
)
def test_oom_kills(events: str, want: int) -> None:
    assert cgroup.parse_oom_kills(events) == want


class FakeKernel:
    """Makes the files of a group appear when its folder is made, and vanish before it is removed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, files: list[str]):
        mkdir, rmdir = Path.mkdir, Path.rmdir

        def make(path: Path) -> None:
            mkdir(path)
            for name in files:
                (path / name).touch()

        def remove(path: Path) -> None:
            for file in path.iterdir():
                file.unlink()
            rmdir(path)

        monkeypatch.setattr(Path, "mkdir", make)
        monkeypatch.setattr(Path, "rmdir", remove)


def test_version_1_limits_memory_and_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeKernel(monkeypatch, [V1.limit, V1.swap])
    with Group(Place(V1, tmp_path), 1000) as group:
        assert (group.folder / V1.limit).read_text() == "1000"
        assert (group.folder / V1.swap).read_text() == "1000"
        assert group.peak_bytes() is None
        (group.folder / V1.peak).write_text("77\n")
        (group.folder / V1.events).write_text("oom_kill 1\n")
        assert (group.peak_bytes(), group.oom_kills(), group.pids()) == (77, 1, [])
    assert list(tmp_path.iterdir()) == []


def test_version_2_asks_for_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeKernel(monkeypatch, [])
    with Group(Place(V2, tmp_path), 1000) as group:
        assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory"
        assert (group.folder / V2.limit).read_text() == "1000"
        assert (group.folder / V2.swap).read_text() == "0"
    assert [path.name for path in tmp_path.iterdir()] == ["cgroup.subtree_control"]


def test_refused_limit_leaves_no_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, text: str) -> int:
        raise OSError(errno.EBUSY, "busy", str(path))

    FakeKernel(monkeypatch, [V2.limit])
    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(OSError, match="busy"):
        Group(Place(V2, tmp_path), 1000)
    assert list(tmp_path.iterdir()) == []


def test_groups_of_dead_runs_are_removed(tmp_path: Path) -> None:
    for name in ("aether-peers-1", "aether-peers-999999999", "others"):
        (tmp_path / name).mkdir()
    cgroup.remove_dead(Place(V1, tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aether-peers-1", "others"]


def test_without_a_place_nothing_is_made() -> None:
    with cgroup.group(None, 1000) as (group, join):
        assert group is None
        join()
