"""Source text that computes an einsum directly, without any schedule: what emitted programs are checked against."""

from __future__ import annotations

import math
import string

from ....ir import Problem, ProblemError, Rank, Tensor
from ..parts.names import FreshNames, quoted

LARGEST = 4
"""Magnitude of the integers that programs are checked with."""


def direct_lines(problem: Problem, names: FreshNames) -> list[str]:
    """A function `direct(operands)`: loops over all but one dimension of each sum, and one einsum over the rest."""
    looped = {dim: names.unique(dim) for dim in _looped(problem)}
    letters = _letters(problem, looped)
    operands = {t.name: names.unique(t.name) for t in problem.operands}
    products = math.prod(n for dim, n in problem.dims if dim not in problem.output.dims)
    largest = LARGEST ** len(problem.operands) * products
    kind = "np.float64" if largest < 2**53 else "np.result_type(np.int64, *operands.values())"
    if largest < 2**24:
        kind = 'np.float32 if np.result_type(*operands.values()).kind == "i" else np.float64'
    lines = [
        "def direct(operands: dict[str, np.ndarray]) -> np.ndarray:",
        '    """The same operation without a schedule: the reference that the output of `run` is compared with."""',
        f"    kind = {kind}  # holds every sum of the check's whole numbers exactly",
        *(f"    {operands[t.name]} = operands[{quoted(t.name)}].astype(kind)" for t in problem.operands),
        f"    result = np.zeros({tuple(problem.sizes[r[0][0]] for r in problem.output.ranks)}, kind)",
    ]
    indent = "    "
    if looped:
        ranges = ", ".join(f"range({problem.sizes[dim]})" for dim in looped)
        lines.append(f"    for {', '.join(looped.values())}{',' * (len(looped) == 1)} in itertools.product({ranges}):")
        indent += "    "
    factors = [(_spelled(t, letters), operands[t.name] + _window(problem, t, looped)) for t in problem.operands]
    covered = {dim for t in problem.operands for dim in t.dims}
    factors += [(letters[d], f"np.ones({n}, kind)") for d, n in problem.dims if d not in covered and d in letters]
    spec = ",".join(spelled for spelled, _ in factors) + "->" + _spelled(problem.output, letters)
    arrays = ", ".join(text for _, text in factors)
    target = _window(problem, problem.output, looped) or "[()]"
    lines += [f'{indent}result{target} += np.einsum("{spec}", {arrays}, optimize=True)', "    return result"]
    return lines


def _looped(problem: Problem) -> list[str]:
    """Of every tensor axis that is a sum, all dimensions but the largest."""
    found: set[str] = set()
    for tensor in problem.operands:
        for rank in tensor.ranks:
            largest = max((dim for dim, _ in rank), key=problem.sizes.__getitem__, default=None)
            found |= {dim for dim, _ in rank if dim != largest}
    return [dim for dim in problem.dim_names if dim in found]


def _letters(problem: Problem, looped: dict[str, str]) -> dict[str, str]:
    kept = [dim for dim in problem.dim_names if dim not in looped]
    if len(kept) > len(string.ascii_letters):
        raise ProblemError(f"a program for {len(kept)} dimensions cannot be written; numpy names at most 52")
    return dict(zip(kept, string.ascii_letters, strict=False))


def _spelled(tensor: Tensor, letters: dict[str, str]) -> str:
    return "".join(letters[dim] for rank in tensor.ranks for dim, _ in rank if dim in letters)


def _window(problem: Problem, tensor: Tensor, looped: dict[str, str]) -> str:
    """The index that leaves the dimensions of the einsum: strided slices, shifted by the looped dimensions."""
    parts = [_slice(problem, rank, looped) for rank in tensor.ranks]
    return f"[{', '.join(parts)}]" if parts else ""


def _slice(problem: Problem, rank: Rank, looped: dict[str, str]) -> str:
    shift = " + ".join(looped[dim] if c == 1 else f"{c} * {looped[dim]}" for dim, c in rank if dim in looped)
    kept = [(dim, c) for dim, c in rank if dim not in looped]
    if not kept:
        return shift or "0"
    ((dim, coefficient),) = kept
    stride = f":{coefficient}" if coefficient > 1 else ""
    if not shift:
        return f":{stride}"
    length = coefficient * (problem.sizes[dim] - 1) + 1
    return f"{shift} : {shift} + {length}{stride}"


def operand_shapes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """Shape of every operand: one axis per rank, 1 + sum of coefficient * (size - 1)."""
    sizes = problem.sizes
    return {
        t.name: tuple(1 + sum(c * (sizes[dim] - 1) for dim, c in rank) for rank in t.ranks) for t in problem.operands
    }
