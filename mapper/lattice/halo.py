"""Halo `innermost`: an input tile that moves keeps what it shares with the tile before it, at the steps of the
innermost loop that moves it (its *mover*), and at no others.

A *way* is (tensor, dimension, zone): the mover runs over that dimension, and stands outside so many fanouts. What a
node saves by a way is its visits, times the part of the tile that is kept, times (n - 1) / n for n trips of the mover;
what is open at a partial mapping is therefore one number per way (and column), which later loops can only divide, as
they divide what it is subtracted from. The dimension and the zone fix how far the tile moves: by all that lies below
the mover along that dimension, of which no part is a loop (else that loop were the mover), so by tile times parallel
loops.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np

from .columns import Floats, Ints, Rank
from .counting import Counting
from .lattice import sums
from .placement import Placement, PricedBoundary

Way = tuple[int, int, int]
"""Tensor, dimension, zone."""


@dataclass(frozen=True)
class Slide:
    """Tiles of rows that move along a dimension by what `moved` spans of it."""

    dim: int
    tiles: Ints
    moved: Ints
    rows: Ints


class Halo:
    """What sliding tiles keep, for one operation on one machine."""

    def __init__(self, counting: Counting) -> None:
        self.counting, self.q, self.lattice = counting, counting.q, counting.lattice
        self.windows = counting.slides

    def ways(self, placement: Placement) -> list[Way]:
        """All ways in which tiles of a placement's nodes may slide."""
        if placement.ways is None:
            placement.ways = [
                (t, d, zone)
                for t, dims in self.windows.items()
                if any(self.is_slider(b) for nodes in placement.nodes for b in nodes if b.tensor == t)
                for d in sorted(dims)
                for zone in sorted(set(placement.zones))
            ]
        return placement.ways

    def is_slider(self, b: PricedBoundary) -> bool:
        """Whether the inner memory keeps the overlap of a sliding tile."""
        return b.tensor in self.windows and b.inner is not None and self.q.memories[b.inner].halo == "innermost"

    def node(
        self, placement: Placement, step: int, b: PricedBoundary, tiles: Ints, rows: Ints, visits: Floats, share: Floats
    ) -> Floats:
        """(rows, ways, columns) what a node saves by each way, but for the mover's trips."""
        ways = self.ways(placement)
        out = np.zeros((len(tiles), len(ways), 1 + len(self.q.columns)))
        if not self.is_slider(b):
            return out
        shares = self.counting.arrays.shares[rows]
        for w, (t, d, zone) in enumerate(ways):
            if t == b.tensor and zone >= placement.zones[step]:
                moved = tiles + self.counting.crossed_to(zone, placement.levels[step])[rows]
                slide = Slide(d, tiles, moved, rows)
                kept = self.kept(t, slide)
                together = self.kept_together(placement, b, slide, kept, share)
                out[:, w] = (
                    (visits * kept)[:, None] * b.per_visit + (visits * share * together)[:, None] * b.per_arrival
                ) / shares
        return out

    def kept(self, t: int, slide: Slide) -> Floats:
        """(rows,) the part of a tile that is kept."""
        d, tiles, moved = slide.dim, slide.tiles, slide.moved
        part = np.ones(len(tiles))
        for rank in self.q.tensors[t].ranks:
            if any(own == d for own, _ in rank):
                keys = [*((own, tiles) for own, _ in rank), (d, moved)]
                part = part * self.counting.look_ups.of(("kept", rank, d), keys, partial(_kept, rank, dict(rank)[d]))
        return part

    def kept_together(
        self, placement: Placement, b: PricedBoundary, slide: Slide, kept: Floats, share: Floats
    ) -> Floats:
        """(rows,) the part of what instances want together that none has to be given. Where other bands may stand
        between them (a late boundary), at most: of all that are served together, one at least is given its own."""
        joined = self.counting.joined(placement, b)
        if not joined:
            return kept
        if any(late.boundary is b for late in placement.late):
            count = np.prod([self.lattice.count[self.counting.arrays.chosen[slide.rows, i]] for i in joined], axis=0)
            return np.asarray(1 - (1 - kept) / (share * count))
        return self.torn(placement, b, slide, {})

    def torn(self, placement: Placement, b: PricedBoundary, slide: Slide, starts: dict[int, Ints]) -> Floats:
        """(rows,) the same exactly, where fanouts begin at `starts`, or else side by side."""
        d, tiles, moved = slide.dim, slide.tiles, slide.moved
        part, parts = np.ones(len(tiles)), self.counting.parts(placement, b, tiles, slide.rows, starts)
        joined = self.counting.joined(placement, b)[::-1]
        for rank in self.q.tensors[b.tensor].ranks:
            if any(own == d for own, _ in rank):
                keys = [*((own, tiles) for own, _ in rank), (d, moved)]
                here = [
                    each
                    for i, each in zip(joined, parts, strict=True)
                    if self.q.fanouts[i].dims & {own for own, _ in rank}
                ]
                for instances, at in here:
                    keys += [(own, each) for own, _ in rank for each in (instances, at)]
                name = ("kept", rank, d, len(here))
                part = part * self.counting.look_ups.of(name, keys, partial(_kept, rank, dict(rank)[d]))
        return part


def _kept(rank: Rank, c: int, extents: list[int]) -> float:
    """The part of what instances want together along a rank that each which wants it holds already, when all have moved
    along a dimension with coefficient c.

    extents  of the tile, of how far it moved, and of the instances, each with how far they are apart
    """
    n = len(rank)
    tile, moved, rest = extents[:n], extents[n], extents[n + 1 :]
    own = sums(tuple((e, c) for e, (_, c) in zip(tile, rank, strict=True)))
    given = own & ~(own >> (c * moved))  # what an instance has to be given; all of them, the union of that
    apart = tuple((k, c * at) for k, at, (_, c) in zip(rest[::2], rest[1::2], itertools.cycle(rank), strict=False))
    wanted = sums(apart, own).bit_count()
    return (wanted - sums(apart, given).bit_count()) / wanted
