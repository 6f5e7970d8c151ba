"""Feature rows by np.memmap, as users gather them: ``features[ids]``, ids uniform.

usage: python -m peers.workers.gather FEATURES.npy [--random] [--seconds S]
"""

import argparse
import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from peers.workers.lines import run


def load(args: argparse.Namespace) -> Iterator[int]:
    """Maps the file."""
    features = np.load(args.features, mmap_mode="r")
    if args.random:
        features._mmap.madvise(mmap.MADV_RANDOM)
    return batches(features, args)


def batches(features: np.ndarray, args: argparse.Namespace) -> Iterator[int]:
    """Gathers rows of uniform ids, without end."""
    random = np.random.default_rng(args.seed)
    while True:
        yield len(features[random.integers(len(features), size=args.rows)])


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("--rows", type=int, default=16384, help="of a batch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--random", action="store_true", help="MADV_RANDOM")
    args = parser.parse_args()
    run(lambda: load(args), args.seconds)


if __name__ == "__main__":
    main()
