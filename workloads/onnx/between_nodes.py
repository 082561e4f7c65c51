"""What ONNX nodes that do not multiply are as operations: additions, norms, softmax, pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...ir import Call, Expression, Number
from ..graph.occurrences import OUTSIDE, Occurrence
from .convolutions import pool_begins
from .nodes import OnnxNode


def without_program(node: OnnxNode, occurrence: Occurrence) -> str | None:
    """Why no program can do what a node does besides its operation."""
    if occurrence.kind == OUTSIDE:
        return None
    if occurrence.follows:
        return "there is no program for this operator"
    if any(node.has(position) and not node.input(position).constant for position in (1, 2)) and (
        node.op == "LayerNormalization" or (node.op in ("Conv", "ConvTranspose", "Gemm") and node.has(2))
    ):
        return "what it adds is no stored parameter" if not node.input(2).constant else None
    return None


def is_never_negative(expression: Expression) -> bool:
    """Whether zeros around a tensor of such words change no maximum."""
    if isinstance(expression, Number):
        return expression.value >= 0
    if not isinstance(expression, Call):
        return False
    if expression.function in ("min", "rint", "single", "trunc"):
        return all(map(is_never_negative, expression.arguments))
    grows = expression.function == "max" and any(map(is_never_negative, expression.arguments))
    return grows or expression.function in ("abs", "exp", "relu", "sigmoid", "sqrt")


def _last_axis(node: OnnxNode) -> bool:
    axis = node.attributes.get("axis", -1)
    return axis in (-1, len(node.shape(0)) - 1)


def _pools_images(node: OnnxNode) -> bool:
    return len(node.shape(0)) == 4


_KINDS: Mapping[str, tuple[str, Callable[[OnnxNode], bool]]] = {
    "Add": ("add", lambda _: True),
    "AveragePool": ("avgpool", _pools_images),
    "GlobalAveragePool": ("avgpool", _pools_images),
    "LayerNormalization": ("layernorm", _last_axis),
    "MaxPool": ("maxpool", _pools_images),
    "Mul": ("mul", lambda _: True),
    "RMSNormalization": ("rmsnorm", _last_axis),
    "SimplifiedLayerNormalization": ("rmsnorm", _last_axis),
    "Softmax": ("softmax", _last_axis),
    "Sum": ("add", lambda _: True),
}


def kind_of(node: OnnxNode) -> str | None:
    """What a node is between layers, if it is something that is known there."""
    kind, applies = _KINDS.get(node.op, (None, None))
    known = applies is not None and not node.domain and node.has(0) and node.input(0).shape is not None
    return kind if known and applies is not None and applies(node) else None


def window_of_pool(node: OnnxNode) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]] | None:
    """Size, stride and zeros of a pooling; None where the positions that it leaves are not those of a plain one."""
    size = node.integers("kernel_shape", 2, 1, 1)
    stride, dilation = node.integers("strides", 2, 1, 1), node.integers("dilations", 2, 1, 1)
    before = pool_begins(node)
    if set(dilation) != {1} or (node.op == "AveragePool" and any(before)):
        return None
    sizes = node.shape(0)[2:]
    counts = [(n + 2 * b - k) // s + 1 for n, k, s, b in zip(sizes, size, stride, before, strict=True)]
    if tuple(counts) != tuple((node.output.shape or ())[2:]):
        return None
    return (size[0], size[1]), (stride[0], stride[1]), (before[0], before[1])
