"""ONNX nodes that make one word of many, or of each word what it is beside many: reductions, pooling, softmax,
norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...ir import Call, Expression, Number, Operand, ProblemError
from ..graph.meaning import WORD, ApartOperation
from ..graph.occurrences import EPSILON
from .convolutions import pool_begins
from .integers import INTEGERS, product, quotient, wrapped
from .lies import Lies
from .nodes import OnnxNode
from .quantized import RANGES
from .values import StoredModel

if TYPE_CHECKING:
    import numpy as np

    Index = np.ndarray[Any, np.dtype[np.int64]]

_X, _RESULT = Operand("A0"), Operand(WORD)


class _Reduction(NamedTuple):
    """What is done with a word before it is taken, how it is taken, and what is done with the result."""

    how: Any
    before: Expression | None = None
    after: Expression | None = None


REDUCING = {
    "ArgMax": _Reduction("argmax"),
    "ArgMin": _Reduction("argmax", Call("neg", (_X,))),
    "ReduceL1": _Reduction("sum", Call("abs", (_X,))),
    "ReduceL2": _Reduction("sum", Call("mul", (_X, _X)), Call("sqrt", (_RESULT,))),
    "ReduceLogSum": _Reduction("sum", None, Call("log", (_RESULT,))),
    "ReduceLogSumExp": _Reduction("log_sum_exp"),
    "ReduceMax": _Reduction("max"),
    "ReduceMean": _Reduction("mean"),
    "ReduceMin": _Reduction("max", Call("neg", (_X,)), Call("neg", (_RESULT,))),
    "ReduceProd": _Reduction("product"),
    "ReduceSum": _Reduction("sum"),
    "ReduceSumSquare": _Reduction("sum", Call("mul", (_X, _X))),
}
"""Operators that make one word of all along some axes."""

NORMALIZED = frozenset(("GroupNormalization", "InstanceNormalization", "LayerNormalization", "LogSoftmax", "Softmax"))
"""Operators that make of every word what it is beside those along some axes."""

POOLING = {"AveragePool": "mean", "MaxPool": "max", "GlobalAveragePool": "mean", "GlobalMaxPool": "max"}
"""Operators that make one word of a window of an image."""


_WHOLE = frozenset(("ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare"))
"""Those that do something else with whole numbers; the largest and least of these are as of others."""


def check_reduced(node: OnnxNode) -> None:
    """ProblemError for attributes and types that no program knows, and for axes that are data."""
    if node.has(1) and not node.input(1).constant:
        raise ProblemError(f"its axes ({node.input(1).name}) are no parameter", where=node.where)
    if node.integer("select_last_index", 0):
        raise ProblemError("there is no program for select_last_index", where=node.where)
    kind = node.output.type
    is_narrow = node.op == "ReduceProd" and kind in RANGES
    if kind in INTEGERS and (is_narrow or node.op.startswith("ReduceLog")):
        raise ProblemError(f"there is no program for it with words of type {kind}", where=node.where)


def _whole(op: str, kind: str, count: int) -> _Reduction:
    """A reduction of whole numbers, as numpy computes it: sums wrap around, means and lengths leave out fractions."""
    squares = product(_X, _X, kind)
    return {
        "ReduceL1": _Reduction("sum", wrapped(Call("abs", (_X,)), kind), wrapped(_RESULT, kind)),
        "ReduceL2": _Reduction("sum", squares, wrapped(Call("trunc", (Call("sqrt", (_RESULT,)),)), kind)),
        "ReduceMean": _Reduction("sum", None, quotient(wrapped(_RESULT, kind), Number(float(count)))),
        "ReduceProd": _Reduction("product", None, wrapped(_RESULT, kind)),
        "ReduceSum": _Reduction("sum", None, wrapped(_RESULT, kind)),
        "ReduceSumSquare": _Reduction("sum", squares, wrapped(_RESULT, kind)),
    }[op]


def reduced(node: OnnxNode, lies: Lies, stored: StoredModel) -> ApartOperation:
    """One word of all along some axes: stated ones, or all."""
    found, rank = REDUCING[node.op], len(lies.offsets)
    if node.op.startswith("Arg"):
        axes = [node.integer("axis", 0, -rank)]
    else:
        axes = list(node.attributes.get("axes") or ())
        if node.has(1):
            axes = [int(axis) for axis in stored.values()[node.input(1).name].ravel()]
        if not axes and not node.integer("noop_with_empty_axes", 0):
            axes = list(range(rank))
    offsets = _along(lies, [axis % rank for axis in axes])
    if node.output.type in INTEGERS and node.op in _WHOLE:
        found = _whole(node.op, node.output.type, math.prod(each.shape[1] for each in offsets))
    return over(found.how, lies, offsets, before=found.before, after=found.after)


def _along(lies: Lies, taken: Sequence[int]) -> list[Index]:
    """Positions of all axes, but of those that are taken."""
    return [each.reshape(1, -1) if i in taken else each.reshape(-1, 1) for i, each in enumerate(lies.offsets)]


def pooled(node: OnnxNode, lies: Lies) -> ApartOperation:
    """Sums, means or maxima of windows."""
    shape, images = node.output.shape or (), len(lies.offsets) - 2
    offsets = [each.reshape(-1, 1) for each in lies.offsets[:2]]
    if node.op.startswith("Global"):
        return over(POOLING[node.op], lies, [*offsets, *(each.reshape(1, -1) for each in lies.offsets[2:])])
    window = node.integers("kernel_shape", images, 1, 1)
    steps, apart = node.integers("strides", images, 1, 1), node.integers("dilations", images, 1, 1)
    counted = bool(node.integer("count_include_pad", 0)) and node.op == "AveragePool"
    if counted and node.integer("ceil_mode", 0):
        raise ProblemError("there is no program for ceil_mode with count_include_pad", where=node.where)
    for along, outputs, size, step, dilation, before in zip(
        lies.offsets[2:], shape[2:], window, steps, apart, pool_begins(node), strict=True
    ):
        offsets.append(_windows(along, outputs, size, step, dilation, before))
    how = "sum" if counted else POOLING[node.op]
    return over(how, lies, offsets, 1 / math.prod(window) if counted else 1.0)


def _windows(along: Index, outputs: int, size: int, step: int, dilation: int, before: int) -> Index:
    """Where the positions of every window lie; -1 beyond the image."""
    import numpy as np

    at = np.arange(outputs)[:, None] * step - before + np.arange(size)[None, :] * dilation
    inside = (at >= 0) & (at < along.size)
    return np.where(inside, along[np.where(inside, at, 0)], -1)


def over(
    how: Any,
    lies: Lies,
    offsets: Sequence[Index],
    scale: float = 1.0,
    before: Expression | None = None,
    after: Expression | None = None,
) -> ApartOperation:
    """One word of all that are taken of a tensor at each position: `offsets` has, for each axis, where these lie."""
    read = lies.read("A0", offsets)
    return ApartOperation(how, read.extents, (read,), before, scale=scale, after=after)


# ---- norms -----------------------------------------------------------------------------------------------------------

NormFactor = tuple[int, str, "Index"]
"""An input that words meet after a norm, by its position; the function; and for every word, where its own lies."""


def check_normed(node: OnnxNode, lies: Sequence[Lies | None]) -> None:
    """ProblemError for what no program knows: statistics that are handed out, channels that no groups divide."""
    if len(node.outputs) > 1:
        raise ProblemError("there is no program for its statistics: it has more outputs than one", where=node.where)
    for position in range(1, len(node.inputs)):
        if node.has(position) and lies[position] is None:
            raise ProblemError("what it reads is not known", where=node.where)
    if node.op == "GroupNormalization":
        channels, groups = node.shape(0)[1], node.integer("num_groups", 1, 1)
        if channels % groups:
            raise ProblemError(f"{groups} groups do not divide {channels} channels", where=node.where)
        if tuple(node.shape(1)) != (channels,):
            raise ProblemError("its scales are those of groups: export it with operator set 21", where=node.where)


def normalized(node: OnnxNode, lies: Sequence[Lies | None]) -> tuple[ApartOperation, list[NormFactor]]:
    """Softmax or norm over its axes, and scale and bias of a norm."""
    import numpy as np

    first, shape = lies[0], node.output.shape or ()
    assert first is not None
    rank = len(shape)
    if node.op in ("Softmax", "LogSoftmax"):
        axis = node.integer("axis", -1, -rank) % rank
        axes = range(axis, rank) if node.attributes.get("flattens") else (axis,)
        how = "softmax" if node.op == "Softmax" else "log_softmax"
        return over(how, first, _along(first, axes)), []
    epsilon = node.number("epsilon", EPSILON)
    if node.op == "LayerNormalization":
        offsets = _along(first, range(node.integer("axis", -1, -rank) % rank, rank))
    else:
        offsets = _along(first, range(2, rank))
        if node.op == "GroupNormalization":
            offsets[1] = first.offsets[1].reshape(node.integer("num_groups", 1, 1), -1)
    operation = replace(over("norm", first, offsets, before=_X), epsilon=epsilon)
    factors: list[NormFactor] = []
    for position, function in ((1, "mul"), (2, "add")):
        one = lies[position] if node.has(position) else None
        if one is not None:
            index = one.index
            if node.op != "LayerNormalization":
                index = index.reshape([-1 if axis == 1 else 1 for axis in range(rank)])
            factors.append((position, function, np.broadcast_to(index, shape)))
    return operation, factors
