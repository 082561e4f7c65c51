"""The innermost decision of a branch: the tile of block 0 and the arrays around it, for all dimensions at once.

One such decision is a *label*. It fixes, exactly, the time steps and the words between the MACs and the innermost
memories that keep each tensor, except where fanouts further out share words, which is bounded from below. All else
is left to `expansion.py`, and bounded by the tables of `bounds.py` at the label's array tile.

Per dimension there are up to a few hundred choices of (instances below block 0, tile of block 0, instances above
it). Dimensions are added one by one, the one with most choices first. A partial choice is dropped when an axis
overflows, when block 0 cannot hold the tiles even if all other dimensions are 1, or when its bound reaches the
cutoff. That bound is the sum, column by column, of

- the least that all gaps from gap 1 on cost over the dimensions still open: minima of `Bounds.around[1]`;
- the least words between MACs and memories: MACs, over the most instances that one word may serve.

Time steps enter as the product over chosen dimensions, times the work of the others over the instances still free.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..cost_models import Objective
from ..ir import Tensor, ceil_div
from .arrays import AxisUse, Pairs, axis_limits, spreadings
from .bounds import Bounds
from .skeleton import MAC
from .tilings import factors, grow
from .traffic import Floats, Ints, Rows

CHUNK = 200_000
"""Partial choices handled at once: bounds the memory in use."""


@dataclass(frozen=True)
class DimensionChoices:
    """All choices of one dimension, as columns.

    arrays     (choices, inner fanouts) instances per fanout of gaps 0 and 1, inner fanouts first
    pairs      per inner fanout, per choice: the axis trips that realize the instances
    tile       (choices,) tile of block 0
    array_tile (choices,) elements that the arrays of gap 1 cover together
    steps      (choices,) time steps along the dimension, at least
    """

    arrays: Ints
    pairs: list[list[Pairs]]
    tile: Ints
    array_tile: Ints
    steps: Floats


@dataclass(frozen=True)
class _MacWords:
    """The words of one tensor between the MACs and the innermost memory that keeps it.

    costs     (columns, 1) per word
    distinct  words of the whole tensor: no fewer can pass
    joined    per fanout, whether one transfer serves its instances
    """

    tensor: Tensor
    costs: Floats
    distinct: float
    joined: list[bool]


@dataclass
class _Partial:
    tiles: Ints
    arrays: list[Ints]
    states: Ints
    place: Ints
    steps: Floats
    instances: Floats
    parts: Floats

    def take(self, index: Ints) -> _Partial:
        return _Partial(
            self.tiles[index],
            [a[index] for a in self.arrays],
            self.states[index],
            self.place[index],
            self.steps[index],
            self.instances[index],
            self.parts[index],
        )


@dataclass
class Labels:
    """Partial mappings with what they cost so far.

    costs   (columns, rows) of everything charged
    steps   (rows,) time steps
    bound   (rows,) objective that no completion undercuts
    """

    rows: Rows
    costs: Floats
    steps: Floats
    bound: Floats

    def take(self, index: np.ndarray) -> Labels:
        return Labels(self.rows.take(index), self.costs[:, index], self.steps[index], self.bound[index])


class InnerStage:
    """Enumerates the labels just above the arrays of gap 1 (or gap 0, if one memory keeps everything)."""

    def __init__(self, bounds: Bounds, objective: Objective, pruned: Counter[str]) -> None:
        self.bounds = bounds
        self.objective = objective
        self.pruned = pruned
        self.costs = bounds.costs
        self.skeleton = bounds.skeleton
        self.problem = bounds.skeleton.problem
        self.sizes = [size for _, size in self.problem.dims]
        self.top = min(1, self.skeleton.blocks - 1)
        places = self.costs.model.fanouts
        self.inner = [p for p in places if p.gap <= self.top]
        fanouts = [f for gap in self.skeleton.gap_fanouts for f in reversed(gap)]
        self.fanouts = [fanouts[p.index] for p in self.inner]
        self.uses = [AxisUse.of(f) for f in self.fanouts]
        self.outer_instances = [
            math.prod(int(bounds.outer_arrays[p.index][d]) for p in places if p.index in bounds.outer_arrays)
            for d in range(len(self.sizes))
        ]
        self.choices = [self._choices(d) for d in range(len(self.sizes))]
        self.order = sorted(range(len(self.sizes)), key=lambda d: -len(self.choices[d].tile))
        self.projections = self._projections()
        self.mac_words, self.part_costs = self._mac_words()
        self.free_instances = float(math.prod(f.instances for f in self.fanouts))

    # ---- choices of one dimension --------------------------------------------------------------------------

    def _choices(self, d: int) -> DimensionChoices:
        size, tiling, even = self.sizes[d], self.bounds.lattice.tiling, self.bounds.lattice.even[d]
        limits = [axis_limits(self.problem, f, self.problem.dim_names[d]) for f in self.fanouts]
        below = [i for i, p in enumerate(self.inner) if p.gap == 0]
        above = [i for i, p in enumerate(self.inner) if p.gap == 1]
        arrays, pairs, tiles, tops, steps = [], [], [], [], []
        for inside, inside_pairs, start in self._spread(1, size, [limits[i] for i in below], even):
            for factor in factors(ceil_div(size, start), tiling, even):
                tile = grow(start, factor, size)
                if self.skeleton.blocks == 1 and tile != size:
                    continue
                for around, around_pairs, top in self._spread(tile, size, [limits[i] for i in above], even):
                    if not self._leaves_room(size, top, d):
                        continue
                    arrays.append([*inside, *around])
                    pairs.append([*inside_pairs, *around_pairs])
                    tiles.append(tile)
                    tops.append(top)
                    steps.append(_steps(size, top, tile, start) / self.outer_instances[d])
        count = len(self.inner)
        return DimensionChoices(
            np.array(arrays, dtype=np.int64).reshape(len(tiles), count),
            [[p[i] for p in pairs] for i in range(count)],
            np.array(tiles, dtype=np.int64),
            np.array(tops, dtype=np.int64),
            np.array(steps),
        )

    def _spread(
        self, tile: int, size: int, limits: list[tuple[int, int]], even: bool
    ) -> Iterator[tuple[list[int], list[Pairs], int]]:
        """Instances over several fanouts, inner ones first, with the tile that they cover."""
        if not limits:
            yield [], [], tile
            return
        for way in spreadings(ceil_div(size, tile), limits[0], self.bounds.lattice.tiling, even):
            grown = grow(tile, way.instances, size)
            for more, pairs, top in self._spread(grown, size, limits[1:], even):
                yield [way.instances, *more], [way.pairs, *pairs], top

    def _leaves_room(self, size: int, top: int, d: int) -> bool:
        """Whether the instances that the outer fanouts are to have along the dimension can still be given."""
        wanted = self.outer_instances[d]
        left = ceil_div(size, top)
        return left % wanted == 0 if self.bounds.lattice.tiling == "perfect" else left >= wanted

    # ---- bounds --------------------------------------------------------------------------------------------

    def _projections(self) -> list[Floats]:
        """After m dimensions: (columns, places) least cost of all gaps above, over the dimensions still open."""
        if self.skeleton.blocks == 1:
            return [np.zeros((self.costs.ledger.columns, 1)) for _ in range(len(self.sizes) + 1)]
        table = np.transpose(self.bounds.around[1], (0, *(d + 1 for d in self.order)))
        tables = [table]
        for _ in self.order:
            tables.append(tables[-1].min(axis=-1))
        return [t.reshape(len(t), -1) for t in reversed(tables)]

    def _mac_words(self) -> tuple[list[_MacWords], Floats]:
        """What words between MACs and memories cost, crossing by crossing; and what each part of the sums may save."""
        ledger, arch = self.costs.ledger, self.skeleton.arch
        found, part = [], np.zeros((ledger.columns, 1))
        for crossing in self.skeleton.crossings:
            if crossing.inner != MAC:
                continue
            tensor, memory = self.problem.tensors[crossing.tensor], self.skeleton.memories[crossing.outer]
            bits = np.array([float(arch.partial_width_bits(tensor))])
            costs = np.zeros((ledger.columns, 1))
            instances = np.array([float(arch.instances(memory.name))])
            ledger.book(costs, memory, bits, bits if tensor.is_output else np.zeros(1), instances)
            distinct = float(self.costs.model.distinct_words(tensor))
            if tensor.is_output:
                ledger.book(part, memory, distinct * bits, np.zeros(1), np.ones(1))
            joined = [
                place.gap <= crossing.outer and (place.spatial_reduction if tensor.is_output else place.multicast)
                for place in self.costs.model.fanouts
            ]
            found.append(_MacWords(tensor, costs, distinct, joined))
        return found, part

    def _mac_costs(self, partial: _Partial, done: int, free: Floats) -> Floats:
        """(columns, partials) least cost of the words between MACs and memories.

        A word serves at most as many MACs as there are joined instances along dimensions that do not move it; along
        the dimensions of one rank, at most all but the most widely spread one.
        """
        total = np.zeros((self.costs.ledger.columns, len(partial.place)))
        self.costs.ledger.book_energy(total, self.problem.macs * self.skeleton.arch.mac.energy_pj)
        open_dims = self.order[done:]
        for words in self.mac_words:
            shared = np.ones(len(partial.place))
            for d in self.order[:done]:
                if self.problem.dim_names[d] not in words.tensor.dims:
                    shared = shared * self._joined(partial, words, d)
            for rank in words.tensor.ranks:
                if len(rank) > 1:
                    spread = [self._joined(partial, words, self.problem.dim_names.index(dim)) for dim, _ in rank]
                    shared = shared * np.prod(spread, axis=0) / np.max(spread, axis=0)
            movable = [d for d in open_dims if self._may_share(words.tensor, d)]
            shared = shared * np.minimum(free, math.prod(self.sizes[d] for d in movable))
            total += words.costs * np.maximum(self.problem.macs / shared, words.distinct)
        return total

    def _may_share(self, tensor: Tensor, d: int) -> bool:
        """Whether instances along a dimension may want the same word."""
        dim = self.problem.dim_names[d]
        return all(len(rank) > 1 for rank in tensor.ranks if any(x == dim for x, _ in rank))

    def _joined(self, partial: _Partial, words: _MacWords, d: int) -> Floats:
        """(partials,) instances along a dimension that one transfer may serve."""
        joined = np.full(len(partial.place), 1.0)
        for i, place in enumerate(self.inner):
            if words.joined[place.index]:
                joined = joined * partial.arrays[i][:, d]
        for index, fixed in self.bounds.outer_arrays.items():
            if words.joined[index]:
                joined = joined * float(fixed[d])
        return joined

    def root_bound(self) -> float:
        """No mapping of the skeleton has a lower objective."""
        empty = self._start()
        return float(self._bound(empty, 0)[0])

    def _bound(self, partial: _Partial, done: int) -> Floats:
        """(partials,) objective that no completion undercuts, with the first `done` dimensions chosen."""
        open_dims = self.order[done:]
        open_points = float(math.prod(self.sizes[d] for d in open_dims))
        open_sums = float(math.prod(self.sizes[d] for d in open_dims if self._reduces(d)))
        free = self.free_instances / partial.instances
        outer = float(math.prod(self.outer_instances[d] for d in open_dims))
        steps = partial.steps * np.maximum(open_points / outer / free, 1.0)
        parts = partial.parts * np.minimum(free * outer, open_sums)
        mac_costs = self._mac_costs(partial, done, free * outer)
        costs = self.projections[done][:, partial.place] + np.maximum(mac_costs - self.part_costs * parts, 0.0)
        return self.costs.ledger.objective(self.objective, costs, steps)

    def _reduces(self, d: int) -> bool:
        return self.problem.dim_names[d] not in self.problem.output.dims

    # ---- enumeration ---------------------------------------------------------------------------------------

    def _start(self) -> _Partial:
        dims = len(self.sizes)
        return _Partial(
            tiles=np.ones((1, dims), dtype=np.int64),
            arrays=[np.ones((1, dims), dtype=np.int64) for _ in self.inner],
            states=np.zeros((1, len(self.inner)), dtype=np.int64),
            place=np.zeros(1, dtype=np.int64),
            steps=np.ones(1),
            instances=np.ones(1),
            parts=np.ones(1),
        )

    def labels(self, below: float) -> Iterator[Labels]:
        """All labels whose bound lies below the cutoff, in pieces."""
        for partial in self._grow(self._start(), 0, below):
            labels = self._complete(partial)
            keep = np.flatnonzero(self._below(labels.bound, below))
            if len(keep):
                yield labels.take(keep)

    def promising(self, width: int, below: float) -> Labels:
        """Some labels with low bounds: only the `width` best partial choices are carried on at each dimension."""
        partial = self._start()
        for done in range(len(self.order)):
            partial = self._add(partial, done, below)
            best = np.argsort(self._bound(partial, done + 1), kind="stable")[:width]
            partial = partial.take(best)
        labels = self._complete(partial)
        return labels.take(np.argsort(labels.bound, kind="stable"))

    def _grow(self, partial: _Partial, done: int, below: float) -> Iterator[_Partial]:
        if done == len(self.order):
            yield partial
            return
        count = len(self.choices[self.order[done]].tile)
        piece = max(1, CHUNK // max(count, 1))
        for start in range(0, len(partial.place), piece):
            grown = self._add(partial.take(np.arange(start, min(start + piece, len(partial.place)))), done, below)
            if len(grown.place):
                yield from self._grow(grown, done + 1, below)

    def _add(self, partial: _Partial, done: int, below: float) -> _Partial:
        """Every partial with every choice of the next dimension, less what is pruned."""
        d = self.order[done]
        choices = self.choices[d]
        rows, picks, states = self._within_axes(partial, choices)
        grown = partial.take(rows)
        grown.states = states
        grown.tiles[:, d] = choices.tile[picks]
        for i, array in enumerate(grown.arrays):
            array[:, d] = choices.arrays[picks, i]
        taken = choices.arrays[picks].prod(axis=1).astype(np.float64)
        grown.steps = grown.steps * choices.steps[picks]
        grown.instances = grown.instances * taken
        if self._reduces(d):
            grown.parts = grown.parts * taken * self.outer_instances[d]
        if self.skeleton.blocks > 1:
            axis = self.bounds.lattice.places[d]
            grown.place = grown.place * self.bounds.lattice.shape[d] + axis[choices.array_tile[picks]]
        grown = grown.take(np.flatnonzero(self._below(self._bound(grown, done + 1), below)))
        if self.skeleton.blocks > 1:
            fits = self.costs.model.fits(0, grown.tiles)
            self.pruned["capacity"] += int(np.count_nonzero(~fits))
            grown = grown.take(np.flatnonzero(fits))
        return grown

    def _below(self, bounds: Floats, below: float) -> np.ndarray:
        keep = bounds < below
        self.pruned["bound"] += int(np.count_nonzero(~keep))
        return keep

    def _within_axes(self, partial: _Partial, choices: DimensionChoices) -> tuple[Ints, Ints, Ints]:
        """Pairs of (partial, choice) that the array axes allow, and the axes' states after them."""
        rows = np.repeat(np.arange(len(partial.place)), len(choices.tile))
        picks = np.tile(np.arange(len(choices.tile)), len(partial.place))
        columns = []
        for i, use in enumerate(self.uses):
            known, which = np.unique(partial.states[:, i], return_inverse=True)
            table = np.array([[use.after(int(s), pairs) for pairs in choices.pairs[i]] for s in known])
            columns.append(table[which].ravel())
        states = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=np.int64)
        fine = (states >= 0).all(axis=1)
        self.pruned["array"] += int(np.count_nonzero(~fine))
        return rows[fine], picks[fine], states[fine]

    def _complete(self, partial: _Partial) -> Labels:
        """Exact costs between MACs and memories, and the bound on the rest."""
        count = len(partial.place)
        arrays: list[Ints] = list(partial.arrays)
        for place in self.costs.model.fanouts:
            if place.index in self.bounds.outer_arrays:
                fixed = self.bounds.outer_arrays[place.index]
                arrays.append(np.broadcast_to(fixed, (count, len(self.sizes))).copy())
        rows = Rows([partial.tiles], arrays)
        costs = np.zeros((self.costs.ledger.columns, count))
        self.costs.ledger.book_energy(costs, self.problem.macs * self.skeleton.arch.mac.energy_pj)
        for crossing in self.skeleton.crossings:
            if crossing.inner == MAC:
                costs += self.costs.computed(rows, crossing, self.top)
        steps = self.costs.model.steps(rows, self.top)
        bound = self.costs.ledger.objective(self.objective, costs + self.projections[-1][:, partial.place], steps)
        return Labels(rows, costs, steps, bound)


def _steps(size: int, top: int, tile: int, start: int) -> int:
    """Time steps along one dimension: arrays of `top`, in each of them tiles of `tile`, in those pieces of `start`."""
    blocks = ceil_div(size, top)
    rest = min(tile, size - (blocks - 1) * top)
    return (blocks - 1) * ceil_div(tile, start) + ceil_div(rest, start)
