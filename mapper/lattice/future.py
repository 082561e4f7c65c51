"""What nodes with halo `exact` are still given at least, as a table."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from .columns import Floats, Ints, Rank
from .counting import Counting
from .lattice import sums
from .plain_question import PlainTensor


class Future:
    """The part of a tile that is given per visit at least, whatever loops follow in whatever order: for every tile T of
    a node, instances s directly above it, and all x that stands below the loops to come, along the dimensions of
    windows.

        least(x) = min over loops to come, of d and a prime p:  (1 - 1 / p) given(x, d) + least(x p) / p

    or 1, when a loop comes that is no window or none at all; or what is given when a loop steps that does not move the
    tensor, which may be all that is left. A loop of several primes is as good as several next to each other: they slide
    on.
    """

    def __init__(self, counting: Counting, t: int, crossed: Ints) -> None:
        lattice, q = counting.lattice, counting.q
        self.lattice, self.dims = lattice, sorted(q.tensors[t].windows)
        projected = np.sum([lattice.along(d) for d in self.dims], axis=0)
        self.projected: Ints = projected
        points = np.unique(projected)
        spread = np.unique(projected[crossed])
        tile, s = (each.ravel() for each in np.meshgrid(points, spread, indexing="ij"))
        fine = lattice.divides(tile, s)
        tile, base = tile[fine], (tile + s * 1)[fine]
        self.place = np.full(lattice.size, -1)
        self.place[points] = np.arange(len(points))
        self.pairs = np.full((len(points), lattice.size), -1) if len(points) * lattice.size < 1 << 24 else None
        self.number = {pair: i for i, pair in enumerate(zip(tile.tolist(), base.tolist(), strict=True))}
        if self.pairs is not None:
            self.pairs[self.place[tile], base] = np.arange(len(tile))
        self.values = self._values(counting, q.tensors[t], points, (tile, base), bool(counting.still[t]))

    def _values(
        self, counting: Counting, tensor: PlainTensor, points: Ints, pairs: tuple[Ints, Ints], stays: bool
    ) -> Floats:
        lattice, (tile, base) = self.lattice, pairs
        out = np.ones((len(points), len(tile)))
        extent = [lattice.extent[d] for d in range(len(lattice.extent))]
        axes = [
            (d, p, stride)
            for (d, p, _), stride in zip(lattice.axes, lattice.own_strides, strict=True)
            if d in self.dims
        ]
        counting.means.check_numbers(out.size)
        for k in range(len(points) - 1, -1, -1):
            counting.means.check()
            x = int(points[k])
            valid = np.flatnonzero(lattice.code_divides(base, x))
            if not len(valid):
                continue
            wraps = {d: extent[d][x] - extent[d][base[valid]] for d in self.dims}
            least = np.ones(len(valid))
            if stays:
                moved = np.logical_or.reduce([w > 0 for w in wraps.values()])
                least = np.where(
                    moved, self._given(counting, tensor, tile[valid], {d: -w for d, w in wraps.items()}), 1.0
                )
            for d in self.dims:
                steps = [
                    (p, stride)
                    for own, p, stride in axes
                    if own == d and extent[d][lattice.full] // extent[d][x] % p == 0
                ]
                if steps:
                    moves = {e: (extent[d][x] if e == d else 0) - w for e, w in wraps.items()}
                    given = self._given(counting, tensor, tile[valid], moves)
                    for p, stride in steps:
                        then = out[self.place[x + stride], valid]
                        least = np.minimum(least, (1 - 1 / p) * given + then / p)
            out[k, valid] = least
        return out

    def _given(self, counting: Counting, tensor: PlainTensor, tile: Ints, steps: dict[int, Ints]) -> Floats:
        kept = np.ones(len(tile))
        for rank in tensor.ranks:
            if len(rank) > 1:
                most = span(rank, counting.q.sizes)
                shift = np.minimum(np.abs(sum(c * steps[d] for d, c in rank)), most)
                keys = [(d, tile) for d, _ in rank]
                kept = kept * counting.look_ups.of(("overlap", rank), keys, partial(overlap, rank), (shift, most))
        return 1 - kept

    def least(self, tile: Ints, crossed: Ints, now: Ints) -> Floats:
        """(rows,) of tiles, with instances above them, and all that is below the loops to come."""
        tile, base, now = self.projected[tile], self.projected[tile + crossed], self.projected[now]
        if self.pairs is not None:
            return np.asarray(self.values[self.place[now], self.pairs[self.place[tile], base]])
        pair = np.array([self.number[each] for each in zip(tile.tolist(), base.tolist(), strict=True)], np.int64)
        return np.asarray(self.values[self.place[now], pair])


def overlap(rank: Rank, values: list[int]) -> float:
    """The part of what instances want together along a rank that each which wants it holds already, after a move.

    values  the extents of the tile; of the instances, each with how far they are apart; and how far the move is
    """
    n = len(rank)
    tile, rest, shift = values[:n], values[n:-1], values[-1]
    own = sums(tuple((e, c) for e, (_, c) in zip(tile, rank, strict=True)))
    given = own & ~(own >> shift)
    apart = tuple((k, c * at) for k, at, (_, c) in zip(rest[::2], rest[1::2], itertools.cycle(rank), strict=False))
    wanted = sums(apart, own).bit_count()
    return (wanted - sums(apart, given).bit_count()) / wanted


def span(rank: Rank, sizes: list[int]) -> int:
    """A move so far along a rank leaves nothing of a tile."""
    return 1 + sum(c * (sizes[d] - 1) for d, c in rank)
