"""What a search leaves aside, counted: every node that is no dense operation, by what it is.

One operation is one multiply-accumulate, or one arithmetic operation, comparison or function (exp, tanh, ...) of one
element. So an addition of two tensors is one operation an element of its output, a max pooling one for each element
of its windows, a softmax five (maximum, subtraction, exponential, sum, division). Nodes that move data or rename it
have none, and so have those that depend on stored parameters alone, for they need not run with the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ...ir import ProblemError
from .nodes import OnnxNode

NOT_COUNTED = "not counted: what runs depends on data"
MOVES = "moves data"
FOLDED = "depends on parameters alone"
UNKNOWN = "not counted: what it does is not known here"

MOST_NAMED = 5
"""Kinds of nodes that are named of those that another one holds."""

SOFTMAX = 5
"""Operations for each element of a softmax: maximum, subtract, exp, sum, divide."""


@dataclass(frozen=True)
class PassedThrough:
    """One kind of operation that is not searched.

    what        the operator's type, or what it is beside a dense operation ("Conv bias")
    nodes       how many of them
    operations  all of them together; None where they cannot be counted
    bytes       of all their outputs, as far as these are known
    how         how operations are counted
    """

    what: str
    nodes: int
    operations: int | None
    bytes: int
    how: str


_MOVING = """
    BitCast Cast CastLike Col2Im Compress Concat Constant ConstantOfShape DepthToSpace Dropout Expand EyeLike Flatten
    Gather GatherElements GatherND Identity NonZero OneHot Pad Range Reshape ReverseSequence Scatter ScatterElements
    ScatterND Shape Size Slice SpaceToDepth Split Squeeze TensorScatter Tile Transpose Trilu Unsqueeze Where MaxUnpool
    SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence
    ConcatFromSequence Optional OptionalGetElement OptionalHasElement
"""
_ELEMENTWISE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
    BatchNormalization Ceil Celu Cos Cosh CumProd CumSum Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual
    HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Mish Mod Mul Neg Not Or Pow PRelu Reciprocal Relu
    Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Swish Tan Tanh ThresholdedRelu Xor
"""
_REDUCING = """
    ArgMax ArgMin GlobalAveragePool GlobalLpPool GlobalMaxPool ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare TopK
"""
MOVING = frozenset(_MOVING.split())
"""Operators that move words of what they read, and do nothing with them."""

# Operations for each element of the output.
_BY_OUTPUT: Mapping[str, int] = {
    **dict.fromkeys(_ELEMENTWISE.split(), 1),
    "Clip": 2,  # two comparisons
    "DequantizeLinear": 2,  # subtract, multiply
    "QuantizeLinear": 3,  # divide, add, saturate
    "Hardmax": 2,  # find the largest, compare
    "Softmax": SOFTMAX,
    "LogSoftmax": SOFTMAX,
    "RotaryEmbedding": 3,  # two products and a sum
    "SwiGLU": 3,  # sigmoid and two products
    "LayerNormalization": 5,  # mean, subtract, square and add, divide, scale and shift
    "GroupNormalization": 5,
    "InstanceNormalization": 5,
    "MeanVarianceNormalization": 4,
    "LpNormalization": 2,  # square and add, divide
    "RMSNormalization": 3,  # square and add, divide, scale
    "SimplifiedLayerNormalization": 3,
}
# Operations for each element of the input.
_BY_INPUT: Mapping[str, int] = {
    **dict.fromkeys(_REDUCING.split(), 1),
    "DynamicQuantizeLinear": 5,  # least, largest, divide, add, saturate
}


def _window(node: OnnxNode) -> int:
    return node.output_elements * math.prod(node.integers("kernel_shape", len(node.shape(0)) - 2, 1))


def _fold(node: OnnxNode) -> int:
    """Sum, Max, Min and Mean of any number of tensors: a chain of two-operand ones."""
    return node.output_elements * max(1, len(node.inputs) - 1)


def _resize(node: OnnxNode) -> int:
    """Multiply-accumulates of an interpolation along all axes of the image; the nearest element is a copy."""
    taps = {"linear": 2, "cubic": 4}.get(str(node.attributes.get("mode", "nearest")), 0)
    axes = max(1, len(node.shape(0)) - 2)
    return node.output_elements * int(taps**axes)


def _local_response(node: OnnxNode) -> int:
    """Squares of `size` channels, and then scale, power and division."""
    return node.output_elements * (node.integer("size", 1) + 3)


_SPECIAL: Mapping[str, tuple[Callable[[OnnxNode], int], str]] = {
    **dict.fromkeys(("AveragePool", "MaxPool", "LpPool"), (_window, "1 an element of each window")),
    **dict.fromkeys(("Sum", "Max", "Min", "Mean"), (_fold, "1 an element of each operand but the first")),
    **dict.fromkeys(("Resize", "Upsample"), (_resize, "taps of the interpolation")),
    "LRN": (_local_response, "window of channels and 3 an element"),
}
_UNCOUNTED = frozenset(("If", "Loop", "Scan", "SequenceMap"))


def passed_node(node: OnnxNode) -> PassedThrough:
    """What one node that is not searched comes to."""
    operations, how = _counted(node)
    return PassedThrough(node.op, 1, operations, sum(value.bytes or 0 for value in node.outputs), how)


def _counted(node: OnnxNode) -> tuple[int | None, str]:
    if node.op in _UNCOUNTED and not node.domain:
        kinds = list(dict.fromkeys(node.inner))
        more = f" and {len(kinds) - MOST_NAMED} more" if len(kinds) > MOST_NAMED else ""
        return None, f"{NOT_COUNTED}; it holds {', '.join(kinds[:MOST_NAMED])}{more}" if kinds else NOT_COUNTED
    if node.outputs and all(value.constant for value in node.outputs):
        return 0, FOLDED
    if node.op in MOVING and not node.domain:
        return 0, MOVES
    if node.domain:
        return None, UNKNOWN
    try:
        return _known_count(node)
    except ProblemError:
        return None, "not counted: its shape is known only at run time"


def _known_count(node: OnnxNode) -> tuple[int | None, str]:
    if node.op in _BY_OUTPUT:
        return _BY_OUTPUT[node.op] * node.output_elements, f"{_BY_OUTPUT[node.op]} an element of the output"
    if node.op in _BY_INPUT:
        return _BY_INPUT[node.op] * math.prod(node.shape(0)), f"{_BY_INPUT[node.op]} an element of the input"
    if node.op in _SPECIAL:
        count, how = _SPECIAL[node.op]
        return count(node), how
    return None, UNKNOWN


def summed(found: Iterable[PassedThrough]) -> tuple[PassedThrough, ...]:
    """One entry for each kind, most operations first; those that cannot be counted come before all others."""
    kinds: dict[tuple[str, str], PassedThrough] = {}
    for one in found:
        key = (one.what, one.how)
        known = kinds.get(key, PassedThrough(one.what, 0, 0, 0, one.how))
        counted = known.operations is not None and one.operations is not None
        operations = (known.operations or 0) + (one.operations or 0) if counted else None
        kinds[key] = PassedThrough(one.what, known.nodes + one.nodes, operations, known.bytes + one.bytes, one.how)
    return tuple(sorted(kinds.values(), key=lambda one: -math.inf if one.operations is None else -one.operations))
