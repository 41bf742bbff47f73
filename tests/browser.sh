#!/usr/bin/env bash
# Prepares this machine for the tests of pages and of WebAssembly: a browser, and Node. What is there already is left
# alone.
set -euo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v node >/dev/null || missing+=(nodejs)
if [ ${#missing[@]} -gt 0 ]; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
echo "browser: $(chromium --version 2>/dev/null), Node $(node --version)"
