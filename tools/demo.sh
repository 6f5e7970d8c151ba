#!/usr/bin/env bash
# The main job on real data, then sampling out of core. `make demo` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
export PYTHONWARNINGS=ignore::FutureWarning:torch.jit  # PyG still uses torch.jit.script
data=${DEMO_DATA:-demo-data}
mkdir -p "$data"

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

say "1. Train GraphSAGE through Ray on scikit-learn's digits (a k-nearest-neighbour graph)"
python python/examples/train_digits.py --dir "$data/digits"

say "2. A graph larger than its budget: RMAT, 2^21 nodes, 33.5 million edges"
graph=$data/rmat21.bin
if [ ! -e "$graph" ]; then
	aether-ooc gen rmat --scale 21 --edge-factor 16 --seed 1 --out "$data/rmat21.npy"
	aether-ooc build "$data/rmat21.npy" --out "$graph" --memory 4GiB
	rm "$data/rmat21.npy"
fi
aether-ooc inspect "$graph"
adjacency=$(aether-ooc inspect "$graph" --json | python -c 'import json, sys; print(json.load(sys.stdin)["adjacency"]["bytes"])')
budget=$((adjacency / 4 + (32 << 20)))
say "   sampled with a budget of a quarter of its adjacency section plus 32 MiB ($((budget >> 20)) MiB)"
aether-ooc bench sample "$graph" --fanouts 25,10 --batch-size 1024 --batches 200 --ramp 32 --memory "$budget" --edge-ids=false

say "Done. The graphs are in $data/; 'aether-ooc --help' shows what else there is."
