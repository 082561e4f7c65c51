"""Tables for single choices of arrays, and for groups of them: whether a search should begin again with them, which
choice is in work, and whether rough groups come first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....ir import Mapping
from ...kernel.frontier import Frontier
from ..bounds.bounds import Bounds
from ..growing.array_choices import ArrayChoices
from ..growing.batch import Batch
from ..growing.context import SearchContext
from ..growing.fanouts import gained_alone


@dataclass
class OwnTablesAsked:
    """Tells when a search begins again with tables for every choice of arrays, or for every group of alike ones."""

    context: SearchContext
    frontier: Frontier[Mapping]
    _asked_at: int = 0
    _choices: int = 0
    _some: Batch | None = None

    def note(self, started: ArrayChoices | Batch) -> None:
        """Note choices of arrays that are open."""
        if isinstance(started, Batch) and len(started):
            self._choices += len(started)
            if self._some is None:
                self._some = started.take(np.arange(min(len(started), self.context.effort.few)))

    def pay(self) -> bool:
        """Tell whether it is time for tables of every choice of arrays: many rows have been looked at, and there was no
        memory for all that is open without such tables, or they raise bounds much.

        Asked for some choices, the coarsest ones do, which cost least; or, where choices are so few that all their
        tables are made in less time than has been spent, those that rows grow with. That is asked again when twice as
        many rows have been looked at; not where bounds are near the cutoff already, for how much has to be made.
        """
        effort, looked_at, cutoff = self.context.effort, self.context.looked_at, self.frontier.best.cutoff
        if looked_at <= effort.rows_before_own_tables or self._some is None or cutoff == np.inf:
            return False
        if self.frontier.let_go < cutoff:
            return True
        few = self._choices * effort.first_cells <= looked_at
        near = effort.near_enough if few else effort.near
        return self._is_time(near) and self._gain((0, self.context.own_level) if few else (0,))

    def pay_in_groups(self) -> bool:
        """Tell whether tables for every group of alike arrays, made before anything grows from these, raise bounds
        much: first steps of rows may make few others, of which ever more grow later."""
        effort, looked_at = self.context.effort, self.context.looked_at
        if looked_at <= effort.rows_before_groups or self._some is None:
            return False
        return self.frontier.best.cutoff < np.inf and self._is_time(effort.near_enough) and self._gain((0,))

    def _is_time(self, near: float) -> bool:
        """Tell whether to ask what tables say: again when twice as many rows have been looked at, and only where bounds
        are not near the cutoff."""
        looked_at = self.context.looked_at
        if looked_at < 2 * self._asked_at or self.frontier.bound > (1 - near) * self.frontier.best.cutoff:
            return False
        self._asked_at = looked_at
        return True

    def _gain(self, levels: Sequence[int]) -> bool:
        """Tell whether tables of some choices raise bounds much, over one of the lattices for groups of arrays."""
        assert self._some is not None
        cutoff, least = self.frontier.best.cutoff, self.context.effort.least_own_gain
        some = self._some.take(slice(int(np.searchsorted(self._some.bound, cutoff))))
        return bool(len(some)) and any(gained_alone(self.context, some, cutoff, level) >= least for level in levels)


@dataclass
class ArrayTurns:
    """Choices of arrays with tables of their own take turns: the rows of the choice in work, whose tables are there,
    come before all others; after many rows the lowest bound of all goes on."""

    context: SearchContext
    frontier: Frontier[Mapping]
    _begun_at: int = 0
    _end_at: int = 0
    _finer: dict[Bounds, Bounds] = field(default_factory=dict)

    def begin(self, bounds: Bounds) -> None:
        """Work on the choice that has some bounds."""
        self._focus_on(bounds)
        self._end_at = self.context.looked_at + self.context.effort.rows_before_own_tables

    @property
    def is_over(self) -> bool:
        """Tell whether the choice in work has had its rows."""
        return self.frontier.focus is not None and self.context.looked_at > self._end_at

    def latest(self, bounds: Bounds) -> Bounds:
        """Return the bounds that have taken the place of some: finer ones are made, while there is room, for the choice
        in work when many of its rows have been looked at."""
        if bounds is self.frontier.focus and self.context.wants_finer(bounds, self._begun_at):
            finer = bounds.finer(bounds.affordable_alone)
            if finer is not None:
                self._finer[bounds] = finer
                self._focus_on(finer)
        while bounds in self._finer:
            bounds = self._finer[bounds]
        return bounds

    def _focus_on(self, bounds: Bounds) -> None:
        self.frontier.focus, self._begun_at = bounds, self.context.looked_at


@dataclass
class RoughGroups:
    """Tells whether arrays get tables in a few large groups first (`growing/fanouts.py`): by how many groups were left
    to make tables for after those so far."""

    _groups: int = 0
    _left: int = 0

    def pay(self, rough: int, groups: int, at_once: int) -> bool:
        """Tell whether fewer tables are made in all if rough groups come first, going by those so far.

        at_once  groups whose tables are made together
        """
        left = self._left / self._groups if self._groups else 0.5
        return math.ceil(rough / at_once) + math.ceil(left * groups / at_once) < math.ceil(groups / at_once)

    def note(self, groups: int, left: int) -> None:
        """Note how many of some groups tables for rough groups have left."""
        self._groups, self._left = self._groups + groups, self._left + left
