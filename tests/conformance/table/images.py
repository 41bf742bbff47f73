"""Operators over the spatial axes of images, by their definitions in f64."""

import itertools
import math
from fractions import Fraction

import numpy as np

from arrays import outputs, windows
from writer import Typed, case, reals, some

INF, NAN = math.inf, math.nan


def blocks():
    for mode in ("dcr", "crd"):
        x = some(2, 12, 2, 3, modulus=97)
        parts, order = ((2, 2, 2, 3, 2, 3), (0, 3, 4, 1, 5, 2)) if mode == "dcr" else ((2, 3, 2, 2, 2, 3), (0, 1, 4, 2, 5, 3))
        y = x.reshape(parts).transpose(order).reshape(2, 3, 4, 6)
        case(f'depth_to_space(x, blocksize = 2, mode = "{mode}")', "all", y, x=x)
        case(f'space_to_depth(x, blocksize = 2, mode = "{mode}")', "all", x, x=y)
    deep, wide = np.zeros((0, 4, 1, 1)), np.zeros((0, 1, 2, 2))
    case("depth_to_space(x, blocksize = 2)", "all", wide, x=deep)
    case("space_to_depth(x, blocksize = 2)", "all", deep, x=wide)
    values = np.array([NAN, 1.0, INF, -0.0])
    deep, wide = values.reshape(1, 4, 1, 1), values.reshape(1, 1, 2, 2)
    case("depth_to_space(x, blocksize = 2)", "floats", wide, x=deep)
    case("space_to_depth(x, blocksize = 2)", "floats", deep, x=wide)


def inside(place, shape):
    return all(0 <= p < n for p, n in zip(place, shape))


SPREADS = [
    ((1, 1, 3), (1, 1, 2), [1], [0, 0], [1], [0], 1),
    ((2, 4, 3, 2), (4, 3, 2, 3), [1, 1], [0, 0, 0, 0], [1, 1], [0, 0], 1),
    ((2, 4, 3, 2), (4, 3, 2, 3), [2, 3], [1, 0, 1, 2], [1, 1], [1, 2], 2),
    ((1, 2, 3, 4), (2, 1, 3, 2), [1, 2], [0, 1, 0, 1], [2, 3], [0, 0], 2),
    ((1, 2, 2, 1, 2), (2, 2, 2, 1, 2), [1, 1, 2], [0, 0, 0, 1, 0, 0], [1, 1, 1], [0, 0, 0], 1),
    ((0, 1, 3), (1, 2, 2), [2], [0, 0], [1], [0], 1),
]


def spread(x, w, strides, pads, dilations, more, group):
    """Every element of x, spread by the kernel."""
    axes = range(x.ndim - 2)
    ends = [(x.shape[a + 2] - 1) * strides[a] + (w.shape[a + 2] - 1) * dilations[a] + 1 for a in axes]
    y = np.zeros((x.shape[0], w.shape[1] * group, *(ends[a] - pads[a] - pads[a + len(ends)] + more[a] for a in axes)))
    for i, k in itertools.product(np.ndindex(*x.shape[2:]), np.ndindex(*w.shape[2:])):
        place = tuple(i[a] * strides[a] + k[a] * dilations[a] - pads[a] for a in axes)
        if not inside(place, y.shape[2:]):
            continue
        for c, m in itertools.product(range(x.shape[1]), range(w.shape[1])):
            to = c // (x.shape[1] // group) * w.shape[1] + m
            y[(slice(None), to, *place)] += x[(slice(None), c, *i)] * w[(c, m, *k)]
    return y


def transposed():
    for xs, ws, strides, pads, dilations, more, group in SPREADS:
        x, w, b = some(*xs, modulus=4), some(*ws, step=5, modulus=3), some(ws[1] * group)
        y = spread(x, w, strides, pads, dilations, more, group)
        attributes = f"strides = {strides}, pads = {pads}, dilations = {dilations}, output_padding = {more}, group = {group}"
        case(f"conv_transpose(x, w, {attributes})", "numbers", y, x=x, w=w)
        y = y + b.reshape(-1, *(1,) * (y.ndim - 2))
        case(f"conv_transpose(x, w, b, {attributes})", "numbers", y, x=x, w=w, b=b)
    case("conv_transpose(x, w)", "floats", [[[NAN, NAN, 2.0]]], x=[[[NAN, 1.0]]], w=[[[1.0, 2.0]]])
    case("conv_transpose(x, w)", "floats", [[[1.0, INF, INF]]], x=[[[1.0, INF]]], w=[[[1.0, 2.0]]])


COLUMNS = [
    ([4, 5], [2, 3], [1, 1], [0, 0, 0, 0], [1, 1]),
    ([5, 4], [2, 2], [2, 1], [1, 0, 0, 1], [1, 2]),
    ([7], [3], [2], [1, 1], [2]),
]


def columns():
    for image, kernel, strides, pads, dilations in COLUMNS:
        places = list(windows(image, kernel, strides, pads, dilations))
        size = math.prod(kernel)
        x, y = some(2, 3 * size, len(places), modulus=5), np.zeros((2, 3, *image), dtype=int)
        for at, (_, within, _) in enumerate(places):
            for k, place in within:
                y[(slice(None), slice(None), *place)] += x[:, np.ravel_multi_index(k, kernel) :: size, at]
        attributes = f"strides = {strides}, pads = {pads}, dilations = {dilations}"
        case(f"col2im(x, {image}, {kernel}, {attributes})", "numbers", y, x=x)
    case("col2im(x, [3], [2])", "numbers", np.zeros((0, 1, 3)), x=np.zeros((0, 2, 2)))
    case("col2im(x, [3], [2])", "floats", [[[NAN, 3.0, INF]]], x=[[[NAN, 1.0], [2.0, INF]]])


def between(x, y, u):
    """x between four elements, zeros outside."""
    total, top, left = 0.0, math.floor(y), math.floor(u)
    for i, j in itertools.product((top, top + 1), (left, left + 1)):
        if inside((i, j), x.shape):
            total += x[i, j] * (1 - abs(y - i)) * (1 - abs(u - j))
    return total


def deformed(x, w, offset, bias, mask, strides, pads, dilations, group, offset_group):
    size, kernel = math.prod(w.shape[2:]), w.shape[2:]
    out = outputs(x.shape[2:], kernel, strides, pads, dilations)
    y = np.zeros((x.shape[0], w.shape[0], *out))
    for n, m, r, q in np.ndindex(*y.shape):
        first = m // (w.shape[0] // group) * w.shape[1]
        for c, k in itertools.product(range(w.shape[1]), np.ndindex(*kernel)):
            at = (first + c) // (x.shape[1] // offset_group) * size + np.ravel_multi_index(k, kernel)
            v, u = ((r, q)[a] * strides[a] + k[a] * dilations[a] - pads[a] + offset[n, 2 * at + a, r, q] for a in (0, 1))
            weight = 1.0 if mask is None else mask[n, at, r, q]
            y[n, m, r, q] += between(x[n, first + c], v, u) * w[(m, c, *k)] * weight
    return y if bias is None else y + bias.reshape(-1, 1, 1)


def deforms():
    table = [((1, 2, 4, 5), (3, 2, 2, 2), [1, 1], [0, 0, 0, 0], [1, 1], 1, 1), ((2, 4, 5, 4), (2, 2, 2, 3), [2, 1], [1, 1, 0, 1], [1, 2], 2, 2)]
    for xs, ws, strides, pads, dilations, group, offset_group in table:
        x, w, b = some(*xs, modulus=5), some(*ws, step=5, modulus=3), some(ws[0])
        out, size = outputs(xs[2:], ws[2:], strides, pads, dilations), math.prod(ws[2:])
        o = some(xs[0], offset_group * size * 2, *out, step=5, modulus=13) / 4 - 1.5
        k = some(xs[0], offset_group * size, *out, step=3, modulus=5) / 4
        attributes = f"strides = {strides}, pads = {pads}, dilations = {dilations}, group = {group}, offset_group = {offset_group}"
        numbers = (strides, pads, dilations, group, offset_group)
        # Weights of neighbours are products of two quarters, whose sums a bf16 rounds.
        case(f"deform_conv(x, w, o, {attributes})", "floats", deformed(x, w, o, None, None, *numbers), "2", x=x, w=w, o=o)
        case(f"deform_conv(x, w, o, b, k, {attributes})", "floats", deformed(x, w, o, b, k, *numbers), "2", x=x, w=w, o=o, b=b, k=k)
    none = {"x": np.zeros((0, 1, 2, 2)), "w": np.ones((1, 1, 1, 1)), "o": np.zeros((0, 2, 2, 2))}
    case("deform_conv(x, w, o)", "floats", np.zeros((0, 1, 2, 2)), **none)
    one = {"x": [[[[NAN, 1.0]]]], "w": [[[[2.0]]]], "o": np.zeros((1, 2, 1, 2))}
    case("deform_conv(x, w, o)", "floats", [[[[NAN, 2.0]]]], **one)
    one["x"] = [[[[INF, 1.0]]]]
    case("deform_conv(x, w, o)", "floats", [[[[INF, 2.0]]]], **one)


def adaptive():
    def parts(n, count):
        return [slice(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]

    for shape, out in (((2, 3, 7), [3]), ((1, 2, 5, 6), [2, 4]), ((1, 2, 3, 4), [3, 1]), ((2, 1, 2, 3), [4, 5])):
        x = some(*shape, modulus=13)
        picks = [parts(n, count) for n, count in zip(shape[2:], out)]
        for name, f, on, off in (("max", np.max, "numbers", ""), ("average", np.mean, "floats", "1")):
            y = np.zeros((*shape[:2], *out))
            for at in np.ndindex(*out):
                window = x[(..., *(picks[a][i] for a, i in enumerate(at)))]
                y[(..., *at)] = f(window, axis=tuple(range(2, window.ndim)))
            case(f"adaptive_{name}_pool(x, {out})", on, y, off, x=x)
    for name, on, numbers in (("max", "numbers", [NAN, INF]), ("average", "floats", [NAN, INF])):
        case(f"adaptive_{name}_pool(x, [2])", on, np.zeros((0, 1, 2)), x=np.zeros((0, 1, 3)))
        case(f"adaptive_{name}_pool(x, [2])", "floats", [[numbers]], x=[[[NAN, 1.0, 2.0, INF]]])


def norms():
    for p in (1, 2, 3):
        for shape, kernel, strides, pads, dilations in (((2, 2, 6, 5), [2, 3], [2, 1], [1, 0, 0, 1], [1, 2]), ((1, 2, 7), [3], [1], [0, 0], [1])):
            x = reals(*shape)
            y = np.zeros((*shape[:2], *outputs(shape[2:], kernel, strides, pads, dilations)))
            for at, within, _ in windows(shape[2:], kernel, strides, pads, dilations):
                y[(..., *at)] = sum(np.abs(x[(..., *place)]) ** p for _, place in within) ** (1 / p)
            attributes = f"kernel_shape = {kernel}, strides = {strides}, pads = {pads}, dilations = {dilations}, p = {p}"
            case(f"lp_pool(x, {attributes})", "floats", y, "4", x=x)
        x = reals(2, 3, 2, 5)
        y = (np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p)
        case(f"global_lp_pool(x, p = {p})", "floats", y, "4", x=x)
    case("lp_pool(x, kernel_shape = [2])", "floats", np.zeros((0, 1, 2)), x=np.zeros((0, 1, 3)))
    case("lp_pool(x, kernel_shape = [2])", "floats", [[[NAN, NAN, INF]]], x=[[[1.0, NAN, 2.0, -INF]]])
    case("global_lp_pool(x)", "floats", np.zeros((0, 1, 1)), x=np.zeros((0, 1, 3)))
    case("global_lp_pool(x)", "floats", [[[NAN], [INF]]], x=[[[NAN, INF], [1.0, -INF]]])


def maxima():
    table = [((2, 2, 6, 5), [2, 2], [2, 2], [0, 0, 0, 0], [1, 1]), ((1, 2, 6, 5), [3, 2], [2, 1], [1, 1, 1, 0], [1, 1]), ((1, 2, 7), [2], [1], [0, 0], [3])]
    for shape, kernel, strides, pads, dilations in table:
        x = some(*shape, modulus=13)
        y = np.zeros((*shape[:2], *outputs(shape[2:], kernel, strides, pads, dilations)), dtype=int)
        rows, columns = np.zeros_like(y), np.zeros_like(y)
        spatial = shape[2:]
        for at, within, _ in windows(spatial, kernel, strides, pads, dilations):
            for n, c in np.ndindex(*shape[:2]):
                _, best = max(within, key=lambda one: x[(n, c, *one[1])])
                plane = (n * shape[1] + c) * math.prod(spatial)
                y[(n, c, *at)] = x[(n, c, *best)]
                rows[(n, c, *at)] = plane + np.ravel_multi_index(best, spatial)
                columns[(n, c, *at)] = plane + np.ravel_multi_index(best, spatial, order="F")
        attributes = f"kernel_shape = {kernel}, strides = {strides}, pads = {pads}, dilations = {dilations}"
        case(f"max_pool_with_indices(x, {attributes})", "numbers", [y, Typed("i64", rows)], x=x)
        case(f"max_pool_with_indices(x, {attributes}, storage_order = true)", "numbers", [y, Typed("i64", columns)], x=x)
    call = "max_pool_with_indices(x, kernel_shape = [2])"
    case(call, "numbers", [np.zeros((0, 1, 2)), Typed("i64", np.zeros((0, 1, 2)))], x=np.zeros((0, 1, 3)))
    found = [np.array([[[NAN, NAN, -INF, INF]]]), Typed("i64", [[[1, 1, 2, 4]]])]
    case(call, "floats", found, x=[[[1.0, NAN, -INF, -INF, INF]]])


def unpools():
    x, at = some(1, 2, 2, 2) + 1, np.array([[[[0, 3], [8, 11]], [[17, 18], [21, 26]]]])
    y = np.zeros(2 * 3 * 5, dtype=int)
    grown = np.zeros((1, 2, 4, 4), dtype=int)
    spots = np.array([[[[0, 3], [9, 14]], [[17, 18], [21, 30]]]])
    grown.reshape(-1)[spots.reshape(-1)] = x.reshape(-1)
    case("max_unpool(x, i, kernel_shape = [2, 2], strides = [2, 2])", "all", grown, x=x, i=Typed("i64", spots))
    # A larger shape has zeros behind each axis: places count in the smaller one.
    small = y[: 1 * 2 * 3 * 3].reshape(1, 2, 3, 3).copy()
    near = np.array([[[[0, 2], [4, 8]], [[9, 12], [13, 17]]]])
    small.reshape(-1)[near.reshape(-1)] = x.reshape(-1)
    case("max_unpool(x, i, kernel_shape = [2, 2])", "all", small, x=x, i=Typed("i64", near))
    none = {"x": np.zeros((0, 1, 2)), "i": Typed("i64", np.zeros((0, 1, 2)))}
    case("max_unpool(x, i, kernel_shape = [2], strides = [2])", "numbers", np.zeros((0, 1, 4)), **none)
    one = {"x": [[[NAN, INF]]], "i": Typed("i64", [[[2, 1]]])}
    case("max_unpool(x, i, kernel_shape = [2], strides = [2])", "floats", [[[0.0, INF, NAN, 0.0]]], **one)


HALF = Fraction(1, 2)


def from_place(transform, y, n, out, scale):
    length = n * scale
    if transform == "align_corners":
        return Fraction(0) if length == 1 else y * (n - 1) / (length - 1)
    if transform == "asymmetric":
        return y / scale
    if transform == "pytorch_half_pixel" and length == 1:
        return -HALF
    half = (y + HALF) / scale - HALF
    return half + HALF * n * (1 - out / length) if transform == "half_pixel_symmetric" else half


def blend(mode, t, a=Fraction(-3, 4)):
    t = abs(t)
    if mode == "linear":
        return max(1 - t, 0)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0


ROUND = {"round_prefer_floor": lambda v: math.ceil(v - 0.5), "round_prefer_ceil": lambda v: math.floor(v + 0.5), "floor": math.floor, "ceil": math.ceil}


def line(x, out, mode="nearest", transform="half_pixel", nearest="round_prefer_floor", antialias=False, exclude=False, scale=None):
    """The first axis: the sum over all elements and those that the outermost ones are repeated by."""
    n = x.shape[0]
    scale = Fraction(scale) if scale else Fraction(out, n)
    rows = []
    for y in range(out):
        at = from_place(transform, y, n, out, scale)
        if mode == "nearest":
            rows.append(x[min(max(ROUND[nearest](at), 0), n - 1)])
            continue
        shrink = min(scale, 1) if antialias else 1
        places = range(0, n) if exclude else range(-4 * n - 8, 5 * n + 8)
        weights = [blend(mode, shrink * (i - at)) for i in places]
        total = sum(weights)
        rows.append(sum(x[min(max(i, 0), n - 1)] * float(w / total) for i, w in zip(places, weights)))
    return np.array(rows)


def both(x, out, **how):
    """The last two axes, one after another."""
    tall = np.moveaxis(line(np.moveaxis(x, 2, 0), out[0], **how), 0, 2)
    return np.moveaxis(line(np.moveaxis(tall, 3, 0), out[1], **how), 0, 3)


# A linear blend is of two weights that are rounded, two products and a sum, for each axis. A cubic one is of four weights,
# polynomials of the third degree whose terms reach 6, of places that are rounded themselves.
OFF = {"nearest": "", "linear": "4", "cubic": "16"}


def sizes():
    x = some(2, 3)
    case("resize(x, [4, 6])", "all", np.repeat(np.repeat(x, 2, 0), 2, 1), x=x)
    case("resize(x, [0, 3])", "all", np.zeros((0, 3)), x=x)
    case("resize(x, scales = [1.0, 2.0])", "all", np.repeat(x, 2, 1), x=x)
    case('resize(x, [4, 9], keep_aspect_ratio_policy = "not_larger")', "all", np.repeat(np.repeat(x, 2, 0), 2, 1), x=x)
    case('resize(x, [2], mode = "linear")', "numbers", [1, 5], x=[0, 2, 4, 6])
    x = reals(2, 1, 3, 5)
    for mode in ("nearest", "linear", "cubic"):
        for out in ([6, 10], [2, 3], [7, 4]):
            case(f'resize(x, {[2, 1, *out]}, mode = "{mode}")', "floats", both(x, out, mode=mode), OFF[mode], x=x)
    x = reals(1, 4, 2)
    along = lambda out, **how: np.moveaxis(line(np.moveaxis(x, 1, 0), out, **how), 0, 1)
    for transform in ("half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode, out in itertools.product(("nearest", "linear"), (1, 3, 8)):
            call = f'resize(x, [{out}], axes = [1], mode = "{mode}", coordinate_transformation_mode = "{transform}")'
            case(call, "floats", along(out, mode=mode, transform=transform), "4", x=x)
    for nearest in ("round_prefer_ceil", "floor", "ceil"):
        case(f'resize(x, [6], axes = [-2], nearest_mode = "{nearest}")', "floats", along(6, nearest=nearest), x=x)
    for mode in ("linear", "cubic"):
        for more, how, out in ((", antialias = true", {"antialias": True}, 3), (", exclude_outside = true", {"exclude": True}, 7)):
            case(f'resize(x, [{out}], axes = [1], mode = "{mode}"{more})', "floats", along(out, mode=mode, **how), OFF[mode], x=x)
    case('resize(x, scales = [0.625], axes = [1], mode = "linear")', "floats", along(2, mode="linear", scale=0.625), "4", x=x)
    special = np.array([NAN, 1.0, INF, 2.0])
    case("resize(x, [8])", "floats", np.repeat(special, 2), x=special)
    case('resize(x, [2], mode = "linear")', "floats", [NAN, INF], x=special)
    region = 'mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize", roi = [0.25, 1.25], extrapolation_value = -7.0'
    x = reals(5)
    case(f"resize(x, [5], {region})", "floats", [*x[1:], -7.0], "2", x=x)


def grids():
    def spot(i, n, align):
        return (2 * i / (n - 1) - 1 if n > 1 else 0.0) if align else (2 * i + 1) / n - 1

    for align, (batch, spatial) in itertools.product((False, True), ((2, (3, 2)), (1, (2, 1, 3)))):
        axes = len(spatial)
        x = reals(batch, axes, axes + 1)
        y = np.zeros((batch, *spatial, axes))
        for at in np.ndindex(*spatial):
            places = np.array([*(spot(at[a], spatial[a], align) for a in reversed(range(axes))), 1.0])
            y[(slice(None), *at)] = x @ places
        case(f"affine_grid(x, {[batch, 1, *spatial]}, align_corners = {str(align).lower()})", "floats", y, "4", x=x)
    case("affine_grid(x, [0, 1, 2, 2])", "floats", np.zeros((0, 2, 2, 2)), x=np.zeros((0, 2, 3)))
    case("affine_grid(x, [1, 1, 1, 1])", "floats", [[[[NAN, 2.0]]]], x=[[[1.0, 1.0, NAN], [1.0, 1.0, 2.0]]])
    case("affine_grid(x, [1, 1, 1, 1])", "floats", [[[[-INF, 2.0]]]], x=[[[1.0, 1.0, -INF], [1.0, 1.0, 2.0]]])


def write():
    blocks()
    transposed()
    columns()
    deforms()
    adaptive()
    norms()
    maxima()
    unpools()
    sizes()
    grids()
