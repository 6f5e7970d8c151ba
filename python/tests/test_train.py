"""Ray Train: two workers that hold both CPUs."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from ray import cloudpickle
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from support import Graph, expected

from aethergraph.ray import create_sampling_dataset

BATCH_SIZE = 48  # 600 nodes: 13 mini-batches, so that two workers do not come out even
WORKERS = 2


def train_worker(config: dict[str, Any]) -> None:
    """Trains a little by every way, and writes down which mini-batches came."""
    import ray.train
    import torch
    import torch.nn.functional as F
    from ray.train.torch import prepare_model
    from torch_geometric.nn import SAGEConv

    from aethergraph.ray import collate_to_pyg, create_sampling_dataset
    from aethergraph.ray.iterators import DirectIterator

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = SAGEConv(48, 10)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.layer(x, edge_index)

    torch.manual_seed(0)
    model = prepare_model(Model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen: dict[str, Any] = {}

    def run(name: str, source: Any, **options: Any) -> None:
        turns = []
        for batch in source.iter_batches(batch_format="pyarrow", **options):
            data = collate_to_pyg(batch)
            out = model(data.x, data.edge_index)[: data.batch_size]
            optimizer.zero_grad()
            F.cross_entropy(out, data.y[: data.batch_size]).backward()
            optimizer.step()
            turns.append((data.epoch, data.batch_index, data.n_id.tolist()))
        seen.setdefault(name, []).append(turns)

    here = create_sampling_dataset(config["graph"], [5, 5], batch_size=config["batch_size"])
    assert isinstance(here.iterator(), DirectIterator)
    seen["counts"] = [here.count(), here.num_batches()]
    assert f"({here.count()}, " in repr(here)
    for _ in range(2):
        run("here", here)
        run("carried", config["dataset"])
        run("shard", ray.train.get_dataset_shard("train"))  # asked for anew in each epoch
    run("transformed", here.map_batches(lambda batch: batch, batch_format="pyarrow", num_cpus=0), batch_size=1)
    seen["torch"] = [d.batch_index for d in here.iter_torch_batches()]
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    seen["weights"] = weights.tolist()
    rank = ray.train.get_context().get_world_rank()
    (Path(config["out"]) / f"{rank}.json").write_text(json.dumps(seen))


@pytest.fixture(scope="module")
def seen(cluster: str, graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each worker saw."""
    out = tmp_path_factory.mktemp("train")
    make = {"graph_path": graph.path, "num_neighbors": [5, 5], "batch_size": BATCH_SIZE}
    carried = create_sampling_dataset(**make)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test
    TorchTrainer(
        train_worker,
        train_loop_config={"graph": graph.path, "batch_size": BATCH_SIZE, "out": str(out), "dataset": carried},
        datasets={"train": create_sampling_dataset(**make)},
        scaling_config=ScalingConfig(num_workers=WORKERS, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(storage_path=str(out / "ray")),
    ).fit()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    return [json.loads((out / f"{rank}.json").read_text()) for rank in range(WORKERS)]


def wanted(graph: Graph, rank: int, epoch: int) -> list[list[Any]]:
    fingerprint = graph.client().info()["fingerprint"]
    batches = expected(graph, fingerprint, [5, 5], BATCH_SIZE, rank=rank, world_size=WORKERS, epoch=epoch)
    return [[b.epoch, b.index, b.batch.n_id] for b in batches]


@pytest.mark.parametrize("way", ["here", "carried", "shard"])
@pytest.mark.parametrize("rank", range(WORKERS))
def test_each_rank_gets_its_share_of_each_epoch(graph: Graph, seen: list[dict[str, Any]], way: str, rank: int) -> None:
    assert seen[rank][way] == [wanted(graph, rank, epoch) for epoch in range(2)]


@pytest.mark.parametrize("rank", range(WORKERS))
def test_a_transformed_dataset_reads_without_cpus(graph: Graph, seen: list[dict[str, Any]], rank: int) -> None:
    (turns,) = seen[rank]["transformed"]
    assert sorted(turns) == sorted(wanted(graph, rank, epoch=2))


def test_ranks_count_alike_and_end_with_the_same_model(seen: list[dict[str, Any]]) -> None:
    assert [s["counts"] for s in seen] == [[7, 7]] * WORKERS
    assert [len(s["torch"]) for s in seen] == [7] * WORKERS
    assert seen[0]["weights"] == seen[1]["weights"]
