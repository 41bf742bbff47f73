"""Operators of attention and of recurrent networks, and sums of products, by their definitions in f64."""

import math

import numpy as np

from writer import Typed, case, reals, some

INF, NAN = math.inf, math.nan


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, h, c, w, r, b, p, linear):
    """The next state and cell of a batch [batch, hidden]."""
    n = h.shape[1]
    wb, rb = (np.zeros(w.shape[0]), np.zeros(w.shape[0])) if b is None else (b[: w.shape[0]], b[w.shape[0] :])
    row = lambda g: slice(g * n, (g + 1) * n)
    given = lambda g: x @ w[row(g)].T + wb[row(g)]
    own = lambda g, state: state @ r[row(g)].T + rb[row(g)]
    gate = lambda g: given(g) + own(g, h)
    if kind == "rnn":
        return np.tanh(gate(0)), c
    if kind == "gru":
        z, reset = sigmoid(gate(0)), sigmoid(gate(1))
        new = np.tanh(given(2) + (reset * own(2, h) if linear else own(2, reset * h)))
        return (1 - z) * new + z * h, c
    peep = np.zeros(3 * n) if p is None else p
    i, f = sigmoid(gate(0) + peep[row(0)] * c), sigmoid(gate(2) + peep[row(2)] * c)
    cell = f * c + i * np.tanh(gate(3))
    return sigmoid(gate(1) + peep[row(1)] * cell) * np.tanh(cell), cell


def run(kind, x, w, r, b=None, lengths=None, h=None, c=None, p=None, direction="forward", linear=False):
    length, batch, _ = x.shape
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    y = np.zeros((length, len(backward), batch, r.shape[2]))
    last_h, last_c = (np.zeros(y.shape[1:]) if one is None else one.copy() for one in (h, c))
    for d, back in enumerate(backward):
        for n in range(batch):
            count = length if lengths is None else lengths[n]
            state = (last_h[d, n : n + 1], last_c[d, n : n + 1])
            for t in reversed(range(count)) if back else range(count):
                parts = (w[d], r[d], None if b is None else b[d], None if p is None else p[d])
                state = step(kind, x[t, n : n + 1], *state, *parts, linear)
                y[t, d, n] = state[0]
            last_h[d, n], last_c[d, n] = state
    return [y, last_h, last_c] if kind == "lstm" else [y, last_h]


def networks():
    # Roundings of gates and states of each of three steps.
    off = "16"
    x, lengths = reals(3, 2, 4), [3, 1]
    for kind, gates in (("rnn", 1), ("gru", 3), ("lstm", 4)):
        w, r = reals(2, gates * 3, 4, step=29) / 2, reals(2, gates * 3, 3, step=23) / 2
        b, h, c, p = reals(2, gates * 6, step=19), reals(2, 2, 3, step=41), reals(2, 2, 3, step=31), reals(2, 9, step=13)
        for direction in ("forward", "reverse"):
            y = run(kind, x, w[:1], r[:1], direction=direction)
            case(f'{kind}(x, w, r, direction = "{direction}")', "floats", y, off, x=x, w=w[:1], r=r[:1])
        given = {"b": b, "l": Typed("i32", lengths), "h": h}
        call, plain = "b, l, h", {"b": b, "lengths": lengths, "h": h}
        if kind == "lstm":
            given, call, plain = {**given, "c": c, "p": p}, "b, l, h, c, p", {**plain, "c": c, "p": p}
        y = run(kind, x, w, r, direction="bidirectional", **plain)
        case(f'{kind}(x, w, r, {call}, direction = "bidirectional")', "floats", y, off, x=x, w=w, r=r, **given)
        none, one, own = np.zeros((0, 2, 4)), np.zeros((1, gates * 3, 4)), np.zeros((1, gates * 3, 3))
        case(f"{kind}(x, w, r)", "floats", run(kind, none, one, own), x=none, w=one, r=own)
        for odd in (NAN, INF):
            spoilt = x[:, :, :].copy()
            spoilt[1, 0, 2] = odd
            case(f"{kind}(x, w, r)", "floats", run(kind, spoilt, w[:1], r[:1]), off, x=spoilt, w=w[:1], r=r[:1])
    w, r, b = reals(1, 9, 4, step=29) / 2, reals(1, 9, 3, step=23) / 2, reals(1, 18, step=19)
    y = run("gru", x, w, r, b, linear=True)
    case("gru(x, w, r, b, linear_before_reset = true)", "floats", y, off, x=x, w=w, r=r, b=b)
    y = [np.swapaxes(np.moveaxis(y[0], 2, 0), 1, 1), np.moveaxis(y[1], 1, 0)]
    case("gru(x, w, r, b, linear_before_reset = true, layout = true)", "floats", y, off, x=np.swapaxes(x, 0, 1), w=w, r=r, b=b)


def attended(q, k, v, bias=0.0, scale=None, cap=0.0):
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = q @ np.swapaxes(k, 2, 3) * (scale or 1 / math.sqrt(q.shape[3]))
    if cap:
        scores = cap * np.tanh(scores / cap)
    scores = scores + bias
    most = scores.max(-1, keepdims=True, initial=-INF)
    # A query that sees nothing gives zeros.
    weights = np.exp(scores - np.where(most == -INF, 0.0, most))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1.0, total) @ v


def seen(which):
    return np.where(which, 0.0, -INF)


def attentions():
    # Scores of four terms and their scale, a softmax, sums of five products.
    off = "12"
    q, k, v, m = reals(2, 4, 3, 2), reals(2, 2, 5, 2, step=29), reals(2, 2, 5, 3, step=23), reals(3, 5, step=11)
    case("attention(q, k, v)", "floats", attended(q, k, v), off, q=q, k=k, v=v)
    case("attention(q, k, v, m, scale = 0.25)", "floats", attended(q, k, v, m, 0.25), off, q=q, k=k, v=v, m=m)
    # The last query of each batch sees nothing.
    which = np.array([i % 15 < 10 and i % 3 != 1 for i in range(30)]).reshape(2, 1, 3, 5)
    case("attention(q, k, v, m)", "floats", attended(q, k, v, seen(which)), off, q=q, k=k, v=v, m=Typed("bool", which))
    t, s = np.arange(3)[:, None], np.arange(5)
    case("attention(q, k, v, is_causal = true)", "floats", attended(q, k, v, seen(s <= t)), off, q=q, k=k, v=v)
    windows = attended(q, k, v, seen((s >= t - 1) & (s <= t + 1)))
    case("attention(q, k, v, left_window_size = 1, right_window_size = 1)", "floats", windows, off, q=q, k=k, v=v)
    case("attention(q, k, v, softcap = 0.5)", "floats", attended(q, k, v, cap=0.5), off, q=q, k=k, v=v)
    flat = lambda x: np.swapaxes(x, 1, 2).reshape(x.shape[0], x.shape[2], -1)
    y = flat(attended(q, k, v))
    case("attention(q, k, v, q_num_heads = 4, kv_num_heads = 2)", "floats", y, off, q=flat(q), k=flat(k), v=flat(v))
    pk, pv, m = reals(2, 2, 3, 2, step=13), reals(2, 2, 3, 3, step=7), np.zeros((1, 1))
    keys, values = np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)
    y = attended(q, keys, values, seen(np.arange(8) <= t + 3))
    call = "attention(q, k, v, m, pk, pv, is_causal = true)"
    case(call, "floats", [y, keys, values], off, q=q, k=k, v=v, m=m, pk=pk, pv=pv)
    none = {"q": np.zeros((2, 1, 3, 2)), "k": np.zeros((2, 1, 0, 2)), "v": np.zeros((2, 1, 0, 2))}
    case("attention(q, k, v)", "floats", np.zeros((2, 1, 3, 2)), **none)
    spoilt = reals(1, 1, 3, 2)
    spoilt[0, 0, 1, 0] = NAN
    keys, values = reals(1, 1, 4, 2, step=29), reals(1, 1, 4, 2, step=23)
    case("attention(q, k, v)", "floats", attended(spoilt, keys, values), off, q=spoilt, k=keys, v=values)
    # The mask of the second query lets none of the keys through.
    q, m = reals(1, 1, 2, 2), np.array([[0.0, -INF, 0.5, -INF], [-INF, -INF, -INF, -INF]])
    case("attention(q, k, v, m)", "floats", attended(q, keys, values, m), off, q=q, k=keys, v=values, m=m)


def turned(x, cos, sin, interleaved, size):
    """Pairs of [batch, heads, length, size] by angles [batch, 1, length, size / 2]."""
    y, half = x.copy(), size // 2
    first = slice(0, size, 2) if interleaved else slice(0, half)
    last = slice(1, size, 2) if interleaved else slice(half, size)
    a, b = x[..., first], x[..., last]
    y[..., first], y[..., last] = cos * a - sin * b, sin * a + cos * b
    return y


def rotary():
    x, c, s = reals(2, 3, 4, 6), reals(2, 4, 3, step=29), reals(2, 4, 3, step=23)
    for interleaved in (False, True):
        y = turned(x, c[:, None], s[:, None], interleaved, 6)
        call = f"rotary_embedding(x, c, s, interleaved = {str(interleaved).lower()})"
        # Two products and their sum.
        case(call, "floats", y, "2", x=x, c=c, s=s)
    c, s = reals(8, 2, step=29), reals(8, 2, step=23)
    at = np.array([[3, 0, 7, 1], [2, 2, 5, 6]])
    y = turned(x, c[at][:, None], s[at][:, None], False, 4)
    case("rotary_embedding(x, c, s, i, rotary_embedding_dim = 4)", "floats", y, "2", x=x, c=c, s=s, i=Typed("i64", at))
    none = {"x": np.zeros((0, 1, 2, 2)), "c": np.zeros((0, 2, 1)), "s": np.zeros((0, 2, 1))}
    case("rotary_embedding(x, c, s)", "floats", np.zeros((0, 1, 2, 2)), **none)
    one = {"x": [[[[1.0, NAN, 2.0, 3.0]]]], "c": [[[1.0, 1.0]]], "s": [[[0.5, 0.5]]]}
    case("rotary_embedding(x, c, s)", "floats", [[[[0.0, NAN, 2.5, NAN]]]], **one)
    one["x"] = [[[[1.0, INF, 2.0, 3.0]]]]
    case("rotary_embedding(x, c, s)", "floats", [[[[0.0, INF, 2.5, INF]]]], **one)


def einsums():
    table = [("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (2, 3)), ("ij", (2, 3)), ("ij->", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
             ("i,j->ij", (2,), (3,)), ("ij,kl->likj", (2, 3), (2, 2)), ("...ij,...jk->...ik", (2, 1, 3, 2), (4, 2, 2)), ("i...->...", (2, 3)),
             ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)), (",ij->ij", (), (2, 2)), ("ij,jk->ik", (2, 0), (0, 3)), ("ij,jk->ik", (0, 2), (2, 3))]
    for equation, *shapes in table:
        names = "xyz"[: len(shapes)]
        given = {name: some(*shape, step=3 + 2 * n, modulus=4) for n, (name, shape) in enumerate(zip(names, shapes))}
        y = np.einsum(equation, *given.values())
        case(f'einsum({", ".join(names)}, equation = "{equation}")', "numbers", y, **given)
    x, y = np.array([[NAN, 1.0], [2.0, INF]]), np.array([1.0, 2.0])
    case('einsum(x, y, equation = "ij,j->i")', "floats", [NAN, INF], x=x, y=y)


def products():
    for shapes, axes in ((((2, 3, 4), (3, 4, 2)), 2), (((2, 3), (4,)), 0), (((2, 3), (3,)), 1), (((2, 3, 4), (4, 5, 3)), [[1, 2], [2, 0]]), (((2, 3, 4), (4, 5, 3)), [[-1, 1], [0, -1]]), (((2, 0), (0, 3)), 1)):
        x, y = some(*shapes[0], modulus=5), some(*shapes[1], step=3, modulus=4)
        case(f"tensordot(x, y, axes = {axes})", "numbers", np.tensordot(x, y, axes), x=x, y=y)
    x, y = np.array([[NAN, 1.0], [2.0, INF]]), np.array([1.0, 2.0])
    case("tensordot(x, y, axes = 1)", "floats", [NAN, INF], x=x, y=y)
    x = some(3, 4, 5)
    for offset, first, second in ((0, 0, 1), (1, 0, 2), (-1, 1, 2), (2, -1, -2), (9, 0, 1)):
        y = np.trace(x, offset, first, second)
        case(f"trace(x, offset = {offset}, axis1 = {first}, axis2 = {second})", "numbers", y, x=x)
    case("trace(x)", "numbers", np.array(0), x=np.zeros((0, 3)))
    case("trace(x)", "floats", np.array(NAN), x=[[NAN, 1.0], [2.0, 3.0]])
    case("trace(x)", "floats", np.array(INF), x=[[1.0, NAN], [NAN, INF]])


def middles():
    x = some(3, 4, 5, modulus=13)
    for text, axis, keep in (("", None, False), (", axis = 1", 1, False), (", axis = -1, keepdims = true", -1, True), (", axis = 0", 0, False)):
        case(f"median(x{text})", "floats", np.median(x, axis=axis, keepdims=keep), x=x)
    case("median(x, axis = 1)", "floats", [NAN, 2.0, INF, -INF], x=[[NAN, 1.0, 2.0], [INF, 2.0, -INF], [INF, INF, 1.0], [-INF, -INF, 1.0]])
    case("median(x)", "floats", np.array(1.5), x=np.array(1.5))
    case("median(x, axis = 1)", "floats", [NAN, NAN], x=np.zeros((2, 0)))
    case("median(x, axis = 0)", "floats", np.zeros(0), x=np.zeros((2, 0)))


def grids():
    x, y, z = some(3), some(2) + 1, some(4, step=3)
    for indexing in ("xy", "ij"):
        call = f'meshgrid([x, y], indexing = "{indexing}")'
        case(call, "all", list(np.meshgrid(x, y, indexing=indexing)), x=x, y=y)
        case(f'meshgrid([x, y, z], indexing = "{indexing}")', "all", list(np.meshgrid(x, y, z, indexing=indexing)), x=x, y=y, z=z)
    case("meshgrid([x, y])", "all", list(np.meshgrid(np.zeros(0), y)), x=np.zeros(0), y=y)
    case("meshgrid([x, y])", "floats", list(np.meshgrid([NAN, 1.0], [INF])), x=[NAN, 1.0], y=[INF])


def write():
    networks()
    attentions()
    rotary()
    einsums()
    products()
    middles()
    grids()
