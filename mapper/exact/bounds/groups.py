"""Bounds for groups of alike arrays: which tables there are, and which of them are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ...effort import EFFORT, Effort
from ..question.hierarchy import State
from ..rows import Ints
from ..tiles.lattice import Lattice
from .array_groups import ArrayGroup, from_fanout, group_key
from .bounds import Bounds

KEPT = 3
"""Tables of groups are kept for so many times the cells of the lattice that a search starts with."""


class GroupBounds:
    """Group bounds make and keep tables for groups of alike arrays, over the lattices of `Lattice.for_groups`.

    root  bounds for any arrays over the whole lattice
    """

    def __init__(self, root: Bounds, effort: Effort = EFFORT) -> None:
        self.root = root
        self.effort = effort
        self._rough: dict[int, Bounds] = {}
        self._in_use: list[Bounds] = []
        self._outside: dict[Hashable, Bounds] = {}

    def keep(self, bounds: Bounds) -> None:
        """Keep the tables of the groups that were used last, and drop those of the others."""
        if bounds is self.root:
            return
        if bounds in self._in_use:
            self._in_use.remove(bounds)
        self._in_use.append(bounds)
        while self._in_use[1:] and sum(used.cells for used in self._in_use) > KEPT * self.effort.first_cells:
            self._in_use.pop(0).forget()

    def rough(self, level: int = 0) -> Bounds:
        """Return bounds for any arrays over one of the lattices."""
        lattice = self.root.lattice.for_groups[level]
        if lattice is self.root.lattice:
            return self.root
        if level not in self._rough:
            self._rough[level] = self._over(lattice)
        return self._rough[level]

    def of(self, *groups: ArrayGroup, level: int = 0) -> Bounds:
        """Return bounds for rows with arrays of some groups only."""
        outside = [partial(self._known_outside, group, level) for group in groups]
        bounds = self._over(self.root.lattice.for_groups[level], groups, self.rough(level), outside)
        bounds.level = level
        return bounds

    def _known_outside(self, group: ArrayGroup, level: int, fanout: int) -> Bounds:
        """Return bounds where the arrays of a fanout, and of those outside it, are those of a group; many groups share
        them."""
        known = from_fanout(group, fanout, self.root.hierarchy)
        key = level, fanout, group_key(known)
        if key not in self._outside:
            outside = [partial(self._known_outside, group, level)]
            lattice = self.root.lattice.for_groups[level]
            self._outside[key] = self._over(lattice, [known], self.rough(level), outside, fanout)
        return self._outside[key]

    @property
    def at_once(self) -> int:
        """Return of how many groups tables are made together, so that these are as large as those that a search starts
        with."""
        return max(1, self.effort.first_cells // math.prod(self.root.lattice.for_groups[0].shape))

    def of_several(self, groups: Sequence[ArrayGroup], start: State) -> Iterator[Bounds]:
        """Yield bounds for several groups over the first lattice, for as many of them at once as tables may be large,
        with the tables that their first bounds take."""
        count = self.at_once
        for several in (groups[first : first + count] for first in range(0, len(groups), count)):
            bounds = self.of(*several)
            bounds.prepare(start)
            yield bounds

    def some_of(self, bounds: Bounds, members: Ints) -> Bounds:
        """Return bounds for some of the groups that were stacked, with the tables that were made first."""
        some = self.of(*(bounds.groups[member] for member in members))
        some.take_over(bounds, members)
        some.rough = bounds.rough
        return some

    def finer(self, group: Bounds) -> Bounds | None:
        """Return bounds for the same group over the next lattice; None if there is none."""
        level = group.level + 1
        return self.of(*group.groups, level=level) if level < len(self.root.lattice.for_groups) else None

    def of_one(self, group: Bounds, arrays: Sequence[Ints]) -> Bounds:
        """Return bounds for one member of a group, with its own arrays."""
        own = tuple((array[None],) for array in arrays)
        return self.of(replace(group.groups[0], arrays=own), level=group.level)

    def _over(
        self,
        lattice: Lattice,
        groups: Sequence[ArrayGroup] = (),
        alike: Bounds | None = None,
        outside: Sequence[Callable[[int], Bounds]] = (),
        since: int = 0,
    ) -> Bounds:
        root = self.root
        return Bounds(
            root.hierarchy,
            root.footprints,
            lattice,
            root.columns,
            groups,
            alike,
            outside,
            since,
            root.memo.budget,
            root.moves,
        )
