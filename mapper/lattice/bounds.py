"""What the rest costs at least.

`settled`   what stays open: the first loop that is still to come moves every tensor but those it does not index,
            whatever follows. So of all tensors, only they can stay, over what is left of their loops at most; and of
            those that it moves, only tiles with its dimension in a window can slide, for as many trips as are left at
            most.
`ahead`     from a tile upwards, by the kind of the first loop above it: every memory further out takes its best tile,
            one after the other; each pays for its nodes what `settled` says. Tables over all tiles, made once for alike
            arrays above.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .columns import Flags, Floats, Ints
from .counting import Counting
from .exact_halo import ExactHalo
from .halo import Halo
from .placement import Placement, StorageStep


@dataclass(frozen=True)
class FirstLoop:
    """Loops over some dimensions, which leave the same tensors where they are.

    still    these tensors
    present  loops -> whether there is such a loop (above 1)
    axes     of the lattice
    """

    still: tuple[int, ...]
    dims: tuple[int, ...]
    present: Floats
    axes: list[int]


@dataclass(frozen=True)
class OpenCosts:
    """What is open at some partial mappings, or at some tiles.

    costs  tensor -> rows x columns; none of it slides
    slides rows x ways x columns: what could be saved by each way
    zone   of the next band
    """

    placement: Placement
    costs: list[Floats]
    slides: Floats
    zone: int


class TileBounds:
    """Tables and look-ups of one question."""

    def __init__(self, counting: Counting, halo: Halo, exact: ExactHalo) -> None:
        self.exact = exact
        self.counting, self.halo, self.q, self.lattice = counting, halo, counting.q, counting.lattice
        alike: dict[tuple[int, ...], list[int]] = {}
        for d in range(len(self.q.sizes)):
            alike.setdefault(tuple(t for t, dims in enumerate(counting.still) if d in dims), []).append(d)
        self.first_loops = [
            FirstLoop(still, tuple(dims), self.lattice.product(dims), self.lattice.steps(dims))
            for still, dims in alike.items()
        ]
        self.trips = [
            1 - 1 / self.lattice.extent[d] for d in range(len(self.q.sizes))
        ]  # loops -> (n - 1) / n along each
        self.tables: dict[object, tuple[Floats, list[Floats]]] = {}
        self.found: dict[tuple[Placement, int, int], tuple[Floats, list[Floats]]] = {}
        self.fits: dict[StorageStep, Flags] = {}
        self.held_by: dict[tuple[StorageStep, int], Ints] = {}

    def settled(self, now: OpenCosts, loops: Ints, ahead: list[Floats] | None = None) -> Floats:
        """What is open, with loops left above (rows), and what is ahead of the rows by kind of first loop ->
        columns."""
        kinds = list(self.by_kind(now, loops))
        if ahead is not None:
            kinds = [own + rest for own, rest in zip(kinds, ahead, strict=True)]
        least: Floats = np.minimum.reduce(kinds)
        return least

    def by_kind(self, now: OpenCosts, loops: Ints) -> Iterator[Floats]:
        """The same for every kind of first loop, infinite where there is none; the last: no loop is left."""
        total: Floats = np.sum(now.costs, axis=0)
        gains = [
            (t, d, now.slides[:, w] * self.trips[d][loops][:, None])
            for w, (t, d, zone) in enumerate(self.halo.ways(now.placement))
            if zone >= now.zone
        ]
        for first in self.first_loops:
            value = total
            for t in sorted({*first.still, *(t for t, _, _ in gains)}):
                saved = [gain for own, d, gain in gains if own == t and (t in first.still or d in first.dims)]
                most = np.maximum.reduce(saved) if saved else 0.0
                if t in first.still:
                    most = now.costs[t] - (now.costs[t] - most) / self.counting.kept_still[t][loops][:, None]
                value = value - most
            yield np.where((first.present[loops] > 1)[:, None], value, np.inf)
        yield np.where((loops == 0)[:, None], total, np.inf)

    def fitting(self, step: StorageStep) -> Flags:
        if step not in self.fits:
            self.fits[step] = self.counting.fitting(step)
        return self.fits[step]

    def key(self, placement: Placement, step: int) -> list[int]:
        """Alike arrays: those with the same parallel loops above a step's memory."""
        level = placement.levels[step]
        return [i for i, f in enumerate(self.q.fanouts) if f.level < level]

    def ahead(self, placement: Placement, step: int, row: int) -> tuple[Floats, list[Floats]]:
        """Tables of what the nodes from a step outwards cost: for the tile of that step, and for any tile inside it."""
        alike = int(self.counting.kinds(tuple(self.key(placement, step)))[row])
        short = placement, step, alike
        if short not in self.found:
            key = tuple(placement.steps[step:]), alike
            if key not in self.tables:
                self.tables[key] = self._ahead(placement, step, row)
            self.found[short] = self.tables[key]
        return self.found[short]

    def alike(self, key: list[int], rows: Ints) -> Iterator[Ints]:
        """Which rows have the same parallel loops on some fanouts."""
        kinds = self.counting.kinds(tuple(key))[rows]
        every = np.unique(kinds)
        for kind in every:
            yield np.flatnonzero(kinds == kind) if len(every) > 1 else np.arange(len(rows))

    def best_ahead(self, placement: Placement, step: int, rows: Ints, tiles: Ints) -> Floats:
        """(rows, columns) what the nodes from a step outwards cost, if it has some tiles."""
        out = np.empty((len(rows), 1 + len(self.q.columns)))
        for pick in self.alike(self.key(placement, step), rows):
            table = self.ahead(placement, step, int(rows[pick[0]]))[0]
            if len(pick) == len(rows):
                return table[tiles]
            out[pick] = table[tiles[pick]]
        return out

    def holding(self, step: StorageStep, tile: int) -> Ints:
        """Tiles that hold one, and fit a step's memory."""
        if (step, tile) not in self.held_by:
            own = self.lattice.multiples(tile)
            self.held_by[step, tile] = own[self.fitting(step)[own]]
        return self.held_by[step, tile]

    def _ahead(self, placement: Placement, step: int, row: int) -> tuple[Floats, list[Floats]]:
        counting, lattice = self.counting, self.lattice
        counting.means.check_numbers(lattice.size * (1 + len(self.q.columns)) * (1 + len(self.first_loops)))
        columns = 1 + len(self.q.columns)
        if step == placement.last:
            nothing = np.zeros((lattice.size, columns))
            return nothing, [nothing] * (len(self.first_loops) + 1)
        above = counting.between(-1, placement.levels[step])[row]
        tiles = np.flatnonzero(self.fitting(placement.steps[step]))
        tiles = tiles[lattice.divides(tiles, above)]
        rows = np.full(len(tiles), row)
        costs = [np.zeros((len(tiles), columns)) for _ in self.q.tensors]
        slides = np.zeros((len(tiles), len(self.halo.ways(placement)), columns))
        for b in placement.nodes[step]:
            visits, costs[b.tensor], share = counting.node(placement, b, tiles, rows)
            if self.exact.is_exact(b):
                costs[b.tensor] = self.exact.at_tiles(placement, b, step, tiles, rows, visits)
            if self.halo.is_slider(b):
                slides += self.halo.node(placement, step, b, tiles, rows, visits, share)
        outside = tiles + counting.between(placement.levels[step + 1], placement.levels[step])[row]
        kinds = []
        here = self.by_kind(OpenCosts(placement, costs, slides, placement.zones[step]), lattice.full - tiles - above)
        for own, rest in zip(here, self.ahead(placement, step + 1, row)[1], strict=True):
            kinds.append(np.full((lattice.size, columns), np.inf))
            kinds[-1][tiles] = own + rest[outside]
        best = np.minimum.reduce(kinds)
        beyond = lattice.least_above(best)  # with a loop of a kind first, the tile is this one or beyond that loop
        for first, kind in zip(self.first_loops, kinds, strict=False):
            for axis in first.axes:
                np.minimum(kind, lattice.shifted(beyond, axis), out=kind)
        return best, kinds

    def compulsory(self, placement: Placement) -> Floats:
        """All arrays -> columns: every instance is given each word once that it ever works on."""
        counting, arrays = self.counting, self.counting.arrays
        out = np.zeros((len(arrays.total), 1 + len(self.q.columns)))
        for b in (b for nodes in placement.nodes for b in nodes):
            assert b.inner is not None
            t, still = b.tensor, counting.kept_still[b.tensor]
            words = self.lattice.words[t][self.lattice.full]
            inner, outer = (still[counting.between(-1, self.q.memories[m].level)] for m in (b.inner, b.outer))
            out += words * (inner[:, None] * b.per_visit + outer[:, None] * b.per_arrival) / arrays.shares
        return out
