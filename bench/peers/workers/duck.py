"""DuckDB's sort of an edge list by target, then source: Parquet to Parquet.

usage: python -m peers.workers.duck EDGES.parquet OUT.parquet --memory BYTES --spill FOLDER [--threads N]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import duckdb  # type: ignore[import-not-found]

from peers.workers.lines import run


def load(args: argparse.Namespace) -> Iterator[int]:
    """Opens a database in memory, which spills to the folder."""
    database = duckdb.connect(
        config={
            "memory_limit": f"{args.memory}B",
            "threads": args.threads,
            "temp_directory": str(args.spill),
            "preserve_insertion_order": False,
        }
    )
    return sort(database, args)


def sort(database: duckdb.DuckDBPyConnection, args: argparse.Namespace) -> Iterator[int]:
    """Sorts, once. The answer of COPY is the number of its rows."""
    question = f"COPY (SELECT src, dst FROM '{args.edges}' ORDER BY dst, src) TO '{args.out}' (FORMAT parquet)"
    yield int(database.execute(question).fetchall()[0][0])


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
