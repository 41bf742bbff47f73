#!/bin/sh
# Makes the page: `sh run.sh`, and `sh run.sh --check` draws on it in a browser without a window. What is built lies in
# cargo's target folder.
set -eu
case $0 in */*) cd "${0%/*}" ;; esac
case ${1:-} in
'' | --check) ;;
*)
    echo "wasm: expected nothing or --check, found \`$1\`" >&2
    exit 2
    ;;
esac
if ! command -v rustc >/dev/null; then
    echo "wasm: expected rustc and cargo, found none; rustup installs both" >&2
    exit 2
fi
linker=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
if ! [ -x "$linker" ]; then
    echo "wasm: expected rust-lld beside rustc, found none; a toolchain of rustup has it" >&2
    exit 2
fi
browser=
for name in chromium chromium-browser google-chrome; do
    browser=${browser:-$(command -v "$name" || true)}
done
if [ "${1:-}" = --check ] && [ -z "$browser" ]; then
    echo 'wasm: expected chromium, found none; `apt-get install chromium` installs it' >&2
    exit 2
fi
mkdir -p "${CARGO_TARGET_DIR:-../../target}/wasm"
build=$(cd "${CARGO_TARGET_DIR:-../../target}/wasm" && pwd)

# A library with the functions of `digits`, of which the module holds one.
TENFOLD_TARGET='llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128' "${CARGO:-cargo}" run --quiet -p cargo-tenfold -- \
    tenfold lib --manifest-path ../digits/Cargo.toml --output "$build" >/dev/null
"$linker" -flavor wasm --no-entry --gc-sections --strip-all --allow-undefined -z stack-size=16384 \
    --export=digits_cnn --export=__heap_base "$build/libdigits.a" -o "$build/digits.wasm"

said() { # a number that the header says
    sed -n "s/^#define DIGITS_CNN_$1 //p" "$build/digits.h"
}
bytes() {
    wc -c <"$1" | tr -d ' '
}
# The page holds the module, so that it opens from a file.
sed -e "s|MODULE|$(base64 <"$build/digits.wasm" | tr -d '\n')|" \
    -e "s|WORKSPACE|$(said WORKSPACE_BYTES)|" -e "s|WEIGHTS|$(said WEIGHT_BYTES)|" page.html >"$build/index.html"
echo "$build/index.html: $(bytes "$build/index.html") bytes, of which the module is $(bytes "$build/digits.wasm"):" \
    "$(said CODE_BYTES) of code and $(said WEIGHT_BYTES) of weights; a call takes $(said WORKSPACE_BYTES) of memory"
[ "${1:-}" = --check ] || exit 0

# The browser does what check.js says, and prints the page that is left.
{ cat "$build/index.html"; echo '<script>'; cat check.js; echo '</script>'; } >"$build/check.html"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
found=$("$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-component-update \
    --disable-background-networking --disable-sync --user-data-dir="$profile" --virtual-time-budget=5000 \
    --dump-dom "file://$build/check.html" 2>"$build/browser.log" | sed -n 's/.*<title>\(.*\)<\/title>.*/\1/p')
echo "drawn and read: $found"
if [ "$found" != '0 1 7' ]; then
    cat "$build/browser.log" >&2
    echo "wasm: expected 0 1 7 to be drawn and read, found \`$found\`; above is what $browser says" >&2
    exit 1
fi
