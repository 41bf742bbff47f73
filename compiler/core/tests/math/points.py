"""Writes points.txt: exact values of math functions at points of f64, by mpmath (`pip install mpmath`).

A line is a function, the bits of its arguments, the bits of the correctly rounded result, and how far the exact
result lies from that, in units in the last place.
"""

import random
import struct
from pathlib import Path

import mpmath as mp

mp.mp.prec = 1400
random.seed(10)


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def ulp(x):
    return mp.mpf(2) ** (max(mp.frexp(abs(x))[1], -1021) - 53)


def rounded(exact):
    """The nearest float, subnormals included, and what is lacking."""
    unit = ulp(exact)
    whole = mp.nint(exact / unit)
    if abs(whole * unit) >= mp.mpf(2) ** 1024:
        return None
    return float(whole * unit), float(exact / unit - whole)


def spread(low, high, count):
    """Numbers with exponents from low to high."""
    return [random.choice((-1, 1)) * mp.mpf(random.uniform(1, 2)) * mp.mpf(2) ** random.uniform(low, high) for _ in range(count)]


def line(low, high, count):
    return [mp.mpf(random.uniform(low, high)) for _ in range(count)]


def positive(points):
    return [abs(x) for x in points]


def near_turns(count):
    """Floats next to multiples of pi / 2."""
    out = []
    for _ in range(count):
        whole = mp.nint(mp.mpf(2) ** random.uniform(0, 200))
        out.append(whole * mp.pi / 2)
    return out


# Of all floats the ones nearest to a multiple of pi / 2, and to one of pi / 4.
HARD_ANGLES = [6381956970095103 * mp.mpf(2) ** 797, 5319372648326541 * mp.mpf(2) ** 404, mp.mpf(2) ** 1023 * (2 - mp.mpf(2) ** -52), mp.mpf(2) ** 20]
ANGLES = spread(-30, 20, 60) + spread(20, 1023, 80) + line(-10, 10, 40) + near_turns(60) + HARD_ANGLES
TABLE = {
    "Exp": (mp.exp, line(-745, 709, 60) + line(-2, 2, 60) + spread(-60, 0, 20)),
    "Exp2": (lambda x: mp.mpf(2) ** x, line(-1074, 1023, 60) + line(-2, 2, 60)),
    "Expm1": (mp.expm1, line(-40, 700, 40) + line(-2, 2, 60) + spread(-60, 0, 40)),
    "Log": (mp.log, positive(spread(-1074, 1023, 60)) + line(0.5, 2, 80)),
    "Log2": (lambda x: mp.log(x, 2), positive(spread(-1074, 1023, 60)) + line(0.5, 2, 80)),
    "Log10": (mp.log10, positive(spread(-1074, 1023, 60)) + line(0.5, 2, 80)),
    "Log1p": (mp.log1p, positive(spread(-60, 1023, 40)) + line(-1, 1, 80) + spread(-60, -1, 40)),
    "Sin": (mp.sin, ANGLES),
    "Cos": (mp.cos, ANGLES),
    "Tan": (mp.tan, ANGLES),
    "Asin": (mp.asin, line(-1, 1, 80) + spread(-60, -1, 40) + [1 - abs(x) for x in spread(-50, -2, 30)]),
    "Acos": (mp.acos, line(-1, 1, 80) + spread(-60, -1, 40) + [1 - abs(x) for x in spread(-50, -2, 30)]),
    "Atan": (mp.atan, line(-3, 3, 80) + spread(-60, 60, 60)),
    "Sinh": (mp.sinh, line(-709, 709, 40) + line(-3, 3, 80) + spread(-60, 0, 40) + line(709, 710.4, 5)),
    "Cosh": (mp.cosh, line(-709, 709, 40) + line(-3, 3, 80) + spread(-60, 0, 40) + line(709, 710.4, 5)),
    "Tanh": (mp.tanh, line(-22, 22, 40) + line(-3, 3, 80) + spread(-60, 0, 40)),
    "Asinh": (mp.asinh, spread(-60, 1000, 60) + line(-3, 3, 80)),
    "Acosh": (mp.acosh, positive(spread(0, 1000, 60)) + line(1, 3, 60) + [1 + abs(x) for x in spread(-50, -2, 30)]),
    "Atanh": (mp.atanh, line(-1, 1, 80) + spread(-60, -1, 40) + [1 - abs(x) for x in spread(-50, -2, 30)]),
    "Erf": (mp.erf, line(-6, 6, 120) + spread(-60, 0, 40)),
    "Sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), line(-740, 40, 60) + line(-3, 3, 60)),
    "Rsqrt": (lambda x: 1 / mp.sqrt(x), positive(spread(-1074, 1023, 60))),
}


def powers():
    points = [(abs(x), y) for x, y in zip(spread(-3, 3, 120), line(-300, 300, 120))]
    points += [(abs(x), y) for x, y in zip(spread(-1000, 1000, 60), line(-1, 1, 60))]
    points += [(1 + x, 600 / x * random.uniform(-1, 1)) for x in spread(-50, -3, 80)]
    points += [(x, mp.nint(y)) for x, y in zip(spread(-10, 10, 40), line(-60, 60, 40))]
    return points


def angles():
    return list(zip(spread(-10, 10, 100), spread(-10, 10, 100)))


def show(name, args, f):
    args = [float(x) for x in args]
    exact = f(*[mp.mpf(x) for x in args])
    if not isinstance(exact, mp.mpf) or exact == 0 or not mp.isfinite(exact):
        return []
    found = rounded(exact)
    if found is None:
        return []
    return [" ".join([name, *(f"{bits(x):016x}" for x in args), f"{bits(found[0]):016x}", f"{found[1]:.3f}"])]


def main():
    lines = []
    for name, (f, points) in TABLE.items():
        for x in points:
            lines += show(name, [x], f)
    for x, y in powers():
        lines += show("Pow", [x, y], mp.power)
    for y, x in angles():
        lines += show("Atan2", [y, x], mp.atan2)
    Path(__file__).with_name("points.txt").write_text("\n".join(lines) + "\n")


main()
