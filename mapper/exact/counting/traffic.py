"""Words that cross the boundaries of a path, for many partial mappings at once.

A row is one partial mapping from the inside out (`rows.py`). A tensor that has been charged has words that no loop
further out can change: the tiles above the charge enter only through their number, ceil(size / tile). All counts are
exact, with two exceptions where fanouts that share words lie above the charge: with ragged tiles, as long as such a
fanout has not been passed; and for windows (ranks with several dimensions), of which the most that instances may have
in common is taken as shared, until they are counted `exactly`, which takes long. Those are bounds, never above the
exact count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....cost_models.cost import tensor_tile_words
from ....cost_models.passing import sums_inwards
from ....ir import Tensor
from ..question.hierarchy import MemoryBoundary, Path
from ..rows import Floats, Ints, Rows, ceil_div_array
from .fill_point import FillPoint
from .rank_traffic import RankTraffic
from .row_loops import RowLoops

NONE: frozenset[int] = frozenset()


class TrafficModel:
    """Counts for rows that have taken one path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hierarchy = path.hierarchy
        self.problem = path.hierarchy.problem
        self.loops = RowLoops(path)
        self.ranks = RankTraffic(self.loops, path.hierarchy.arch.footprint)
        self.dim_index = self.loops.dim_index

    def instances(self, rows: Rows, memory: int) -> Floats:
        """(rows,) instances of a memory in use."""
        used = np.ones(len(rows))
        for fanout, inside in enumerate(self.hierarchy.inside):
            if inside > memory:
                used = used * rows.arrays[fanout].prod(axis=1)
        return used

    # ---- words ---------------------------------------------------------------------------------------------

    def filled_and_served(
        self, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint, exactly: bool = False
    ) -> tuple[Floats, Floats]:
        """(rows,) words given to all instances of the inner memory (operands) or leaving them (sums); and those
        read from the outer memory, or arriving there.

        exactly  see `served`
        """
        if exactly:
            (filled,) = self._charged(rows, boundary, fill_point, [NONE])
            return filled.astype(np.float64), self.served(rows, boundary, fill_point, exactly=True)
        sharing = self.sharing(boundary)
        filled, words = self._charged(rows, boundary, fill_point, [NONE, sharing])
        shared = self._shared_at(rows, boundary, fill_point, sharing)
        served = self._shared_out(boundary, words, shared)
        return filled.astype(np.float64), served

    def served(
        self,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint,
        inside: int | None = None,
        exactly: bool = False,
    ) -> Floats:
        """(rows,) words read from, or arriving at, the outer memory; or, if only the fanouts inside one share words,
        those that pass there.

        exactly  count what windows share over the fanouts that have been passed above the charge, one setting of the
                 loops after the other
        """
        sharing = self.sharing(boundary, inside)
        (words,) = self._charged(rows, boundary, fill_point, [sharing], sharing if exactly else NONE)
        if exactly:
            shared = self._shared_windows(rows, boundary, self.path.band, self._top(rows), sharing)
        else:
            shared = self._shared_at(rows, boundary, fill_point, sharing)
        return self._shared_out(boundary, words, shared)

    def computed(self, rows: Rows, boundary: MemoryBoundary, inside: int | None = None) -> Floats:
        """(rows,) words that the MACs take from, or give to, the innermost memory that keeps the tensor; or, if only
        the fanouts inside one share words, those that pass there."""
        tensor, sharing = self.problem.tensors[boundary.tensor], self.sharing(boundary, inside)
        words = self._settings_of_others(rows, tensor, sharing)
        for rank, stored in tensor.stored_ranks:
            words = words * self.ranks.computed(rows, rank, sharing, stored)
        shared = self._shared_windows(rows, boundary, self.path.band, self._top(rows), sharing)
        return self._shared_out(boundary, words, shared)

    def settings(self, rows: Rows, d: int, sharing: frozenset[int]) -> Ints:
        """(rows,) settings of all loops along a dimension, those of instances that share words as one; at least, where
        some of these are still to come."""
        kinds = rows.kinds(d)
        found = self.loops.active(d, self.loops.every(kinds.rows, d), sharing)
        return self._shared_later(kinds.rows, d, found, sharing)[kinds.which]

    def _shared_later(self, rows: Rows, d: int, settings: Ints, sharing: frozenset[int]) -> Ints:
        """(rows,) settings of the loops along a dimension, with those of instances that share words as one, over
        fanouts that are not passed yet; at least.

        Lemma. Fanouts to come deal out the blocks of the outermost loop. Whatever the loops inside it stand at, n
        instances work on n blocks together at most.
        """
        later = [rows.arrays[fanout][:, d] for fanout in sharing if fanout >= len(self.path.bands)]
        return ceil_div_array(settings, np.prod(later, axis=0)) if later else settings

    def _charged(
        self,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint,
        sharings: Sequence[frozenset[int]],
        above: frozenset[int] = NONE,
    ) -> list[Ints]:
        """(rows,) words, for each of some ways in which fanouts share them.

        above  fanouts above the charge over which windows are counted one setting of the loops after the other
        """
        tensor = self.problem.tensors[boundary.tensor]
        inner = self.path.node_group_of(boundary.inner, boundary.tensor)
        words, kept = ([np.ones(len(rows), dtype=np.int64) for _ in sharings] for _ in range(2))
        along = self._slides_along(boundary, fill_point)
        for rank, stored in tensor.stored_ranks:
            slides = any(self.dim_index[dim] == along for dim, _ in rank)
            each = self.ranks.charged(rows, (rank, stored), inner, fill_point, along, sharings, above)
            for i, (wanted, held) in enumerate(each):
                words[i] = words[i] * wanted
                kept[i] = kept[i] * (held if slides else wanted)
        if along is not None:
            words = [all_of_it - held for all_of_it, held in zip(words, kept, strict=True)]
        repeats = (self._repeats(rows, tensor, inner, fill_point, sharing) for sharing in sharings)
        return [each * times for each, times in zip(words, repeats, strict=True)]

    def _slides_along(self, boundary: MemoryBoundary, fill_point: FillPoint) -> int | None:
        """The dimension along which the tile of a charge slides, if it does: along the loop that charges it, or from
        pass to pass of an uneven visit."""
        if fill_point.slide is not None:
            return fill_point.slide[0]
        passing = (d for d, uneven in enumerate(self.loops.uneven) if uneven is not None and fill_point.at_end)
        return next((d for d in passing if d in self.hierarchy.sliding(boundary)), None)

    def _repeats(self, rows: Rows, tensor: Tensor, inner: int, fill_point: FillPoint, sharing: frozenset[int]) -> Ints:
        """(rows,) settings of the loops along dimensions that a tensor does not have, those of instances that share
        words as one."""
        repeats = np.ones(len(rows), dtype=np.int64)
        for dim, d in self.dim_index.items():
            if dim not in tensor.dims:
                repeats = repeats * self.repeats_along(rows, d, inner, fill_point, sharing)
        return repeats

    def repeats(self, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint | None) -> Ints:
        """(rows,) settings of the loops along dimensions that the tensor of a boundary does not have, at which words
        pass outside: those of instances that share words as one."""
        tensor, sharing = self.problem.tensors[boundary.tensor], self.sharing(boundary)
        if fill_point is not None:
            inner = self.path.node_group_of(boundary.inner, boundary.tensor)
            return self._repeats(rows, tensor, inner, fill_point, sharing)
        return self._settings_of_others(rows, tensor, sharing)

    def _settings_of_others(self, rows: Rows, tensor: Tensor, sharing: frozenset[int]) -> Ints:
        """(rows,) settings of all loops along dimensions that a tensor does not have, as `settings` has them."""
        found = np.ones(len(rows), dtype=np.int64)
        for dim, d in self.dim_index.items():
            if dim not in tensor.dims:
                found = found * self.settings(rows, d, sharing)
        return found

    def repeats_along(self, rows: Rows, d: int, inner: int, fill_point: FillPoint, sharing: frozenset[int]) -> Ints:
        """(rows,) the same along one dimension; at least, where some of these instances are still to come."""
        kinds = fill_point.kinds(rows, (d,))
        loops = self.loops.serving(kinds.rows, d, kinds.fill_point, sharing)
        loops += self.loops.instances(kinds.rows, d, inner, fill_point.band)
        found = self.loops.active(d, loops, sharing, fill_point.at_end)
        return self._shared_later(kinds.rows, d, found, sharing)[kinds.which]

    def passing(
        self,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        inside: int,
        exactly: bool = False,
        part: float = 1.0,
    ) -> Floats:
        """(rows,) words that pass between the holders in both directions, with only the fanouts inside one sharing.

        part  of the first visits of partial sums, those that no sum has to be read for
        """
        if fill_point is None:
            return self.computed(rows, boundary, inside)
        tensor, words = self.problem.tensors[boundary.tensor], self.served(rows, boundary, fill_point, inside, exactly)
        if not tensor.is_output:
            return words
        sharing = self.sharing(boundary, inside)
        apart = [f for f in self.outside(boundary.inner) if f not in sharing]
        first = float(self.distinct_words(tensor)) * self._parts(rows, apart)
        return words + sums_inwards(self.hierarchy.arch, words, first * part)

    def steps(self, rows: Rows) -> Floats:
        """(rows,) time steps; at least, where fanouts are not passed yet."""
        steps, every = np.ones(len(rows), dtype=np.float64), range(len(self.hierarchy.fanouts))
        for d in range(len(self.loops.sizes)):
            steps = steps * self.settings_at_first(rows, d, every)
        return steps

    def settings_at_first(self, rows: Rows, d: int, fanouts: Sequence[int]) -> Ints:
        """(rows,) settings of all loops along a dimension at which the first instance of some fanouts has work; at
        least, where these are not passed yet (`row_loops.at_first`)."""
        kinds = rows.kinds(d)
        found = self.loops.at_first(kinds.rows, d, self.loops.every(kinds.rows, d), fanouts)
        every = np.prod([kinds.rows.arrays[f][:, d] for f in fanouts], axis=0, dtype=np.int64)
        return np.maximum(found, ceil_div_array(self.loops.sizes[d], every * np.ones_like(found)))[kinds.which]

    def repeats_at_first(
        self,
        rows: Rows,
        d: int,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        sharing: frozenset[int],
        fanouts: Sequence[int],
    ) -> Ints:
        """(rows,) settings of the loops above a charge along a dimension that its tensor does not have, at which the
        first instance of some fanouts has work; those of instances that share words as one. At least, as above."""
        joined = sorted({*sharing, *fanouts})
        if fill_point is None:
            return self.settings_at_first(rows, d, joined)
        inner, kinds = self.path.node_group_of(boundary.inner, boundary.tensor), fill_point.kinds(rows, (d,))
        loops = self.loops.serving(kinds.rows, d, kinds.fill_point, frozenset(range(len(self.path.bands))))
        loops += self.loops.instances(kinds.rows, d, inner, fill_point.band)
        return self.loops.at_first(kinds.rows, d, loops, joined)[kinds.which]

    def first_words(self, rows: Rows, tensor: Tensor, memory: int) -> Floats:
        """(rows,) distinct output words that the instances of a memory ever hold, each instance its own."""
        return float(self.distinct_words(tensor)) * self.reduction_instances(rows, memory)

    def reduction_instances(self, rows: Rows, memory: int) -> Floats:
        """(rows,) instances of a memory among which each holds a part of the same sums."""
        return self._parts(rows, self.outside(memory))

    def outside(self, memory: int) -> list[int]:
        """Fanouts outside a memory."""
        return [fanout for fanout, inside in enumerate(self.hierarchy.inside) if inside > memory]

    def _parts(self, rows: Rows, fanouts: Sequence[int]) -> Floats:
        """(rows,) instances of some fanouts that ever have a part of the same sum; at most, while fanouts are still to
        be passed."""
        sums = [d for dim, d in self.dim_index.items() if dim not in self.problem.output.dims]
        passed = [fanout for fanout in fanouts if fanout < len(self.path.bands)]
        if len(passed) == 1:  # all instances of a single array have work at first
            passed = []
        parts = np.ones(len(rows))
        for fanout in fanouts:
            if fanout not in passed:
                parts = parts * rows.arrays[fanout][:, sums].prod(axis=1)
        for d in sums if passed else ():
            kinds = rows.kinds(d)
            instances = self.loops.instances(kinds.rows, d, -1, self.path.band)
            nested = [loop for loop in instances if loop.fanout in passed]
            parts = parts * self.loops.active(d, nested, NONE)[kinds.which]
        return parts

    def sharing(self, boundary: MemoryBoundary, inside: int | None = None) -> frozenset[int]:
        """Fanouts between the holders whose instances share words: all of them, or those inside one."""
        count = len(self.hierarchy.fanouts) if inside is None else inside
        return frozenset(f for f in range(count) if self.hierarchy.joins(f, boundary))

    def distinct_words(self, tensor: Tensor) -> int:
        """Distinct words of the whole tensor: no fewer are moved, whatever a tile's footprint counts."""
        return tensor_tile_words(tensor, self.problem.sizes)

    # ---- sharing -------------------------------------------------------------------------------------------

    def _top(self, rows: Rows) -> Ints:
        """(rows, dims) what has grown so far."""
        return self.loops.array_tile(rows, self.path.band)

    def _shared_out(self, boundary: MemoryBoundary, words: Ints, shared: Floats) -> Floats:
        """(rows,) words that are served, where so many instances share one: every word of the tensor at least once."""
        return np.maximum(words / shared, self.distinct_words(self.problem.tensors[boundary.tensor]))

    def _shared_at(
        self, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint, sharing: frozenset[int]
    ) -> Floats:
        """(rows,) instances of fanouts above a charge that may share a word of a window; at most.

        Whatever stands above the charge, instances stand as far apart as the tile below them reaches: above a loop
        that the window slides along, and above all loops of the bands that are known.
        """
        apart = fill_point.tile
        if fill_point.slide is not None:
            d, above = fill_point.slide
            apart = apart.copy()
            apart[:, d] = above
        bands = (band for f, band in enumerate(self.path.bands) if f in sharing and band > fill_point.band)
        innermost = min(bands, default=self.path.band)
        if innermost > fill_point.band:
            apart = np.maximum(apart, rows.tiles[innermost - 1])
        slides = None if fill_point.slide is None else fill_point.slide[0]
        return self._shared_windows(rows, boundary, fill_point.band, fill_point.tile, sharing, apart, slides)

    def _shared_windows(
        self,
        rows: Rows,
        boundary: MemoryBoundary,
        band: int,
        tile: Ints,
        sharing: frozenset[int],
        apart: Ints | None = None,
        slides: int | None = None,
    ) -> Floats:
        """(rows,) instances of fanouts above a band, passed or not, that may share a word of a window of the tile
        (rows, dims); at most. `apart` and `slides` as for a rank."""
        bands = self.path.bands
        above = [f for f in sorted(sharing) if f >= len(bands) or bands[f] > band]
        shared = np.ones(len(rows))
        for rank, stored in self.problem.tensors[boundary.tensor].stored_ranks:
            shared = shared * self.ranks.shared(rows, rank, tile, above, apart, slides, stored)
        return shared
