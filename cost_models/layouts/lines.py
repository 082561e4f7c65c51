"""How many lines of a memory every transfer touches: closed forms, equal to a walk over all of them (`walk.py`).

A line holds neighbouring words: of the innermost ranks of the layout whole ones, as far as they fit, and of the next
one as many indices as still do. The rest of a line is padding, so no line begins in the middle of one of them. So a
line is a box of words, at a place that is a multiple of the box along every rank, and a transfer of a box of words
touches, along each rank on its own, the lines from its first index to its last. Sums over all transfers are products
over ranks, as those of words are (`closed_form.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import astuple, dataclass, field, replace
from functools import partial

from ...arch import Architecture, Memory
from ...ir import Mapping, Node, Problem, Tensor, TilewrightError
from ..boundaries import Boundary, boundaries_of
from ..closed_form import (
    NOTHING,
    Group,
    LineBox,
    Nest,
    candidates,
    kinds_along_rank,
    may_finish,
    moved_words,
    times_moved,
    words_in,
)
from ..moves import ALL, EVERY, FIRST, Place, most_lines_along_rank, words_along_rank
from ..passing import sums_drained, sums_inwards
from ..ports import AccessBits
from .layout import Layout, layout_in, tensor_extents


@dataclass(frozen=True)
class Lines:
    """Lines of one tensor at one memory, by kind of access.

    supplied   read for what lies inside, and to accumulate
    drained    read on their way outwards
    collected  written from inside
    filled     written from outside
    """

    supplied: int = 0
    drained: int = 0
    collected: int = 0
    filled: int = 0

    def bits(self, line_bits: int) -> AccessBits:
        """Bits that pass: of whole lines."""
        return AccessBits(*(line_bits * lines for lines in astuple(self)))

    def __add__(self, other: Lines) -> Lines:
        return Lines(*map(sum, zip(astuple(self), astuple(other), strict=True)))


LineTable = dict[tuple[str, str], Lines]
"""Lines by (memory name, tensor name)."""


@dataclass
class LineCounts:
    """Of memories that have lines.

    total    over all instances
    busiest  of the busiest instance
    held     by (memory, tensor), that the tile of one instance lies in, at most
    """

    total: LineTable = field(default_factory=dict)
    busiest: LineTable = field(default_factory=dict)
    held: dict[tuple[str, str], int] = field(default_factory=dict)


def line_box(memory: Memory, problem: Problem, tensor: Tensor, layout: Layout, word_bits: int) -> LineBox:
    """Indices along each rank that a line of a memory holds.

    word_bits  width of a word

    Raises TilewrightError where a line is smaller than a word.
    """
    assert memory.line_bits is not None
    room = memory.line_bits // word_bits
    if room < 1:
        raise TilewrightError(
            f"a word of {tensor.name} has {word_bits} bit, a line {memory.line_bits}; expected lines of whole words",
            where=f"{memory.name}.line",
        )
    extents, box = tensor_extents(problem, tensor), [1] * len(tensor.ranks)
    for rank, block in reversed(layout.digits(tensor)):
        words = block or math.ceil(extents[rank] / box[rank])
        # Of a block, lines hold equal parts.
        taken = min(words, room) if block is None else max(part for part in range(1, room + 1) if words % part == 0)
        box[rank] *= taken
        room //= taken
        if taken < words:
            break
    return tuple(box)


def has_lines(arch: Architecture) -> bool:
    """Whether any memory of a machine has lines."""
    return any(memory.line_bits is not None for memory in arch.memories)


def refuse_lines(arch: Architecture, what: str, error: type[TilewrightError] = TilewrightError) -> None:
    """The error, where a machine has memories with lines, of something that counts words alone."""
    for memory in arch.memories:
        if memory.line_bits is not None:
            hint = "leave the line of that memory out, or ask for one dense operation"
            raise error(f"{what} know no lines of memories yet", where=f"{arch.name}: {memory.name}.line", hint=hint)


def count_lines(
    mapping: Mapping, arch: Architecture, width: Callable[..., int], only: Collection[str] | None = None
) -> LineCounts:
    """Lines that pass the ports of every memory that has lines.

    width  (arch, memory, tensor): bits of a word while a memory holds it
    only   tensors that are counted; None: all of them

    Raises MappingError when a node or loop stands where the architecture has no place for it, and TilewrightError where
    a line is smaller than a word.
    """
    nest, counts = Nest.of(mapping, arch), LineCounts()
    for boundary in boundaries_of(mapping, arch):
        if only is None or boundary.tensor.name in only:
            _count_boundary(counts, nest, boundary, width)
    for position, item in enumerate(mapping.nest.items):
        if isinstance(item, Node) and (only is None or item.tensor in only):
            tensor, memory = mapping.problem.tensor(item.tensor), arch.level(item.memory)
            if isinstance(memory, Memory) and memory.line_bits is not None:
                line = _box(nest, memory, tensor, width(arch, memory, tensor))
                counts.held[item.memory, item.tensor] = _most_held(nest, tensor, position, line)
    return counts


Count = Callable[[Nest, Boundary, LineBox, Place], Lines]


def _box(nest: Nest, memory: Memory, tensor: Tensor, word_bits: int) -> LineBox:
    return line_box(memory, nest.problem, tensor, layout_in(memory, tensor), word_bits)


def _count_boundary(counts: LineCounts, nest: Nest, boundary: Boundary, width: Callable[..., int]) -> None:
    """Add the lines of both ends of a boundary, where its memories have lines."""
    arch, tensor, outer, inner = nest.arch, boundary.tensor, boundary.outer, boundary.inner
    count_outer, count_inner = (_sums_outside, _sums_inside) if tensor.is_output else (_reads, _fills)
    if outer.line_bits is not None:
        line = _box(nest, outer, tensor, width(arch, outer, tensor))
        if tensor.is_output and outer is arch.memories[0]:
            count_outer = partial(_sums_outermost, line)
            line = _box(nest, outer, tensor, arch.partial_width_bits(tensor))
        _add(counts, nest, boundary, outer, boundary.outer_position, line, count_outer)
    if inner is not None and inner.line_bits is not None:
        line = _box(nest, inner, tensor, width(arch, inner, tensor))
        _add(counts, nest, boundary, inner, boundary.inner_position, line, count_inner)


def _add(
    counts: LineCounts, nest: Nest, boundary: Boundary, memory: Memory, position: int, line: LineBox, count: Count
) -> None:
    """Add the lines of one end of a boundary; `position` is that of the memory's node."""
    key = memory.name, boundary.tensor.name
    counts.total[key] = counts.total.get(key, Lines()) + count(nest, boundary, line, ALL)
    places = candidates(nest, boundary.tensor, position, line)
    each = [count(nest, boundary, line, place) for place in places]
    busiest = Lines(*(max(lines) for lines in zip(*map(astuple, each), strict=True)))
    counts.busiest[key] = counts.busiest.get(key, Lines()) + busiest


def _reads(nest: Nest, boundary: Boundary, line: LineBox, only: Place) -> Lines:
    group = Group(boundary.inner_position, boundary.multicast, only)
    if boundary.inner is None:
        return Lines(supplied=words_in(nest, boundary.tensor, EVERY, group, line)[0])
    return Lines(supplied=moved_words(nest, boundary.tensor, boundary.inner.halo, group, line))


def _fills(nest: Nest, boundary: Boundary, line: LineBox, only: Place) -> Lines:
    assert boundary.inner is not None
    group = Group(boundary.inner_position, NOTHING, only)
    return Lines(filled=moved_words(nest, boundary.tensor, boundary.inner.halo, group, line))


def _sums_outside(nest: Nest, boundary: Boundary, line: LineBox, only: Place) -> Lines:
    """Every arrival is written; and read first, but the first arrival of its tile."""
    group = Group(boundary.inner_position, boundary.reduced, only)
    arrivals = _visits(nest, boundary, group, line)
    first = _first(nest, boundary.tensor, group, boundary.outer_position, line)
    return Lines(supplied=sums_inwards(nest.arch, arrivals, first), collected=arrivals)


def _sums_outermost(finished: LineBox, nest: Nest, boundary: Boundary, line: LineBox, only: Place) -> Lines:
    """Finished words, which arrive last, lie there in their own width; all others are as wide as partial sums."""
    lines = _sums_outside(nest, boundary, line, only)
    if not may_finish(nest, boundary.outer_position):
        return lines
    group = Group(boundary.inner_position, boundary.reduced, only)
    wide, narrow = (_first(nest, boundary.tensor, group, boundary.outer_position, box) for box in (line, finished))
    return replace(lines, collected=lines.collected - wide + narrow)


def _sums_inside(nest: Nest, boundary: Boundary, line: LineBox, only: Place) -> Lines:
    """Every visit leaves; and comes, but the first one of its tile."""
    group = Group(boundary.inner_position, NOTHING, only)
    visits = _visits(nest, boundary, group, line)
    first = _first(nest, boundary.tensor, group, boundary.inner_position, line)
    return Lines(drained=sums_drained(nest.arch, visits), filled=sums_inwards(nest.arch, visits, first))


def _visits(nest: Nest, boundary: Boundary, group: Group, line: LineBox) -> int:
    if boundary.inner is None:
        return words_in(nest, boundary.tensor, EVERY, group, line)[0]
    return moved_words(nest, boundary.tensor, "none", group, line)


def _first(nest: Nest, tensor: Tensor, group: Group, position: int, line: LineBox) -> int:
    """Lines of the tiles that a group brings, each tile once for every instance above `position`."""
    found = times_moved(nest, tensor, FIRST, Group(position, only=group.only))
    for rank, per_line in zip(tensor.ranks, line, strict=True):
        kinds = kinds_along_rank(nest, rank, EVERY, group, per_line)
        found *= words_along_rank(tuple(c for _, c in rank), kinds, nest.arch.footprint, per_line)[0]
    return found


def _most_held(nest: Nest, tensor: Tensor, position: int, line: LineBox) -> int:
    """Lines that a tile lies in, at most."""
    found = 1
    for rank, per_line in zip(tensor.ranks, line, strict=True):
        kinds = kinds_along_rank(nest, rank, EVERY, Group(position), per_line)
        found *= most_lines_along_rank(tuple(c for _, c in rank), kinds, nest.arch.footprint, per_line)
    return found
