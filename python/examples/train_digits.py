"""Trains GraphSAGE on a real graph through Ray, and compares it with the same model trained full-batch in memory.

The graph: scikit-learn's 1,797 handwritten digits, each joined with its ten nearest neighbours (by pixels); features
are the pixels, labels the digits. It is small on purpose: nothing is downloaded, and full-batch training in memory is
there to compare with. Nothing below would change for a graph a thousand times the size of the memory.

    python python/examples/train_digits.py --dir demo-data/digits
"""

import argparse
import json
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
import ray.train
import torch
import torch.distributed as dist
import torch.nn.functional as F
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from aethergraph import engine
from aethergraph.client import Client
from aethergraph.ray import collate_to_pyg, create_sampling_dataset

NEIGHBOURS = 10
TRAIN_SHARE = 0.5
WORKERS = 2


@dataclass(frozen=True)
class Digits:
    """The graph and its split.

    Attributes:
        edge_index: int64 (2, E), both directions of each edge.
        x: float32 (N, 64), pixels between 0 and 1.
        y: int64 (N,), the digit.
        train, test: int64, node ids.
    """

    edge_index: np.ndarray
    x: np.ndarray
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray


class SAGE(torch.nn.Module):
    """Two layers of GraphSAGE (Hamilton, Ying, Leskovec, 2017)."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.first = SAGEConv(64, hidden)
        self.second = SAGEConv(hidden, 10)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """Class scores, (n, 10), of n nodes."""
        h = F.dropout(F.relu(self.first(x, edge_index)), 0.3, self.training)
        return self.second(h, edge_index)


def digits() -> Digits:
    """Loads the digits and joins neighbours."""
    x, y = load_digits(return_X_y=True)
    near = kneighbors_graph(x, NEIGHBOURS)
    both = near.maximum(near.T).tocoo()
    order = np.random.default_rng(0).permutation(len(y))
    cut = int(TRAIN_SHARE * len(y))
    return Digits(
        edge_index=np.stack([both.row, both.col]).astype(np.int64),
        x=(x / 16).astype(np.float32),
        y=y.astype(np.int64),
        train=np.sort(order[:cut]),
        test=np.sort(order[cut:]),
    )


def build(data: Digits, folder: Path) -> Path:
    """Writes the arrays and makes graph.bin of them, features and labels beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in (("edges", data.edge_index), ("x", data.x), ("y", data.y)):
        np.save(folder / f"{name}.npy", array)
    graph = folder / "graph.bin"
    command: list[str | Path] = [engine.command(), "build", folder / "edges.npy", "--out", graph]
    command += ["--features", folder / "x.npy", "--node-attr", f"y={folder / 'y.npy'}"]
    subprocess.run(command, check=True)
    return graph


def full_batch(data: Digits, seed: int, epochs: int) -> float:
    """Trains on the whole graph in memory, as PyG does it; the test accuracy."""
    torch.set_num_threads(1)  # on so small a graph more would wait for each other
    torch.manual_seed(seed)
    graph = Data(x=torch.from_numpy(data.x), edge_index=torch.from_numpy(data.edge_index), y=torch.from_numpy(data.y))
    train, test = torch.from_numpy(data.train), torch.from_numpy(data.test)
    model = SAGE()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(graph.x, graph.edge_index)[train], graph.y[train]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        found = model(graph.x, graph.edge_index)[test].argmax(dim=1)
    return float((found == graph.y[test]).float().mean())


def train_epoch(model: torch.nn.Module, optimizer: torch.optim.Optimizer, batches: Any) -> float:
    """One pass over this worker's mini-batches; the mean loss."""
    model.train()
    losses = []
    for batch in batches:
        data = collate_to_pyg(batch)
        optimizer.zero_grad()
        scores = model(data.x, data.edge_index)[: data.batch_size]  # the seeds come first
        loss = F.cross_entropy(scores, data.y[: data.batch_size])
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses))


def accuracy(model: torch.nn.Module, batches: Any) -> float:
    """The share of the seeds of all workers' batches that the model gets right."""
    model.eval()
    right = torch.zeros(2)
    with torch.no_grad():
        for batch in batches:
            data = collate_to_pyg(batch)
            found = model(data.x, data.edge_index)[: data.batch_size].argmax(dim=1)
            right += torch.tensor([float((found == data.y[: data.batch_size]).sum()), float(data.batch_size)])
    dist.all_reduce(right)
    return float(right[0] / right[1])


def train_worker(config: dict[str, Any]) -> None:
    """What each Ray Train worker runs: one model per seed, trained on sampled mini-batches."""
    torch.set_num_threads(1)
    for seed in config["seeds"]:
        torch.manual_seed(seed)
        model = prepare_model(SAGE())
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        train = create_sampling_dataset(
            config["graph"], [10, 10], config["train"], batch_size=64, shuffle=True, seed=seed
        )
        test = create_sampling_dataset(config["graph"], [-1, -1], config["test"], batch_size=256, uneven="ragged")
        for epoch in range(1, config["epochs"] + 1):
            loss = train_epoch(model, optimizer, train.iter_batches(batch_format="pyarrow"))
            if epoch % 5 == 0 or epoch == config["epochs"]:
                score = accuracy(model.module, test.iter_batches(batch_format="pyarrow"))
                tell(config["progress"], {"seed": seed, "epoch": epoch, "loss": loss, "accuracy": score})
    ray.train.report({"accuracy": score})


def tell(path: str, line: dict[str, Any]) -> None:
    """Appends a line to the progress file; one worker speaks for all."""
    if ray.train.get_context().get_world_rank() == 0:
        with Path(path).open("a") as out:
            out.write(json.dumps(line) + "\n")


class Progress(threading.Thread):
    """Prints what the workers tell while they train."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._done = threading.Event()
        self.scores: dict[int, float] = {}  # by seed

    def run(self) -> None:
        """Follows the file until told to stop."""
        with self._path.open() as told:
            while True:
                done = self._done.is_set()
                for line in told:
                    self._show(json.loads(line))
                if done:
                    return
                self._done.wait(0.5)

    def stop(self) -> None:
        """Prints what is left and ends."""
        self._done.set()
        self.join()

    def _show(self, line: dict[str, Any]) -> None:
        self.scores[line["seed"]] = line["accuracy"]
        print(
            "  seed {seed}, epoch {epoch:2}: loss {loss:.3f}, test accuracy {accuracy:.4f}".format(**line),
            flush=True,
        )


def sampled(data: Digits, graph: Path, seeds: list[int], epochs: int) -> list[float]:
    """Trains with two Ray Train workers; the test accuracy of each seed."""
    with tempfile.TemporaryDirectory(prefix="train-digits-") as scratch:
        told = Path(scratch) / "progress.jsonl"
        told.touch()
        config = {
            "graph": str(graph.resolve()),
            "train": data.train,
            "test": data.test,
            "seeds": seeds,
            "epochs": epochs,
            "progress": str(told),
        }
        trainer = TorchTrainer(
            train_worker,
            train_loop_config=config,
            scaling_config=ScalingConfig(num_workers=WORKERS),
            run_config=RunConfig(storage_path=str(Path(scratch) / "ray")),
        )
        progress = Progress(told)
        progress.start()
        try:
            trainer.fit()
        finally:
            progress.stop()
        return list(progress.scores.values())


def io_account(graph: Path) -> str:
    """What the engine that served the training has read."""
    client = Client(engine.spec(graph))
    stats = client.stats()
    client.close()
    total, work = stats["engine"]["total"], stats["engine"]
    hits = 1 - total["misses"] / max(1, total["blocks_asked"])
    used = total["read_bytes"] / max(1, work["used_bytes"])
    return (
        f"{work['batches']:,} batches, {work['sampled_edges']:,} edges; "
        f"{total['blocks_asked']:,} blocks asked for, {total['misses']:,} read in {total['reads']:,} reads, "
        f"hit ratio {hits:.2%}, bytes read ÷ bytes used {used:.4f}, "
        f"peak memory of the engine {stats['server']['peak_rss_bytes'] / 2**20:.0f} MiB"
    )


def run(folder: Path, seeds: list[int], epochs: int) -> tuple[float, float]:
    """Trains both ways; the mean test accuracies, (sampled, full-batch)."""
    data = digits()
    print(
        f"digits: {len(data.y):,} nodes, {data.edge_index.shape[1]:,} edges, "
        f"{len(data.train)} to train, {len(data.test)} to test"
    )
    graph = build(data, folder)
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    try:
        start = time.monotonic()
        ours = sampled(data, graph, seeds, epochs)
        took = time.monotonic() - start
        print(f"I/O account: {io_account(graph)}")
    finally:
        ray.shutdown()
    full = [full_batch(data, seed, epochs=200) for seed in seeds]
    print(f"\ntest accuracy, means over {len(seeds)} seeds")
    print(f"  sampled, TorchTrainer with {WORKERS} workers   {np.mean(ours):.4f}  ({took:.0f} s)")
    print(f"  full batch in memory, PyG             {np.mean(full):.4f}")
    return float(np.mean(ours)), float(np.mean(full))


def main() -> None:
    """Parses the command line and runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=Path("demo-data/digits"), help="folder for the graph")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds to average over")
    parser.add_argument("--epochs", type=int, default=15)
    args = parser.parse_args()
    ours, full = run(args.dir, list(range(args.seeds)), args.epochs)
    if abs(ours - full) > 0.01:
        raise SystemExit(f"the two differ by {abs(ours - full):.2%}, more than one point")


if __name__ == "__main__":
    main()
