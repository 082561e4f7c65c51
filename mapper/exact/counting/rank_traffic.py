"""Words that pass along one rank of a tensor, for many partial mappings at once; along ranks of several dimensions
(windows) they are counted once for each distinct setting of the loops (`windows.py`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from ....arch import Footprint
from ....cost_models.padding import stored_points
from ....ir import Rank, Stored, ceil_div
from ..rows import Flags, Floats, Ints, Rows, ceil_div_array, per_distinct_row
from .fill_point import FillPoint
from .row_loops import RowLoop, RowLoops
from .windows import LoopKind, fewest_sums, rank_total, rank_total_lines

NONE: frozenset[int] = frozenset()


class RankTraffic:
    """Counts words along ranks, for rows that have taken the same path."""

    def __init__(self, loops: RowLoops, footprint: Footprint) -> None:
        self.loops = loops
        self.sizes = loops.sizes
        self.footprint = footprint

    def _dims(self, rank: Rank) -> list[int]:
        return [self.loops.dim_index[dim] for dim, _ in rank]

    def charged(
        self,
        rows: Rows,
        rank_stored: tuple[Rank, Stored | None],
        inner: int,
        fill_point: FillPoint,
        along: int | None,
        sharings: Sequence[frozenset[int]],
        above: frozenset[int] = NONE,
    ) -> list[tuple[Ints, Ints]]:
        """Count the words wanted along a rank over the whole run, and those still held when the tile slides, for each
        way in which instances may be served.

        rank_stored  the rank, and the words along it that count; None: all do
        inner        the node group that is filled
        along        the dimension along which its tile slides
        sharings     for each way, the fanouts whose instances are served together
        above        fanouts above the charge whose instances count too, as far as they have been passed
        """
        rank, stored = rank_stored
        dims = self._dims(rank)
        if len(dims) <= 1:
            total = self.sizes[dims[0]] if dims else np.int64(1)
            words = np.broadcast_to(total, len(rows)), np.zeros(len(rows), dtype=np.int64)
            return [words for _ in sharings]
        held, loops, sliding, which = self._charge(rows, dims, inner, fill_point, above)
        in_passes = along is not None and along in dims and sliding is None
        if along is not None and in_passes:
            sliding = dims.index(along), 0
        values = self._totals(rank, held, loops, sharings, sliding, in_passes, stored)[which]
        return [(values[:, 2 * i], values[:, 2 * i + 1]) for i in range(len(sharings))]

    def lines(
        self,
        rows: Rows,
        rank: Rank,
        inner: int,
        fill_point: FillPoint | None,
        sharing: frozenset[int],
        per_line: tuple[int, ...],
    ) -> tuple[Ints, Ints]:
        """Count (rows, lengths) the lines wanted along a rank over the whole run, and those still held when the tile
        slides, for each length of a line in words. Instances that share are counted together wherever they stand, as
        far as their fanouts have been passed.

        fill_point  None: the MACs take single words
        """
        dims = self._dims(rank)
        if fill_point is None:
            held = [np.ones(len(rows), dtype=np.int64) for _ in dims]
            loops, sliding, which = [self.loops.every(rows, d) for d in dims], None, np.arange(len(rows))
        else:
            held, loops, sliding, which = self._charge(rows, dims, inner, fill_point, sharing)
        columns, (kinds,) = _key(held, loops), _kinds(loops, [sharing])
        sizes, steps = tuple(int(self.sizes[d]) for d in dims), tuple(c for _, c in rank)

        def count(key: tuple[int, ...]) -> tuple[int, ...]:
            return rank_total_lines(steps, sizes, key, kinds, sliding, self.footprint, per_line)

        values = per_distinct_row(columns, count, 2 * len(per_line))[which]
        return values[:, 0::2], values[:, 1::2]

    def _charge(
        self, rows: Rows, dims: Sequence[int], inner: int, fill_point: FillPoint, above: frozenset[int]
    ) -> tuple[list[Ints], list[list[RowLoop]], tuple[int, int] | None, Ints]:
        """Return what a charge depends on along some dimensions, once for equal rows: the tile that is filled, the
        loops above it, and the dimension and the loop along which it slides; and (rows,) the place of each row among
        these."""
        kinds = fill_point.kinds(rows, dims)
        outside = [self.loops.serving(kinds.rows, d, kinds.fill_point, above) for d in dims]
        inside = [self.loops.instances(kinds.rows, d, inner, fill_point.band) for d in dims]
        loops = [[*outer, *instances] for outer, instances in zip(outside, inside, strict=True)]
        held = [self.loops.held(kinds.rows, d, inner) for d in dims]
        sliding = None
        if fill_point.slide is not None and fill_point.slide[0] in dims:
            sliding = dims.index(fill_point.slide[0]), len(outside[0]) - 1
        return held, loops, sliding, kinds.which

    def _totals(
        self,
        rank: Rank,
        held: Sequence[Ints],
        loops: Sequence[Sequence[RowLoop]],
        sharings: Sequence[frozenset[int]],
        sliding: tuple[int, int] | None = None,
        in_passes: bool = False,
        stored: Stored | None = None,
    ) -> Ints:
        """Count (rows, 2 x sharings) words wanted and held along a rank; all rows have loops of the same kinds.

        held       per dimension, (rows,) elements of the tile
        loops      per dimension, the loops above the tile
        sliding    the dimension along which the tile slides, and which of its loops makes it slide
        in_passes  whether that is the loop over the passes of an uneven visit
        """
        columns, ways = _key(held, loops), _kinds(loops, sharings)
        dims, coefficients = self._dims(rank), tuple(c for _, c in rank)

        def count(key: tuple[int, ...]) -> tuple[int, ...]:
            found = np.zeros(2 * len(sharings), dtype=np.int64)
            for times, sizes, own in self._visits(dims, key, in_passes):
                each = (rank_total(coefficients, sizes, own, kinds, sliding, self.footprint, stored) for kinds in ways)
                found += times * np.array(list(itertools.chain.from_iterable(each)), dtype=np.int64)
            return tuple(found.tolist())

        return per_distinct_row(columns, count, 2 * len(sharings))

    def _visits(
        self, dims: Sequence[int], key: tuple[int, ...], whole: bool
    ) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
        """Yield each size of visit: how often it occurs, its positions along some dimensions, and the tiles and loops
        of a key in it. Uneven visits are yielded pass by pass, or `whole`."""
        sizes, width = tuple(int(self.sizes[d]) for d in dims), len(key) // len(dims)
        place = next((place for place, d in enumerate(dims) if self.loops.uneven[d]), None)
        uneven = None if place is None else self.loops.uneven[dims[place]]
        if place is None or uneven is None:
            yield 1, sizes, key
            return
        outermost = place * width + 1
        for positions, times in uneven.made if whole else uneven.passes:
            trips = ceil_div(positions, key[outermost + 1])
            own = (*key[:outermost], trips, *key[outermost + 1 :])
            yield times, (*sizes[:place], positions, *sizes[place + 1 :]), own

    def computed(self, rows: Rows, rank: Rank, sharing: frozenset[int], stored: Stored | None = None) -> Ints:
        """Count the words that the MACs take in all steps: instances that share a step take a word once."""
        dims = self._dims(rank)
        sizes = [int(self.sizes[d]) for d in dims]
        total = np.int64(math.prod(sizes))
        if stored is not None:
            total = np.int64(stored_points(tuple(c for _, c in rank), tuple(sizes), stored))
        if len(dims) <= 1:
            return np.broadcast_to(total, len(rows))
        passed = [fanout for fanout in range(len(self.loops.path.bands)) if fanout in sharing]
        spread = sum((np.prod([rows.arrays[f][:, d] for f in passed], axis=0) > 1).astype(np.int64) for d in dims)
        overlapping = np.broadcast_to(spread, len(rows)) > 1
        words = np.full(len(rows), total)
        if overlapping.any():
            chosen = rows.take(np.flatnonzero(overlapping))
            single = [np.ones(len(chosen), dtype=np.int64) for _ in dims]
            loops = [self.loops.every(chosen, d) for d in dims]
            words[overlapping] = self._totals(rank, single, loops, [sharing], stored=stored)[:, 0]
        return words

    # ---- sharing -------------------------------------------------------------------------------------------

    def shared(
        self,
        rows: Rows,
        rank: Rank,
        tile: Ints,
        fanouts: Sequence[int],
        apart: Ints | None = None,
        slides: int | None = None,
        stored: Stored | None = None,
    ) -> Floats:
        """Bound from above (rows,) how many instances of some fanouts above a tile (rows, dims) share a word of a
        window.

        apart   (rows, dims) the least distance between these instances, each of which wants all of the tile; None: at
                least a tile, and each may want a part of it
        slides  the dimension along which the tile slides, if it does
        stored  the words that count; None: all do. Padding lies at the edges, where fewer windows overlap than on
                average: a bound for every single word still holds without it, a bound on the average does not

        Along one dimension a word lies in at most as many instances as the window of the tile covers, and on average in
        at most `shared_by_neighbours`; along the others it may lie in all. Whatever their distance, n instances along a
        dimension lengthen the window by at least n - 1 words, since a set of sums A + B has at least |A| + |B| - 1
        elements. For windows of one word, the fewest words that one array wants are known (`_least_union`).
        """
        if len(rank) <= 1 or not fanouts:
            return np.ones(len(rows))
        dims = [(self.loops.dim_index[dim], coefficient) for dim, coefficient in rank]
        span: Ints = np.sum([c * (tile[:, d] - 1) for d, c in dims], axis=0) + 1
        spread = [np.prod([rows.arrays[f][:, d] for f in fanouts], axis=0) for d, _ in dims]
        steps = [c * (tile if apart is None else apart)[:, d] for d, c in dims]
        near = [np.minimum(n, ceil_div_array(span, step)) / n for n, step in zip(spread, steps, strict=True)]
        if apart is not None and stored is None:
            whole = self._gapless(dims, tile)
            for i, (d, c) in enumerate(dims):
                clipped = np.where(self.sizes[d] % tile[:, d] == 0, 0, c * (tile[:, d] - 1))
                moves = slides != d and any(slides == other for other, _ in dims)
                fewer = shared_by_neighbours(spread[i], span, steps[i], clipped, moves) / spread[i]
                near[i] = np.where(whole, np.minimum(near[i], fewer), near[i])
        every = np.prod(spread, axis=0)
        if stored is not None:
            of_any: Floats = every * np.min(near, axis=0)
            return of_any
        longer = span + np.sum(spread, axis=0) - len(dims)
        if len(fanouts) == 1 and len(dims) == 2:
            longer = np.where(span == 1, self._least_union(rank, spread), longer)
        shared: Floats = every * np.minimum(np.min(near, axis=0), span / longer)
        return shared

    def _gapless(self, dims: Sequence[tuple[int, int]], tile: Ints) -> Flags:
        """Whether (rows,) windows contain every word between their first and their last, even where the end of a
        dimension cuts a tile off; `dims` are the (dimension, coefficient) pairs of the rank."""
        coefficients = [c for _, c in dims]
        if self.footprint == "box" or max(coefficients) == 1:
            return np.ones(len(tile), dtype=bool)
        if len(dims) > 2 or min(coefficients) > 1:
            return np.zeros(len(tile), dtype=bool)
        d = dims[coefficients.index(1)][0]
        whole: Flags = (tile[:, d] == self.sizes[d]) & (tile[:, d] >= max(coefficients))
        return whole

    def _least_union(self, rank: Rank, spread: Sequence[Ints]) -> Ints:
        """Bound from below (rows,) the distinct words that instances along the two dimensions of a rank want together,
        if each wants one."""
        sizes = tuple(int(self.sizes[d]) for d in self._dims(rank))
        coefficients = tuple(coefficient for _, coefficient in rank)
        return per_distinct_row(spread, lambda counts: (fewest_sums(coefficients, sizes, counts), 0))[:, 0]


def _key(held: Sequence[Ints], loops: Sequence[Sequence[RowLoop]]) -> list[Ints]:
    """Return the columns that determine the words along a rank: per dimension, the tile that is held and its loops."""
    return [column for tile, each in zip(held, loops, strict=True) for column in (tile, *_columns(each))]


def _kinds(loops: Sequence[Sequence[RowLoop]], sharings: Sequence[frozenset[int]]) -> list[tuple[LoopKind, ...]]:
    """Return, for each way of sharing, the kinds of the loops along a dimension; they are the same for every
    dimension."""
    return [
        tuple("time" if x.fanout is None else "together" if x.fanout in sharing else "apart" for x in loops[0])
        for sharing in sharings
    ]


def _columns(loops: Sequence[RowLoop]) -> list[Ints]:
    return [column for loop in loops for column in (loop.trips, loop.tile)]


def shared_by_neighbours(count: Ints, span: Ints, step: Ints, clipped: Ints, moves: bool = False) -> Floats:
    """Bound from above (rows,) the words in `count` intervals, per word of their union. Intervals have `span` words,
    begin at least `step` words after each other, and the last may be shorter by up to `clipped` words.

    moves  whether the bound also holds for the words that are new once all intervals have moved on by the same distance

    Lemma. Of n intervals of s words, the last one e words shorter, each but the last has at least min(step, s) words
    that no later one has, and the last one has s - e. So the ratio is at most (n s - e) / ((n - 1) min(step, s) + s -
    e). It rises with n, with s, and with e as long as e < s: fewer or shorter intervals share no more.

    New words begin where the intervals ended before. If all intervals have l new words, those of the last one begin
    step - e after the ones before them, and the ratio is at most n l / ((n - 2) min(step, l) + min(step - e, l) + l),
    which rises with l, up to s. If the last interval is new as a whole, it has l - (e - g) new words for some g from 0
    to e, step - g after the ones before them: the ratio is at most as high, and so is the first one. With n it rises or
    falls all along, so of fewer intervals two or all share most.
    """
    if not moves:
        words = count * span - clipped
        found: Floats = words / ((count - 1) * np.minimum(step, span) + span - clipped)
        return found
    last = np.minimum(step - clipped, span) + span
    of_all = count * span / (np.maximum(count - 2, 0) * np.minimum(step, span) + last)
    of_two = 2 * span / last
    most: Floats = np.where(count > 1, np.maximum(of_all, of_two), 1.0)
    return most
