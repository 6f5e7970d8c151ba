"""GNU sort of an edge list by target, then source: text to text.

usage: python -m peers.workers.gnusort EDGES.txt OUT.txt --memory BYTES --spill FOLDER [--threads N]
"""

import argparse
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from peers.workers.lines import run


def load(args: argparse.Namespace) -> Iterator[int]:
    """Counts the lines, which is not measured, and gives the sort."""
    with args.edges.open("rb") as lines:
        edges = sum(1 for _ in lines)
    return sort(args, edges)


def sort(args: argparse.Namespace, edges: int) -> Iterator[int]:
    """Sorts, once."""
    words = ["sort", "-n", "-k2,2", "-k1,1", f"--parallel={args.threads}", f"--buffer-size={args.memory}b"]
    words += [f"--temporary-directory={args.spill}", f"--output={args.out}", str(args.edges)]
    subprocess.run(words, check=True, env={**os.environ, "LC_ALL": "C"})
    yield edges


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edges", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--spill", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    run(lambda: load(args), 0)


if __name__ == "__main__":
    main()
