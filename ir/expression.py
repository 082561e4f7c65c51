"""The expression that an operation computes at each point: a small tree of functions, tensors and numbers.

    max(A, B)             Call("max", (Operand("A"), Operand("B")))
    exp(S - R)            Call("exp", (Call("sub", (Operand("S"), Operand("R"))),))
    0.5 * Q * K           Call("mul", (Call("mul", (Number(0.5), Operand("Q"))), Operand("K")))

Which element of a tensor is meant stands in the projection of the operation's problem, once for each tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
"""The functions of two arguments that are written between them."""

FUNCTIONS = {
    **dict.fromkeys(SYMBOLS, 2),
    **dict.fromkeys(("max", "min"), 2),
    **dict.fromkeys(("abs", "erf", "exp", "log", "neg", "relu", "rsqrt", "sigmoid", "sqrt", "tanh"), 1),
}
"""The functions that a point may apply, and how many arguments each takes."""

OPERATION_KINDS = ("copy", *FUNCTIONS)
"""What a point of an operation may cost besides a multiply-accumulate: a word that is copied, or a function."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The word of a tensor at this point.

    tensor  its name
    """

    tensor: str

    def __str__(self) -> str:
        return self.tensor


@dataclass(frozen=True, slots=True)
class Number:
    """A constant, which is no tensor and costs no words.

    value  of it
    """

    value: int | float

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of some values.

    function   a name of FUNCTIONS
    arguments  as many as it takes
    depth      functions inside one another, itself included
    parts      functions, tensors and numbers in it; what stands at two places counts twice
    """

    function: str
    arguments: tuple[Expression, ...]
    depth: int = field(init=False, compare=False, repr=False)
    parts: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        calls = [argument for argument in self.arguments if isinstance(argument, Call)]
        object.__setattr__(self, "depth", 1 + max((call.depth for call in calls), default=0))
        object.__setattr__(self, "parts", 1 + len(self.arguments) + sum(call.parts for call in calls))

    def __str__(self) -> str:
        return written(self.function, [str(argument) for argument in self.arguments])


Expression = Operand | Number | Call

DEEPEST = 100
MOST_PARTS = 2000


def is_too_large(expression: Expression) -> bool:
    """Whether it is deeper, or has more parts, than is accepted; every walk over it recurses that deep."""
    return isinstance(expression, Call) and (expression.depth > DEEPEST or expression.parts > MOST_PARTS)


def written(function: str, arguments: Sequence[str]) -> str:
    """A function of arguments that are already written."""
    if function in SYMBOLS:
        left, right = arguments
        return f"({left} {SYMBOLS[function]} {right})"
    return f"{function}({', '.join(map(unbracketed, arguments))})"


def unbracketed(text: str) -> str:
    """A written expression without brackets around all of it."""
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if character == ")" and i == len(text) - 1 and text.startswith("(") else text
    return text


def tensors_read(expression: Expression) -> tuple[str, ...]:
    """The tensors that an expression reads, each once, in the order in which they are written."""
    return tuple(dict.fromkeys(_accesses(expression)))


def _accesses(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Operand):
        yield expression.tensor
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from _accesses(argument)


def is_product(expression: Expression) -> bool:
    """Whether it is a product of numbers and of two or more tensors, each of which occurs once."""
    return len(factors_of(expression) or ()) >= 2


def factors_of(expression: Expression) -> tuple[str, ...] | None:
    """The tensors of a product of numbers and of tensors, each of which occurs once; None where it is none."""
    factors = list(_factors(expression))
    tensors = tuple(factor.tensor for factor in factors if isinstance(factor, Operand))
    plain = not any(isinstance(factor, Call) for factor in factors)
    return tensors if plain and tensors and len(set(tensors)) == len(tensors) else None


def product(factors: Iterable[Expression]) -> Expression:
    """The product of some expressions, the first two first."""
    return reduce(lambda left, right: Call("mul", (left, right)), factors)


def _factors(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.function == "mul":
        for argument in expression.arguments:
            yield from _factors(argument)
    else:
        yield expression


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """The same of tensors with other names."""
    if isinstance(expression, Operand):
        return Operand(names[expression.tensor])
    if isinstance(expression, Call):
        return Call(expression.function, tuple(renamed(one, names) for one in expression.arguments))
    return expression
