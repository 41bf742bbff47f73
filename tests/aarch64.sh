#!/usr/bin/env bash
# Prepares this machine for the tests that run code for AArch64: a compiler and linker of C with its libraries, the
# simulator of the processor, and Rust's standard library. Everything comes by package name; what is there already is
# left alone.
set -euo pipefail

missing=()
for package in gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
target=aarch64-unknown-linux-gnu
if [ ! -d "$(rustc --print target-libdir --target "$target")" ]; then
    timeout 120 rustup target add "$target" >/dev/null 2>&1 || echo "aarch64: rustup cannot add $target" >&2
fi
echo "aarch64: $(aarch64-linux-gnu-gcc --version | head -n 1), $(qemu-aarch64 --version | head -n 1)"
