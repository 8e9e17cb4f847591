#!/bin/sh
# All goldens on a device; fails if one does not match.
#   scripts/check-goldens.sh BUILD DEVICE
set -eu
work=$1/goldens-$2
mkdir -p "$work"
failed=0
for golden in window csa2 candidates engram wide full; do
  for mode in ideal reference; do
    if /usr/bin/python3 test/Integration/check_golden.py "$1/bin" "$work/$golden-$mode" \
      "test/golden/$golden" "$mode" "$2" >"$work/out" 2>&1; then
      echo "ok    $golden $mode on $2"
    else
      echo "FAIL  $golden $mode on $2"
      grep -v '^ok' "$work/out" || true
      failed=1
    fi
  done
done
exit $failed
