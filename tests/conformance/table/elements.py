"""Elementwise operators: of floats exact values by mpmath, of integers by Python's own."""

import math
import struct

import mpmath as mp
import numpy as np

from writer import BITS, FLOATS, INTS, Typed, case, rounded, wrap

mp.mp.prec = 500
INF, NAN = math.inf, math.nan

# All float dtypes hold these, and all but f16 those.
POINTS = [0.0, -0.0, 0.25, 0.5, -0.5, 0.75, -0.75, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.5, 0.109375, -0.109375,
          0.9921875, -0.9921875, 2.0**-14, -(2.0**-10), 7.25, -7.25, 10.0, -10.0, 88.0, -88.0, 255.0, 1024.0, -1024.0, 60416.0,
          INF, -INF, NAN]
WIDE = [2.0**-130, -(2.0**-100), 1.5 * 2.0**100, -1.5 * 2.0**100, 2.0**64, 2.0**127]


def real(f):
    """A function of finite numbers by mpmath, of others and of zeros by its limits, which NumPy knows."""

    def at(x, special):
        if math.isfinite(x) and x != 0.0:
            try:
                y = f(mp.mpf(x))
            except (ValueError, ZeroDivisionError):
                return special(x)
            return NAN if isinstance(y, mp.mpc) and y.imag != 0 else float(y.real if isinstance(y, mp.mpc) else y)
        return special(x)

    return at


def limits(f):
    def at(x):
        with np.errstate(all="ignore"):
            return float(f(np.float64(x)))

    return at


def erf_limits(x):
    return x if x == 0.0 or math.isnan(x) else math.copysign(1.0, x)


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


# Name, the function, what it is at 0, at the infinities and of NaN. What is composed of others stands in activations.txt.
EACH = [
    ("abs", mp.fabs, limits(np.abs)),
    ("sign", mp.sign, limits(lambda x: x if x == 0 else np.sign(x))),
    ("floor", mp.floor, limits(np.floor)),
    ("ceil", mp.ceil, limits(np.ceil)),
    ("round", mp.nint, limits(np.round)),
    ("trunc", lambda x: mp.sign(x) * mp.floor(abs(x)), limits(np.trunc)),
    ("sqrt", mp.sqrt, limits(np.sqrt)),
    ("rsqrt", lambda x: 1 / mp.sqrt(x), limits(lambda x: 1 / np.sqrt(x))),
    ("reciprocal", lambda x: 1 / x, limits(lambda x: 1 / x)),
    ("square", lambda x: x * x, limits(np.square)),
    ("exp", mp.exp, limits(np.exp)),
    ("exp2", lambda x: mp.power(2, x), limits(np.exp2)),
    ("expm1", mp.expm1, limits(np.expm1)),
    ("log", mp.log, limits(np.log)),
    ("log2", lambda x: mp.log(x, 2), limits(np.log2)),
    ("log10", lambda x: mp.log(x, 10), limits(np.log10)),
    ("log1p", lambda x: mp.log(1 + x), limits(np.log1p)),
    ("sin", mp.sin, limits(np.sin)),
    ("cos", mp.cos, limits(np.cos)),
    ("tan", mp.tan, limits(np.tan)),
    ("asin", mp.asin, limits(np.arcsin)),
    ("acos", mp.acos, limits(np.arccos)),
    ("atan", mp.atan, limits(np.arctan)),
    ("sinh", mp.sinh, limits(np.sinh)),
    ("cosh", mp.cosh, limits(np.cosh)),
    ("tanh", mp.tanh, limits(np.tanh)),
    ("asinh", mp.asinh, limits(np.arcsinh)),
    ("acosh", mp.acosh, limits(np.arccosh)),
    ("atanh", mp.atanh, limits(np.arctanh)),
    ("erf", mp.erf, erf_limits),
    ("sigmoid", sigmoid, lambda x: 0.5 if x == 0 else (x if math.isnan(x) else float(x > 0))),
]
PREDICATES = [("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)]


def unary():
    for name, f, special in EACH:
        at = real(f)
        for on, points in (("floats", POINTS), ("bf16 f32 f64", WIDE)):
            case(f"{name}(x)", on, [float(at(x, special)) for x in points], x=points)
    for name, f in PREDICATES:
        case(f"{name}(x)", "floats", Typed("bool", f(np.array(POINTS))), x=POINTS)
    for name, _, special in EACH:
        case(f"{name}(x)", "floats", np.zeros((2, 0, 3)), x=np.zeros((2, 0, 3)))
        case(f"{name}(x)", "floats", special(0.0), x=np.array(0.0))
    for name, f in PREDICATES:
        case(f"{name}(x)", "floats", Typed("bool", np.zeros((0, 3))), x=np.zeros((0, 3)))
        case(f"{name}(x)", "floats", Typed("bool", f(NAN)), x=np.array(NAN))


def integers():
    for dtype in INTS:
        low, high = (-(1 << BITS[dtype] - 1), (1 << BITS[dtype] - 1) - 1) if dtype[0] == "i" else (0, (1 << BITS[dtype]) - 1)
        points = [low, high, low + 1, high - 1, 0, 1, 2, 3, 7, 10] + ([-1, -2, -3, -7] if low else [])
        case("abs(x)", dtype, [wrap(abs(x), dtype) for x in points], x=points)
        case("sign(x)", dtype, [(x > 0) - (x < 0) for x in points], x=points)
        case("square(x)", dtype, [wrap(x * x, dtype) for x in points], x=points)
        case("-x", dtype, [wrap(-x, dtype) for x in points], x=points)
        case("!x", dtype, [wrap(~x, dtype) for x in points], x=points)
        case("relu(x)", dtype, [max(x, 0) for x in points], x=points)
        case("relu6(x)", dtype, [min(max(x, 0), 6) for x in points], x=points)
        pairs(dtype, points)


def quotient(x, y):
    """Towards 0; nothing by 0."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def euclid(x, y):
    return 0 if y == 0 else (x - x % abs(y)) // y


def power(x, y, dtype):
    if y >= 0:
        return pow(x, y, 1 << BITS[dtype])
    # x to the |y|, which does not wrap, divided into 1.
    return 0 if abs(x) != 1 else x ** (-y % 2)


BINARY = [
    ("x + y", lambda x, y, d: x + y),
    ("x - y", lambda x, y, d: x - y),
    ("x * y", lambda x, y, d: x * y),
    ("x / y", lambda x, y, d: quotient(x, y)),
    ("x % y", lambda x, y, d: x if y == 0 else x - quotient(x, y) * y),
    ("x & y", lambda x, y, d: x & y),
    ("x | y", lambda x, y, d: x | y),
    ("x ^ y", lambda x, y, d: x ^ y),
    ("div_euclid(x, y)", lambda x, y, d: euclid(x, y)),
    ("rem_euclid(x, y)", lambda x, y, d: x if y == 0 else x % abs(y)),
    ("maximum(x, y)", lambda x, y, d: max(x, y)),
    ("minimum(x, y)", lambda x, y, d: min(x, y)),
    ("power(x, y)", power),
]
COMPARE = [
    ("x == y", np.equal),
    ("x != y", np.not_equal),
    ("x < y", np.less),
    ("x <= y", np.less_equal),
    ("x > y", np.greater),
    ("x >= y", np.greater_equal),
]


def pairs(dtype, points):
    column = np.array(points, dtype=object).reshape(-1, 1)
    for call, f in BINARY:
        value = [[wrap(f(x, y, dtype), dtype) for y in points] for x in points]
        case(call, dtype, np.array(value, dtype=object), x=column, y=points)
    for call, f in COMPARE:
        case(call, dtype, Typed("bool", [[bool(f(x, y)) for y in points] for x in points]), x=column, y=points)
    # A count of bits to shift by counts modulo the bits of the dtype.
    counts = [0, 1, 3, BITS[dtype] - 1, BITS[dtype], BITS[dtype] + 1]
    for call, f in (("x << y", lambda x, n: x << n), ("x >> y", lambda x, n: x >> n)):
        value = [[wrap(f(x, n % BITS[dtype]), dtype) for n in counts] for x in points]
        case(call, dtype, np.array(value, dtype=object), x=column, y=counts)
    low, high = points[-1], 7
    case("clip(x, y, z)", dtype, [min(max(x, low), high) for x in points], x=points, y=low, z=high)


def exact(f):
    """An operation of two finite numbers, rounded once; of others what NumPy gives."""

    def at(x, y):
        with np.errstate(all="ignore"):
            return float(f(np.float64(x), np.float64(y)))

    return at


def greatest(x, y):
    return NAN if math.isnan(x) or math.isnan(y) else max(x, y)


def least(x, y):
    return NAN if math.isnan(x) or math.isnan(y) else min(x, y)


def raised(x, y):
    """C's pow where a number is 0, infinite or NaN."""
    if x == 0.0 and y < 0:
        return math.copysign(INF, x if y % 2 == 1 else 1.0)
    try:
        limit = math.pow(x, y)
    except ValueError:
        return NAN
    except OverflowError:
        return math.copysign(INF, x if y % 2 == 1 else 1.0)
    if not (math.isfinite(x) and math.isfinite(y)) or limit == 0.0:
        return limit
    return float(mp.power(mp.mpf(x), mp.mpf(y)).real)


def whole(x, y, dtype):
    """Rust's div_euclid: the quotient is rounded before it is cut off, to an f32 where a float has 16 bits."""
    q = math.trunc(rounded(x / y, "f64" if dtype == "f64" else "f32"))
    return float(q - math.copysign(1, y)) if math.fmod(x, y) < 0 else float(q)


def angle(y, x):
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0.0 or y == 0.0:
        return math.atan2(y, x)
    return float(mp.atan2(mp.mpf(y), mp.mpf(x)))


def floats():
    points = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.5, 3.0, 7.25, -100.0, 1024.0, INF, -INF, NAN]
    column = np.array(points).reshape(-1, 1)
    table = [
        ("x + y", exact(np.add)),
        ("x - y", exact(np.subtract)),
        ("x * y", exact(np.multiply)),
        ("x / y", exact(np.divide)),
        ("x % y", exact(np.fmod)),
        ("maximum(x, y)", greatest),
        ("minimum(x, y)", least),
        ("power(x, y)", raised),
        ("atan2(x, y)", angle),
        ("prelu(x, y)", lambda x, y: x * y if x < 0 else x),
    ]
    for call, f in table:
        case(call, "floats", [[f(x, y) for y in points] for x in points], x=column, y=points)
    finite = [x for x in points if math.isfinite(x)]
    column, by = np.array(finite).reshape(-1, 1), [y for y in finite if y != 0.0]
    case("rem_euclid(x, y)", "floats", [[float(np.mod(x, abs(y))) for y in by] for x in finite], x=column, y=by)
    for dtype in FLOATS:
        case("div_euclid(x, y)", dtype, [[whole(x, y, dtype) for y in by] for x in finite], x=column, y=by)
    none, one = np.zeros((0, 1)), np.array(1.0)
    for call in [row[0] for row in table] + ["div_euclid(x, y)", "rem_euclid(x, y)"]:
        case(call, "floats", np.zeros((0, 3)), x=none, y=np.ones(3))
        f = {"x - y": 0, "x + y": 2, "x % y": 0, "atan2(x, y)": float(mp.pi / 4), "rem_euclid(x, y)": 0}.get(call, 1)
        case(call, "floats", np.array(f), x=one, y=one)
    for call in ("div_euclid(x, y)", "rem_euclid(x, y)"):
        case(call, "floats", [NAN, NAN], x=[NAN, 1.0], y=[1.0, NAN])
    case("div_euclid(x, y)", "floats", [INF, 0.0, -1.0, 1.0], x=[INF, 1.0, -1.0, -1.0], y=[1.0, INF, INF, -INF])
    case("rem_euclid(x, y)", "floats", [NAN, 1.0, INF, INF], x=[INF, 1.0, -1.0, -1.0], y=[1.0, INF, INF, -INF])
    case("clip(x, y, z)", "floats", none, x=none, y=-1.0, z=one)
    case("clip(x, y, z)", "floats", one, x=np.array(INF), y=-1.0, z=one)
    column = np.array(points).reshape(-1, 1)
    for call, f in COMPARE:
        case(call, "floats", Typed("bool", f(column, np.array(points))), x=column, y=points)
    case("-x", "floats", [-x for x in POINTS], x=POINTS)
    case("clip(x, y, z)", "floats", [x if math.isnan(x) else min(max(x, -1.0), 2.5) for x in points], x=points, y=-1.0, z=2.5)


def bools():
    x, y = np.array([[False], [True]]), np.array([False, True])
    for call, f in (("x & y", np.logical_and), ("x | y", np.logical_or), ("x ^ y", np.logical_xor)):
        case(call, "bool", f(x, y), x=x, y=y)
    for call, f in COMPARE:
        case(call, "bool", f(x, y), x=x, y=y)
    case("!x", "bool", ~y, x=y)


def shapes():
    """Broadcasting, no elements, rank 0."""
    x, y, z = np.arange(6).reshape(2, 1, 3) % 5, np.arange(4).reshape(4, 1) % 3, np.array(2)
    case("x + y", "numbers", x + y, x=x, y=y)
    case("x * z", "numbers", x * z, x=x, z=z)
    case("z * z", "numbers", z * z, z=z)
    none = np.zeros((0, 1, 3), dtype=int)
    case("none + y", "numbers", none + y, none=none, y=y)
    case("x == y", "all", Typed("bool", x % 2 == y % 2), x=x % 2, y=y % 2)
    mask = Typed("bool", [[1, 0, 1], [0, 0, 1]])
    a, b = np.arange(6).reshape(2, 3) % 2, np.array([1, 0, 0])
    case("select(m, a, b)", "all", np.where(mask.value, a, b), m=mask, a=a, b=b)
    case("select(m, z, b)", "all", np.where(True, 1, b), m=Typed("bool", np.array(1)), z=np.array(1), b=b)
    case("select(m, a, b)", "floats", [NAN, 1.0, -INF], m=Typed("bool", [1, 0, 1]), a=[NAN, 2.0, -INF], b=[0.0, 1.0, NAN])
    case("select(m, a, b)", "all", none, m=Typed("bool", none), a=none, b=np.array(1))


VIEWS = {
    "i8": ("u8", "B"), "u8": ("i8", "b"), "i16": ("u16", "H"), "u16": ("i16", "h"), "i32": ("f32", "f"),
    "u32": ("f32", "f"), "i64": ("f64", "d"), "u64": ("f64", "d"), "f16": ("u16", "H"), "f32": ("i32", "i"),
    "f64": ("u64", "Q"),
}
CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
         "f16": "e", "f32": "f", "f64": "d"}


def bits():
    """The bits of numbers as another dtype of their width, by the machine's own layout."""
    for dtype, (to, code) in VIEWS.items():
        whole = dtype[0] != "f"
        if whole:
            top = 1 << (BITS[dtype] - 1)
            # No NaN: its bits may change on the way.
            points = (0, 1, 5, top, top + 3 if to[0] == "f" else top - 1, 0x3F80 << max(0, BITS[dtype] - 16))
            x = [wrap(n, dtype) for n in points]
        else:
            x = [0.0, -0.0, 1.0, -2.5, 0.1 if dtype == "f64" else 0.125, math.inf, -math.inf]
        y = [struct.unpack("=" + code, struct.pack("=" + CODES[dtype], n))[0] for n in x]
        case(f"bit_cast::<{to}>(x)", dtype, Typed(to, y), x=x)
        case(f"bit_cast::<{to}>(x)", dtype, Typed(to, np.zeros((2, 0))), x=np.zeros((2, 0)))
    case("bit_cast::<u16>(x)", "bf16", Typed("u16", [0x3F80, 0xC000, 0x7F80]), x=[1.0, -2.0, math.inf])
    case("bit_cast::<f32>(x)", "u32", Typed("f32", [math.nan, math.inf]), x=[0x7FC00000, 0x7F800000])
    case("bit_cast::<u32>(x)", "f32", Typed("u32", 0x40490FDB), x=rounded(math.pi, "f32"))


def casts():
    """From every dtype to every other: Rust's `as`."""
    names = ["bool"] + INTS + FLOATS
    for to in names[1:]:
        case(f"x as {to}", "bool", Typed(to, [0, 1]), x=[0, 1])
        for dtype in INTS:
            points = [0, 1, 100, (1 << BITS[dtype] - 1) - 1] + ([-1, -100, -(1 << BITS[dtype] - 1)] if dtype[0] == "i" else [])
            value = points if to in FLOATS else [wrap(x, to) for x in points]
            case(f"x as {to}", dtype, Typed(to, value), x=points)
        if to in INTS:
            low, high = (-(1 << BITS[to] - 1), (1 << BITS[to] - 1) - 1) if to[0] == "i" else (0, (1 << BITS[to]) - 1)
            held = lambda x: 0 if math.isnan(x) else (high if x == INF else (low if x == -INF else min(max(int(x), low), high)))
            case(f"x as {to}", "floats", Typed(to, [held(x) for x in POINTS]), x=POINTS)
            case(f"x as {to}", "bf16 f32 f64", Typed(to, [held(x) for x in WIDE]), x=WIDE)
        else:
            case(f"x as {to}", "floats", Typed(to, POINTS), x=POINTS)
            case(f"x as {to}", "bf16 f32 f64", Typed(to, WIDE), x=WIDE)


def quantised():
    points, factors, shifts = [0, 1, -1, 1000, -123456789, 2**31 - 1, -(2**31)], [1 << 30, 2**31 - 1, -5], [0, -1, -7, 8, -31]

    def at(x, factor, shift):
        product, down = x * factor, 31 - shift
        return min(max((product + (1 << down - 1)) >> down if down > 0 else product << -down, -(2**31)), 2**31 - 1)

    value = [[[at(x, f, s) for s in shifts] for f in factors] for x in points]
    case("q_multiply_shift(x, f, s)", "i32", np.array(value), x=np.array(points).reshape(-1, 1, 1),
         f=np.array(factors).reshape(-1, 1), s=shifts)
    case("q_multiply_shift(x, f, s)", "i32", np.zeros(0), x=np.zeros(0), f=np.array(1), s=np.array(0))
    case("q_multiply_shift(x, f, s)", "i32", np.array(50), x=np.array(100), f=np.array(1 << 30), s=np.array(0))


def write():
    unary()
    integers()
    floats()
    bools()
    shapes()
    casts()
    bits()
    quantised()
