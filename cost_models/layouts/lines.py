"""How many lines of a memory every transfer touches, and how long they keep its banks busy: closed forms, equal to a
walk over all of them (`walk.py`).

A line holds neighbouring words: of the innermost ranks of the layout whole ones, as far as they fit, and of the next
one as many indices as still do. The rest of a line is padding, so no line begins in the middle of one of them. So a
line is a box of words, at a place that is a multiple of the box along every rank, and a transfer of a box of words
touches, along each rank on its own, the lines from its first index to its last. Sums over all transfers are products
over ranks, as those of words are (`closed_form.py`).

Lines lie in banks as words lie in lines: neighbours in different ones, as far as there are banks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

import numpy as np

from ...arch import Architecture, Memory
from ...ir import Mapping, Problem, Rank, Tensor, TilewrightError
from ..boundaries import Boundary, boundaries_of
from ..closed_form import NOTHING, Group, LineBox, Nest, candidates, kinds_along_rank, may_finish
from ..moves import ALL, EVERY, FIRST, Place, most_lines_along_rank
from ..passing import sums_drained, sums_inwards
from ..ports import AccessBits
from ..sets import IntArray
from .layout import Layout, layout_in
from .transfers import Arrangement, BankCycles, LinesTouched, Transfers, moved, once_each, periods


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

FirstLines = dict[tuple[str, str, str], int]
"""Lines of the first tiles that pass between two memories, by the memory with lines, the other one, and the tensor."""


@dataclass
class LineCounts:
    """Of memories that have lines.

    total    over all instances
    busiest  of the busiest instance
    banks    of the busiest instance, the cycles for which its busiest bank has something to do, transfer by transfer,
             where the memory has banks
    held     by (memory, tensor), that the tile of one instance lies in, at most
    first    where the latency is to hold the time of first tiles, their lines
    """

    total: LineTable = field(default_factory=dict)
    busiest: LineTable = field(default_factory=dict)
    banks: LineTable = field(default_factory=dict)
    held: dict[tuple[str, str], int] = field(default_factory=dict)
    first: FirstLines = field(default_factory=dict)


class LaidOut(NamedTuple):
    """A tensor in a memory.

    words  as it is held
    sums   as it is held until it is finished: the outermost memory lays outputs out in their own width once they are
    """

    words: Arrangement
    sums: Arrangement


def line_box(memory: Memory, problem: Problem, tensor: Tensor, layout: Layout, word_bits: int) -> LineBox:
    """Indices along each rank that a line of a memory holds.

    word_bits  width of a word

    Raises TilewrightError where a line is smaller than a word.
    """
    return arrangement(memory, problem, tensor, layout, word_bits).line


def arrangement(memory: Memory, problem: Problem, tensor: Tensor, layout: Layout, word_bits: int) -> Arrangement:
    """What a line of a memory holds of a layout, and which lines lie in different banks.

    word_bits  width of a word

    Raises TilewrightError where a line is smaller than a word.
    """
    room = room_of(memory, tensor, word_bits)
    return arranged(tensor, problem.extents(tensor.name), layout, room, memory.banks or 1)


def room_of(memory: Memory, tensor: Tensor, word_bits: int) -> int:
    """Words of a tensor that a line of a memory has room for. Raises TilewrightError where it has none."""
    assert memory.line_bits is not None
    room = memory.line_bits // word_bits
    if room < 1:
        raise TilewrightError(
            f"a word of {tensor.name} has {word_bits} bit, a line {memory.line_bits}; expected lines of whole words",
            where=f"{memory.name}.line",
        )
    return room


def arranged(tensor: Tensor, extents: tuple[int, ...], layout: Layout, room: int, banks: int) -> Arrangement:
    """The arrangement of a tensor in lines with room for so many words, in so many banks."""
    line, rest = _filled(layout.digits(tensor)[::-1], extents, room)
    return Arrangement(line, _spread(rest, tuple(math.ceil(n / b) for n, b in zip(extents, line, strict=True)), banks))


Digits = list[tuple[int, int | None]]


def _filled(digits: Digits, extents: tuple[int, ...], room: int) -> tuple[LineBox, Digits]:
    """What fits into a room of the digits of a layout, the innermost first: whole ones, and of the next as much as
    there is room for, of a block equal parts. And the digits that are left, less what fits of the first of them."""
    box = [1] * len(extents)
    for position, (rank, block) in enumerate(digits):
        count = block or math.ceil(extents[rank] / box[rank])
        taken = min(count, room) if block is None else max(part for part in range(1, room + 1) if count % part == 0)
        box[rank] *= taken
        room //= taken
        if taken < count:
            left = (rank, None if block is None else count // taken)
            return tuple(box), [left, *digits[position + 1 :]]
    return tuple(box), []


def _spread(digits: Digits, lines: tuple[int, ...], banks: int) -> LineBox:
    """How many neighbouring lines along each rank lie in different banks: digits that lines leave over are taken whole
    as far as there are banks, and of the next one as many as there still are. A block need not divide: the bank of a
    line is its place modulo that number, where a line has to end with its block."""
    box = [1] * len(lines)
    for rank, block in digits:
        count = block or math.ceil(lines[rank] / box[rank])
        taken = min(count, banks)
        box[rank] *= taken
        banks //= taken
        if taken < count:
            break
    return tuple(box)


def laid_out(
    arch: Architecture, memory: Memory, problem: Problem, tensor: Tensor, layout: Layout, width: int
) -> LaidOut:
    """How a tensor lies in a memory that holds its words in such a layout, and width."""
    words = arrangement(memory, problem, tensor, layout, width)
    if not tensor.is_output or memory is not arch.memories[0]:
        return LaidOut(words, words)
    return LaidOut(words, arrangement(memory, problem, tensor, layout, arch.partial_width_bits(tensor)))


def has_lines(arch: Architecture) -> bool:
    """Whether any memory of a machine has lines."""
    return any(memory.line_bits is not None for memory in arch.memories)


def packed(arch: Architecture, but: str | None = None) -> Architecture:
    """The machine without lines, but those of one memory, on which no mapping costs more: all lines are full, and no
    bank waits for another one."""
    if not has_lines(arch):
        return arch
    levels = tuple(
        level.without_lines() if isinstance(level, Memory) and level.name != but else level for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})


def refuse_lines(arch: Architecture, what: str, hint: str) -> None:
    """TilewrightError, where a machine has memories with lines, of something that counts words alone."""
    for memory in arch.memories:
        if memory.line_bits is not None:
            where = f"{arch.name}: {memory.name}.line"
            raise TilewrightError(f"{what} know no lines of memories yet", where=where, hint=hint)


Width = Callable[[Architecture, Memory, Tensor], int]
"""Bits of a word of a tensor while a memory holds it."""


def count_lines(mapping: Mapping, arch: Architecture, width: Width) -> LineCounts:
    """Lines that pass the ports of every memory that has lines.

    Raises MappingError when a node or loop stands where the architecture has no place for it, and TilewrightError where
    a line is smaller than a word.
    """
    nest, counts, boundaries = Nest.of(mapping, arch), LineCounts(), boundaries_of(mapping, arch)
    for memory in arch.memories:
        for tensor in mapping.problem.tensors if memory.line_bits is not None else ():
            layout = layout_in(memory, tensor)
            way = laid_out(arch, memory, mapping.problem, tensor, layout, width(arch, memory, tensor))
            found = count_layouts(nest, boundaries, memory, tensor, [way])
            if found is not None:
                found.put(counts, (memory.name, tensor.name), 0)
            if arch.latency == "with_fill":
                counts.first |= _first_lines(nest, boundaries, memory, tensor, way)
    return counts


def _first_lines(
    nest: Nest, boundaries: Sequence[Boundary], memory: Memory, tensor: Tensor, way: LaidOut
) -> FirstLines:
    """Lines of the first tiles that pass a memory, at the instance whose tiles touch most."""
    found: FirstLines = {}
    for boundary in (b for b in boundaries if b.tensor is tensor and b.inner is not None):
        inner = boundary.inner
        assert inner is not None
        is_outer = memory is boundary.outer
        if not is_outer and memory is not inner:
            continue
        position = boundary.outer_position if is_outer else boundary.inner_position
        joined = (boundary.reduced if tensor.is_output else boundary.multicast) if is_outer else NOTHING
        held = way.words if not tensor.is_output or may_finish(nest, position) else way.sums
        lines = LinesTouched(nest, tensor, (held,))
        places = candidates(nest, tensor, position, periods([held]))
        most = max(int(lines.passing(FIRST, Group(boundary.inner_position, joined, place))[0]) for place in places)
        found[memory.name, (inner if is_outer else boundary.outer).name, tensor.name] = most
    return found


class PortFigures(NamedTuple):
    """`Lines`, or cycles for which these keep banks busy, for several layouts: (layouts,) of each kind."""

    supplied: IntArray | int = 0
    drained: IntArray | int = 0
    collected: IntArray | int = 0
    filled: IntArray | int = 0

    def added(self, other: PortFigures) -> PortFigures:
        return PortFigures(*(a + b for a, b in zip(self, other, strict=True)))

    def most(self, other: PortFigures) -> PortFigures:
        return PortFigures(*map(np.maximum, self, other))

    def of(self, layout: int) -> Lines:
        """With one of the layouts."""
        return Lines(*(int(each[layout] if isinstance(each, np.ndarray) else each) for each in self))


@dataclass
class LayoutCounts:
    """Of one tensor in one memory, for several layouts: as `LineCounts`, and (layouts,) lines that its tile lies in."""

    total: PortFigures = PortFigures()
    busiest: PortFigures = PortFigures()
    banks: PortFigures | None = None
    held: IntArray | None = None

    def put(self, counts: LineCounts, key: tuple[str, str], layout: int) -> None:
        """Enter one of the layouts among the counts of a mapping."""
        counts.total[key], counts.busiest[key] = self.total.of(layout), self.busiest.of(layout)
        if self.banks is not None:
            counts.banks[key] = self.banks.of(layout)
        if self.held is not None:
            counts.held[key] = int(self.held[layout])


def count_layouts(
    nest: Nest, boundaries: Sequence[Boundary], memory: Memory, tensor: Tensor, ways: Sequence[LaidOut]
) -> LayoutCounts | None:
    """What passes the ports of one memory for one tensor, in several layouts; None: the memory does not have it."""
    found, (words, sums) = LayoutCounts(), zip(*ways, strict=True)
    ends = [(b, memory is b.outer) for b in boundaries if b.tensor is tensor and memory in (b.outer, b.inner)]
    for boundary, outer in ends:
        position = boundary.outer_position if outer else boundary.inner_position
        places = candidates(nest, tensor, position, periods({each for way in ways for each in way}))
        lines = _End(boundary, outer, LinesTouched(nest, tensor, words), LinesTouched(nest, tensor, sums))
        total = lines.passing(ALL)
        found.total = found.total.added(total)
        found.busiest = found.busiest.added(total if list(places) == [ALL] else lines.busiest(places))
        if memory.banks is not None:
            ports = memory.bank_ports
            apart = (BankCycles(nest, tensor, each, ports) for each in (words, sums))
            banks = _End(boundary, outer, *apart)
            found.banks = (found.banks or PortFigures()).added(banks.busiest(places))
        found.held = _most_held(nest, tensor, position, words)
    return found if ends else None


@dataclass(frozen=True)
class _End:
    """What passes at one end of a boundary, as words are held and as sums are."""

    boundary: Boundary
    outer: bool
    words: Transfers
    sums: Transfers

    def busiest(self, places: Sequence[Place]) -> PortFigures:
        """At the busiest instance of each kind, which is one of these."""
        first, *others = (self.passing(place) for place in places)
        for other in others:
            first = first.most(other)
        return first

    def passing(self, only: Place) -> PortFigures:
        """At all instances, or one of them."""
        boundary = self.boundary
        if not self.outer:
            group = Group(boundary.inner_position, NOTHING, only)
            if boundary.tensor.is_output:
                return self._sums_inside(group)
            return PortFigures(filled=self._moved(self.words, group))
        if boundary.tensor.is_output:
            return self._sums_outside(Group(boundary.inner_position, boundary.reduced, only))
        group = Group(boundary.inner_position, boundary.multicast, only)
        return PortFigures(supplied=self._moved(self.words, group))

    def _moved(self, transfers: Transfers, group: Group) -> IntArray:
        inner = self.boundary.inner
        if inner is None:
            return transfers.passing(EVERY, group)
        return moved(transfers, "none" if self.boundary.tensor.is_output else inner.halo, group)

    def _sums_outside(self, group: Group) -> PortFigures:
        """Every arrival is written; and read first, but the first arrival of its tile. Finished words, which arrive
        last, are held in their own width."""
        arch, position = self.sums.nest.arch, self.boundary.outer_position
        arrivals, first = self._moved(self.sums, group), self.sums.first(group, position)
        supplied = sums_inwards(arch, arrivals, first)
        if self.words != self.sums and may_finish(self.sums.nest, position):
            arrivals = arrivals - first + self.words.first(group, position)
        return PortFigures(supplied=supplied, collected=arrivals)

    def _sums_inside(self, group: Group) -> PortFigures:
        """Every visit leaves; and comes, but the first one of its tile."""
        arch = self.sums.nest.arch
        visits, first = self._moved(self.sums, group), self.sums.first(group, self.boundary.inner_position)
        return PortFigures(drained=sums_drained(arch, visits), filled=sums_inwards(arch, visits, first))


def _most_held(nest: Nest, tensor: Tensor, position: int, ways: Sequence[Arrangement]) -> IntArray:
    """(layouts,) lines that a tile lies in, at most."""
    found = np.ones(len(ways), dtype=np.int64)
    for r, rank in enumerate(tensor.ranks):

        def most(per_line: int, rank: Rank = rank) -> int:
            kinds = kinds_along_rank(nest, rank, EVERY, Group(position), per_line)
            return most_lines_along_rank(tuple(c for _, c in rank), kinds, nest.arch.footprint, per_line)

        found = found * np.array(once_each([way.line[r] for way in ways], most))
    return found
