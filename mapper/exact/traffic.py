"""Words that cross the boundaries of a path, for many partial mappings at once.

A row is one partial mapping from the inside out (`rows.py`). A tensor that has been charged has words that no loop
further out can change: the tiles above the charge enter only through their number, ceil(size / tile). All counts are
exact, with two exceptions where fanouts that share words lie above the charge: with ragged tiles, as long as such a
fanout has not been passed; and for windows (ranks with several dimensions), of which the most that instances may have
in common is taken as shared. Those are bounds, never above the exact count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...cost_models.cost import tensor_tile_words
from ...ir import Rank, Tensor
from .charge import Charge
from .hierarchy import MAC, Crossing, Path
from .rows import Floats, Ints, Rows, ceil_div_array, count_active, per_distinct_row
from .windows import every_step_total, fewest_sums, rank_total

Digits = list[tuple[Ints, Ints]]
"""Loops as (trips, tile), outermost first."""

Skip = Callable[[int], bool]
"""Whether a fanout's instances share, so that they are not counted one by one."""


@dataclass(frozen=True)
class Spread:
    """Instances along one dimension of one fanout: how many, and the tile of each."""

    fanout: int
    trips: Ints
    tile: Ints


class TrafficModel:
    """Counts for rows that have taken one path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hierarchy = path.hierarchy
        self.problem = path.hierarchy.problem
        self.sizes = np.array([size for _, size in self.problem.dims], dtype=np.int64)
        self.dim_index = {dim: i for i, dim in enumerate(self.problem.dim_names)}

    # ---- instances -----------------------------------------------------------------------------------------

    def spreads(self, rows: Rows, dim: int, above: int, up_to: int) -> list[Spread]:
        """Instances along `dim` of the fanouts in gaps above block `above`, up to gap `up_to`, outermost first."""
        found = []
        for fanout, gap in enumerate(self.path.gaps):
            if above < gap <= up_to:
                tile = rows.tiles[gap - 1][:, dim] if gap else np.ones(len(rows), dtype=np.int64)
                for inner in range(fanout):
                    if self.path.gaps[inner] == gap:
                        tile = tile * rows.arrays[inner][:, dim]
                found.append(Spread(fanout, rows.arrays[fanout][:, dim], tile))
        return found[::-1]

    def array_tile(self, rows: Rows, gap: int) -> Ints:
        """(rows, dims) elements that all instances of a gap's fanouts cover together."""
        return self._covered(rows, gap, slice(None))

    def _covered(self, rows: Rows, gap: int, dims: int | slice) -> Ints:
        """The same along some of the dimensions."""
        one = np.ones((len(rows), len(self.sizes)), dtype=np.int64)
        tile = (rows.tiles[gap - 1] if gap else one)[:, dims]
        for fanout, place in enumerate(self.path.gaps):
            if place == gap:
                tile = tile * rows.arrays[fanout][:, dims]
        return np.minimum(tile, self.sizes[dims])

    def instances(self, rows: Rows, memory: int) -> Floats:
        """(rows,) instances of a memory in use."""
        used = np.ones(len(rows))
        for fanout, inside in enumerate(self.hierarchy.inside):
            if inside > memory:
                used = used * rows.arrays[fanout].prod(axis=1)
        return used

    # ---- words ---------------------------------------------------------------------------------------------

    def filled(self, rows: Rows, crossing: Crossing, charge: Charge) -> Floats:
        """(rows,) words given to all instances of the inner memory (operands), or leaving them (partial sums)."""
        return self._charged(rows, crossing, charge, lambda fanout: False).astype(np.float64)

    def served(self, rows: Rows, crossing: Crossing, charge: Charge, inside: int | None = None) -> Floats:
        """(rows,) words read from, or arriving at, the outer memory; or, if only the fanouts inside one share words,
        those that pass there."""
        joining = self._joining(crossing, inside)
        words = self._charged(rows, crossing, charge, joining.__contains__)
        shared = self._shared_windows(rows, crossing, charge.gap, charge.tile, joining)
        return self._shared_out(crossing, words, shared * self.shared_later(rows, crossing, inside))

    def computed(self, rows: Rows, crossing: Crossing, inside: int | None = None) -> Floats:
        """(rows,) words that the MACs take from, or give to, the innermost memory that keeps the tensor; or, if only
        the fanouts inside one share words, those that pass there."""
        tensor, joining = self.problem.tensors[crossing.tensor], self._joining(crossing, inside)
        joins = joining.__contains__
        words = np.ones(len(rows), dtype=np.int64)
        for dim, index in self.dim_index.items():
            if dim not in tensor.dims:
                kinds = rows.kinds(index)
                active = count_active(int(self.sizes[index]), self._every_step(kinds.rows, index, joins))
                words = words * active[kinds.which]
        for rank in tensor.ranks:
            words = words * self._computed_along(rows, rank, joins)
        tile = self.array_tile(rows, self.path.gap)
        shared = self._shared_windows(rows, crossing, self.path.gap, tile, joining)
        return self._shared_out(crossing, words, shared * self.shared_later(rows, crossing, inside))

    def passing(self, rows: Rows, crossing: Crossing, charge: Charge | None, inside: int) -> Floats:
        """(rows,) words that pass between the holders in both directions, with only the fanouts inside one sharing."""
        if charge is None:
            return self.computed(rows, crossing, inside)
        tensor, words = self.problem.tensors[crossing.tensor], self.served(rows, crossing, charge, inside)
        if not tensor.is_output:
            return words
        joining = self._joining(crossing, inside)
        apart = [f for f in self._outside(crossing.inner) if f not in joining]
        first = float(self.distinct_words(tensor)) * self._parts(rows, apart)
        return 2 * words - first * self.hierarchy.arch.first_read_elision

    def steps(self, rows: Rows) -> Floats:
        """(rows,) time steps; at least, where fanouts are not passed yet."""
        steps = np.ones(len(rows), dtype=np.float64)
        later = rows.arrays[len(self.path.gaps) :]
        for dim, size in enumerate(self.sizes.tolist()):
            kinds = rows.kinds(dim)
            active = count_active(size, self._every_step(kinds.rows, dim, lambda fanout: True))
            steps_along = active.astype(np.float64)[kinds.which]
            if later:
                spread = np.prod([a[:, dim] for a in later], axis=0)
                all_spread = np.prod([a[:, dim] for a in rows.arrays], axis=0)
                steps_along = np.maximum(steps_along / spread, ceil_div_array(size, all_spread))
            steps = steps * steps_along
        return steps

    def first_words(self, rows: Rows, tensor: Tensor, memory: int) -> Floats:
        """(rows,) distinct output words that the instances of a memory ever hold, each instance its own."""
        return float(self.distinct_words(tensor)) * self.reduction_instances(rows, memory)

    def reduction_instances(self, rows: Rows, memory: int) -> Floats:
        """(rows,) instances of a memory among which each holds a part of the same sums."""
        return self._parts(rows, self._outside(memory))

    def _outside(self, memory: int) -> list[int]:
        """Fanouts outside a memory."""
        return [fanout for fanout, inside in enumerate(self.hierarchy.inside) if inside > memory]

    def _parts(self, rows: Rows, fanouts: Sequence[int]) -> Floats:
        sums = [i for dim, i in self.dim_index.items() if dim not in self.problem.output.dims]
        parts = np.ones(len(rows))
        for fanout in fanouts:
            parts = parts * rows.arrays[fanout][:, sums].prod(axis=1)
        return parts

    def _joining(self, crossing: Crossing, inside: int | None) -> frozenset[int]:
        """Fanouts between the holders whose instances share words: all of them, or those inside one."""
        count = len(self.hierarchy.fanouts) if inside is None else inside
        return frozenset(f for f in range(count) if self.hierarchy.joins(f, crossing))

    def distinct_words(self, tensor: Tensor) -> int:
        """Distinct words of the whole tensor: no fewer are moved, whatever a tile's footprint counts."""
        return tensor_tile_words(tensor, self.problem.sizes)

    # ---- parts ---------------------------------------------------------------------------------------------

    def shared_later(self, rows: Rows, crossing: Crossing, inside: int | None = None) -> Floats:
        """(rows,) instances, over fanouts that are not passed yet, that share a word of a tensor that none of their
        dimensions moves; with ragged tiles at most."""
        others = [i for dim, i in self.dim_index.items() if dim not in self.problem.tensors[crossing.tensor].dims]
        shared = np.ones(len(rows))
        joining = self._joining(crossing, inside)
        for fanout in range(len(self.path.gaps), len(self.hierarchy.fanouts)):
            if fanout in joining:
                shared = shared * rows.arrays[fanout][:, others].prod(axis=1)
        return shared

    def _shared_out(self, crossing: Crossing, words: Ints, shared: Floats) -> Floats:
        """(rows,) words that are served, where so many instances share one: every word of the tensor at least once."""
        return np.maximum(words / shared, self.distinct_words(self.problem.tensors[crossing.tensor]))

    def _shared_windows(self, rows: Rows, crossing: Crossing, gap: int, tile: Ints, joining: frozenset[int]) -> Floats:
        """(rows,) instances of fanouts above a gap, passed or not, that may share a word of a window; at most.

        Along one dimension, instances stand at least a tile apart, and a word lies in those that the window of the
        tile (rows, dims) covers; along the others, it may lie in all. And n instances along a dimension make the
        window longer by n - 1 words at least, whatever their distance: a set of sums A + B has |A| + |B| - 1 elements
        at least. Of windows of one word, the fewest words that one array of them may want are known.
        """
        shared = np.ones(len(rows))
        gaps = self.path.gaps
        above = [f for f in sorted(joining) if f >= len(gaps) or gaps[f] > gap]
        for rank in self.problem.tensors[crossing.tensor].ranks:
            if len(rank) > 1 and above:
                dims = [(self.dim_index[dim], coefficient) for dim, coefficient in rank]
                span = 1 + sum(c * (tile[:, i] - 1) for i, c in dims)
                spread = [np.prod([rows.arrays[f][:, i] for f in above], axis=0) for i, _ in dims]
                apart = [c * tile[:, i] for i, c in dims]
                near = [np.minimum(n, ceil_div_array(span, step)) / n for n, step in zip(spread, apart, strict=True)]
                every = np.prod(spread, axis=0)
                longer = span + np.sum(spread, axis=0) - len(dims)
                if len(above) == 1 and len(dims) == 2:
                    longer = np.where(span == 1, self._least_union(rank, spread), longer)
                shared = shared * every * np.minimum(np.min(near, axis=0), span / longer)
        return shared

    def _least_union(self, rank: Rank, spread: Sequence[Ints]) -> Ints:
        """(rows,) words that so many instances along the two dimensions of a rank want together, at least, if each
        wants one."""
        sizes = tuple(int(self.sizes[self.dim_index[dim]]) for dim, _ in rank)
        coefficients = tuple(coefficient for _, coefficient in rank)
        return per_distinct_row(spread, lambda counts: (fewest_sums(coefficients, sizes, counts), 0))[:, 0]

    def _charged(self, rows: Rows, crossing: Crossing, charge: Charge, joins: Skip) -> Ints:
        tensor = self.problem.tensors[crossing.tensor]
        inner = self.path.block_of(crossing.inner, crossing.tensor)
        repeats = np.ones(len(rows), dtype=np.int64)
        for dim, index in self.dim_index.items():
            if dim not in tensor.dims:
                kinds = charge.kinds(rows, (index,))
                spread = [s for s in self.spreads(kinds.rows, index, inner, charge.gap) if not joins(s.fanout)]
                digits = [*self._above(kinds.rows, index, kinds.charge, joins), *((s.trips, s.tile) for s in spread)]
                repeats = repeats * count_active(int(self.sizes[index]), digits)[kinds.which]
        slid = self._sliding_rank(tensor, charge)
        words = np.ones(len(rows), dtype=np.int64)
        kept = np.ones(len(rows), dtype=np.int64)
        for rank in tensor.ranks:
            wanted, held = self._along(rows, rank, inner, charge, joins, rank is slid)
            words = words * wanted
            kept = kept * (held if rank is slid else wanted)
        return repeats * (words - kept if slid is not None else words)

    def _above(self, rows: Rows, dim: int, charge: Charge, joins: Skip) -> Digits:
        """The loops above a charge along a dimension, without fanouts that share."""
        tile, size = charge.tile[:, dim], int(self.sizes[dim])
        if not any(gap > charge.gap and joins(fanout) for fanout, gap in enumerate(self.path.gaps)):
            return [(ceil_div_array(size, tile), tile)]
        top = self._covered(rows, self.path.gap, dim)
        digits = [(ceil_div_array(size, top), top)]
        for level in range(self.path.gap, charge.gap, -1):
            digits += self._spread_digits(rows, dim, level, joins)
            below = self._covered(rows, level - 1, dim) if level - 1 > charge.gap else tile
            digits.append((ceil_div_array(rows.tiles[level - 1][:, dim], below), below))
        return digits

    def _spread_digits(self, rows: Rows, dim: int, gap: int, joins: Skip) -> Digits:
        return [(s.trips, s.tile) for s in self.spreads(rows, dim, gap - 1, gap) if not joins(s.fanout)]

    def _every_step(self, rows: Rows, dim: int, skipped: Skip) -> Digits:
        """All loops of a dimension, without the skipped fanouts."""
        top = self._covered(rows, self.path.gap, dim)
        digits = [(ceil_div_array(int(self.sizes[dim]), top), top)]
        for level in range(self.path.gap, -1, -1):
            digits += self._spread_digits(rows, dim, level, skipped)
            if level:
                below = self._covered(rows, level - 1, dim)
                digits.append((ceil_div_array(rows.tiles[level - 1][:, dim], below), below))
        return digits

    def _sliding_rank(self, tensor: Tensor, charge: Charge) -> Rank | None:
        if charge.slide is None:
            return None
        dim = self.problem.dim_names[charge.slide[0]]
        return next(rank for rank in tensor.ranks if any(d == dim for d, _ in rank))

    # ---- windows -------------------------------------------------------------------------------------------

    def _along(
        self, rows: Rows, rank: Rank, inner: int, charge: Charge, joins: Skip, slides: bool
    ) -> tuple[Ints, Ints]:
        """Words wanted along a rank over the whole run, and held over when the tile slides."""
        dims = [self.dim_index[dim] for dim, _ in rank]
        if len(dims) <= 1:
            total = self.sizes[dims[0]] if dims else np.int64(1)
            return np.broadcast_to(total, len(rows)), np.zeros(len(rows), dtype=np.int64)
        kinds = charge.kinds(rows, dims)
        columns: list[Ints] = []
        for index in dims:
            held = kinds.rows.tiles[inner][:, index] if inner != MAC else np.ones(len(kinds.rows), dtype=np.int64)
            below = kinds.charge.tile[:, index]
            columns += [held, below]
            columns += [x for s in self.spreads(kinds.rows, index, inner, charge.gap) for x in (s.trips, s.tile)]
            moves = slides and charge.slide is not None and charge.slide[0] == index
            columns.append(kinds.charge.slide[1] if moves and kinds.charge.slide else below)
        joined = tuple(joins(s.fanout) for s in self.spreads(kinds.rows, dims[0], inner, charge.gap))
        moving = dims.index(charge.slide[0]) if slides and charge.slide else None
        sizes = tuple(int(self.sizes[i]) for i in dims)
        coefficients = tuple(c for _, c in rank)
        footprint = self.hierarchy.arch.footprint

        def count(key: tuple[int, ...]) -> tuple[int, int]:
            return rank_total(coefficients, sizes, key, joined, moving, footprint)

        values = per_distinct_row(columns, count)[kinds.which]
        return values[:, 0], values[:, 1]

    def _computed_along(self, rows: Rows, rank: Rank, joins: Skip) -> Ints:
        """Words that all steps want along a rank: instances that share a step want a word once."""
        dims = [self.dim_index[dim] for dim, _ in rank]
        total = np.int64(math.prod(int(self.sizes[i]) for i in dims))
        if len(dims) <= 1:
            return np.broadcast_to(total, len(rows))
        joined = [fanout for fanout in range(len(self.path.gaps)) if joins(fanout)]
        spread_dims = np.zeros(len(rows), dtype=np.int64)
        for i in dims:
            shared = np.ones(len(rows), dtype=np.int64)
            for f in joined:
                shared = shared * rows.arrays[f][:, i]
            spread_dims += shared > 1
        overlapping = spread_dims > 1
        words = np.full(len(rows), total)
        if overlapping.any():
            chosen = rows.take(np.flatnonzero(overlapping))
            words[overlapping] = self._overlapping_steps(chosen, rank, dims, joins)
        return words

    def _overlapping_steps(self, rows: Rows, rank: Rank, dims: Sequence[int], joins: Skip) -> Ints:
        columns: list[Ints] = []
        shapes: list[tuple[bool, ...]] = []
        for index in dims:
            flags: list[bool] = []
            for level in range(self.path.gap, -1, -1):
                below = self._covered(rows, level, index)
                whole = np.full(len(rows), self.sizes[index])
                above = rows.tiles[level][:, index] if level < self.path.gap else whole
                columns += [ceil_div_array(above, below), below]
                flags.append(False)
                for s in self.spreads(rows, index, level - 1, level):
                    columns += [s.trips, s.tile]
                    flags.append(joins(s.fanout))
            shapes.append(tuple(flags))
        coefficients = tuple(c for _, c in rank)
        sizes = tuple(int(self.sizes[i]) for i in dims)

        def count(key: tuple[int, ...]) -> tuple[int, int]:
            return every_step_total(coefficients, sizes, key, tuple(shapes)), 0

        return per_distinct_row(columns, count)[:, 0]
