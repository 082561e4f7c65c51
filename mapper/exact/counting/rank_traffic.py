"""Words along single ranks of a tensor, for many partial mappings at once: along ranks of several dimensions (windows)
they are looked up for every distinct setting of the loops (`windows.py`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from ....arch import Footprint
from ....ir import Rank, Stored, ceil_div
from ..rows import Flags, Floats, Ints, Rows, ceil_div_array, per_distinct_row
from .fill_point import FillPoint
from .row_loops import RowLoop, RowLoops
from .windows import LoopKind, fewest_sums, rank_total, rank_total_lines, tiles_total

NONE: frozenset[int] = frozenset()


class RankTraffic:
    """Words along ranks, of rows that have taken one path."""

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
        """Words wanted over the whole run, and held over when the tile slides; for each of some ways to be served.

        rank_stored  and the words along it that count; None: all do
        inner     the node group that is filled
        along     the dimension along which its tile slides
        sharings  of each way, fanouts whose instances are served together
        above     those that are looked at above the charge too, as far as they have been passed
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
        """(rows, lengths) lines that the words of a charge lie in, wanted over the whole run, and held over when the
        tile slides; for lines of several numbers of words. Instances that share are looked at together wherever they
        stand, as far as their fanouts have been passed.

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
        """Of the rows that differ along some dimensions: the tile of a node group that is filled, the loops above it,
        and the dimension and the loop along which it slides; and (rows,) which of them each row is like."""
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
        """(rows, 2 x sharings) words wanted and held, of tiles under loops along the dimensions of a rank, which have
        loops of the same kinds.

        held     per dimension, (rows,) elements of the tile
        sliding  the dimension along which the tile slides, and which of its loops makes it
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
        """How many visits have so many positions along some dimensions, and the tiles and loops of a key in them; of
        uneven ones how many passes, or how many whole visits."""
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
        """Words that all steps want: instances that share a step want a word once."""
        dims = self._dims(rank)
        sizes = [int(self.sizes[d]) for d in dims]
        total = np.int64(math.prod(sizes))
        if stored is not None:
            coefficients = tuple(c for _, c in rank)
            total = np.int64(tiles_total(coefficients, sizes, [1] * len(dims), self.footprint, stored))
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
        """(rows,) instances of some fanouts above a tile, (rows, dims), that may share a word of a window; at most.

        apart   (rows, dims) how far these instances stand from each other, at least, each of which wants all of the
                tile; None: at least a tile apart, of which each may want a part
        slides  the dimension along which the tile slides, if it does
        stored  the words that count; None: all do. Zeros of padding lie at the edges, where fewer windows meet than on
                average: what is said of any word holds without them, what is said of the average does not

        Along one dimension, a word lies in so many instances as the window of the tile covers, and on average in no
        more than `shared_by_neighbours`; along the others, it may lie in all. And n instances along a dimension make
        the window longer by n - 1 words at least, whatever their distance: a set of sums A + B has |A| + |B| - 1
        elements at least. Of windows of one word, the fewest words that one array of them may want are known.
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
        """(rows,) whether all words between the first and the last of a window belong to it, however much of it is
        left at the end of a dimension; for the (dimension, coefficient) pairs of its rank."""
        coefficients = [c for _, c in dims]
        if self.footprint == "box" or max(coefficients) == 1:
            return np.ones(len(tile), dtype=bool)
        if len(dims) > 2 or min(coefficients) > 1:
            return np.zeros(len(tile), dtype=bool)
        d = dims[coefficients.index(1)][0]
        whole: Flags = (tile[:, d] == self.sizes[d]) & (tile[:, d] >= max(coefficients))
        return whole

    def _least_union(self, rank: Rank, spread: Sequence[Ints]) -> Ints:
        """(rows,) words that so many instances along the two dimensions of a rank want together, at least, if each
        wants one."""
        sizes = tuple(int(self.sizes[d]) for d in self._dims(rank))
        coefficients = tuple(coefficient for _, coefficient in rank)
        return per_distinct_row(spread, lambda counts: (fewest_sums(coefficients, sizes, counts), 0))[:, 0]


def _key(held: Sequence[Ints], loops: Sequence[Sequence[RowLoop]]) -> list[Ints]:
    """Columns of what words along a rank depend on: per dimension, the tile that is held, and its loops."""
    return [column for tile, each in zip(held, loops, strict=True) for column in (tile, *_columns(each))]


def _kinds(loops: Sequence[Sequence[RowLoop]], sharings: Sequence[frozenset[int]]) -> list[tuple[LoopKind, ...]]:
    """Of each way in which fanouts share words, the kinds of the loops along every dimension."""
    return [
        tuple("time" if x.fanout is None else "together" if x.fanout in sharing else "apart" for x in loops[0])
        for sharing in sharings
    ]


def _columns(loops: Sequence[RowLoop]) -> list[Ints]:
    return [column for loop in loops for column in (loop.trips, loop.tile)]


def shared_by_neighbours(count: Ints, span: Ints, step: Ints, clipped: Ints, moves: bool = False) -> Floats:
    """(rows,) of so many intervals of `span` words, that begin at least `step` words after each other, and the last of
    which may be shorter by up to `clipped` words: words in them over words in any of them, at most.

    moves  whether it is also to hold for what is new in them, once they have all moved on by equally many words

    Lemma. Of n intervals of s words, the last one e words shorter, each but the last has min(step, s) words at least
    that no later one has, and the last one has s - e. So that is (n s - e) / ((n - 1) min(step, s) + s - e) at most. It
    rises with n and s, and with e, as long as e < s: fewer intervals, or shorter ones, share no more.

    What is new begins where the intervals ended before. If all have l new words, those of the last one begin step - e
    after the ones before them: n l / ((n - 2) min(step, l) + min(step - e, l) + l), which rises with l, up to s. If the
    last interval is new as a whole, it is g words less than e that the others had over: it has l - (e - g) new words,
    step - g after the ones before them. That is at most as much, and so is the above. Of fewer intervals, two or all
    share most, since with n that rises or falls all along.
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
