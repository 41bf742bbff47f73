"""Trains the model on data/verses.txt, writes weights/llm.safetensors and data/reference.safetensors.

    pip install -r requirements.txt && python train.py

It takes some minutes. The model is written twice here: with gradients, for batches (`forward` on `Node`s), and below
once more plainly, a token at a time in f64, for the reference that the program's `--check` compares with.
"""

import json
from pathlib import Path

import numpy as np

ALPHABET = "\n !\"',-.:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
V, D, LAYERS, HEADS, GROUPS, SIZE, F, CONTEXT = len(ALPHABET), 64, 2, 4, 2, 16, 160, 128
BATCH, STEPS, RATE = 12, 2500, 3e-3
here = Path(__file__).parent
rng = np.random.default_rng(1871)


class Node:
    """A value and how it came about, so that `backward` can go back."""

    def __init__(self, value, *parents):
        self.value, self.parents, self.grad = value, parents, None

    def add(self, grad):
        extra = grad.ndim - self.value.ndim
        grad = grad.sum(tuple(range(extra))) if extra else grad
        axes = tuple(a for a, n in enumerate(self.value.shape) if n == 1 and grad.shape[a] > 1)
        grad = grad.sum(axes, keepdims=True) if axes else grad
        self.grad = grad if self.grad is None else self.grad + grad

    def __add__(self, o):
        return Node(self.value + o.value, (self, lambda g: g), (o, lambda g: g))

    def __mul__(self, o):
        return Node(self.value * o.value, (self, lambda g: g * o.value), (o, lambda g: g * self.value))

    def __matmul__(self, o):
        turn = lambda x: x.swapaxes(-1, -2)
        return Node(self.value @ o.value, (self, lambda g: g @ turn(o.value)), (o, lambda g: turn(self.value) @ g))

    def reshape(self, *shape):
        return Node(self.value.reshape(shape), (self, lambda g: g.reshape(self.value.shape)))

    def transpose(self, *axes):
        return Node(self.value.transpose(axes), (self, lambda g: g.transpose(np.argsort(axes))))

    def repeat(self, times, axis):
        shape = self.value.shape
        parts = shape[:axis] + (shape[axis], times) + shape[axis + 1 :]
        return Node(self.value.repeat(times, axis), (self, lambda g: g.reshape(parts).sum(axis + 1)))

    def softmax(self):
        e = np.exp(self.value - self.value.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return Node(p, (self, lambda g: p * (g - (g * p).sum(-1, keepdims=True))))

    def silu(self):
        s = 1 / (1 + np.exp(-self.value))
        return Node(self.value * s, (self, lambda g: g * s * (1 + self.value * (1 - s))))

    def rms(self):
        r = 1 / np.sqrt((self.value**2).mean(-1, keepdims=True) + 1e-5)
        y = self.value * r
        return Node(y, (self, lambda g: r * (g - y * (g * y).mean(-1, keepdims=True))))

    def rotate(self, cos, sin):
        """Pairs of channels i and i + SIZE / 2 by an angle that grows with the position."""
        half = lambda x: np.concatenate([-x[..., SIZE // 2 :], x[..., : SIZE // 2]], -1)
        back = lambda g: np.concatenate([g[..., SIZE // 2 :], -g[..., : SIZE // 2]], -1)
        return Node(self.value * cos + half(self.value) * sin, (self, lambda g: g * cos + back(g * sin)))

    def take(self, indices):
        def back(g):
            grad = np.zeros_like(self.value)
            np.add.at(grad, indices, g)
            return grad

        return Node(self.value[indices], (self, back))

    def backward(self, grad):
        order, seen = [], set()

        def visit(node):
            if id(node) not in seen:
                seen.add(id(node))
                for parent, _ in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.grad = grad
        for node in reversed(order):
            for parent, back in node.parents:
                parent.add(back(node.grad))


def angles(positions):
    i = np.arange(SIZE) % (SIZE // 2)
    angle = positions[:, None] / 10000.0 ** (i / (SIZE // 2))
    return np.cos(angle), np.sin(angle)


def weights():
    def tensor(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

    return {
        "embedding": (rng.standard_normal((V, D)) * 0.3).astype(np.float32),
        "attention.norm": np.ones((LAYERS, D), np.float32),
        "attention.query": tensor(LAYERS, D, HEADS * SIZE),
        "attention.key": tensor(LAYERS, D, GROUPS * SIZE),
        "attention.value": tensor(LAYERS, D, GROUPS * SIZE),
        "attention.output": tensor(LAYERS, HEADS * SIZE, D) * np.float32(0.5),
        "net.norm": np.ones((LAYERS, D), np.float32),
        "net.gate": tensor(LAYERS, D, F),
        "net.up": tensor(LAYERS, D, F),
        "net.down": tensor(LAYERS, F, D) * np.float32(0.5),
        "norm": np.ones(D, np.float32),
        "output": tensor(D, V),
    }


def forward(w, tokens):
    batch, length = tokens.shape
    cos, sin = (x.astype(np.float32) for x in angles(np.arange(length)))
    mask = Node(np.triu(np.full((length, length), -1e9, np.float32), 1))
    x = w["embedding"].take(tokens)
    part = lambda name, l: w[name].take(l)
    for l in range(LAYERS):
        h = x.rms() * part("attention.norm", l)
        heads = lambda name, n: (h @ part(name, l)).reshape(batch, length, n, SIZE).transpose(0, 2, 1, 3)
        q = heads("attention.query", HEADS).rotate(cos, sin)
        k = heads("attention.key", GROUPS).rotate(cos, sin).repeat(HEADS // GROUPS, 1)
        v = heads("attention.value", GROUPS).repeat(HEADS // GROUPS, 1)
        dot = (q @ k.transpose(0, 1, 3, 2)) * Node(np.float32(SIZE**-0.5).reshape(1, 1, 1, 1)) + mask
        a = (dot.softmax() @ v).transpose(0, 2, 1, 3).reshape(batch, length, HEADS * SIZE)
        x = x + a @ part("attention.output", l)
        h = x.rms() * part("net.norm", l)
        x = x + ((h @ part("net.gate", l)).silu() * (h @ part("net.up", l))) @ part("net.down", l)
    return (x.rms() * w["norm"]) @ w["output"]


def train(tokens):
    w = weights()
    first, second = ({name: np.zeros_like(value) for name, value in w.items()} for _ in range(2))
    for step in range(1, STEPS + 1):
        starts = rng.integers(0, len(tokens) - CONTEXT - 1, BATCH)
        rows = tokens[starts[:, None] + np.arange(CONTEXT + 1)]
        nodes = {name: Node(value) for name, value in w.items()}
        logits = forward(nodes, rows[:, :-1])
        p = logits.softmax().value
        places = (*np.indices((BATCH, CONTEXT)), rows[:, 1:])
        loss = -np.log(p[places] + 1e-9).mean()
        grad = p.copy()
        grad[places] -= 1
        logits.backward(grad / np.float32(BATCH * CONTEXT))
        rate = RATE * min(step / 100, (STEPS - step + 1) / STEPS * 1.1, 1)
        for name, node in nodes.items():
            first[name] += np.float32(0.1) * (node.grad - first[name])
            second[name] += np.float32(0.01) * (node.grad**2 - second[name])
            a, b = first[name] / (1 - 0.9**step), second[name] / (1 - 0.99**step)
            w[name] = (w[name] - rate * a / (np.sqrt(b) + 1e-8)).astype(np.float32)
        if step % 100 == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    return w


def reference(w, tokens):
    """The scores after each token, in f64 and without a trick."""
    w = {name: value.astype(np.float64) for name, value in w.items()}
    rms = lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    keys = np.zeros((LAYERS, GROUPS, 0, SIZE))
    values, all_scores = keys, []

    def rotate(x, cos, sin):
        a, b = x[:, : SIZE // 2], x[:, SIZE // 2 :]
        c, s = cos[:, : SIZE // 2], sin[:, : SIZE // 2]
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    for position, token in enumerate(tokens):
        x, turn = w["embedding"][token], angles(np.array([position]))
        new = np.zeros((2, LAYERS, GROUPS, 1, SIZE))
        keys, values = np.concatenate([keys, new[0]], 2), np.concatenate([values, new[1]], 2)
        for l in range(LAYERS):
            h = rms(x) * w["attention.norm"][l]
            q = rotate((h @ w["attention.query"][l]).reshape(HEADS, SIZE), *turn)
            keys[l, :, -1] = rotate((h @ w["attention.key"][l]).reshape(GROUPS, SIZE), *turn)
            values[l, :, -1] = (h @ w["attention.value"][l]).reshape(GROUPS, SIZE)
            a = []
            for head in range(HEADS):
                group = head // (HEADS // GROUPS)
                e = np.exp(keys[l, group] @ q[head] / np.sqrt(SIZE))
                a.append(e / e.sum() @ values[l, group])
            x = x + np.concatenate(a) @ w["attention.output"][l]
            h = rms(x) * w["net.norm"][l]
            gate = h @ w["net.gate"][l]
            x = x + gate / (1 + np.exp(-gate)) * (h @ w["net.up"][l]) @ w["net.down"][l]
        all_scores.append(rms(x) * w["norm"] @ w["output"])
    return np.array(all_scores)


def save(path, tensors):
    """A safetensors file."""
    names = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64", np.dtype(np.int32): "I32"}
    header, data = {}, b""
    for name, value in tensors.items():
        content = np.ascontiguousarray(value).tobytes()
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": names[value.dtype], "shape": list(value.shape), "data_offsets": offsets}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


if __name__ == "__main__":
    text = (here / "data/verses.txt").read_text()
    tokens = np.array([ALPHABET.index(c) for c in text])
    w = train(tokens)
    save(here / "weights/llm.safetensors", w)
    spoken = np.array([ALPHABET.index(c) for c in "The Walrus and the Carpenter\nWere walking close at hand;\nThey wept"])
    save(here / "data/reference.safetensors", {"scores": reference(w, spoken), "tokens": spoken.astype(np.int32)})
