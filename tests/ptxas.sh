#!/usr/bin/env bash
# Prepares this machine for the tests of PTX: NVIDIA's assembler, which needs no GPU. It comes by package name from PyPI,
# 40 MB of which one program is kept; what is there already is left alone. Its licence lets nobody ship it, so nothing
# but tests uses it.
set -euo pipefail

folder=${TENFOLD_PTXAS_FOLDER:-$HOME/.cache/tenfold-ptxas}
if ! command -v ptxas >/dev/null && [ ! -x "$folder/ptxas" ]; then
    if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
        echo "ptxas: none for this machine" >&2
        exit 0
    fi
    mkdir -p "$folder"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work" 'nvidia-cuda-nvcc-cu12==12.9.86'
    python3 - "$work" "$folder/ptxas" <<'PY'
import glob, os, sys, zipfile
wheel = glob.glob(sys.argv[1] + "/*.whl")[0]
with zipfile.ZipFile(wheel) as archive:
    name = next(name for name in archive.namelist() if name.endswith("/bin/ptxas"))
    part = sys.argv[2] + ".part"
    with open(part, "wb") as out:
        out.write(archive.read(name))
os.chmod(part, 0o755)
os.replace(part, sys.argv[2])
PY
fi
ptxas=$(command -v ptxas || echo "$folder/ptxas")
echo "ptxas: $("$ptxas" --version | tail -n 1)"
