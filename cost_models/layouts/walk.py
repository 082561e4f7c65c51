"""What lines mean: a walk over every access of a mapping that lays its words into lines, one by one.

The definition that `counts.py` has the closed form of. What an instance reads, or writes, at once touches each line
that holds a word of it once; a line is not kept for the next time.
"""

from __future__ import annotations

import itertools
from collections.abc import Set

from ...arch import Architecture
from ...ir import Mapping, Problem, Tensor
from ..simulator import Coordinates, Element, Walk
from .counts import LineAccesses, LineCounts, line_room
from .layout import Layout, shape_of
from .parsing import Layouts

Places = dict[Element, tuple[int, int]]
"""The line of each word, and its place in the line."""


def words_in_lines(layout: Layout, shape: tuple[int, ...], room: int) -> Places:
    """All words of a tensor, one after the other as they lie, into lines with room for so many.

    The words of the innermost digits that fit whole stay together, and as many steps of the next digit as there is room
    for; then a new line begins.
    """
    extents = layout.extents(shape)
    inside, together = len(extents), 1
    while inside and together * extents[inside - 1] <= room:
        inside -= 1
        together *= extents[inside]
    found: Places = {}
    line, used = -1, room
    for outer in itertools.product(*map(range, extents[:inside])):
        starts = not outer or outer[-1] == 0
        if starts or used + together > room:
            line, used = line + 1, 0
        for inner in itertools.product(*map(range, extents[inside:])):
            index = _index(layout, (*outer, *inner), extents, len(shape))
            if all(i < size for i, size in zip(index, shape, strict=True)):
                found[index] = line, used
            used += 1
    return found


def _index(layout: Layout, values: tuple[int, ...], extents: tuple[int, ...], ranks: int) -> Element:
    index = [0] * ranks
    for digit, value, extent in zip(layout.digits, values, extents, strict=True):
        index[digit.rank] = index[digit.rank] * extent + value
    return tuple(index)


class LineWalk(Walk):
    """A walk that counts the lines that words lie in."""

    def __init__(self, mapping: Mapping, arch: Architecture, layouts: Layouts) -> None:
        super().__init__(mapping, arch)
        self.places = {key: _places(mapping.problem, arch, *key, layout) for key, layout in layouts.items()}
        self.lines: dict[tuple[str, str, Coordinates], LineAccesses] = {}

    def passes(self, memory: str, tensor: Tensor, instance: Coordinates, elements: Set[Element], write: bool) -> None:
        places = self.places.get((memory, tensor.name))
        if places is not None:
            touched = len({places[element][0] for element in elements})
            account = self.lines.setdefault((memory, tensor.name, instance), LineAccesses())
            account.reads += 0 if write else touched
            account.writes += touched if write else 0

    def line_counts(self) -> LineCounts:
        """Lines of all instances, and of the busiest one."""
        counts = LineCounts()
        for (memory, tensor, _), lines in self.lines.items():
            total, busiest = (
                table.setdefault((memory, tensor), LineAccesses()) for table in (counts.total, counts.busiest)
            )
            total.reads, total.writes = total.reads + lines.reads, total.writes + lines.writes
            busiest.reads, busiest.writes = max(busiest.reads, lines.reads), max(busiest.writes, lines.writes)
        return counts


def _places(problem: Problem, arch: Architecture, memory: str, name: str, layout: Layout) -> Places:
    tensor = problem.tensor(name)
    level = next(each for each in arch.memories if each.name == memory)
    return words_in_lines(layout, shape_of(tensor, problem), line_room(arch, level, tensor))


def walk_lines(mapping: Mapping, arch: Architecture, layouts: Layouts) -> LineCounts:
    """Walk a mapping, tile by tile, and count the lines that every memory reads and writes.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    walk = LineWalk(mapping, arch, layouts)
    walk.run()
    return walk.line_counts()
