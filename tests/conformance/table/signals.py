"""Transforms, linear algebra, images and random numbers."""

import math

import mpmath as mp
import numpy as np

from writer import FLOATS, INTS, Typed, case, reals, some

INF, NAN = math.inf, math.nan


def pairs(z):
    return np.stack([np.real(z), np.imag(z)], -1)


def transforms():
    for n in (1, 2, 5, 8, 12, 22):
        # A sum of n products, each with a root of unity that is rounded, in as many stages as n has factors.
        off = str(4 * (math.ceil(math.log2(n)) + 1))
        z = reals(2, n, 2)
        whole = z[..., 0] + 1j * z[..., 1]
        case("fft(x)", "floats", pairs(np.fft.fft(whole)), off, x=z)
        case("ifft(x)", "floats", pairs(np.fft.ifft(whole)), off, x=z)
        real = reals(2, n, step=29)
        case("rfft(x)", "floats", pairs(np.fft.rfft(real)), off, x=real)
        half = z[:, : n // 2 + 1].copy()
        half[:, 0, 1] = 0
        if n % 2 == 0:
            half[:, -1, 1] = 0
        # Pairs of roots, and the mirrored half once more.
        off = str(8 * (math.ceil(math.log2(n)) + 1))
        case(f"irfft(x, n = {n})", "floats", np.fft.irfft(half[..., 0] + 1j * half[..., 1], n), off, x=half)
    z = reals(6, 3, 2)
    whole = z[..., 0] + 1j * z[..., 1]
    case("fft(x, axis = 0)", "floats", pairs(np.fft.fft(whole, axis=0)), "16", x=z)
    case("fft(x, axis = -2)", "floats", pairs(np.fft.fft(whole, axis=0)), "16", x=z)
    case("ifft(x, axis = -2)", "floats", pairs(np.fft.ifft(whole, axis=0)), "16", x=z)
    half = z[:4].copy()
    half[[0, 3], :, 1] = 0
    wanted = np.fft.irfft(half[..., 0] + 1j * half[..., 1], 6, axis=0)
    case("irfft(x, axis = -2)", "floats", wanted, "32", x=half)
    real = reals(6, 3, step=29)
    case("rfft(x, axis = -2)", "floats", pairs(np.fft.rfft(real, axis=0)), "16", x=real)
    for name in ("fft", "ifft"):
        case(f"{name}(x)", "floats", np.zeros((0, 4, 2)), x=np.zeros((0, 4, 2)))
    case("rfft(x)", "floats", np.zeros((0, 3, 2)), x=np.zeros((0, 4)))
    case("irfft(x)", "floats", np.zeros((0, 4)), x=np.zeros((0, 3, 2)))
    for name in ("fft", "ifft"):
        case(f"{name}(x)", "floats", [[NAN, NAN]] * 3, x=[[1.0, 0.0], [NAN, NAN], [0.0, 0.0]])
    case("irfft(x)", "floats", [NAN] * 4, x=[[1.0, 0.0], [NAN, NAN], [0.0, 0.0]])
    signal, window = reals(2, 23), reals(8, step=5)
    frames = np.stack([signal[:, t : t + 8] * window for t in range(0, 16, 4)], 1)
    case("stft(x, w, frame_step = 4)", "floats", pairs(np.fft.rfft(frames)), "20", x=signal, w=window)
    case("stft(x, w, frame_step = 4, onesided = false)", "floats", pairs(np.fft.fft(frames)), "20", x=signal, w=window)
    case("stft(x, w, frame_step = 4)", "floats", np.zeros((0, 1, 5, 2)), x=np.zeros((0, 8)), w=window)


def windows():
    weights = {"hann": (0.5, -0.5, 0), "hamming": (25 / 46, -21 / 46, 0), "blackman": (0.42, -0.5, 0.08)}
    for name, (a, b, c) in weights.items():
        for n in (0, 1, 2, 7):
            for periodic in (True, False):
                if n == 1 and not periodic:
                    continue
                t = 2 * np.pi * np.arange(n) / (n if periodic else n - 1)
                # Of f64 the angle is rounded, which a cosine near 0 shows.
                off = "4"
                case(f"{name}_window::<T>({n}, periodic = {str(periodic).lower()})", "floats", a + b * np.cos(t) + c * np.cos(2 * t), off)
    for bins, length, rate, low, high in ((8, 16, 8192, 0.0, 4096.0), (5, 64, 16000, 20.0, 8000.0)):
        mel = lambda hertz: 2595 * np.log10(1 + hertz / 700)
        edges = mel(low) + np.arange(bins + 2) * (mel(high) - mel(low)) / (bins + 2)
        edges = np.floor((length + 1) * (700 * (10 ** (edges / 2595) - 1)) / rate).astype(int)
        out = np.zeros((length // 2 + 1, bins))
        for band in range(bins):
            first, middle, last = edges[band : band + 3]
            for j in range(first, middle + 1):
                out[j, band] = 1 if middle == first else (j - first) / (middle - first)
            for j in range(middle, last):
                out[j, band] = (last - j) / (last - middle)
        attributes = f"num_mel_bins = {bins}, dft_length = {length}, sample_rate = {rate}"
        call = f"mel_weight_matrix::<T>({attributes}, lower_edge_hertz = {low}, upper_edge_hertz = {high})"
        case(call, "floats", out, "1")
        case(call, " ".join(INTS), np.trunc(out))


def well(n):
    """Rows with one large element each, in another column, so that no rounding decides an exchange."""
    a = reals(n, n, step=23) / 2
    for i in range(n):
        a[i, (i + 1) % n] += 4 + i
    return a


def solved(a, y):
    return exact(mp.lu_solve, a, y) if y.ndim == 1 else np.hstack([exact(mp.lu_solve, a, c) for c in y.T])


def exact(what, *matrices):
    """What mpmath says of matrices, rounded once: the last digits of LAPACK are those of the machine that it runs on."""
    found = what(*(mp.matrix(m.tolist()) for m in matrices))
    parts = [np.array(part.tolist(), dtype=np.float64) for part in (found if isinstance(found, tuple) else (found,))]
    return parts if isinstance(found, tuple) else parts[0]


def matrices():
    for n in (1, 2, 5):
        a = well(n)
        y, v = reals(n, 3, step=5), reals(n, step=11)
        # Three roundings for each of n steps, and what a condition of about 4 makes of them.
        off = str(12 * n)
        case("solve(a, y)", "floats", solved(a, y), off, a=a, y=y)
        case("solve(a, v)", "floats", solved(a, v)[:, 0], off, a=a, v=v)
        case("inv(a)", "floats", exact(mp.inverse, a), off, a=a)
        case("det(a)", "floats", float(mp.det(mp.matrix(a.tolist()))), off, a=a)
        t = reals(n, n, step=3) / 4 + 3 * np.eye(n)
        for lower in (True, False):
            half = np.tril(t) if lower else np.triu(t)
            words = f"lower = {str(lower).lower()}"
            case(f"solve_triangular(a, y, {words})", "floats", solved(half, y), off, a=t, y=y)
            half = half - np.diag(np.diag(half)) + np.eye(n)
            case(f"solve_triangular(a, y, {words}, unit_diagonal = true)", "floats", solved(half, y), off, a=t, y=y)
        p = np.where(np.eye(n), 6, 1 / 2 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
        case("cholesky(a)", "floats", exact(mp.cholesky, p), off, a=p)
        factors(a, n, off)
    for name in ("solve", "solve_triangular"):
        case(f"{name}(a, y)", "floats", np.zeros((0, 2)), a=np.zeros((0, 0)), y=np.zeros((0, 2)))
    case("inv(a)", "floats", np.zeros((0, 2, 2)), a=np.zeros((0, 2, 2)))
    case("det(a)", "floats", 1.0, a=np.zeros((0, 0)))
    case("cholesky(a)", "floats", np.zeros((0, 0)), a=np.zeros((0, 0)))
    case("cholesky(a)", "floats", [[NAN]], a=[[-4.0]])
    a = np.array([[1.0, 0.5], [0.5, 2.0]])
    case("solve(a, y)", "floats", [NAN, NAN], a=a, y=[NAN, 1.0])
    case("solve_triangular(a, y)", "floats", [0.5, NAN], a=[[2.0, 0.0], [1.0, 1.0]], y=[1.0, NAN])
    case("inv(a)", "floats", [[NAN]], a=[[NAN]])
    case("solve(a, y)", "floats", [-INF], a=[[-2.0]], y=[INF])
    case("solve_triangular(a, y)", "floats", [0.5, INF], a=[[2.0, 0.0], [1.0, 1.0]], y=[1.0, INF])
    case("cholesky(a)", "floats", [[INF]], a=[[INF]])
    case("det(a)", "floats", np.array(-INF), a=[[-INF]])
    case("lu(a)", "floats", [np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), NAN)], a=[[NAN]])
    case("qr(a)", "floats", [np.full((2, 1), NAN), np.full((1, 1), NAN)], a=[[NAN], [1.0]])
    none = np.zeros((0, 0))
    case("lu(a)", "floats", [none, none, none], a=none)
    case("qr(a)", "floats", [np.zeros((2, 0)), none], a=np.zeros((2, 0)))
    case("det(a)", "floats", NAN, a=[[NAN, 1.0], [1.0, 1.0]])


def factors(a, n, off):
    """The pivots are the large elements, one a column."""
    order = [(i - 1) % n for i in range(n)]
    p = np.zeros((n, n))
    lower, upper = np.eye(n), a.copy()
    rows = list(range(n))
    for c in range(n):
        best = max(range(c, n), key=lambda r: abs(upper[r, c]))
        upper[[c, best]] = upper[[best, c]]
        rows[c], rows[best] = rows[best], rows[c]
        lower[[c, best], :c] = lower[[best, c], :c]
        for r in range(c + 1, n):
            lower[r, c] = upper[r, c] / upper[c, c]
            upper[r] -= lower[r, c] * upper[c]
            upper[r, c] = 0
    for at, row in enumerate(rows):
        p[row, at] = 1
    assert np.allclose(p @ lower @ upper, a) and sorted(order) == sorted(rows)
    case("lu(a)", "floats", [p, lower, upper], off, a=a)
    tall = reals(n + 2, n, step=23)
    q, r = exact(lambda m: mp.qr(m, mode="skinny"), tall)
    case("qr(a)", "floats", [q, r], off, a=tall)


def tap(x, at):
    """An element, 0 outside."""
    return x[at] if all(0 <= i < n for i, n in zip(at, x.shape)) else 0.0


def reflected(v, low, high):
    span = high - low
    if span == 0:
        return low
    v = abs(v - low) % (2 * span)
    return low + (v if v <= span else 2 * span - v)


def place(v, n, padding, align):
    """A coordinate inside, as the padding says."""
    low, high = (0.0, n - 1.0) if align else (-0.5, n - 0.5)
    if low <= v <= high:
        return v
    if padding == "border":
        return min(max(v, 0.0), n - 1.0)
    return reflected(v, low, high) if padding == "reflection" else v


def at_border(i, n, padding, align):
    if padding == "border":
        return min(max(i, 0), n - 1)
    if padding == "reflection":
        low, high = (0.0, n - 1.0) if align else (-0.5, n - 0.5)
        return int(min(max(round(reflected(float(i), low, high)), 0), n - 1))
    return i


def cubic(t):
    a = -0.75
    near = lambda t: ((a + 2) * t - (a + 3)) * t * t + 1
    far = lambda t: ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def weights(v, mode):
    """Whole places along an axis and the part of each."""
    if mode == "nearest":
        return [(int(np.round(v)), 1.0)]
    base = math.floor(v)
    if mode == "linear":
        return [(base, 1 - (v - base)), (base + 1, v - base)]
    return list(zip(range(base - 1, base + 3), cubic(v - base)))


def sample(x, coordinates, mode, padding, align):
    total = 0.0
    axes = []
    for v, n in zip(coordinates, x.shape):
        v = (v + 1) / 2 * (n - 1) if align else ((v + 1) * n - 1) / 2
        if mode == "nearest":
            v = float(np.round(v))
        if mode != "cubic":
            v = place(v, n, padding, align)
        axes.append([(at_border(i, n, padding, align), w) for i, w in weights(v, mode)])
    for r, wr in axes[0]:
        for c, wc in axes[1]:
            total += wr * wc * tap(x, (r, c))
    return total


ALIGN = {
    ("linear", "zeros"): (False, True),
    ("linear", "border"): (False,),
    ("linear", "reflection"): (True,),
    ("nearest", "zeros"): (False,),
    ("nearest", "border"): (True,),
    ("nearest", "reflection"): (False,),
    ("cubic", "zeros"): (True,),
    ("cubic", "border"): (False,),
    ("cubic", "reflection"): (False,),
}
FEW = [("linear", "zeros", False), ("nearest", "border", True), ("cubic", "reflection", False)]


def grids():
    x = reals(1, 2, 4, 8)
    # Eighths: exact in every dtype, and never half way between two elements.
    grid = np.array([[-1.0, -1.0], [-0.6875, 0.3125], [0.0625, 0.1875], [0.9375, -0.4375], [1.3125, 0.5625], [-1.8125, 1.6875]])
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            # Each way of blending and of padding; they are large kernels, so that of other dtypes than f32 there are few.
            for align in ALIGN[mode, padding]:
                y = [[[[sample(x[0, c], (v, u), mode, padding, align) for u, v in grid]] for c in range(2)]]
                attributes = f'mode = "{mode}", padding_mode = "{padding}", align_corners = {str(align).lower()}'
                on = "floats" if (mode, padding, align) in FEW else "f32"
                case(f"grid_sample(x, g, {attributes})", on, y, "12", x=x, g=grid.reshape(1, 1, 6, 2))
    y = x.copy()
    y[0, 0, 1, 2], y[0, 1, 0, 0] = NAN, INF
    for mode in ("nearest", "linear"):
        found = [[[[sample(y[0, c], (v, u), mode, "zeros", True) for u, v in grid[:2]]] for c in range(2)]]
        case(f'grid_sample(x, g, mode = "{mode}", align_corners = true)', "floats", found, "12", x=y, g=grid[:2].reshape(1, 1, 2, 2))
    case("grid_sample(x, g)", "floats", np.zeros((0, 2, 1, 1)), x=np.zeros((0, 2, 4, 8)), g=np.zeros((0, 1, 1, 2)))


def bilinear(x, y, u, largest):
    height, width = x.shape
    if y < -1 or y > height or u < -1 or u > width:
        return 0.0
    y, u = max(y, 0.0), max(u, 0.0)
    top, left = min(int(y), height - 1), min(int(u), width - 1)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, w = (0.0 if top >= height - 1 else y - top), (0.0 if left >= width - 1 else u - left)
    parts = [x[top, left] * (1 - v) * (1 - w), x[top, right] * (1 - v) * w, x[bottom, left] * v * (1 - w), x[bottom, right] * v * w]
    return max(parts) if largest else sum(parts)


def part(x, box, at, half, ratio, largest):
    """Part `at` of 2 x 3 of a box, of samples between four elements each."""
    left, top, right, bottom = box * 0.5 - (0.5 if half else 0.0)
    width, height = (right - left, bottom - top) if half else (max(right - left, 1.0), max(bottom - top, 1.0))
    rows, columns = height / 2, width / 3
    down, across = ratio or math.ceil(rows), ratio or math.ceil(columns)
    y, u = top + at[0] * rows, left + at[1] * columns
    values = [
        bilinear(x, y + (i + 0.5) * rows / down, u + (j + 0.5) * columns / across, largest)
        for i in range(down)
        for j in range(across)
    ]
    return max(values) if largest else sum(values) / max(len(values), 1)


def regions():
    x = reals(2, 2, 5, 6)
    rois = np.array([[0.5, 0.75, 4.0, 3.5], [-1.0, -0.5, 2.5, 7.0], [1.0, 1.0, 1.25, 1.5]])
    which = [1, 0, 1]
    for mode, half, ratio, on in (("avg", False, 2, "floats"), ("max", True, 0, "floats"), ("avg", True, 0, "f32"), ("max", False, 2, "f32")):
        y = np.zeros((3, 2, 2, 3))
        for n, c, r, q in np.ndindex(*y.shape):
            y[n, c, r, q] = part(x[which[n], c], rois[n], (r, q), half, ratio, mode == "max")
        transformation = "half_pixel" if half else "output_half_pixel"
        attributes = f'output_height = 2, output_width = 3, sampling_ratio = {ratio}, spatial_scale = 0.5, mode = "{mode}"'
        call = f'roi_align(x, r, i, {attributes}, coordinate_transformation_mode = "{transformation}")'
        # Coordinates of a few roundings, by which neighbours of up to 4 are weighed.
        case(call, on, y, "16", x=x, r=rois, i=Typed("i64", which))
    y = np.array([[[[NAN, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, INF]]]])
    spots = [[0.5, 0.5, 1.0, 1.0], [1.5, 1.5, 3.0, 3.0], [1.5, 0.5, 2.0, 1.0]]
    case("roi_align(x, r, i, sampling_ratio = 1)", "floats", [[[[NAN]]], [[[INF]]], [[[1.0]]]], "8", x=y, r=spots, i=Typed("i64", [0, 0, 0]))
    case("roi_align(x, r, i)", "floats", np.zeros((0, 2, 1, 1)), x=x, r=np.zeros((0, 4)), i=Typed("i32", np.zeros(0)))


def overlap(a, b):
    side = lambda i: max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0)
    area = lambda c: (c[2] - c[0]) * (c[3] - c[1])
    both = side(0) * side(1)
    return both / (area(a) + area(b) - both)


def boxes():
    corners = np.array([[0, 0, 1, 1], [0, 0.125, 1, 1.125], [1, 0.875, 0, -0.125], [0, 10, 1, 11], [0, 10.5, 1, 11.5], [0, 100, 1, 101]])
    scores = np.array([[0.875, 0.75, 0.625, 0.9375, 0.5, 0.25], [0.125, 0.25, 0.375, 0.0, 0.5, 0.75]])
    most = 3
    for least in (0.0, 0.5):
        picked = []
        for c in range(2):
            taken = []
            for i in sorted(range(6), key=lambda i: (-scores[c, i], i)):
                box = lambda i: (min(corners[i, 0], corners[i, 2]), min(corners[i, 1], corners[i, 3]), max(corners[i, 0], corners[i, 2]), max(corners[i, 1], corners[i, 3]))
                if scores[c, i] > least and len(taken) < most and all(overlap(box(i), box(j)) <= 0.5 for j in taken):
                    taken.append(i)
            picked += [(0, c, i) for i in taken]
        rows = np.zeros((2 * most, 3), dtype=int)
        rows[: len(picked)] = picked
        call = f"non_max_suppression(b, s, max_output_boxes_per_class = {most}, iou_threshold = 0.5, score_threshold = {least})"
        found = [Typed("i64", rows), Typed("i64", np.array(len(picked)))]
        case(call, "floats", found, b=corners[None], s=scores[None])
        call = f"non_max_suppression(b, s, [], t, l, max_output_boxes_per_class = {most})"
        case(call, "floats", found, b=corners[None], s=scores[None], t=np.array(0.5), l=np.array(least))
        call = "non_max_suppression(b, s, m, t, max_output_boxes_per_class = 5, score_threshold = " + f"{least})"
        rows = np.zeros((10, 3), dtype=int)
        rows[: len(picked)] = picked
        found = [Typed("i64", rows), found[1]]
        asked = Typed("i32", np.array(most))
        case(call, "floats", found, b=corners[None], s=scores[None], m=asked, t=np.array(0.5))
    for asked in (0, -1):
        none = [Typed("i64", np.zeros((4, 3))), Typed("i64", np.array(0))]
        call = "non_max_suppression(b, s, m, max_output_boxes_per_class = 2)"
        case(call, "floats", none, b=corners[None], s=scores[None], m=Typed("i64", np.array(asked)))
    # Nothing exceeds what is no number, and everything is above the least.
    found = [Typed("i64", [[0, 0, 3], [0, 0, 0], [0, 1, 5], [0, 1, 4]]), Typed("i64", np.array(4))]
    call = "non_max_suppression(b, s, [], t, l, max_output_boxes_per_class = 2)"
    case(call, "floats", found, b=corners[None], s=scores[None], t=np.array(NAN), l=np.array(-INF))
    found = [Typed("i64", [[0, 0, 2], [0, 0, 0]]), Typed("i64", np.array(1))]
    call = "non_max_suppression(b, s, max_output_boxes_per_class = 2, score_threshold = 0.0)"
    case(call, "floats", found, b=corners[None, [0, 3, 5]], s=[[[NAN, -INF, INF]]])
    empty = [Typed("i64", np.zeros((0, 3))), Typed("i64", np.array(0))]
    case("non_max_suppression(b, s, max_output_boxes_per_class = 2)", "floats", empty, b=np.zeros((1, 0, 4)), s=np.zeros((1, 1, 0)))


MASK = (1 << 64) - 1


def stir(z, shift, factor):
    return ((z ^ (z >> shift)) * factor) & MASK


def bits(seed, stream, count):
    """SplitMix64, counted from a seed and a stream that are stirred once."""
    start = stir((seed + stream * 0xD1B54A32D192ED03) & MASK, 30, 0xBF58476D1CE4E5B9)
    for at in range(count):
        z = (start + (at + 1) * 0x9E3779B97F4A7C15) & MASK
        z = stir(stir(z, 30, 0xBF58476D1CE4E5B9), 27, 0x94D049BB133111EB)
        yield z ^ (z >> 31)


DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def unit(seed, count, dtype, stream=0):
    digits = DIGITS[dtype]
    return np.array([(z >> (64 - digits)) * 0.5**digits for z in bits(seed, stream, count)])


def chances():
    wide = {"f16": "f32", "bf16": "f32", "f32": "f32", "f64": "f64"}
    for dtype in FLOATS:
        u = unit(9, 12, dtype).reshape(3, 4)
        case("random_uniform::<T>(9, [3, 4])", dtype, u)
        case("random_uniform::<T>(9, [3, 4], low = -2.0, high = 6.0)", dtype, u * 8 - 2, "1")
        case("random_uniform::<T>(9, [0, 4])", dtype, np.zeros((0, 4)))
        case("random_uniform::<T>(s, [])", dtype, unit(77, 1, dtype)[0], s=Typed("u64", np.array(77)))
        a, b = unit(3, 60, wide[dtype]), unit(3, 60, wide[dtype], 1)
        normal = np.sqrt(-2 * np.log1p(-a)) * np.cos(2 * np.pi * b)
        case("random_normal::<T>(3, [60])", dtype, normal, "4")
        case("random_normal::<T>(3, [60], mean = 1.0, scale = 0.5)", dtype, normal / 2 + 1, "4")
        p = np.array([0.0, 1.0, 0.5, 0.25, 0.75, 0.5])
        case("bernoulli(p, 11)", dtype, (unit(11, 6, dtype) < p).astype(int), p=p)
        x = np.array([1.0, NAN, INF, -2.0, 3.0, 0.5, 1.5, 0.25])
        kept = unit(5, 8, dtype) >= 0.75
        case("dropout(x, 5, ratio = 0.75)", dtype, np.where(kept, 4 * x, 0.0), x=x)
        case("random_normal::<T>(3, [2, 0])", dtype, np.zeros((2, 0)))
        case("bernoulli(p, 11)", dtype, np.zeros(0), p=np.zeros(0))
        case("bernoulli(p, 11)", dtype, [0.0], p=[NAN])
        case("bernoulli(p, 11)", dtype, [1.0, 0.0], p=[INF, -INF])
        case("multinomial(x, 1)", dtype, Typed("i64", np.zeros((0, 1))), x=np.zeros((0, 3)))
        case("dropout(x, 5)", dtype, np.zeros((2, 0)), x=np.zeros((2, 0)))
        logs = np.log(np.array([[1, 64, 1], [32, 1, 1], [1, 1, 1]]))
        logs = np.round(logs * 8) / 8
        step = 0.5 ** (54 if wide[dtype] == "f64" else 25)
        drawn = unit(1, 36, wide[dtype]).reshape(3, 4, 3) + step
        score = logs[:, None] - np.log(-np.log(drawn))
        best = np.sort(score, -1)
        # No rounding decides a draw.
        assert (best[..., 2] - best[..., 1]).min() > 0.01
        case("multinomial(x, 1, sample_size = 4)", dtype, Typed("i64", score.argmax(-1)), x=logs)
    for dtype in ("bool", "i32", "f32"):
        case(f"bernoulli::<{dtype}>(p, 11)", "f32", Typed(dtype, unit(11, 3, "f32") < 0.5), p=[0.5, 0.5, 0.5])


def write():
    transforms()
    windows()
    matrices()
    grids()
    regions()
    boxes()
    chances()
