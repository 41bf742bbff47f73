#!/usr/bin/env python3
"""Trains the two classifiers of this example and writes everything that the program reads.

    pip install -r requirements.txt
    python3 train.py

writes, beside this file:

    weights/digits.safetensors   the parameters of both networks, float32
    data/test_images.npy         held-out images, float32 [364, 64], values 0 to 16
    data/test_labels.npy         their digits, uint8 [364]
    data/mlp_reference.npy       probabilities of the MLP on these images, float32 [364, 10]
    data/cnn_reference.npy       probabilities of the CNN on these images, float32 [364, 10]

The data is the copy of the UCI handwritten digits that scikit-learn ships, so nothing is
downloaded. Every fifth image of each class is held out before anything else happens; it takes no
part in training. The sizes and the number of epochs were chosen by cross-validation inside the
other images. The networks and their gradients are written out in NumPy.
"""

import json
import struct
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

HERE = Path(__file__).resolve().parent
SEED = 20
BATCH = 32


def split(images, labels, every=5):
    """Every fifth image of each class, after a seeded shuffle, is for testing only."""
    order = np.random.default_rng(SEED).permutation(len(labels))
    test = np.sort(np.concatenate([order[labels[order] == digit][::every] for digit in range(10)]))
    train = np.setdiff1d(np.arange(len(labels)), test)
    assert not set(train) & set(test)
    return train, test


def shifted(images, rng):
    """Half of the images moved by at most one pixel along each axis, zeros moving in."""
    padded = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    out = np.empty((len(images), 8, 8), images.dtype)
    moves = np.where(rng.random((len(images), 1)) < 0.5, rng.integers(0, 3, (len(images), 2)), 1)
    for n, (dy, dx) in enumerate(moves):
        out[n] = padded[n, dy : dy + 8, dx : dx + 8]
    return out.reshape(-1, 64)


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def patches(x):
    """The 3 by 3 neighbourhoods of [N, C, H, W], padded with zeros: [N, H, W, C, 3, 3]."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5)


def conv(x, w, b):
    """ONNX Conv, kernel 3 by 3, pads 1: [N, C, H, W] and [M, C, 3, 3] give [N, M, H, W]."""
    y = np.tensordot(patches(x), w, axes=([3, 4, 5], [1, 2, 3]))
    return y.transpose(0, 3, 1, 2) + b[:, None, None]


def conv_gradients(x, w, dy):
    """Gradients of `conv` with respect to its input, its kernel and its bias."""
    dw = np.tensordot(dy, patches(x), axes=([0, 2, 3], [0, 1, 2]))
    dx = conv(dy, w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3), np.zeros(w.shape[1], w.dtype))
    return dx, dw, dy.sum(axis=(0, 2, 3))


class Mlp:
    """64 inputs, 128 hidden units, 10 classes."""

    epochs = 100

    def __init__(self, rng):
        self.p = {
            "mlp.fc1.weight": he(rng, (64, 128), 64),
            "mlp.fc1.bias": np.zeros(128),
            "mlp.fc2.weight": he(rng, (128, 10), 128),
            "mlp.fc2.bias": np.zeros(10),
        }

    def forward(self, x):
        p = self.p
        self.x = x / 16
        self.h = np.maximum(self.x @ p["mlp.fc1.weight"] + p["mlp.fc1.bias"], 0)
        return softmax(self.h @ p["mlp.fc2.weight"] + p["mlp.fc2.bias"])

    def backward(self, dz):
        dh = (dz @ self.p["mlp.fc2.weight"].T) * (self.h > 0)
        return {
            "mlp.fc1.weight": self.x.T @ dh,
            "mlp.fc1.bias": dh.sum(axis=0),
            "mlp.fc2.weight": self.h.T @ dz,
            "mlp.fc2.bias": dz.sum(axis=0),
        }


class Cnn:
    """Two 3 by 3 convolutions (16 channels each), 2 by 2 max pooling, one dense layer."""

    epochs = 60

    def __init__(self, rng):
        self.p = {
            "cnn.conv1.weight": he(rng, (16, 1, 3, 3), 9),
            "cnn.conv1.bias": np.zeros(16),
            "cnn.conv2.weight": he(rng, (16, 16, 3, 3), 144),
            "cnn.conv2.bias": np.zeros(16),
            "cnn.fc.weight": he(rng, (256, 10), 256),
            "cnn.fc.bias": np.zeros(10),
        }

    def forward(self, x):
        p = self.p
        self.x = (x / 16).reshape(-1, 1, 8, 8)
        self.a = np.maximum(conv(self.x, p["cnn.conv1.weight"], p["cnn.conv1.bias"]), 0)
        self.b = np.maximum(conv(self.a, p["cnn.conv2.weight"], p["cnn.conv2.bias"]), 0)
        self.windows = self.b.reshape(-1, 16, 4, 2, 4, 2)
        self.pooled = self.windows.max(axis=(3, 5))
        self.flat = self.pooled.reshape(-1, 256)
        return softmax(self.flat @ p["cnn.fc.weight"] + p["cnn.fc.bias"])

    def backward(self, dz):
        p = self.p
        g = {"cnn.fc.weight": self.flat.T @ dz, "cnn.fc.bias": dz.sum(axis=0)}
        dpooled = (dz @ p["cnn.fc.weight"].T).reshape(self.pooled.shape)
        largest = self.windows == self.pooled[:, :, :, None, :, None]
        db = (largest * dpooled[:, :, :, None, :, None]).reshape(self.b.shape) * (self.b > 0)
        da, g["cnn.conv2.weight"], g["cnn.conv2.bias"] = conv_gradients(
            self.a, p["cnn.conv2.weight"], db
        )
        _, g["cnn.conv1.weight"], g["cnn.conv1.bias"] = conv_gradients(
            self.x, p["cnn.conv1.weight"], da * (self.a > 0)
        )
        return g


def he(rng, shape, fan_in):
    return rng.normal(0, np.sqrt(2 / fan_in), shape)


def train(model, images, labels, rng):
    """Adam on the cross entropy, with a little weight decay and a cosine learning rate."""
    first = {k: np.zeros_like(v) for k, v in model.p.items()}
    second = {k: np.zeros_like(v) for k, v in model.p.items()}
    targets = np.eye(10)[labels]
    per_epoch = -(-len(labels) // BATCH)
    step = 0
    for _ in range(model.epochs):
        order = rng.permutation(len(labels))
        for batch in np.array_split(order, per_epoch):
            step += 1
            rate = 3e-3 * 0.5 * (1 + np.cos(np.pi * step / (model.epochs * per_epoch)))
            dz = (model.forward(shifted(images[batch], rng)) - targets[batch]) / len(batch)
            for k, g in model.backward(dz).items():
                first[k] = 0.9 * first[k] + 0.1 * g
                second[k] = 0.999 * second[k] + 0.001 * g * g
                m, v = first[k] / (1 - 0.9**step), second[k] / (1 - 0.999**step)
                model.p[k] -= rate * (m / (np.sqrt(v) + 1e-8) + 1e-3 * model.p[k])
    # What is stored is float32, so that is what the reference is computed from.
    model.p = {k: v.astype(np.float32) for k, v in model.p.items()}


def save_safetensors(path, tensors):
    """The format in full: a length, a JSON header padded to 8 bytes, the bytes of the tensors."""
    header, data = {}, b""
    for name in sorted(tensors):
        raw = np.ascontiguousarray(tensors[name], "<f4").tobytes()
        span = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": span}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    digits = load_digits()
    images, labels = digits.data.astype(np.float64), digits.target
    training, test = split(images, labels)
    (HERE / "data").mkdir(exist_ok=True)
    (HERE / "weights").mkdir(exist_ok=True)
    np.save(HERE / "data/test_images.npy", images[test].astype("<f4"))
    np.save(HERE / "data/test_labels.npy", labels[test].astype("u1"))

    weights = {}
    for name, kind in ("mlp", Mlp), ("cnn", Cnn):
        rng = np.random.default_rng(SEED)
        model = kind(rng)
        train(model, images[training], labels[training], rng)
        weights |= model.p
        reference = model.forward(images[test]).astype("<f4")
        np.save(HERE / f"data/{name}_reference.npy", reference)
        seen = (model.forward(images[training]).argmax(axis=1) == labels[training]).mean()
        held_out = (reference.argmax(axis=1) == labels[test]).mean()
        print(
            f"{name}: {sum(v.size for v in model.p.values())} parameters, "
            f"accuracy {seen:.4f} on {len(training)} images seen, "
            f"{held_out:.4f} on {len(test)} held out"
        )
    save_safetensors(HERE / "weights/digits.safetensors", weights)


if __name__ == "__main__":
    main()
