"""The loops of partial mappings, dimension by dimension, for many of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..question.hierarchy import Path
from ..rows import Ints, Rows, ceil_div_array, count_active
from .fill_point import FillPoint


class RowLoop(NamedTuple):
    """A loop along one dimension, of rows that have taken one path.

    trips, tile  (rows,) how many there are, and the elements that each covers
    fanout       whose instances these are; None: a loop in time
    """

    trips: Ints
    tile: Ints
    fanout: int | None = None


class RowLoops:
    """Loops of rows that have taken one path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = path.hierarchy.problem
        self.sizes = np.array([size for _, size in self.problem.dims], dtype=np.int64)
        self.dim_index = {dim: i for i, dim in enumerate(self.problem.dim_names)}
        self.uneven = path.hierarchy.uneven or (None,) * len(self.sizes)

    # ---- tiles ---------------------------------------------------------------------------------------------

    def array_tile(self, rows: Rows, band: int) -> Ints:
        """(rows, dims) elements that all instances of a band's fanouts cover together."""
        return self._covered(rows, band, slice(None))

    def _covered(self, rows: Rows, band: int, dims: int | slice) -> Ints:
        """Return (rows, some dimensions) the elements that all instances of a band's fanouts cover together."""
        one = np.ones((len(rows), len(self.sizes)), dtype=np.int64)
        tile = (rows.tiles[band - 1] if band else one)[:, dims]
        for fanout, place in enumerate(self.path.bands):
            if place == band:
                tile = tile * rows.arrays[fanout][:, dims]
        return np.minimum(tile, self.sizes[dims])

    def held(self, rows: Rows, dim: int, node_group: int) -> Ints:
        """(rows,) elements of the tile of a node group; of the MAC, one."""
        return np.ones(len(rows), dtype=np.int64) if node_group < 0 else rows.tiles[node_group][:, dim]

    # ---- loops, outermost first ----------------------------------------------------------------------------

    def instances(self, rows: Rows, dim: int, above: int, up_to: int) -> list[RowLoop]:
        """Instances along a dimension of the fanouts in bands above node group `above`, up to band `up_to`."""
        found = []
        for fanout, band in enumerate(self.path.bands):
            if above < band <= up_to:
                tile = rows.tiles[band - 1][:, dim] if band else np.ones(len(rows), dtype=np.int64)
                for inner in range(fanout):
                    if self.path.bands[inner] == band:
                        tile = tile * rows.arrays[inner][:, dim]
                found.append(RowLoop(rows.arrays[fanout][:, dim], tile, fanout))
        return found[::-1]

    def above(self, rows: Rows, dim: int, band: int, tile: Ints) -> list[RowLoop]:
        """All loops above a tile, (rows,) elements, that stands among the loops of a band."""
        found: list[RowLoop] = []
        outer: int | Ints = int(self.sizes[dim])
        for level in range(self.path.band, band, -1):
            covered = self._covered(rows, level, dim)
            found.append(RowLoop(ceil_div_array(outer, covered), covered))
            found += self.instances(rows, dim, level - 1, level)
            outer = rows.tiles[level - 1][:, dim]
        return [*found, RowLoop(ceil_div_array(outer, tile), tile)]

    def serving(self, rows: Rows, dim: int, fill_point: FillPoint, sharing: frozenset[int]) -> list[RowLoop]:
        """The loops above a charge, those outside it as one where they hold no instances that share words. The last one
        is the loop that the tile slides along, of one trip where it does not."""
        below = above = fill_point.tile[:, dim]
        if fill_point.slide is not None and fill_point.slide[0] == dim:
            above = fill_point.slide[1]
        if any(band > fill_point.band and fanout in sharing for fanout, band in enumerate(self.path.bands)):
            outside = self.above(rows, dim, fill_point.band, above)
        else:
            outside = [RowLoop(ceil_div_array(int(self.sizes[dim]), above), above)]
        return [*outside, RowLoop(ceil_div_array(above, below), below)]

    def every(self, rows: Rows, dim: int) -> list[RowLoop]:
        """All loops."""
        return [*self.above(rows, dim, 0, self._covered(rows, 0, dim)), *self.instances(rows, dim, -1, 0)]

    def active(self, dim: int, loops: Sequence[RowLoop], sharing: frozenset[int], at_end: bool = False) -> Ints:
        """(rows,) settings of loops along a dimension that have work, those of instances that share words as one.

        at_end  those at which a tensor comes that nothing moves in a visit
        """
        digits = [(x.trips, x.tile) for x in loops if x.fanout not in sharing]
        uneven = self.uneven[dim]
        if uneven is None:
            return count_active(int(self.sizes[dim]), digits)
        visits = uneven.first if at_end else uneven.passes
        every = [times * count_active(positions, digits) for positions, times in visits]
        settings: Ints = np.sum(every, axis=0)
        return settings

    def at_first(self, rows: Rows, dim: int, loops: Sequence[RowLoop], fanouts: Sequence[int]) -> Ints:
        """(rows,) settings of loops along a dimension at which the first instance of some fanouts has work; at least,
        where some of these are still to come.

        Lemma. Fanouts to come deal out the b blocks of the outermost loop, the last of which may be shorter, to n
        instances. In every round in which another instance has a block, the first one has one. So it has ceil(b / n)
        at least. If one of them is the last block, no other instance has one in that round, so b <= n r - (n - 1) for
        the r blocks that the first one has; unless b = n k + 1, that makes r > ceil(b / n), so that as many are whole.
        """
        joined, passed = frozenset(fanouts), len(self.path.bands)
        found = self.active(dim, loops, joined)
        later = [rows.arrays[fanout][:, dim] for fanout in fanouts if fanout >= passed]
        if not later:
            return found
        n, blocks = np.prod(later, axis=0, dtype=np.int64), loops[0].trips
        if n.max(initial=1) == 1:
            return found
        inside = [loop.trips for loop in loops[1:] if loop.fanout not in joined]
        whole = np.prod([np.ones_like(n), *inside], axis=0, dtype=np.int64)
        last = np.where((blocks - 1) % n == 0, found - (blocks - 1) * whole, whole)
        least: Ints = (ceil_div_array(blocks, n) - 1) * whole + last
        return least
