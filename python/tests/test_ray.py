"""Ray Data as it is used, on the driver and in tasks."""

import inspect
import os
import pickle
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pytest
import ray
import torch
from ray import cloudpickle
from support import Graph, assert_row, build, expected
from test_client import flip
from torch_geometric.data import Data

from aethergraph import CorruptGraphError, GraphMismatchError, engine
from aethergraph.ray import AetherGraphDatasource, SamplingDataset, collate_to_pyg, create_sampling_dataset, ranks
from aethergraph.request import Request

pytestmark = pytest.mark.usefixtures("cluster")

BATCHES = 12  # of 50 seeds


@pytest.fixture
def dataset(graph: Graph) -> SamplingDataset:
    return create_sampling_dataset(graph.path, [5, 3], batch_size=50)


def pyarrow(dataset: Any, **options: Any) -> list[pa.Table]:
    return list(dataset.iter_batches(batch_format="pyarrow", **options))


def indices(dataset: Any, **options: Any) -> list[int]:
    return [i for table in pyarrow(dataset, **options) for i in table["batch_index"].to_pylist()]


def epochs(dataset: Any, **options: Any) -> set[int]:
    return {e for table in pyarrow(dataset, **options) for e in table["epoch"].to_pylist()}


# ── one mini-batch per turn ──────────────────────────────────────────────────────────────────────────────────────────


def test_gives_the_oracles_batches_one_per_turn_in_order(graph: Graph, dataset: SamplingDataset) -> None:
    fingerprint = dataset.source.client.info()["fingerprint"]
    for epoch in range(2):
        tables = pyarrow(dataset)
        for table, want in zip(tables, expected(graph, fingerprint, [5, 3], 50, epoch=epoch), strict=True):
            assert isinstance(table, pa.Table)
            assert table.num_rows == 1
            assert_row(graph, table.to_pylist()[0], want)


def test_many_short_tasks_keep_the_order(graph: Graph) -> None:
    dataset = create_sampling_dataset(graph.path, [2], batch_size=5, parallelism=3)
    assert indices(dataset) == list(range(120))


def test_tensors_lie_in_the_object_store(graph: Graph) -> None:
    dataset = create_sampling_dataset(graph.path, [-1], batch_size=600)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (table,) = pyarrow(dataset)
        data = collate_to_pyg(table)
    store = [
        range(*(int(end, 16) for end in line.split()[0].split("-")))
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "plasma" in line
    ]
    assert store
    for name in ("x", "edge_index", "n_id", "e_id", "y", "pos"):
        values = table[name].chunk(0)[0].values
        assert data[name].data_ptr() == values.buffers()[1].address + values.offset * values.type.bit_width // 8
        assert any(data[name].data_ptr() in part for part in store), name


@pytest.mark.parametrize("batch_format", ["pyarrow", "numpy", "pandas", "default", None])
def test_every_format_one_per_turn(dataset: SamplingDataset, batch_format: str | None) -> None:
    got = [collate_to_pyg(batch) for batch in dataset.iter_batches(batch_format=batch_format)]
    assert [d.batch_index for d in got] == list(range(BATCHES))
    want = [
        collate_to_pyg(batch)
        for batch in pyarrow(create_sampling_dataset(dataset.source.client.spec.graph_path, [5, 3], batch_size=50))
    ]
    for ours, theirs in zip(got, want, strict=True):
        assert torch.equal(ours.edge_index, theirs.edge_index)
        assert torch.equal(ours.x, theirs.x)


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"batch_size": 5}, [5, 5, 2]),
        ({"batch_size": 5, "drop_last": True}, [5, 5]),
        ({"batch_size": None}, [1] * BATCHES),
        ({"batch_size": 1, "prefetch_batches": 0}, [1] * BATCHES),
        ({"prefetch_batches": 3}, [1] * BATCHES),
    ],
)
def test_other_batch_sizes_never_split_one(dataset: SamplingDataset, options: dict[str, Any], rows: list[int]) -> None:
    tables = pyarrow(dataset, **options)
    assert [t.num_rows for t in tables] == rows
    assert sum(collate_to_pyg(t).batch_size for t in tables) == 50 * sum(rows)


def test_torch_batches_are_pyg_data(dataset: SamplingDataset) -> None:
    got = list(dataset.iter_torch_batches())
    assert all(isinstance(d, Data) for d in got)
    assert [d.batch_index for d in got] == list(range(BATCHES))
    assert [d.batch_size for d in dataset.iter_torch_batches(batch_size=8)] == [400, 200]


def test_rows(dataset: SamplingDataset) -> None:
    assert [row["batch_index"] for row in dataset.iter_rows()] == list(range(BATCHES))


def test_leaving_early_stops_the_engine(graph: Graph) -> None:
    dataset = create_sampling_dataset(graph.path, [3], list(range(600)) * 50, batch_size=2)
    for _ in dataset.iter_batches(batch_format="pyarrow"):
        break
    deadline = time.monotonic() + 20
    while dataset.source.client.stats()["server"]["open_streams"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


# ── looks, epochs ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_descriptions_run_nothing(graph: Graph) -> None:
    dataset = create_sampling_dataset(graph.path, [5, 3], batch_size=50)
    before = dataset.source.client.stats()["server"]["streams"]
    assert dataset.count() == dataset.num_batches() == BATCHES
    assert {"edge_index", "n_id", "e_id", "x", "y", "fingerprint"} <= set(dataset.schema().names)
    assert f"({BATCHES}, " in repr(dataset)
    assert dataset.columns() == dataset.schema().names
    assert dataset.source.client.stats()["server"]["streams"] == before
    assert dataset.epoch == 0


def test_a_look_takes_no_epoch_and_little_work(dataset: SamplingDataset) -> None:
    client = dataset.source.client
    before = client.stats()["engine"]["batches"]
    assert [row["batch_index"] for row in dataset.take(2)] == [0, 1]
    assert dataset.take_batch(3, batch_format="pyarrow").num_rows == 3
    assert dataset.limit(1).count() == 1
    assert client.stats()["engine"]["batches"] <= before + 2 * (2 + 3 + 1)
    assert dataset.epoch == 0
    assert epochs(dataset) == {0}


def test_each_iteration_is_the_next_epoch(dataset: SamplingDataset) -> None:
    assert [epochs(dataset) for _ in range(3)] == [{0}, {1}, {2}]
    dataset.size_bytes()
    assert len({e for _ in range(2) for e in epochs(dataset)}) == 2  # what Ray cached is not served again
    dataset.set_epoch(1)
    assert epochs(dataset) == {1}
    assert dataset.epoch == 2
    with pytest.raises(ValueError, match="epoch"):
        dataset.set_epoch("first")  # type: ignore[arg-type]


def test_epochs_repeat_by_their_seed(graph: Graph) -> None:
    def epoch(seed: int, number: int) -> list[Any]:
        dataset = create_sampling_dataset(graph.path, [3], batch_size=200, seed=seed, epoch=number, shuffle=True)
        return [table.to_pylist() for table in pyarrow(dataset)]

    assert epoch(1, 4) == epoch(1, 4)
    assert epoch(1, 4) != epoch(1, 5)
    assert epoch(1, 4) != epoch(2, 4)


def test_what_ray_makes_of_it_advances_too(dataset: SamplingDataset) -> None:
    mapped = dataset.map_batches(lambda batch: batch, batch_size=1, batch_format="pyarrow")
    assert [epochs(mapped, batch_size=1) for _ in range(2)] == [{0}, {1}]
    assert epochs(dataset) == {2}


def test_map_batches_in_every_format(dataset: SamplingDataset) -> None:
    for batch_format in ("pyarrow", "numpy", "pandas"):
        mapped = dataset.map_batches(lambda batch: batch, batch_size=1, batch_format=batch_format)
        datas = [collate_to_pyg(t) for t in pyarrow(mapped, batch_size=1)]
        assert sorted(d.batch_index for d in datas) == list(range(BATCHES))
        assert all(d.validate() for d in datas)


def test_materialized_blocks_have_one_mini_batch_each(dataset: SamplingDataset) -> None:
    kept = dataset.materialize()
    assert kept.num_blocks() == kept.count() == BATCHES
    assert [t.num_rows for t in pyarrow(kept, batch_size=1)] == [1] * BATCHES
    assert indices(kept) == list(range(BATCHES))
    assert epochs(dataset) == {1}


def test_a_plain_dataset(graph: Graph) -> None:
    plain = ray.data.read_datasource(AetherGraphDatasource(graph_path=graph.path, num_neighbors=[5, 3], batch_size=50))
    assert type(plain) is ray.data.Dataset
    assert plain.count() == BATCHES
    tables = pyarrow(plain, batch_size=1)
    assert sorted(t["batch_index"][0].as_py() for t in tables) == list(range(BATCHES))
    (merged,) = pyarrow(plain)
    assert merged.num_rows == BATCHES
    assert collate_to_pyg(merged).batch_size == graph.nodes


# ── shares ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("uneven", "shares"),
    [
        (None, [[0, 5, 10], [1, 6, 11], [2, 7, 0], [3, 8, 1], [4, 9, 2]]),
        ("drop", [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]),
        ("ragged", [[0, 5, 10], [1, 6, 11], [2, 7], [3, 8], [4, 9]]),
    ],
)
def test_given_ranks(graph: Graph, uneven: Any, shares: list[list[int]]) -> None:
    for rank, share in enumerate(shares):
        dataset = create_sampling_dataset(graph.path, [2], batch_size=50, rank=rank, world_size=5, uneven=uneven)
        assert dataset.num_batches() == len(share)
        assert indices(dataset) == share


def test_torchruns_environment(dataset: SamplingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "6")
    assert indices(dataset) == [1, 7]
    monkeypatch.delenv("RANK")
    assert dataset.count() == BATCHES  # asked anew


def test_no_rank_is_no_trouble_outside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        import ray.train  # noqa: F401

        assert ranks.of_train_worker() is None
        assert ranks.resolve(None, None) == (0, 1)


@pytest.mark.parametrize(
    ("equal", "shares"),
    [
        (True, [[0, 5, 10], [1, 6, 11], [2, 7, 0], [3, 8, 1], [4, 9, 2]]),
        (False, [[0, 5, 10], [1, 6, 11], [2, 7], [3, 8], [4, 9]]),
    ],
)
def test_streaming_split(dataset: SamplingDataset, equal: bool, shares: list[list[int]]) -> None:
    shards = dataset.streaming_split(5, equal=equal)
    assert [indices(shard) for shard in shards] == shares
    assert [epochs(shard) for shard in shards] == [{1}] * 5
    assert shards[0].schema().names == dataset.schema().names
    assert isinstance(shards[0].stats(), str)
    shards[0].set_epoch(9)
    assert epochs(shards[0]) == {9}
    assert dataset.epoch == 0


def test_shards_in_tasks(dataset: SamplingDataset) -> None:
    @ray.remote(num_cpus=0)
    def consume(shard: Any) -> list[Any]:
        turns = [list(shard.iter_batches(batch_format="pyarrow")) for _ in range(2)]
        return [[(t["epoch"][0].as_py(), t["batch_index"][0].as_py()) for t in tables] for tables in turns]

    got = ray.get([consume.remote(shard) for shard in dataset.streaming_split(2, equal=True)])
    for rank, turns in enumerate(got):
        assert turns == [[(epoch, i) for i in range(rank, BATCHES, 2)] for epoch in range(2)]


def test_reads_while_others_hold_every_cpu(dataset: SamplingDataset) -> None:
    @ray.remote(num_cpus=2)
    class Holder:
        def ping(self) -> None:
            pass

    holder = Holder.remote()
    ray.get(holder.ping.remote())
    try:
        assert indices(dataset) == list(range(BATCHES))
        assert len(dataset.take(1)) == 1
    finally:
        ray.kill(holder)


def test_workers_refuse_to_mix_graphs(graph: Graph, tmp_path: Path) -> None:
    import torch.distributed as dist

    store = dist.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        mine = Request((1,), fingerprint="aa", content_id="cc", generator="philox4x32-10/1")
        ranks.check_same_graph("graph.bin", mine)
        ranks.check_same_graph("graph.bin", mine.at(rank=1, world_size=2))
        ranks.check_same_graph("other.bin", mine.at(fingerprint="bb"))
        for name in ("fingerprint", "content_id", "generator"):
            with pytest.raises(GraphMismatchError, match=f"{name} bb.*{getattr(mine, name)}.*copy the same graph"):
                ranks.check_same_graph("graph.bin", mine.at(**{name: "bb"}))
    finally:
        dist.destroy_process_group()
    dataset = create_sampling_dataset(build(tmp_path, [0], [1], 5).path, [1])
    for another in ({"dst": [2]}, {"dst": [1], "x": np.zeros((5, 1))}):  # as if another node had other files
        build(tmp_path, [0], nodes=5, **another)
        with pytest.raises(GraphMismatchError):
            pyarrow(pickle.loads(pickle.dumps(dataset.streaming_split(1)[0])))


# ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

MASK = np.isin(np.arange(600), [3, 11, 500])


@pytest.mark.parametrize(
    ("nodes", "n_id", "input_id"),
    [
        ([11, 3, 3], [11, 3, 3], [0, 1, 2]),
        (np.array([11, 3]), [11, 3], [0, 1]),
        (torch.tensor([11, 3]), [11, 3], [0, 1]),
        (MASK, [3, 11, 500], [3, 11, 500]),
        (torch.from_numpy(MASK), [3, 11, 500], [3, 11, 500]),
        (MASK.tolist(), [3, 11, 500], [3, 11, 500]),
    ],
)
def test_input_nodes(graph: Graph, nodes: Any, n_id: list[int], input_id: list[int]) -> None:
    dataset = create_sampling_dataset(graph.path, [0], nodes)
    for source in (dataset, dataset.streaming_split(1)[0]):
        (table,) = pyarrow(source)
        data = collate_to_pyg(table)
        assert (data.n_id.tolist(), data.input_id.tolist()) == (n_id, input_id)


def test_no_input_nodes(graph: Graph) -> None:
    dataset = create_sampling_dataset(graph.path, [3], [])
    assert dataset.count() == dataset.num_batches() == 0
    assert pyarrow(dataset) == []
    assert dataset.take(3) == []
    assert pyarrow(dataset.streaming_split(1)[0]) == []


def test_small_graphs(tmp_path: Path) -> None:
    none, one = tmp_path / "none", tmp_path / "one"
    none.mkdir(), one.mkdir()
    assert pyarrow(create_sampling_dataset(build(none, [], [], 0).path, [3])) == []
    (table,) = pyarrow(create_sampling_dataset(build(one, [0], [0], 1).path, [3]))
    data = collate_to_pyg(table)
    assert data.edge_index.tolist() == [[0], [0]]
    assert data.x is None


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"num_neighbors": [5, -2]}, ValueError, "num_neighbors"),
        ({"num_neighbors": 5}, ValueError, "num_neighbors"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"batch_size": 2.5}, ValueError, "batch_size"),
        ({"input_nodes": [1.5]}, ValueError, "input_nodes"),
        ({"input_nodes": [[1], [2]]}, ValueError, "input_nodes"),
        ({"input_nodes": [True]}, ValueError, "input_nodes"),
        ({"input_nodes": [-1]}, IndexError, "input_nodes"),
        ({"input_nodes": [600]}, IndexError, "input_nodes"),
        ({"parallelism": 0}, ValueError, "parallelism"),
        ({"rank": 1}, ValueError, "rank, world_size: give both"),
        ({"rank": 2, "world_size": 2}, ValueError, "rank"),
        ({"uneven": "?"}, ValueError, "uneven"),
        ({"node_attrs": ["nothing"]}, ValueError, "nothing"),
        ({"graph_path": "nowhere.bin"}, FileNotFoundError, "nowhere.bin"),
        ({"features_path": "nowhere.npy"}, FileNotFoundError, "nowhere.npy"),
        ({"features_dtype": "bf16"}, ValueError, "features_dtype"),
    ],
)
def test_refuses(graph: Graph, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        create_sampling_dataset(**{"graph_path": graph.path, "num_neighbors": [5], **arguments})


def test_ten_million_seeds_travel_once(graph: Graph) -> None:
    nodes = np.random.default_rng(0).integers(0, graph.nodes, 10_000_000)
    dataset = create_sampling_dataset(graph.path, [1], nodes, batch_size=1000)
    assert dataset.count() == 10_000
    tasks = dataset.source.get_read_tasks(1000)
    refs = [ray.put(task) for task in tasks[:3]]
    sizes = [ray.experimental.get_local_object_locations([ref])[ref]["object_size"] for ref in refs]
    assert max(sizes) < 20_000
    (row,) = dataset.take(1)
    assert list(row["n_id"][:1000]) == nodes[:1000].tolist()


def test_closures_hold_no_more_than_they_need(dataset: SamplingDataset) -> None:
    (task,) = dataset.source.get_read_tasks(1)
    assert len(cloudpickle.dumps(task.read_fn)) < 4_000


# ── engines under Ray ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def own(tmp_path: Path) -> Graph:
    """A graph, and so an engine, of the test's own, over many blocks."""
    rng = np.random.default_rng(0)
    return build(tmp_path, rng.integers(0, 1000, 50_000), rng.integers(0, 1000, 50_000), 1000)


def pid_of(graph: Graph) -> int:
    pid = engine.endpoint(engine.spec(graph.path)).pid()
    assert pid is not None
    return pid


def test_damage_reaches_the_user_and_the_engine_goes_on(own: Graph) -> None:
    dataset = create_sampling_dataset(own.path, [-1], batch_size=100)
    pid = pid_of(own)
    flip(Path(own.path), 4096 * 20 + 17, keep_time=True)
    run: Callable[[], Any]
    for run in (lambda: pyarrow(dataset), lambda: pyarrow(dataset.streaming_split(1)[0])):
        with pytest.raises(CorruptGraphError, match=r"graph\.bin.*block"):
            run()
    assert pid_of(own) == pid
    assert pyarrow(create_sampling_dataset(own.path, [0], batch_size=500))


def test_a_killed_engine_is_restarted(own: Graph) -> None:
    dataset = create_sampling_dataset(own.path, [10, 10], list(range(1000)) * 3, batch_size=20)
    whole = [table.to_pylist() for table in pyarrow(dataset)]
    for source in (dataset, dataset.streaming_split(1)[0]):
        source.set_epoch(0)
        got = []
        for table in source.iter_batches(batch_format="pyarrow"):
            got.append(table.to_pylist())
            if len(got) == 5:
                psutil.Process(pid_of(own)).kill()
        assert got == whole


def test_an_engine_outlives_the_worker_that_started_it(own: Graph) -> None:
    @ray.remote(num_cpus=0, max_calls=1)
    def start(path: str) -> tuple[int, int]:
        from aethergraph import engine

        at = engine.ensure(engine.spec(path))
        return os.getpid(), at.pid() or 0

    worker, pid = ray.get(start.remote(own.path))
    psutil.wait_procs([psutil.Process(worker)] if psutil.pid_exists(worker) else [], timeout=20)
    assert not psutil.pid_exists(worker)
    time.sleep(0.5)
    assert pid_of(own) == pid


def test_the_signature_is_as_promised() -> None:
    promised = {
        "graph_path": inspect.Parameter.empty,
        "num_neighbors": inspect.Parameter.empty,
        "input_nodes": None,
        "batch_size": 1024,
        "replace": False,
        "features_path": None,
        "parallelism": None,
    }
    parameters = inspect.signature(create_sampling_dataset).parameters.values()
    assert {p.name: p.default for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD} == promised
    assert all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters)
