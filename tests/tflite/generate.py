"""Writes what the TFLite importer is compared with: small models of one operator each with inputs and what TFLite's
reference kernels make of them (cases/), and what these make of the models in models/ (models/*.out).

    python generate.py            # needs: pip install ai-edge-litert==2.3.0 numpy

cases/NAME.bin: for each of RUNS runs the elements of the inputs, then those of the outputs. Inputs of models/ are not
kept: `bytes_of` makes them of a number, and the test does the same.
"""

import os
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import interpreter as litert
from ai_edge_litert import schema_py_generated as schema

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = 6
TYPES = {np.dtype(np.float32): schema.TensorType.FLOAT32, np.dtype(np.int8): schema.TensorType.INT8,
         np.dtype(np.int32): schema.TensorType.INT32, np.dtype(np.int64): schema.TensorType.INT64,
         np.dtype(np.bool_): schema.TensorType.BOOL, np.dtype(np.float16): schema.TensorType.FLOAT16}
OP, ACT, PAD = schema.BuiltinOperator, schema.ActivationFunctionType, schema.Padding


class Tensor:
    """A tensor of a case: an input if it has no data and no operator gives it."""

    def __init__(self, shape, dtype=np.int8, scale=None, zero=0, axis=0, data=None):
        self.shape, self.dtype, self.axis = list(shape), np.dtype(dtype), axis
        self.scale = None if scale is None else np.atleast_1d(np.float32(scale))
        self.zero, self.data = zero, None if data is None else np.asarray(data, dtype=self.dtype).reshape(shape)


def model(code, version, options, inputs, outputs):
    """The bytes of a model of one operator."""
    return packed(tables(code, version, options, inputs, outputs))


def packed(m):
    builder = flatbuffers.Builder(1024)
    builder.Finish(m.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def tables(code, version, options, inputs, outputs):
    """A model of one operator."""
    m, graph, op = schema.ModelT(), schema.SubGraphT(), schema.OperatorT()
    m.version, m.description, m.buffers = 3, "case", [schema.BufferT()]
    graph.tensors, graph.name = [], "main"
    numbers = {}
    for at, tensor in enumerate(inputs + outputs):
        if tensor is None or id(tensor) in numbers:
            continue
        t = schema.TensorT()
        t.name, t.shape, t.type, t.buffer = f"t{at}", tensor.shape, TYPES[tensor.dtype], 0
        if tensor.data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(tensor.data.tobytes(), dtype=np.uint8)
            t.buffer = len(m.buffers)
            m.buffers.append(buffer)
        if tensor.scale is not None:
            q = schema.QuantizationParametersT()
            q.scale, q.quantizedDimension = tensor.scale, tensor.axis
            q.zeroPoint = np.full(len(tensor.scale), tensor.zero, dtype=np.int64)
            t.quantization = q
        numbers[id(tensor)] = len(graph.tensors)
        graph.tensors.append(t)
    number = lambda t: -1 if t is None else numbers[id(t)]
    op.inputs, op.outputs = [number(t) for t in inputs], [number(t) for t in outputs]
    given = [t for n, t in enumerate(inputs) if t is not None and t.data is None and t not in inputs[:n]]
    graph.inputs, graph.outputs = [number(t) for t in given], op.outputs
    if options is not None:
        op.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
        op.builtinOptions = options
    kind = schema.OperatorCodeT()
    kind.deprecatedBuiltinCode, kind.builtinCode, kind.version = min(code, 127), code, version
    m.operatorCodes, graph.operators, m.subgraphs = [kind], [op], [graph]
    return m


def opened(content):
    kernels = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(model_content=content, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    return interpreter


def newest(name, make):
    """A model of the newest version of its operator that there are kernels for."""
    for version in range(5, 0, -1):
        content = make(version)
        try:
            return content, opened(content)
        except (RuntimeError, ValueError) as error:
            said = error
    sys.exit(f"{name}: {said}")


def called(interpreter, arrays):
    for detail, array in zip(interpreter.get_input_details(), arrays):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def options(name, **fields):
    out = getattr(schema, name + "OptionsT")()
    for key, value in fields.items():
        assert hasattr(out, key), (name, key, vars(out))
        setattr(out, key, value)
    return out


def random(rng, tensor, run):
    if tensor.dtype == np.int8:
        if run == 0:
            count = int(np.prod(tensor.shape))
            return (np.arange(count) % 256 - 128).astype(np.int8).reshape(tensor.shape)
        return rng.integers(-128, 128, tensor.shape).astype(np.int8)
    if tensor.dtype in (np.int32, np.int64):
        return rng.integers(0, 4, tensor.shape).astype(tensor.dtype)
    return (rng.standard_normal(tensor.shape) * 3).astype(tensor.dtype)


def q(shape, scale=0.05, zero=3, **more):
    return Tensor(shape, np.int8, scale, zero, **more)


def f(shape, **more):
    return Tensor(shape, np.float32, **more)


def ints(*values, shape=None):
    return Tensor([len(values)] if shape is None else shape, np.int32, data=values)


def weights(rng, shape, axis, per_channel=True):
    n = shape[axis] if per_channel else 1
    return Tensor(shape, np.int8, rng.uniform(0.002, 0.02, n), 0, axis, rng.integers(-127, 128, shape))


def bias(rng, n):
    return Tensor([n], np.int32, np.full(n, 0.001), 0, 0, rng.integers(-2000, 2000, n))


def conv_cases(rng):
    conv = lambda **o: options("Conv2D", **{**dict(padding=PAD.SAME, strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1), **o})
    deep = lambda **o: options("DepthwiseConv2D", **{**dict(padding=PAD.SAME, strideW=1, strideH=1, depthMultiplier=1, dilationWFactor=1, dilationHFactor=1), **o})
    yield "conv_same", OP.CONV_2D, conv(), [q([1, 7, 5, 3], zero=-20), weights(rng, [4, 3, 3, 3], 0), bias(rng, 4)], [q([1, 7, 5, 4], 0.1)]
    yield "conv_stride_relu6", OP.CONV_2D, conv(strideW=2, strideH=2, fusedActivationFunction=ACT.RELU6), [q([2, 6, 9, 2]), weights(rng, [5, 3, 2, 2], 0), bias(rng, 5)], [q([2, 3, 5, 5], 0.03, -128)]
    yield "conv_valid_dilated", OP.CONV_2D, conv(padding=PAD.VALID, dilationHFactor=2, dilationWFactor=2, fusedActivationFunction=ACT.RELU), [q([1, 8, 8, 3], zero=127), weights(rng, [3, 3, 3, 3], 0, False), bias(rng, 3)], [q([1, 4, 4, 3], 0.2, -11)]
    yield "conv_1x1", OP.CONV_2D, conv(), [q([1, 4, 4, 6], zero=0), weights(rng, [8, 1, 1, 6], 0), bias(rng, 8)], [q([1, 4, 4, 8], 0.02, 5)]
    yield "conv_grouped", OP.CONV_2D, conv(), [q([1, 5, 5, 4], zero=9), weights(rng, [6, 3, 3, 2], 0), bias(rng, 6)], [q([1, 5, 5, 6], 0.07, -3)]
    w = weights(rng, [3, 3, 3, 2], 0)
    w.scale = np.float32([5.0, 0.01, 0.3])
    yield "conv_large_factors", OP.CONV_2D, conv(), [q([1, 5, 4, 2], 0.5, 7), w, bias(rng, 3)], [q([1, 5, 4, 3], 0.75, 1)]
    yield "depthwise", OP.DEPTHWISE_CONV_2D, deep(), [q([1, 6, 5, 8], zero=-7), weights(rng, [1, 3, 3, 8], 3), bias(rng, 8)], [q([1, 6, 5, 8], 0.04, 2)]
    yield "depthwise_multiplier", OP.DEPTHWISE_CONV_2D, deep(depthMultiplier=4, strideH=2, strideW=2, fusedActivationFunction=ACT.RELU), [q([1, 9, 7, 2], zero=50), weights(rng, [1, 4, 3, 8], 3), bias(rng, 8)], [q([1, 5, 4, 8], 0.06, -128)]
    yield "depthwise_dilated", OP.DEPTHWISE_CONV_2D, deep(dilationHFactor=2, dilationWFactor=3), [q([1, 9, 9, 3]), weights(rng, [1, 3, 3, 3], 3), bias(rng, 3)], [q([1, 9, 9, 3], 0.05, 2)]
    full = lambda **o: options("FullyConnected", **o)
    yield "fully_connected", OP.FULLY_CONNECTED, full(), [q([3, 17], zero=11), weights(rng, [9, 17], 0, False), bias(rng, 9)], [q([3, 9], 0.09, -4)]
    yield "fully_connected_relu_4d", OP.FULLY_CONNECTED, full(fusedActivationFunction=ACT.RELU), [q([2, 2, 3, 2], zero=-128), weights(rng, [5, 12], 0, False), None], [q([2, 5], 0.04, -128)]
    yield "fully_connected_per_channel", OP.FULLY_CONNECTED, full(keepNumDims=True), [q([2, 3, 8]), weights(rng, [4, 8], 0), bias(rng, 4)], [q([2, 3, 4], 0.03, 7)]
    fw = lambda *shape: f(shape, data=rng.standard_normal(shape))
    yield "conv_f32", OP.CONV_2D, conv(strideW=2, strideH=2, fusedActivationFunction=ACT.RELU), [f([1, 7, 6, 3]), fw(4, 3, 3, 3), fw(4)], [f([1, 4, 3, 4])]
    yield "depthwise_f32", OP.DEPTHWISE_CONV_2D, deep(depthMultiplier=2), [f([1, 5, 5, 2]), fw(1, 3, 3, 4), fw(4)], [f([1, 5, 5, 4])]
    yield "fully_connected_f32", OP.FULLY_CONNECTED, full(), [f([2, 6]), fw(3, 6), fw(3)], [f([2, 3])]


def pool_cases(rng):
    pool = lambda **o: options("Pool2D", **{**dict(padding=PAD.SAME, strideW=2, strideH=2, filterWidth=3, filterHeight=3), **o})
    yield "average_pool_same", OP.AVERAGE_POOL_2D, pool(strideW=1, strideH=1), [q([1, 5, 6, 3])], [q([1, 5, 6, 3])]
    yield "average_pool_valid_relu", OP.AVERAGE_POOL_2D, pool(padding=PAD.VALID, fusedActivationFunction=ACT.RELU), [q([1, 7, 7, 2], zero=-30)], [q([1, 3, 3, 2], zero=-30)]
    yield "average_pool_global", OP.AVERAGE_POOL_2D, pool(padding=PAD.VALID, strideW=8, strideH=5, filterWidth=8, filterHeight=5), [q([1, 5, 8, 4])], [q([1, 1, 1, 4])]
    yield "max_pool", OP.MAX_POOL_2D, pool(), [q([1, 6, 7, 3])], [q([1, 3, 4, 3])]
    yield "max_pool_relu6", OP.MAX_POOL_2D, pool(padding=PAD.VALID, fusedActivationFunction=ACT.RELU6), [q([1, 6, 7, 3], zero=-90)], [q([1, 2, 3, 3], zero=-90)]
    yield "average_pool_f32", OP.AVERAGE_POOL_2D, pool(), [f([1, 6, 7, 3])], [f([1, 3, 4, 3])]
    yield "max_pool_f32", OP.MAX_POOL_2D, pool(), [f([1, 6, 7, 3])], [f([1, 3, 4, 3])]


def arithmetic_cases(rng):
    s = [4, 64]
    yield "add", OP.ADD, options("Add"), [q(s, 0.05, 3), q(s, 0.07, -9)], [q(s, 0.09, 1)]
    yield "add_broadcast_relu", OP.ADD, options("Add", fusedActivationFunction=ACT.RELU), [q([2, 3, 4]), q([4], 0.01, 100)], [q([2, 3, 4], 0.03, -12)]
    yield "add_constant", OP.ADD, options("Add"), [q([2, 3, 4]), q([4], 0.01, 5, data=[-128, 127, 0, 9])], [q([2, 3, 4], 0.06, 0)]
    yield "sub", OP.SUB, options("Sub"), [q(s, 0.05, 3), q(s, 0.02, -9)], [q(s, 0.06, 1)]
    yield "mul", OP.MUL, options("Mul"), [q(s, 0.05, 3), q(s, 0.02, -9)], [q(s, 0.07, 1)]
    yield "mul_broadcast_relu6", OP.MUL, options("Mul", fusedActivationFunction=ACT.RELU6), [q([2, 5, 1, 4], 0.05, 3), q([1, 1, 3, 4], 0.02, -9)], [q([2, 5, 3, 4], 0.03, -128)]
    yield "maximum", OP.MAXIMUM, options("MaximumMinimum"), [q([3, 4]), q([4])], [q([3, 4])]
    yield "minimum", OP.MINIMUM, options("MaximumMinimum"), [q([3, 4]), q([3, 4])], [q([3, 4])]
    yield "prelu", OP.PRELU, None, [q([1, 8, 8, 4]), q([1, 1, 4], 0.004, 4, data=[-128, -3, 44, 127])], [q([1, 8, 8, 4], 0.06, -8)]
    yield "add_f32", OP.ADD, options("Add", fusedActivationFunction=ACT.RELU_N1_TO_1), [f([3, 4]), f([4])], [f([3, 4])]
    yield "sub_f32", OP.SUB, options("Sub"), [f([3, 4]), f([3, 4])], [f([3, 4])]
    yield "mul_f32", OP.MUL, options("Mul"), [f([3, 4]), f([3, 1])], [f([3, 4])]
    yield "div_f32", OP.DIV, options("Div"), [f([3, 4]), f([3, 4])], [f([3, 4])]


def element_cases(rng):
    s = [2, 128]
    yield "relu", OP.RELU, None, [q(s)], [q(s, 0.06, -40)]
    yield "relu6", OP.RELU6, None, [q(s)], [q(s, 0.03, -128)]
    yield "relu_n1_to_1", OP.RELU_N1_TO_1, None, [q(s)], [q(s, 0.01, 0)]
    yield "leaky_relu", OP.LEAKY_RELU, options("LeakyRelu", alpha=0.2), [q(s)], [q(s, 0.05, -40)]
    yield "leaky_relu_steep", OP.LEAKY_RELU, options("LeakyRelu", alpha=1.7), [q(s, 0.02, -1)], [q(s, 0.07, 40)]
    for n, (scale, zero, out, out_zero) in enumerate([(0.05, 3, 0.04, -100), (0.03, -128, 0.03, -128), (0.3, 17, 0.2, -60), (0.004, 0, 0.003, 5)]):
        yield f"hard_swish_{n}", OP.HARD_SWISH, options("HardSwish"), [q(s, scale, zero)], [q(s, out, out_zero)]
    for n, (scale, zero) in enumerate([(0.05, 3), (0.2, -50), (0.007, 120)]):
        yield f"logistic_{n}", OP.LOGISTIC, None, [q(s, scale, zero)], [q(s, 1 / 256, -128)]
        yield f"tanh_{n}", OP.TANH, None, [q(s, scale, zero)], [q(s, 1 / 128, 0)]
    yield "quantize", OP.QUANTIZE, None, [f(s)], [q(s, 0.04, 10)]
    yield "requantize", OP.QUANTIZE, None, [q(s)], [q(s, 0.02, -77)]
    yield "dequantize", OP.DEQUANTIZE, None, [q(s)], [f(s)]
    for name in ["LOGISTIC", "TANH", "RELU6", "EXP", "ABS"]:
        yield name.lower() + "_f32", OP.__dict__[name], None, [f([2, 9])], [f([2, 9])]
    yield "hard_swish_f32", OP.HARD_SWISH, options("HardSwish"), [f([2, 9])], [f([2, 9])]


def row_cases(rng):
    soft = lambda beta=1.0: options("Softmax", beta=beta)
    for n, (shape, scale, beta) in enumerate([([2, 10], 0.1, 1.0), ([3, 2], 0.004, 1.0), ([1, 4, 3, 12], 0.6, 1.0), ([1, 200], 0.03, 2.0), ([4, 17], 1.5, 0.7)]):
        yield f"softmax_{n}", OP.SOFTMAX, soft(beta), [q(shape, scale, -9)], [q(shape, 1 / 256, -128)]
    yield "softmax_f32", OP.SOFTMAX, soft(0.5), [f([2, 10])], [f([2, 10])]
    yield "log_softmax_f32", OP.LOG_SOFTMAX, None, [f([2, 10])], [f([2, 10])]
    yield "l2_norm", OP.L2_NORMALIZATION, options("L2Norm"), [q([3, 16], 0.05, 3)], [q([3, 16], 1 / 128, 0)]
    yield "l2_norm_short", OP.L2_NORMALIZATION, options("L2Norm"), [q([64, 2], 0.05, -128)], [q([64, 2], 1 / 128, 0)]
    yield "l2_norm_f32", OP.L2_NORMALIZATION, options("L2Norm"), [f([3, 9])], [f([3, 9])]
    mean = lambda keep=False: options("Reducer", keepDims=keep)
    yield "mean", OP.MEAN, mean(), [q([1, 5, 4, 6])], [q([1, 6], 0.04, -5)], [ints(1, 2)]
    yield "mean_keep_same_scale", OP.MEAN, mean(True), [q([2, 7, 3, 2])], [q([2, 1, 1, 2])], [ints(1, 2)]
    yield "mean_last", OP.MEAN, mean(), [q([3, 25], 0.07, -60)], [q([3], 0.05, 9)], [ints(-1)]
    yield "sum_f32", OP.SUM, mean(), [f([3, 5, 4])], [f([3, 4])], [ints(1)]
    yield "reduce_max", OP.REDUCE_MAX, mean(), [q([2, 5, 4])], [q([2, 4])], [ints(1)]
    yield "reduce_min", OP.REDUCE_MIN, mean(True), [q([2, 5, 4])], [q([2, 1, 1])], [ints(1, 2)]
    yield "mean_f32", OP.MEAN, mean(), [f([2, 5, 4])], [f([2, 4])], [ints(1)]
    yield "argmax", OP.ARG_MAX, options("ArgMax", outputType=schema.TensorType.INT32), [q([3, 9])], [Tensor([3], np.int32)], [ints(1, shape=[])]
    yield "argmin", OP.ARG_MIN, options("ArgMin", outputType=schema.TensorType.INT64), [q([3, 9])], [Tensor([9], np.int64)], [ints(0, shape=[])]


def image_cases(rng):
    for n, (to, flags) in enumerate([((7, 5), {}), ((8, 6), dict(alignCorners=True)), ((9, 4), dict(halfPixelCenters=True)), ((2, 2), {})]):
        size = [ints(*to)]
        yield f"resize_nearest_{n}", OP.RESIZE_NEAREST_NEIGHBOR, options("ResizeNearestNeighbor", **flags), [q([1, 4, 3, 2])], [q([1, *to, 2])], size
        yield f"resize_bilinear_{n}", OP.RESIZE_BILINEAR, options("ResizeBilinear", **flags), [q([1, 4, 3, 2])], [q([1, *to, 2])], size
    yield "resize_bilinear_f32", OP.RESIZE_BILINEAR, options("ResizeBilinear", halfPixelCenters=True), [f([1, 4, 3, 2])], [f([1, 7, 6, 2])], [ints(7, 6)]
    yield "depth_to_space", OP.DEPTH_TO_SPACE, options("DepthToSpace", blockSize=2), [q([1, 2, 3, 8])], [q([1, 4, 6, 2])]
    yield "space_to_depth", OP.SPACE_TO_DEPTH, options("SpaceToDepth", blockSize=2), [q([1, 4, 6, 2])], [q([1, 2, 3, 8])]


def shape_cases(rng):
    yield "reshape", OP.RESHAPE, options("Reshape", newShape=[3, -1]), [q([2, 3, 4])], [q([3, 8])], [ints(3, -1)]
    yield "squeeze", OP.SQUEEZE, options("Squeeze", squeezeDims=[1]), [q([2, 1, 4, 1])], [q([2, 4, 1])]
    yield "expand_dims", OP.EXPAND_DIMS, options("ExpandDims"), [q([2, 4])], [q([2, 1, 4])], [ints(1, shape=[])]
    yield "transpose", OP.TRANSPOSE, options("Transpose"), [q([2, 3, 4])], [q([4, 2, 3])], [ints(2, 0, 1)]
    yield "pad", OP.PAD, options("Pad"), [q([2, 3])], [q([5, 4])], [ints(1, 2, 0, 1, shape=[2, 2])]
    yield "padv2", OP.PADV2, options("PadV2"), [q([2, 3])], [q([5, 4])], [ints(1, 2, 0, 1, shape=[2, 2]), q([1], data=[77])]
    yield "mirror_pad", OP.MIRROR_PAD, options("MirrorPad", mode=schema.MirrorPadMode.REFLECT), [q([3, 4])], [q([6, 7])], [ints(1, 2, 0, 3, shape=[2, 2])]
    yield "concatenation", OP.CONCATENATION, options("Concatenation", axis=-1), [q([2, 3]), q([2, 1]), q([2, 2])], [q([2, 6])]
    yield "slice", OP.SLICE, options("Slice"), [q([4, 5])], [q([2, 3])], [ints(1, 2), ints(2, -1)]
    yield "strided_slice", OP.STRIDED_SLICE, options("StridedSlice", beginMask=2, endMask=1, shrinkAxisMask=4), [q([4, 6, 3])], [q([2, 2])], [ints(1, 9, -1), ints(0, -1, 0), ints(2, 3, 1)]
    yield "strided_slice_backwards", OP.STRIDED_SLICE, options("StridedSlice", endMask=1), [q([5, 4])], [q([3, 2])], [ints(-1, 3), ints(0, 1), ints(-2, -1)]
    axis = ints(1, shape=[])
    yield "split", OP.SPLIT, options("Split", numSplits=3), [q([2, 6])], [q([2, 2]), q([2, 2]), q([2, 2])], [], [axis]
    yield "split_v", OP.SPLIT_V, options("SplitV", numSplits=3), [q([2, 6])], [q([2, 1]), q([2, 3]), q([2, 2])], [ints(1, -1, 2), axis]
    yield "pack", OP.PACK, options("Pack", valuesCount=3, axis=1), [q([2, 4]), q([2, 4]), q([2, 4])], [q([2, 3, 4])]
    yield "unpack", OP.UNPACK, options("Unpack", num=2, axis=1), [q([3, 2, 2])], [q([3, 2]), q([3, 2])]
    yield "gather", OP.GATHER, options("Gather", axis=1), [q([3, 5, 2])], [q([3, 4, 2])], [ints(4, 0, 2, 2)]
    yield "tile", OP.TILE, options("Tile"), [q([2, 3])], [q([4, 9])], [ints(2, 3)]
    yield "transpose_f32", OP.TRANSPOSE, options("Transpose"), [f([2, 3, 4])], [f([4, 2, 3])], [ints(2, 0, 1)]
    yield "pad_f32", OP.PAD, options("Pad"), [f([2, 3])], [f([5, 4])], [ints(1, 2, 0, 1, shape=[2, 2])]
    yield "cast", OP.CAST, options("Cast", inDataType=schema.TensorType.FLOAT32, outDataType=schema.TensorType.INT32), [f([2, 5])], [Tensor([2, 5], np.int32)]


def write_cases():
    folder = os.path.join(HERE, "cases")
    groups = [conv_cases, pool_cases, arithmetic_cases, element_cases, row_cases, image_cases, shape_cases]
    for number, group in enumerate(groups):
        rng = np.random.default_rng(number)
        for name, code, opts, inputs, outputs, *more in group(rng):
            behind, before = (more + [[], []])[:2]
            inputs = before + inputs + behind
            content, interpreter = newest(name, lambda version: model(code, version, opts, inputs, outputs))
            given = [t for t in inputs if t is not None and t.data is None]
            data = b""
            for run in range(RUNS):
                arrays = [random(rng, t, run) for t in given]
                results = called(interpreter, arrays)
                for result, declared in zip(results, outputs):
                    assert list(result.shape) == declared.shape, (name, result.shape, declared.shape)
                data += b"".join(a.tobytes() for a in arrays + results)
            for end, bytes_ in [("tflite", content), ("bin", data)]:
                with open(os.path.join(folder, f"{name}.{end}"), "wb") as file:
                    file.write(bytes_)


def bytes_of(run, count):
    """Numbers of 8 bits that depend on the run: of some runs about one number, of some equal in a row."""
    places = np.arange(1, count + 1, dtype=np.uint64) // np.uint64(1 + 96 * (run % 7))
    with np.errstate(over="ignore"):
        z = (np.uint64(run) * np.uint64(1_000_003) + np.concatenate([[np.uint64(0)], places + np.uint64(1)])) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = ((z >> np.uint64(56)).astype(np.int64)) - 128
    return np.clip(z[0] * (run % 4) // 4 + z[1:] * (4 - run % 4) // 4, -128, 127).astype(np.int8)


def write_models(runs=100):
    folder = os.path.join(HERE, "models")
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".tflite"):
            continue
        with open(os.path.join(folder, file), "rb") as opened_file:
            content = opened_file.read()
        # of vectors LiteRT takes no axis but 0, and person_detect says 3: the kernels do not read it
        m = schema.ModelT.InitFromPackedBuf(content, 0)
        for t in m.subgraphs[0].tensors:
            if t.quantization is not None and t.shape is not None and len(t.shape) == 1:
                t.quantization.quantizedDimension = 0
        interpreter = opened(packed(m))
        shape = interpreter.get_input_details()[0]["shape"]
        out = [called(interpreter, [bytes_of(run, int(np.prod(shape))).reshape(shape)])[0] for run in range(runs)]
        print(file, "different results:", len({o.tobytes() for o in out}))
        with open(os.path.join(folder, file.replace(".tflite", ".out")), "wb") as written:
            written.write(b"".join(o.tobytes() for o in out))


def hostile():
    """Models that nobody should trust: each with what is wrong with it."""
    rng = np.random.default_rng(99)

    def conv():
        o = options("Conv2D", padding=PAD.SAME, strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
        return tables(OP.CONV_2D, 3, o, [q([1, 4, 4, 2]), weights(rng, [3, 3, 3, 2], 0), bias(rng, 3)], [q([1, 4, 4, 3])])

    def relu():
        return tables(OP.RELU, 2, None, [q([2, 3])], [q([2, 3])])

    def changed(make, change):
        m = make()
        change(m, m.subgraphs[0])
        return packed(m)

    plain = packed(conv())
    yield "empty", b""
    yield "short", plain[:6]
    yield "other_format", plain[:4] + b"ONNX" + plain[8:]
    yield "root_outside", b"\xff\xff\xff\x7f" + plain[4:]
    root = int.from_bytes(plain[:4], "little")
    yield "fields_outside", plain[:root] + b"\xff\xff\xff\x7f" + plain[root + 4:]
    yield "fields_before", plain[:root] + b"\x00\x00\xff\x7f" + plain[root + 4:]
    table = schema.Model.GetRootAs(plain, 0)
    at = table._tab.Vector(table._tab.Offset(8)) - 4
    yield "long_vector", plain[:at] + b"\xff\xff\xff\xff" + plain[at + 4:]
    yield "element_outside", plain[:at + 4] + b"\xff\xff\xff\x7f" + plain[at + 8:]
    yield "half", plain[:len(plain) // 2]

    def edit(name, change, make=conv):
        return name, changed(make, change)

    def set_(path, value):
        def change(m, g):
            *heads, last = path.split(".")
            at = dict(m=m, g=g, op=g.operators[0], o=g.operators[0].builtinOptions, x=g.tensors[0], w=g.tensors[1],
                      b=g.tensors[2] if len(g.tensors) > 2 else None, y=g.tensors[-1], kind=m.operatorCodes[0])[heads[0]]
            for head in heads[1:]:
                at = getattr(at, head)
            assert hasattr(at, last), path
            setattr(at, last, value)
        return change

    yield edit("version_2", set_("m.version", 2))
    yield edit("no_graph", set_("m.subgraphs", []))
    yield edit("no_output", set_("g.outputs", []))
    yield edit("tensor_outside", set_("op.inputs", [0, 1, 77]))
    yield edit("tensor_negative", set_("op.outputs", [-3]))
    yield edit("output_outside", set_("g.outputs", [9]))
    yield edit("kind_outside", set_("op.opcodeIndex", 5))
    yield edit("buffer_outside", set_("w.buffer", 1000))
    yield edit("unknown_operator", set_("kind.builtinCode", 4000))
    yield edit("unsupported_operator", set_("kind.builtinCode", OP.LSTM))
    yield edit("input_twice", set_("g.inputs", [0, 0]))
    yield edit("cycle", set_("op.inputs", [3, 1, 2]))
    yield edit("result_is_input", set_("op.outputs", [0]))
    yield edit("result_is_weight", set_("op.outputs", [1]))
    yield edit("nothing_gives_output", set_("g.operators", []))
    yield edit("operand_left_out", set_("op.inputs", [-1, 1, 2]))
    yield edit("operands_missing", set_("op.inputs", [0]))
    yield edit("huge_input", set_("x.shape", [1, 1 << 30, 1 << 30, 2]))
    yield edit("negative_input", set_("x.shape", [1, -4, 4, 2]))
    yield edit("many_axes", set_("x.shape", [1] * 9))
    yield edit("rank_of_input", set_("x.shape", [4, 4, 2]))
    yield edit("huge_weights", set_("w.shape", [1 << 30, 3, 3, 2]))
    yield edit("weights_cut", set_("w.shape", [3, 3, 3, 4]))
    yield edit("weights_of_no_elements", set_("w.shape", [0, 3, 3, 2]))
    yield edit("weights_are_given", set_("w.buffer", 0))
    yield edit("weights_of_floats", set_("w.type", schema.TensorType.FLOAT32))
    yield edit("input_of_strings", set_("x.type", schema.TensorType.STRING))
    yield edit("input_of_u8", set_("x.type", schema.TensorType.UINT8))
    yield edit("result_of_floats", set_("y.type", schema.TensorType.FLOAT32))
    yield edit("bias_of_bytes", set_("b.type", schema.TensorType.INT8))
    yield edit("no_scale", set_("x.quantization", None))
    yield edit("scale_0", set_("y.quantization.scale", np.float32([0])))
    yield edit("scale_nan", set_("x.quantization.scale", np.float32([np.nan])))
    yield edit("weight_scale_negative", set_("w.quantization.scale", np.float32([0.1, -1, 0.1])))
    yield edit("weight_scales", set_("w.quantization.scale", np.float32([0.1, 0.1])))
    yield edit("weight_axis", set_("w.quantization.quantizedDimension", 3))
    yield edit("weight_zero_point", set_("w.quantization.zeroPoint", np.int64([0, 4, 0])))
    yield edit("zero_point", set_("x.quantization.zeroPoint", np.int64([300])))
    yield edit("stride_0", set_("o.strideH", 0))
    yield edit("stride_negative", set_("o.strideW", -1))
    yield edit("dilation_huge", set_("o.dilationWFactor", 1 << 30))
    yield edit("padding", set_("o.padding", 7))
    yield edit("activation", set_("o.fusedActivationFunction", 9))
    yield edit("options_missing", set_("op.builtinOptions", None))
    yield edit("variable", set_("x.isVariable", True))
    yield edit("sparse", set_("w.sparsity", schema.SparsityParametersT()))

    def custom(m, g):
        m.operatorCodes[0].builtinCode = m.operatorCodes[0].deprecatedBuiltinCode = OP.CUSTOM
        m.operatorCodes[0].customCode = "Frobnicate"

    def all_unknown(m, g):
        other = schema.OperatorCodeT()
        other.builtinCode, other.deprecatedBuiltinCode = OP.SVDF, OP.SVDF
        m.operatorCodes.append(other)
        g.operators.append(schema.OperatorT())
        g.operators[0].outputs, g.operators[1].outputs, g.operators[1].inputs = [1], [2], [0]
        g.operators[1].opcodeIndex = 1
        m.operatorCodes[0].builtinCode = m.operatorCodes[0].deprecatedBuiltinCode = OP.LSTM
        extra = schema.TensorT()
        extra.shape, extra.type, extra.name = [2], schema.TensorType.INT8, "other"
        g.tensors.append(extra)
        g.outputs = [1, 2]

    yield edit("custom_operator", custom, relu)
    yield edit("two_unknown_operators", all_unknown, relu)

    def one(name, code, opts, inputs, outputs):
        return name, packed(tables(code, 1, opts, inputs, outputs))

    yield one("reshape_count", OP.RESHAPE, options("Reshape"), [q([2, 3]), ints(4, 2)], [q([4, 2])])
    yield one("reshape_negative", OP.RESHAPE, options("Reshape"), [q([2, 3]), ints(-3, -2)], [q([4, 2])])
    yield one("reshape_open_twice", OP.RESHAPE, options("Reshape"), [q([2, 3]), ints(-1, -1)], [q([4, 2])])
    yield one("transpose_twice", OP.TRANSPOSE, options("Transpose"), [q([2, 3]), ints(0, 0)], [q([2, 2])])
    yield one("axis_outside", OP.REDUCE_MAX, options("Reducer"), [q([2, 3]), ints(7)], [q([2])])
    yield one("pad_huge", OP.PAD, options("Pad"), [q([2, 3]), ints(2**30, 2**30, 2**30, 0, shape=[2, 2])], [q([2, 3])])
    yield one("concat_shapes", OP.CONCATENATION, options("Concatenation"), [q([2, 3]), q([3, 4])], [q([5, 3])])
    yield one("concat_scales", OP.CONCATENATION, options("Concatenation"), [q([2, 3]), q([2, 3], 0.7)], [q([4, 3])])
    yield one("slice_outside", OP.SLICE, options("Slice"), [q([4, 5]), ints(1, 2), ints(2, 9)], [q([2, 3])])
    yield one("step_0", OP.STRIDED_SLICE, options("StridedSlice"), [q([4]), ints(0), ints(4), ints(0)], [q([4])])
    yield one("split_uneven", OP.SPLIT, options("Split", numSplits=2), [ints(0, shape=[]), q([3])], [q([1]), q([2])])
    yield one("split_results", OP.SPLIT, options("Split", numSplits=2), [ints(0, shape=[]), q([4])], [q([2])])
    yield one("tile_huge", OP.TILE, options("Tile"), [q([2, 3]), ints(60000, 60000)], [q([2, 3])])
    yield one("resize_0", OP.RESIZE_BILINEAR, options("ResizeBilinear"), [q([1, 2, 2, 1]), ints(0, 3)], [q([1, 2, 2, 1])])
    yield one("softmax_scale", OP.SOFTMAX, options("Softmax", beta=1.0), [q([2, 3])], [q([2, 3], 0.1, 0)])
    yield one("add_types", OP.ADD, options("Add"), [q([2, 3]), f([2, 3])], [q([2, 3])])
    yield one("add_shapes", OP.ADD, options("Add"), [q([2, 3]), q([4, 3])], [q([2, 3])])
    yield one("pool_window", OP.MAX_POOL_2D, options("Pool2D", padding=PAD.VALID, strideH=1, strideW=1, filterWidth=9, filterHeight=1), [q([1, 4, 4, 2])], [q([1, 4, 4, 2])])
    yield one("division_of_integers", OP.DIV, options("Div"), [q([3]), q([3])], [q([3])])


def write_hostile():
    for name, content in hostile():
        with open(os.path.join(HERE, "hostile", f"{name}.tflite"), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    write_cases()
    write_hostile()
    write_models()
