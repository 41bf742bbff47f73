#!/bin/sh
# A C compiler that does not optimise, for what would take up to seven times as long to optimise as everything else that is done
# with a case. TCC, where there is one, takes a hundredth of the time that GCC takes for code as it is written.
set -e
here=$(dirname "$0")
source= object= last=
for argument; do
    case $last in -o) object=$argument ;; -c) source=$argument ;; esac
    last=$argument
done
if [ -z "$source" ] || [ -z "$object" ] || ! command -v tcc >/dev/null; then
    exec "$here/limited-cc.sh" "$@" -O0
fi
tcc -w -c -include "$here/quick-cc.h" "$source" -o "$object.alone"
# What it calls for conversions that the processor has no instruction for.
library=$(tcc -print-search-dirs | sed -n '/^libtcc1:/ { n; s/^ *//p; }')
ld -r -o "$object" "$object.alone" "$library"
rm "$object.alone"
