#!/bin/sh
# The C compiler, with 4 GB and two minutes: more than any batch of cases takes, and less than what stops the machine.
ulimit -S -v 4000000
ulimit -S -t 120
exec ${CC:-cc} "$@"
