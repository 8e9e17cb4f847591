#!/bin/sh
# Installs the Debian packages that dsflash is built with, where they are missing.
set -eu

packages="cmake ninja-build git python3 python3-numpy nlohmann-json3-dev libicu-dev libcli11-dev libgtest-dev
  clang-22 libclang-rt-22-dev lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools"

missing=
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "Installing:$missing"
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update -qq
if ! apt-cache show libmlir-22-dev >/dev/null 2>&1; then
  echo "install-packages: error: apt: no package libmlir-22-dev; add a package source with LLVM 22 and run again" >&2
  exit 1
fi
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends $missing
