"""PyG's NeighborSampler over a CSC that is in RAM or is mapped from its files.

usage: python -m peers.workers.pyg FOLDER SEEDS.npy LIBRARY --fanouts 25,10 [--map | --map-random] [--seconds S]

LIBRARY holds torch-sparse's sampling operators, which PyG calls where pyg-lib is not installed.
"""

import argparse
import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch_geometric.typing
from torch_geometric.data import Data
from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

from peers.workers.lines import run


class Adjacency:
    """As much of torch-sparse's SparseTensor as PyG's sampler looks at."""

    def __init__(self, colptr: torch.Tensor, row: torch.Tensor):
        self._arrays = colptr, row, None

    def csr(self) -> tuple[torch.Tensor, torch.Tensor, None]:
        """Of the transposed adjacency: by target."""
        return self._arrays


def array(path: Path, args: argparse.Namespace) -> torch.Tensor:
    """The array: read, or mapped."""
    if not (args.map or args.map_random):
        return torch.from_numpy(np.load(path))
    mapped = np.load(path, mmap_mode="r")
    if args.map_random:
        mapped._mmap.madvise(mmap.MADV_RANDOM)
    return torch.from_numpy(mapped)


def batches(sampler: NeighborSampler, seeds: torch.Tensor, size: int) -> Iterator[int]:
    """Samples batch after batch."""
    for part in seeds.split(size):
        yield sampler.sample_from_nodes(NodeSamplerInput(input_id=None, node=part)).row.numel()


def load(args: argparse.Namespace) -> Iterator[int]:
    """The graph and the sampler; nothing is copied, so that what is mapped stays so."""
    colptr, row = array(args.folder / "colptr.npy", args), array(args.folder / "row64.npy", args)
    torch.ops.load_library(args.library)
    torch_geometric.typing.WITH_TORCH_SPARSE = True
    torch_geometric.typing.WITH_PYG_LIB = False
    fanouts = [int(n) for n in args.fanouts.split(",")]
    sampler = NeighborSampler(Data(adj_t=Adjacency(colptr, row), num_nodes=colptr.numel() - 1), fanouts)
    return batches(sampler, torch.from_numpy(np.load(args.seeds)).long(), args.batch_size)


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seeds", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("--fanouts", default="25,10")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--map", action="store_true", help="np.memmap")
    parser.add_argument("--map-random", action="store_true", help="np.memmap with MADV_RANDOM")
    args = parser.parse_args()
    torch.set_num_threads(1)
    run(lambda: load(args), args.seconds)


if __name__ == "__main__":
    main()
