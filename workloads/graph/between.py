"""Operations that do not multiply and stand between layers, as operations over the axes of what they read.

Dimensions are called A, B, C, ... from the slowest axis to the fastest; operands X, Y and Z, the output O. Biases,
scales of norms and functions of one word (ReLU, GELU, ...) that follow an operation are done as its output is written:
they are no operations of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...ir import Call, Expression, Number, Operand, Operation, Problem, ProblemError, Rank, Reduction, Tensor
from ..arguments import axes
from .occurrences import Occurrence

_LETTERS = "ABCDEFGH"


@dataclass(frozen=True)
class Inside:
    """One of the operations that an occurrence is made of.

    name       behind the name of the occurrence; the last one has none, and writes what the occurrence makes
    operation  over its own dimensions
    reads      for each operand: a number is the occurrence's source of that position, a text another one's name
    """

    name: str
    operation: Operation
    reads: tuple[int | str, ...]


def _operation(
    shape: Sequence[int],
    operands: Mapping[str, Sequence[Rank]],
    output: Sequence[str],
    expression: Expression,
    reduction: Reduction | None = None,
) -> Operation:
    """An operation over these axes and further dimensions; those of the output are plain."""
    dims = dict(zip(_LETTERS, shape, strict=False))
    tensors = [Tensor(name, tuple(ranks), "input") for name, ranks in operands.items()]
    tensors.append(Tensor("O", axes(*output), "output"))
    return Operation(Problem("between", tuple(dims.items()), tuple(tensors)), expression, reduction)


def _elementwise(shape: Sequence[int], function: str) -> list[Inside]:
    every = _LETTERS[: len(shape)]
    operands = {"X": axes(*every), "Y": axes(*every)}
    operation = _operation(shape, operands, every, Call(function, (Operand("X"), Operand("Y"))))
    return [Inside("", operation, (0, 1))]


def softmax_as_one(shape: Sequence[int]) -> list[Inside]:
    """The softmax of rows as one function of every word: what it costs where its sums are free."""
    every = _LETTERS[: len(shape)]
    return [Inside("", _operation(shape, {"X": axes(*every)}, every, Call("exp", (Operand("X"),))), (0,))]


def _softmax(shape: Sequence[int]) -> list[Inside]:
    """Maximum, exponential of the difference, sum, division, over the last axis."""
    every, rows = _LETTERS[: len(shape)], _LETTERS[: len(shape) - 1]
    word, row = axes(*every), axes(*rows)
    difference = Call("sub", (Operand("X"), Operand("Y")))
    quotient = Call("div", (Operand("X"), Operand("Y")))
    both = {"X": word, "Y": row}
    return [
        Inside("max", _operation(shape, {"X": word}, rows, Operand("X"), "max"), (0,)),
        Inside("exp", _operation(shape, both, every, Call("exp", (difference,))), (0, "max")),
        Inside("sum", _operation(shape, {"X": word}, rows, Operand("X"), "sum"), ("exp",)),
        Inside("", _operation(shape, both, every, quotient), ("exp", "sum")),
    ]


def _layernorm(shape: Sequence[int], epsilon: float) -> list[Inside]:
    """Mean, variance, and the difference from the mean in units of the deviation, over the last axis."""
    every, rows = _LETTERS[: len(shape)], _LETTERS[: len(shape) - 1]
    word, row = axes(*every), axes(*rows)
    share = Number(1 / shape[-1])
    apart = Call("sub", (Operand("X"), Operand("Y")))
    square = Call("mul", (share, Call("mul", (apart, apart))))
    scaled = Call("mul", (apart, Call("rsqrt", (Call("add", (Operand("Z"), Number(epsilon))),))))
    return [
        Inside("mean", _operation(shape, {"X": word}, rows, Call("mul", (share, Operand("X"))), "sum"), (0,)),
        Inside("var", _operation(shape, {"X": word, "Y": row}, rows, square, "sum"), (0, "mean")),
        Inside("", _operation(shape, {"X": word, "Y": row, "Z": row}, every, scaled), (0, "mean", "var")),
    ]


def _rmsnorm(shape: Sequence[int], epsilon: float) -> list[Inside]:
    """The mean of squares, and every word in units of its root, over the last axis."""
    every, rows = _LETTERS[: len(shape)], _LETTERS[: len(shape) - 1]
    word, row = axes(*every), axes(*rows)
    square = Call("mul", (Number(1 / shape[-1]), Call("mul", (Operand("X"), Operand("X")))))
    scaled = Call("mul", (Operand("X"), Call("rsqrt", (Call("add", (Operand("Y"), Number(epsilon))),))))
    return [
        Inside("square", _operation(shape, {"X": word}, rows, square, "sum"), (0,)),
        Inside("", _operation(shape, {"X": word, "Y": row}, every, scaled), (0, "square")),
    ]


def pooled(occurrence: Occurrence, shape: Sequence[int]) -> list[Inside]:
    """A maximum or a mean over windows of the last two axes, or the mean of all of them."""
    kept = _LETTERS[: len(shape) - 2]
    if occurrence.window is None:
        every = _LETTERS[: len(shape)]
        share = Call("mul", (Number(1 / prod(shape[-2:])), Operand("X")))
        return [Inside("", _operation(shape, {"X": axes(*every)}, kept, share, "sum"), (0,))]
    size, stride, before = occurrence.window
    places, taps = "PQ", "RS"
    counts = [(n + 2 * b - s) // t + 1 for n, s, t, b in zip(shape[-2:], size, stride, before, strict=True)]
    dims = dict(zip(kept, shape, strict=False)) | dict(zip(places, counts, strict=True))
    dims |= dict(zip(taps, size, strict=True))
    windows = [((p, t), (r, 1)) for p, t, r in zip(places, stride, taps, strict=True)]
    tensors = (
        Tensor("X", (*axes(*kept), *windows), "input"),
        Tensor("O", axes(*kept, *places), "output"),
    )
    expression: Expression = Operand("X")
    if occurrence.kind == "avgpool":
        expression = Call("mul", (Number(1 / prod(size)), expression))
    reduction: Reduction = "max" if occurrence.kind == "maxpool" else "sum"
    return [Inside("", Operation(Problem("between", tuple(dims.items()), tensors), expression, reduction), (0,))]


_ROWS: Mapping[str, Callable[[Sequence[int], float], list[Inside]]] = {
    "add": lambda shape, _: _elementwise(shape, "add"),
    "layernorm": _layernorm,
    "mul": lambda shape, _: _elementwise(shape, "mul"),
    "rmsnorm": _rmsnorm,
    "softmax": lambda shape, _: _softmax(shape),
}

BETWEEN: Mapping[str, int] = {
    **{kind: 2 if kind in ("add", "mul") else 1 for kind in _ROWS},
    "avgpool": 1,
    "maxpool": 1,
}
"""What may stand between layers, and how many tensors each reads."""


def inside(occurrence: Occurrence, shape: Sequence[int] | None) -> list[Inside]:
    """The operations that an occurrence between layers is made of.

    shape  of what it reads

    Raises ProblemError where that is not known.
    """
    if shape is None:
        message = f"the shape of what it reads, {occurrence.sources[0].name}, is not known"
        raise ProblemError(message, where=occurrence.name, hint="state the shape of what comes from outside")
    if occurrence.kind in ("maxpool", "avgpool"):
        return pooled(occurrence, shape)
    return _ROWS[occurrence.kind](shape or (1,), occurrence.epsilon)
