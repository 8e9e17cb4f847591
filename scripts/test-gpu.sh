#!/bin/sh
# The GPU of this machine: all goldens, what kernels touch, the speed of
# models/nano, into docs/Performance.md. Says so where there is no GPU.
#   scripts/test-gpu.sh BUILD [PAGE]
set -eu
root=$(dirname "$0")/..
bin=$1/bin
page=${2:-$root/docs/Performance.md}
work=$1/test-gpu
mkdir -p "$work"
echo '[0]' >"$work/ids.json"

"$bin/dsflash-compile" "$root/test/golden/window" --target=nvptx:sm_80 --ptxas=none -o "$work/window.dsflash"
if ! "$bin/dsflash-run" "$work/window.dsflash" --tokens "$work/ids.json" -n 1 --device=cuda >"$work/out" 2>&1; then
  if grep -qE 'no CUDA driver|CUDA_ERROR_NO_DEVICE' "$work/out"; then
    echo "test-gpu: no GPU here: $(cat "$work/out")"
    exit 0
  fi
  cat "$work/out"
  exit 1
fi

"$bin/dsflash-compile" "$root/models/nano" --target=nvptx:sm_80 --target=nvptx:sm_90a \
  -o "$work/nano.dsflash" --report="$work/nano.json"
failed=0
(cd "$root" && scripts/check-goldens.sh "$1" cuda) | tee "$work/goldens" || failed=1
grep -q FAIL "$work/goldens" && failed=1
{
  date -u +%F
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
  echo
  cat "$work/goldens"
  echo
  "$bin/dsflash-bench" model "$work/nano.dsflash" --device=cuda --context=0
  echo
  "$bin/dsflash-bench" kernels "$work/nano.dsflash" --device=simt:counters --report="$work/nano.json"
} >"$work/measured" || failed=1
cat "$work/measured"
/usr/bin/python3 "$root/scripts/write_section.py" "$page" "on a GPU" <"$work/measured"
exit $failed
