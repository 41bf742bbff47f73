"""Int8 versions of ONNX models against an integer reference, step by step and at their ends.

python3 tests/models/quantised.py MODEL.onnx... [--small] [--run 'cargo tenfold run'] [--inputs 100] [--steps 5]

ONNX Runtime's own quantiser makes the version between `QuantizeLinear` and `DequantizeLinear`. In the reference a
quantised tensor is its integers: products of two of them are summed as integers and scaled once, what moves elements
moves integers, and all else is computed in f64 from what the integers stand for. Only quantisation rounds, to the
nearest and ties to even. What the caller passes is divided in its own dtype, as `QuantizeLinear` says.

Steps: of the first inputs every tensor that a run quantises is read, and the reference computes each from those before
it. None may be more than a quantum off, and that only where the exact value is so near a tie that floats of 32 bits
cannot tell on which side it is.

Ends: the outputs of all inputs, and the largest of each row. A network may carry one quantum anywhere to many at its
end: so beside what Tenfold is off stands what ONNX Runtime is with its optimisations off, and what the reference itself
is when one element in a thousand of its input is one quantum off. Outputs may be one quantum off and the largest
another in one row of a hundred; or on average they are off by no more than the last, or a tenth more than ONNX
Runtime's.

The status is 1 where they are not. Needs onnx and onnxruntime.
"""

import argparse
import dataclasses
import math
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

# Quanta from a tie, at most, where a step may go the other way. Floats of 32 bits have 2^-24 of up to 255 quanta, and
# each operator between two quantisations loses some of those.
NEAR = 1e-4


class Quantised:
    """Integers, zero points taken off, and the number that each counts for."""

    def __init__(self, ints, scale):
        self.ints, self.scale = ints, scale

    def numbers(self):
        return self.ints * self.scale


def numbers(x):
    return x.numbers() if isinstance(x, Quantised) else x


def per_axis(values, rank, axis):
    """One number for all, or one for each index of an axis."""
    shape = [] if values.size == 1 else [-1 if n == axis % rank else 1 for n in range(rank)]
    return values.reshape(shape)


def dequantise(x, scale, zero, axis=1):
    # Integers as f64 are exact, and so are their sums here.
    scale, zero = (per_axis(v.astype(np.float64), x.ndim, axis) for v in (scale, zero))
    return Quantised(x.astype(np.float64) - zero, scale)


def quanta(x, scale, axis):
    """How many quanta a tensor is. Floats of 32 bits are divided as such: the standard has the dtype of the scale."""
    if getattr(x, "dtype", None) == np.float32:
        return (x / per_axis(scale, x.ndim, axis)).astype(np.float64)
    to = per_axis(scale.astype(np.float64), numbers(x).ndim, axis)
    return x.ints if isinstance(x, Quantised) and np.array_equal(x.scale, to) else numbers(x) / to


def quantise(steps, zero, axis):
    limits = np.iinfo(zero.dtype)
    point = per_axis(zero.astype(np.float64), steps.ndim, axis)
    return np.clip(np.rint(steps) + point, limits.min, limits.max).astype(zero.dtype)


def product(a, b):
    if isinstance(a, Quantised) and isinstance(b, Quantised):
        return (a.ints @ b.ints) * (a.scale * b.scale)
    return numbers(a) @ numbers(b)


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = alpha * product(moved(a, np.transpose) if transA else a, moved(b, np.transpose) if transB else b)
    return y if c is None else y + beta * numbers(c)


def moved(x, how):
    if not isinstance(x, Quantised):
        return how(x)
    return Quantised(how(x.ints), x.scale if x.scale.ndim == 0 else how(np.broadcast_to(x.scale, x.ints.shape)))


def reshape(x, shape):
    def how(a):
        return a.reshape([a.shape[n] if d == 0 else int(d) for n, d in enumerate(shape)])
    return moved(x, how)


def convolution(x, w, b=None, kernel_shape=None, strides=(1, 1), pads=(0, 0, 0, 0), group=1, dilations=(1, 1)):
    exact = isinstance(x, Quantised) and isinstance(w, Quantised)
    of = (lambda v: v.ints) if exact else numbers
    x_, w_ = of(x)[0], of(w)
    top, left, bottom, right = pads
    x_ = np.pad(x_, ((0, 0), (top, bottom), (left, right)))
    height, width = w_.shape[2:]
    rows, columns = ((n - k) // s + 1 for n, k, s in zip(x_.shape[1:], (height, width), strides))
    y = np.zeros((w_.shape[0], rows, columns))
    for i in range(height):
        for j in range(width):
            tap = x_[:, i:i + strides[0] * (rows - 1) + 1:strides[0], j:j + strides[1] * (columns - 1) + 1:strides[1]]
            if group == 1:
                y += np.tensordot(w_[:, :, i, j], tap, 1)
            else:
                assert group == x_.shape[0] == w_.shape[0], "grouped convolutions are depthwise here"
                y += w_[:, 0, i, j][:, None, None] * tap
    y = y[None]
    if exact:
        y = y * x.scale * (w.scale if w.scale.ndim == 0 else w.scale.reshape(1, -1, 1, 1))
    return y if b is None else y + numbers(b).reshape(1, -1, 1, 1)


def max_pool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), **_):
    top, left, bottom, right = pads

    def how(a):
        a = np.pad(a, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=-np.inf)
        rows, columns = ((n - k) // s + 1 for n, k, s in zip(a.shape[2:], kernel_shape, strides))
        taps = [a[:, :, i:i + strides[0] * (rows - 1) + 1:strides[0], j:j + strides[1] * (columns - 1) + 1:strides[1]]
                for i in range(kernel_shape[0]) for j in range(kernel_shape[1])]
        return np.max(taps, axis=0)
    return moved(x, how)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x, scale, bias=0.0, axis=-1, epsilon=1e-5, **_):
    assert axis in (-1, x.ndim - 1), "norms are over the last axis here"
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * scale + bias


def erf(x):
    values, where = np.unique(x, return_inverse=True)
    return np.array([math.erf(v) for v in values])[where].reshape(x.shape)


ON_INTEGERS = {
    "MatMul": product,
    "Gemm": gemm,
    "Conv": convolution,
    "MaxPool": max_pool,
    "Reshape": lambda x, shape, **_: reshape(x, shape),
    "Flatten": lambda x, axis=1: moved(x, lambda a: a.reshape(math.prod(a.shape[:axis]), -1)),
    "Transpose": lambda x, perm: moved(x, lambda a: np.transpose(a, perm)),
}

ON_NUMBERS = {
    "Add": np.add,
    "Mul": np.multiply,
    "Relu": lambda x: np.maximum(x, 0),
    "Clip": lambda x, low, high: np.clip(x, low, high),
    "Erf": erf,
    "Softmax": softmax,
    "LayerNormalization": layer_norm,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True),
}


def as_it_is(_name, _steps, integers):
    return integers


def evaluate(model, x, each=as_it_is):
    """What the model gives, in quanta. `each` is asked for the integers of each quantisation, by its name."""
    values = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    floats = {k: v.astype(np.float64) for k, v in values.items() if v.dtype == np.float32}
    values[model.graph.input[0].name] = x
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        axis = attributes.get("axis", 1)
        if node.op_type == "QuantizeLinear":
            of, scale, zero = (values[name] for name in node.input)
            steps = quanta(of, scale, axis)
            value = each(node.output[0], steps, quantise(steps, zero, axis))
        elif node.op_type == "DequantizeLinear":
            value = dequantise(*(values[name] for name in node.input), axis)
        else:
            args = [floats[name] if name in floats else values[name] for name in node.input if name]
            if node.op_type in ON_INTEGERS:
                value = ON_INTEGERS[node.op_type](*args, **attributes)
            else:
                value = ON_NUMBERS[node.op_type](*map(numbers, args), **attributes)
        values[node.output[0]] = value
    return values[model.graph.output[0].name].ints


@dataclasses.dataclass
class Steps:
    """How far the tensors of runs are from what the reference makes of those before them."""

    elements: int = 0
    off: int = 0
    most: int = 0
    farthest: float = 0.0

    def check(self, model, x, found):
        def each(name, steps, integers):
            off = np.abs(found[name].astype(np.int64) - integers)
            tie = np.abs(steps - np.floor(steps) - 0.5)[off > 0]
            self.elements, self.off = self.elements + off.size, self.off + tie.size
            self.most, self.farthest = max(self.most, int(off.max())), max(self.farthest, tie.max(initial=0.0))
            return found[name]
        evaluate(model, x, each)

    def good(self):
        return self.most <= 1 and self.farthest <= NEAR

    def __str__(self):
        where = f", {self.farthest:.1e} quanta from a tie at most" if self.off else ""
        return f"{self.off} of {self.elements} elements off, {self.most} quanta at most{where}"


class Ends:
    """How far outputs are from the reference's."""

    def __init__(self):
        self.off, self.same, self.rows = np.zeros(256, dtype=np.int64), 0, 0

    def add(self, found, expected):
        found = np.rint(found)
        self.off += np.bincount(np.abs(found - expected).astype(np.int64).ravel(), minlength=256)[:256]
        top = [y.reshape(-1, y.shape[-1]).argmax(-1) for y in (found, expected)]
        self.same, self.rows = self.same + int((top[0] == top[1]).sum()), self.rows + len(top[0])

    def good(self):
        return not self.off[2:].any() and self.same * 100 >= self.rows * 99

    def mean(self):
        return (self.off * np.arange(256)).sum() / self.off.sum()

    def __str__(self):
        table = ", ".join(f"{n}: {count}" for n, count in enumerate(self.off) if count)
        same = f"the same largest in {self.same} of {self.rows} rows"
        return f"by quanta off {table}; {self.mean():.3f} on average; {same}"


def nudged(model, x, expected, ends):
    """The reference when one element in a thousand of the first quantised tensor is one quantum off."""
    first = next(node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear")

    def each(name, _steps, integers):
        if name == first:
            some = integers.reshape(-1)[::1000]
            some[:] = np.where(some > 0, some - 1, 1)
        return integers
    ends.add(evaluate(model, x, each), expected)


def with_steps(model):
    """The model with every quantised tensor as an output, and their names."""
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    shaped = onnx.shape_inference.infer_shapes(model).graph
    known = {info.name: info for info in [*shaped.value_info, *shaped.input, *shaped.output]}
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    changed.graph.output.extend(known[name] for name in names)
    return changed, names


def inputs(model, seed, count):
    dims = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    random = np.random.default_rng(seed)
    return [random.random(dims).astype(np.float32) for _ in range(count)]


class Calibration(CalibrationDataReader):
    def __init__(self, model):
        name = model.graph.input[0].name
        self.left = iter([{name: x} for x in inputs(model, 5, 8)])

    def get_next(self):
        return next(self.left, None)


def quantised(path, folder):
    into = folder / f"{path.stem}.int8.onnx"
    quantize_static(path, into, Calibration(onnx.load(path)), quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return onnx.load(into)


def tenfold(command, model, given, outputs, folder):
    """The first outputs of the model for each input."""
    path, x, made = folder / "run.onnx", folder / "x.npy", [folder / f"y{n}.npy" for n in range(outputs)]
    onnx.save(model, path)
    np.save(x, np.stack(given))
    named = [part for file in made for part in ("--output", str(file))]
    subprocess.run([*shlex.split(command), str(path), "--each", "--input", str(x), *named], check=True)
    return [np.load(file) for file in made]


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def check(path, asked, folder):
    """Prints how far the int8 version of a model is from the reference, and whether that is near enough."""
    model = quantised(path, folder)
    given = inputs(model, 11, asked.inputs)
    exposed, names = with_steps(model)
    found = tenfold(asked.run, exposed, given[:asked.steps], 1 + len(names), folder)[1:]
    steps = Steps()
    for n, x in enumerate(given[:asked.steps]):
        steps.check(model, x, {name: tensor[n] for name, tensor in zip(names, found)})
    print(f"{path.stem}: steps: {steps}", flush=True)
    final = tenfold(asked.run, model, given, 1, folder)[0]
    scale = scale_of(model)
    ours, theirs, itself = Ends(), Ends(), Ends()
    runtime = session(model)
    for n, x in enumerate(given):
        expected = evaluate(model, x)
        ours.add(final[n] / scale, expected)
        theirs.add(runtime.run(None, {model.graph.input[0].name: x})[0] / scale, expected)
        if n < asked.steps:
            nudged(model, x, expected, itself)
    print(f"  ends: {ours}\n  those of ONNX Runtime: {theirs}\n  those of quanta in the input: {itself}", flush=True)
    return steps.good() and (ours.good() or ours.mean() <= max(itself.mean(), 1.1 * theirs.mean()))


def scale_of(model):
    """The scale of the dequantisation that gives the output."""
    last = next(node for node in model.graph.node if node.output[0] == model.graph.output[0].name)
    assert last.op_type == "DequantizeLinear", f"the output comes from {last.op_type}"
    scales = [numpy_helper.to_array(i) for i in model.graph.initializer if i.name == last.input[1]]
    return float(scales[0])


class Graph:
    """A small model of random weights."""

    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(0)

    def weight(self, array):
        array = array if array.dtype == np.int64 else array.astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def op(self, kind, *args, **attributes):
        self.nodes.append(helper.make_node(kind, args, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def linear(self, x, inner, outer):
        w = self.weight(self.random.normal(size=(inner, outer)) * inner**-0.5)
        return self.op("Add", self.op("MatMul", x, w), self.weight(np.zeros(outer)))

    def conv(self, x, inner, outer, size, **attributes):
        group = attributes.get("group", 1)
        shape = (outer, inner // group, size, size)
        w = self.weight(self.random.normal(size=shape) * math.prod(shape[1:])**-0.5)
        x = self.op("Conv", x, w, self.weight(np.full(outer, 0.01)), pads=[size // 2] * 4, **attributes)
        return self.op("Relu", x)

    def save(self, path, given, made, shape):
        tensor = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "g", [tensor("x", TensorProto.FLOAT, given)],
                                  [tensor(made, TensorProto.FLOAT, shape)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path


def encoder(path, s=9, d=24, h=2, f=40):
    g = Graph()
    heads = g.weight(np.array([1, s, h, d // h]))
    q, k, v = (g.op("Transpose", g.op("Reshape", g.linear("x", d, d), heads), perm=perm)
               for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    a = g.op("Softmax", g.op("Mul", g.op("MatMul", q, k), g.weight(np.array((d // h)**-0.5))), axis=-1)
    o = g.op("Transpose", g.op("MatMul", a, v), perm=[0, 2, 1, 3])
    o = g.linear(g.op("Reshape", o, g.weight(np.array([1, s, d]))), d, d)
    x = g.op("LayerNormalization", g.op("Add", "x", o), g.weight(np.ones(d)), g.weight(np.zeros(d)), axis=-1)
    u = g.linear(x, d, f)
    e = g.op("Add", g.op("Erf", g.op("Mul", u, g.weight(np.array(0.5**0.5)))), g.weight(np.array(1.0)))
    y = g.linear(g.op("Mul", g.op("Mul", u, e), g.weight(np.array(0.5))), f, d)
    return g.save(path, [1, s, d], g.op("Add", x, y), [1, s, d])


def pictures(path):
    g = Graph()
    x = g.op("MaxPool", g.conv("x", 3, 8, 3, strides=[2, 2]), kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("Add", x, g.conv(g.conv(x, 8, 8, 3, group=8), 8, 8, 1))
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    w = g.weight(g.random.normal(size=(10, 8)))
    return g.save(path, [1, 3, 19, 19], g.op("Gemm", x, w, g.weight(np.zeros(10)), transB=1), [1, 10])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path, nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--small", action="store_true", help="two small models of its own too")
    parser.add_argument("--run", default="cargo tenfold run", help="the command that runs a model")
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=5, help="inputs whose steps are compared")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        small = [encoder(folder / "encoder.onnx"), pictures(folder / "pictures.onnx")] if asked.small else []
        good = [check(path, asked, folder) for path in [*asked.models, *small]]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
