"""A node of an ONNX graph as the operators here see it, and what they make of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...ir import Problem, ProblemError
from ..arguments import Bits, whole

PARTIAL_BITS = 32
"""Width of partial sums, or that of the output where it is more. QLinearConv prescribes 32; for floats ONNX says
nothing, and 32 is what BLAS libraries and tensor cores accumulate half precision in."""


@dataclass(frozen=True)
class OnnxValue:
    """A tensor of the graph.

    shape     None where it is not known before the model runs
    bits      width of an element; None for texts, sequences and unknown types
    constant  computed from stored parameters alone
    type      of an element, as ONNX names it: FLOAT, INT8; empty where it is not known
    """

    name: str
    shape: tuple[int, ...] | None = None
    bits: int | None = None
    constant: bool = False
    type: str = ""

    @property
    def elements(self) -> int | None:
        return None if self.shape is None else math.prod(self.shape)

    @property
    def parameter(self) -> str | None:
        """Its name, if it is a parameter."""
        return self.name if self.constant else None

    @property
    def bytes(self) -> int | None:
        """Bytes of the whole tensor, elements of less than a byte packed."""
        if self.shape is None or self.bits is None:
            return None
        return -(-math.prod(self.shape) * self.bits // 8)


@dataclass(frozen=True)
class OnnxNode:
    """One operation.

    inputs  those that are left out are None; behind them what its subgraphs take from around them
    inner   types of the nodes in its subgraphs
    written_for  the node of the file for which it was written, as messages call it; empty: it is one of the file
    """

    name: str
    op: str
    domain: str
    inputs: tuple[OnnxValue | None, ...]
    outputs: tuple[OnnxValue, ...]
    attributes: Mapping[str, Any]
    inner: tuple[str, ...] = ()
    written_for: str = ""

    def has(self, position: int) -> bool:
        """Whether an optional input is given."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def input(self, position: int) -> OnnxValue:
        """An input that must be there; ProblemError otherwise."""
        value = self.inputs[position] if position < len(self.inputs) else None
        if value is None:
            raise ProblemError(f"input {position + 1} is missing", where=self.where)
        return value

    def shape(self, position: int) -> tuple[int, ...]:
        """The shape of an input, which must be known; ProblemError otherwise."""
        value = self.input(position)
        if value.shape is None:
            raise ProblemError(f"the shape of {value.name} is not known", where=self.where)
        return value.shape

    def number(self, attribute: str, default: float) -> float:
        """An attribute that is a number; ProblemError where it is none."""
        given = self.attributes.get(attribute, default)
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            raise ProblemError(f"{attribute} is {given!r}, expected a number", where=self.where)
        return float(given)

    def text(self, attribute: str, default: str) -> str:
        """An attribute that is a text."""
        given = self.attributes.get(attribute, default)
        return given.decode() if isinstance(given, bytes) else str(given)

    def integer(self, attribute: str, default: int, minimum: int = 0) -> int:
        """An attribute that is a whole number; ProblemError where it is none, or too small."""
        return whole(attribute, self.attributes.get(attribute, default), self.where, minimum)

    def integers(self, attribute: str, count: int, default: int, minimum: int = 0) -> tuple[int, ...]:
        """An attribute that is a list of whole numbers, `count` of them; ProblemError otherwise."""
        given = self.attributes.get(attribute) or [default] * count
        if not isinstance(given, (list, tuple)):
            raise ProblemError(f"{attribute} is {given!r}, expected a list of numbers", where=self.where)
        if len(given) != count:
            raise ProblemError(f"{attribute} has {len(given)} numbers, expected {count}", where=self.where)
        return tuple(whole(attribute, number, self.where, minimum) for number in given)

    @property
    def output(self) -> OnnxValue:
        """The first output; ProblemError where there is none."""
        if not self.outputs:
            raise ProblemError("it has no output", where=self.where)
        return self.outputs[0]

    @property
    def output_elements(self) -> int:
        """Elements of the first output; ProblemError where they are not known."""
        if self.output.elements is None:
            raise ProblemError(f"the shape of {self.output.name} is not known", where=self.where)
        return self.output.elements

    @property
    def where(self) -> str:
        return self.written_for or f"{self.op} {self.name}"


@dataclass(frozen=True)
class Repeated:
    """A problem that a node asks for `times` times.

    weights  the parameter that it reads; None where its operands are activations
    steps    how many of these times read the same words of it one after the other, as the steps of a recurrent layer
    """

    problem: Problem
    weights: str | None
    times: int = 1
    steps: int = 1


@dataclass(frozen=True)
class Dense:
    """What a node is made of: problems to search, and other operations beside them, by what they are."""

    parts: tuple[Repeated, ...]
    others: Mapping[str, int]


Operator = Callable[[OnnxNode], Dense]


def read_by(operator: Operator, node: OnnxNode) -> Dense:
    """What an operator makes of a node; a ProblemError says at which."""
    try:
        return operator(node)
    except ProblemError as error:
        raise error if (error.where or "").startswith(node.where) else error.located(node.where) from None


def element_bits(type_name: str) -> int | None:
    """Width of an element of an ONNX type by its name, FLOAT16 or INT8; None for types without one."""
    fixed = {"FLOAT": 32, "DOUBLE": 64, "BOOL": 8}
    if type_name in fixed:
        return fixed[type_name]
    found = re.match(r"(?:U?INT|B?FLOAT|COMPLEX)(\d+)", type_name)
    return int(found[1]) if found else None


def widths(moving: OnnxValue, weight: OnnxValue, output: OnnxValue) -> Bits:
    """Widths by role, those that the element types say."""
    known = {"input": moving.bits, "weight": weight.bits, "output": output.bits}
    bits = {role: width for role, width in known.items() if width is not None}
    if "output" in bits:
        bits["partial"] = max(PARTIAL_BITS, bits["output"])
    return bits
