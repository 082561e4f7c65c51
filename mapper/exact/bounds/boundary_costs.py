"""Lower bounds on the cost of a boundary, for every tile at which it may be charged: the words that pass, divided by
the most instances that may share them.

These are the entries that the tables of `bounds.py` add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ....arch import Memory
from ....cost_models.cost import tensor_tile_words
from ....cost_models.passing import sum_bits_at_inner, sum_bits_at_outer
from ....cost_models.sets import distinct_sums
from ....ir import Rank, Stored, Tensor
from ..counting.cost_columns import CostColumns
from ..counting.lines import LineGaps
from ..counting.windows import tiles_total
from ..counting.zeros import EVERYTHING, Left
from ..question.hierarchy import MAC, Hierarchy, MemoryBoundary
from ..rows import Floats
from ..table_memo import TableBudget, TableMemo
from ..tiles.instances import axis_limits
from ..tiles.lattice import Lattice
from .array_groups import ArrayGroup, Limit
from .zeros_at_tiles import LeftAtTiles, TileBits

Gaps = tuple[LineGaps, LineGaps]
"""Words of full lines per word that passes, at the outer and at the inner memory of a boundary."""

Bits = tuple[Floats | float, Floats | float]
"""Bits per word, at the outer and at the inner memory of a boundary."""


class BoundaryBounds:
    """Costs over one lattice, for the arrays of one group.

    alike  costs over the same lattice for other arrays: what does not depend on arrays is taken over
    bits   of words with zeros by tile, where they are known
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        lattice: Lattice,
        cost_columns: CostColumns,
        arrays: ArrayGroup,
        alike: BoundaryBounds | None = None,
        memo: TableMemo | None = None,
        bits: TileBits | None = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.lattice = lattice
        self.cost_columns = cost_columns
        self.arrays = arrays
        self.tensors = hierarchy.problem.tensors
        self.dims = hierarchy.problem.dim_names
        self._last = lattice.cell_of(hierarchy.visit)
        self._words: dict[tuple[int, bool], np.ndarray] = {} if alike is None else alike._words
        self._memo = memo or TableBudget().memo()
        self._once: dict[MemoryBoundary, Floats] = {}
        self._bits = bits
        zeros = cost_columns.zeros
        self._left_at_tiles = None if zeros is None else LeftAtTiles(hierarchy, lattice, arrays, zeros)

    def cost(self, boundary: MemoryBoundary, passed: int, slid: bool = False) -> Floats:
        """Tabulate (groups, columns, lattice) the least cost of a boundary between memories, for every tile at which it
        may be charged inside fanout `passed`.

        slid  whether that is the tile to which a smaller one has slid
        """
        slid = slid and self.hierarchy.memories[boundary.inner].halo == "exact"
        return self._memo.of(("cost", boundary, passed, slid), lambda: self._cost(boundary, passed, slid))

    def _cost(self, boundary: MemoryBoundary, passed: int, slid: bool) -> Floats:
        words = np.ascontiguousarray(self.words_at_tiles(boundary, passed, slid)).ravel()
        gaps, bits = self._gaps_at_tiles(boundary, passed), self._bits_at_tiles(boundary)
        left = None if self._left_at_tiles is None else self._left_at_tiles.of(boundary, passed)
        costs = self.book(boundary, passed, words, gaps=gaps, bits=bits, left=left)
        if left is not None:
            costs += self._further_in(boundary, left)
        return costs.reshape(*costs.shape[:2], *self.lattice.shape)

    def _further_in(self, boundary: MemoryBoundary, left: Left) -> Floats | float:
        """Tabulate (groups, columns, cells) the least cost at the MACs that bounds have left out so far. They assume
        that zeros save there as much as in any mapping, until the charge of a boundary at a tile tells how many words
        pass."""
        zeros, macs = self.cost_columns.zeros, float(self.hierarchy.problem.macs)
        found = None if zeros is None else zeros.further_in_of_any(boundary, np.asarray(left.moved))
        if zeros is None or found is None:
            return 0.0
        costs = np.zeros((self.cost_columns.count, *found.moved.shape))
        memory, tensor = found.boundary.outer, found.boundary.tensor
        instances = np.asarray(self._outer_loads(tensor, memory))
        bits = zeros.least_bits(memory, tensor) * macs * found.moved
        level, role = self.hierarchy.memories[memory], self.tensors[tensor].role
        self.cost_columns.book(costs, level, role, (bits, np.zeros(1)), instances)
        self.cost_columns.book_energy(costs, macs * self.hierarchy.arch.mac.energy_pj * found.done)
        return np.moveaxis(costs, 0, 1)

    def more_at_macs(self, memory: int, tensor: int) -> Floats | None:
        """Tabulate (groups, columns, lattice) the cost of the bits beyond the least that the MACs read of a tensor, by
        the tile that the memory nearest to them holds; None: these bits are not known.

        What the MACs read is charged at the least bits until that tile is known, and what it takes beyond them then.
        """
        more = None if self._bits is None else self._bits.more_at_macs(memory, tensor)
        if more is None:
            return None
        boundary, macs = MemoryBoundary(tensor, MAC, memory), np.full(more.size, float(self.hierarchy.problem.macs))
        costs = self.book(boundary, 0, macs, bits=(more.ravel(), 0.0))
        return costs.reshape(*costs.shape[:2], *self.lattice.shape)

    def _bits_at_tiles(self, boundary: MemoryBoundary) -> Bits | None:
        """Bound from below (cells,) the bits per word of an operand in the outer and in the inner memory of a boundary,
        by the tile that charges it: the inner memory's tile lies inside that one, the outer memory's contains it."""
        if self._bits is None or self.tensors[boundary.tensor].is_output:
            return None
        outer = self._bits.around(boundary.outer, boundary.tensor)
        return np.ravel(outer), np.ravel(self._bits.within(boundary.inner, boundary.tensor))

    def words_at_tiles(self, boundary: MemoryBoundary, passed: int, slid: bool = False) -> Floats:
        """Tabulate (lattice) the least words of a boundary, by the tile that charges it. A tile that has slid (`slid`,
        as in `cost`) brings in fewer where overlaps are kept at every move."""
        hierarchy, t = self.hierarchy, boundary.tensor
        perfect = self.lattice.tiling == "perfect" or self.lattice.for_perfect
        exact = hierarchy.keeps_overlaps(boundary, not (perfect and self.cost_columns.counts_words))
        words = self._words_at_tiles(t, exact and (slid or not hierarchy.follows_halos))
        if slid and exact and self._knows_halo(t, passed):
            halo = hierarchy.kept_halo(t)
            part = halo.at_tiles[np.ix_(*(np.argsort(np.argsort(self.lattice.tiles[d])) for d in halo.dims))]
            words = np.maximum(self._words_at_tiles(t, False) * self.lattice.along(halo.dims, part), words)
        return np.broadcast_to(words, self.lattice.shape)

    def _knows_halo(self, t: int, passed: int) -> bool:
        """Tell whether it is known what overlaps leave of a tensor's words: of perfect tiles, where no array further
        out spreads windows."""
        hierarchy, problem = self.hierarchy, self.hierarchy.problem
        if self.lattice.tiling != "perfect" or not hierarchy.follows_halos:
            return False
        windows = [self.dims[d] for d in hierarchy.kept_halo(t).dims]
        return all(
            math.prod(axis_limits(problem, fanout, dim)) == 1
            for fanout in hierarchy.fanouts[passed:]
            for dim in windows
        )

    def at_last(self, boundary: MemoryBoundary, passed: int) -> Floats:
        """(groups, columns, one cell) of a boundary that is charged at the last tile: once a visit."""
        return self.cost(boundary, passed)[:, :, *self._last]

    def once(self, boundary: MemoryBoundary) -> Floats:
        """Return (columns,) the least cost of a boundary that every word of its tensor passes once."""
        if boundary not in self._once:
            words = np.array([float(tensor_tile_words(self.tensors[boundary.tensor], self.hierarchy.problem.sizes))])
            self._once[boundary] = self.book(boundary, len(self.hierarchy.fanouts), words).reshape(-1)
        return self._once[boundary]

    def _gaps_at_tiles(self, boundary: MemoryBoundary, passed: int) -> Gaps | None:
        """Bound from below (cells,) the words of full lines per word that passes, at the outer and at the inner memory
        of a boundary, by the tile that charges it."""
        lines = self.cost_columns.lines
        if lines is None:
            return None
        ends = [
            lines.gaps_at_tiles(boundary, memory, self.lattice, passed) for memory in (boundary.outer, boundary.inner)
        ]
        outer, inner = (LineGaps(*(np.broadcast_to(gap, self.lattice.shape).ravel() for gap in end)) for end in ends)
        return outer, inner

    def _gaps(self, boundary: MemoryBoundary) -> Gaps:
        """Bound from below the words of full lines per word that passes, at the outer and at the inner memory of a
        boundary, whatever tile charges it."""
        lines = self.cost_columns.lines
        if lines is None:
            return LineGaps(), LineGaps()
        return lines.least_gaps(boundary, boundary.outer), lines.least_gaps(boundary, boundary.inner)

    def book(
        self,
        boundary: MemoryBoundary,
        passed: int,
        words: Floats,
        gaps: Gaps | None = None,
        bits: Bits | None = None,
        left: Left | None = None,
    ) -> Floats:
        """Bound from below (groups, columns, n) the cost of a boundary whose charge moves (n,) distinct words, inside
        fanout `passed`.

        gaps  (n,) words of full lines per word, in the outer and the inner memory, where more is known than for any
              tile
        bits  (n,) per word of an operand, in both memories, where more is known than the least of any tile
        left  (groups, n) the share of the words that passes, where more is known than for any tile
        """
        tensor = self.tensors[boundary.tensor]
        found = np.zeros((self.arrays.stacked, self.cost_columns.count, len(words)))
        costs = np.moveaxis(found, 1, 0)
        nothing = np.zeros(1)
        outer, inner = self.hierarchy.memories[boundary.outer], self._memory(boundary.inner)
        outer_instances = np.asarray(self._outer_loads(boundary.tensor, boundary.outer))
        inner_instances = np.asarray(self._inner_loads(boundary.tensor, boundary.inner)) if inner else nothing
        copies, apart, shared = self._copies(boundary, passed)
        # However many instances share a serving, every word of the tensor is served once.
        distinct = float(tensor_tile_words(tensor, self.hierarchy.problem.sizes))
        filled, served = words * copies, np.maximum(words * apart / shared, distinct)
        zeros = self.cost_columns.zeros
        moved, timed = left or (EVERYTHING if zeros is None else zeros.least_left(boundary))
        costing = moved / timed
        outer_gaps, inner_gaps = gaps or self._gaps(boundary)
        if not tensor.is_output:
            outer_bits, inner_bits = bits or self._least_bits(boundary)
            read = served * (outer_bits * outer_gaps.words * timed)
            self.cost_columns.book(costs, outer, tensor.role, (read, nothing), outer_instances, costing=costing)
            if inner:
                written = filled * (inner_bits * inner_gaps.words * timed)
                self.cost_columns.book(costs, inner, tensor.role, (nothing, written), inner_instances, costing=costing)
                width = self.cost_columns.arch.partial_width_bits(tensor)
                self.cost_columns.book_refills(costs, outer, inner, tensor, filled * width / inner_instances)
            return found
        arch, once = self.cost_columns.arch, distinct * self.cost_columns.once_of
        # Instances outside both holders that the charge has waited for hold parts of the same sums, too.
        parts_outside, copies_outside = self._outside(boundary, passed)
        first = np.minimum(once * parts_outside * self._parts(boundary.outer, passed), served)
        finished = self._finished(boundary.tensor, boundary.outer, once) if inner else nothing
        read, written = sum_bits_at_outer(arch, tensor, served, first, finished)
        widths = arch.partial_width_bits(tensor), arch.width_bits(tensor)
        reading = read * outer_gaps.sums * timed
        writing = (written * outer_gaps.sums + outer_gaps.of_finished(finished, *widths)) * timed
        self.cost_columns.book(costs, outer, tensor.role, (reading, writing), outer_instances, costing=costing)
        if inner:
            # A word's first visit brings no sum, once per instance that holds a part of its sum. Instances inside the
            # charge repeat visits alike, so the visits after the first are at least those at one of them, and those at
            # one in each of the instances outside; and at least all visits, less one to as many instances as there may
            # be.
            at_one = once * self._parts(boundary.inner, passed)
            later = np.maximum(words - at_one, words * copies_outside - at_one * parts_outside)
            at_all = at_one * parts_outside * self._parts_inside(boundary, passed)
            first = np.minimum(at_all, filled - np.maximum(later, 0.0))
            finished = self._finished(boundary.tensor, boundary.inner, once)
            read, written = sum_bits_at_inner(arch, tensor, filled, first, finished)
            more = inner_gaps.sums * timed
            self.cost_columns.book(costs, inner, tensor.role, (read * more, written * more), inner_instances)
            width = self.cost_columns.arch.partial_width_bits(tensor)
            self.cost_columns.book_refills(costs, outer, inner, tensor, filled * width / inner_instances)
        return found

    def _least_bits(self, boundary: MemoryBoundary) -> Bits:
        """Return the least bits per word of an operand at the outer and at the inner memory of a boundary, whatever the
        tiles."""
        width, zeros = self.cost_columns.arch.width_bits(self.tensors[boundary.tensor]), self.cost_columns.zeros
        if zeros is None:
            return width, width
        inner = 0.0 if boundary.inner == MAC else zeros.least_bits(boundary.inner, boundary.tensor)
        return zeros.least_bits(boundary.outer, boundary.tensor), inner

    def _finished(self, tensor: int, memory: int, once: float) -> Floats:
        """Bound from above the output words that leave a memory, or come to it, finished and therefore narrower than
        partial sums. Each word counts once; none counts in the memory next to the MACs, nor where several instances
        surely hold parts of the same sum."""
        arch, output = self.cost_columns.arch, self.tensors[tensor]
        is_no_wider = arch.partial_width_bits(output) <= arch.width_bits(output)
        if is_no_wider or memory == self.hierarchy.fullest_placement[tensor][0]:
            return np.zeros(1)
        found = np.array(once)
        for fanout, inside in enumerate(self.hierarchy.inside):
            if inside > memory:
                found = np.where(np.asarray(self.arrays.copies[fanout][tensor]) > 1, 0.0, found)
        return found

    def _copies(self, boundary: MemoryBoundary, passed: int) -> tuple[Limit, Limit, Limit]:
        """Return limits over the fanouts between the holders: below the charge, the instances that want a word and the
        times it is served to them; above the charge, the most instances that may share a serving."""
        shared: Limit = 1.0
        # A charge that has waited until above a fanout outside both holders is one in each of its instances.
        _, copies = self._outside(boundary, passed)
        apart = copies
        for fanout in range(len(self.hierarchy.fanouts)):
            if not self.hierarchy.between(fanout, boundary):
                continue
            joins = self.hierarchy.joins(fanout, boundary)
            if fanout >= passed:
                shared = shared * (self.arrays.shared[fanout][boundary.tensor] if joins else 1.0)
            else:
                copies = copies * self.arrays.copies[fanout][boundary.tensor]
                apart = apart * (1.0 if joins else self.arrays.copies[fanout][boundary.tensor])
        return copies, apart, shared

    def _outside(self, boundary: MemoryBoundary, passed: int) -> tuple[Limit, Limit]:
        """Return limits over the fanouts outside both holders and below the charge: the most instances that hold parts
        of the same sums, and the instances that want a word."""
        fanouts = [f for f in range(passed) if self.hierarchy.inside[f] > boundary.outer]
        parts = math.prod(self.arrays.parts[f] for f in fanouts)
        return parts, math.prod(self.arrays.copies[f][boundary.tensor] for f in fanouts)

    def _inner_loads(self, _tensor: int, memory: int) -> Limit:
        """Bound from above the ratio of a tensor's traffic over all instances of the inner memory to that of the
        busiest instance."""
        return self._most_instances(memory)

    def _outer_loads(self, _tensor: int, memory: int) -> Limit:
        """Bound from above the ratio of a tensor's traffic over all instances of the outer memory to that of the
        busiest instance."""
        return self._most_instances(memory)

    def _most_instances(self, memory: int, first: int = 0) -> Limit:
        """Most instances of a memory, over fanouts from `first` on."""
        outside = (f for f, inside in enumerate(self.hierarchy.inside) if inside > memory and f >= first)
        return math.prod(self.arrays.instances[f] for f in outside)

    def _memory(self, memory: int) -> Memory | None:
        return None if memory == MAC else self.hierarchy.memories[memory]

    def _parts(self, memory: int, passed: int) -> Limit:
        """Most instances of a memory, over fanouts from `passed` on, that hold parts of the same sums."""
        parts: Limit = 1.0
        for fanout in range(passed, len(self.hierarchy.fanouts)):
            if self.hierarchy.inside[fanout] > memory:
                parts = parts * self.arrays.parts[fanout]
        return parts

    def _parts_inside(self, boundary: MemoryBoundary, passed: int) -> Limit:
        """Most instances, over fanouts between the holders and below the charge, that hold parts of the same sums."""
        inside = (f for f in range(passed) if self.hierarchy.between(f, boundary))
        return math.prod(self.arrays.parts[f] for f in inside)

    def _words_at_tiles(self, t: int, exact_halo: bool) -> np.ndarray:
        """Tabulate the words that all charges of a tensor bring, by the tile that is charged; broadcastable over the
        lattice."""
        key = (t, exact_halo)
        if key not in self._words:
            tensor = self.tensors[t]
            if exact_halo:
                distinct = float(tensor_tile_words(tensor, self.hierarchy.problem.sizes))
                self._words[key] = np.full((1,) * len(self.dims), distinct)
            else:
                self._words[key] = self._words_of(tensor)
        return self._words[key]

    def _words_of(self, tensor: Tensor) -> np.ndarray:
        words = np.ones((1,) * len(self.dims))
        for i, dim in enumerate(self.dims):
            if dim not in tensor.dims:
                counts = np.ceil(self.lattice.sizes[i] / self.lattice.tiles[i])
                words = words * self.lattice.along([i], self.lattice.least_in_cells(counts, [i]))
        for rank, stored in tensor.stored_ranks:
            words = words * self._rank_words(rank, stored)
        return words

    def _rank_words(self, rank: Rank, stored: Stored | None) -> np.ndarray | float:
        """Tabulate the words along a rank, over all tiles of each size; `stored`: only those that are stored."""
        indices = [self.dims.index(dim) for dim, _ in rank]
        sizes = [self.lattice.sizes[i] for i in indices]
        if len(rank) <= 1:
            return float(math.prod(sizes))
        axes = [self.lattice.tiles[i] for i in indices]
        words = np.empty([len(axis) for axis in axes])
        for place in itertools.product(*(range(len(axis)) for axis in axes)):
            tiles = [int(axis[p]) for axis, p in zip(axes, place, strict=True)]
            coefficients = tuple(c for _, c in rank)
            if stored is None:
                words[place] = _all_tiles(coefficients, tiles, sizes)
            else:
                words[place] = tiles_total(coefficients, sizes, tiles, "exact", stored)
        return self.lattice.along(indices, self.lattice.least_in_cells(words, indices))


def _all_tiles(coefficients: tuple[int, ...], tiles: Sequence[int], sizes: Sequence[int]) -> float:
    """Distinct sums of every tile, ragged last ones included, added up."""
    kinds = []
    for tile, size in zip(tiles, sizes, strict=True):
        full, rest = divmod(size, tile)
        kinds.append([(full, tile)] + ([(1, rest)] if rest else []))
    total = 0
    for combination in itertools.product(*kinds):
        count = 1
        for number, _ in combination:
            count *= number
        total += count * distinct_sums(coefficients, tuple(extent for _, extent in combination))
    return float(total)
