#!/usr/bin/env bash
# Prepares this machine for the firmware tests: simulators, C compilers, and a `core` for the target.
# Everything comes by package name; what is there already is left alone.
#
# The first of these that works:
#   1. rustup's prebuilt target
#   2. rustup's rust-src, from which the test builds core (-Zbuild-std=core)
#   3. Debian's rustc-web with rust-web-src, unpacked below $TENFOLD_THUMB
#      (default ~/.cache/tenfold/thumb); the test builds core with that compiler
set -euo pipefail
cd "$(dirname "$0")"

target=thumbv7em-none-eabihf
thumb=${TENFOLD_THUMB:-${XDG_CACHE_HOME:-$HOME/.cache}/tenfold/thumb}
sysroot=$(rustc --print sysroot)

install() { # Debian packages that are missing
    local missing=()
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

debian_toolchain() {
    [ -x "$thumb/rustc" ] && return
    install libllvm22 lld-22
    apt-get update -qq
    local version library packages
    version=$(apt-cache policy rustc-web | awk '/Candidate/ { print $2 }')
    library=$(apt-cache depends "libstd-rust-web-dev=$version" |
        awk '/Depends: libstd-rust-web-/ { print $2 }')
    packages=$(mktemp -d)
    (cd "$packages" && apt-get download -qq \
        "rustc-web=$version" "libstd-rust-web-dev=$version" "$library=$version" \
        "rust-web-src=$version")
    rm -rf "$thumb"
    mkdir -p "$thumb"
    for package in "$packages"/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$thumb" --exclude './usr/share/*'
    done
    rm -r "$packages"
    # The bare-metal targets name the linker `rust-lld`, which Debian calls lld-22.
    local tools=$thumb/usr/lib/rustlib/$(rustc --print host-tuple)/bin
    mkdir -p "$tools"
    ln -sf /usr/bin/lld-22 "$tools/rust-lld"
    # Its driver library lies where the loader does not look by itself.
    local libraries=$thumb/usr/lib/$(gcc -print-multiarch)
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec %s "$@"\n' \
        "$libraries" "$thumb/usr/bin/rustc" >"$thumb/rustc"
    chmod +x "$thumb/rustc"
}

command -v qemu-system-arm >/dev/null || install qemu-system-arm
command -v arm-none-eabi-gcc >/dev/null || install gcc-arm-none-eabi
command -v qemu-system-riscv32 >/dev/null || install qemu-system-misc
command -v qemu-riscv64 >/dev/null || install qemu-user
command -v riscv64-unknown-elf-gcc >/dev/null || install gcc-riscv64-unknown-elf
# C libraries, which a test links against.
install picolibc-arm-none-eabi picolibc-riscv64-unknown-elf libnewlib-arm-none-eabi

# For these a program is linked where rustup has a `core`.
others=(thumbv6m-none-eabi thumbv7m-none-eabi thumbv8m.main-none-eabihf riscv32imac-unknown-none-elf
    wasm32-unknown-unknown)
timeout 60 rustup target add "${others[@]}" >/dev/null 2>&1 || echo "firmware: rustup adds no other targets"

if ls "$sysroot/lib/rustlib/$target/lib"/libcore-*.rlib >/dev/null 2>&1; then
    echo "firmware: rustup has the target"
elif [ -d "$sysroot/lib/rustlib/src/rust/library/core" ]; then
    echo "firmware: rustup has rust-src"
elif timeout 60 rustup target add "$target" >/dev/null 2>&1; then
    echo "firmware: rustup added the target"
elif timeout 60 rustup component add rust-src >/dev/null 2>&1; then
    echo "firmware: rustup added rust-src"
else
    debian_toolchain
    echo "firmware: Debian's $("$thumb/rustc" --version)"
fi
