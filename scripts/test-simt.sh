#!/bin/sh
# The kernels of GPUs on the simt device: every golden in every order and from
# the PTX of every architecture, the bit contracts, phases, drafts and sessions,
# the kernel tests as PTX. Compiled kernels are kept between runs (docs/Simt.md).
#   scripts/test-simt.sh BUILD
set -eu
XDG_CACHE_HOME="$(cd "$1" && pwd)/cache-simt"
export XDG_CACHE_HOME
failed=0
for options in checks checks,reverse checks,random1 checks,sm_90a checks,sm_100a checks,sm_120a; do
  scripts/check-goldens.sh "$1" "simt:$options" || failed=1
done
for golden in csa2 candidates engram wide full; do
  echo "contracts of $golden"
  /usr/bin/python3 test/Integration/check_contracts.py "$1/bin" "$1/contracts-simt" \
    "test/golden/$golden" reference --short --device=simt || failed=1
done
ctest --test-dir "$1" --output-on-failure -C Long -L simt || failed=1
for chip in sm_80 sm_90a sm_120a; do
  for tests in DSFlashKernelsTests DSFlashConversionTests DSFlashDeviceKernelTests; do
    echo "$tests from the PTX of $chip"
    DSFLASH_TEST_PTX=nvptx:$chip "$1/unittests/$tests" --gtest_brief=1 || failed=1
  done
done
exit $failed
