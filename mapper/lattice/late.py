"""Windows that bands tear apart.

Where a tensor skips a memory whose band stands between two fanouts, neighbours' windows need not overlap as they would
side by side. Until the last tile is known that tells where a fanout
begins, such a boundary is counted as cheap as it can be; then it is put right, and until then nothing stands for such a
row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .columns import Columns, Floats, Ints
from .counting import Counting
from .halo import Halo, Slide
from .placement import Late, Placement


@dataclass
class Settled:
    """What is put right at some rows, for one boundary.

    open    rows x columns, to be added for every visit that there is
    known   rows x columns, to be added as it is: for visits that slid
    slides  rows x ways x columns, to be added to what can still be saved
    """

    open: Floats
    known: Floats
    slides: Floats


class Lateness:
    """Puts right what was counted too low."""

    def __init__(self, counting: Counting, halo: Halo) -> None:
        self.counting, self.halo, self.q, self.lattice = counting, halo, counting.q, counting.lattice

    def settle(self, placement: Placement, step: int, some: Columns, parent: Ints, tile: Ints) -> dict[int, Settled]:
        """tensor -> what is put right, of the boundaries that the tile of a step settles."""
        return {
            late.boundary.tensor: self._settle(placement, late, step, some, parent, tile)
            for late in placement.late
            if late.settled == step
        }

    def _settle(self, placement: Placement, late: Late, step: int, some: Columns, parent: Ints, tile: Ints) -> Settled:
        b, counting = late.boundary, self.counting
        rows, t = some["row"][parent], late.boundary.tensor
        tiles = [*some["tiles"][parent].T, tile]
        inner = tiles[late.start] if late.start >= 0 else np.zeros(len(rows), np.int64)
        starts = placement.starts(late, tiles)
        assert starts is not None
        share, least = counting.share(placement, b, inner, rows, starts), counting.share(placement, b, inner, rows)
        price = b.per_arrival / counting.arrays.shares[rows]
        ways = self.halo.ways(placement)
        found = Settled(
            (share - least)[:, None] * price, np.zeros_like(price), np.zeros((len(rows), len(ways), price.shape[1]))
        )
        if not self.halo.is_slider(b):
            return found
        visits = some["visits"][parent, t]
        closed = None
        for w, (own, d, zone) in enumerate(ways):
            if own == t and zone >= placement.zones[late.start]:
                moved = inner + counting.crossed_to(zone, placement.levels[late.start])[rows]
                slide = Slide(d, inner, moved, rows)
                counted = self.halo.kept_together(placement, b, slide, self.halo.kept(t, slide), least)
                more = self.halo.torn(placement, b, slide, starts) * share - counted * least
                more = (visits * more)[:, None] * price
                found.slides[:, w] = more
                closed = self._closed(placement, late, step, some, parent, rows) if closed is None else closed
                found.known -= more * closed[:, w, None]
        return found

    def _closed(self, placement: Placement, late: Late, step: int, some: Columns, parent: Ints, rows: Ints) -> Floats:
        """(rows, ways) by which way visits slid already, and which part of them, (n - 1) / n."""
        t, counting, ways = late.boundary.tensor, self.counting, self.halo.ways(placement)
        out, waits = np.zeros((len(rows), len(ways))), np.ones(len(rows), bool)
        for s in range(late.start + 1, step):  # bands that are known
            crossed = counting.between(placement.levels[s], placement.levels[s - 1])[rows]
            loops = some["tiles"][parent, s] - some["tiles"][parent, s - 1] - crossed
            moves = waits & (counting.moved[t][loops] > 1)
            for w, (own, d, zone) in enumerate(ways):
                if own == t and zone == placement.zones[s - 1]:
                    moves_so = moves & counting.slid_by(t, d)[some["orders"][parent, s]]
                    out[:, w] += (1 - 1 / self.lattice.extent[d][loops]) * moves_so
            waits &= ~moves
        return out
