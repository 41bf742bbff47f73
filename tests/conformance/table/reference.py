"""Writes cases.txt: calls of every operator with what NumPy and mpmath say of them, for `tests/conformance/table.rs`.

    pip install numpy mpmath
    python3 tests/conformance/table/reference.py

`writer.py` says what stands in the file.
"""

from pathlib import Path

import arrays
import elements
import moves
import signals
from writer import TEXT

for part in (elements, arrays, moves, signals):
    part.write()
Path(__file__).with_name("cases.txt").write_text("\n".join(TEXT))
