"""What the models of `graphs.rs` give, by NumPy: the numbers of `whole.rs`.

python3 tests/models/reference.py

Every parameter and input is a formula of its number and the element's, so that no weights are kept; sums are in f64.
"""

import math

import numpy as np

SAMPLES = 8


def values(number, shape):
    """Parameter `number`: even between -1/2 and 1/2, scaled so that sums neither grow nor vanish."""
    count = math.prod(shape)
    i = np.arange(count, dtype=np.uint64)
    bits = (i * np.uint64(2654435761) + np.uint64(number * 40503 + 12345)) & np.uint64(0xFFFFFFFF)
    bits = ((bits ^ (bits >> np.uint64(15))) * np.uint64(2246822519)) & np.uint64(0xFFFFFFFF)
    unit = ((bits ^ (bits >> np.uint64(13))) >> np.uint64(8)).astype(np.float64) / (1 << 24) - 0.5
    if number == 0:
        unit = unit * 2
    elif len(shape) == 1:
        unit = unit * 0.2 + 0.1
    else:
        terms = math.prod(shape[1:]) if len(shape) == 4 else max(shape)
        unit = unit * math.sqrt((24 if len(shape) == 4 else 12) / terms)
    return unit.astype(np.float32).astype(np.float64).reshape(shape)


class Graph:
    def __init__(self):
        self.params = 0

    def param(self, *shape):
        self.params += 1
        return values(self.params - 1, shape)

    def conv(self, x, out, k, stride, groups=1):
        _, c, h, w = x.shape
        weight, bias = self.param(out, c // groups, k, k), self.param(out)
        x = np.pad(x[0], ((0, 0), (k // 2, k // 2), (k // 2, k // 2)))
        ho, wo = (h + 2 * (k // 2) - k) // stride + 1, (w + 2 * (k // 2) - k) // stride + 1
        taps = [[x[:, a:a + stride * ho:stride, b:b + stride * wo:stride] for b in range(k)] for a in range(k)]
        y = np.zeros((out, ho, wo))
        for a in range(k):
            for b in range(k):
                if groups == 1:
                    y += np.tensordot(weight[:, :, a, b], taps[a][b], 1)
                else:
                    y += weight[:, 0, a, b][:, None, None] * taps[a][b]
        return (y + bias[:, None, None])[None]

    def gemm(self, x, out):
        weight, bias = self.param(out, x.shape[1]), self.param(out)
        return x @ weight.T + bias

    def linear(self, x, inner, out):
        weight, bias = self.param(inner, out), self.param(out)
        return x @ weight + bias

    def norm(self, x, d):
        scale, bias = self.param(d), self.param(d)
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-12) * scale + bias


def relu(x):
    return np.maximum(x, 0)


def relu6(x):
    return np.clip(x, 0, 6)


def max_pool(x):
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    n = x.shape[2] // 2
    taps = [x[:, :, a:a + 2 * n - 1:2, b:b + 2 * n - 1:2] for a in range(3) for b in range(3)]
    n = min(t.shape[2] for t in taps)
    return np.max([t[:, :, :n, :n] for t in taps], axis=0)


def mlp():
    g = Graph()
    x = g.param(1, 784)
    x = relu(g.linear(x, 784, 512))
    x = relu(g.linear(x, 512, 256))
    return g.linear(x, 256, 10)


def resnet50():
    g = Graph()
    x = max_pool(relu(g.conv(g.param(1, 3, 224, 224), 64, 7, 2)))
    for channels, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for i in range(blocks):
            step = stride if i == 0 else 1
            y = relu(g.conv(x, channels, 1, 1))
            y = relu(g.conv(y, channels, 3, step))
            y = g.conv(y, 4 * channels, 1, 1)
            side = g.conv(x, 4 * channels, 1, step) if i == 0 else x
            x = relu(y + side)
    return g.gemm(x.mean((2, 3)), 1000)


def mobilenetv2():
    g = Graph()
    x = relu6(g.conv(g.param(1, 3, 224, 224), 32, 3, 2))
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for t, out, n, stride in table:
        for i in range(n):
            step, channels, y = stride if i == 0 else 1, x.shape[1], x
            if t > 1:
                y = relu6(g.conv(y, channels * t, 1, 1))
            y = relu6(g.conv(y, channels * t, 3, step, channels * t))
            y = g.conv(y, out, 1, 1)
            x = y + x if step == 1 and channels == out else y
    x = relu6(g.conv(x, 1280, 1, 1))
    return g.gemm(x.mean((2, 3)), 1000)


def minilm(s=128, d=384, h=12, f=1536, layers=6):
    g = Graph()
    x = g.param(1, s, d)
    for _ in range(layers):
        q, k, v = (g.linear(x, d, d).reshape(s, h, d // h).transpose(1, 0, 2) for _ in range(3))
        scores = q @ k.transpose(0, 2, 1) * (d // h) ** -0.5
        a = np.exp(scores - scores.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        o = (a @ v).transpose(1, 0, 2).reshape(1, s, d)
        x = g.norm(x + g.linear(o, d, d), d)
        u = g.linear(x, d, f)
        erf = np.vectorize(math.erf)
        u = u * (erf(u * math.sqrt(0.5)) + 1) * 0.5
        x = g.norm(x + g.linear(u, f, d), d)
    return x


def main():
    for model in [mlp, mobilenetv2, resnet50, minilm]:
        y = model().reshape(-1)
        at = [i * (y.size - 1) // (SAMPLES - 1) for i in range(SAMPLES)]
        shown = ", ".join(f"{y[i]:.6}" for i in at)
        print(f"    (\"{model.__name__}\", {np.abs(y).max():.6}, [{shown}]),")


main()
