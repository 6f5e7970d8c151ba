"""The figures of docs/BENCHMARKING.md, as ratios within one run.

Builds an RMAT graph once (scale 24, edge factor 16: 268 million edges), then measures fio, `bench device` and `bench sample` in turn,
several times over, and prints medians and the ratios that the documentation promises. fio must be installed; everything else is ours.

    python3 bench/figures.py --dir /path/on/nvme
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "bin" / "aether-ooc"


def ours(*args: str) -> Any:
    """The JSON report of one of our commands."""
    out = subprocess.run([BINARY, *args, "--json"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def fio_iops(path: Path, depth: int, block: str, seconds: int) -> float:
    """IOPS of fio reading the file at random past the page cache."""
    command = ["fio", "--name=r", f"--filename={path}", "--readonly", "--rw=randread", f"--bs={block}", f"--iodepth={depth}"]
    command += ["--ioengine=io_uring", "--direct=1", "--time_based", f"--runtime={seconds}", "--ramp_time=1", "--output-format=json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return float(report["jobs"][0]["read"]["iops"])


def device_iops(path: Path, depth: int, block: str, seconds: int) -> float:
    """IOPS of `bench device` for the same question."""
    args = ["bench", "device", str(path), "--depth", str(depth), "--block-size", block, "--runtime", f"{seconds}s", "--ramp", "1s"]
    return float(ours(*args)["iops"])


def graph(folder: Path, scale: int) -> Path:
    """Builds the graph, once."""
    path = folder / f"rmat{scale}.bin"
    if not path.exists():
        edges = folder / "edges.npy"
        ours("gen", "rmat", "--scale", str(scale), "--edge-factor", "16", "--out", str(edges))
        ours("build", str(edges), "--out", str(path))
        edges.unlink()
    return path


def sample(path: Path, *flags: str) -> Any:
    """One run of `bench sample` without edge ids."""
    return ours("bench", "sample", str(path), "--edge-ids=false", *flags)


def device_table(path: Path, repeat: int, seconds: int) -> None:
    """`bench device` against fio, interleaved."""
    print("\nbench device ÷ fio, medians of", repeat, "interleaved runs")
    for block, depths in (("4k", (1, 32, 128, 256)), ("64k", (1, 32))):
        for depth in depths:
            fio, dev = [], []
            for _ in range(repeat):
                fio.append(fio_iops(path, depth, block, seconds))
                dev.append(device_iops(path, depth, block.replace("k", "KiB"), seconds))
            a, b = statistics.median(dev), statistics.median(fio)
            print(f"  {block:>4} depth {depth:>3}: ours {a:9,.0f}  fio {b:9,.0f}  ratio {a / b:.3f}", flush=True)


def cold_table(path: Path, repeat: int, seconds: int) -> None:
    """Cold sampling against fio, interleaved."""
    print("\ncold sampling [25,10], unmerged 4 KiB reads, no edge ids, budget 2 GiB")
    ratios, last = [], {}
    for _ in range(repeat):
        fio = fio_iops(path, 128, "4k", seconds)
        last = sample(path, "--ramp", "0", "--batches", "16", "--merge", "1", "--memory", "2GiB")
        ratios.append(last["read_iops"] / fio)
        print(f"  {last['read_iops']:9,.0f} IOPS of fio's {fio:9,.0f}: {ratios[-1]:.3f}", flush=True)
    print(f"  median ratio {statistics.median(ratios):.3f}, depth {last['achieved_depth']:.1f}, reads per syscall {last['reads_per_syscall']:.1f}")


def rate_table(path: Path, repeat: int) -> None:
    """Sampled edges per second, warm and out of core."""
    adjacency = ours("inspect", str(path))["adjacency"]["bytes"]
    rows = [
        ("preloaded [25,10]", ["--preload", "--memory", "4GiB", "--fanouts", "25,10", "--ramp", "32"]),
        ("preloaded [20,15,10]", ["--preload", "--memory", "6GiB", "--fanouts", "20,15,10", "--ramp", "8", "--batches", "24"]),
        ("budget 25 % [25,10]", ["--memory", str(adjacency // 4), "--fanouts", "25,10", "--ramp", "64"]),
        ("budget 25 % [20,15,10]", ["--memory", str(adjacency // 4), "--fanouts", "20,15,10", "--ramp", "16", "--batches", "24"]),
    ]
    print(f"\nsampled edges per second (adjacency {adjacency / 1e6:,.0f} MB)")
    for name, flags in rows:
        runs = [sample(path, *flags) for _ in range(repeat)]
        rate = statistics.median(r["edges_per_second"] for r in runs)
        r = runs[-1]
        print(
            f"  {name:24}{rate / 1e6:6.2f} M/s  reads/edge {r['reads_per_edge']:.4f}  blocks/edge {r['blocks_per_edge']:.4f}  "
            f"hit {r['hit_ratio']:.3f}  peak RSS {r['peak_rss_bytes'] >> 20} MiB of {r['budget_bytes'] >> 20} MiB",
            flush=True,
        )


def main() -> int:
    """Runs the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, required=True, help="folder on the device to measure; the graph stays there")
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4, help="of each run of fio and bench device")
    parser.add_argument("--only", choices=("device", "cold", "rate"), help="one table")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    path = graph(args.dir, args.scale)
    print(f"host: {os.uname().sysname} {os.uname().release}, {os.cpu_count()} CPUs; graph {path}, {path.stat().st_size / 1e6:,.0f} MB")
    if args.only in (None, "device"):
        device_table(path, args.repeat, args.seconds)
    if args.only in (None, "cold"):
        cold_table(path, args.repeat, args.seconds)
    if args.only in (None, "rate"):
        rate_table(path, args.repeat)
    return 0


if __name__ == "__main__":
    sys.exit(main())
