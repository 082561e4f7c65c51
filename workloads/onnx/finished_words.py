"""What ONNX nodes do with words of a tensor as these are written: expressions, and the stored parameters in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...ir import Call, Expression, Number, Operand, ProblemError
from ...ir.expression import is_too_large
from ..graph.meaning import WORD, FinishParameter, WordFinish
from ..graph.occurrences import Occurrence
from .integers import INTEGERS, wrapped
from .nodes import OnnxNode, OnnxValue
from .quantized import ZERO_POINTS, requantized
from .views import TensorView
from .words import word_of


@dataclass
class FinishBuilder:
    """Puts together what is done with the words of one view.

    unknown  where it is noted why something has no program
    """

    view: TensorView
    unknown: list[str]
    parameters: dict[str, FinishParameter] = field(default_factory=dict)

    def parameter(self, value: OnnxValue, name: str, shape: tuple[int, ...] | None = None) -> Expression:
        """A stored parameter, broadcast over the axes of the view; `shape` where that is not its own."""
        sizes = [math.prod(count for count, _ in axis) for axis in self.view.axes]
        own = shape if shape is not None else value.shape or ()
        runs = [run for axis, size in zip(self.view.axes, sizes, strict=True) for run in (axis if size > 1 else ())]
        self.parameters[name] = FinishParameter(value.name, tuple(own), tuple(sizes), tuple(runs))
        return Operand(name)

    def input(self, node: OnnxNode, position: int, shape: tuple[int, ...] | None = None) -> Expression:
        """A stored input of a node, as a parameter."""
        return self.parameter(node.input(position), f"{node.name}.{position}", shape)

    def finish(self, word: Expression) -> WordFinish:
        return WordFinish(word, tuple(self.parameters.items()))


def changed_words(
    node: OnnxNode, view: TensorView, views: Mapping[str, TensorView], *, singles: bool
) -> WordFinish | None:
    """What has been done with words behind a node; None where that is no function of them.

    views    of the tensors that nodes before it make
    singles  as of `word_of`
    """
    builder = FinishBuilder(view, [])
    given: list[Expression] = []
    for position, value in enumerate(node.inputs):
        if value is None:
            continue
        if not value.constant:
            known = views.get(value.name)
            if known is None or known.finish is None:
                return None
            builder.parameters |= dict(known.finish.parameters)
            given.append(known.finish.expression)
        elif node.op != "Dropout":
            given.append(builder.input(node, position, broadcast_shape(node, value)))
    try:
        word = word_of(node, given, singles=singles)
        if is_too_large(word):
            raise ProblemError("more functions of one word follow one another than a program does", where=node.where)
        return builder.finish(word)
    except ProblemError:  # it is computed apart
        return None


def less_zero_point(node: OnnxNode, position: int, read: TensorView, unknown: list[str]) -> TensorView:
    """What a node reads as its factor: of quantized words, how far they are from their zero point."""
    zero = zero_point(node, position)
    if zero is None or read.finish is None:
        return read
    if not zero.constant or zero.elements != 1:
        unknown.append(f"{node.where}: {zero.name} is no single stored zero point")
        return read
    builder = FinishBuilder(read, unknown, dict(read.finish.parameters))
    less = builder.parameter(zero, f"zero.{zero.name}", ())
    finish = builder.finish(Call("sub", (read.finish.expression, less)))
    return TensorView(read.source, read.axes, finish, f"{read.changed or node.input(position).name} - {zero.name}")


def own_words(node: OnnxNode, occurrence: Occurrence, view: TensorView, unknown: list[str]) -> WordFinish:
    """What a node does with the words that its multiplications or sums make."""
    builder = FinishBuilder(view, unknown)
    word: Expression = Operand(WORD)
    if node.op in ("Conv", "ConvTranspose") and node.has(2):
        word = Call("add", (word, builder.input(node, 2, channels_shape(node, node.input(2)))))
    elif node.op == "Gemm":
        alpha, beta = (Number(node.number(name, 1.0)) for name in ("alpha", "beta"))
        word = word if alpha.value == 1 else Call("mul", (alpha, word))
        if node.has(2):
            added = builder.input(node, 2)
            word = Call("add", (word, added if beta.value == 1 else Call("mul", (beta, added))))
    elif node.op in ("QLinearConv", "QLinearMatMul") and occurrence.multiplies and occurrence.problem is not None:
        word = requantized(node, word, lambda at: _beside_factors(node, at, builder))
    elif occurrence.kind in ("layernorm", "rmsnorm"):
        for position, function in ((1, "mul"), (2, "add")):
            if node.has(position):
                word = Call(function, (word, builder.input(node, position)))
    if node.op in ("Add", "Gemm", "MatMul", "Sum") and node.output.type in INTEGERS:
        word = wrapped(word, node.output.type)
    return builder.finish(word)


def _beside_factors(node: OnnxNode, position: int, builder: FinishBuilder) -> Expression:
    """A stored input beside the factors, for each channel of a convolution or column of a product."""
    value = node.input(position)
    if not value.constant:
        builder.unknown.append(f"{node.where}: {value.name} is no stored parameter")
    channels = node.op == "QLinearConv" and math.prod(value.shape or ()) > 1
    return builder.input(node, position, channels_shape(node, value) if channels else None)


def zero_point(node: OnnxNode, position: int) -> OnnxValue | None:
    """What is subtracted from a factor first, if anything."""
    at = ZERO_POINTS.get(node.op, {}).get(position)
    return node.inputs[at] if at is not None and node.has(at) else None


def broadcast_shape(node: OnnxNode, value: OnnxValue) -> tuple[int, ...] | None:
    """In which shape a parameter is broadcast, where that is not its own."""
    if node.op == "BatchNormalization":
        return channels_shape(node, value) if value.shape is not None else None
    if node.op in ("QuantizeLinear", "DequantizeLinear") and value.shape is not None and len(value.shape) == 1:
        rank = len(node.shape(0))
        axis = int(node.number("axis", 1)) % max(rank, 1)
        return (value.shape[0],) + (1,) * (rank - 1 - axis) if value.shape[0] > 1 else ()
    return None


def channels_shape(node: OnnxNode, value: OnnxValue) -> tuple[int, ...]:
    """The shape of a parameter for each channel, as it is broadcast over axis 1 of what the node makes."""
    size = math.prod(value.shape or ())
    return (size,) + (1,) * (len(node.output.shape or ()) - 2)
