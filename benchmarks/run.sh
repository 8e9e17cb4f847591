#!/bin/sh
# Measures this build and prints the tables of docs/Performance.md.
#
#   benchmarks/run.sh [WORK_FOLDER [TOOLS_FOLDER]]
#
# The checkpoint of random weights (4.9 GB) is made once and kept in
# WORK_FOLDER/checkpoint. Nothing else should run on the machine.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$root/build/benchmarks}
bin=${2:-$root/build/bin}
mkdir -p "$work"

if [ ! -f "$work/checkpoint/config.json" ]; then
  "$bin/dsflash-bench" --make-checkpoint "$work/checkpoint" \
    --config "$root/models/mid/config.json"
fi
"$bin/dsflash-compile" "$work/checkpoint" -o "$work/mid.dsflash" \
  --report="$work/report.json"
"$bin/dsflash-compile" "$root/models/nano" -o "$work/nano.dsflash"

echo "load average before: $(cut -d' ' -f1-3 /proc/loadavg)"
echo
echo "== models/mid"
"$bin/dsflash-bench" model "$work/mid.dsflash" --context 0,1024 \
  --sequences 1,8 --json "$work/model.json"
echo
echo "== models/mid, prompts in phases"
"$bin/dsflash-bench" model "$work/mid.dsflash" --prompt-tokens 8192 \
  --prefill full,exact,bounded --generate 8 --json "$work/prefill.json"
echo
echo "== models/mid, up to a million tokens"
"$bin/dsflash-bench" model "$work/mid.dsflash" --pretend \
  --context 4096,65536,1048576 --report "$work/report.json" --generate 8 \
  --json "$work/contexts.json"
echo
echo "== models/mid, kernel by kernel"
"$bin/dsflash-bench" kernels "$work/mid.dsflash" --report "$work/report.json" \
  --json "$work/kernels.json"
echo
echo "== models/nano"
"$bin/dsflash-bench" model "$work/nano.dsflash" --json "$work/nano.json"
echo
echo "== models/nano, bounded prefill beside exact"
"$root/benchmarks/bounded_prefill.py" "$work" "$bin"
echo
echo "== tokenizer"
"$root/benchmarks/tokenizer_peer.py" "$work" "$(dirname "$bin")"
