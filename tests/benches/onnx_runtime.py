"""One node in ONNX Runtime, timed when somebody asks: the other side of `kernels.rs`.

`onnx_runtime.py SHAPE NODE`, as in `1,64,112,112 "MaxPool kernel_shape=3,3 strides=2,2"`. Each line of the input asks
for one measurement on one thread, the answer is seconds per run.
"""
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

LEAST = 1e-3


def session(shape, node):
    op, *attrs = node.split()
    attrs = dict(attr.split("=") for attr in attrs)
    attrs = {name: [int(n) for n in value.split(",")] for name, value in attrs.items()}
    attrs = {name: value if name.endswith(("s", "shape")) else value[0] for name, value in attrs.items()}
    made = helper.make_node(op, ["x"], ["y"], **attrs)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph([made], "pool", [x], [y]), opset_imports=[helper.make_opsetid("", 19)], ir_version=9
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    shape = [int(n) for n in sys.argv[1].split(",")]
    run = session(shape, sys.argv[2])
    x = ((numpy.arange(numpy.prod(shape)) * 7919 % 1021) / 512 - 1).astype(numpy.float32).reshape(shape)
    # Results stay where they are: neither side allocates.
    binding = run.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_output("y")
    run.run_with_iobinding(binding)
    binding.bind_ortvalue_output("y", binding.get_outputs()[0])
    for _ in sys.stdin:
        begin, runs = time.perf_counter(), 0
        while runs == 0 or time.perf_counter() - begin < LEAST:
            run.run_with_iobinding(binding)
            runs += 1
        print((time.perf_counter() - begin) / runs, flush=True)


main()
