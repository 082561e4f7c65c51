"""Lower bounds on what the rest of a mapping costs, for every tile at once.

For every state (`hierarchy.py`: what is still to be placed, which crossings wait to be charged) there is a table over
the lattice of tiles (`lattice.py`): the least that everything further out can cost, column by column, above the tile.
Tables follow from each other, from the outermost state inwards:

- At the next block, tiles must fit (with those that the memory is still to hold), and the block's own crossings join
  those that wait.
- A loop over a dimension charges the waiting crossings that it moves, at the tile below it, and lets the tile grow. A
  loop that moves none of them is free: the least over tiles around, along that dimension.
- Passing a fanout lets the tile grow by the instances along each dimension.
- Whatever still waits below the outermost memory is charged once, at the whole problem.

Why these are bounds: words are counted at the tile that charges them, over as many instances as may share them
further out, and cycles of a port over all instances that there are; of output words, first visits are free; of operands
with an exact halo, only distinct words count; a tile that slides into the next one is charged as one tile with it.
Minima are taken column by column, so they lie below every single mapping; and objectives only rise with every column.
A cell of the lattice has the fewest words of its tiles and the room of its smallest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tilings import Tiling
from ..arrays import axis_limits
from ..footprints import Footprints
from ..hierarchy import Block, Crossing, Hierarchy, State
from ..ledger import Ledger
from ..rows import Floats, Ints
from .array_groups import ArrayGroup, any_arrays
from .array_tables import inside
from .crossings import CrossingBounds
from .lattice import Lattice, check_searchable
from .moves import Move, Moves


@dataclass(frozen=True)
class Growing:
    """Bounds on what follows, per number of dimensions of a growing tile that are decided, from 0 on.

    near  by the tile; None: nothing
    far   by what the arrays of the fanouts that follow make of the tile; None: nothing
    """

    near: list[Floats | None]
    far: list[Floats | None]


def at(table: Floats, places: tuple[Ints, ...]) -> Floats:
    """(columns, rows) of a table over the lattice, at one place per row."""
    index: tuple[Any, ...] = (slice(None), *places)
    found: Floats = table[index]
    return found


class Bounds:
    """Tables over one lattice, made when they are asked for.

    arrays   what the arrays of all rows have in common; None: nothing
    alike    bounds over the same lattice for other arrays: what does not depend on arrays is taken over
    outside  bounds whose tables for all that lies outside the fanouts hold for these arrays too
    level    which of `Lattice.for_groups` the lattice is, for a group of arrays
    settled  whether finer tables would add little
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        footprints: Footprints,
        lattice: Lattice,
        ledger: Ledger,
        arrays: ArrayGroup | None = None,
        alike: Bounds | None = None,
        outside: Bounds | None = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.footprints = footprints
        self.lattice = lattice
        self.ledger = ledger
        self.arrays = arrays or any_arrays(hierarchy)
        self.moves: Moves = Moves(hierarchy) if alike is None else alike.moves
        known = None if alike is None else alike.crossings
        self.crossings: CrossingBounds = CrossingBounds(hierarchy, lattice, ledger, self.arrays, known)
        self.dims = hierarchy.problem.dim_names
        self.every_dim = range(len(self.dims))
        self.level = -1
        self.settled = False
        self._whole = (slice(0, 1),) * len(self.dims)  # the first cell of every axis is the whole dimension
        self._outside = outside
        self._fits: dict[tuple[int, tuple[int, ...]], np.ndarray] = {} if alike is None else alike._fits
        self._limits = [
            [math.prod(axis_limits(hierarchy.problem, fanout, dim)) for dim in self.dims]
            for fanout in hierarchy.fanouts
        ]
        self.forget()

    def forget(self) -> None:
        """Drop all tables; they are made again when they are asked for."""
        self.crossings.forget()
        self._tables: dict[State, Floats] = {}
        self._ends: dict[tuple[State, Block, tuple[Crossing, ...]], Floats] = {}
        self._beyond: dict[State, Floats] = {}
        self._stops: dict[State, Floats] = {}
        self._slid: dict[tuple[State, Move], Floats] = {}
        self._growing: dict[tuple[State, tuple[int, ...], tuple[int, ...]], Growing] = {}

    def prepare(self, state: State) -> None:
        """Make the tables that a bound on rows with nothing but arrays decided takes."""
        self.table(state)
        for fanout in range(len(self.hierarchy.fanouts)):
            self.beyond(state, fanout)

    def take_over(self, other: Bounds, part: slice) -> None:
        """Take over some columns of the tables that `prepare` has made of several groups at once."""
        self._tables = {state: table[part] for state, table in other._tables.items()}
        self._beyond = {state: table[part] for state, table in other._beyond.items()}

    def _shares(self, state: State) -> Bounds:
        """Whose tables of a state these are."""
        return self if self._outside is None or state.passed < len(self.hierarchy.fanouts) else self._outside

    def table(self, state: State) -> Floats:
        """(columns, lattice) least cost of all that lies above a tile: temporal loops come next, or a fanout."""
        known = self._shares(state)._tables
        if state not in known:
            known[state] = self._fanout(state) if self.hierarchy.at_fanout(state) else self._loops(state)
        return known[state]

    def _fanout(self, state: State) -> Floats:
        table, arrays = self.table(self.hierarchy.passing(state)), self.arrays.array[state.passed]
        limits = self._limits[state.passed]
        if arrays is None:
            return inside(self.lattice, table, np.zeros(len(self.dims), dtype=np.int64), limits)
        groups = np.split(table, self.arrays.stacked)
        grown = [inside(self.lattice, t, a, limits) for t, a in zip(groups, np.atleast_2d(arrays), strict=True)]
        return grown[0] if len(grown) == 1 else np.concatenate(grown)

    def _loops(self, state: State) -> Floats:
        return self.lattice.around(self._stopped(state), self.moves.free(state.waiting))

    def _stopped(self, state: State) -> Floats:
        """The least cost if the next loop, should there be one, charges something."""
        known = self._shares(state)._stops
        if state not in known:
            least: Floats | None = None
            for block in self.hierarchy.next_blocks(state):
                end = self.end(state, block, state.waiting)
                least = end if least is None else np.minimum(least, end)
            assert least is not None
            for move in self.moves.of(state.waiting):
                least = np.minimum(least, self._moved(state, move))
            known[state] = least
        return known[state]

    def _moved(self, state: State, move: Move) -> Floats:
        after = self._after_slide(state, move)
        for crossing in move.fixed:
            after = after + self.crossings.cost(crossing, state.passed)
        return after

    def _after_slide(self, state: State, move: Move) -> Floats:
        after = self.table(state.charging(move.moved))
        if not move.sliding:
            return after
        for crossing in move.sliding:
            after = after + self.crossings.cost(crossing, state.passed)
        return self.lattice.around(after, move.dims)

    def after_fixed(self, state: State, move: Move) -> Floats:
        """(columns, lattice) least cost of all that follows the charges of a loop whose tiles do not slide along it."""
        if not move.sliding:
            return self.table(state.charging(move.moved))
        key, known = (state, move), self._shares(state)._slid
        if key not in known:
            known[key] = self._after_slide(state, move)
        return known[key]

    def growing(self, state: State, dims: tuple[int, ...], later: tuple[int, ...] = ()) -> Growing:
        """Bounds for a tile that grows along some dimensions, one after the other, before the next charge.

        later  free dimensions that may grow after them
        """
        key, known = (state, dims, later), self._shares(state)._growing
        if key not in known:
            nothing: list[Floats | None] = [None] * (len(dims) + 1)
            blocks = self.hierarchy.next_blocks(state)
            if not state.waiting and len(blocks) == 1 and self.fanouts_after(state):
                above, _ = self.after(state, blocks[0], ())
                table = self.lattice.around(self.table(above), later)
                known[key] = Growing(nothing, self._decided(table, dims))
            else:
                table = self.lattice.around(self._stopped(state), later)
                known[key] = Growing(self._decided(table, dims), nothing)
        return known[key]

    def _decided(self, table: Floats, dims: tuple[int, ...]) -> list[Floats | None]:
        tables: list[Floats | None] = [table]
        for d in reversed(dims):
            table = self.lattice.around(table, [d])
            tables.append(table)
        return tables[::-1]

    def fanouts_after(self, state: State) -> int:
        """Fanouts that follow the next block directly, whichever it is; 0 if that depends."""
        return min(self.after(state, block, ())[1] for block in self.hierarchy.next_blocks(state))

    def end(self, state: State, block: Block, still: tuple[Crossing, ...]) -> Floats:
        """(columns, lattice) least cost from a block's tile on, where the crossings `still` go on waiting."""
        key, known = (state, block, still), self._shares(state)._ends
        if key not in known:
            known[key] = self._end(state, block, still)
        return known[key]

    def _end(self, state: State, block: Block, still: tuple[Crossing, ...]) -> Floats:
        if self.hierarchy.is_last(block):
            columns = self.ledger.columns * self.arrays.stacked
            table = np.full((columns, *self.lattice.shape), np.inf)
            once = sum((self.crossings.at_whole(c, state.passed) for c in still), np.zeros(columns))
            table[:, *self._whole] = once.reshape(-1, *(1,) * len(self.dims))
            return table
        beyond = self.table(self.hierarchy.place(state, block, still))
        fits = self._fitting(block.memory, self.hierarchy.tenants(state, block))
        return np.where(fits[None], beyond, np.inf)

    def _fitting(self, memory: int, tenants: tuple[int, ...]) -> np.ndarray:
        key = (memory, tenants)
        if key not in self._fits:
            grids = np.meshgrid(*self.lattice.least, indexing="ij")
            flat = np.stack([g.ravel() for g in grids], axis=1)
            self._fits[key] = self.footprints.fits(memory, [(t, flat) for t in tenants]).reshape(self.lattice.shape)
        return self._fits[key]

    def beyond(self, state: State, fanout: int) -> Floats:
        """(columns, lattice) least cost of all that lies above a fanout, over all tiles around its array's."""
        while state.passed <= fanout:
            if self.hierarchy.at_fanout(state):
                state = self.hierarchy.passing(state)
            else:
                state = self.hierarchy.place(state, self.hierarchy.next_blocks(state)[0], ())
        if state not in self._beyond:
            self._beyond[state] = self.lattice.around(self.table(state), self.every_dim)
        return self._beyond[state]

    def after(self, state: State, block: Block, still: tuple[Crossing, ...]) -> tuple[State, int]:
        """The state above a block, and above the fanouts that follow it directly; how many those are."""
        placed = self.hierarchy.place(state, block, still)
        count = 0
        while self.hierarchy.at_fanout(placed):
            placed, count = self.hierarchy.passing(placed), count + 1
        return placed, count


def lattice_of(hierarchy: Hierarchy, tiling: Tiling, even: Sequence[bool]) -> Lattice:
    """The lattice of a problem's tiles. Raises ProblemError when it does not fit the memory."""
    check_searchable(hierarchy.problem, tiling)
    return Lattice([size for _, size in hierarchy.problem.dims], tiling, even)
