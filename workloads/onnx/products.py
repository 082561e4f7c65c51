"""MatMul, Gemm, MatMulInteger and QLinearMatMul: matrix products, batched and broadcast as numpy does.

The operand that is a stored parameter has the role weight; where that is the left one, the product is searched
transposed, which is the same work on the same words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ...ir import Problem, ProblemError, Rank, Role
from ..arguments import Bits, axes, build
from ..layers import batched_gemm, gemm
from .nodes import Dense, OnnxNode, OnnxValue, Repeated, widths

DimRun = tuple[str, int]
"""Neighbouring batch axes that move the same operands, "left", "right" or "both", and their size."""


def matmul(node: OnnxNode) -> Dense:
    """MatMul: inputs A and B of any rank."""
    return _product(node, 0, 1, {})


def matmul_integer(node: OnnxNode) -> Dense:
    """MatMulInteger: inputs A and B, and optionally their zero points, which are subtracted first."""
    moving = [(position, point) for position, point in ((0, 2), (1, 3)) if node.has(point)]
    subtractions = sum(math.prod(node.shape(operand)) for operand, _ in moving if not node.input(operand).constant)
    return _product(node, 0, 1, {"MatMulInteger zero points": subtractions})


def qlinear_matmul(node: OnnxNode) -> Dense:
    """QLinearMatMul: a, its scale and zero point, b, its scale and zero point, and those of y."""
    operands = sum(math.prod(node.shape(operand)) for operand in (0, 3) if not node.input(operand).constant)
    return _product(node, 0, 3, {"QLinearMatMul scaling": operands + 2 * node.output_elements})


def gemm_node(node: OnnxNode) -> Dense:
    """Gemm: alpha * A * B + beta * C, with A and B transposed if so said."""
    left, right = node.shape(0), node.shape(1)
    for shape in (left, right):
        if len(shape) != 2:
            raise ProblemError(f"an operand of {len(shape)} axes, expected a matrix", where=node.where)
    if node.integer("transA", 0):
        left = left[::-1]
    if node.integer("transB", 0):
        right = right[::-1]
    parts = _parts(node, left, right, node.input(0), node.input(1))
    outputs = node.output_elements
    scalings = (node.attributes.get("alpha", 1.0) != 1.0) + (node.has(2) and node.attributes.get("beta", 1.0) != 1.0)
    others = {"Gemm bias": outputs if node.has(2) else 0, "Gemm scaling": outputs * scalings}
    return Dense(parts, others)


def _product(node: OnnxNode, left: int, right: int, others: dict[str, int]) -> Dense:
    return Dense(_parts(node, node.shape(left), node.shape(right), node.input(left), node.input(right)), others)


def _parts(
    node: OnnxNode, left: Sequence[int], right: Sequence[int], a: OnnxValue, b: OnnxValue
) -> tuple[Repeated, ...]:
    if not left or not right:
        raise ProblemError("an operand is a scalar, expected a vector or more", where=node.where)
    # numpy: a vector on the left is a row, one on the right a column.
    rows = [1, *left] if len(left) == 1 else [*left]
    columns = [*right, 1] if len(right) == 1 else [*right]
    if rows[-1] != columns[-2]:
        message = f"shapes {list(left)} and {list(right)} do not match: {rows[-1]} and {columns[-2]}"
        raise ProblemError(message, where=node.where)
    if a.constant and not b.constant:
        rows, columns, a, b = _transposed(columns), _transposed(rows), b, a
    if 0 in rows or 0 in columns:
        return ()
    runs = _runs(rows[:-2], columns[:-2], node.where)
    problem = product(runs, rows[-2], columns[-1], rows[-1], widths(a, b, node.output))
    return (Repeated(problem, b.parameter),)


def _transposed(shape: Sequence[int]) -> list[int]:
    return [*shape[:-2], shape[-1], shape[-2]]


def _runs(left: Sequence[int], right: Sequence[int], where: str) -> list[DimRun]:
    """The batch axes, outermost first, without those of size 1; neighbours of a kind are one axis."""
    kinds: list[DimRun] = []
    for m, n in itertools.zip_longest(reversed(left), reversed(right), fillvalue=1):
        if m != n and 1 not in (m, n):
            raise ProblemError(f"batches of {list(left)} and {list(right)} cannot be broadcast", where=where)
        if max(m, n) > 1:
            kinds.append(("both" if m == n else "left" if m > 1 else "right", max(m, n)))
    grouped = itertools.groupby(reversed(kinds), key=lambda run: run[0])
    return [(kind, math.prod(size for _, size in group)) for kind, group in grouped]


def product(runs: Sequence[DimRun], M: int, N: int, K: int, bits: Bits) -> Problem:
    """O[.., m, n] += A[.., m, k] * W[.., k, n] over batch axes that both operands have, or one of them."""
    runs = list(runs)
    if runs and runs[-1][0] == "left":
        # Rows of A, one after the other: more of M.
        M *= runs.pop()[1]
    if not runs:
        return gemm(M, N, K, bits=bits)
    if len(runs) == 1 and runs[0][0] == "both":
        return batched_gemm(runs[0][1], M, N, K, bits=bits)
    named = [(f"B{number or ''}", kind, size) for number, (kind, size) in enumerate(runs)]
    batch = {side: [name for name, kind, _ in named if kind in (side, "both")] for side in ("left", "right")}
    sizes = {**{name: size for name, _, size in named}, "M": M, "N": N, "K": K}
    tensors: list[tuple[str, Role, tuple[Rank, ...]]] = [
        ("A", "input", axes(*batch["left"], "M", "K")),
        ("W", "weight", axes(*batch["right"], "K", "N")),
        ("O", "output", axes(*(name for name, _, _ in named), "M", "N")),
    ]
    return build("matmul", sizes, tensors, bits)
