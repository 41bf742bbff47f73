"""How a case of cases.txt and activations.txt is written.

    take(x, i, axis = 1) : all
    x [2, 3] 1 2 3 4 5 6
    i i64 [2] 0 -1
    = [2, 2] 1 3 4 6

A call, and the dtypes that it is made with; its operands; its results. What names no dtype has the one the case is made
with: numbers are converted to it, integers modulo its bits. Behind `~ N` a float may differ from a result by so many
units in the last place of the largest number of the result, behind `~ N each` of the number itself, behind `~ N operand`
of the larger of the number and the element of the first operand: roundings that the operator's definition has on the way
and the exact number has not. What the interpreter knows itself to be off (`tenfold_ir::eval`) comes on top.
"""

import math

import numpy as np

INTS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}

TEXT = []


def number(x):
    if isinstance(x, (bool, np.bool_)):
        return str(int(x))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    x = float(x)
    if x.is_integer() and abs(x) < 2**53 and not (x == 0 and np.signbit(x)):
        return str(int(x))
    return repr(x)


class Typed:
    """Numbers with a dtype of their own."""

    def __init__(self, dtype, value):
        self.dtype, self.value = dtype, value


def tensor(value):
    dtype = ""
    if isinstance(value, Typed):
        dtype, value = value.dtype + " ", value.value
    whole = isinstance(value, list) and all(isinstance(x, int) for x in value)
    value = np.asarray(value, dtype=object if whole else None)
    shape = "[" + ", ".join(str(n) for n in value.shape) + "]"
    return dtype + shape + "".join(" " + number(x) for x in value.reshape(-1).tolist())


def block(call, on, results, off="", **operands):
    """The lines of one; several results are a list of arrays."""
    if not (isinstance(results, list) and any(isinstance(r, (Typed, np.ndarray)) for r in results)):
        results = [results]
    tail = f" ~ {off}" if off else ""
    given = [f"{name} {tensor(value)}" for name, value in operands.items()]
    return [f"{call} : {on}", *given, *(f"= {tensor(value)}{tail}" for value in results), ""]


def case(call, on, results, off="", **operands):
    """Writes one into cases.txt."""
    TEXT.extend(block(call, on, results, off, **operands))


def wrap(x, dtype):
    """An integer modulo the bits of a dtype."""
    x = int(x) & ((1 << BITS[dtype]) - 1)
    return x - (1 << BITS[dtype]) if dtype[0] == "i" and x >> (BITS[dtype] - 1) else x


def rounded(x, dtype):
    """A finite number with as many digits as a float dtype has."""
    digits = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[dtype]
    part, exponent = math.frexp(x)
    return math.ldexp(float(round(math.ldexp(part, digits))), exponent - digits)


def some(*shape, step=7, modulus=11):
    """Small numbers that every dtype holds, 0 among them."""
    count = int(np.prod(shape))
    return (np.arange(count) * step % modulus).reshape(shape)


def reals(*shape, step=37, modulus=64):
    """Numbers from -2 to 2 that every float dtype holds."""
    count = int(np.prod(shape))
    return ((np.arange(count) * step % modulus) / 16 - 2).reshape(shape)
