#!/bin/sh
# Builds the firmware and runs it in QEMU: `sh run.sh`. What is built lies in cargo's target folder.
set -eu
case $0 in */*) cd "${0%/*}" ;; esac
for tool in arm-none-eabi-gcc qemu-system-arm cargo; do
    command -v "$tool" >/dev/null && continue
    how='`apt-get install gcc-arm-none-eabi qemu-system-arm` installs both'
    [ "$tool" != cargo ] || how='rustup installs it'
    echo "cortex-m-c: expected $tool, found none; $how" >&2
    exit 2
done
build=${CARGO_TARGET_DIR:-../../target}/cortex-m-c
mkdir -p "$build"

# What a microphone would give, and the library with its header.
"${CARGO:-cargo}" run --quiet -p keyword -- --raw "$build/words.raw"
TENFOLD_TARGET=arm/mps2-an386 "${CARGO:-cargo}" run --quiet -p cargo-tenfold -- \
    tenfold lib --manifest-path ../keyword/Cargo.toml --output "$build" >/dev/null

arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -mthumb -std=c99 -Wall -Wextra -pedantic -Os \
    -ffreestanding -fno-tree-loop-distribute-patterns -nostdlib -I"$build" -Wa,-I"$build" main.c -Wl,--gc-sections -Wl,-z,noexecstack \
    -L"$build" -lkeyword -lgcc -T ../cortex-m/board.ld -o "$build/firmware.elf"
# It ends by itself in a second; a firmware that hangs is stopped.
exec timeout 60 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none -chardev stdio,id=console \
    -semihosting-config enable=on,target=native,chardev=console -kernel "$build/firmware.elf" </dev/null
