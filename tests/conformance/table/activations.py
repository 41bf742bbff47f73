"""Elementwise compositions: writes the values of activations.txt below the definitions that stand there.

A definition is a line written by hand: a call, and what it is of a number of more digits than any dtype has.

    mish(x) := x * tanh(log(1 + exp(x))) ~ 3 operand

It is a Python expression over the functions of mpmath, `x` and the attributes of the call, and holds at 0, at the infinities
and of NaN too. `writer.py` says what stands behind `~`: the roundings that the composition has on the way; of a scalar 0
it must be right without.
"""

import mpmath as mp
import numpy as np

from elements import POINTS, WIDE
from writer import block

KNOWN = {name: getattr(mp, name) for name in dir(mp) if not name.startswith("_")} | {"abs": abs, "max": max, "min": min}


def attributes(call):
    """Those of a call that are numbers."""
    given = call[call.index("(") + 1 : -1].split(", ")[1:]
    named = (text.split(" = ") for text in given)
    return {name: mp.mpf(value) for name, value in named if not value.startswith('"')}


def values(definition):
    """The lines below a definition."""
    call, meaning = definition.split(" := ")
    meaning, _, off = meaning.partition(" ~ ")
    names = KNOWN | attributes(call)
    at = lambda x: float(eval(meaning, {}, names | {"x": mp.mpf(x)}))
    lines = []
    for on, points in (("floats", POINTS), ("bf16 f32 f64", WIDE)):
        lines += block(call, on, [at(x) for x in points], off, x=points)
    lines += block(call, "floats", np.zeros((2, 0, 3)), x=np.zeros((2, 0, 3)))
    return lines + block(call, "floats", at(0.0), x=np.array(0.0))


def rewrite(path):
    definitions = [line for line in path.read_text().splitlines() if " := " in line]
    path.write_text("\n".join(line for each in definitions for line in [each, "", *values(each)]))
