"""One operation of a cascade, as a line of text.

    T[m,n] += A[m,k] * B[k,n]              sums over the indices that the left has not
    L[m] max= S[m,n]                       takes their maximum
    P[m,n] = exp(S[m,n] - L[m])            element by element
    relu: R[m,n] = max(T[m,n], 0)          with a name of its own; otherwise it is called as the tensor that it writes
    O[k,p] += T[c,2*p+r] * W[k,c,r] pad T[0,1:1]      reads one zero before T's second rank, and one after it
    R[m,i+1] = max(R[m,i], L[m,i]) start -inf         iterates: the generation of R after step i, from the one before
    P[m,i,n] = exp(S[m,i,n] - R[m,i+1])               reads the generation after step i
    O[m] = A[m,-1] / D[m,-1]                          reads the last generations, after all steps
    S[m,i,j] += Q[m,e] * K[i:j,e]                     reads K in i blocks, each of as many positions as j has

The right side is read with Python's own grammar: `+ - * /`, numbers, tensors, and the functions of `ir/expression.py`.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ..ir import Call, Expression, Number, Operand, Pad, ProblemError, Rank, Reduction, StartValue, did_you_mean
from ..ir.expression import DEEPEST, FUNCTIONS, is_too_large

_STATEMENT = re.compile(r"(?:\s*([^\s:\[\]=]+)\s*:)?\s*([^=]*?)\s*(\+=|\bmax\s*=|=)\s*(.+?)\s*", re.DOTALL)
_PAD = re.compile(r"\s+pad\s+(\w+)\s*\[([^\]]*)\]\s*$")
_START = re.compile(r"\s+start\s+(\S+)\s*$")
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_LONGEST = 2000
_LARGEST_NUMBER = 1e300
_EXAMPLE = "write 'T[m,n] += A[m,k] * B[k,n]', 'P[m,n] = exp(S[m,n])' or 'L[m] max= S[m,n]'"


NEXT, LAST = "next", "last"
"""How a generation is written: i+1 is the one after a step, -1 the last one."""

BLOCK = 0
"""Instead of the coefficient of i in K[i:j]: the elements of j."""


class Used(NamedTuple):
    """How a tensor is read or written.

    ranks   of it. An axis that is i+1 is the rank i, one that is -1 is a rank without index
    shifts  the axes that are i+1 or -1, with NEXT or LAST
    """

    ranks: tuple[Rank, ...]
    shifts: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Statement:
    """An operation that has been read, but has no sizes yet; its indices are as they are written.

    name        of the operation
    output      the tensor that it writes, and its ranks
    operands    the tensors that it reads, each once, and their ranks; without the output, where it iterates
    expression, reduction, pads   as of `Operation`
    start       what the output is before the first step, as it is stated
    shifts      by tensor, as of `Used`
    """

    name: str
    output: tuple[str, tuple[Rank, ...]]
    operands: dict[str, tuple[Rank, ...]]
    expression: Expression
    reduction: Reduction | None
    pads: dict[str, tuple[Pad, ...]]
    start: StartValue | None
    shifts: dict[str, tuple[tuple[int, str], ...]]

    def indices(self) -> tuple[str, ...]:
        """All indices, those of the left side first."""
        every = [self.output[1], *self.operands.values()]
        return tuple(dict.fromkeys(index for ranks in every for rank in ranks for index, _ in rank))


def read_statement(text: str, where: str | None = None) -> Statement:
    """The operation in a line of text; ProblemError says what is not understood.

    where  how messages call it; by default, the text
    """
    place = where or f"operation {text.strip()[:100]!r}"
    if len(text) > _LONGEST:
        raise ProblemError(f"{len(text)} characters, expected {_LONGEST} at most", where=place)
    unstarted, start = _without_start(text, place)
    body, padded = _without_pads(unstarted, place)
    match = _STATEMENT.fullmatch(body)
    if match is None:
        raise ProblemError("expected one of '=', '+=' and 'max=' between two sides", where=place, hint=_EXAMPLE)
    left, right = _parse(match[2], place), _parse(match[4], place)
    reduction: Reduction | None = {"+=": "sum", "=": None}.get(match[3], "max")
    output, written = _tensor(left, place)
    if any(len(rank) != 1 or rank[0][1] != 1 for rank in written.ranks):
        hint = "write the operation as a gather: plain indices on the left, sums of indices on the right"
        raise ProblemError(f"{output} has a rank that is no plain index on the left side", where=place, hint=hint)
    operands: dict[str, Used] = {}
    expression = _checked(_expression(right, operands, place), place)
    _take_itself(output, written, operands, place)
    if not operands:
        raise ProblemError("the right side reads no tensor", where=place, hint=_EXAMPLE)
    ranks = {name: access.ranks for name, access in operands.items()}
    return Statement(
        name=match[1] or output,
        output=(output, written.ranks),
        operands=ranks,
        expression=expression,
        reduction=reduction,
        pads=_pads(padded, ranks, place),
        start=start,
        shifts={name: access.shifts for name, access in (*operands.items(), (output, written))},
    )


def _take_itself(output: str, written: Used, operands: dict[str, Used], where: str) -> None:
    """Take the generation before of an output that iterates from the operands; ProblemError for any other reading."""
    read = operands.pop(output, None)
    if len(written.shifts) > 1:
        raise ProblemError(f"{output} has two indices + 1 on the left side, expected one", where=where)
    if read is None:
        return
    indices = [rank[0][0] for rank in written.ranks]
    if not written.shifts:
        example = ", ".join([*indices, "i"])
        hint = f"an iteration writes the next generation: {output}[{example}+1] = ... {output}[{example}] ... start 0"
        raise ProblemError(f"{output} is read and written by one operation", where=where, hint=hint)
    if read != Used(written.ranks):
        hint = f"read {output}[{', '.join(indices)}], the generation before"
        raise ProblemError(f"{output} is read at another place than it is written", where=where, hint=hint)


def read_expression(text: str, where: str) -> Expression:
    """What is done at a point, without projections, as an operation's `expression` prints it: "exp(S - L)".

    where  how messages call it; ProblemError says what is not understood
    """
    if len(text) > _LONGEST:
        raise ProblemError(f"{len(text)} characters, expected {_LONGEST} at most", where=where)
    return _checked(_expression(_parse(text, where), {}, where), where)


def _checked(expression: Expression, where: str) -> Expression:
    if is_too_large(expression):
        hint = "divide it into several operations"
        raise ProblemError(f"functions stand more than {DEEPEST} deep in one another", where=where, hint=hint)
    return expression


def _without_start(text: str, where: str) -> tuple[str, StartValue | None]:
    """The statement without its `start` clause, and the number that this says."""
    match = _START.search(text)
    if match is None:
        return text, None
    try:
        value = float(match[1])
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ProblemError(f"start {match[1][:40]}, expected a number, inf or -inf", where=where)
    return text[: match.start()], int(value) if value.is_integer() else value


def _without_pads(text: str, where: str) -> tuple[str, dict[str, str]]:
    """The statement without its `pad` clauses, and what these say."""
    found: dict[str, str] = {}
    while match := _PAD.search(text):
        if match[1] in found:
            raise ProblemError(f"pad of {match[1]} is given twice", where=where)
        found[match[1]] = match[2]
        text = text[: match.start()]
    return text, found


def _pads(given: dict[str, str], operands: dict[str, tuple[Rank, ...]], where: str) -> dict[str, tuple[Pad, ...]]:
    pads = {}
    for tensor, text in given.items():
        if tensor not in operands:
            raise ProblemError(f"pad of unknown tensor {tensor!r}", where=where, hint=did_you_mean(tensor, operands))
        parts = [part.strip() for part in text.split(",")]
        matches = [re.fullmatch(r"([0-9]{1,9})(?:\s*:\s*([0-9]{1,9}))?", part) for part in parts]
        if len(parts) != len(operands[tensor]) or None in matches:
            example = ", ".join(["1:1"] * len(operands[tensor]))
            raise ProblemError(f"pad {tensor}[{text}], expected zeros for each rank as in [{example}]", where=where)
        pads[tensor] = tuple((int(m[1]), int(m[2] or m[1])) for m in matches if m)
    return pads


def _parse(text: str, where: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ProblemError(f"cannot read {text.strip()[:80]!r}", where=where, hint=_EXAMPLE) from None


def _expression(node: ast.expr, operands: dict[str, Used], where: str) -> Expression:
    """The expression; the tensors that it reads are added to `operands`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        if abs(node.value) > _LARGEST_NUMBER:
            raise ProblemError(f"the number {ast.unparse(node)[:40]} is too large", where=where)
        return Number(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        arguments = tuple(_expression(side, operands, where) for side in (node.left, node.right))
        return Call(_OPERATORS[type(node.op)], arguments)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _expression(node.operand, operands, where)
        return Number(-inner.value) if isinstance(inner, Number) else Call("neg", (inner,))
    if isinstance(node, ast.Call):
        return _call(node, operands, where)
    tensor, access = _tensor(node, where)
    if operands.setdefault(tensor, access) != access:
        hint = "give each of the two a name of its own, with an operation that copies"
        raise ProblemError(f"{tensor} is read at two places, expected one", where=where, hint=hint)
    return Operand(tensor)


def _call(node: ast.Call, operands: dict[str, Used], where: str) -> Expression:
    function = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if function not in FUNCTIONS:
        raise ProblemError(f"unknown function {function!r}", where=where, hint=did_you_mean(function, FUNCTIONS))
    if len(node.args) != FUNCTIONS[function] or node.keywords:
        raise ProblemError(
            f"{function} has {len(node.args) + len(node.keywords)} arguments, expected {FUNCTIONS[function]}",
            where=where,
        )
    return Call(function, tuple(_expression(argument, operands, where) for argument in node.args))


def _tensor(node: ast.expr, where: str) -> tuple[str, Used]:
    """A tensor's name and how it is used, from `T[m, 2*p + r]`, `R[m, i+1]` or, of a scalar, `T`."""
    if isinstance(node, ast.Name):
        return node.id, Used(())
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
        found = ast.unparse(node)[:80]
        raise ProblemError(f"found {found!r}, expected a tensor such as T[m,n]", where=where, hint=_EXAMPLE)
    axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    ranks: list[Rank] = []
    shifts: list[tuple[int, str]] = []
    for number, axis in enumerate(axes):
        if ast.unparse(axis) == "-1":
            ranks.append(())
            shifts.append((number, LAST))
        elif isinstance(axis, ast.BinOp) and isinstance(axis.left, ast.Name) and ast.unparse(axis).endswith(" + 1"):
            ranks.append(((axis.left.id, 1),))
            shifts.append((number, NEXT))
        else:
            ranks.append(tuple(_terms(axis, 1, where)))
    indices = [index for rank in ranks for index, _ in rank]
    for index in indices:
        if indices.count(index) > 1:
            message = f"index {index!r} appears {indices.count(index)} times in {node.value.id}"
            raise ProblemError(message, where=where, hint="a diagonal is not a dense access")
    return node.value.id, Used(tuple(ranks), tuple(shifts))


def _terms(node: ast.expr, coefficient: int, where: str) -> Iterable[tuple[str, int]]:
    """The terms of a sum of indices with whole coefficients."""
    if isinstance(node, ast.Name):
        yield node.id, coefficient
        return
    if isinstance(node, ast.Slice) and coefficient == 1 and node.step is None:
        blocks, within = node.lower, node.upper
        if isinstance(blocks, ast.Name) and isinstance(within, ast.Name):
            yield blocks.id, BLOCK
            yield within.id, 1
            return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _terms(node.left, coefficient, where)
        yield from _terms(node.right, coefficient, where)
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for factor, rest in ((node.left, node.right), (node.right, node.left)):
            if isinstance(factor, ast.Constant) and type(factor.value) is int and factor.value > 0:
                yield from _terms(rest, coefficient * factor.value, where)
                return
    hint = "write sums such as 2*p + r; zeros around a tensor are stated as in 'pad T[0,1:1]', the generation after a "
    hint += "step is R[m,i+1], the last one R[m,-1]"
    raise ProblemError(f"cannot read the index {ast.unparse(node)[:80]!r}", where=where, hint=hint)
