"""Operators that reduce, contract, slide windows and normalise, by NumPy's f64."""

import itertools
import math

import numpy as np

from writer import FLOATS, INTS, BITS, Typed, case, reals, some

INF, NAN = math.inf, math.nan
SPECIAL = np.array([[1.0, NAN, INF], [-INF, 2.0, 3.0], [INF, 5.0, -INF]])
AXES = [(None, False), (None, True), (0, False), (-1, True), ([0, -1], False), ([1], True)]


def named(axis, keep):
    text = "" if axis is None else f", axis = {axis}"
    return text + (", keepdims = true" if keep else "")


def reduced(f, x, axis, keep):
    return f(x, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keep)


def reductions():
    x, none, one = some(2, 3, 4), np.zeros((2, 0)), np.array(3)
    few = x % 3
    table = [
        ("sum", np.sum, "numbers", x, 0),
        ("prod", np.prod, "numbers", few, 1),
        ("max", np.max, "numbers", x, None),
        ("min", np.min, "numbers", x, None),
    ]
    for name, f, on, x, unit in table:
        for axis, keep in AXES:
            case(f"{name}(x{named(axis, keep)})", on, reduced(f, x, axis, keep), x=x)
        case(f"{name}(one)", on, one, one=one)
        case(f"{name}(none, axis = 0)", on, np.zeros(0), none=none)
        if unit is not None:
            case(f"{name}(none, axis = -1)", on, np.full(2, unit), none=none)
        with np.errstate(all="ignore"):
            case(f"{name}(x, axis = 1)", "floats", f(SPECIAL, axis=1), x=SPECIAL)
            case(f"{name}(x)", "floats", f(SPECIAL), x=SPECIAL)
    for dtype in INTS:
        low = -(1 << BITS[dtype] - 1) if dtype[0] == "i" else 0
        high = (1 << BITS[dtype] - (dtype[0] == "i")) - 1
        case("max(none, axis = 1)", dtype, np.array([low] * 2, dtype=object), none=none)
        case("min(none, axis = 1)", dtype, np.array([high] * 2, dtype=object), none=none)
    case("max(none, axis = 1)", "floats", [-INF] * 2, none=none)
    case("min(none, axis = 1)", "floats", [INF] * 2, none=none)
    x = reals(3, 5)
    for axis, keep in ((None, False), (1, True), (-2, False)):
        case(f"mean(x{named(axis, keep)})", "floats", reduced(np.mean, x, axis, keep), "1", x=x)
    case("mean(none, axis = 1)", "floats", [NAN] * 2, none=none)
    case("mean(x, axis = 1)", "floats", [NAN, -INF, NAN], x=SPECIAL)
    case("mean(one)", "floats", one, one=one)
    x = some(3, 4) % 2
    for name, f in (("any", np.any), ("all", np.all)):
        for axis, keep in ((None, False), (0, True), (-1, False)):
            case(f"{name}(x{named(axis, keep)})", "bool", reduced(f, x, axis, keep), x=x)
        case(f"{name}(none, axis = 1)", "bool", f(none, axis=1), none=none)
        case(f"{name}(one)", "bool", True, one=one)
    x = some(3, 4, modulus=5)
    for name, f in (("argmax", np.argmax), ("argmin", np.argmin)):
        for axis, keep in ((None, False), (0, True), (-1, False)):
            case(f"{name}(x{named(axis, keep)})", "numbers", Typed("i64", f(x, axis=axis, keepdims=keep)), x=x)
        case(f"{name}(x, axis = 1)", "floats", Typed("i64", f(SPECIAL, axis=1)), x=SPECIAL)
        case(f"{name}(none, axis = 0)", "numbers", Typed("i64", np.zeros(0)), none=np.zeros((2, 0)))
        for shape, axis in (((3, 37), 1), ((2, 64), -1), ((40, 7), 0), ((2, 33, 17), 1), ((1, 97), 1), ((3, 1), 1), ((33, 1), 0), ((5, 7), None)):
            long = some(*shape, step=29, modulus=89)
            found = Typed("i64", f(long, axis=axis, keepdims=axis == 0))
            case(f"{name}(x{named(axis, axis == 0)})", "numbers", found, x=long)
        for axis, long in ((1, long_special()), (0, long_special().T.copy())):
            case(f"{name}(x, axis = {axis})", "floats", Typed("i64", f(long, axis=axis)), x=long)


def long_special():
    """Rows with two NaNs, with one at an end, of nothing but one infinity, of equals, and of both zeros."""
    x = np.array(some(7, 37, modulus=13), dtype=float)
    x[0, 20] = x[0, 35] = x[1, 36] = x[2, 0] = NAN
    x[3], x[4], x[5, :], x[6] = INF, -INF, 2.0, 0.0
    x[6, ::2] = -0.0
    return x


def soft(x, axis, log):
    with np.errstate(all="ignore"):
        shifted = x - np.max(x, axis=axis, keepdims=True)
        total = np.sum(np.exp(shifted), axis=axis, keepdims=True)
        return shifted - np.log(total) if log else np.exp(shifted) / total


def rows():
    x, none = reals(2, 3, 5), np.zeros((3, 0))
    special = np.array([[1.0, NAN], [-INF, 2.0], [-INF, -INF], [INF, 1.0]])
    for name, log in (("softmax", False), ("log_softmax", True)):
        for axis in (0, 1, -1):
            # The difference, the power's own, the sum, the quotient.
            case(f"{name}(x, axis = {axis})", "floats", soft(x, axis, log), "4", x=x)
        case(f"{name}(x)", "floats", soft(special, -1, log), "4", x=special)
        case(f"{name}(none, axis = 0)", "floats", none, none=none)
    x = reals(2, 3, 4)
    for axis in (0, 1, -1):
        shape = x.shape[axis:]
        s, b = reals(*shape, step=5), reals(*shape, step=11)
        over = tuple(range(axis % 3, 3))
        y = (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + 0.25) * s
        case(f"layer_normalization(x, s, b, axis = {axis}, epsilon = 0.25)", "floats", y + b, "8", x=x, s=s, b=b)
        case(f"layer_normalization(x, s, axis = {axis}, epsilon = 0.25)", "floats", y, "8", x=x, s=s)
        y = x / np.sqrt((x * x).mean(over, keepdims=True) + 0.25) * s
        case(f"rms_normalization(x, s, axis = {axis}, epsilon = 0.25)", "floats", y, "8", x=x, s=s)
    case("layer_normalization(x, s)", "floats", np.zeros((0, 4)), x=np.zeros((0, 4)), s=np.ones(4))
    case("rms_normalization(x, s)", "floats", np.zeros((0, 4)), x=np.zeros((0, 4)), s=np.ones(4))
    case("layer_normalization(x, s)", "floats", [[NAN] * 2] * 2, x=[[NAN, 1.0], [INF, 1.0]], s=np.ones(2))
    case("rms_normalization(x, s)", "floats", [[NAN] * 2, [NAN, 0.0]], x=[[NAN, 1.0], [INF, 1.0]], s=np.ones(2))
    s, b, m, v = reals(3), reals(3, step=5), reals(3, step=11), np.array([0.75, 2.0, 0.0])
    per = lambda a: a.reshape(1, 3, 1)
    y = (x - per(m)) * (per(s) / np.sqrt(per(v) + 0.25)) + per(b)
    case("batch_normalization(x, s, b, m, v, epsilon = 0.25)", "floats", y, "6", x=x, s=s, b=b, m=m, v=v)
    case("batch_normalization(x, s, b, m, v)", "floats", np.zeros((2, 3, 0)), x=np.zeros((2, 3, 0)), s=s, b=b, m=m, v=v)
    case("batch_normalization(x, s, b, m, v)", "floats", [[NAN], [INF]], x=[[NAN], [INF]], s=[2.0], b=[1.0], m=[0.0], v=[1.0])
    groups()


def groups():
    x, s, b = reals(2, 6, 3), reals(6, step=5), reals(6, step=11)
    for call, size in (("group_normalization(x, s, b, num_groups = 3", 6), ("instance_normalization(x, s, b", 3)):
        parts = x.reshape(2, -1, size)
        y = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 0.25)
        y = y.reshape(2, 6, 3) * s.reshape(6, 1) + b.reshape(6, 1)
        case(f"{call}, epsilon = 0.25)", "floats", y, "10", x=x, s=s, b=b)
    case("instance_normalization(x, s, b)", "floats", np.zeros((0, 6, 3)), x=np.zeros((0, 6, 3)), s=s, b=b)
    case("group_normalization(x, s, b, num_groups = 2)", "floats", np.zeros((0, 6, 3)), x=np.zeros((0, 6, 3)), s=s, b=b)
    x, wanted = [[[NAN, 1.0], [1.0, 1.0]]], [[[NAN, NAN], [0.5, 0.5]]]
    case("instance_normalization(x, s, b)", "floats", wanted, x=x, s=[1.0, 1.0], b=[0.25, 0.5])
    case("group_normalization(x, s, b, num_groups = 2)", "floats", wanted, x=x, s=[1.0, 1.0], b=[0.25, 0.5])
    x = [[[-INF, 1.0], [1.0, 1.0]]]
    case("instance_normalization(x, s, b)", "floats", wanted, x=x, s=[1.0, 1.0], b=[0.25, 0.5])
    case("group_normalization(x, s, b, num_groups = 2)", "floats", wanted, x=x, s=[1.0, 1.0], b=[0.25, 0.5])
    x = reals(2, 3, 5, step=29)
    for axis in (0, -1):
        case(f"lp_normalization(x, axis = {axis})", "floats", x / np.sqrt((x * x).sum(axis, keepdims=True)), "6", x=x)
        case(f"lp_normalization(x, axis = {axis}, p = 1)", "floats", x / np.abs(x).sum(axis, keepdims=True), "6", x=x)
    case("lp_normalization(x)", "floats", np.zeros((2, 0)), x=np.zeros((2, 0)))
    case("lrn(x, size = 3)", "floats", np.zeros((0, 5, 3)), x=np.zeros((0, 5, 3)))
    case("lrn(x, size = 1)", "floats", [[[NAN], [0.0]]], x=[[[NAN], [0.0]]])
    case("lrn(x, size = 1)", "floats", [[[NAN], [0.0]]], x=[[[INF], [0.0]]])
    case("lp_normalization(x)", "floats", [[NAN, NAN], [0.0, NAN]], x=[[NAN, 1.0], [1.0, INF]])
    x = reals(2, 5, 3)
    for size in (1, 3, 4):
        total = np.zeros_like(x)
        for c in range(5):
            total[:, c] = (x[:, max(c - (size - 1) // 2, 0) : c + size // 2 + 1] ** 2).sum(1)
        y = x / (2 + 0.5 / size * total) ** 0.75
        case(f"lrn(x, size = {size}, alpha = 0.5, bias = 2.0)", "floats", y, "6", x=x)


def moments():
    x, none, one = reals(3, 5), np.zeros((3, 0)), np.array(1.5)
    table = [
        ("var", "", lambda x, **k: np.var(x, **k), NAN),
        ("var", ", ddof = 1", lambda x, **k: np.var(x, ddof=1, **k), None),
        ("std", "", lambda x, **k: np.std(x, **k), NAN),
        ("norm", "", lambda x, **k: np.sqrt(np.sum(x * x, **k)), 0.0),
        ("norm", ", ord = 1", lambda x, **k: np.sum(np.abs(x), **k), 0.0),
        ("logsumexp", "", lambda x, **k: np.log(np.sum(np.exp(x), **k)), -INF),
    ]
    for name, more, f, empty in table:
        for axis, keep in ((None, False), (0, True), (-1, False)):
            case(f"{name}(x{named(axis, keep)}{more})", "floats", reduced(f, x, axis, keep), "6", x=x)
        if empty is not None:
            case(f"{name}(none, axis = -1{more})", "floats", [empty] * 3, none=none)
            case(f"{name}(one{more})", "floats", f(one), "2", one=one)
    case("logsumexp(x, axis = 1)", "floats", [NAN, 2.0, INF], "4", x=[[NAN, 1.0], [-INF, 2.0], [INF, 1.0]])
    case("norm(x, axis = 1)", "floats", [NAN, INF, INF], x=[[NAN, 1.0], [-INF, 2.0], [INF, 1.0]])
    case("var(x, axis = 1)", "floats", [NAN, NAN], x=[[NAN, 1.0], [-INF, 2.0]])
    case("std(x, axis = 1)", "floats", [NAN, NAN], x=[[NAN, 1.0], [-INF, 2.0]])


def products():
    shapes = [((3, 4), (4, 5)), ((1, 1), (1, 1)), ((7,), (7,)), ((3,), (3, 2)), ((5, 3), (3,)), ((2, 1, 3, 4), (5, 4, 2)),
              ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((2, 17), (17, 9))]
    for a, b in shapes:
        x, y = some(*a, modulus=5), some(*b, step=3, modulus=4)
        case("matmul(x, y)", "numbers", np.matmul(x, y), x=x, y=y)
    with np.errstate(all="ignore"):
        y = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 0.0]])
        case("matmul(x, y)", "floats", SPECIAL @ y, x=SPECIAL, y=y)


def outputs(shape, kernel, strides, pads, dilations, ceil=False):
    spatial = len(kernel)
    out = []
    for i in range(spatial):
        room = shape[i] + pads[i] + pads[i + spatial] - dilations[i] * (kernel[i] - 1) - 1
        count = -(-room // strides[i]) + 1 if ceil else room // strides[i] + 1
        # A window that begins in the padding behind does not count.
        if ceil and (count - 1) * strides[i] >= shape[i] + pads[i]:
            count -= 1
        out.append(count)
    return out


def windows(shape, kernel, strides, pads, dilations, ceil=False):
    """For each result the places of its window that lie inside, and how many lie in the padded tensor."""
    for at in itertools.product(*(range(n) for n in outputs(shape, kernel, strides, pads, dilations, ceil))):
        inside, padded = [], 0
        for k in itertools.product(*(range(n) for n in kernel)):
            place = tuple(at[i] * strides[i] + k[i] * dilations[i] - pads[i] for i in range(len(kernel)))
            padded += all(-pads[i] <= p < shape[i] + pads[i + len(kernel)] for i, p in enumerate(place))
            if all(0 <= p < n for p, n in zip(place, shape)):
                inside.append((k, place))
        yield at, inside, padded


WINDOWS = [
    ((1, 1, 4, 4), (1, 1, 3, 3), [1, 1], [0, 0, 0, 0], [1, 1], 1),
    ((2, 3, 5, 6), (4, 3, 3, 2), [2, 1], [1, 0, 1, 1], [1, 1], 1),
    ((1, 4, 7, 7), (6, 2, 3, 3), [1, 2], [2, 2, 2, 2], [2, 2], 2),
    ((2, 2, 9), (2, 1, 4), [3], [1, 2], [1], 2),
    ((1, 1, 3, 3, 3), (2, 1, 2, 2, 2), [1, 1, 1], [0, 0, 0, 1, 1, 1], [1, 1, 1], 1),
    ((0, 1, 3), (1, 1, 2), [1], [0, 0], [1], 1),
]


def convolved(x, w, b, strides, pads, dilations, group):
    kernel, spatial = w.shape[2:], x.shape[2:]
    y = np.zeros((x.shape[0], w.shape[0], *outputs(spatial, kernel, strides, pads, dilations)))
    for at, inside, _ in windows(spatial, kernel, strides, pads, dilations):
        for n, m in itertools.product(range(x.shape[0]), range(w.shape[0])):
            first = m // (w.shape[0] // group) * w.shape[1]
            parts = (x[(n, first + c, *place)] * w[(m, c, *k)] for c in range(w.shape[1]) for k, place in inside)
            y[(n, m, *at)] = sum(parts) + (0 if b is None else b[m])
    return y


def convolutions():
    for xs, ws, strides, pads, dilations, group in WINDOWS:
        x, w, b = some(*xs, modulus=4), some(*ws, step=5, modulus=3), some(ws[0])
        attributes = f"strides = {strides}, pads = {pads}, dilations = {dilations}, group = {group}"
        case(f"conv(x, w, {attributes})", "numbers", convolved(x, w, None, strides, pads, dilations, group), x=x, w=w)
        case(f"conv(x, w, b, {attributes})", "numbers", convolved(x, w, b, strides, pads, dilations, group), x=x, w=w, b=b)
    x, w = np.array([[[1.0, NAN, 2.0, INF, 3.0, 4.0]]]), np.array([[[1.0, 2.0]]])
    case("conv(x, w)", "floats", [[[NAN, NAN, INF, INF, 11.0]]], x=x, w=w)


def pools():
    table = [((2, 2, 6, 5), [2, 2], [2, 2], [0, 0, 0, 0], [1, 1], False), ((1, 2, 6, 5), [3, 2], [2, 1], [1, 1, 1, 0], [1, 1], False),
             ((1, 2, 6, 5), [3, 3], [2, 2], [1, 1, 1, 1], [1, 1], True), ((1, 1, 7), [2], [1], [0, 0], [2], False),
             ((0, 1, 4), [2], [1], [0, 0], [1], False)]
    for shape, kernel, strides, pads, dilations, ceil in table:
        x = some(*shape, modulus=13)
        attributes = f"kernel_shape = {kernel}, strides = {strides}, pads = {pads}, dilations = {dilations}"
        attributes += ", ceil_mode = true" if ceil else ""
        results = [np.zeros((*shape[:2], *outputs(shape[2:], kernel, strides, pads, dilations, ceil))) for _ in range(3)]
        for at, inside, padded in windows(shape[2:], kernel, strides, pads, dilations, ceil):
            values = np.array([x[(..., *place)] for _, place in inside])
            results[0][(..., *at)] = values.max(0)
            results[1][(..., *at)] = values.sum(0) / len(inside)
            results[2][(..., *at)] = values.sum(0) / padded
        case(f"max_pool(x, {attributes})", "numbers", results[0], x=x)
        case(f"average_pool(x, {attributes})", "floats", results[1], "1", x=x)
        case(f"average_pool(x, {attributes}, count_include_pad = true)", "floats", results[2], "1", x=x)
    x = np.array([[[1.0, NAN, 2.0, -INF, -INF, INF]]])
    case("max_pool(x, kernel_shape = [2])", "floats", [[[NAN, NAN, 2.0, -INF, INF]]], x=x)
    case("average_pool(x, kernel_shape = [2])", "floats", [[[NAN, NAN, -INF, -INF, NAN]]], x=x)
    x = some(2, 3, 2, 5)
    case("global_max_pool(x)", "numbers", x.max((2, 3), keepdims=True), x=x)
    case("global_average_pool(x)", "floats", x.mean((2, 3), keepdims=True), "1", x=x)
    case("global_max_pool(x)", "floats", [[[NAN], [INF]]], x=[[[NAN, INF], [1.0, INF]]])
    case("global_average_pool(x)", "floats", [[[NAN], [INF]]], x=[[[NAN, INF], [1.0, INF]]])
    case("global_max_pool(x)", "numbers", np.zeros((0, 3, 1)), x=np.zeros((0, 3, 4)))
    case("global_average_pool(x)", "floats", np.zeros((0, 3, 1)), x=np.zeros((0, 3, 4)))


def write():
    reductions()
    rows()
    moments()
    products()
    convolutions()
    pools()
