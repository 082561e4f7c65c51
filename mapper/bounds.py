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

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cost_models.cost import tensor_tile_words
from ..cost_models.sets import distinct_sums
from ..ir import Rank, Tensor
from .array_groups import ArrayGroup, Limit, any_arrays, stacked
from .arrays import axis_limits
from .footprints import Footprints
from .hierarchy import MAC, Block, Crossing, Hierarchy, Holders, State
from .lattice import Lattice
from .ledger import Ledger
from .rows import Floats, Ints
from .tilings import Tiling

CELLS_AT_ONCE = 100_000
"""Numbers in a table for several groups of arrays at once, about."""

CELLS_IN_USE = 100_000
"""Cells of the lattices of all groups of arrays whose tables are kept, about."""


@dataclass(frozen=True)
class Move:
    """What a loop can charge at once.

    dims     dimensions whose loop does just that; where something slides, one
    moved    the waiting crossings that it moves
    sliding  those of them whose tile slides along it
    """

    dims: tuple[int, ...]
    moved: tuple[Crossing, ...]
    sliding: tuple[Crossing, ...]


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
    """Tables of one problem and machine, made when they are asked for."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        footprints: Footprints,
        lattice: Lattice,
        ledger: Ledger,
        arrays: ArrayGroup | None = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.footprints = footprints
        self._made_of = (hierarchy, footprints)
        self.lattice = lattice
        self.ledger = ledger
        self.arrays = arrays or any_arrays(hierarchy)
        self.tensors = hierarchy.problem.tensors
        self.dims = hierarchy.problem.dim_names
        self.every_dim = range(len(self.dims))
        loop_moves = hierarchy.arch.loop_moves  # with `reuse: at_node` every loop charges what waits
        self.moving = [frozenset(i for i, d in enumerate(self.dims) if loop_moves(d, t)) for t in self.tensors]
        self._whole = (slice(0, 1),) * len(self.dims)  # the first cell of every axis is the whole dimension
        self._outside: Bounds | None = None
        self._likes: dict[int, Bounds] = {}
        self.level = -1
        self.settled = False  # whether finer tables would add little
        self._in_use: list[Bounds] = []
        self.forget()
        self._moves: dict[tuple[Crossing, ...], tuple[Move, ...]] = {}
        self._words: dict[tuple[int, bool], np.ndarray] = {}
        self._fits: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}
        self._limits = [
            [math.prod(axis_limits(hierarchy.problem, fanout, dim)) for dim in self.dims]
            for fanout in hierarchy.fanouts
        ]

    def forget(self) -> None:
        """Drop all tables; they are made again when they are asked for."""
        self._tables: dict[State, Floats] = {}
        self._ends: dict[tuple[State, Block, tuple[Crossing, ...]], Floats] = {}
        self._costs: dict[tuple[Crossing, int], Floats] = {}
        self._once: dict[Crossing, Floats] = {}
        self._beyond: dict[State, Floats] = {}
        self._stops: dict[State, Floats] = {}
        self._growing: dict[tuple[State, tuple[int, ...], tuple[int, ...]], Growing] = {}

    def keep(self, group: Bounds) -> None:
        """Keep the tables of the groups that were used last, and drop those of the others."""
        if group is self:
            return
        if group in self._in_use:
            self._in_use.remove(group)
        self._in_use.append(group)
        while sum(math.prod(bounds.lattice.shape) for bounds in self._in_use) > CELLS_IN_USE and self._in_use[1:]:
            self._in_use.pop(0).forget()

    def for_arrays(self, arrays: ArrayGroup, level: int = 0) -> Bounds:
        """Bounds for rows with arrays of a group only, over a lattice of `Lattice.for_groups`."""
        bounds = Bounds(*self._made_of, self.lattice.for_groups[level], self.ledger, arrays)
        bounds._share(self.rough(level))
        bounds.level = level
        return bounds

    def rough(self, level: int = 0) -> Bounds:
        """Bounds for any arrays over a lattice of `Lattice.for_groups`."""
        lattice = self.lattice.for_groups[level]
        if level not in self._likes:
            self._likes[level] = self if lattice is self.lattice else Bounds(*self._made_of, lattice, self.ledger)
        return self._likes[level]

    def for_several(self, groups: Sequence[ArrayGroup], holders: Holders) -> Iterator[Bounds]:
        """Bounds for each of several groups over the first of the lattices, with what their first bounds on a placement
        take made for many groups at once."""
        cells = math.prod(self.lattice.for_groups[0].shape) * self.ledger.columns
        for several in _in_batches(groups, max(1, CELLS_AT_ONCE // cells)):
            all_of_them = self.for_arrays(stacked(several, len(self.dims)))
            all_of_them.prepare(self.hierarchy.start(holders))
            for i, group in enumerate(several):
                one = self.for_arrays(group)
                one._take_over(all_of_them, slice(i * self.ledger.columns, (i + 1) * self.ledger.columns))
                yield one

    def prepare(self, state: State) -> None:
        """Make the tables that a bound on rows with nothing but arrays decided takes."""
        self.table(state)
        for fanout in range(len(self.hierarchy.fanouts)):
            self.beyond(state, fanout)

    def _take_over(self, other: Bounds, part: slice) -> None:
        self._tables = {state: table[part] for state, table in other._tables.items()}
        self._beyond = {state: table[part] for state, table in other._beyond.items()}

    def finer(self, group: Bounds) -> Bounds | None:
        """Bounds for the same group over the next lattice; None: there is none."""
        level = group.level + 1
        return self.for_arrays(group.arrays, level) if level < len(self.lattice.for_groups) else None

    def for_one(self, arrays: Sequence[Ints]) -> Bounds:
        """Bounds for one member of the group: its own arrays, and the group's tables of all that lies outside them."""
        own = replace(self.arrays, array=tuple(arrays))
        one = Bounds(*self._made_of, self.lattice, self.ledger, own)
        one._share(self)
        one._outside = self
        return one

    def _share(self, other: Bounds) -> None:
        """Take over what does not depend on arrays."""
        self._words, self._fits, self._moves = other._words, other._fits, other._moves

    def _shares(self, state: State) -> Bounds:
        """Whose tables of a state these are."""
        return self if self._outside is None or state.passed < len(self.hierarchy.fanouts) else self._outside

    # ---- states --------------------------------------------------------------------------------------------

    def table(self, state: State) -> Floats:
        """(columns, lattice) least cost of all that lies above a tile: temporal loops come next, or a fanout."""
        known = self._shares(state)._tables
        if state not in known:
            known[state] = self._fanout(state) if self.hierarchy.at_fanout(state) else self._loops(state)
        return known[state]

    def _fanout(self, state: State) -> Floats:
        table, arrays = self.table(self.hierarchy.passing(state)), self.arrays.array[state.passed]
        if arrays is None:
            return self._grown(table, state.passed, np.zeros(len(self.dims), dtype=np.int64))
        groups = np.split(table, self.arrays.stacked)
        grown = [self._grown(t, state.passed, a) for t, a in zip(groups, np.atleast_2d(arrays), strict=True)]
        return grown[0] if len(grown) == 1 else np.concatenate(grown)

    def _grown(self, table: Floats, fanout: int, array: Ints) -> Floats:
        """The table inside a fanout; an array of 0 instances is any that the axes allow."""
        for d in self.every_dim:
            if array[d] == 0:
                table = self._within(table, d, self._limits[fanout][d])
            elif array[d] > 1:
                table = self._spread(table, d, int(array[d]))
        return table

    def _spread(self, table: Floats, dim: int, instances: int) -> Floats:
        """The table at the tiles that some instances of each tile cover; infinite where they are too many."""
        least, size = self.lattice.least[dim], self.lattice.sizes[dim]
        covered = np.minimum(least * instances, size)
        taken = np.take(table, self.lattice.places[dim][covered], axis=dim + 1)
        if self.lattice.tiling == "perfect":
            closed = np.where(size % (least * instances) == 0, 0.0, np.inf)
            spread: Floats = taken + self.lattice.along([dim], closed)[None]
            return spread
        # Tiles of one cell may cover tiles of several.
        most = np.minimum(np.append(size + 1, least[:-1]) - 1, size) * instances
        first, last = self.lattice.places[dim][np.minimum(most, size)], self.lattice.places[dim][covered]
        for back in range(1, int((last - first).max()) + 1):
            np.minimum(taken, np.take(table, np.maximum(last - back, first), axis=dim + 1), out=taken)
        return taken

    def _loops(self, state: State) -> Floats:
        return self.lattice.around(self._stopped(state), self.free(state.waiting))

    def _stopped(self, state: State) -> Floats:
        """The least cost if the next loop, should there be one, charges something."""
        known = self._shares(state)._stops
        if state not in known:
            least: Floats | None = None
            for block in self.hierarchy.next_blocks(state):
                end = self.end(state, block, state.waiting)
                least = end if least is None else np.minimum(least, end)
            assert least is not None
            for move in self.moves(state.waiting):
                least = np.minimum(least, self._moved(state, move))
            known[state] = least
        return known[state]

    def _moved(self, state: State, move: Move) -> Floats:
        still = tuple(c for c in state.waiting if c not in move.moved)
        after = self.table(State(state.passed, state.ahead, still))
        if move.sliding:
            for crossing in move.sliding:
                after = after + self.cost(crossing, state.passed)
            after = self.lattice.around(after, move.dims)
        for crossing in move.moved:
            if crossing not in move.sliding:
                after = after + self.cost(crossing, state.passed)
        return after

    def free(self, waiting: tuple[Crossing, ...]) -> tuple[int, ...]:
        """Dimensions that move none of the waiting tensors."""
        return tuple(d for d in self.every_dim if not any(d in self.moving[c.tensor] for c in waiting))

    def moves(self, waiting: tuple[Crossing, ...]) -> tuple[Move, ...]:
        """All that a single loop can charge."""
        if waiting not in self._moves:
            found: dict[object, Move] = {}
            for d in self.every_dim:
                moved = tuple(c for c in waiting if d in self.moving[c.tensor])
                sliding = tuple(c for c in moved if d in self.sliding(c))
                if moved:
                    key = (moved, d if sliding else None)
                    dims = found[key].dims if key in found else ()
                    found[key] = Move((*dims, d), moved, sliding)
            self._moves[waiting] = tuple(found.values())
        return self._moves[waiting]

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

    def sliding(self, crossing: Crossing) -> frozenset[int]:
        """Dimensions along which the inner memory reuses overlaps of a sliding tile."""
        tensor = self.tensors[crossing.tensor]
        if tensor.is_output or self.hierarchy.memories[crossing.inner].halo != "innermost":
            return frozenset()
        return frozenset(self.dims.index(dim) for rank in tensor.ranks if len(rank) > 1 for dim, _ in rank)

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
            once = sum((self.at_whole(c, state.passed) for c in still), np.zeros(columns))
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

    def _within(self, table: Floats, dim: int, limit: int) -> Floats:
        """The least over tiles around that are at most `limit` times as large along a dimension."""
        if limit == 1 or self.lattice.shape[dim] == 1:
            return table
        if limit >= self.lattice.sizes[dim]:
            return self.lattice.around(table, [dim])
        lines = np.moveaxis(table, dim + 1, 0)
        least = np.empty_like(lines)
        for i, reach in enumerate(self._reach(dim, limit)):
            least[i] = lines[reach].min(axis=0)
        return np.moveaxis(least, 0, dim + 1)

    def _reach(self, dim: int, limit: int) -> list[Ints]:
        """Per cell of an axis, the cells that up to `limit` instances of its tiles may cover."""
        least, size = self.lattice.least[dim], self.lattice.sizes[dim]
        found = []
        for i, tile in enumerate(least):
            if self.lattice.tiling == "perfect":
                found.append(np.flatnonzero((least % tile == 0) & (least <= tile * limit)))
                continue
            # Tiles up to the next cell's least share this one.
            most = (least[i - 1] - 1 if i else size) * limit
            found.append(np.flatnonzero((np.arange(len(least)) <= i) & (least <= most)))
        return found

    # ---- words at a tile -----------------------------------------------------------------------------------

    def cost(self, crossing: Crossing, passed: int) -> Floats:
        """(columns, lattice) of a crossing between memories that is charged at each tile, inside fanout `passed`."""
        key = (crossing, passed)
        if key not in self._costs:
            tensor = self.tensors[crossing.tensor]
            exact = not tensor.is_output and self.hierarchy.memories[crossing.inner].halo == "exact"
            words = np.broadcast_to(self._words_at_tiles(crossing.tensor, exact), self.lattice.shape)
            flat = np.ascontiguousarray(words).ravel()
            costs = np.moveaxis(self.book(crossing, passed, flat), 1, 0)
            self._costs[key] = costs.reshape(-1, *self.lattice.shape)
        return self._costs[key]

    def at_whole(self, crossing: Crossing, passed: int) -> Floats:
        """(columns,) of a crossing that is charged once, at the whole problem."""
        return self.cost(crossing, passed)[:, *self._whole].reshape(-1)

    def once(self, crossing: Crossing) -> Floats:
        """(columns,) of a crossing that every word of the tensor passes once."""
        if crossing not in self._once:
            words = np.array([float(tensor_tile_words(self.tensors[crossing.tensor], self.hierarchy.problem.sizes))])
            self._once[crossing] = self.book(crossing, len(self.hierarchy.fanouts), words).reshape(-1)
        return self._once[crossing]

    def book(self, crossing: Crossing, passed: int, words: Floats) -> Floats:
        """(columns, groups, n) least cost of a crossing whose charge moves so many different words, inside fanout
        `passed`."""
        tensor = self.tensors[crossing.tensor]
        costs = np.zeros((self.ledger.columns, self.arrays.stacked, len(words)))
        nothing = np.zeros(1)
        outer, inner = self.hierarchy.memories[crossing.outer], self._memory(crossing.inner)
        outer_instances = np.asarray(self._most_instances(crossing.outer))
        inner_instances = np.asarray(self._most_instances(crossing.inner)) if inner else nothing
        copies, apart, shared = self._copies(crossing, passed)
        # However many instances share a serving, every word of the tensor is served once.
        distinct = float(tensor_tile_words(tensor, self.hierarchy.problem.sizes))
        filled, served = words * copies, np.maximum(words * apart / shared, distinct)
        if not tensor.is_output:
            bits = self.ledger.arch.width_bits(tensor)
            self.ledger.book(costs, outer, served * bits, nothing, outer_instances)
            if inner:
                self.ledger.book(costs, inner, nothing, filled * bits, inner_instances)
            return costs
        # A word's first visit is free on the way in, once per instance that holds a part of its sum. Instances inside
        # the charge repeat visits alike, so the visits after the first are at least those at one of them; and at least
        # all visits, less one to as many instances as there may be.
        wide = self.ledger.arch.partial_width_bits(tensor)
        narrow = min(wide, self.ledger.arch.width_bits(tensor))
        again = np.maximum(served - distinct * self._parts(crossing.outer, passed), 0.0)
        self.ledger.book(costs, outer, again * wide, again * wide + distinct * narrow, outer_instances)
        if inner:
            firsts = distinct * self._parts(crossing.inner, passed)
            every = filled - firsts * self._parts_inside(crossing, passed)
            again = np.maximum(np.maximum(words - firsts, every), 0.0)
            reads = (again * wide + copies * distinct * narrow) * self.ledger.arch.inner_drain_read
            self.ledger.book(costs, inner, reads, again * wide, inner_instances)
        return costs

    def _copies(self, crossing: Crossing, passed: int) -> tuple[Limit, Limit, Limit]:
        """Over the fanouts between the holders: below the charge, how many instances want a word, and how many times
        it is served to them; above the charge, how many may share a serving."""
        copies: Limit = 1.0
        apart: Limit = 1.0
        shared: Limit = 1.0
        for fanout in range(len(self.hierarchy.fanouts)):
            if not self.hierarchy.between(fanout, crossing):
                continue
            joins = self.hierarchy.joins(fanout, crossing)
            if fanout >= passed:
                shared = shared * (self.arrays.shared[fanout][crossing.tensor] if joins else 1.0)
            else:
                copies = copies * self.arrays.copies[fanout][crossing.tensor]
                apart = apart * (1.0 if joins else self.arrays.copies[fanout][crossing.tensor])
        return copies, apart, shared

    def _most_instances(self, memory: int) -> Limit:
        outside = (f for f, inside in enumerate(self.hierarchy.inside) if inside > memory)
        return math.prod(self.arrays.instances[f] for f in outside)

    def _memory(self, memory: int) -> Any:
        return None if memory == MAC else self.hierarchy.memories[memory]

    def _parts(self, memory: int, passed: int) -> Limit:
        """Most instances of a memory, over fanouts from `passed` on, that hold parts of the same sums."""
        parts: Limit = 1.0
        for fanout in range(passed, len(self.hierarchy.fanouts)):
            if self.hierarchy.inside[fanout] > memory:
                parts = parts * self.arrays.parts[fanout]
        return parts

    def _parts_inside(self, crossing: Crossing, passed: int) -> Limit:
        """Most instances, over fanouts between the holders and below the charge, that hold parts of the same sums."""
        inside = (f for f in range(passed) if self.hierarchy.between(f, crossing))
        return math.prod(self.arrays.parts[f] for f in inside)

    def _words_at_tiles(self, t: int, exact_halo: bool) -> np.ndarray:
        """Words of a tensor if it is charged at each tile; broadcastable over the lattice."""
        key = (t, exact_halo)
        if key not in self._words:
            tensor = self.tensors[t]
            if exact_halo:
                distinct = float(tensor_tile_words(tensor, self.hierarchy.problem.sizes))
                self._words[key] = np.full((1,) * len(self.dims), distinct)
            else:
                self._words[key] = self._words_of(tensor)
        return self._words[key]

    def _words_of(self, tensor: Tensor) -> np.ndarray:
        words = np.ones((1,) * len(self.dims))
        for i, dim in enumerate(self.dims):
            if dim not in tensor.dims:
                counts = np.ceil(self.lattice.sizes[i] / self.lattice.tiles[i])
                words = words * self.lattice.along([i], self.lattice.least_in_cells(counts, [i]))
        for rank in tensor.ranks:
            words = words * self._rank_words(rank)
        return words

    def _rank_words(self, rank: Rank) -> np.ndarray | float:
        """Words along a rank, over all tiles of each size."""
        indices = [self.dims.index(dim) for dim, _ in rank]
        sizes = [self.lattice.sizes[i] for i in indices]
        if len(rank) <= 1:
            return float(math.prod(sizes))
        axes = [self.lattice.tiles[i] for i in indices]
        words = np.empty([len(axis) for axis in axes])
        for place in itertools.product(*(range(len(axis)) for axis in axes)):
            tiles = [int(axis[p]) for axis, p in zip(axes, place, strict=True)]
            words[place] = _all_tiles(tuple(c for _, c in rank), tiles, sizes)
        return self.lattice.along(indices, self.lattice.least_in_cells(words, indices))


def lattice_of(hierarchy: Hierarchy, tiling: Tiling, even: Sequence[bool]) -> Lattice:
    """The lattice of a problem's tiles."""
    return Lattice([size for _, size in hierarchy.problem.dims], tiling, even)


def _in_batches(groups: Sequence[ArrayGroup], count: int) -> Iterator[Sequence[ArrayGroup]]:
    for first in range(0, len(groups), count):
        yield groups[first : first + count]


def _all_tiles(coefficients: tuple[int, ...], tiles: Sequence[int], sizes: Sequence[int]) -> float:
    """Distinct sums of every tile, ragged last ones included, added up."""
    kinds = []
    for tile, size in zip(tiles, sizes, strict=True):
        full, rest = divmod(size, tile)
        kinds.append([(full, tile)] + ([(1, rest)] if rest else []))
    total = 0
    for combination in itertools.product(*kinds):
        count = 1
        for number, _ in combination:
            count *= number
        total += count * distinct_sums(coefficients, tuple(extent for _, extent in combination))
    return float(total)
