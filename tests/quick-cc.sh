#!/bin/sh
# The C compiler without its optimiser, which takes up to seven times as long as everything else that is done with a case.
exec "$(dirname "$0")/limited-cc.sh" "$@" -O0
