"""Layouts that are open, and those that are stated: which ones a tensor can have in a memory at all.

Of a layout only what a line holds of it counts. So of all orders of a tensor's ranks, those are tried that fill lines
differently; `any` as a layout leaves the choice to whoever looks for the best.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from ...arch import Architecture, Memory
from ...ir import Problem, Tensor, TilewrightError
from ..closed_form import LineBox
from .layout import ANY, Layout, parse_layout, tensor_extents
from .lines import line_box


def is_open(memory: Memory, tensor: Tensor) -> bool:
    """Whether a memory leaves the layout of a tensor open."""
    return memory.line_bits is not None and _stated(memory, tensor) == ANY


def has_open_layouts(arch: Architecture, problem: Problem) -> bool:
    """Whether any layout of a problem's tensors is open."""
    return any(is_open(memory, tensor) for memory in arch.memories for tensor in problem.tensors)


def possible_layouts(memory: Memory, problem: Problem, tensor: Tensor, word_bits: int) -> dict[LineBox, str]:
    """What a line of a memory may hold of a tensor, and the first order of ranks that makes it so."""
    if memory.line_bits is None:
        return {}
    if not is_open(memory, tensor):
        layout = parse_layout(tensor, _stated(memory, tensor))
        return {line_box(memory, problem, tensor, layout, word_bits): layout.text(tensor)}
    found: dict[LineBox, str] = {}
    # Ranks of one index can stand anywhere.
    long = [rank for rank, extent in enumerate(tensor_extents(problem, tensor)) if extent > 1]
    short = [rank for rank in range(len(tensor.ranks)) if rank not in long]
    for order in itertools.permutations(long):
        layout = Layout((*short, *order))
        found.setdefault(line_box(memory, problem, tensor, layout, word_bits), layout.text(tensor))
    return found


def with_layouts(arch: Architecture, problem: Problem, given: Mapping[str, str]) -> Architecture:
    """The machine with some layouts stated: by tensor, or by memory and tensor, such as {"O": "NHWC", "GLB.I": "any"};
    `all` stands for every tensor.

    Raises TilewrightError where there is no such tensor, memory or rank, and where no memory has lines.
    """
    if given and not any(memory.line_bits for memory in arch.memories):
        raise TilewrightError(
            f"no memory of {arch.name} has lines, so where words lie makes no difference",
            where="layout",
            hint='give a memory lines: line: 64 B in its file, or --set "DRAM.line=64 B"',
        )
    for key, text in given.items():
        for memory, tensor in _meant(arch, problem, key):
            if text != ANY:
                parse_layout(tensor, text)
            arch = _with_layout(arch, memory, tensor.name, text)
    return arch


def _stated(memory: Memory, tensor: Tensor) -> str:
    return memory.layouts.get(tensor.name, memory.layouts.get(tensor.role, "row-major"))


def _with_layout(arch: Architecture, name: str, tensor: str, text: str) -> Architecture:
    levels = tuple(
        level.model_copy(update={"layouts": {**level.layouts, tensor: text}})
        if isinstance(level, Memory) and level.name == name
        else level
        for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})


def _meant(arch: Architecture, problem: Problem, key: str) -> Iterator[tuple[str, Tensor]]:
    """The memories with lines, and the tensors, that a key such as `O`, `GLB.O` or `all` stands for."""
    memory, _, name = key.rpartition(".")
    lined = [each.name for each in arch.memories if each.line_bits]
    if memory and memory not in lined:
        raise TilewrightError(
            f"{memory!r} is no memory with lines, expected one of {', '.join(lined)}", where=f"layout of {key}"
        )
    names = [tensor.name for tensor in problem.tensors]
    if name not in (*names, "all"):
        raise TilewrightError(
            f"unknown tensor {name!r}, expected one of {', '.join(names)}, or all", where=f"layout of {key}"
        )
    for tensor in problem.tensors:
        if name in (tensor.name, "all"):
            yield from ((each, tensor) for each in lined if memory in ("", each))
