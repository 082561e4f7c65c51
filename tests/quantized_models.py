"""Quantized ONNX models of seeded parameters: QLinear operators, and floats between quantizing and dequantizing."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from onnx_models import model_of

node = helper.make_node
IMAGE = (1, 3, 8, 8)


def f(value: object) -> np.ndarray:
    return np.array(value, np.float32)


def i8(value: object) -> np.ndarray:
    return np.array(value, np.int8)


def u8(value: object) -> np.ndarray:
    return np.array(value, np.uint8)


def qlinear(seed: int) -> onnx.ModelProto:
    """Convolutions with scales and zero points for each filter, groups, strides and a bias; a pooling, a product with a
    scale for each column."""
    rng = np.random.default_rng(seed)
    nodes = [
        node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], "q"),
        node("QLinearConv", ["xq", "xs", "xz", "w", "ws", "wz", "as", "az", "b"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        node("MaxPool", ["a"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node(
            *("QLinearConv", ["p", "as", "az", "w2", "w2s", "w2z", "ds", "dz"], ["d"], "conv2"),
            group=2,
            pads=[1, 0, 0, 1],
            strides=[2, 1],
        ),
        node("Flatten", ["d"], ["fl"], "flat"),
        node("QLinearMatMul", ["fl", "ds", "dz", "w3", "w3s", "w3z", "es", "ez"], ["e"], "product"),
        node("DequantizeLinear", ["e", "es", "ez"], ["y"], "dq"),
    ]
    stored = {
        **{"xs": f(0.05), "xz": u8(117), "w": rng.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)},
        **{"ws": f([0.01, 0.02, 0.003, 0.05]), "wz": i8([0, 1, -3, 4]), "as": f(0.21), "az": u8(3)},
        **{
            "b": rng.integers(-3000, 3000, 4).astype(np.int32),
            "w2": rng.integers(0, 256, (6, 2, 2, 2)).astype(np.uint8),
        },
        **{"w2s": f(0.01), "w2z": u8(128), "ds": f(0.3), "dz": u8(100)},
        **{"w3": rng.integers(-128, 128, (48, 5)).astype(np.int8), "w3s": f([0.01, 0.02, 0.03, 0.01, 0.02])},
        **{"w3z": i8(0), "es": f(0.7), "ez": i8(-3)},
    }
    return model_of(nodes, {"x": list(IMAGE)}, stored=stored)


def qdq(seed: int, *, exact: bool = True) -> onnx.ModelProto:
    """Convolutions with a Relu, a residual addition, a pooling, a Gemm with a bias, products with a Clip and without
    anything behind.

    exact  scales are powers of 2, with which single precision makes no error
    """
    rng = np.random.default_rng(seed)

    def scale(value: object) -> np.ndarray:
        return f(2.0 ** np.round(np.log2(value))) if exact else f(value)  # type: ignore[call-overload]

    def q(name: str, made: str) -> onnx.NodeProto:
        return node("QuantizeLinear", [name, f"{made}.s", f"{made}.z"], [f"{made}.q"], f"q_{made}")

    def dq(name: str, axis: int = 0) -> onnx.NodeProto:
        given = [f"{name}.q", f"{name}.s", f"{name}.z"]
        return node("DequantizeLinear", given, [f"{name}.d"], f"dq_{name}", axis=axis)

    nodes = [
        *(q("x", "x"), dq("x"), dq("w1"), dq("b1")),
        node("Conv", ["x.d", "w1.d", "b1.d"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["ar"], "relu"),
        *(q("ar", "a"), dq("a"), dq("w2")),
        node("Conv", ["a.d", "w2.d"], ["c"], "conv2", pads=[1, 1, 1, 1], group=2),
        *(q("c", "c"), dq("c")),
        node("Add", ["c.d", "a.d"], ["r"], "add"),
        *(q("r", "r"), dq("r")),
        node("MaxPool", ["r.d"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["fl"], "flat"),
        *(dq("w3"), dq("b3")),
        node("Gemm", ["fl", "w3.d", "b3.d"], ["g"], "fc", transB=1),
        *(q("g", "g"), dq("g"), dq("w4")),
        node("MatMul", ["g.d", "w4.d"], ["m"], "product"),
        node("Clip", ["m", "low", "high"], ["mc"], "clip"),
        *(q("mc", "m"), dq("m"), dq("w5")),
        node("MatMul", ["m.d", "w5.d"], ["y"], "last"),
    ]

    def weights(*shape: int) -> np.ndarray:
        return rng.integers(-128, 128, shape).astype(np.int8)

    def bias(count: int) -> np.ndarray:
        return rng.integers(-3000, 3000, count).astype(np.int32)

    x, w1, r, w3 = scale(0.05), scale([0.01, 0.02, 0.003, 0.05]), scale(0.5), scale(0.01)
    zero = np.zeros(4, np.int32)
    stored = {
        **{"x.s": x, "x.z": u8(117), "w1.q": weights(4, 3, 3, 3), "w1.s": w1, "w1.z": i8(zero)},
        **{"b1.q": bias(4), "b1.s": x * w1, "b1.z": zero, "a.s": scale(0.1), "a.z": u8(3)},
        **{"w2.q": weights(4, 2, 3, 3), "w2.s": scale(0.01), "w2.z": i8(5), "c.s": scale(0.3), "c.z": i8(7)},
        **{"r.s": r, "r.z": i8(-11), "w3.q": weights(5, 64), "w3.s": w3, "w3.z": i8(0)},
        **{"b3.q": bias(5), "b3.s": np.array(r * w3), "b3.z": zero[0:1].reshape(()), "g.s": scale(0.9), "g.z": u8(99)},
        **{"w4.q": weights(5, 6), "w4.s": scale(0.02), "w4.z": i8(0), "low": f(-20), "high": f(30)},
        **{"m.s": scale(0.4), "m.z": u8(128), "w5.q": weights(6, 3), "w5.s": scale(0.03), "w5.z": i8(1)},
    }
    return model_of(nodes, {"x": list(IMAGE)}, stored=stored)
