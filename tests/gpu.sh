#!/bin/sh
# All that a machine with a GPU of NVIDIA's can say: whether drivers take each kernel, whether functions give there what the
# interpreter admits, and how fast kernels run beside copies of memory, and beside cuBLAS where python3 has torch. Needs a
# driver, rustup's toolchain and nothing else; TENFOLD_ALL=1 takes the whole suite of operators. Where there is no driver it
# says so at once, and ends with status 2.
set -eu
cd "$(dirname "$0")/.."

cargo run --release --quiet -p vision -- --device cuda --check
cargo test -p tenfold-tests --test devices -- the_machines_own_driver_is_used_or_missed
cargo test -p tenfold-tests --test gpu -- --nocapture
cargo test -p tenfold-tests --test e2e -- devices::
cargo bench --quiet -p tenfold-tests --bench gpu
if python3 -c 'import torch' 2>/dev/null; then
    sh tests/cublas.sh
else
    echo 'left out: cuBLAS beside it, since python3 has no torch'
fi
