#!/bin/sh
# Runs a program in QEMU's simulator of a board with a Cortex-M4: `cargo run` calls it with the program's name.
if ! command -v qemu-system-arm >/dev/null; then
    echo 'cortex-m: expected qemu-system-arm, found none; `apt-get install qemu-system-arm` installs it' >&2
    exit 2
fi
exec qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none -chardev stdio,id=console \
    -semihosting-config enable=on,target=native,chardev=console -kernel "$1"
