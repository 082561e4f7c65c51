"""Einsum: any product of tensors in numpy's notation, with an ellipsis, broadcast axes and diagonals."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

from ...ir import ProblemError
from ..einsum import einsum
from .nodes import Dense, OnnxNode, Repeated, widths


def einsum_node(node: OnnxNode) -> Dense:
    """Einsum of two operands or more. A diagonal (`ii`) is extracted before, and moves data alone.

    Einsum of one operand multiplies nothing: its additions, one an element, are no problem to search.
    """
    shapes = [node.shape(position) for position in range(len(node.inputs))]
    operands, output = einsum_terms(str(node.attributes.get("equation", "")), shapes, node.where)
    if len(operands) == 1:
        sums = len(set(operands[0])) > len(output)
        return Dense((), {"Einsum of one operand": node.input(0).elements or 0 if sums else 0})
    order = sorted(range(len(operands)), key=lambda position: node.input(position).constant)
    sizes = _sizes(operands, shapes, node.where)
    if 0 in sizes.values():
        return Dense((), {})
    moved = [(_moving(operands[position], shapes[position], sizes), node.input(position)) for position in order]
    factors = [(term, value) for term, value in moved if term]
    used = {index: size for index, size in sizes.items() if any(index in term for term, _ in factors)}
    if len(factors) < 2:
        return Dense((), {"Einsum with scalars": (len(operands) - 1) * math.prod(used.values())})
    # An output index that only broadcast axes of size 1 carry is of size 1 itself.
    spec = ",".join(term for term, _ in factors) + "->" + "".join(index for index in output if index in used)
    values = [value for _, value in factors]
    problem = einsum(spec, used, bits=widths(values[0], values[1], node.output))
    scalars = {"Einsum with scalars": len(operands) - len(factors)}
    stored = all(value.constant for value in values[1:])
    return Dense((Repeated(problem, values[1].name if stored else None),), scalars)


def einsum_shape(equation: str, shapes: Sequence[Sequence[int]], where: str) -> tuple[int, ...]:
    """The shape of the result, also where ONNX's inference has none: an ellipsis of several lengths, broadcast axes.

    Raises ProblemError for an equation that does not fit the shapes.
    """
    operands, output = einsum_terms(equation, shapes, where)
    sizes = _sizes(operands, shapes, where)
    return tuple(sizes[index] for index in output)


def einsum_terms(equation: str, shapes: Sequence[Sequence[int]], where: str) -> tuple[list[str], str]:
    """Operand and output indices, an ellipsis replaced by letters of its own."""
    left, arrow, output = "".join(equation.split()).partition("->")
    if not re.fullmatch(r"[A-Za-z.,]*", left) or not re.fullmatch(r"[A-Za-z.]*", output):
        hint = "an equation is letters, commas, ... and one ->, such as bij,bjk->bik"
        raise ProblemError(f"cannot read the equation {equation!r}", where=where, hint=hint)
    operands = left.split(",")
    if len(operands) != len(shapes):
        raise ProblemError(f"{equation!r} has terms for {len(operands)} operands, found {len(shapes)}", where=where)
    dots = [len(shape) - len(term.replace("...", "")) for term, shape in zip(operands, shapes, strict=True)]
    longest = max((count for count, term in zip(dots, operands, strict=True) if "..." in term), default=0)
    batch = "".join([letter for letter in string.ascii_letters if letter not in equation][:longest])
    if not arrow:
        counts = Counter(left.replace("...", "").replace(",", ""))
        output = "..." * ("..." in left) + "".join(sorted(index for index, times in counts.items() if times == 1))
    for index in output.replace("...", ""):
        if index not in left:
            raise ProblemError(f"output index {index!r} is in no operand", where=where)
    terms = [term.replace("...", batch[len(batch) - count :]) for term, count in zip(operands, dots, strict=True)]
    return terms, output.replace("...", batch)


def _sizes(operands: Sequence[str], shapes: Sequence[Sequence[int]], where: str) -> dict[str, int]:
    """The size of every index; an axis of size 1 is broadcast."""
    sizes: dict[str, int] = {}
    for term, shape in zip(operands, shapes, strict=True):
        if len(term) != len(shape):
            raise ProblemError(f"{term!r} has {len(term)} indices for an operand with {len(shape)} axes", where=where)
        for index, size in zip(term, shape, strict=True):
            known = sizes.get(index, 1)
            if 1 not in (known, size) and known != size:
                raise ProblemError(f"index {index!r} is {known} and {size}", where=where)
            sizes[index] = known if size == 1 else size
    return sizes


def _moving(term: str, shape: Sequence[int], sizes: dict[str, int]) -> str:
    """The indices that move an operand: each once (a diagonal), and none that is broadcast along it."""
    kept = [index for index, size in zip(term, shape, strict=True) if size == sizes[index]]
    return "".join(dict.fromkeys(kept))
