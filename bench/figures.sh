#!/usr/bin/env bash
# The figures of docs/BENCHMARKING.md in one report: makes the graph, where it is not there, and runs the job files.
# `make bench-figures DIR=/path/on/nvme` calls it. From the environment: SCALE, ROWS (of the feature file, 512 bytes
# each), JOBS (names of files in bench/jobs), REPEAT (in place of the files' own).
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${DIR:?a folder on the device to measure; what is made there stays}
scale=${SCALE:-24}
jobs=${JOBS:-device cold sample features serve cache build}
export ROWS=${ROWS:-4000000}
export EDGES=$dir/rmat$scale.npy GRAPH=$dir/rmat$scale.bin FEATURES=$dir/features$ROWS.npy
mkdir -p "$dir" build/reports

[ -e "$EDGES" ] || bin/aether-ooc gen rmat --scale "$scale" --edge-factor 16 --seed 1 --dtype int32 --out "$EDGES"
[ -e "$GRAPH" ] || bin/aether-ooc build "$EDGES" --out "$GRAPH"

files=()
for job in $jobs; do files+=("bench/jobs/$job.job"); done
reports=()
for form in txt json html; do reports+=(--report "build/reports/figures.$form"); done
status=0
bin/aether-ooc bench run "${files[@]}" ${REPEAT:+--repeat "$REPEAT"} "${reports[@]}" || status=$?
echo "written: build/reports/figures.txt, figures.json, figures.html" >&2
exit $status
