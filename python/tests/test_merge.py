"""What `aether-ooc merge` makes is what `aether-ooc build` makes of all edge lists, and `verify --against` sees it."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import aether_ooc

from aethergraph import engine

NODES, OLD, NEW = 400, 5000, 300


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Old and new edges, with parallel edges and loops among both."""
    folder = tmp_path_factory.mktemp("merge")
    edges = np.random.default_rng(5).integers(0, NODES, (2, OLD + NEW))
    paths = folder / "old.csv", folder / "new.csv"
    for path, part in zip(paths, np.split(edges, [OLD], axis=1), strict=True):
        path.write_text("to,why,from\n" + "".join(f"{v},x,{u}\n" for u, v in part.T))
    return paths


def complaint(*arguments: object) -> tuple[int, str]:
    """Exit code and words of a command that is to fail."""
    done = subprocess.run([engine.command(), *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("encoding", ["plain", "compact"])
@pytest.mark.parametrize("options", [[], ["--undirected", "--drop-self-loops"], ["--dedup", "--direction", "out"]])
def test_same_bytes_as_a_build(lists: tuple[Path, Path], tmp_path: Path, encoding: str, options: list[str]) -> None:
    old, new = lists
    columns = ["--columns", "from,to"]
    flags = [*options, "--encoding", encoding]
    base, merged, whole = tmp_path / "base.bin", tmp_path / "merged.bin", tmp_path / "whole.bin"
    aether_ooc("build", old, *columns, "--out", base, *flags)
    aether_ooc("merge", base, new, *columns, "--out", merged)
    aether_ooc("build", old, new, *columns, "--out", whole, *flags)
    assert merged.read_bytes() == whole.read_bytes()
    aether_ooc("verify", merged, "--against", old, new, *columns)
    code, words = complaint("verify", merged, "--against", old, *columns)
    assert code == 3
    assert "e_id" in words


def test_features_are_carried_or_asked_for(lists: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = lists
    np.save(tmp_path / "x.npy", np.arange(NODES * 3, dtype=np.float32).reshape(NODES, 3))
    np.save(tmp_path / "y.npy", np.arange(NODES))
    base, merged = tmp_path / "base.bin", tmp_path / "merged.bin"
    beside = ["--features", tmp_path / "x.npy", "--node-attr", f"y={tmp_path / 'y.npy'}"]
    aether_ooc("build", old, "--columns", "from,to", "--out", base, "--num-nodes", NODES, *beside)
    aether_ooc("merge", base, new, "--columns", "from,to", "--out", merged)
    aether_ooc("verify", merged)
    for carried, given in [("features", "x"), ("attr.y", "y")]:
        assert np.array_equal(np.load(f"{merged}.{carried}.npy"), np.load(tmp_path / f"{given}.npy"))

    (tmp_path / "more.txt").write_text(f"0 {NODES}\n")
    code, words = complaint("merge", base, tmp_path / "more.txt", "--out", tmp_path / "no.bin")
    assert code == 1
    assert "--features" in words
    assert "--drop-attachments" in words
    assert not (tmp_path / "no.bin").exists()
    aether_ooc("merge", base, tmp_path / "more.txt", "--out", tmp_path / "bare.bin", "--drop-attachments")
    report = subprocess.run(
        [engine.command(), "inspect", tmp_path / "bare.bin", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(report.stdout)["nodes"] == NODES + 1
