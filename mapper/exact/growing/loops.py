"""Growing partial mappings by a node group: the temporal loops below it, and its tile.

Loops are added from the inside out, in stages. Boundaries that wait are charged by the first loop that moves them, at
the tile below it; so

1. dimensions that move no waiting boundary come first, since their loops are free;
2. then either the node group is placed, and what still waits goes on waiting (below the outermost memory it is charged
   once); or some loop charges the boundaries that it moves, and the dimensions that move nothing any more, this loop's
   among them, may grow: the next stage.

Of orders that charge the same boundaries at the same tiles one is tried. Where a tile slides along the charging loop,
that loop stands innermost in its stage, and its words depend on its length.

Between charges, tiles grow (`loop_band.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ..bounds.loop_charges import LoopCharge
from ..counting.fill_point import FillPoint
from ..question.hierarchy import MemoryBoundary, NodeGroup, State
from ..rows import Flags, Floats, Ints, Rows, taken
from .batch import Batch, Pending, merged
from .context import SearchContext
from .loop_band import LoopBand, Stage


def expand_loops(context: SearchContext, batch: Batch, below: float) -> Iterator[Batch]:
    """Grow the rows by every next node group, and yield those that stay below the cutoff, as batches of one path and
    state each."""
    yield from _Loops(context, batch, below).batches()


@dataclass(frozen=True)
class _Charging:
    """A stage that the next loop charges, with what each boundary costs there.

    rows        what the rows of the stage have grown from
    fill_point  at their tiles
    booked      what boundaries cost that have been charged so
    """

    stage: Stage
    rows: Rows
    fill_point: FillPoint
    booked: dict[MemoryBoundary, Floats] = field(default_factory=dict)


class _Loops(LoopBand):
    """The loops of the band above a batch: in which order they stand, what they charge, and where they end."""

    def __init__(self, context: SearchContext, batch: Batch, below: float) -> None:
        super().__init__(context, batch, below)
        self.found: dict[object, list[Batch]] = {}

    def batches(self) -> Iterator[Batch]:
        """Yield the rows above the band, by node group and by the boundaries that go on waiting."""
        batch = self.batch
        first = Stage(batch.state, np.arange(len(batch)), self.start, batch.costs, [], (), self.start)
        for _ in self._continue(first):
            if sum(len(piece) for pieces in self.found.values() for piece in pieces) > self.context.rows_at_once:
                yield from self._found_so_far()
        yield from self._found_so_far()

    def _found_so_far(self) -> Iterator[Batch]:
        found, self.found = self.found, {}
        for pieces in found.values():
            yield merged(pieces)

    def _continue(self, stage: Stage) -> Iterator[None]:
        """Go on with the dimensions that are free: all of them at once, since loops that charge nothing stand best as
        far inside as they can; or, if worse orders are wanted too, any of them, the others later. Stops for a moment
        whenever something has been found."""
        free = self._useful(
            stage.state, tuple(filter(partial(self._may_loop, stage), self.bounds.moves.free(stage.state.waiting)))
        )
        if not self.context.every_mapping or not stage.state.waiting:
            yield from self._visit(stage, free)
            return
        for count in range(len(free) + 1):
            for dims in itertools.combinations(free, count):
                yield from self._visit(stage, dims, real=True)

    def _visit(self, stage: Stage, dims: tuple[int, ...], real: bool = False) -> Iterator[None]:
        """Let the tile grow along some dimensions; then place a node group, or charge something.

        real  only where it really grows along each of them
        """
        first = self.first(stage, dims)
        for grown in self.grown(stage, dims) if first is None else first:
            piece = grown
            if real:
                piece = grown.take(np.flatnonzero((grown.tiles > self.start[grown.parents])[:, dims].all(axis=1)))
            if len(piece):
                yield from self._go_on_from(piece)

    def _go_on_from(self, stage: Stage) -> Iterator[None]:
        """End the band here by each node group, or let the next loop charge something."""
        for node_group in self.node_groups:
            self._place(stage, node_group)
        yield
        if stage.state.waiting and len(stage):
            yield from self._charge_next(stage)
        if self.context.limits.has_next_group(stage.state):
            yield from self._continue(replace(stage, state=stage.state.at_next_group()))

    def _may_loop(self, stage: Stage, d: int) -> bool:
        """Tell whether constraints let a loop over a dimension come next, even if it has one trip."""
        return d not in stage.order and self.context.limits.in_order(stage.state, d)

    def _useful(self, state: State, dims: tuple[int, ...]) -> tuple[int, ...]:
        """Return the dimensions whose loops may gain something here: where nothing waits that is still to be charged
        below the next node group, the others may as well stand above it."""
        return dims if state.waiting else tuple(d for d in dims if d not in self.out_of_all)

    # ---- charges -------------------------------------------------------------------------------------------

    def _charge_next(self, stage: Stage) -> Iterator[None]:
        """Try every loop that charges something next, and go on from each."""
        here = _Charging(stage, self.batch.rows.take(stage.parents), FillPoint(self.path.band, stage.tiles))
        for move in self.bounds.moves.of(stage.state.waiting):
            longer = (d for d in move.dims if self.context.limits.most_trips(self.memory, d) > 1)
            dims = tuple(d for d in longer if self._may_loop(stage, d))
            for together in [(d,) for d in dims] if self.context.every_mapping else [dims] if dims else []:
                yield from self._move(here, move._replace(dims=together))

    def _move(self, here: _Charging, move: LoopCharge) -> Iterator[None]:
        """Charge what a loop moves, then go on to the next stage."""
        useful = self._useful(here.stage.state.charging(move.moved), move.dims)
        stage = self._charged(here, move) if useful else here.stage.take(np.arange(0))
        if not len(stage):
            return
        if move.sliding:
            for slid in self._slid(stage, move):
                yield from self._continue(slid)
            return
        # Dimensions whose loop would charge just this come first: where none of them grows, nothing is charged.
        for above_loop in self.grown(stage, useful):
            moved = (above_loop.tiles > self.start[above_loop.parents])[:, useful].any(axis=1)
            yield from self._continue(above_loop.take(np.flatnonzero(moved)))

    def _charged(self, here: _Charging, move: LoopCharge) -> Stage:
        """Charge the boundaries that a loop moves and that do not slide along it, and keep the rows that may lead to
        something below the cutoff."""
        stage, costs = here.stage, here.stage.costs
        for boundary in move.fixed:
            if boundary not in here.booked:
                here.booked[boundary] = self.context.book(self.path, here.rows, boundary, here.fill_point)
            costs = costs + here.booked[boundary]
        ahead = self.ahead(self.bounds.after_fixed(stage.state, move), stage, stage.state.charging(move.fixed))
        bound = self.context.value(costs + ahead, self.batch.steps[stage.parents])
        index = np.flatnonzero(self.context.below(bound, self.below))
        pending = [
            Pending(boundary, here.fill_point, here.booked[boundary]).take(index)
            for boundary in move.fixed
            if self.context.only_bounded(boundary, stage.state.passed)
        ]
        kept = stage.take(index)
        charged, costs = [*kept.charged, *pending], taken(costs, index, axis=1)
        return replace(
            kept, state=stage.state.charging(move.moved), costs=costs, charged=charged, base=kept.tiles.copy()
        )

    def _slid(self, stage: Stage, move: LoopCharge) -> Iterator[Stage]:
        """Charge the boundaries that slide along a loop, for every length of the loop."""
        (along,) = move.dims
        followers = self.followers(stage, along)
        for part in followers.parts(self.context.rows_at_once):
            self.context.means.check()
            which, grown = followers.all_of(part)
            real = np.flatnonzero(grown > stage.tiles[which, along])
            if len(real):
                yield self._slid_to(stage.take(which[real]), move, grown[real])

    def _slid_to(self, stage: Stage, move: LoopCharge, above: Ints) -> Stage:
        """Charge the boundaries that slide along a loop whose tiles (rows,) are known."""
        (along,) = move.dims
        rows = self.batch.rows.take(stage.parents)
        fill_point = FillPoint(self.path.band, stage.tiles.copy(), (along, above))
        for boundary in move.sliding:
            amount = self.context.book(self.path, rows, boundary, fill_point)
            stage.costs += amount
            if self.context.only_bounded(boundary, stage.state.passed):
                stage.charged.append(Pending(boundary, fill_point, amount))
        stage.tiles[:, along] = above
        stage = replace(stage, order=(*stage.order, along))
        return self.hopeful(stage, self.bounds.table(stage.state))

    # ---- node groups --------------------------------------------------------------------------------------------

    def _place(self, stage: Stage, node_group: NodeGroup) -> None:
        """End the band of the rows with a node group."""
        stage = stage.take(np.flatnonzero(self._may_end(stage, node_group)))
        if not self.last:
            stage = self._finishable(stage, node_group)
        if self.context.limits.bounded(self.memory) and not self._goes_on(node_group):
            enough = self.context.limits.enough_trips(
                self.path, self.batch.rows.take(stage.parents), self._bands(stage)
            )
            self.context.leave_aside("constraint", int(np.count_nonzero(~enough)))
            stage = stage.take(np.flatnonzero(enough))
        if not len(stage):
            return
        still, charged = stage.state.waiting, list(stage.charged)
        rows = self.batch.rows.take(stage.parents)
        if self.last:
            for boundary in still:
                fill_point = FillPoint(self.path.band, stage.tiles, at_end=True)
                amount = self.context.book(self.path, rows, boundary, fill_point)
                stage.costs += amount
                if self.context.only_bounded(boundary, stage.state.passed):
                    charged.append(Pending(boundary, fill_point, amount))
            still = ()
        held = [*self.batch.take(stage.parents).pending, *charged] if self.context.zeros is not None else charged
        pending = self._settled(stage, rows, node_group, held)
        placed = Rows(len(stage), [*rows.tiles, stage.tiles], rows.arrays)
        costs = stage.costs + self._least_above(stage, node_group, still)
        bound = self.context.value(costs, self.batch.steps[stage.parents])
        if self.context.many_arrays:
            bound = np.maximum(bound, self.batch.bound[stage.parents])
        keep = np.flatnonzero(self.context.below(bound, self.below))
        missing = tuple(d for d in range(len(self.sizes)) if d not in stage.order)
        order = tuple(self.bounds.dims[d] for d in (*stage.order, *missing))
        number = np.full((len(stage), 1), self.context.order_number(order))
        before = self.batch.take(stage.parents)
        grown = Batch(
            self.path.placing(node_group),
            self.hierarchy.place(stage.state, node_group, still),
            self.bounds,
            before.member,
            placed,
            stage.costs,
            before.steps,
            bound,
            np.concatenate([before.orders, number], axis=1),
            pending if self.context.zeros is not None else [*before.pending, *charged],
        ).take(keep)
        if len(grown):
            key = (node_group, grown.state, tuple((p.boundary, p.slides_along) for p in grown.pending))
            self.found.setdefault(key, []).append(grown)

    def _settled(self, stage: Stage, rows: Rows, node_group: NodeGroup, pending: list[Pending]) -> list[Pending]:
        """Add the bits of words that the memory of a node group is read for, now that its tiles are known, to the
        stage's costs and to what is pending."""
        zeros, memory = self.context.zeros, node_group.memory
        if zeros is None or self.last:
            return pending
        columns, level = self.context.costs.cost_columns, self.hierarchy.memories[memory]
        for t in node_group.tensors:
            if not zeros.depend_on_tiles(memory, t):
                continue
            more = zeros.bits(memory, t, stage.tiles) - zeros.least_bits(memory, t)
            instances, role = self.model.instances(rows, memory), self.hierarchy.problem.tensors[t].role
            columns.settle(stage.costs, t, level, role, more, instances)
            for each in pending:
                if each.boundary.tensor == t and each.boundary.outer == memory:
                    columns.settle(each.costs, t, level, role, more, instances)
        return pending

    def _finishable(self, stage: Stage, node_group: NodeGroup) -> Stage:
        """Keep the rows whose tiles the loops outside the node group may still make as large as the problem."""
        above = self.path.placing(node_group)
        reach = self.context.limits.reach(above.memory_at(above.band))
        if np.isinf(reach).all():
            return stage
        enough = (stage.tiles * taken(self.room, stage.parents) * reach >= self.whole).all(axis=1)
        self.context.leave_aside("constraint", int(np.count_nonzero(~enough)))
        return stage.take(np.flatnonzero(enough))

    def _goes_on(self, node_group: NodeGroup) -> bool:
        """Whether the loops above a node group belong to the same memory as those below it."""
        above = self.path.placing(node_group)
        return not self.last and above.memory_at(above.band) == self.memory

    def _bands(self, stage: Stage) -> list[tuple[Ints, Ints]]:
        """Return the tiles below and above the loops of every band of the same memory."""
        rows, path = self.batch.rows.take(stage.parents), self.path
        inner = [band for band in range(path.band) if path.memory_at(band) == self.memory]
        pairs = [(self.model.loops.array_tile(rows, band), rows.tiles[band]) for band in inner]
        return [*pairs, (self.start[stage.parents], stage.tiles)]

    def _may_end(self, stage: Stage, node_group: NodeGroup) -> Flags:
        """Tell for each row whether the node group may stand here: it fits, and of node groups without a loop between
        them, whose order says nothing, it comes first."""
        if self.last:
            whole: Flags = (stage.tiles == self.whole).all(axis=1)
            return whole
        keep = self.fits(stage, node_group)
        out = sorted(self.further_out[node_group])
        keep &= (stage.tiles == stage.base)[:, out].all(axis=1)
        if self.context.footprints.zeros is not None:
            keep &= self.holds(stage, node_group)
        if self.path.node_groups and self.path.band not in self.path.bands:
            inner = self.path.node_groups[-1]
            if (inner.memory, inner.tensors) > (node_group.memory, node_group.tensors):
                keep &= (stage.tiles > taken(self.start, stage.parents)).any(axis=1)
        return keep

    def _least_above(self, stage: Stage, node_group: NodeGroup, still: tuple[MemoryBoundary, ...]) -> Floats:
        """Bound (columns, rows) the costs of all that lies above the node group."""
        if self.last:
            return np.zeros((len(stage.costs), 1))
        state, fanouts = self.bounds.after(stage.state, node_group, still)
        return self.ahead(self.bounds.table(state), stage, stage.state, fanouts)
