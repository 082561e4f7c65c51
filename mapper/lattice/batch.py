"""How a mapping grows: a placement, its parallel loops, and then tiles from the MACs outwards.

Outwards, because what lies further out is bounded by tables over tiles alone (`bounds.ahead`), which arrays above a
memory do not enter where there are none; inwards, every array choice would need tables of its own. What is inside is
known exactly, but for tensors that still stay: these are kept apart (`open`, and what they may save by sliding), since
loops further out may divide them.

A batch is many partial mappings of one placement that have come equally far, sorted by bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..kernel.states import Closed, OpenState
from ..kernel.tolerance import cutoff_of, is_better, is_equal
from .answers import Found
from .bounds import OpenCosts
from .columns import Columns, Flags, Floats, Ints
from .late import Settled
from .placement import MAC_LEVEL, Placement
from .space import Space
from .walks import OrderedPairs


@dataclass
class Fresh:
    """A node that begins at a step: its visits and costs if every loop moves it, what it saves by each way to slide,
    and whether it keeps overlaps at every move."""

    visits: Floats
    cost: Floats
    slides: Floats | None
    exact: bool


@dataclass
class BandPairs:
    """Pairs of partial mappings and tiles, and what is known before the loops between have an order.

    parent  numbers of the partial mappings in `some`
    slides  per way, what may be saved
    fresh   nodes that begin at the tile, by tensor
    late    what is put right, by tensor
    """

    some: Columns
    parent: Ints
    tile: Ints
    slides: Floats
    fresh: dict[int, Fresh]
    late: dict[int, Settled]


@dataclass
class After:
    """Of one tensor after a band: what is open, where nothing has moved it, and visits of its last node."""

    open: Floats
    stays: Flags
    visits: Floats


class RowBatch(OpenState[Found]):
    """Partial mappings that have come equally far, as rows of numpy arrays, sorted by bound.

    placement  that they have in common
    depth      steps that have a tile
    bounds     of each row
    columns    what else is known of each row:
        row      choice of parallel loops
        tile     what lies inside the next band, parallel loops included
        known    costs that are certain; base: with what is open, at least
        open     per tensor, costs that loops which do not move it still divide
        slides   per way, what may be saved of these
        still    tensors that nothing has moved since their last node
        visits   per tensor, of its last node
        rest     per node with halo `exact`, visits that are not paid yet
        tiles, orders  step by step
    """

    rule = "bound"

    def __init__(self, space: Space, placement: Placement, step: int, bounds: Floats, columns: Columns) -> None:
        self.space, self.placement, self.depth, self.bounds, self.columns = space, placement, step, bounds, columns
        self.step, self.bound = step, float(bounds[0])
        self.nbytes = sum(values.nbytes for values in columns.values())

    def count_below(self, value: float) -> int:
        return int(np.searchsorted(self.bounds, value))

    def advance(self) -> Iterator[RowBatch | Closed[Found]]:
        """Hand back all but the first rows, and grow these: the next memory outwards takes a tile, and the loops
        between an order."""
        space, placement, step = self.space, self.placement, self.step
        below = self.count_below(space.best.cutoff)
        n = min(below, space.at_once[step])
        if n < below:
            yield RowBatch(space, placement, step, self.bounds[n:below], _taken(self.columns, slice(n, below)))
        space.pruned["bound"] += len(self.bounds) - below
        some = {**_taken(self.columns, slice(0, n)), "bound": self.bounds[:n]}
        parent, tile = self._pairs(some)
        space.adapt(step, len(parent))
        children = [child for child in self._children(some, parent, tile) if len(child[0])] if len(parent) else []
        if not children:
            return
        bound = np.concatenate([b for b, _ in children])
        columns = {name: np.concatenate([c[name] for _, c in children]) for name in children[0][1]}
        order = np.argsort(bound, kind="stable")
        if step == placement.last:
            yield from self._complete(bound[order], _taken(columns, order))
        else:
            yield from self._grown(bound[order], _taken(columns, order))

    def _grown(self, bound: Floats, columns: Columns) -> Iterator[RowBatch]:
        """The state of rows, sorted by bound, that have one more tile, without those that others stand for."""
        kept = self.space.standing.keep(self.placement, self.step + 1, bound, columns)
        self.space.pruned["stood for"] += len(bound) - len(kept)
        if len(kept):
            yield RowBatch(self.space, self.placement, self.step + 1, bound[kept], _taken(columns, kept))

    def _complete(self, bound: Floats, columns: Columns) -> Iterator[Closed[Found]]:
        """The best of complete rows; where every loop counts, bounds are no values, and all that may be better are
        evaluated."""
        space, cutoff = self.space, self.space.best.cutoff
        for i, least in enumerate(bound.tolist()):
            if least >= cutoff:
                space.pruned["bound"] += len(bound) - i
                return
            row = {name: values[i] for name, values in columns.items()}
            if not space.exact.nodes(self.placement):
                found = space.told(self.placement, row)
                assert is_equal(found.value, least), f"{found.value} was counted as {least}:\n{found.mapping.nest}"
                yield Closed(found.value, found)
                return
            found = self._best_order(least, row)
            assert not is_better(found.value, least), f"{found.value} was bounded by {least}:\n{found.mapping.nest}"
            cutoff = min(cutoff, cutoff_of(found.value))
            yield Closed(found.value, found)

    def _best_order(self, bound: float, row: Columns) -> Found:
        """A complete mapping where every loop counts: the order found, if it costs what is bounded, else the best of
        all."""
        space = self.space
        best = space.told(self.placement, row)
        if is_better(bound, best.value):
            others = space.exact.all_orders(self.placement, row)
            every = (space.told(self.placement, {**row, "orders": orders}) for orders in others)
            best = min([best, *every], key=lambda found: found.value)
        return best

    def _children(self, some: Columns, parent: Ints, tile: Ints) -> Iterator[tuple[Floats, Columns]]:
        """TileBounds and columns of what stays below the cutoff, order by order."""
        space, placement, step = self.space, self.placement, self.step
        rows, loops = some["row"][parent], tile - some["tile"][parent]
        band = self._band(some, parent, tile)
        ahead, outside = None, tile
        if step < placement.last:
            outside = tile + space.counting.between(placement.levels[step + 1], placement.levels[step])[rows]
            ahead = self._ahead(rows, outside)
        left = space.lattice.full - tile - space.counting.between(-1, placement.levels[step])[rows]
        for walk in space.walks.of(placement, step, some, parent, loops, band.slides):
            space.means.check()
            pick = walk.pick
            known, now, columns = self._moved_on(band, walk)
            if ahead is None:
                least = base = known + np.sum(now.costs, axis=0)
            else:
                base = known + space.bounds.settled(now, left[pick])
                least = known + space.bounds.settled(now, left[pick], [kind[pick] for kind in ahead])
            bound = np.maximum(space.value(rows[pick], least), some["bound"][parent[pick]])
            below = bound < space.best.cutoff
            space.pruned["bound"] += int(np.count_nonzero(~below))
            columns |= {"row": rows[pick], "tile": outside[pick], "known": known, "base": base}
            yield bound[below], _taken(columns, np.flatnonzero(below))

    def _band(self, some: Columns, parent: Ints, tile: Ints) -> BandPairs:
        """What is known of pairs before the loops between have an order."""
        late: dict[int, Settled] = {}
        if not self.placement.counts_every_loop:
            late = self.space.late.settle(self.placement, self.step, some, parent, tile)
        slides = some["slides"][parent]
        for settled in late.values():
            slides = slides + settled.slides
        return BandPairs(some, parent, tile, slides, self._fresh(tile, some["row"][parent]), late)

    def _fresh(self, tile: Ints, rows: Ints) -> dict[int, Fresh]:
        """tensor -> the node that begins at a step."""
        space, placement = self.space, self.placement
        found: dict[int, Fresh] = {}
        for b in placement.nodes[self.step]:
            visits, cost, share = space.counting.node(placement, b, tile, rows)
            slides = None
            if space.halo.is_slider(b):
                slides = space.halo.node(placement, self.step, b, tile, rows, visits, share)
            found[b.tensor] = Fresh(visits, cost, slides, space.exact.is_exact(b))
        return found

    def _moved_on(self, band: BandPairs, walk: OrderedPairs) -> tuple[Floats, OpenCosts, Columns]:
        """What is known, and what is open, after the loops of a band in some order."""
        space, placement, step, pick = self.space, self.placement, self.step, walk.pick
        some, which = band.some, band.parent[walk.pick]
        known = some["known"][which] + walk.paid
        after = [self._tensor_moved_on(t, band, walk, known) for t in range(len(space.q.tensors))]
        grown = self._slides_moved_on(band, walk)
        costs = [each.open for each in after]
        columns = {
            "open": np.stack(costs, 1),
            "slides": grown,
            "still": np.stack([each.stays for each in after], 1),
            "visits": np.stack([each.visits for each in after], 1),
            "rest": some["rest"][which] if walk.rest is None else walk.rest[pick],
            "tiles": np.column_stack([some["tiles"][which], band.tile[pick]]),
            "orders": np.column_stack([some["orders"][which], walk.number]),
        }
        if placement.counts_every_loop:
            others = self._at_every_move(some["row"][which], columns, band.fresh, pick, known, costs)
            costs = [*costs, others]
        return known, OpenCosts(placement, costs, grown, placement.zones[step] if step < placement.last else 0), columns

    def _tensor_moved_on(self, t: int, band: BandPairs, walk: OrderedPairs, known: Floats) -> After:
        """What is open of one tensor; what late windows cost that are settled is added to what is known."""
        pick, which = walk.pick, band.parent[walk.pick]
        still = band.some["still"][which, t]
        factor = np.where(still, walk.stays[t][pick], 1.0)
        stays = still & ~walk.moved[t][pick]
        cost = band.some["open"][which, t] * (stays / factor)[:, None]
        visits = band.some["visits"][which, t] / factor
        if t in band.late:
            more = visits[:, None] * band.late[t].open[pick]
            known += more * ~stays[:, None] + band.late[t].known[pick]
            cost = cost + more * stays[:, None]
        if t in band.fresh:
            fresh = band.fresh[t]
            visits = fresh.visits[pick]
            if not fresh.exact:
                cost, stays = cost + fresh.cost[pick], np.ones(len(pick), bool)
        return After(cost, stays, visits)

    def _slides_moved_on(self, band: BandPairs, walk: OrderedPairs) -> Floats:
        """What may still be saved, way by way."""
        pick, which = walk.pick, band.parent[walk.pick]
        grown = np.zeros((len(pick), *band.slides.shape[1:]))
        for w, (t, _, _) in enumerate(self.space.halo.ways(self.placement)):
            still = band.some["still"][which, t]
            part = (still & ~walk.moved[t][pick]) / np.where(still, walk.stays[t][pick], 1.0)
            grown[:, w] = band.slides[pick, w] * part[:, None]
        for fresh in band.fresh.values():
            if fresh.slides is not None:
                grown += fresh.slides[pick]
        return grown

    def _at_every_move(
        self, rows: Ints, columns: Columns, fresh: dict[int, Fresh], pick: Ints, known: Floats, costs: list[Floats]
    ) -> Floats:
        """What nodes with halo `exact` cost at least that have moved; the rest is added to what is known, and open."""
        space, placement, rest = self.space, self.placement, columns["rest"]
        for e, (own, b) in enumerate(space.exact.nodes(placement)):
            if own == self.step:
                rest[:, e] = fresh[b.tensor].visits[pick]
        tiles = list(columns["tiles"].T)
        known += space.exact.ended(placement, rows, tiles, rest, known.shape[1])
        waiting, others = space.exact.least(placement, rows, tiles, rest, known.shape[1])
        for t, least in waiting.items():
            costs[t] = costs[t] + least
        return others

    def _pairs(self, some: Columns) -> tuple[Ints, Ints]:
        """Every partial mapping with every tile that holds its own, fits, leaves
        room for the arrays above, and is not known to be too dear by what is known of both apart."""
        space, lattice, step, placement = self.space, self.space.lattice, self.step, self.placement
        rows, tiles = some["row"], some["tile"]
        if step == placement.last:
            return np.arange(len(rows)), np.full(len(rows), lattice.full)
        held_by = [space.bounds.holding(placement.steps[step], tile) for tile in tiles.tolist()]
        space.means.check_numbers(sum(map(len, held_by)))
        parent, own = np.repeat(np.arange(len(rows)), [len(each) for each in held_by]), np.concatenate(held_by)
        keep = lattice.divides(own, space.counting.between(-1, placement.levels[step])[rows[parent]])
        parent, own = self._needed(some, parent[keep], own[keep])
        if step:
            here = space.bounds.best_ahead(placement, step, rows[parent], own)
            below = space.value(rows[parent], some["base"][parent] + here) < space.best.cutoff
            parent, own = parent[below], own[below]
        return parent, own

    def _needed(self, some: Columns, parent: Ints, tile: Ints) -> tuple[Ints, Ints]:
        """Without pairs that have a loop which may as well stand further out (`Placement.free`): nothing stays over
        it."""
        counting = self.space.counting
        for d in self.placement.free(self.step):
            over = [t for t, dims in enumerate(counting.still) if d in dims]
            along = [t for t, dims in counting.slides.items() if d in dims]
            stays = np.asarray(some["still"][:, sorted({*over, *along})].any(1))
            extent = counting.lattice.extent[d]
            keep = stays[parent] | (extent[tile] == extent[some["tile"][parent]])
            parent, tile = parent[keep], tile[keep]
        return parent, tile

    def _ahead(self, rows: Ints, outside: Ints) -> list[Floats]:
        """What is ahead of every row, from the next step on, by kind of first loop; `outside`: what lies inside the
        loops below that step."""
        space, bounds, step = self.space, self.space.bounds, self.step + 1
        key = bounds.key(self.placement, step)
        if not key:
            return [kind[outside] for kind in bounds.ahead(self.placement, step, int(rows[0]))[1]]
        out = [np.empty((len(rows), 1 + len(space.q.columns))) for _ in range(len(bounds.first_loops) + 1)]
        for pick in bounds.alike(key, rows):
            tables = bounds.ahead(self.placement, step, int(rows[pick[0]]))[1]
            for values, table in zip(out, tables, strict=True):
                values[pick] = table[outside[pick]]
        return out


def root(space: Space, placement: Placement) -> RowBatch:
    """A placement with all choices of arrays: an instance is given each word once at least that it ever works on."""
    counting = space.counting
    every = np.arange(len(space.arrays.total))
    known = counting.constants(placement)
    bound = space.value(every, known + space.bounds.compulsory(placement))
    order = np.argsort(bound, kind="stable")
    n, tensors, columns = len(every), len(space.q.tensors), known.shape[1]
    start = {
        "row": every,
        "tile": counting.between(placement.levels[0], MAC_LEVEL),
        "known": known,
        "open": np.zeros((n, tensors, columns)),
        "slides": np.zeros((n, len(space.halo.ways(placement)), columns)),
        "still": np.zeros((n, tensors), bool),
        "visits": np.full((n, tensors), float(space.q.macs)),
        "rest": np.zeros((n, len(space.exact.nodes(placement)))),
        "tiles": np.zeros((n, 0), np.int64),
        "orders": np.zeros((n, 0), np.int64),
    }
    return RowBatch(space, placement, 0, bound[order], _taken(start, order))


def _taken(columns: Columns, pick: Ints | slice) -> Columns:
    return {name: values[pick] for name, values in columns.items()}
