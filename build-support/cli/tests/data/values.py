"""Writes values.txt: models over operators of which ONNX has no cases, and what NumPy gives for them by the words of their
specification. `tests/cli/values.rs` says what stands in the file.

    pip install numpy
    python3 build-support/cli/tests/data/values.py
"""

from pathlib import Path

import numpy as np

TYPES = {np.dtype(np.float32): "float", np.dtype(np.int64): "int64"}
TEXT = []


def tensor(name, value):
    extents = ", ".join(str(n) for n in value.shape)
    numbers = ", ".join(str(n) for n in value.ravel().tolist())
    return f"{name}: {TYPES[value.dtype]}[{extents}] = {numbers}"


def case(title, model, inputs, outputs):
    TEXT.append(f"=== {title}\n{model.strip()}\n---")
    TEXT.extend("< " + tensor(*pair) for pair in inputs.items())
    TEXT.extend("> " + tensor(*pair) for pair in outputs.items())


def floats(*shape, seed=0):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


BODY = """graph body
  input t: float[2]
  input a: float[2]
  input b: float[]
  const half: float[] = 0.5
  u = Mul(t, half)
  v = Mul(a, b)
  next = Add(u, v)
  up = Unsqueeze(next) {axes = [0]}
  output next
  output up
end
"""


def turn(t, a, b):
    following = t * np.float32(0.5) + a * b
    return following, following[None]


def scan_8(lengths, state, sequences, directions):
    """The loop of the specification of Scan of version 8; behind the last turn of a batch stands 0."""
    batches, turns = sequences[0].shape[:2]
    last, given = np.zeros_like(state), np.zeros((batches, turns, 1, *state.shape[1:]), state.dtype)
    for batch in range(batches):
        own, n = state[batch], turns if lengths is None else min(max(int(lengths[batch]), 0), turns)
        for t in range(n):
            parts = [s[batch][n - 1 - t if back else t] for s, back in zip(sequences, directions)]
            own, given[batch, t] = turn(own, *parts)
        last[batch] = own
    return last, given


def scans():
    s, x, y = floats(3, 2), floats(3, 4, 2, seed=1), floats(3, 4, seed=2)
    operands = "input s: float[3, 2]\ninput x: float[3, 4, 2]\ninput y: float[3, 4]\n"
    dims = "input s: float[B, 2]\ninput x: float[B, T, 2]\ninput y: float[B, T]\n"
    node = "last, all = Scan({}, s, x, y) {{body = graph body, num_scan_inputs = 2, directions = {}}}\noutput last\noutput all"

    def model(head, lengths, directions):
        return "opset 8\n" + head + BODY + node.format(lengths, "[" + "; ".join(map(str, directions)) + "]")

    for lengths in ([4, 1, 2], [3, 0, 4]):
        lengths = np.array(lengths)
        for directions in ((0, 0), (0, 1), (1, 1)):
            last, every = scan_8(lengths, s, (x, y), directions)
            words = f"{lengths.tolist()}, directions {list(directions)}"
            outputs = {"last": last, "all": every}
            inputs = {"s": s, "x": x, "y": y}
            known = f"const n: int64[3] = {', '.join(map(str, lengths))}\n"
            case(f"scan 8 of known lengths {words}", model(operands + known, "n", directions), inputs, outputs)
            at_run_time = "input n: int64[3]\n" + operands
            case(f"scan 8 of lengths {words}", model(at_run_time, "n", directions), {"n": lengths, **inputs}, outputs)
            over_dims = "input n: int64[B]\n" + dims
            case(f"scan 8 over dims, {words}", model(over_dims, "n", directions), {"n": lengths, **inputs}, outputs)
    last, every = scan_8(None, s, (x, y), (0, 1))
    inputs, outputs = {"s": s, "x": x, "y": y}, {"last": last, "all": every}
    case("scan 8 without lengths", model(operands, "", (0, 1)), inputs, outputs)
    case("scan 8 without lengths over dims", model(dims, "", (0, 1)), inputs, outputs)
    odd = np.array([9, -3, 4])
    last, every = scan_8(odd, s, (x, y), (0, 0))
    case("scan 8 of lengths that cannot be", model("input n: int64[3]\n" + operands, "n", (0, 0)), {"n": odd, **inputs}, {"last": last, "all": every})
    x, y, s = floats(1, 600, 2, seed=3), floats(1, 600, seed=4) / 8, floats(1, 2, seed=5)
    last, every = scan_8(None, s, (x, y), (0, 0))
    long = "input s: float[1, 2]\ninput x: float[1, 600, 2]\ninput y: float[1, 600]\n"
    case("scan 8 of many turns", model(long, "", (0, 0)), {"s": s, "x": x, "y": y}, {"last": last, "all": every})


def covered(a, b):
    side = lambda i: max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0)
    area = lambda c: (c[2] - c[0]) * (c[3] - c[1])
    both = side(0) * side(1)
    return both / (area(a) + area(b) - both)


def non_max_suppression(boxes, scores, most, iou, least):
    rows = []
    for n, c in np.ndindex(scores.shape[:2]):
        taken = []
        for i in sorted(range(boxes.shape[1]), key=lambda i: (-scores[n, c, i], i)):
            near = any(covered(boxes[n, i], boxes[n, j]) > iou for j in taken)
            if scores[n, c, i] > least and len(taken) < most and not near:
                taken.append(i)
        rows += [(n, c, i) for i in taken]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def boxes():
    r = np.random.default_rng(6)
    corners = r.integers(0, 8, (2, 7, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + r.integers(2, 5, (2, 7, 2)).astype(np.float32)], 2)
    scores = r.permutation(42).reshape(2, 3, 7).astype(np.float32) / 32
    operands = "input boxes: float[2, 7, 4]\ninput scores: float[2, 3, 7]\ninput most: int64{}\ninput iou: float{}\ninput least: float{}\n"
    node = "y = NonMaxSuppression(boxes, scores, most, iou, least)\noutput y"
    for shape in ("[]", "[1]"):
        model = operands.format(shape, shape, shape) + node
        for most, iou, least in ((2, 0.25, 0.5), (9, 0.0, 0.0), (0, 0.5, 0.0), (3, 1.0, 2.0)):
            y = non_max_suppression(boxes, scores, most, iou, least)
            extents = () if shape == "[]" else (1,)
            limits = {"most": np.full(extents, most), "iou": np.full(extents, iou, np.float32), "least": np.full(extents, least, np.float32)}
            case(f"boxes, limits {most}, {iou}, {least} as {shape}", model, {"boxes": boxes, "scores": scores, **limits}, {"y": y})
    some = "input boxes: float[2, B, 4]\ninput scores: float[2, 3, B]\ninput least: float[]\nconst most: int64[] = 2\n"
    y = non_max_suppression(boxes, scores, 2, 0.0, 0.5)
    case(
        "boxes over a dim, the least score alone given",
        some + "y = NonMaxSuppression(boxes, scores, most, , least)\noutput y",
        {"boxes": boxes, "scores": scores, "least": np.array(0.5, np.float32)},
        {"y": y},
    )


scans()
boxes()
Path(__file__).with_name("values.txt").write_text("\n".join(TEXT) + "\n")
