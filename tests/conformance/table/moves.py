"""Operators that move, index, order and make elements."""

import math

import numpy as np

from writer import FLOATS, INTS, Typed, case, reals, some

INF, NAN = math.inf, math.nan


def I(value, dtype="i64"):
    return Typed(dtype, value)


def shapes():
    x, none, one = some(2, 3, 4), np.zeros((2, 0, 3)), np.array(1)
    case("reshape(x, [4, 6])", "all", x.reshape(4, 6), x=x)
    case("reshape(x, [3, -1])", "all", x.reshape(3, 8), x=x)
    case("reshape(none, [0, 7])", "all", np.zeros((0, 7)), none=none)
    case("reshape(one, [1, 1])", "all", one.reshape(1, 1), one=one)
    for axis in (0, 1, -1, 3):
        case(f"flatten(x, axis = {axis})", "all", x.reshape(int(np.prod(x.shape[:axis])), -1), x=x)
    case("flatten(none)", "all", np.zeros((2, 0)), none=none)
    case("transpose(x)", "all", x.T, x=x)
    case("transpose(x, axes = [1, -1, 0])", "all", x.transpose(1, 2, 0), x=x)
    case("transpose(none)", "all", none.T, none=none)
    case("transpose(one)", "all", one, one=one)
    thin = some(1, 3, 1)
    case("squeeze(thin)", "all", thin.reshape(3), thin=thin)
    case("squeeze(thin, axis = -1)", "all", thin.reshape(1, 3), thin=thin)
    case("squeeze(none)", "all", none, none=none)
    case("expand_dims(x, axis = [0, -1])", "all", x.reshape(1, 2, 3, 4, 1), x=x)
    case("expand_dims(one, axis = 0)", "all", one.reshape(1), one=one)
    case("expand_dims(none, axis = 1)", "all", none.reshape(2, 1, 0, 3), none=none)
    case("broadcast_to(thin, [2, 5, 3, 4])", "all", np.broadcast_to(thin, (2, 5, 3, 4)), thin=thin)
    case("broadcast_to(one, [0, 2])", "all", np.zeros((0, 2)), one=one)
    case("broadcast_to(one, [2, 3])", "all", np.ones((2, 3)), one=one)
    joins(x, none, one)
    cuts(x, none, one)


def joins(x, none, one):
    y = some(2, 1, 4, step=3)
    case("concat([x, y, x], axis = 1)", "all", np.concatenate([x, y, x], 1), x=x, y=y)
    case("concat([x, x], axis = -1)", "all", np.concatenate([x, x], -1), x=x)
    case("concat([none, none], axis = 0)", "all", np.zeros((4, 0, 3)), none=none)
    case("stack([x, x])", "all", np.stack([x, x]), x=x)
    case("stack([one, one], axis = 0)", "all", np.stack([one, one]), one=one)
    case("stack([x, x], axis = -1)", "all", np.stack([x, x], -1), x=x)
    case("stack([none, none], axis = 1)", "all", np.stack([none, none], 1), none=none)


def cuts(x, none, one):
    case("split(x, sections = 2, axis = -1)", "all", np.split(x, 2, -1), x=x)
    case("split(x, sections = [1, 3], axis = 2)", "all", np.split(x, [1, 3], 2), x=x)
    case("split(none, sections = 2)", "all", np.split(none, 2), none=none)
    case("flip(x)", "all", np.flip(x), x=x)
    case("flip(x, axis = [0, -1])", "all", np.flip(x, (0, 2)), x=x)
    case("flip(none, axis = 2)", "all", none, none=none)
    case("flip(one)", "all", one, one=one)
    widths = ((1, 2), (0, 1), (2, 0))
    text = str([list(w) for w in widths])
    case(f"pad(x, pad_width = {text})", "all", np.pad(x, widths), x=x)
    case(f"pad(x, pad_width = {text}, constant_values = 1)", "numbers", np.pad(x, widths, constant_values=1), x=x)
    for mode in ("edge", "wrap"):
        case(f'pad(x, pad_width = {text}, mode = "{mode}")', "all", np.pad(x, widths, mode=mode), x=x)
    inner = ((1, 1), (2, 1), (3, 0))
    case(f'pad(x, pad_width = {str([list(w) for w in inner])}, mode = "reflect")', "all", np.pad(x, inner, mode="reflect"), x=x)
    case("pad(none, pad_width = [[0, 0], [1, 1], [0, 1]])", "all", np.zeros((2, 2, 4)), none=none)


def indexing():
    x, none = some(3, 4, step=5), np.zeros((0, 2))
    for dtype in ("i64", "i32", "i8", "u8"):
        i = np.array([[0, 2, 1], [1, 0, 7]]) - (dtype != "u8")
        wrapped = lambda i, n: np.clip(np.where(i < 0, i + n, i), 0, n - 1)
        case("take(x, i)", "all", np.take(x, wrapped(i, 3), 0), x=x, i=I(i, dtype))
        case("take(x, i, axis = -1)", "all", np.take(x, wrapped(i, 4), 1), x=x, i=I(i, dtype))
        at = i.T
        case("take_along_axis(x, i, axis = -2)", "all", np.take_along_axis(x[:, :2], wrapped(at, 3), 0), x=x, i=I(at, dtype))
        case("take_along_axis(x, i, axis = 0)", "all", np.take_along_axis(x[:, :2], wrapped(at, 3), 0), x=x, i=I(at, dtype))
    one = I(np.array(1))
    case("take(x, one)", "all", x[1], x=x, one=one)
    case("take(x, i)", "all", np.zeros((0, 4)), x=x, i=I(np.zeros(0)))
    case("take(none, i)", "all", np.zeros((1, 2)), none=none, i=I([0]))
    case("take_along_axis(x, i)", "all", np.zeros((3, 0)), x=x, i=I(np.zeros((3, 0))))
    pairs = np.array([[0, 1], [2, -1], [-3, 0]])
    case("gather(x, i)", "all", x[pairs[:, 0], pairs[:, 1]], x=x, i=I(pairs))
    case("gather(x, i)", "all", x[[2, 0]], x=x, i=I([[2], [0]], "i32"))
    y = some(2, 3, 2)
    case("gather(y, i, batch_dims = 1)", "all", np.stack([y[0, 2], y[1, 0]]), y=y, i=I([[2], [0]]))
    case("gather(x, i)", "all", np.zeros((0, 4)), x=x, i=I(np.zeros((0, 1))))
    scatters(x)
    others(x)


def scatters(x):
    meet = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for name, f in meet.items():
        y, z = x.copy(), x.copy()
        places, new = np.array([[0, 1], [2, -1], [0, 1]]), np.array([2, 3, 4])
        for (r, c), n in zip(places, new):
            y[r, c] = f(y[r, c], n)
        on = "all" if name == "none" else "numbers"
        case(f'scatter(x, i, n, reduction = "{name}")', on, y, x=x, i=I(places), n=new)
        along, updates = np.array([[0, 2, 1, 0], [0, -1, 1, 2]]), some(2, 4, modulus=6)
        for r in range(2):
            for c in range(4):
                z[along[r, c], c] = f(z[along[r, c], c], updates[r, c])
        for axis in (0, -2):
            call = f'put_along_axis(x, i, n, axis = {axis}, reduction = "{name}")'
            case(call, on, z, x=x, i=I(along, "i32"), n=updates)
    y = x.copy()
    y[1] = [1, 0, 2, 0]
    case("scatter(x, i, n)", "all", y, x=x, i=I([[1], [5]]), n=np.array([[1, 0, 2, 0], [1, 1, 1, 1]]))
    case("scatter(x, i, n)", "all", x, x=x, i=I(np.zeros((0, 2))), n=np.zeros(0))
    case("put_along_axis(x, i, n)", "all", x, x=x, i=I(np.zeros((3, 0))), n=np.zeros((3, 0)))
    for name in ("max", "min"):
        f = {"max": np.maximum, "min": np.minimum}[name]
        a, b = np.array([1.0, NAN, INF, -INF]), np.array([NAN, 1.0, -INF, 2.0])
        case(f'put_along_axis(x, i, n, reduction = "{name}")', "floats", f(a, b), x=a, i=I([0, 1, 2, 3]), n=b)


def others(x):
    hot = [[0, 2, -1], [5, 1, 0]]
    where = np.array(hot)[..., None]
    where = np.where(where < 0, where + 3, where) == np.arange(3)
    for dtype in ("i64", "i8", "u16", "f32"):
        i = np.array(hot) if dtype != "u16" else np.array(hot) % 6
        there = np.where(i < 0, i + 3, i)[..., None] == np.arange(3)
        case("one_hot(i, 3, v)", "all", np.where(there, 1, 0), i=I(i, dtype), v=[0, 1])
    for axis in (0, -2):
        wanted = np.where(np.moveaxis(where, -1, axis), 0, 1)
        case(f"one_hot(i, 3, v, axis = {axis})", "all", wanted, i=I(hot), v=[1, 0])
    case("one_hot(i, 2, v)", "all", [0, 1], i=I(np.array(1)), v=[0, 1])
    case("one_hot(i, 3, v)", "all", np.zeros((0, 3)), i=I(np.zeros(0)), v=[0, 1])
    y, lengths = some(4, 3), [1, 4, 2]
    reversed_ = y.copy()
    for b, n in enumerate(lengths):
        reversed_[:n, b] = y[:n, b][::-1]
    case("reverse_sequence(x, n)", "all", reversed_, x=y, n=I(lengths))
    case("reverse_sequence(x, n, time_axis = 1, batch_axis = 0)", "all", reversed_.T, x=y.T, n=I(lengths, "i32"))
    case("reverse_sequence(x, n)", "all", np.zeros((0, 3)), x=np.zeros((0, 3)), n=I(lengths))
    case("roll(x, shift = 5)", "all", np.roll(x, 5), x=x)
    case("roll(x, shift = [1, -2], axis = [0, -1])", "all", np.roll(x, (1, -2), (0, 1)), x=x)
    case("roll(x, shift = 1, axis = 0)", "all", np.zeros((0, 2)), x=np.zeros((0, 2)))
    case("repeat(x, repeats = 3)", "all", np.repeat(x, 3), x=x)
    case("repeat(x, repeats = 2, axis = -1)", "all", np.repeat(x, 2, -1), x=x)
    case("repeat(x, repeats = 1, axis = 0)", "all", x, x=x)
    case("repeat(x, repeats = 4, axis = 0)", "all", np.zeros((0, 2)), x=np.zeros((0, 2)))
    case("repeat(x, repeats = 2)", "all", [7, 7], x=np.array(7))
    z = some(2, 3, 4) + 1
    for name, f in (("tril", np.tril), ("triu", np.triu)):
        for k in (-1, 0, 2):
            case(f"{name}(x, k = {k})", "all", f(z, k), x=z)
        case(f"{name}(x)", "all", np.zeros((0, 3)), x=np.zeros((0, 3)))
        case(f"{name}(x)", "floats", f(np.array([[NAN, 1.0], [INF, NAN]])), x=[[NAN, 1.0], [INF, NAN]])


def stable(x, descending):
    """The places of a vector's elements in order, NaN as the largest; equals stay in theirs."""
    key = lambda i: (math.isnan(x[i]), 0 if math.isnan(x[i]) else x[i])
    places = sorted(range(len(x)), key=key)
    if descending:
        runs = {}
        for i in places:
            runs.setdefault(key(i), []).append(i)
        places = [i for k in sorted(runs, reverse=True) for i in runs[k]]
    return places


def ordered(x, axis, descending):
    return np.apply_along_axis(lambda row: stable(row, descending), axis, x).astype(int)


def orders():
    x, special = some(3, 5, step=4, modulus=9), np.array([[1.0, NAN, -INF, 1.0, INF], [NAN, 0.5, NAN, -1.0, 0.5]])
    for descending, axis in ((False, 0), (True, -1)):
        places = ordered(x, axis, descending)
        attributes = f"axis = {axis}, descending = {'true' if descending else 'false'}"
        case(f"sort(x, {attributes})", "numbers", np.take_along_axis(x, places, axis), x=x)
        case(f"argsort(x, {attributes})", "numbers", I(places), x=x)
        places = ordered(special, -1, descending)
        attributes = f"descending = {'true' if descending else 'false'}"
        case(f"sort(x, {attributes})", "floats", np.take_along_axis(special, places, -1), x=special)
        case(f"argsort(x, {attributes})", "floats", I(places), x=special)
        largest = "true" if descending else "false"
        for k in (0, 1, 2, 5):
            best = ordered(special, -1, descending)[:, :k]
            results = [np.take_along_axis(special, best, -1), I(best)]
            case(f"top_k(x, k = {k}, largest = {largest})", "floats", results, x=special)
        one = ordered(x, 0, descending)[:1]
        case(f"top_k(x, k = 1, axis = 0, largest = {largest})", "numbers", [np.take_along_axis(x, one, 0), I(one)], x=x)
        best = ordered(x, 0, descending)[:2]
        for axis in (0, -2):
            results = [np.take_along_axis(x, best, 0), I(best)]
            case(f"top_k(x, k = 2, axis = {axis}, largest = {largest})", "numbers", results, x=x)
    flags = np.array([1, 0, 1, 0])
    case("sort(x)", "bool", [0, 0, 1, 1], x=flags)
    case("argsort(x)", "bool", I([1, 3, 0, 2]), x=flags)
    case("searchsorted(t, v)", "bool", I([0, 2]), t=[0, 0, 1], v=[0, 1])
    case("unique(x)", "bool", [[0, 1, 0, 0], I(np.array(2))], x=flags)
    none = np.zeros((2, 0))
    case("sort(none)", "numbers", none, none=none)
    case("argsort(none)", "numbers", I(none), none=none)
    case("top_k(none, k = 0)", "numbers", [none, I(none)], none=none)
    counted()
    searched()
    running()


def searched():
    table, values = np.array([0, 2, 2, 5]), np.array([[0, 1, 2], [5, 7, 3]])
    for side in ("left", "right"):
        case(f'searchsorted(t, v, side = "{side}")', "numbers", I(np.searchsorted(table, values, side)), t=table, v=values)
    case("searchsorted(t, v)", "numbers", I(np.zeros((2, 3))), t=np.zeros(0), v=values)
    case("searchsorted(t, v)", "numbers", I(np.array(3)), t=table, v=np.array(5))
    case("searchsorted(t, v)", "floats", I([0, 1, 3, 3]), t=[-INF, 0.0, INF, NAN], v=[-INF, 0.0, NAN, NAN])


def uniques(x, axis=None, ascending=True):
    """What `unique` gives with every list: NumPy's, with zeros up to as many as there can be, and the count."""
    x = np.array(x)
    values, index, inverse, counts = np.unique(x, True, True, True, axis=axis)
    order = np.arange(len(index)) if ascending else np.argsort(index)
    along, most = (0, x.size) if axis is None else (axis, x.shape[axis])
    whole = list(values.shape)
    whole[along] = most
    padded = np.zeros(whole)
    padded[tuple(slice(0, n) for n in values.shape)] = np.take(values, order, axis=along)
    lists = [np.zeros(most) for _ in range(2)]
    lists[0][: len(index)], lists[1][: len(index)] = index[order], counts[order]
    return [padded, I(lists[0]), I(np.argsort(order)[inverse.reshape(-1)]), I(lists[1]), I(np.array(len(index)))]


def different():
    lists = "return_index = true, return_inverse = true, return_counts = true"
    y = np.array([[3, 1, 3], [0, 1, 7]])
    rows = np.array([[2, 1, 0], [0, 5, 1], [2, 1, 0], [0, 4, 9], [0, 5, 1]])
    for ascending in (True, False):
        kept = "" if ascending else "sorted = false, "
        case(f"unique(x, {kept}{lists})", "numbers", uniques(y, None, ascending), x=y)
        case(f"unique(x, axis = 0, {kept}{lists})", "numbers", uniques(rows, 0, ascending), x=rows)
        case(f"unique(x, axis = -1, {kept}{lists})", "numbers", uniques(rows.T, 1, ascending), x=rows.T)
        cube = rows[[0, 1, 0, 3]].reshape(2, 2, 3)[:, [0, 1, 0]]
        case(f"unique(x, axis = 1, {kept}{lists})", "numbers", uniques(cube, 1, ascending), x=cube)
    values, _, inverse, _, count = uniques(y, None, False)
    case("unique(x, sorted = false, return_inverse = true)", "numbers", [values, inverse, count], x=y)
    flags = np.array([[1, 0], [0, 1], [1, 0]])
    case(f"unique(x, axis = 0, {lists})", "bool", uniques(flags, 0), x=flags)
    one = np.array(5)
    case(f"unique(x, {lists})", "numbers", uniques(one), x=one)
    none = [np.zeros(0)] + [I(np.zeros(0))] * 3 + [I(np.array(0))]
    case(f"unique(x, {lists})", "numbers", none, x=np.zeros((2, 0)))
    none = [np.zeros((2, 0))] + [I(np.zeros(0))] * 3 + [I(np.array(0))]
    case(f"unique(x, axis = 1, {lists})", "numbers", none, x=np.zeros((2, 0)))
    same = [np.zeros((2, 0)), I([0, 0]), I([0, 0]), I([2, 0]), I(np.array(1))]
    case(f"unique(x, axis = 0, {lists})", "numbers", same, x=np.zeros((2, 0)))
    special = [np.array([[-INF, 1.0], [1.0, NAN], [0, 0]]), I([2, 0, 0]), I([1, 1, 0]), I([1, 2, 0]), I(np.array(2))]
    case(f"unique(x, axis = 0, {lists})", "floats", special, x=[[1.0, NAN], [1.0, NAN], [-INF, 1.0]])


def counted():
    x = np.array([[1, 0, 2], [0, 0, 3]])
    places = np.zeros((2, 6), dtype=int)
    places[:, :3] = np.stack(np.nonzero(x))
    case("nonzero(x)", "all", [I(places), I(np.array(3))], x=x)
    case("nonzero(x)", "all", [I(np.zeros((2, 0))), I(np.array(0))], x=np.zeros((0, 2)))
    case("nonzero(x)", "floats", [I([[0, 2, 3, 0, 0]]), I(np.array(3))], x=[NAN, -0.0, INF, 0.5, 0.0])
    y = np.array([3, 1, 3, 0, 1, 7])
    case("unique(x)", "numbers", [[0, 1, 3, 7, 0, 0], I(np.array(4))], x=y)
    case("unique(x)", "numbers", [np.zeros(0), I(np.array(0))], x=np.zeros((2, 0)))
    case("unique(x)", "floats", [[-INF, 1.0, NAN, 0, 0], I(np.array(3))], x=[NAN, 1.0, -INF, NAN, 1.0])
    different()
    x, keep = some(3, 4), np.array([1, 0, 1])
    rest = np.concatenate([x[[0, 2]], np.zeros((1, 4))])
    case("compress(c, x, axis = 0)", "all", [rest, I(np.array(2))], c=Typed("bool", keep), x=x)
    flat = np.zeros(12)
    flat[:2] = x.reshape(-1)[[0, 2]]
    case("compress(c, x)", "all", [flat, I(np.array(2))], c=Typed("bool", keep), x=x)
    case("compress(c, x, axis = -1)", "all", [np.zeros((3, 4)), I(np.array(0))], c=Typed("bool", np.zeros(0)), x=x)
    values = np.array([0.0, 0.25, 0.3125, 0.5, 1.0, -0.5, 2.0, NAN, INF])
    inside = values[(values >= 0) & (values <= 1)]
    case("histogram(x, bins = 4)", "floats", I(np.histogram(inside, 4, (0, 1))[0]), x=values)
    case("histogram(x, bins = 2, min = -1.0, max = 3.0)", "floats", I(np.histogram(values[:7], 2, (-1, 3))[0]), x=values)
    case("histogram(x)", "floats", I(np.zeros(10)), x=np.zeros((0, 2)))


def running():
    x = some(2, 3, 4, modulus=4) + 1
    for name, f, unit in (("cumsum", np.cumsum, 0), ("cumprod", np.cumprod, 1)):
        for axis, exclusive, reverse in ((0, False, False), (1, True, False), (-1, False, True), (-1, True, True)):
            y = np.flip(x, axis) if reverse else x
            y = f(y, axis)
            if exclusive:
                y = np.roll(y, 1, axis)
                index = [slice(None)] * 3
                index[axis] = 0
                y[tuple(index)] = unit
            y = np.flip(y, axis) if reverse else y
            words = f"axis = {axis}, exclusive = {str(exclusive).lower()}, reverse = {str(reverse).lower()}"
            case(f"{name}(x, {words})", "numbers", y, x=x)
        case(f"{name}(x)", "numbers", np.zeros((2, 0)), x=np.zeros((2, 0)))
        with np.errstate(all="ignore"):
            special = np.array([[1.0, INF, 2.0, -INF], [0.5, NAN, 1.0, 1.0]])
            case(f"{name}(x)", "floats", f(special, -1), x=special)
    long_running()


def long_running():
    """Rows and columns that schedules take several of at a time, and lengths that nothing divides."""
    for shape, axis in (((9, 17), 1), ((17, 35), 1), ((3, 2, 33), -1), ((1, 33), 1), ((40, 7), 0), ((2, 33, 17), 1), ((33, 1), 0)):
        x = np.zeros(shape, dtype=int) + np.arange(shape[-1]) % 3
        ones = 1 + (np.arange(x.size).reshape(shape) % 16 == 7)
        case(f"cumsum(x, axis = {axis})", "numbers", np.cumsum(x, axis), x=x)
        back = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
        case(f"cumsum(x, axis = {axis}, exclusive = true, reverse = true)", "numbers", back - x, x=x)
        case(f"cumprod(x, axis = {axis})", "f32 f64 i32 u64", np.cumprod(ones, axis), x=ones)
    for shape, axis in (((0, 33), 1), ((33, 0), 0), ((33, 0), 1)):
        case(f"cumsum(x, axis = {axis})", "numbers", np.zeros(shape), x=np.zeros(shape))
    special = np.ones((9, 33))
    special[1, 20], special[2, 3], special[2, 32], special[4, 0] = NAN, INF, -INF, -INF
    for axis, x in ((1, special), (0, special.T.copy())):
        with np.errstate(all="ignore"):
            case(f"cumsum(x, axis = {axis})", "floats", np.cumsum(x, axis), x=x)


def made():
    for name, f in (("zeros", np.zeros), ("ones", np.ones)):
        for shape in ((2, 3), (), (0, 2)):
            case(f"{name}::<T>({list(shape)})", "all", f(shape))
    for shape in ((2, 2), (), (3, 0)):
        case(f"full({list(shape)}, v)", "all", np.ones(shape), v=np.array(1))
    case("eye::<T>(2, 3)", "all", np.eye(2, 3))
    case("eye::<T>(3)", "all", np.eye(3))
    case("eye::<T>(0)", "all", np.zeros((0, 0)))
    case("full([2], v)", "floats", [NAN, NAN], v=np.array(NAN))
    case("full([2], v)", "floats", [-INF, -INF], v=np.array(-INF))
    case("arange::<T>(5)", "numbers", np.arange(5))
    case("arange::<T>(2, 11, 3)", "numbers", np.arange(2, 11, 3))
    case("arange::<T>(9, 1, -2)", "numbers", np.arange(9, 1, -2))
    case("arange::<T>(3, 3)", "numbers", np.zeros(0))


def specials():
    """What moves elements moves these as they are."""
    x = np.array([[NAN, INF], [-INF, 1.0]])
    table = [
        ("reshape(x, [4])", x.reshape(4)),
        ("flatten(x)", x),
        ("transpose(x)", x.T),
        ("squeeze(x)", x),
        ("expand_dims(x, axis = 0)", x[None]),
        ("broadcast_to(x, [2, 2, 2])", np.stack([x, x])),
        ("concat([x, x], axis = 1)", np.concatenate([x, x], 1)),
        ("stack([x, x])", np.stack([x, x])),
        ("split(x, sections = 2)", [x[:1], x[1:]]),
        ("flip(x, axis = 0)", x[::-1]),
        ('pad(x, pad_width = [[0, 1], [1, 0]], mode = "edge")', np.pad(x, ((0, 1), (1, 0)), mode="edge")),
        ("roll(x, shift = 1)", np.roll(x, 1)),
        ("repeat(x, repeats = 2, axis = 0)", np.repeat(x, 2, 0)),
    ]
    for call, wanted in table:
        case(call, "floats", wanted, x=x)
    case("take(x, i)", "floats", x[[1, 0, 0]], x=x, i=I([1, 0, 0]))
    case("take_along_axis(x, i)", "floats", [[INF], [-INF]], x=x, i=I([[1], [0]]))
    case("gather(x, i)", "floats", [NAN, -INF], x=x, i=I([[0, 0], [1, 0]]))
    case("scatter(x, i, n)", "floats", [[NAN, NAN], [-INF, 1.0]], x=x, i=I([[0, 1]]), n=[NAN])
    case("one_hot(i, 2, v)", "floats", [[NAN, INF], [INF, NAN]], i=I([0, 1]), v=[INF, NAN])
    case("reverse_sequence(x, n)", "floats", [[-INF, INF], [NAN, 1.0]], x=x, n=I([2, 1]))
    case("compress(c, x, axis = 0)", "floats", [np.array([[-INF, 1.0], [0, 0]]), I(np.array(1))], c=Typed("bool", [0, 1]), x=x)


def write():
    shapes()
    specials()
    indexing()
    orders()
    made()
