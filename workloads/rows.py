"""A problem as a row of a network file, where it is a convolution, a matrix product or an einsum of single letters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..ir import Problem, ProblemError, Rank, Tensor


class NetworkRow(NamedTuple):
    """A row, and what its dimensions are called in the problem that it makes.

    text   in braces, as a network file has it
    names  dimension of the given problem -> that of the row's
    """

    text: str
    names: dict[str, str]


def network_text(problem: Problem, name: str, layer: str) -> tuple[str, dict[str, str]]:
    """A network file with the problem as its only layer, and what its dimensions are called there.

    Raises ProblemError for a problem that no row makes.
    """
    row = row_of(problem, layer)
    return f"network: {name}\nlayers:\n  - {row.text}\n", row.names


def row_of(problem: Problem, layer: str) -> NetworkRow:
    """The row of a problem. Raises ProblemError where there is none."""
    row = _convolution(problem, layer) or _einsum(problem, layer)
    if row is None:
        message = "neither a convolution over one or two axes nor an einsum, expected one of these"
        raise ProblemError(message, where=problem.name, hint="give the layer to --conv, --gemm or --einsum")
    return row


def _convolution(problem: Problem, layer: str) -> NetworkRow | None:
    """O[n,k,p,q] += I[n,c,p+r,q+s] * W[k,c,r,s], with fewer dimensions too."""
    operands = {tensor.role: tensor for tensor in problem.operands}
    if len(problem.operands) != 2 or set(operands) != {"input", "weight"}:
        return None
    sliding, weight, output = operands["input"], operands["weight"], problem.output
    windows = [rank for rank in sliding.ranks if len(rank) == 2]
    if not 1 <= len(windows) <= 2 or not (_is_plain(weight) and _is_plain(output)):
        return None
    names: dict[str, str] = {}
    steps: list[tuple[int, int]] = []
    for axes, rank in zip(("PR", "QS"), windows, strict=False):
        found = _window(rank, weight, output)
        if found is None:
            return None
        (place, stride), (tap, dilation) = found
        names |= {place: axes[0], tap: axes[1]}
        steps.append((stride, dilation))
    for dim in (dim for dim in problem.dim_names if dim not in names):
        letter = _letter(dim, sliding, weight, output)
        if letter is None or letter in names.values():
            return None
        names[dim] = letter
    strides, dilations = zip(*steps, *[(1, 1)] * (2 - len(steps)), strict=True)
    sizes = dict.fromkeys("NKCPQRS", 1) | {names[dim]: size for dim, size in problem.dims}
    shape = ", ".join(f"{dim}: {size}" for dim, size in sizes.items())
    steps_text = f"stride: {list(strides)}, dilation: {list(dilations)}"
    return NetworkRow(f"{{name: {layer}, op: conv, {shape}, {steps_text}}}", names)


def _window(rank: Rank, weight: Tensor, output: Tensor) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """(place, stride) and (tap, dilation) of an axis that slides."""
    places = [term for term in rank if term[0] in output.dims and term[0] not in weight.dims]
    taps = [term for term in rank if term[0] in weight.dims and term[0] not in output.dims]
    return (places[0], taps[0]) if len(places) == len(taps) == 1 else None


def _letter(dim: str, sliding: Tensor, weight: Tensor, output: Tensor) -> str | None:
    """What a dimension that does not slide is called."""
    where = (dim in sliding.dims, dim in weight.dims, dim in output.dims)
    return {(True, False, True): "N", (False, True, True): "K", (True, True, False): "C"}.get(where)


def _einsum(problem: Problem, layer: str) -> NetworkRow | None:
    if not all(map(_is_plain, problem.tensors)) or len(problem.dims) > 26:
        return None
    letters = dict(zip(problem.dim_names, _letters(problem.dim_names), strict=True))
    order = sorted(problem.operands, key=lambda tensor: tensor.role != "input")
    if [tensor.role for tensor in order] != ["input", *["weight"] * (len(order) - 1)]:
        return None

    def indices(tensor: Tensor) -> str:
        return "".join(letters[rank[0][0]] for rank in tensor.ranks)

    spec = f"{','.join(map(indices, order))}->{indices(problem.output)}"
    sizes = ", ".join(f"{letters[dim]}: {size}" for dim, size in problem.dims)
    text = f"{{name: {layer}, op: einsum, spec: '{spec}', sizes: {{{sizes}}}, weight: true}}"
    return NetworkRow(text, {dim: letter.upper() for dim, letter in letters.items()})


def _letters(dims: tuple[str, ...]) -> Iterator[str]:
    """A small letter for each dimension, its own one where it is free."""
    free = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    own = {dim: dim.lower() for dim in dims if len(dim) == 1 and dim.isascii() and dim.isalpha()}
    taken = set(own.values()) if len(set(own.values())) == len(own) else set()
    others = iter([letter for letter in free if letter not in taken])
    for dim in dims:
        yield own[dim] if dim in own and taken else next(others)


def _is_plain(tensor: Tensor) -> bool:
    return all(len(rank) == 1 and rank[0][1] == 1 for rank in tensor.ranks)
