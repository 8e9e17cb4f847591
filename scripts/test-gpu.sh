#!/bin/sh
# The GPU of this machine: all goldens, what kernels touch, the speed of
# models/nano. Says so where there is no GPU.
#   scripts/test-gpu.sh BUILD
set -eu
bin=$1/bin
work=$1/test-gpu
mkdir -p "$work"
targets="--target=nvptx:sm_80 --target=nvptx:sm_90a"
echo '[0]' >"$work/ids.json"

$bin/dsflash-compile models/nano $targets -o "$work/nano.dsflash" --report="$work/nano.json"
if ! "$bin/dsflash-run" "$work/nano.dsflash" --tokens "$work/ids.json" -n 1 --device=cuda >"$work/out" 2>&1; then
  if grep -qE 'no CUDA driver|CUDA_ERROR_NO_DEVICE' "$work/out"; then
    echo "test-gpu: no GPU here: $(cat "$work/out")"
    exit 0
  fi
  cat "$work/out"
  exit 1
fi

failed=0
scripts/check-goldens.sh "$1" cuda || failed=1
"$bin/dsflash-bench" kernels "$work/nano.dsflash" --device=simt:counters --report="$work/nano.json"
"$bin/dsflash-bench" model "$work/nano.dsflash" --device=cuda --context=0
exit $failed
