#!/usr/bin/env bash
# Prepares this machine for tests of much C that need not be fast: TCC, which compiles it in a hundredth of the time and is a
# second opinion on it. It comes by package name; what is there already is left alone.
set -euo pipefail

if ! command -v tcc >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends tcc >/dev/null
fi
tcc -v
