"""Layouts that are open, and those that are stated: which ones a tensor can have in a memory at all.

`any` as a layout leaves the choice to whoever looks for the best: among all orders of the ranks, and all blocks inside
of them that fill a line: one along each rank at most, together as many words as a line has room for, or so many that it
has no room for twice as many.

No other blocks would be better in lines. What a line holds is a box of words, b_1 x b_2 x ... <= room, and every such
box is that of some blocks. Where twice as many words have room, the box of twice as many along any rank is made of two
such boxes side by side, so no transfer touches more lines of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ...arch import Architecture, Memory
from ...ir import Problem, Tensor, TilewrightError
from .layout import ANY, Layout, parse_layout
from .lines import LaidOut, arranged, laid_out, room_of


def is_open(memory: Memory, tensor: Tensor) -> bool:
    """Whether a memory leaves the layout of a tensor open."""
    return memory.line_bits is not None and _stated(memory, tensor) == ANY


def has_open_layouts(arch: Architecture, problem: Problem) -> bool:
    """Whether any layout of a problem's tensors is open."""
    return any(is_open(memory, tensor) for memory in arch.memories for tensor in problem.tensors)


def possible_layouts(
    arch: Architecture, memory: Memory, problem: Problem, tensor: Tensor, word_bits: int
) -> dict[LaidOut, str]:
    """How a tensor may lie in a memory with lines, and the first layout that makes it so, without blocks if there is
    one.

    Raises TilewrightError where it is open and first tiles take time.
    """
    if not is_open(memory, tensor):
        layout = parse_layout(tensor, _stated(memory, tensor))
        return {laid_out(arch, memory, problem, tensor, layout, word_bits): layout.text(tensor)}
    if arch.latency == "with_fill":
        message, hint = "open layouts are not known to 'latency: with_fill'", "state them, such as O=NHWC"
        raise TilewrightError(message, where=arch.name, hint=f"{hint}, or ask for 'latency: steady'")
    wide = tensor.is_output and memory is arch.memories[0]
    sums_bits = arch.partial_width_bits(tensor) if wide else word_bits
    room, sums_room = room_of(memory, tensor, word_bits), room_of(memory, tensor, sums_bits)
    return dict(_open_layouts(tensor, problem.extents(tensor.name), room, sums_room, memory.banks or 1))


@lru_cache(maxsize=256)
def _open_layouts(
    tensor: Tensor, extents: tuple[int, ...], room: int, sums_room: int, banks: int
) -> tuple[tuple[LaidOut, str], ...]:
    """How a tensor may lie in lines with room for so many words, and unfinished sums, in so many banks; and the first
    layout that makes it so."""
    found: dict[LaidOut, Layout] = {}
    for layout in _orders_and_blocks(extents, room, sums_room != room, banks > 1):
        words = arranged(tensor, extents, layout, room, banks)
        sums = arranged(tensor, extents, layout, sums_room, banks) if sums_room != room else words
        found.setdefault(LaidOut(words, sums), layout)
    return tuple((way, layout.text(tensor)) for way, layout in found.items())


def _orders_and_blocks(extents: tuple[int, ...], room: int, wide: bool, banks: bool) -> Iterator[Layout]:
    """All orders; and then blocks, in such orders as make a difference: that of the blocks where words that are wider
    until they are finished lie in lines of fewer, that of the ranks where lines lie in banks."""
    # Ranks of one index can stand anywhere.
    long = [rank for rank, extent in enumerate(extents) if extent > 1]
    short = [rank for rank in range(len(extents)) if rank not in long]
    orders = [(*short, *order) for order in itertools.permutations(long)]
    yield from map(Layout, orders)
    for words in _full_lines([extents[rank] for rank in long], room):
        blocks = [(rank, count) for rank, count in zip(long, words, strict=True) if count > 1]
        for inner in itertools.permutations(blocks) if wide else (tuple(blocks),):
            for order in orders if banks else (None,):
                yield Layout(order, tuple(inner))


def _full_lines(extents: Sequence[int], room: int) -> Iterator[tuple[int, ...]]:
    """Words along each rank of which a line has room for one box, and not for two."""
    if not extents:
        if room == 1:
            yield ()
        return
    for words in range(1, min(extents[0], room) + 1):
        yield from ((words, *rest) for rest in _full_lines(extents[1:], room // words))


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
            levels = tuple(
                level.model_copy(update={"layouts": {**level.layouts, tensor.name: text}})
                if isinstance(level, Memory) and level.name == memory
                else level
                for level in arch.levels
            )
            arch = arch.model_copy(update={"levels": levels})
    return arch


def _stated(memory: Memory, tensor: Tensor) -> str:
    return memory.layouts.get(tensor.name, memory.layouts.get(tensor.role, "row-major"))


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
