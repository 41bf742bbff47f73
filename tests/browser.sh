#!/usr/bin/env bash
# Prepares this machine for the tests of pages: a browser. What is there already is left alone.
set -euo pipefail

if ! command -v chromium >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
echo "browser: $(chromium --version 2>/dev/null)"
