"""Exploring the open partial mappings: which rows are grown next, how many at once, and when better bounds are made.

All of that decides the time that a search takes, never its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ....ir import Mapping
from ...effort import AT_ONCE, Effort
from ...kernel.best_first import BestFirst
from ..bounds.bounds import Bounds
from ..growing.array_choices import ArrayChoices, ArrayPlans
from ..growing.batch import Batch
from ..growing.context import SearchContext
from ..growing.fanouts import (
    bounded_alone,
    bounded_by_groups,
    finer,
    groups_of,
    pass_fanout,
    rebounded,
    rough_groups_of,
    settled,
)
from ..growing.known_rows import KnownRows
from ..growing.loops import expand_loops
from ..growing.placements import OpenPlacement, Placements
from ..rows import Ints
from .finishing import Finishing
from .found import BestFound
from .open_items import Grown, Open, OpenItem
from .own_tables import ArrayTurns, OwnTablesAsked, RoughGroups


@dataclass
class Exploring:
    """The work of one search, from placements to complete rows.

    search  the loop that does it
    grouping_pays  whether tables for groups of alike arrays are made before anything grows from these
    """

    context: SearchContext
    placements: Placements
    plans: ArrayPlans
    search: BestFirst[Mapping]
    finishing: Finishing
    grouping_pays: bool = False
    _later_dives: int = 0
    _steps: int = 0
    _next_dive: int = 1
    _wait: int = 1
    _grouped: int = 0
    _gain: float = 0.0
    _made: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.own_tables = OwnTablesAsked(self.context, self.search.frontier)
        self.turns = ArrayTurns(self.context, self.search.frontier)
        self.known = KnownRows(self.context)
        self._roughly = RoughGroups()

    @property
    def _effort(self) -> Effort:
        return self.context.effort

    def start(self) -> None:
        """Put all placements into the queue."""
        root = self.placements.root()
        self.search.add([self._open(self.placements.bound(root), root)])

    def by_arrays(self, search: BestFirst[Mapping]) -> Exploring:
        """Begin the same work again, with tables for every choice of arrays; those for any arrays are kept."""
        self.context.own_tables = True
        begun = Exploring(self.context, self.placements, self.plans, search, self.finishing)
        begun.start()
        return begun

    def by_groups(self, search: BestFirst[Mapping]) -> Exploring:
        """Begin the same work again, with tables for groups of alike arrays before anything grows from these."""
        begun = Exploring(self.context, self.placements, self.plans, search, self.finishing, grouping_pays=True)
        begun.start()
        return begun

    def dive_first(self) -> Grown:
        """Dive into the most promising placement."""
        placement = self._first_placement()
        if placement is None:
            return
        started = self.plans.start(placement.chains, self._cutoff)
        yield from self._dive_into(started)

    def _first_placement(self) -> OpenPlacement | None:
        """Decide the most promising placement step by step, each time by the lowest bound; None if there is none."""
        choice = self.placements.root()
        while not self.placements.is_complete(choice):
            further = list(self.placements.further(choice))
            if not further:
                return None
            choice = min(further, key=lambda way: way[0])[1]
        return choice

    def work_on(self, state: OpenItem) -> Grown:
        """Go on with a placement or with choices of arrays; or grow the best rows of a batch by one step, or evaluate
        them where none is left."""
        item = state.item
        if isinstance(item, OpenPlacement):
            yield from self._decide_placement(item, state.bound)
        elif isinstance(item, ArrayChoices):
            yield from self._decide_arrays(item)
        else:
            yield from self._work_on_batch(item)

    def _open(self, bound: float, item: Open) -> OpenItem:
        return OpenItem(bound, item, self.work_on)

    def _rows(self, rows: ArrayChoices | Batch) -> Grown:
        """Yield rows, if there are any, at the bound of the first."""
        if len(rows):
            yield self._open(float(rows.bound[0]), rows)

    def _decide_placement(self, item: OpenPlacement, least: float) -> Grown:
        if not self.placements.is_complete(item):
            for bound, further in self.placements.further(item):
                yield self._open(bound, further)
        elif not item.sharp:
            sharp = max(least, self.plans.first_bound(item.chains))
            yield self._open(sharp, replace(item, sharp=True))
        else:
            yield from self._started(self.plans.start(item.chains, self._cutoff))

    def _decide_arrays(self, choices: ArrayChoices) -> Grown:
        count = self.plans.at_once(choices)
        yield from self._rows(choices.take(slice(count, None)))
        for further in self.plans.further(choices.take(slice(count)), self._cutoff):
            yield from self._started(further)

    def _started(self, started: ArrayChoices | Batch) -> Grown:
        self.own_tables.note(started)
        yield from self._rows(started)

    def _work_on_batch(self, item: Batch) -> Grown:
        if self.turns.is_over:
            self.search.frontier.look_away()
            yield from self._rows(item)
            return
        if self.context.own_tables and self.search.frontier.focus is None and not _undecided(item):
            self.turns.begin(item.bounds)
        latest = self._latest_bounds(item)
        if not item.complete and latest is not item.bounds:
            yield from self._rows(rebounded(self.context, item, latest, self._cutoff))
        else:
            self.context.groups.keep(item.bounds)
            yield from self._work_on_rows(item)

    def _work_on_rows(self, item: Batch) -> Grown:
        """Settle, evaluate, rebound or grow the rows of a batch whose bounds are the latest."""
        if item.unsettled:
            head, rest = self._parted(item, self._effort.some)
            yield from self._rows(rest)
            yield from self._rows(settled(self.context, head, self._cutoff))
        elif item.complete:
            yield from self.finishing.finish(item)
        elif self.context.own_tables and _undecided(item):
            yield from self._alone(item)
        elif self._groups_first and _undecided(item) and not self._is_bounded_best(item):
            yield from self._refine(item)
        elif self.context.tiling == "perfect" and item.bounds.level >= 0 and _undecided(item):
            # Only now, when nothing open has a lower bound, is the best array known: a dive any earlier mostly misses.
            yield from self._dive_again([item])
            yield from self._grow_below_cutoff(item)
        elif self.context.hierarchy.at_fanout(item.state):
            yield from self._rows(self._at_loops(item))
        else:
            yield from self._grow(item)

    def _latest_bounds(self, item: Batch) -> Bounds:
        """Return the bounds that have taken the place of those of a batch, or these."""
        if not self.context.own_tables:
            return item.bounds if item.bounds.level >= 0 else self.context.bounds
        return self.turns.latest(item.bounds)

    # ---- steps ---------------------------------------------------------------------------------------------

    @property
    def best(self) -> BestFound:
        """What has been found."""
        return self.finishing.best

    @property
    def _cutoff(self) -> float:
        return self.best.cutoff

    def _at_loops(self, batch: Batch) -> Batch:
        """Pass all fanouts that come next."""
        while len(batch) and self.context.hierarchy.at_fanout(batch.state):
            batch = pass_fanout(self.context, batch, self._cutoff)
        return batch

    def _expand(self, batch: Batch, below: float | None = None) -> Iterator[Batch]:
        """Grow the rows of a batch by one step, and yield what stays below the cutoff, or below something lower."""
        for grown in expand_loops(self.context, batch, self._cutoff if below is None else below):
            yield self._at_loops(grown)

    def _dive_into(self, started: ArrayChoices | Batch) -> Grown:
        """Dive from the best choices of arrays."""
        while isinstance(started, ArrayChoices) and len(started):
            further = [f for f in self.plans.further(started.take(slice(1)), self._cutoff) if len(f)]
            if not further:
                return
            started = min(further, key=lambda each: float(each.bound[0]))
        if isinstance(started, Batch):
            yield from self._dive(started)

    def _dive(self, batch: Batch) -> Grown:
        """Look for one good mapping, so that bounds have something to be compared with."""
        batch = self._at_loops(batch)
        while len(batch) and not batch.complete:
            batch = self._deeper(batch.take(slice(self._effort.few)))
        yield from self.finishing.finish(batch.take(slice(1)))

    def _deeper(self, batch: Batch) -> Batch:
        """Return the best rows after one more step; none, if nothing stays below the cutoff. What costs hardly more
        than the best row is looked at first: of all that stays below the cutoff, there may be very many."""
        least = float(batch.bound[0])
        for below in (min((1 + self._effort.near) * least, self._cutoff), self._cutoff):
            grown = [each.take(slice(self._effort.few)) for each in self._expand(batch, below) if len(each)]
            if grown:
                return min(grown, key=lambda each: float(each.bound[0]))
            if below == self._cutoff:
                break
        return batch.take(slice(0))

    def _grow_below_cutoff(self, batch: Batch) -> Grown:
        """Grow the best rows that a lower cutoff has left."""
        left = batch.take(slice(int(np.searchsorted(batch.bound, self._cutoff))))
        if len(left):
            yield from self._grow(left)

    def _grow(self, batch: Batch) -> Grown:
        """Grow the best rows of a batch by one step. What grows is queued as soon as it takes much room."""
        if self.context.hierarchy.at_fanout(batch.state):
            yield from self._rows(self._at_loops(batch))
            return
        head, rest = self._parted(batch, self._rows_at_once(batch))
        yield from self._rows(rest)
        self._steps += 1
        before, made = self.context.looked_at, 0
        waiting: list[Batch] = []
        best: list[Batch] = []
        for grown in self._expand(head):
            made += len(grown)
            waiting.append(grown)
            best = _lowest([*best, grown.take(slice(self._effort.few))])
            if made > self.context.rows_at_once:
                yield from self._grown(waiting)
                waiting = []
        self._measure(head, self.context.looked_at - before + made)
        if made <= self.context.rows_at_once and self._pays_to_group(head, made):
            self.grouping_pays = True
            yield from self._group(head)
            return
        yield from self._grown(waiting)
        if self.context.tiling == "ragged" and _undecided(head):
            yield from self._dive_again(best)
        elif self._steps >= self._next_dive:
            yield from self._dive_from(best)

    def _grown(self, grown: list[Batch]) -> Grown:
        for batch in grown:
            if batch.complete:  # what is complete may lower the cutoff at once
                yield from self.finishing.finish(batch.take(slice(1)))
            yield from self._rows(self.known.new_ones(batch))

    def _schedule(self, gained: bool) -> None:
        """Dive again at the next step while that gains, and less and less often while it does not."""
        self._wait = 1 if gained else min(2 * self._wait, self._effort.few)
        self._next_dive = self._steps + self._wait

    def _parted(self, batch: Batch, count: int) -> tuple[Batch, Batch]:
        """Part the best rows of a batch from the others."""
        rest = batch.take(slice(count, None))
        whole = rest.bound.base
        if whole is not None and len(whole) > 2 * len(rest):  # no longer worth keeping all of them for
            rest = rest.take(np.arange(len(rest)))
        return batch.take(slice(count)), rest

    def _rows_at_once(self, batch: Batch) -> int:
        """Return how many rows are grown together: as many as make about so many others as there is room for, by what
        rows like them have made. Each step grows a few more than the one before, since a search that has not ended yet
        may go on for long. A ragged search starts from the best perfect mapping, so that most rows have to be looked at
        in any case."""
        depth = batch.depth
        if depth not in self._made:
            return self._effort.few
        each = self._made[depth]
        near = batch.bound[0] + self._effort.near * (min(self._cutoff, batch.bound[-1]) - batch.bound[0])
        is_ragged = self.context.tiling == "ragged"
        more = self._effort.many if is_ragged else min(self._effort.few * (1 + self._steps), self._effort.many)
        alike = max(more, int(np.searchsorted(batch.bound, near, side="right")))
        made = self.context.pairs_at_once if is_ragged and _undecided(batch) else AT_ONCE
        return min(alike, max(1, int(made / (each + 1))))

    def _measure(self, head: Batch, looked_at: int) -> None:
        """Remember how many others some rows made, pruned at once or not."""
        each, depth = looked_at / len(head), head.depth
        self._made[depth] = max(each, self._made.get(depth, each) * 0.8)

    # ---- better bounds for alike arrays --------------------------------------------------------------------

    def _is_bounded_best(self, batch: Batch) -> bool:
        """Tell whether there are no better bounds for rows of which only the arrays are decided."""
        bounds = batch.bounds
        best = bounds.level == len(self.context.bounds.lattice.for_groups) - 1
        return bounds.settled or (best and not bounds.rough)

    def _pays_to_group(self, head: Batch, made: int) -> bool:
        """Tell whether rows of which only the arrays are decided grew to so many that tables for each group of arrays,
        which bound them better, are made in less time than it takes to look at them all."""
        if self.context.tiling == "ragged" or self.context.hierarchy.space == "uneven" or self._grouping_adds_little:
            return False
        if not _undecided(head) or head.bounds.level >= 0:
            return False
        return made > self._effort.some * len(groups_of(self.context, head))

    @property
    def _groups_first(self) -> bool:
        """Tell whether tables for groups of alike arrays pay before anything grows from these."""
        if self.context.tiling == "ragged":
            return self._made.get(0, 0.0) > self._effort.rows_before_groups
        wanted = self.context.hierarchy.space == "uneven" or self.grouping_pays
        return wanted and not self._grouping_adds_little

    @property
    def _grouping_adds_little(self) -> bool:
        """Tell whether tables for groups have not raised bounds much, so that rows are better grown many at a time."""
        enough = self._grouped >= self._effort.few
        return enough and self._gain < self._effort.least_gain * self._grouped

    def _measure_gain(self, batch: Batch, bounded: list[Batch], groups: int) -> None:
        """Remember by which part of the way to the cutoff tables for some groups have raised the bounds of rows."""
        wanted = float((self._cutoff - batch.bound).sum())
        if 0 < wanted < float("inf"):
            left = sum(float((self._cutoff - grown.bound).sum()) for grown in bounded)
            self._grouped += groups
            self._gain += groups * (1 - left / wanted)

    def _alone(self, batch: Batch) -> Grown:
        """Give the best rows of arrays tables of their own, and finer ones after that; and grow a row that has them,
        with all that grows from it, before any other: its tables are there now."""
        if batch.bounds.level == self.context.own_level:
            self.turns.begin(batch.bounds)
            yield from self._dive_from([batch])
            yield from self._grow_below_cutoff(batch)
            return
        head, rest = self._parted(batch, self._effort.few)
        yield from self._rows(rest)
        bounded = list(bounded_alone(self.context, head, self._cutoff))
        for row in bounded:
            yield from self._rows(row)
        self._steps += 1
        if self._steps >= self._next_dive:
            yield from self._dive_from(bounded)

    def _refine(self, batch: Batch) -> Grown:
        """Give better bounds to the best rows of a batch of arrays."""
        if batch.bounds.level < 0 and self.context.tiling == "ragged":
            head, rest = self._parted(batch, self._effort.some)
            yield from self._rows(rest)
            yield from self._group(head)
        elif batch.bounds.level < 0 or batch.bounds.rough:
            yield from self._group(batch)
        else:
            head, rest = self._parted(batch, self._effort.few)
            yield from self._rows(rest)
            yield from self._rows(finer(self.context, head, self._cutoff))

    def _group(self, batch: Batch) -> Grown:
        """Queue the rows in groups of alike arrays again, with bounds by tables of each group."""
        groups, rough = self._next_groups(batch)
        count = len(groups) if self.context.tiling == "ragged" else self.context.groups.at_once
        if groups[count:]:
            yield from self._rows(batch.take(np.sort(np.concatenate(groups[count:]))))
        bounded = list(bounded_by_groups(self.context, batch, groups[:count], self._cutoff, rough))
        for group in bounded:
            yield from self._rows(group)
        if self.context.tiling == "ragged":
            yield from self._dive_again(bounded)
            return
        head = batch.take(np.concatenate(groups[:count]))
        if rough:
            left = sum(len(groups_of(self.context, group)) for group in bounded if len(group))
            self._roughly.note(len(groups_of(self.context, head)), left)
        else:
            self._measure_gain(head, bounded, len(groups[:count]))

    def _next_groups(self, batch: Batch) -> tuple[list[Ints], bool]:
        """Return the groups of arrays that get tables next, and whether these are rough ones."""
        groups = groups_of(self.context, batch)
        if self.context.tiling == "perfect" and not batch.bounds.rough:
            rough = rough_groups_of(self.context, batch)
            if self._roughly.pay(len(rough), len(groups), self.context.groups.at_once):
                return rough, True
        return groups, False

    def _dive_again(self, batches: list[Batch]) -> Grown:
        """Dive from some batches, whose bounds are a better guide than those before them."""
        if any(map(len, batches)) and self._later_dives < self._effort.few:
            self._later_dives += 1
            yield from self._dive_from(batches)

    def _dive_from(self, batches: list[Batch]) -> Grown:
        """Dive from the best rows of some batches, unless bounds lead to what is wanted as soon."""
        if self.best.ceiling < (1 + self._effort.near) * self.search.bound:
            return
        for best in _lowest(batches):
            before = self._cutoff
            yield from self._dive(best)
            self._schedule(self._cutoff < before)


def _lowest(batches: Iterable[Batch]) -> list[Batch]:
    """Return the batch with the best row, if there is any row."""
    best = min((batch for batch in batches if len(batch)), key=lambda batch: float(batch.bound[0]), default=None)
    return [] if best is None else [best]


def _undecided(batch: Batch) -> bool:
    """Tell whether nothing but the arrays of the rows is decided."""
    return not batch.path.node_groups and not batch.path.bands and bool(batch.rows.arrays)
