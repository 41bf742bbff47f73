#!/bin/sh
# All that a machine with a GPU of NVIDIA's can say: whether drivers take each kernel, whether functions give there what the
# interpreter admits, and how fast kernels run beside copies of memory. Needs a driver, rustup's toolchain and nothing else;
# TENFOLD_ALL=1 takes the whole suite of operators. Ends with status 2 where there is no driver.
set -eu
cd "$(dirname "$0")/.."

cargo test -p tenfold-tests --test devices -- the_machines_own_driver_is_used_or_missed
cargo test -p tenfold-tests --test gpu -- --nocapture
cargo test -p tenfold-tests --test e2e -- devices::
cargo run --release --quiet -p vision -- --device cuda --check
cargo bench --quiet -p tenfold-tests --bench gpu
