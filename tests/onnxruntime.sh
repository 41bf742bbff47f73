#!/usr/bin/env bash
# Prepares this machine for the test of quantised models: a Python with ONNX Runtime, whose quantiser makes them. It comes
# by package names from PyPI, 53 MB; what is there already is left alone. Prints the Python, for `TENFOLD_PYTHON`.
set -euo pipefail

folder=${TENFOLD_ONNXRUNTIME_FOLDER:-$HOME/.cache/tenfold-onnxruntime}
needs='import numpy, onnx, onnxruntime.quantization'
for python in "${TENFOLD_PYTHON:-python3}" "$folder/bin/python"; do
    if "$python" -c "$needs" 2>/dev/null; then
        echo "$python"
        exit 0
    fi
done
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    'onnx==1.23.2' 'onnxruntime==1.32.0' >&2
echo "$folder/bin/python"
