#!/usr/bin/env bash
# What did the working tree change since REF? Builds both, lets the runs of a job file take turns, and compares them.
# `make bench-compare REF=main` calls it. From the environment: JOB (a job file), RUNS, GRAPH (else one is made).
set -euo pipefail
cd "$(dirname "$0")/.."
ref=${1:?usage: bench/compare.sh REF}
runs=${RUNS:-6}
job=${JOB:-bench/jobs/compare.job}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bench-compare.XXXXXX")
cleanup() {
	git worktree remove --force "$tmp/tree" 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT

git worktree add --quiet --detach "$tmp/tree" "$ref"
(cd "$tmp/tree" && go build -o "$tmp/old" ./cmd/aether-ooc)
go build -o "$tmp/new" ./cmd/aether-ooc
if [ -z "${GRAPH:-}" ]; then
	GRAPH=$tmp/graph.bin
	"$tmp/new" gen rmat --scale 18 --edge-factor 16 --out "$tmp/edges.npy" >&2
	"$tmp/new" build "$tmp/edges.npy" --out "$GRAPH" >&2
fi
export GRAPH

old=() new=()
for i in $(seq "$runs"); do
	"$tmp/old" bench run "$job" --json >"$tmp/old$i.json"
	"$tmp/new" bench run "$job" --json >"$tmp/new$i.json"
	old+=("$tmp/old$i.json") new+=("$tmp/new$i.json")
	echo "run $i of $runs done" >&2
done
join() { local IFS=,; echo "$*"; }
echo "old is $(git rev-parse --short "$ref"), new is the working tree; each $runs runs of $job"
"$tmp/new" bench compare "$(join "${old[@]}")" "$(join "${new[@]}")"
