"""Layouts as text: `O=NHWC`, `O=NCHW16c`, `I=K32`, `DRAM.W=row-major`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...arch import Architecture, Memory
from ...ir import Problem, Tensor, TilewrightError, did_you_mean
from ...ir.errors import shown
from .layout import Layout, LayoutDigit

LayoutLike = Layout | str
"""A layout, or its text."""

Layouts = Mapping[tuple[str, str], Layout]
"""By memory and tensor; all others are packed without gaps."""

LARGEST_BLOCK = 2**20
_LONGEST = 200  # characters
_HINT = "write ranks from the outermost to the innermost: NHWC, NCHW16c (blocks of 16 c inside), K32, row-major"
_PART = re.compile(r"(?P<block>[0-9]+)(?P<inner>[a-z])|(?P<rank>[A-Za-z])(?P<size>[0-9]+(?![0-9a-z]))?")
_WORD = re.compile(r"(?P<rank>[A-Za-z]\w*?)(?P<size>[0-9]+)?")


def parse_layouts(
    given: Iterable[str] | Mapping[str, LayoutLike], problem: Problem, arch: Architecture
) -> dict[tuple[str, str], Layout]:
    """The layouts of a problem's tensors in the memories of a machine that have lines.

    given  texts `TENSOR=LAYOUT` or `MEMORY.TENSOR=LAYOUT`, or layouts or their texts by `TENSOR` or `MEMORY.TENSOR`;
           those of one memory go before those of all

    Raises TilewrightError for unknown tensors, memories and ranks, for memories without lines, and for what is given
    twice.
    """
    if not isinstance(given, list | tuple | Mapping):
        hint = 'write layout={"O": "NHWC"}'
        raise TilewrightError(f"found {shown(given)}, expected layouts by tensor", where="layout", hint=hint)
    pairs = list(given.items()) if isinstance(given, Mapping) else [_pair(text) for text in given]
    lined = [memory for memory in arch.memories if memory.line_bits]
    if pairs and not lined:
        hint = "state one, such as --set DRAM.line='64 B'"
        raise TilewrightError(f"no memory of {arch.name} has a line", where="layout", hint=hint)
    found: dict[tuple[str, str], Layout] = {}
    for name, value in sorted(pairs, key=lambda pair: "." in str(pair[0])):
        where = f"layout of {str(name)[:80]}"
        memory, tensor = _place(str(name), problem, arch, where)
        layout = value if isinstance(value, Layout) else parse_layout(str(value), tensor, problem, where)
        if [str(other) for other, _ in pairs].count(str(name)) > 1:
            raise TilewrightError("given twice", where=where)
        found |= {(each.name, tensor.name): layout for each in ([memory] if memory else lined)}
    return found


def parse_layout(text: str, tensor: Tensor, problem: Problem, where: str) -> Layout:
    """A layout of one tensor.

    Raises TilewrightError, at `where`, for what is no layout, and for ranks that are unknown, missing or given twice.
    """
    every = tuple(range(len(tensor.ranks)))
    if text in ("row-major", "column-major"):
        return Layout(tuple(map(LayoutDigit, every if text == "row-major" else every[::-1])), text)
    if len(text) > _LONGEST or not text.strip():
        raise TilewrightError(f"found {shown(text)}, expected a layout", where=where, hint=_HINT)
    names = rank_names(tensor, problem)
    digits = [_digit(part, names, tensor, where) for part in _parts(text, names, where)]
    outer = [digit.rank for digit in digits if digit.block is None]
    twice = next((rank for rank in outer if outer.count(rank) > 1), None)
    if twice is not None:
        raise TilewrightError(f"{shown(text)} has {_name(twice, names)} twice", where=where)
    left = [rank for rank in every if rank not in outer]
    missing = [rank for rank in left if any(problem.sizes[dim] > 1 for dim, _ in tensor.ranks[rank])]
    if outer and missing:
        lacking = ", ".join(_name(rank, names) for rank in missing)
        raise TilewrightError(f"{shown(text)} lacks {lacking} of {tensor}", where=where, hint=_HINT)
    for rank in outer:
        first = next(i for i, digit in enumerate(digits) if digit.rank == rank)
        if digits[first].block is not None:
            message = f"{shown(text)} has a block of {_name(rank, names)} outside of all its blocks"
            raise TilewrightError(message, where=where, hint=_HINT)
    return Layout((*map(LayoutDigit, left), *digits), text)


def rank_names(tensor: Tensor, problem: Problem) -> dict[str, int]:
    """What the ranks of a tensor are called: by each of their dimensions; H and W where rows (P) and columns (Q) of an
    image stand, and C for the channels (K) of an output."""
    names = {dim.upper(): i for i, rank in enumerate(tensor.ranks) for dim, _ in rank}
    aliases = [("H", "P"), ("W", "Q")] if "Q" in problem.sizes else [("W", "P")]
    for alias, dim in [*aliases, *([("C", "K")] if tensor.is_output else [])]:
        if dim in names and alias not in names:
            names[alias] = names[dim]
    return names


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise TilewrightError(f"found {shown(text)}, expected TENSOR=LAYOUT such as O=NHWC", where="layout")
    return name.strip(), value.strip()


def _place(name: str, problem: Problem, arch: Architecture, where: str) -> tuple[Memory | None, Tensor]:
    memory, _, tensor = name.rpartition(".")
    names = [each.name for each in problem.tensors]
    if tensor not in names:
        raise TilewrightError(f"no tensor {shown(tensor)}", where=where, hint=did_you_mean(tensor, names))
    if not memory:
        return None, problem.tensor(tensor)
    lined = {each.name: each for each in arch.memories if each.line_bits}
    if memory not in lined:
        message = f"no memory {shown(memory)} with a line"
        raise TilewrightError(message, where=where, hint=did_you_mean(memory, lined))
    return lined[memory], problem.tensor(tensor)


def _parts(text: str, names: Mapping[str, int], where: str) -> list[tuple[str, str | None]]:
    """Names of ranks, each with its block if it is one; names of several letters stand by themselves."""
    found: list[tuple[str, str | None]] = []
    for word in re.split(r"[\s,_]+", text.strip()):
        whole = _WORD.fullmatch(word)
        if whole and whole["rank"].upper() in names:
            found.append((whole["rank"], whole["size"]))
            continue
        end = 0
        while end < len(word):
            part = _PART.match(word, end)
            if part is None:
                raise TilewrightError(f"cannot read {shown(word[end:])} of {shown(text)}", where=where, hint=_HINT)
            found.append((part["inner"], part["block"]) if part["inner"] else (part["rank"], part["size"]))
            end = part.end()
    return found


def _digit(part: tuple[str, str | None], names: Mapping[str, int], tensor: Tensor, where: str) -> LayoutDigit:
    name, size = part
    if name.upper() not in names:
        hint = did_you_mean(name.upper(), names)
        raise TilewrightError(f"no rank {shown(name)} of {tensor}", where=where, hint=hint)
    if size is None:
        return LayoutDigit(names[name.upper()])
    if len(size) > 7 or not 0 < int(size) <= LARGEST_BLOCK:
        message = f"found a block of {shown(size)} words along {name}, expected 1 to {LARGEST_BLOCK:,}"
        raise TilewrightError(message, where=where)
    return LayoutDigit(names[name.upper()], int(size))


def _name(rank: int, names: Mapping[str, int]) -> str:
    return "/".join(name for name, which in names.items() if which == rank)
