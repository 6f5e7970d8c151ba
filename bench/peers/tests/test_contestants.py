"""Who runs: everybody is there or missing with a reason, and those who are compared have the same memory."""

from pathlib import Path

import numpy as np
import pytest

from peers import contestants as who
from peers import data
from peers.contestants import Cast, Memory, Tools
from peers.data import Data

MADE = Data(Path("/graph"), 20)


def cast(peers: Path | str) -> Cast:
    tools = Tools(Path("/ours"), Path("/plain"), peers, peers, peers)
    return Cast(MADE, Memory.of(MADE, 512 << 20), tools).assemble()


def test_everybody_is_there_or_missing() -> None:
    everybody = {c.key for c in cast(Path("/peer")).playing} | {
        who.key(m.section, m.name) for m in cast(Path("/peer")).missing
    }
    without = cast("no wheel")
    missing = {who.key(m.section, m.name) for m in without.missing}
    assert {c.key for c in without.playing} | missing == everybody
    assert {who.key(job.section, name) for job in who.JOBS for name in (who.pyg_name(), who.memmap_name())} <= missing
    assert all(m.why for m in without.missing)
    assert len(everybody) == len(cast(Path("/peer")).playing) + len(cast(Path("/peer")).missing)


def test_memory_is_equal_among_those_who_are_compared() -> None:
    limits = {c.key: c.command.memory_bytes for c in cast(Path("/peer")).playing}
    section = who.JOBS[0].section

    def limit(name: str) -> int:
        return limits[who.key(section, name)]

    out_of_core = {limit(n) for n in (who.quarter_name(), who.memmap_name(), who.memmap_name(random=True))}
    in_ram = {limit(n) for n in (who.resident_name(1), who.pyg_name(), who.graphbolt_name(2), who.plain_name(2))}
    fixed = {limit(n) for n in (who.fixed_name(), who.fixed_name(edge_ids=True), who.memmap_name() + who.FIXED)}
    assert (len(out_of_core), len(in_ram), len(fixed)) == (1, 1, 1)
    build = [c.command for c in cast(Path("/peer")).playing if c.section == who.BUILD]
    assert len({(command.memory_bytes, command.cpus) for command in build}) == 1


def test_with_and_without_edge_ids() -> None:
    for name in (who.quarter_name, who.fixed_name):
        for edge_ids in (False, True):
            (found,) = [c for c in cast(Path("/peer")).playing if c.key == who.key(who.JOBS[0].section, name(edge_ids))]
            assert f"--edge-ids={str(edge_ids).lower()}" in found.command.argv


def test_text_is_the_first_edges(tmp_path: Path) -> None:
    made = Data(tmp_path, 4)
    np.save(made.edge_list, np.arange(2 * made.edges, dtype=np.int32).reshape(2, -1))
    data._text(made, made.text)
    lines = made.text.read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("0 256", "255 511", made.text_edges)


def test_budget_is_a_quarter_of_plain_adjacency() -> None:
    assert Memory.of(MADE, 0).budget == 4 * MADE.edges // 4


def test_seeds_are_distinct_and_have_neighbours(tmp_path: Path) -> None:
    made = Data(tmp_path, 4)
    np.save(made.csc[0], np.array([0, 0, 1, 3, 3, 4, 5], dtype=np.int64))
    data.make_seeds(made, (25, 10), batches=50, batch_size=3)
    seeds = np.load(made.seeds((25, 10))).reshape(50, 3)
    assert seeds.dtype == np.int32
    assert set(seeds.ravel().tolist()) == {1, 2, 4, 5}
    assert all(len(set(batch.tolist())) == 3 for batch in seeds)
    with pytest.raises(data.SetupError, match="larger --scale"):
        data.make_seeds(made, (25, 10), batches=1, batch_size=5)


def test_half_a_file_gets_no_name(tmp_path: Path) -> None:
    def fail(out: Path) -> None:
        out.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data._whole(tmp_path / "whole.npy", fail)
    assert not (tmp_path / "whole.npy").exists()
