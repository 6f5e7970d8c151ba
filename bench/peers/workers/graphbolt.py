"""GraphBolt's neighbour sampler over a CSC in RAM, as its documentation puts it together.

usage: python -m peers.workers.graphbolt FOLDER SEEDS.npy --fanouts 25,10 --threads 2 [--seconds S]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import dgl.graphbolt as gb  # type: ignore[import-not-found]
import numpy as np
import torch

from peers.workers.lines import run


def load(args: argparse.Namespace) -> Iterator[int]:
    """The graph and the pipe of batches. GraphBolt names the last hop's fanout first."""
    colptr = torch.from_numpy(np.load(args.folder / "colptr.npy"))
    row = torch.from_numpy(np.load(args.folder / "row.npy"))
    graph = gb.fused_csc_sampling_graph(colptr, row)
    seeds = torch.from_numpy(np.load(args.seeds))
    fanouts = [int(n) for n in reversed(args.fanouts.split(","))]
    pipe = gb.ItemSampler(gb.ItemSet(seeds, names="seed_nodes"), batch_size=args.batch_size)
    return (edges(batch) for batch in pipe.sample_neighbor(graph, fanouts))


def edges(batch: gb.MiniBatch) -> int:
    """Sampled edges of all hops."""
    return sum(hop.sampled_csc.indices.numel() for hop in batch.sampled_subgraphs)


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seeds", type=Path)
    parser.add_argument("--fanouts", default="25,10")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    run(lambda: load(args), args.seconds)


if __name__ == "__main__":
    main()
