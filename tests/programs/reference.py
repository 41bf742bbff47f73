"""Writes data/NAME.safetensors: inputs, results in f64, and a bound of the error of f32 arithmetic, per program.

    pip install ml_dtypes numpy safetensors && python reference.py

The bound of an element is C * eps * (the same formula with every term replaced by its magnitude): C counts the
operations on the longest way from an input to the result, each of which may err by half a unit in the last place.
"""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

EPS = 2.0**-24
rng = np.random.default_rng(7)
here = Path(__file__).parent / "data"


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def save(name, inputs, results):
    tensors = {k: np.ascontiguousarray(v) for k, v in inputs.items()}
    for k, (value, bound) in results.items():
        tensors[k] = np.ascontiguousarray(value)
        tensors[k + ".bound"] = np.ascontiguousarray(np.broadcast_to(bound, np.shape(value)), dtype=np.float64)
    here.mkdir(exist_ok=True)
    save_file(tensors, here / f"{name}.safetensors")


def exact(value):
    return value, np.zeros(np.shape(value))


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


def norm():
    x, gamma, beta, eps = f32(5, 13), f32(13), f32(13), np.float32(1e-5)
    a, g, b = wide(x, gamma, beta)
    d = a - a.mean(-1, keepdims=True)
    var = (d * d).mean(-1, keepdims=True) + float(eps)
    y = d / np.sqrt(var) * g + b
    size = np.abs(a) + np.abs(a).mean(-1, keepdims=True)
    bound = EPS * 40 * (size / np.sqrt(var) * np.abs(g) + np.abs(b))
    save("norm", {"x": x, "gamma": gamma, "beta": beta, "eps": eps.reshape(1)}, {"y": (y, bound)})


def attend():
    h, g, s, d, pos = 8, 4, 2048, 64, 5
    q, k, v = f32(h, d), f32(g, d), f32(g, d)
    keys, values = np.zeros((g, s, d), np.float32), np.zeros((g, s, d), np.float32)
    old_keys, old_values = f32(g, pos, d), f32(g, pos, d)
    keys[:, :pos], values[:, :pos] = old_keys, old_values
    keys[:, pos], values[:, pos] = k, v
    kk, vv, qq = wide(keys[:, : pos + 1].repeat(2, 0), values[:, : pos + 1].repeat(2, 0), q)
    dot = np.einsum("hd,htd->ht", qq, kk) / 8.0
    err = EPS * 66 * np.einsum("hd,htd->ht", np.abs(qq), np.abs(kk)) / 8.0
    p = np.exp(dot - dot.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    y = np.einsum("ht,htd->hd", p, vv)
    rel = 2 * err.max(-1, keepdims=True) + EPS * 40
    bound = np.einsum("ht,htd->hd", p * rel, np.abs(vv)) + EPS * 10 * np.abs(vv).max()
    inputs = {"q": q, "k": k, "v": v, "old_keys": old_keys, "old_values": old_values}
    save("attend", inputs, {"y": (y, bound)})


def clamped(x, i, j):
    return x[np.clip(i, 0, x.shape[0] - 1), np.clip(j, 0, x.shape[1] - 1)]


def bilateral():
    x, sigma = f32(9, 11), np.float32(0.7)
    (a,) = wide(x)
    g = np.array([0.135, 0.607, 1.0, 0.607, 0.135], np.float32).astype(np.float64)
    i, j = np.indices(a.shape)
    num, den, mag = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    for u in range(5):
        for v in range(5):
            p = clamped(a, i + u - 2, j + v - 2)
            e = -0.5 * ((p - a) / float(sigma)) ** 2
            w = g[u] * g[v] * np.exp(e)
            num, den = num + w * p, den + w
            mag += w * (np.abs(p) * (40 + 8 * np.abs(e)) + 12)
    y = num / den
    save("bilateral", {"x": x, "sigma": sigma.reshape(1)}, {"y": (y, EPS * (mag / den + 60 * np.abs(y)))})


def fir():
    x, h, tail = f32(20), f32(5), f32(4)
    a, t, w = wide(x, tail, h)
    both = np.concatenate([t, a])
    at = lambda s, f: np.array([sum(f(h_k) * f(s[n + 4 - k]) for k, h_k in enumerate(w)) for n in range(20)])
    y, size = at(both, lambda z: z), at(np.abs(both), abs)
    results = {"y": (y, EPS * 12 * size), "new_tail": exact(np.concatenate([tail, x])[20:])}
    save("fir", {"x": x, "h": h, "tail": tail}, results)


def fft512():
    x = f32(512, 2)
    (a,) = wide(x)
    y = np.fft.fft(a[:, 0] + 1j * a[:, 1])
    bound = EPS * 9 * 8 * np.sqrt(512) * np.sqrt((a**2).sum())
    save("fft512", {"x": x}, {"y": (np.stack([y.real, y.imag], -1), bound / np.sqrt(512) * 4)})


def prefix_sum():
    x = f32(33)
    (a,) = wide(x)
    save("prefix_sum", {"x": x}, {"y": (np.cumsum(a), EPS * 34 * np.cumsum(np.abs(a)))})


def life():
    cell = rng.integers(0, 2, (7, 9), dtype=np.uint8)
    n = sum(np.roll(cell, (u, v), (0, 1)) for u in (-1, 0, 1) for v in (-1, 0, 1)) - cell
    save("life", {"cell": cell}, {"y": exact(((n == 3) | ((n == 2) & (cell == 1))).astype(np.uint8))})


def conv_s8():
    x = rng.integers(-128, 128, (2, 5, 6, 3), dtype=np.int8)
    w = rng.integers(-128, 128, (4, 3, 3, 3), dtype=np.int8)
    bias = rng.integers(-1000, 1000, 4, dtype=np.int32)
    multiplier = rng.integers(1 << 30, (1 << 31) - 1, 4, dtype=np.int32)
    shift = np.array([-7, -8, -9, -6], np.int32)
    x_zero, y_zero = 3, -5
    padded = np.full((2, 7, 8, 3), x_zero, np.int64)
    padded[:, 1:-1, 1:-1] = x
    acc = np.zeros((2, 5, 6, 4), np.int64)
    for u in range(3):
        for v in range(3):
            acc += np.einsum("nijc,kc->nijk", padded[:, u : u + 5, v : v + 6] - x_zero, w[:, u, v].astype(np.int64))
    acc += bias
    scaled = (acc * multiplier + (np.int64(1) << (30 - shift))) >> (31 - shift)
    y = np.clip(scaled + y_zero, -128, 127).astype(np.int8)
    inputs = {"x": x, "w": w, "bias": bias, "multiplier": multiplier, "shift": shift}
    save("conv_s8", inputs, {"y": exact(y)})


def resize():
    x = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    oh, ow = 13, 11
    f = np.float32
    i, j = np.indices((oh, ow)).astype(f)
    # The program's own f32 steps: a pixel exactly between two values may round either way otherwise.
    y = (i + f(0.5)) * f(5) / f(oh) - f(0.5)
    z = (j + f(0.5)) * f(7) / f(ow) - f(0.5)
    u, v = (y - np.floor(y)).astype(np.float64)[..., None], (z - np.floor(z)).astype(np.float64)[..., None]
    at = lambda di, dj: clamped(x, np.floor(y).astype(int) + di, np.floor(z).astype(int) + dj).astype(np.float64)
    value = (at(0, 0) * (1 - v) + at(0, 1) * v) * (1 - u) + (at(1, 0) * (1 - v) + at(1, 1) * v) * u
    near = np.abs(value - np.floor(value) - 0.5) < 1e-3
    assert not near.any(), "choose another seed: a pixel stands between two values"
    save("resize", {"x": x}, {"y": exact(np.rint(value).astype(np.uint8))})


def biquads():
    x, z = f32(40), f32(3, 2)
    # Poles inside the unit circle, so that errors do not grow.
    c = np.array([[0.2, 0.3, 0.1, -0.5, 0.2], [0.5, -0.1, 0.25, 0.3, 0.1], [1.0, 0.5, 0.5, -0.2, -0.3]], np.float32)
    a, k, s = wide(x, c, z)
    y, size = a.copy(), np.abs(a)
    state, reach = s.copy(), np.abs(s)
    for n in range(len(a)):
        for i in range(len(k)):
            v, o = y[n], k[i, 0] * y[n] + state[i, 0]
            state[i] = k[i, 1] * v - k[i, 3] * o + state[i, 1], k[i, 2] * v - k[i, 4] * o
            w, p = size[n], abs(k[i, 0]) * size[n] + reach[i, 0]
            reach[i] = abs(k[i, 1]) * w + abs(k[i, 3]) * p + reach[i, 1], abs(k[i, 2]) * w + abs(k[i, 4]) * p
            y[n], size[n] = o, p
    bound = EPS * 6 * 3 * 40
    save("biquads", {"x": x, "c": c, "z": z}, {"y": (y, bound * size), "new_z": (state, bound * reach)})


def kmeans():
    x, old = f32(30, 4), f32(5, 4)
    a, b = wide(x, old)
    b[4] += 100
    old[4] += np.float32(100)
    distance = ((a[:, None] - b[None]) ** 2).sum(-1)
    two = np.sort(distance, -1)
    assert (two[:, 1] - two[:, 0]).min() > 1e-4, "choose another seed: a point stands between two centroids"
    label = distance.argmin(-1)
    new, size = wide(old)[0], np.abs(old).astype(np.float64)
    for k in range(5):
        if (label == k).any():
            new[k], size[k] = a[label == k].mean(0), np.abs(a[label == k]).mean(0)
    results = {"new": (new, EPS * 32 * size), "label": exact(label.astype(np.int32))}
    save("kmeans", {"x": x, "old": old}, results)


def histogram():
    image = rng.integers(0, 256, (9, 31), dtype=np.uint8)
    save("histogram", {"image": image}, {"bins": exact(np.bincount(image.ravel(), minlength=256).astype(np.uint32))})


def largest():
    x = f32(50)
    place = np.argsort(-x, kind="stable")[:8]
    save("largest", {"x": x}, {"value": exact(x[place]), "place": exact(place.astype(np.int32))})


def beam():
    logp, score, tokens = f32(4, 11), f32(4), rng.integers(0, 11, (4, 32), dtype=np.int32)
    step = 5
    total = (logp + score[:, None]).ravel()
    flat = np.argsort(-total, kind="stable")[:4]
    new = tokens[flat // 11]
    new[:, step] = flat % 11
    inputs = {"logp": logp, "score": score, "tokens": tokens, "step": np.array([step], np.int32)}
    results = {"best": exact(total[flat]), "parent": exact((flat // 11).astype(np.int64)), "new": exact(new)}
    save("beam", inputs, results)


def mel_matrix(bands, n, rate, low, high):
    """ONNX MelWeightMatrix."""
    mel = lambda hertz: 2595 * np.log10(1 + hertz / 700)
    edges = 700 * (10 ** ((mel(low) + np.arange(bands + 2) * (mel(high) - mel(low)) / (bands + 2)) / 2595) - 1)
    edges = np.floor((n + 1) * edges / rate).astype(int)
    matrix = np.zeros((n // 2 + 1, bands))
    for band in range(bands):
        begin, peak, end = edges[band : band + 3]
        if peak == begin:
            matrix[peak, band] = 1
        else:
            matrix[begin : peak + 1, band] = (np.arange(begin, peak + 1) - begin) / (peak - begin)
        if end != peak:
            matrix[peak:end, band] = (end - np.arange(peak, end)) / (end - peak)
    return matrix


def log_mel():
    audio = f32(1000)
    frames = (1000 - 352) // 160
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(512) / 512)
    x = np.stack([audio[160 * f : 160 * f + 512].astype(np.float64) for f in range(frames)]) * window
    z, matrix = np.fft.rfft(x), mel_matrix(40, 512, 16000, 20, 8000)
    energy = (z.real**2 + z.imag**2) @ matrix + 1e-6
    # a transform of n numbers sums log2 n times, window and twiddles are rounded; then a square, two sums, a logarithm
    slack = EPS * (4 * 9 + 8) * np.sqrt((x * x).sum(-1, keepdims=True))
    apart = (2 * np.abs(z) * slack + slack**2 + EPS * 4 * np.abs(z) ** 2) @ matrix + EPS * 257 * energy
    y = np.log(energy)
    save("log_mel", {"audio": audio}, {"y": (y, apart / energy + EPS * 4 * np.abs(y))})


def kalman():
    x, z = f32(4), f32(2)
    f, q, p = (np.eye(4, dtype=np.float32) + f32(4, 4) * np.float32(0.1) for _ in range(3))
    h, r = f32(2, 4), np.eye(2, dtype=np.float32) * 2

    def step(x, p, z, f, h, q, r):
        x1, p1 = f @ x, f @ p @ f.T + q
        gain = np.linalg.solve(h @ p1 @ h.T + r, h @ p1).T
        return x1 + gain @ (z - h @ x1), p1 - gain @ (h @ p1)

    exact_x, exact_p = step(*wide(x, p, z, f, h, q, r))
    # magnitudes all the way; the system's condition says how much its rounding grows
    ax, ap, az, af, ah, aq, ar = (np.abs(a) for a in wide(x, p, z, f, h, q, r))
    x1, p1 = af @ ax, af @ ap @ af.T + aq
    s = wide(h)[0] @ (wide(f)[0] @ wide(p)[0] @ wide(f)[0].T + wide(q)[0]) @ wide(h)[0].T + wide(r)[0]
    gain = (np.abs(np.linalg.inv(s)) @ (ah @ p1)).T
    grow = np.linalg.cond(s) * (1 + np.abs(np.linalg.inv(s)) @ (ah @ p1 @ ah.T + ar)).max()
    bound = EPS * 4 * 8 * grow
    results = {
        "new_x": (exact_x, bound * (x1 + gain @ (az + ah @ x1))),
        "new_p": (exact_p, bound * (p1 + gain @ (ah @ p1))),
    }
    save("kalman", {"x": x, "p": p, "z": z, "f": f, "h": h, "q": q, "r": r}, results)


def safetensors(path, tensors):
    """As the library writes it, which knows no bf16 of NumPy's: name -> (dtype, shape, bytes)."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def weights():
    """Weights of every width in two files of one index, and in an archive of NumPy's."""
    folder = here / "split"
    folder.mkdir(exist_ok=True)
    x, a, b, c = f32(7, 4), f32(4, 8).astype(np.float16), f32(8), rng.integers(-128, 128, (8, 3), dtype=np.int8)
    b = (b.view(np.uint32) & 0xFFFF0000).view(np.float32)
    scale = f32(3)
    bf16 = (b.view(np.uint32) >> 16).astype(np.uint16)
    safetensors(folder / "model-00001-of-00002.safetensors", {"odd": ("U8", (1,), b"?"), "a": ("F16", a.shape, a.tobytes())})
    safetensors(folder / "model-00002-of-00002.safetensors", {"b": ("BF16", b.shape, bf16.tobytes())})
    places = {"odd": 1, "a": 1, "b": 2}
    places = {name: f"model-{n:05}-of-00002.safetensors" for name, n in places.items()}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}, indent=1) + "\n")
    np.savez(folder / "rest.npz", **{"c": c, "layer/scale": scale})
    rest = {
        "layer/scale": ("F32", scale.shape, scale.tobytes()),
        "a": ("F16", a.shape, a.tobytes()),
        "c": ("I8", c.shape, c.tobytes()),
    }
    safetensors(folder / "rest.safetensors", rest)
    wx, wa, wb, wc, ws = wide(x, a, b, c, scale)
    y = np.maximum(wx @ wa + wb, 0) @ wc * ws
    size = (np.abs(wx) @ np.abs(wa) + np.abs(wb)) @ np.abs(wc) * np.abs(ws)
    save("split", {"x": x}, {"y": (y, EPS * 2 * 16 * size)})


def stored():
    """Weights of 8 bits, and what a layer gives in 8 bits, saturated: every sum is exact."""
    rng = np.random.default_rng(11)
    x = rng.integers(-12, 13, (5, 4)).astype(np.float32) / 4
    x[0] *= 1000
    tensors = {"x": ("F32", x.shape, x.tobytes())}
    for kind, name in (("e4m3fn", "F8_E4M3"), ("e4m3fnuz", "F8_E4M3FNUZ"), ("e5m2", "F8_E5M2"), ("e5m2fnuz", "F8_E5M2FNUZ")):
        dtype = getattr(ml_dtypes, f"float8_{kind}")
        w = (rng.integers(-30, 31, (4, 3)) / 8).astype(dtype)
        most = float(ml_dtypes.finfo(dtype).max)
        y = np.clip(x.astype(np.float64) @ w.astype(np.float64), -most, most).astype(dtype)
        tensors[f"w.f8{kind}"] = (name, w.shape, w.tobytes())
        tensors[f"y.f8{kind}"] = ("U8", y.shape, y.tobytes())
    safetensors(here / "stored.safetensors", tensors)


for program in (norm, attend, bilateral, fir, fft512, prefix_sum, life, conv_s8, resize, biquads, kmeans, histogram, largest, weights, beam, log_mel, kalman, stored):
    program()
