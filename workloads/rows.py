"""A problem as a row of a network file: a convolution, an einsum of single letters, or a line of text."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import NamedTuple

from ..ir import Problem, ProblemError, Rank, Tensor
from .einsum import OPERAND_NAMES, dimension_names


class NetworkRow(NamedTuple):
    """A row, and what its dimensions and tensors are called in the problem that it makes.

    text     in braces, as a network file has it
    dims     dimension of the given problem -> that of the row's
    tensors  the same of tensors
    """

    text: str
    dims: dict[str, str]
    tensors: dict[str, str]


def network_text(row: NetworkRow, name: str) -> str:
    """A network file with the row as its only layer."""
    return f"network: {name}\nlayers:\n  - {row.text}\n"


def row_of(problem: Problem, layer: str) -> NetworkRow:
    """The row of a problem. Raises ProblemError where there is none."""
    row = _convolution(problem, layer) or _einsum(problem, layer) or _operation(problem, layer)
    if row is None:
        message = "expected plain indices in the output, a sum over one product, and names of letters and digits"
        raise ProblemError(f"no row of a network file says this problem, {message}", where=problem.name)
    return row


def _convolution(problem: Problem, layer: str) -> NetworkRow | None:
    """O[n,g,k,p,q] += I[n,g,c,p+r,q+s] * W[g,k,c,r,s], with fewer dimensions too."""
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
    groups = sizes.pop("G", 1)
    sizes |= {channels: sizes[channels] * groups for channels in "KC"}
    shape = ", ".join(f"{dim}: {size}" for dim, size in sizes.items()) + (f", groups: {groups}" if groups > 1 else "")
    steps_text = f"stride: {list(strides)}, dilation: {list(dilations)}"
    tensors = dict(zip((sliding.name, weight.name, output.name), "IWO", strict=True))
    return NetworkRow(f"{{name: {layer}, op: conv, {shape}, {steps_text}}}", names, tensors)


def _window(rank: Rank, weight: Tensor, output: Tensor) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """(place, stride) and (tap, dilation) of an axis that slides."""
    places = [term for term in rank if term[0] in output.dims and term[0] not in weight.dims]
    taps = [term for term in rank if term[0] in weight.dims and term[0] not in output.dims]
    return (places[0], taps[0]) if len(places) == len(taps) == 1 else None


def _letter(dim: str, sliding: Tensor, weight: Tensor, output: Tensor) -> str | None:
    """What a dimension that does not slide is called."""
    where = (dim in sliding.dims, dim in weight.dims, dim in output.dims)
    letters = {(True, False, True): "N", (False, True, True): "K", (True, True, False): "C", (True, True, True): "G"}
    return letters.get(where)


def _einsum(problem: Problem, layer: str) -> NetworkRow | None:
    if not all(map(_is_plain, problem.tensors)) or len(problem.dims) > 26:
        return None
    letters = dict(zip(problem.dim_names, _letters(problem.dim_names), strict=True))
    order = _input_first(problem)
    if len(order) > len(OPERAND_NAMES):
        return None

    def indices(tensor: Tensor) -> str:
        return "".join(letters[rank[0][0]] for rank in tensor.ranks)

    spec = f"{','.join(map(indices, order))}->{indices(problem.output)}"
    sizes = ", ".join(f"{letters[dim]}: {size}" for dim, size in problem.dims)
    text = f"{{name: {layer}, op: einsum, spec: '{spec}', sizes: {{{sizes}}}, weight: true}}"
    tensors = dict(zip([tensor.name for tensor in order], OPERAND_NAMES, strict=False))
    return NetworkRow(
        text, {dim: letter.upper() for dim, letter in letters.items()}, tensors | {problem.output.name: "O"}
    )


def _operation(problem: Problem, layer: str) -> NetworkRow | None:
    """Any other one, with its own names."""
    tensors = [tensor.name for tensor in problem.tensors]
    names = [*problem.dim_names, *tensors]
    if not all(name.isidentifier() and name.isascii() and not keyword.iskeyword(name) for name in names):
        return None
    if not _is_plain(problem.output):
        return None

    def access(tensor: Tensor) -> str:
        ranks = ["+".join(f"{step}*{dim}" if step > 1 else dim for dim, step in rank) for rank in tensor.ranks]
        return f"{tensor.name}[{','.join(ranks)}]" if ranks else tensor.name

    text = f"{access(problem.output)} += {' * '.join(map(access, _input_first(problem)))}"
    sizes = ", ".join(f"{dim}: {size}" for dim, size in problem.dims)
    row = f"{{name: {layer}, op: operation, text: '{text}', sizes: {{{sizes}}}, weight: true}}"
    return NetworkRow(row, dimension_names(problem.dim_names), dict(zip(tensors, tensors, strict=True)))


def _input_first(problem: Problem) -> list[Tensor]:
    """The operands as rows have them: the first one is the input."""
    return sorted(problem.operands, key=lambda tensor: tensor.role != "input")


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
