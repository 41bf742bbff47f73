#!/usr/bin/env bash
# usage: tests/fuzz/run.sh TARGET [libFuzzer's arguments]
# Needs a nightly rustc and a C++ compiler. What it finds lies in tests/fuzz/target/found/TARGET; make it small with
# -minimize_crash=1 and put it into tests/fuzz/found/TARGET.
set -euo pipefail
cd "$(dirname "$0")"
target=$1
shift
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags="$flags -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
features=readers
case $target in syntax | relax | tir | arith) features= ;; esac
RUSTFLAGS="$flags" cargo +nightly build --quiet --release --target "$host" --features "$features"
mkdir -p "target/queue/$target" "target/found/$target"
exec env TENFOLD_FUZZ="$target" "target/$host/release/fuzz" \
    -rss_limit_mb=2048 -malloc_limit_mb=256 -timeout=20 -max_len=4096 -artifact_prefix="target/found/$target/" \
    "$@" "target/queue/$target" "corpus/$target"
