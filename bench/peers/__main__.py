"""``make bench-peers``: our sampling and what users would pick instead, measured in one run."""

import argparse
import sys
from pathlib import Path

from peers import data, driver


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m peers", description=__doc__)
    parser.add_argument("--scale", type=int, default=22, help="of the RMAT graph: 2^scale nodes, 16 edges each")
    parser.add_argument("--repeat", type=int, default=3, help="rounds, if there is time")
    parser.add_argument("--minutes", type=float, default=28, help="begin no round that would end later")
    parser.add_argument("--seconds", type=float, default=4, help="for the ramp of each peer, and for its measuring")
    parser.add_argument("--slow-seconds", type=float, default=90, help="when to stop a peer that makes no batch")
    parser.add_argument("--allowance", type=int, default=512, help="MiB beside the budget out of core, for runtimes")
    parser.add_argument("--dir", type=Path, default=driver.ROOT / "build/peers", help="folder on the device to measure")
    parser.add_argument("--keep", action="store_true", help="keep the graph, and use it if it is there")
    parser.add_argument(
        "--out", type=Path, default=driver.ROOT / "build/reports", help="for peers.txt, .json and .html"
    )
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/aether-ooc", help="for environments")
    parser.add_argument("--only", default="", help="only those whose section and name have this in them")
    return parser.parse_args()


def main() -> int:
    """Says in a line why it can't be done."""
    try:
        return driver.main(arguments())
    except data.SetupError as error:
        print(f"bench-peers: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench-peers: interrupted before anything was measured", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
