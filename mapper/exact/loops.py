"""Growing partial mappings by a block: the temporal loops below it, and its tile.

Loops are added from the inside out, in stages. Crossings that wait are charged by the first loop that moves them, at
the tile below it; so

1. dimensions that move no waiting crossing come first, since their loops are free;
2. then either the block is placed, and what still waits goes on waiting (below the outermost memory it is charged
   once); or some loop charges the crossings that it moves, and the dimensions that move nothing any more, this loop's
   among them, may grow: the next stage.

Of orders that charge the same crossings at the same tiles one is tried. Where a tile slides along the charging loop,
that loop stands innermost in its stage, and its words depend on its length.

Between charges, tiles grow (`gap.py`). Rows that come to the same tile and the same waiting crossings are compared: one
that costs no less than another in every column is left aside (`dominance.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from .batch import Batch, Growth, Pending, merged
from .bounds.moves import Move
from .charge import Charge
from .dominance import undominated
from .gap import Gap, Stage
from .hierarchy import Block, Crossing
from .rows import Flags, Floats, Ints, Rows, taken


def expand_loops(growth: Growth, batch: Batch, below: float) -> Iterator[Batch]:
    """Every next block of the rows that stays below the cutoff, as batches of one path and state each."""
    yield from _Loops(growth, batch, below).batches()


@dataclass(frozen=True)
class _Charging:
    """A stage that some loop is to charge.

    rows    what the rows of the stage have grown from
    charge  at their tiles
    booked  what crossings cost that have been charged so
    """

    stage: Stage
    rows: Rows
    charge: Charge
    booked: dict[Crossing, Floats] = field(default_factory=dict)


class _Loops(Gap):
    """The loops of the gap above a batch: their orders, what they charge, and where they end."""

    def __init__(self, growth: Growth, batch: Batch, below: float) -> None:
        super().__init__(growth, batch, below)
        self.groups = growth.limits.groups.get(self.memory, ())
        self.found: dict[object, list[Batch]] = {}

    def batches(self) -> Iterator[Batch]:
        """The rows above the gap, by block and by the crossings that go on waiting."""
        batch = self.batch
        innermost = max(len(self.groups) - 1, 0)
        group = innermost if batch.group is None else batch.group
        first = Stage(batch.state, np.arange(len(batch)), self.start, batch.costs, [], (), group)
        self._continue(first)
        for pieces in self.found.values():
            batch = merged(pieces)
            yield batch if self.growth.every_mapping else undominated(self.growth, batch)

    def _continue(self, stage: Stage) -> None:
        """Go on with the dimensions that are free: all of them at once, since loops that charge nothing stand best as
        far inside as they can; or, if worse orders are wanted too, any of them, the others later."""
        free = self._newly_free(stage)
        if not self.growth.every_mapping or not stage.state.waiting:
            self._visit(stage, free)
            return
        for count in range(len(free) + 1):
            for dims in itertools.combinations(free, count):
                self._visit(stage, dims, real=True)

    def _visit(self, stage: Stage, dims: tuple[int, ...], real: bool = False) -> None:
        """Let the tile grow along some dimensions; then place a block, or charge something.

        real  only where it really grows along each of them
        """
        first = self.first(stage, dims)
        stage = self.grown(stage, dims) if first is None else first
        if real:
            stage = stage.take(np.flatnonzero((stage.tiles > self.start[stage.parents])[:, dims].all(axis=1)))
        if not len(stage):
            return
        for block in self.blocks:
            self._place(stage, block)
        if stage.state.waiting:
            self._charge_next(stage)
        if stage.group:
            outwards = replace(stage, group=stage.group - 1)
            self._continue(outwards)

    def _may_loop(self, stage: Stage, d: int) -> bool:
        """Whether constraints let a loop over a dimension come next."""
        if d in stage.order:
            return False
        return all(d not in group or g == stage.group for g, group in enumerate(self.groups))

    def _newly_free(self, stage: Stage) -> tuple[int, ...]:
        """Dimensions that may grow without charging anything, and have not yet."""
        return tuple(d for d in self.bounds.moves.free(stage.state.waiting) if self._may_loop(stage, d))

    # ---- charges -------------------------------------------------------------------------------------------

    def _charge_next(self, stage: Stage) -> None:
        """Every loop that may charge something next, each followed by its next stage."""
        here = _Charging(stage, self.batch.rows.take(stage.parents), Charge(self.path.gap, stage.tiles))
        for move in self.bounds.moves.of(stage.state.waiting):
            dims = tuple(d for d in move.dims if self._may_loop(stage, d))
            for together in [(d,) for d in dims] if self.growth.every_mapping else [dims] if dims else []:
                self._move(here, move._replace(dims=together))

    def _move(self, here: _Charging, move: Move) -> None:
        """Charge what a loop moves, then go on to the next stage."""
        stage = self._charged(here, move)
        if not len(stage):
            return
        if move.sliding:
            self._continue(self._slid(stage, move))
            return
        # Dimensions whose loop would charge just this come first: where none of them grows, nothing is charged.
        above_loop = self.grown(stage, move.dims)
        moved = (above_loop.tiles > self.start[above_loop.parents])[:, move.dims].any(axis=1)
        self._continue(above_loop.take(np.flatnonzero(moved)))

    def _charged(self, here: _Charging, move: Move) -> Stage:
        """The rows for which a loop may lead to something below the cutoff, with the crossings charged that it moves
        and that do not slide along it."""
        stage, costs = here.stage, here.stage.costs
        for crossing in move.fixed:
            if crossing not in here.booked:
                here.booked[crossing] = self.growth.book(self.path, here.rows, crossing, here.charge)
            costs = costs + here.booked[crossing]
        ahead = self.ahead(self.bounds.after_fixed(stage.state, move), stage)
        bound = self.growth.value(costs + ahead, self.batch.steps[stage.parents])
        index = np.flatnonzero(self.growth.below(bound, self.below))
        pending = [
            Pending(crossing, here.charge, here.booked[crossing]).take(index)
            for crossing in move.fixed
            if self.growth.only_bounded(crossing, stage.state.passed)
        ]
        kept = stage.take(index)
        charged, costs = [*kept.charged, *pending], taken(costs, index, axis=1)
        return replace(kept, state=stage.state.charging(move.moved), costs=costs, charged=charged)

    def _slid(self, stage: Stage, move: Move) -> Stage:
        """The rows with the crossings charged that slide along a loop, for every length of it."""
        (along,) = move.dims
        which, grown = self.followed(stage, along)
        real = grown > stage.tiles[which, along]
        stage, above = stage.take(which[real]), grown[real]
        rows, charge = self.batch.rows.take(stage.parents), Charge(self.path.gap, stage.tiles.copy(), (along, above))
        for crossing in move.sliding:
            amount = self.growth.book(self.path, rows, crossing, charge)
            stage.costs += amount
            if self.growth.only_bounded(crossing, stage.state.passed):
                stage.charged.append(Pending(crossing, charge, amount))
        stage.tiles[:, along] = above
        stage = replace(stage, order=(*stage.order, along))
        return self.hopeful(stage, self.bounds.table(stage.state), None)

    # ---- blocks --------------------------------------------------------------------------------------------

    def _place(self, stage: Stage, block: Block) -> None:
        """Rows whose gap ends here."""
        stage = stage.take(np.flatnonzero(self._may_end(stage, block)))
        if not self.last:
            stage = self._finishable(stage, block)
        if self.growth.limits.bounded(self.memory) and not self._goes_on(block):
            enough = self.growth.limits.enough_trips(self.path, self.batch.rows.take(stage.parents), self._gaps(stage))
            self.growth.pruned["constraint"] += int(np.count_nonzero(~enough))
            stage = stage.take(np.flatnonzero(enough))
        if not len(stage):
            return
        still, charged = stage.state.waiting, list(stage.charged)
        rows = self.batch.rows.take(stage.parents)
        if self.last:
            for crossing in still:
                charge = Charge(self.path.gap, stage.tiles)
                amount = self.growth.book(self.path, rows, crossing, charge)
                stage.costs += amount
                if self.growth.only_bounded(crossing, stage.state.passed):
                    charged.append(Pending(crossing, charge, amount))
            still = ()
        costs = stage.costs + self._least_above(stage, block, still)
        bound = self.growth.value(costs, self.batch.steps[stage.parents])
        keep = np.flatnonzero(self.growth.below(bound, self.below))
        missing = tuple(d for d in range(len(self.sizes)) if d not in stage.order)
        order = tuple(self.bounds.dims[d] for d in (*stage.order, *missing))
        number = np.full((len(stage), 1), self.growth.order_number(order))
        before = self.batch.take(stage.parents)
        placed = Batch(
            self.path.placing(block),
            self.hierarchy.place(self.batch.state, block, still),
            self.bounds,
            before.member,
            Rows(len(stage), [*rows.tiles, stage.tiles], rows.arrays),
            stage.costs,
            before.steps,
            bound,
            np.concatenate([before.orders, number], axis=1),
            [*before.pending, *charged],
            stage.group if self._goes_on(block) else None,
        ).take(keep)
        if len(placed):
            key = (block, still, placed.group, tuple((p.crossing, p.slides_along) for p in placed.pending))
            self.found.setdefault(key, []).append(placed)

    def _finishable(self, stage: Stage, block: Block) -> Stage:
        """The rows whose tiles the loops outside the block may still make as large as the problem."""
        above = self.path.placing(block)
        reach = self.growth.limits.reach(above.memory_at(above.gap))
        if np.isinf(reach).all():
            return stage
        enough = (stage.tiles * taken(self.room, stage.parents) * reach >= self.sizes).all(axis=1)
        self.growth.pruned["constraint"] += int(np.count_nonzero(~enough))
        return stage.take(np.flatnonzero(enough))

    def _goes_on(self, block: Block) -> bool:
        """Whether the loops above a block belong to the same memory as those below it."""
        above = self.path.placing(block)
        return not self.last and above.memory_at(above.gap) == self.memory

    def _gaps(self, stage: Stage) -> list[tuple[Ints, Ints]]:
        """The tiles below and above the loops of every gap of the same memory."""
        rows, path = self.batch.rows.take(stage.parents), self.path
        inner = [gap for gap in range(path.gap) if path.memory_at(gap) == self.memory]
        pairs = [(self.model.loops.array_tile(rows, gap), rows.tiles[gap]) for gap in inner]
        return [*pairs, (self.start[stage.parents], stage.tiles)]

    def _may_end(self, stage: Stage, block: Block) -> Flags:
        """Whether the block may stand here: it fits, and of blocks without a loop between them, whose order says
        nothing, it is the one that is to come first."""
        if self.last:
            whole: Flags = (stage.tiles == self.sizes).all(axis=1)
            return whole
        keep = self.fits(stage, block)
        if self.path.blocks and self.path.gap not in self.path.gaps:
            inner = self.path.blocks[-1]
            if (inner.memory, inner.tensors) > (block.memory, block.tensors):
                keep &= (stage.tiles > taken(self.start, stage.parents)).any(axis=1)
        return keep

    def _least_above(self, stage: Stage, block: Block, still: tuple[Crossing, ...]) -> Floats:
        """(columns, rows) least cost of all that lies above the block."""
        if self.last:
            return np.zeros((len(stage.costs), 1))
        state, fanouts = self.bounds.after(self.batch.state, block, still)
        return self.ahead(self.bounds.table(state), stage, fanouts)
