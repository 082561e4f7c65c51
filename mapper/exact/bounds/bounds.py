"""Lower bounds on what the rest of a mapping costs, for every tile at once.

For every state (`question/hierarchy.py`: what is still to be placed, which boundaries wait to be charged) there is a
table over the lattice of tiles (`tiles/lattice.py`): the least that everything further out can cost, column by column,
above the tile. Tables follow from each other, from the outermost state inwards:

- At the next node group, tiles must fit (with those that the memory is still to hold), and the node group's own
  boundaries join those that wait.
- A loop over a dimension charges the waiting boundaries that it moves, at the tile below it, and lets the tile grow. A
  loop that moves none of them is free: the least over tiles around, along that dimension. Where constraints allow no
  loop over a dimension at a memory, or none yet, there is none.
- Passing a fanout lets the tile grow by the instances along each dimension.
- Whatever still waits below the outermost memory is charged once, at the whole problem.

Why these are bounds: words are counted at the tile that charges them, over as many instances as may share them
further out, and cycles of a port over all instances that there are; of output words, first visits are free; of operands
with an exact halo, only distinct words count; a tile that slides into the next one is charged as one tile with it.
Minima are taken column by column, so they lie below every single mapping; and objectives only rise with every column.
A cell of the lattice has the fewest words of its tiles and the room of its smallest one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...effort import EFFORT, Effort
from ...tilings import Tiling, grid
from ..counting.footprints import Footprints
from ..question.hierarchy import Hierarchy, MemoryBoundary, NodeGroup, State
from ..rows import Floats, Ints
from ..table_memo import TableBudget, TableMemo
from ..tiles.instances import axis_limits
from ..tiles.lattice import Lattice, LatticePart, check_searchable
from .array_groups import ArrayGroup, any_arrays, stacked
from .array_tables import inside_each
from .boundary_costs import BoundaryBounds
from .loop_charges import End, LoopCharge, LoopCharges
from .table_columns import TableColumns
from .zeros_at_tiles import TileBits

TABLE, BEYOND, STOPPED, SLID, GROWING = "table", "beyond", "stopped", "slid", "growing"
"""Kinds of tables."""

PERFECT_CELLS = 5
"""Lattices of perfect tiles may have so many times as many cells as those of ragged tiles: they cannot be made coarser
without losing what is perfect about them."""

FINER = 6
"""By how many times as many cells a lattice gets finer, at most."""

FINER_AT_LEAST = 1.5
"""Less than so many times as many cells are not worth making all tables again."""


@dataclass(frozen=True)
class Growing:
    """Bounds on what follows a tile while it grows, listed by how many of its dimensions are decided, from 0 on; None:
    nothing follows.

    near     looked up at the tile
    far      to be added, looked up at what the arrays of the next fanouts make of the tile
    fanouts  how many fanouts those are
    """

    near: list[Floats | None]
    far: list[Floats | None]
    fanouts: int = 0

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for table in (*self.near, *self.far) if table is not None)


class Bounds:
    """Bounds keep tables over one lattice, made when they are asked for: (groups of arrays, columns, lattice), where
    one group may hold for all of them.

    groups   what the arrays of all rows of each group have in common; none: one group, of which nothing is known
    alike    bounds over the same lattice for other arrays: what does not depend on arrays is taken from there
    outside  per group, bounds where nothing is known of the arrays inside some fanout
    since    that fanout; of others, 0
    level    which of `Lattice.for_groups` the lattice is, for a group of arrays
    settled  whether finer tables would add little
    rough    whether the groups are to be split into smaller ones
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        footprints: Footprints,
        lattice: Lattice,
        columns: TableColumns,
        groups: Sequence[ArrayGroup] = (),
        alike: Bounds | None = None,
        outside: Sequence[Callable[[int], Bounds]] = (),
        since: int = 0,
        budget: TableBudget | None = None,
        moves: LoopCharges | None = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.footprints = footprints
        self.lattice = lattice
        self.columns = columns
        self.cost_columns = columns.tables
        self.groups = tuple(groups) or (any_arrays(hierarchy),)
        self.arrays = self.groups[0] if len(self.groups) == 1 else stacked(self.groups)
        self.moves: LoopCharges = (moves or LoopCharges(hierarchy)) if alike is None else alike.moves
        self.memo: TableMemo = (budget or TableBudget()).memo() if alike is None else alike.memo.budget.memo()
        known = None if alike is None else alike.boundaries
        self.bits: TileBits | None = self._tile_bits() if alike is None else alike.bits
        self.boundaries: BoundaryBounds = BoundaryBounds(
            hierarchy, lattice, columns.tables, self.arrays, known, self.memo, self.bits
        )
        self.dims = hierarchy.problem.dim_names
        self.every_dim = range(len(self.dims))
        self.level = -1
        self.settled = False
        self.rough = False
        self._last = lattice.cell_of(hierarchy.visit)
        self._alike = alike
        self._outside = outside
        self._since = since
        self._parts: dict[int, LatticePart] = {}
        self._room: dict[tuple[int, tuple[int, ...]], Floats] = {} if alike is None else alike._room

    def _tile_bits(self) -> TileBits | None:
        """Return the bits that words with zeros take, tile by tile; None if nothing is known of them."""
        zeros = self.cost_columns.zeros
        if zeros is None or not zeros.rules.unsettled or not self.lattice.is_whole:
            return None
        return TileBits(self.hierarchy, self.footprints, self.lattice, zeros)

    @property
    def cells(self) -> int:
        """Count the cells of one column of a table."""
        return self.arrays.stacked * math.prod(self.lattice.shape)

    def forget(self) -> None:
        """Drop all tables; they are made again when they are asked for."""
        self.memo.forget()

    @property
    def affordable_alone(self) -> float:
        """Return how many cells a lattice may have whose tables take all the room once those of other bounds are
        gone."""
        return math.prod(self.lattice.shape) * self.memo.budget.most / max(self.memo.nbytes, 1)

    def finer(self, most_cells: float) -> Bounds | None:
        """Return bounds for the same arrays over a lattice several times as fine, of at most so many cells, in place of
        these; None if there is none."""
        cells, lattice = math.prod(self.lattice.shape), self.lattice
        if lattice.is_whole or FINER_AT_LEAST * cells > most_cells:
            return None
        finer = lattice.of_cells(int(min(FINER * cells, most_cells)))
        if math.prod(finer.shape) < FINER_AT_LEAST * cells:
            return None
        self.forget()
        found = Bounds(
            self.hierarchy,
            self.footprints,
            finer,
            self.columns,
            self.groups,
            budget=self.memo.budget,
            moves=self.moves,
        )
        found.level = self.level
        return found

    def prepare(self, state: State) -> None:
        """Make the tables that bound rows of which nothing but the arrays is decided."""
        self.table(state)
        for fanout in range(len(self.hierarchy.fanouts)):
            self.beyond(state, fanout)

    def take_over(self, other: Bounds, members: Ints) -> None:
        """Take over the tables of some of the groups that `prepare` has made."""
        for key, table in list(other.memo.items()):
            if isinstance(key, tuple) and key[0] in (TABLE, BEYOND):
                assert isinstance(table, np.ndarray)
                self.memo.keep(key, table[members])

    def at(self, table: Floats, tiles: Ints, member: Ints) -> Floats:
        """Look a table up at one tile per row, (rows, dims): (columns of rows, rows).

        member  (rows,) the group of arrays that each row belongs to, of those that the table is for
        """
        columns, cells = self.cost_columns.count, math.prod(self.lattice.shape)
        first = self.lattice.cell(tiles)
        if len(table) > 1:
            first = first + member * (columns * cells)
        found: Floats = table.reshape(-1)[first + cells * np.arange(columns)[:, None]]
        return self.columns.in_rows(found)

    def _owner(self, state: State) -> Bounds:
        """Return the bounds whose tables of a state hold for these arrays too."""
        since = self.moves.steps(state).since
        if self._alike is not None and since == len(self.hierarchy.fanouts):
            return self._alike._owner(state)
        if len(self._outside) == 1 and since > self._since:
            return self._outside[0](since)
        return self

    def table(self, state: State) -> Floats:
        """Tabulate (groups, columns, lattice) the least cost of all that lies above a tile: temporal loops come next,
        or a fanout.

        Outside all fanouts, and without a boundary that waits since inside, it is the same for all arrays; and for all
        that have the same arrays outside what has been passed, if nothing waits since inside that.
        """
        owner = self._owner(state)
        return owner.memo.of((TABLE, state), lambda: owner._made(state))

    def _made(self, state: State) -> Floats:
        steps = self.moves.steps(state)
        above, since = steps.passing, steps.since
        if self._outside and since > self._since:
            return np.concatenate([outside(since).table(state) for outside in self._outside])
        return self._loops(state) if above is None else self._fanout(above, state.passed)

    def _fanout(self, above: State, fanout: int) -> Floats:
        level, table = self.hierarchy.fanouts[fanout], self.table(above)
        limits = [math.prod(axis_limits(self.hierarchy.problem, level, dim)) for dim in self.dims]
        return inside_each(self.lattice, table, self.arrays.arrays[fanout], limits)

    def _part(self, passed: int) -> LatticePart:
        """Return the tiles inside fanout `passed` that leave room for all instances to come."""
        if passed not in self._parts:
            later = (sets for sets in self.arrays.arrays[passed:] if all(array is not None for array in sets))
            common = [np.gcd.reduce(np.concatenate(sets), axis=0) for sets in later]  # type: ignore[arg-type]
            self._parts[passed] = self.lattice.part(np.prod([np.ones(len(self.dims), np.int64), *common], axis=0))
        return self._parts[passed]

    def _loops(self, state: State) -> Floats:
        part = self._part(state.passed)
        return part.whole(part.grow_around(self._stopped(state, part), self.moves.steps(state).free))

    def _stopped(self, state: State, part: LatticePart) -> Floats:
        """Tabulate (groups, columns, part) the least cost if the next loop, should there be one, charges something; a
        new table."""
        owner = self._owner(state)
        steps = self.moves.steps(state)
        first, *others = steps.ends
        least = owner._end(state, first, part)
        for end in others:
            np.minimum(least, owner._end(state, end, part), out=least)
        for move, charged in steps.moves:
            after = owner._after_slide(charged, move, part)
            for boundary in move.fixed:
                after = after + part.of(owner.boundaries.cost(boundary, state.passed))
            np.minimum(least, after, out=least)
        if steps.next_group is not None:
            np.minimum(least, part.of(owner.table(steps.next_group)), out=least)
        return least

    def _after_slide(self, charged: State, move: LoopCharge, part: LatticePart) -> Floats:
        after = part.of(self.table(charged))
        if not move.sliding:
            return after
        for boundary in move.sliding:
            after = after + part.of(self.boundaries.cost(boundary, charged.passed, slid=True))
        return part.grow_around(after, move.dims)

    def after_fixed(self, state: State, move: LoopCharge) -> Floats:
        """Tabulate (groups, columns, lattice) the least cost of what follows the charges of a loop along which no tile
        slides."""
        if not move.sliding:
            return self.table(state.charging(move.moved))
        owner, part = self._owner(state), self._part(state.passed)
        return owner.memo.of(
            (SLID, state, move), lambda: part.whole(owner._after_slide(state.charging(move.moved), move, part))
        )

    def growing(self, state: State, dims: tuple[int, ...], later: tuple[int, ...] = ()) -> Growing:
        """Return bounds for a tile that grows along some dimensions, one after the other, before the next charge.

        later  free dimensions that may grow after them
        """
        owner = self._owner(state)
        return owner.memo.of((GROWING, state, dims, later), lambda: owner._growing(state, dims, later))

    def _growing(self, state: State, dims: tuple[int, ...], later: tuple[int, ...]) -> Growing:
        node_groups = self.hierarchy.next_node_groups(state)
        alone = node_groups[0] if len(node_groups) == 1 and not state.waiting else None
        more = None if alone is None else self._more_bits(alone)
        above, count = (state, 0) if alone is None else self.after(state, alone, ())
        if count:
            return Growing(self._decided(more, dims, later), self._decided(self.table(above), dims, later), count)
        part = self._part(state.passed)
        stopped = self.memo.of((STOPPED, state), lambda: part.whole(self._stopped(state, part)))
        return Growing(self._decided(stopped, dims, later), [None] * (len(dims) + 1))

    @functools.cached_property
    def any_boundaries(self) -> BoundaryBounds:
        """Return what boundaries cost at least for any arrays, in all columns of rows."""
        any_array = any_arrays(self.hierarchy)
        return BoundaryBounds(self.hierarchy, self.lattice, self.columns.rows, any_array, self.boundaries)

    def _decided(self, table: Floats | None, dims: tuple[int, ...], later: tuple[int, ...]) -> list[Floats | None]:
        """Return a table for each number of decided dimensions; those of `later` are never decided."""
        if table is None:
            return [None] * (len(dims) + 1)
        table = self.lattice.around(table, later)
        tables: list[Floats | None] = [table]
        for d in reversed(dims):
            table = self.lattice.around(table, [d])
            tables.append(table)
        return tables[::-1]

    def _end(self, state: State, end: End, part: LatticePart) -> Floats:
        """Tabulate (groups, columns, part) the least cost from a node group's tile on, where all that waits goes on
        waiting; a new table."""
        if end.above is None:
            table = np.full((self.arrays.stacked, self.cost_columns.count, *self.lattice.shape), np.inf)
            once = [self.boundaries.at_last(c, state.passed) for c in state.waiting]
            table[:, :, *self._last] = sum(once) if once else 0.0
            return part.of(table)
        full = self._full(end.node_group.memory, end.residents)
        least: Floats = np.maximum(part.of(self.table(end.above)), part.of(full))
        more = self._more_bits(end.node_group) if end.residents else None
        return least if more is None else np.add(least, part.of(more), out=least)

    def _full(self, memory: int, residents: tuple[int, ...]) -> Floats:
        """Tabulate (lattice) 0 for tiles of some tensors that fit a memory, and infinity for the others."""
        key = memory, residents
        if key not in self._room:
            grids = np.meshgrid(*self.lattice.least, indexing="ij")
            smallest = np.stack([g.ravel() for g in grids], axis=1)
            fits = self.footprints.fits(memory, [(t, smallest) for t in residents]) if residents else True
            self._room[key] = np.where(fits, np.zeros(len(smallest)), np.inf).reshape(self.lattice.shape)
        return self._room[key]

    def _more_bits(self, node_group: NodeGroup) -> Floats | None:
        """Tabulate (groups, columns, lattice) what the bits of words that the MACs read cost more than was known before
        a node group's tile; None: nothing."""
        of_each = (self.boundaries.more_at_macs(node_group.memory, t) for t in node_group.tensors)
        found = [more for more in of_each if more is not None]
        return sum(found[1:], found[0]) if found else None

    def beyond(self, state: State, fanout: int, waiting: bool = True) -> Floats:
        """Tabulate (groups, columns, lattice) the least cost of all that lies above a fanout, over all tiles around its
        array's.

        waiting  together with what comes from memories inside the fanout, as far as it must wait; else without all that
        """
        while state.passed <= fanout:
            if self.hierarchy.at_fanout(state):
                state = self.hierarchy.passing(state)
                continue
            (node_group, *_) = self.hierarchy.next_node_groups(state)
            state = self.hierarchy.place(state, node_group, ())
        if not waiting:
            state = state.charging(state.waiting)
        owner = self._owner(state)
        return owner.memo.of((BEYOND, state), lambda: self.lattice.around(owner.table(state), self.every_dim))

    def after(self, state: State, node_group: NodeGroup, still: tuple[MemoryBoundary, ...]) -> tuple[State, int]:
        """Return the state above a node group and above the fanouts that follow it directly, and how many those are."""
        placed = self.hierarchy.place(state, node_group, still)
        count = 0
        while self.hierarchy.at_fanout(placed):
            placed, count = self.hierarchy.passing(placed), count + 1
        return placed, count


def lattice_of(
    hierarchy: Hierarchy, tiling: Tiling, linear: Sequence[bool], most_cells: int, effort: Effort = EFFORT
) -> Lattice:
    """Return the lattice of a problem's tiles, or raise a ProblemError for a dimension that is too long.

    most_cells  where perfect tiles would take more, the lattice is a coarse one of ragged tiles: these are among them
    """
    check_searchable(hierarchy.problem, tiling)
    group_cells = (effort.group_cells, effort.first_cells)
    sizes = [size for _, size in hierarchy.problem.dims]
    if (
        tiling == "perfect"
        and math.prod(len(grid(size, "perfect", True)) for size in sizes) > PERFECT_CELLS * most_cells
    ):
        return Lattice(sizes, "ragged", linear, most_cells, True, group_cells)
    return Lattice(sizes, tiling, linear, most_cells, group_cells=group_cells)


def cells_for(moves: LoopCharges, columns: int, nbytes: float) -> int:
    """Return how many cells a lattice may have so that all tables of a placement take about so much memory; some, for
    fewer would say nothing."""
    tables = 3 * states_above(moves, moves.hierarchy.start(moves.hierarchy.fullest_placement), EFFORT.some)
    return int(max(EFFORT.some, nbytes / (8 * columns * tables)))


def states_above(moves: LoopCharges, start: State, most: int) -> int:
    """Count the states that may follow a state, itself included, up to `most`."""
    found, new = {start}, [start]
    while new and len(found) < most:
        steps = moves.steps(new.pop())
        follow = [steps.passing, steps.next_group, *(end.above for end in steps.ends), *(s for _, s in steps.moves)]
        fresh = {state for state in follow if state is not None} - found
        found |= fresh
        new += fresh
    return len(found)
