"""Writes cases.txt, calls of every operator with what NumPy and mpmath say of them, and the values of activations.txt, for
`tests/conformance/table/mod.rs`.

    pip install numpy mpmath
    python3 tests/conformance/table/reference.py

`writer.py` says what stands in the files, `activations.py` how an elementwise composition is defined.
"""

from pathlib import Path

import activations
import arrays
import elements
import images
import moves
import networks
import signals
from writer import TEXT

for part in (elements, arrays, moves, signals, images, networks):
    part.write()
Path(__file__).with_name("cases.txt").write_text("\n".join(TEXT))
activations.rewrite(Path(__file__).with_name("activations.txt"))
