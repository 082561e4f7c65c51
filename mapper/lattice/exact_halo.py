"""Halo `exact`: an input tile keeps what it still wants at every move, whichever loop makes it.

Let n_1, n_2, .. be the trips of all loops in time above a node, from the inside out. When loop l steps, all inside it
wrap, and a part g_l of the tile has to be given. Then, with P_l = n_1 .. n_(l - 1), the words that a node is given are

    visits * (sum over l of (1 - 1 / n_l) / P_l * g_l  +  1 / (n_1 n_2 ..)),

visits as if every loop moved it. g_l depends on the tile, on l, and on *which* loops stand inside l, not on their
order; it is 0 while these do not move the tensor, so that staying is a case of it. So a band is a walk through the
subsets of its loops, whose steps cost something each: the least over all orders is a walk through subsets, from none to
all (`band`), for any tensor and any halo. The least is taken column by column; for energy alone that is exact, else a
bound, and complete mappings are evaluated.

A node is *dead* when a loop inside has moved it along a dimension that is no window: then every step further out gives
it all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from .columns import Columns, Flags, Floats, Ints
from .counting import Counting
from .future import Future, overlap, span
from .halo import Halo
from .placement import MAC_LEVEL, Late, Placement, PricedBoundary


@dataclass
class Priced:
    """A node at some rows: what a visit costs inside and outside that is given whole (columns), and what else says what
    it is given.

    wraps  per dimension, how far its tile comes back when all loops in time wrap that stand above it so far
    parts  instances that are served together; None: they are torn apart, so one of them at least is given its own
    apart  what is served at least, per word that is given
    """

    tile: Ints
    inside: Floats
    outside: Floats
    wraps: list[Ints]
    parts: list[tuple[Ints, Ints]] | None
    apart: Floats

    def take(self, pick: Ints) -> Priced:
        parts = None if self.parts is None else [(own[pick], at[pick]) for own, at in self.parts]
        wraps = [wrap[pick] for wrap in self.wraps]
        return Priced(self.tile[pick], self.inside[pick], self.outside[pick], wraps, parts, self.apart[pick])


@dataclass
class NodeInside:
    """A node inside a band.

    number  among those with halo `exact`
    moving  rows in which a loop further in has moved it
    """

    number: int
    boundary: PricedBoundary
    priced: Priced
    moving: Flags


@dataclass
class BandWalk:
    """A band at some rows.

    extents  of its loops, per dimension
    start    of what lies inside it, per dimension
    closing  what tensors cost that a loop moves first
    saved    less what they save by sliding, by tensor and dimension
    rest     per node, visits that are not paid yet
    nodes    inside it
    """

    placement: Placement
    extents: list[Ints]
    start: list[Ints]
    closing: Floats
    saved: dict[tuple[int, int], Floats]
    rest: Floats
    nodes: list[NodeInside]

    def steps(self, node: Priced, within: list[int], d: int, rows: Ints) -> list[Ints]:
        """Per dimension, how far a node's tile moves when a loop steps, and all loops inside it wrap."""
        steps = [-wrap[rows] for wrap in node.wraps]
        for own in within:
            steps[own] = steps[own] - (self.start[own] * (self.extents[own] - 1))[rows]
        steps[d] = steps[d] + self.start[d][rows]
        return steps


class ExactHalo:
    """What nodes are given at every move, for one operation on one machine."""

    def __init__(self, counting: Counting, halo: Halo) -> None:
        self.counting, self.halo, self.q, self.lattice = counting, halo, counting.q, counting.lattice
        self.windows = {t: each.windows for t, each in enumerate(self.q.tensors) if each.windows and not each.output}
        self.dims = range(len(self.q.sizes))
        self.futures: dict[tuple[int, float], Future | None] = {}
        self.found: dict[Placement, list[tuple[int, PricedBoundary]]] = {}

    def nodes(self, placement: Placement) -> list[tuple[int, PricedBoundary]]:
        """The nodes that keep overlaps at every move, with their steps."""
        if placement not in self.found:
            self.found[placement] = [
                (step, b) for step, nodes in enumerate(placement.nodes) for b in nodes if self.is_exact(b)
            ]
        return self.found[placement]

    def is_exact(self, b: PricedBoundary) -> bool:
        return b.tensor in self.windows and b.inner is not None and self.q.memories[b.inner].halo == "exact"

    def priced(
        self,
        placement: Placement,
        b: PricedBoundary,
        rows: Ints,
        tiles: list[Ints],
        step: int,
        known: list[Ints] | None = None,
    ) -> Priced:
        """A node of a step, the tiles of all steps up to now; and of more, as far as these are known."""
        counting, tile = self.counting, tiles[step]
        late = self.late_of(placement, b)
        starts = None if late is None else placement.starts(late, known or tiles)
        share, shares = counting.share(placement, b, tile, rows, starts), counting.arrays.shares[rows]
        wraps = []
        for d in self.dims:
            wrapped, extent = np.zeros(len(rows), np.int64), self.lattice.extent[d]
            for s in range(step + 1, len(tiles)):
                crossed = counting.between(placement.levels[s], placement.levels[s - 1])[rows]
                wrapped = wrapped + extent[tiles[s]] - extent[tiles[s - 1] + crossed]
            wraps.append(wrapped)
        joined = self.counting.joined(placement, b)
        count, windows = np.ones(len(rows)), np.ones(len(rows))
        for i in joined:
            chosen = counting.arrays.chosen[rows, i]
            count, windows = (
                count * self.lattice.count[chosen],
                windows * self.lattice.product(self.windows[b.tensor])[chosen],
            )
        torn = late is not None and starts is None
        apart = np.where((windows == 1) & (not torn), 1.0, 1 / (count * share))
        parts = None if torn else counting.parts(placement, b, tile, rows, starts or {})
        return Priced(tile, b.per_visit / shares, share[:, None] * b.per_arrival / shares, wraps, parts, apart)

    def late_of(self, placement: Placement, b: PricedBoundary) -> Late | None:
        return next((late for late in placement.late if late.boundary is b), None)

    def given(self, placement: Placement, b: PricedBoundary, node: Priced, steps: list[Ints]) -> Floats:
        """(rows, columns) what a visit costs after a move: `steps`, per dimension, how far the tile has moved."""
        kept, together = np.ones(len(node.tile)), np.ones(len(node.tile))
        joined = self.counting.joined(placement, b)[::-1]
        for rank in self.q.tensors[b.tensor].ranks:
            shift = np.abs(sum(c * steps[d] for d, c in rank))
            if len(rank) == 1:
                kept, together = kept * (shift == 0), together * (shift == 0)
                continue
            most = span(rank, self.q.sizes)
            last, keys = (np.minimum(shift, most), most), [(d, node.tile) for d, _ in rank]
            part = self.counting.look_ups.of(("overlap", rank), keys, partial(overlap, rank), last)
            kept = kept * part
            if node.parts is not None:
                here = [
                    each
                    for i, each in zip(joined, node.parts, strict=True)
                    if self.q.fanouts[i].dims & {d for d, _ in rank}
                ]
                if here:
                    keys = keys + [(d, tiles) for each in here for d, _ in rank for tiles in each]
                    part = self.counting.look_ups.of(("overlap", rank, len(here)), keys, partial(overlap, rank), last)
                together = together * part
        outside = (1 - kept) * node.apart if node.parts is None else 1 - together
        return (1 - kept)[:, None] * node.inside + outside[:, None] * node.outside

    # ---- a band ------------------------------------------------------------------------------------------------

    def band(
        self,
        placement: Placement,
        step: int,
        some: Columns,
        parent: Ints,
        loops: Ints,
        saved: dict[tuple[int, int], Floats],
    ) -> tuple[Floats, Floats, Ints]:
        """What the loops below a step cost in the best order (columns, each on its own); what is left of the visits of
        each node; and an order.

        saved  what tensors save that slide along a dimension with halo `innermost`, for the mover's trips
        """
        extents = [self.lattice.extent[d][loops] for d in self.dims]
        start = [self.lattice.extent[d][some["tile"][parent]] for d in self.dims]
        closing = some["open"][parent] * some["still"][parent][:, :, None]
        rest = some["rest"][parent]
        nodes = [
            NodeInside(e, b, node, np.any([wrap > 0 for wrap in node.wraps], axis=0) & (rest[:, e] > 0))
            for e, b, node in self._nodes_below(placement, step, some, parent, loops)
        ]
        band = BandWalk(placement, extents, start, closing, saved, rest, nodes)
        present = np.sum([(extents[d] > 1) * (1 << d) for d in self.dims], axis=0)
        n, columns = len(parent), some["known"].shape[1]
        best = np.full((1 << len(self.dims), n, columns), np.inf)
        best[0] = 0
        last = np.zeros((1 << len(self.dims), n), np.int64)
        for inside, d in itertools.product(range(1 << len(self.dims)), self.dims):
            here = inside | 1 << d
            pick = np.flatnonzero(present & here == here) if here != inside else np.zeros(0, np.int64)
            if not len(pick):
                continue
            cost = best[inside][pick] + self._loop(band, inside, d, pick)
            better = cost.sum(1) < best[here][pick].sum(1)
            last[here, pick[better]] = d
            best[here, pick] = np.minimum(best[here, pick], cost)
        paid: Floats = best[present, np.arange(n)]
        return paid, band.rest / self.lattice.count[loops][:, None], self._order(present, last)

    def _nodes_below(
        self, placement: Placement, step: int, some: Columns, parent: Ints, loops: Ints
    ) -> list[tuple[int, PricedBoundary, Priced]]:
        """The nodes inside a band, with their numbers."""
        nodes, before = [], list(some["tiles"].T)
        for e, (own, b) in enumerate(self.nodes(placement)):
            late = self.late_of(placement, b)
            if own < step and late is not None and late.settled == step:  # settled by this tile
                tiles = [each[parent] for each in before]
                known = [*tiles, some["tile"][parent] + loops]
                nodes.append((e, b, self.priced(placement, b, some["row"][parent], tiles, own, known)))
            elif own < step:
                nodes.append((e, b, self.priced(placement, b, some["row"], before, own).take(parent)))
        return nodes

    def _loop(self, band: BandWalk, inside: int, d: int, pick: Ints) -> Floats:
        """(rows, columns) what a loop costs that stands outside some others of its band."""
        within = [own for own in self.dims if inside >> own & 1]
        trips = np.prod([np.ones(len(pick)), *(band.extents[own][pick] for own in within)], axis=0)
        cost = np.zeros((len(pick), band.closing.shape[-1]))
        for t in self._first_moved(d, within):
            closing = band.closing[pick, t]
            if (t, d) in band.saved:
                closing = closing - band.saved[t, d][pick]
            cost = cost + closing / trips[:, None]
        for each in band.nodes:
            moves, plain = (bool((inside | 1 << d) & mask) for mask in self._masks(each.boundary.tensor))
            live = np.flatnonzero(band.rest[pick, each.number] > 0 if moves else each.moving[pick])
            which, node = pick[live], each.priced
            if not len(live):
                continue
            part = ((1 - 1 / band.extents[d][which]) / trips[live] * band.rest[which, each.number])[:, None]
            if plain:  # along no window: all of the tile
                cost[live] += part * (node.inside[which] + node.outside[which])
            else:
                steps = band.steps(node, within, d, which)
                cost[live] += part * self.given(band.placement, each.boundary, node.take(which), steps)
        return cost

    def _first_moved(self, d: int, within: list[int]) -> Iterator[int]:
        """The tensors that a loop moves, and none inside it."""
        for t, tensor in enumerate(self.q.tensors):
            if d in tensor.dims and not tensor.dims & set(within):
                yield t

    def _masks(self, t: int) -> tuple[int, int]:
        """The dimensions of a tensor, and those that are no windows, as bits."""
        tensor = self.q.tensors[t]
        plain = [d for rank in tensor.ranks if len(rank) == 1 for d, _ in rank]
        return sum(1 << d for d in tensor.dims), sum(1 << d for d in plain)

    def _order(self, present: Ints, last: Ints) -> Ints:
        """(rows,) the order that a walk through subsets is: its dimensions from the inside out, as digits."""
        every, number, place = np.arange(len(present)), np.zeros(len(present), np.int64), present.copy()
        for _ in self.dims:
            d = np.where(place > 0, last[place, every], 0)
            number = np.where(
                place > 0, number * 16 + d + 1, number
            )  # outermost first: the innermost is the last digit
            place = np.where(place > 0, place & ~(1 << d), 0)
        return number

    def all_orders(self, placement: Placement, row: Columns) -> Iterator[Ints]:
        """All orders of all bands of a complete mapping, as digits."""
        ways, below = [], 0
        for s, tile in enumerate(row["tiles"].tolist()):
            crossed = self.counting.between(placement.levels[s], placement.levels[s - 1] if s else MAC_LEVEL)[
                row["row"]
            ]
            loops = tile - below - int(crossed)
            present = [d for d in self.dims if self.lattice.extent[d][loops] > 1]
            ways.append(
                [sum((d + 1) << 4 * i for i, d in enumerate(order)) for order in itertools.permutations(present)]
            )
            below = tile
        for orders in itertools.product(*ways):
            yield np.array(orders)

    # ---- what is left --------------------------------------------------------------------------------------------

    def ended(self, placement: Placement, rows: Ints, tiles: list[Ints], rest: Floats, columns: int) -> Floats:
        """(rows, columns) what the last visits cost of nodes that are dead, or that have no loops above; `rest` is set
        to 0 there."""
        paid = np.zeros((len(rows), columns))
        for e, (step, b) in enumerate(self.nodes(placement)):
            if step < len(tiles):
                node = self.priced(placement, b, rows, tiles, step)
                plain = [d for rank in self.q.tensors[b.tensor].ranks if len(rank) == 1 for d, _ in rank]
                dead = np.logical_or.reduce([node.wraps[d] > 0 for d in plain] + [np.zeros(len(rows), bool)])
                dead |= (tiles[-1] == self.lattice.full) & (len(tiles) > placement.last)
                paid += (rest[:, e] * dead)[:, None] * (node.inside + node.outside)
                rest[:, e] *= ~dead
        return paid

    def least(
        self, placement: Placement, rows: Ints, tiles: list[Ints], rest: Floats, columns: int
    ) -> tuple[dict[int, Floats], Floats]:
        """What nodes cost at least that are not dead: per tensor, of those that have not moved, and may stay; and of
        the others."""
        waiting: dict[int, Floats] = {}
        others = np.zeros((len(rows), columns))
        for e, (step, b) in enumerate(self.nodes(placement)):
            if step < len(tiles) and rest[:, e].any():
                future = self.future(placement, b, step)
                if future is None:
                    continue
                node = self.priced(placement, b, rows, tiles, step)
                crossed = self.counting.between(-1, placement.levels[step])[rows]
                moves = np.logical_or.reduce([node.wraps[d] > 0 for d in self.q.tensors[b.tensor].dims])
                part = future.least(node.tile, crossed, tiles[-1] if len(tiles) > step + 1 else node.tile + crossed)
                cost = (rest[:, e] * part)[:, None] * (node.inside + node.apart[:, None] * node.outside)
                waiting[b.tensor] = waiting.get(b.tensor, 0) + cost * ~moves[:, None]
                others += cost * moves[:, None]
        return waiting, others

    def at_tiles(
        self, placement: Placement, b: PricedBoundary, step: int, tiles: Ints, rows: Ints, visits: Floats
    ) -> Floats:
        """(rows, columns) the same of one node that has not moved."""
        node = self.priced(placement, b, rows, [tiles] * (step + 1), step)
        future = self.future(placement, b, step)
        if future is None:
            return np.zeros_like(node.inside)
        crossed = self.counting.between(-1, placement.levels[step])[rows]
        part = future.least(node.tile, crossed, node.tile + crossed)
        return (visits * part)[:, None] * (node.inside + node.apart[:, None] * node.outside)

    def future(self, placement: Placement, b: PricedBoundary, step: int) -> Future | None:
        """The table of what is still given at least; None: fanouts stand further out that windows lie along."""
        outer = placement.levels[step + 1]
        if any(f.level < outer and f.dims & self.windows[b.tensor] for f in self.q.fanouts):
            return None
        key = b.tensor, placement.levels[step]
        if key not in self.futures:
            self.futures[key] = Future(self.counting, b.tensor, self.counting.between(-1, placement.levels[step]))
        return self.futures[key]
