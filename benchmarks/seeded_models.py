"""ONNX models made with onnx.helper, with parameters of a seed: MobileNet v2, ResNet-50, a transformer block.

Their layers are those of the papers; sizes can be smaller. Parameters are scaled so that words keep their magnitude
from layer to layer. `python benchmarks/seeded_models.py mobilenet_v2 build/mobilenet_v2.onnx` writes one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Builder:
    """Nodes and parameters of a model that grows.

    seed  of the parameters
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.stored: list[onnx.TensorProto] = []

    def parameter(self, name: str, values: np.ndarray[Any, Any]) -> str:
        """A stored parameter; its name."""
        self.stored.append(numpy_helper.from_array(values, name))
        return name

    def floats(self, name: str, *shape: int, terms: int = 1) -> str:
        """Numbers around zero, so small that sums of `terms` products are about as large as what is summed."""
        return self.parameter(name, (self.rng.standard_normal(shape) / math.sqrt(terms)).astype(np.float32))

    def add(self, op: str, name: str, *reads: str, **attributes: Any) -> str:
        """A node of one output, which has its name."""
        self.nodes.append(helper.make_node(op, list(reads), [name], name, **attributes))
        return name

    def conv(self, name: str, read: str, filters: int, channels: int, kernel: int = 1, **options: int) -> str:
        """A convolution that pads as much as its kernel reaches, and a batch norm."""
        groups, pad = options.get("group", 1), kernel // 2
        shape = (filters, channels // groups, kernel, kernel)
        weights = self.floats(f"{name}.w", *shape, terms=math.prod(shape[1:]))
        strides = [options.get("stride", 1)] * 2
        made = self.add("Conv", name, read, weights, group=groups, pads=[pad] * 4, strides=strides)
        norm = [self.floats(f"{name}.{what}", filters) for what in ("shift", "mean")]
        scale, variance = ((0.5 + self.rng.random(filters)).astype(np.float32) for _ in range(2))
        given = [self.parameter(f"{name}.scale", scale), norm[0], norm[1], self.parameter(f"{name}.variance", variance)]
        return self.add("BatchNormalization", f"{name}.bn", made, *given)

    def model(self, name: str, shape: list[int], result: str, opset: int = OPSET) -> onnx.ModelProto:
        """The whole, with input `x` and one output."""
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, name, [given], [helper.make_empty_tensor_value_info(result)], self.stored)
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > OPSET else 8
        )
        return onnx.shape_inference.infer_shapes(made)


def mobilenet_v2(size: int = 224, width: float = 1.0, classes: int = 1000, seed: int = 0) -> onnx.ModelProto:
    """MobileNet v2 (Sandler et al., CVPR 2018, table 2): inverted residuals with depthwise convolutions."""
    build = Builder(seed)

    def wide(channels: int) -> int:
        return max(4, int(channels * width + 4) // 8 * 8) if width != 1 else channels

    def relu6(name: str, read: str) -> str:
        return build.add("Clip", f"{name}.relu", read, "zero", "six")

    build.parameter("zero", np.array(0, np.float32))
    build.parameter("six", np.array(6, np.float32))
    channels = wide(32)
    read = relu6("stem", build.conv("stem", "x", channels, 3, 3, stride=2))
    number = 0
    for expansion, filters, count, stride in (
        *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
        *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
    ):
        for repeat in range(count):
            name, hidden, made = f"b{number}", channels * expansion, wide(filters)
            step = stride if repeat == 0 else 1
            inner = read
            if expansion > 1:
                inner = relu6(f"{name}.expand", build.conv(f"{name}.expand", inner, hidden, channels))
            inner = relu6(f"{name}.dw", build.conv(f"{name}.dw", inner, hidden, hidden, 3, group=hidden, stride=step))
            inner = build.conv(f"{name}.project", inner, made, hidden)
            read = build.add("Add", f"{name}.add", inner, read) if step == 1 and made == channels else inner
            channels, number = made, number + 1
    last = 1280 if width == 1 else wide(1280)
    read = relu6("head", build.conv("head", read, last, channels))
    read = build.add("Flatten", "flat", build.add("GlobalAveragePool", "pool", read))
    given = [build.floats("fc.w", classes, last, terms=last), build.floats("fc.b", classes)]
    return build.model("mobilenet_v2", [1, 3, size, size], build.add("Gemm", "fc", read, *given, transB=1))


def resnet50(size: int = 224, width: int = 64, classes: int = 1000, seed: int = 0) -> onnx.ModelProto:
    """ResNet-50 (He et al., CVPR 2016, table 1), stride in the 3x3 convolutions as torchvision has it."""
    build = Builder(seed)
    read = build.add("Relu", "stem.relu", build.conv("stem", "x", width, 3, 7, stride=2))
    read = build.add("MaxPool", "pool", read, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for layer, count in enumerate((3, 4, 6, 3)):
        inner = width * 2**layer
        for block in range(count):
            name, stride = f"layer{layer + 1}.{block}", 2 if layer and not block else 1
            made = build.add("Relu", f"{name}.relu1", build.conv(f"{name}.conv1", read, inner, channels))
            made = build.add("Relu", f"{name}.relu2", build.conv(f"{name}.conv2", made, inner, inner, 3, stride=stride))
            made = build.conv(f"{name}.conv3", made, 4 * inner, inner)
            if not block:
                read = build.conv(f"{name}.downsample", read, 4 * inner, channels, stride=stride)
            read = build.add("Relu", f"{name}.relu3", build.add("Add", f"{name}.add", made, read))
            channels = 4 * inner
    read = build.add("Flatten", "flat", build.add("GlobalAveragePool", "mean", read))
    given = [build.floats("fc.w", classes, channels, terms=channels), build.floats("fc.b", classes)]
    return build.model("resnet50", [1, 3, size, size], build.add("Gemm", "fc", read, *given, transB=1))


def quantized_mobilenet(size: int = 224, width: int = 32, classes: int = 1000, seed: int = 0) -> onnx.ModelProto:
    """MobileNet v1 (Howard et al., 2017, table 1) of QLinear operators: weights of 8 bits with a scale for each filter,
    activations of 8 bits from 0 on, which is what a Relu leaves, each convolution with a bias of 32 bits."""
    build = Builder(seed)

    def scale(name: str, value: float | np.ndarray[Any, Any]) -> str:
        return build.parameter(name, np.asarray(value, np.float32))

    def weights(name: str, *shape: int) -> str:
        return build.parameter(name, build.rng.integers(-127, 128, shape).astype(np.int8))

    def conv(name: str, read: tuple[str, str, str], filters: int, channels: int, kernel: int, **options: int) -> Any:
        terms = channels // options.get("group", 1) * kernel**2
        scales = scale(f"{name}.ws", (1 + build.rng.random(filters)) / 120 / math.sqrt(terms))
        zeros = build.parameter(f"{name}.wz", np.zeros(filters, np.int8))
        bias = build.parameter(f"{name}.b", build.rng.integers(-2000, 2000, filters).astype(np.int32))
        stored = [weights(f"{name}.w", filters, terms // kernel**2, kernel, kernel), scales, zeros]
        made = scale(f"{name}.s", 0.05), build.parameter(f"{name}.z", np.array(0, np.uint8))
        strides, pads = [options.get("stride", 1)] * 2, [kernel // 2] * 4
        given = (*read, *stored, *made, bias)
        return build.add("QLinearConv", name, *given, group=options.get("group", 1), strides=strides, pads=pads), *made

    given = scale("x.s", 0.04), build.parameter("x.z", np.array(114, np.uint8))
    read = conv("stem", (build.add("QuantizeLinear", "x.q", "x", *given), *given), width, 3, 3, stride=2)
    channels = width
    for number, (factor, stride) in enumerate(
        [(2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), *[(16, 1)] * 5, (32, 2), (32, 1)]
    ):
        read = conv(f"b{number}.depthwise", read, channels, channels, 3, group=channels, stride=stride)
        read = conv(f"b{number}.pointwise", read, width * factor, channels, 1)
        channels = width * factor
    mean = build.add(
        "Flatten", "flat", build.add("GlobalAveragePool", "mean", build.add("DequantizeLinear", "d", *read))
    )
    mean = build.add("QuantizeLinear", "mean.q", mean, *read[1:])
    last = [weights("fc.w", channels, classes), scale("fc.ws", 0.001), build.parameter("fc.wz", np.array(0, np.int8))]
    made = scale("fc.s", 0.02), build.parameter("fc.z", np.array(128, np.uint8))
    product = build.add("QLinearMatMul", "fc", mean, *read[1:], *last, *made)
    result = build.add("DequantizeLinear", "y", product, *made)
    return build.model("quantized_mobilenet", [1, 3, size, size], result, opset=21)  # which ONNX's reference knows


def transformer_block(tokens: int = 128, width: int = 768, heads: int = 12, seed: int = 0) -> onnx.ModelProto:
    """A block of GPT-2 (norms first) without a mask: attention, and a feed-forward with the tanh Gelu written out."""
    build, each = Builder(seed), width // heads

    def norm(name: str, read: str) -> str:
        return build.add(
            "LayerNormalization", name, read, build.floats(f"{name}.g", width), build.floats(f"{name}.b", width)
        )

    def linear(name: str, read: str, inputs: int, outputs: int) -> str:
        made = build.add("MatMul", name, read, build.floats(f"{name}.w", inputs, outputs, terms=inputs))
        return build.add("Add", f"{name}.added", made, build.floats(f"{name}.bias", outputs))

    def number(name: str, value: float) -> str:
        return build.parameter(name, np.array(value, np.float32))

    build.parameter("heads", np.array([tokens, heads, each]))
    build.parameter("joined", np.array([tokens, width]))
    normed = norm("norm1", "x")
    parts = {}
    for part, order in (("q", [1, 0, 2]), ("k", [1, 2, 0]), ("v", [1, 0, 2])):
        made = build.add("Reshape", f"{part}.heads", linear(part, normed, width, width), "heads")
        parts[part] = build.add("Transpose", f"{part}.turned", made, perm=order)
    scores = build.add("Mul", "scaled", build.add("MatMul", "qk", parts["q"], parts["k"]), number("root", each**-0.5))
    made = build.add("MatMul", "av", build.add("Softmax", "softmax", scores), parts["v"])
    made = build.add("Reshape", "merged", build.add("Transpose", "turned", made, perm=[1, 0, 2]), "joined")
    first = build.add("Add", "add1", linear("o", made, width, width), "x")
    up = linear("up", norm("norm2", first), width, 4 * width)
    cube = build.add("Mul", "cube", build.add("Mul", "square", up, up), up)
    inner = build.add("Add", "inner", up, build.add("Mul", "cubic", cube, number("cubic.c", 0.044715)))
    tanh = build.add("Tanh", "tanh", build.add("Mul", "rooted", inner, number("pi.c", math.sqrt(2 / math.pi))))
    half = build.add("Mul", "half", up, number("half.c", 0.5))
    gelu = build.add("Mul", "gelu", half, build.add("Add", "plus", tanh, number("one", 1.0)))
    second = build.add("Add", "add2", linear("down", gelu, 4 * width, width), first)
    return build.model("transformer_block", [tokens, width], second)


MODELS: Mapping[str, Callable[..., onnx.ModelProto]] = {
    "mobilenet_v2": mobilenet_v2,
    "resnet50": resnet50,
    "quantized_mobilenet": quantized_mobilenet,
    "transformer_block": transformer_block,
}

if __name__ == "__main__":
    onnx.save(MODELS[sys.argv[1]](), sys.argv[2])
