"""What a boundary costs that is charged: its words, and what they take with lines, zeros and hops, as cost columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....cost_models.hops import hops
from ....cost_models.passing import sum_bits_at_inner, sum_bits_at_outer
from ..question.hierarchy import MAC, Hierarchy, MemoryBoundary
from ..rows import Floats, Rows
from .cost_columns import CostColumns
from .fill_point import FillPoint
from .first_instance import first_share
from .lines import LineBounds, LineGaps
from .traffic import TrafficModel
from .zeros import EVERYTHING, ZeroBounds


@dataclass(frozen=True)
class BoundaryCosts:
    """Cost columns of single boundaries.

    counts_blocks  round up to whole blocks: with perfect tilings, every instance of a memory moves as many words
    ragged         whether some instances may have less to do than others
    """

    hierarchy: Hierarchy
    cost_columns: CostColumns
    counts_blocks: bool = True
    ragged: bool = False

    @property
    def lines(self) -> LineBounds | None:
        """Bounds on the lines that words take; None: no memory has lines."""
        return self.cost_columns.lines

    def words(
        self,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        exactly: bool = False,
    ) -> tuple[Floats, Floats]:
        """(rows,) words given to the inner memory's instances, and words that the outer memory serves; without a
        charge, the words of a boundary at the MAC.

        exactly  see `TrafficModel.served`
        """
        if fill_point is None:
            served = model.computed(rows, boundary)
            return served, served
        tensor = self.hierarchy.problem.tensors[boundary.tensor]
        if self._halo_is_exact(boundary):
            # An exact halo keeps words at wraps and ragged edges that depend on all loops above: bounded here,
            # and counted once the mapping is complete.
            distinct = np.full(len(rows), float(model.distinct_words(tensor)))
            if not self.hierarchy.follows_halos:
                return distinct, distinct
            filled, served = model.filled_and_served(rows, boundary, fill_point, exactly)
            if fill_point.slide is None:
                return filled, served
            in_each, together = self._kept_parts(model, rows, boundary, fill_point)
            return np.maximum(filled * in_each, distinct), np.maximum(served * together, distinct)
        return model.filled_and_served(rows, boundary, fill_point, exactly)

    def _kept_parts(
        self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint
    ) -> tuple[Floats, Floats]:
        """(rows,) of the words that tiles are given which slide along a loop, the part that they are given at least if
        no overlap is lost; in each instance, and of those that are served together. 0 where nothing is known."""
        assert fill_point.slide is not None
        halo, (d, above) = self.hierarchy.kept_halo(boundary.tensor), fill_point.slide
        held = rows.tiles[model.path.node_group_of(boundary.inner, boundary.tensor)]
        bands = [*model.path.bands, *[np.inf] * len(rows.arrays)]
        outside = [array for band, array in zip(bands, rows.arrays, strict=False) if band > fill_point.band]
        known = np.prod([np.ones(len(rows)), *(array[:, halo.dims].prod(axis=1) for array in outside)], axis=0) == 1
        shared = [rows.arrays[f] for f in model.sharing(boundary)]
        joined = np.prod([held, *shared], axis=0)
        together = (joined == fill_point.tile)[:, halo.dims].all(axis=1)
        in_each = known * halo.parts_of_slides(held, fill_point.tile, d, above)
        return in_each, np.where(
            together, known * halo.parts_of_slides(fill_point.tile, fill_point.tile, d, above), 0.0
        )

    def of(
        self,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        exactly: bool = False,
    ) -> Floats:
        """(columns, rows) of a boundary, charged as given."""
        filled, served = self.words(model, rows, boundary, fill_point, exactly)
        costs = self.book(model, rows, boundary, fill_point, (filled, served), exactly)
        self._book_hops(costs, model, rows, boundary, fill_point, exactly)
        return costs

    def _book_hops(
        self,
        costs: Floats,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        exactly: bool,
    ) -> None:
        """Add the energy of hops; of operands with an exact halo it is left to the cost model."""
        tensor = self.hierarchy.problem.tensors[boundary.tensor]
        if fill_point is not None and self._halo_is_exact(boundary):
            return
        for f, fanout in enumerate(self.hierarchy.fanouts):
            if fanout.hop_pj_per_bit and self.hierarchy.between(f, boundary):
                instances = rows.arrays[f].prod(axis=1)
                part = self.cost_columns.once_of
                entering, leaving = (
                    model.passing(rows, boundary, fill_point, inside, exactly, part) for inside in (f + 1, f)
                )
                passed = np.where(instances > 1, hops(instances, entering, leaving), 0.0)
                width = self.cost_columns.arch.partial_width_bits(tensor)
                self.cost_columns.book_energy(costs, passed * (width * fanout.hop_pj_per_bit))

    def _halo_is_exact(self, boundary: MemoryBoundary) -> bool:
        return self.hierarchy.keeps_overlaps(boundary, self.ragged or not self.cost_columns.counts_words)

    def book(
        self,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        words_moved: tuple[Floats, Floats],
        exactly: bool = False,
    ) -> Floats:
        """Cost columns of the words of one boundary, at the inner memory and at the outer one; `exactly`: words are
        counted so, and lines are to be."""
        costs, (filled, served) = np.zeros((self.cost_columns.count, len(rows))), words_moved
        zeros = self.cost_columns.zeros
        moved, timed = EVERYTHING if zeros is None else zeros.left(model, rows, boundary, fill_point)
        tensor, none = self.hierarchy.problem.tensors[boundary.tensor], np.zeros(1)
        widths = self.cost_columns.arch.partial_width_bits(tensor), self.cost_columns.arch.width_bits(tensor)
        for memory, outer in ((boundary.outer, True), (boundary.inner, False)):
            if memory == MAC:
                continue
            if not tensor.is_output:
                bits = self._word_bits(model, rows, boundary, memory) * (served if outer else filled)
                read, written = (bits, none) if outer else (none, bits)
            else:
                words, finished = served if outer else filled, self._finished(model, rows, boundary, memory)
                first = np.minimum(model.first_words(rows, tensor, memory) * self.cost_columns.once_of, words)
                bits_at = sum_bits_at_outer if outer else sum_bits_at_inner
                read, written = bits_at(self.cost_columns.arch, tensor, words, first, finished)
            level, instances = self.hierarchy.memories[memory], model.instances(rows, memory)
            in_blocks = instances if self.counts_blocks else None
            if self.lines is not None:
                counted = served if exactly and outer and self.lines.are_counted(boundary) else None
                gaps = self._gaps(self.lines, model, rows, boundary, fill_point, memory, counted)
                self._book_banks(costs, self.lines, model, rows, boundary, memory, (read, written))
                more = gaps.sums if tensor.is_output else gaps.words
                read, written = read * more, written * more
                if tensor.is_output and outer:
                    written = written + gaps.of_finished(finished, *widths)
            read, written = read * timed, written * timed
            self.cost_columns.book(costs, level, tensor.role, (read, written), instances, in_blocks, moved / timed)
            if not outer:
                arriving = filled * widths[0] / instances
                outside = self.hierarchy.memories[boundary.outer]
                self.cost_columns.book_refills(costs, outside, level, tensor, arriving)
            own = self._of_first(model, rows, boundary, fill_point, memory, served if outer else filled)
            if own is not None:
                busiest = own[0] * timed, own[1] * timed
                self.cost_columns.book_busiest(costs, level, tensor.role, (read, written), instances, busiest)
        if zeros is not None and self._is_unsettled(zeros, model, boundary):
            self.cost_columns.leave_unsettled(costs, boundary.tensor, served * moved)
        if zeros is not None and fill_point is not None:
            self._book_further_in(zeros, costs, model, rows, boundary, moved)
        return costs

    def _book_further_in(
        self,
        zeros: ZeroBounds,
        costs: Floats,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        moved: Floats | float,
    ) -> None:
        """Add what an operand's only saver does not leave out at the MACs, where as much has been taken for left out as
        any mapping may.

        Lemma. What passes to the MACs, and operations, are left out where the words of the other operand that come
        with an access of the saver are all zero, and nowhere else but by the units themselves. So the part of the words
        that passes here is the part that passes at the MACs; and of the operations no fewer are done than the smaller
        of that part and of what the units leave.
        """
        found = zeros.further_in(model, rows, boundary, moved)
        if found is None:
            return
        memory = found.boundary.outer
        bits = self._word_bits(model, rows, found.boundary, memory) * model.computed(rows, found.boundary)
        instances = model.instances(rows, memory)
        level = self.hierarchy.memories[memory]
        role = self.hierarchy.problem.tensors[found.boundary.tensor].role
        self.cost_columns.book(costs, level, role, (bits * found.moved, np.zeros(1)), instances)
        operations = self.hierarchy.problem.macs * self.hierarchy.arch.mac.energy_pj
        self.cost_columns.book_energy(costs, operations * found.done)

    def _gaps(
        self,
        lines: LineBounds,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        memory: int,
        counted: Floats | None,
    ) -> LineGaps:
        """(rows,) what lines take more than the words in them at one end of a boundary, at least; as it is, where the
        words that pass are `counted`."""
        if counted is None:
            return lines.words_per_word(model, rows, boundary, memory, fill_point)
        return lines.counted_gaps(model, rows, boundary, fill_point, counted)

    def _book_banks(
        self,
        costs: Floats,
        lines: LineBounds,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        memory: int,
        bits: tuple[Floats, Floats],
    ) -> None:
        """Add cycles for which the words of one end of a boundary keep banks busy, as bits read and written."""
        waiting = lines.cycles_per_word(model, rows, boundary, memory)
        if waiting is None:
            return
        tensor = self.hierarchy.problem.tensors[boundary.tensor]
        waiting = waiting / self.cost_columns.arch.partial_width_bits(tensor)
        level, instances = self.hierarchy.memories[memory], model.instances(rows, memory)
        reads, writes = bits
        banks = reads * waiting, writes * waiting
        self.cost_columns.book_banks(costs, level, tensor.role, boundary.tensor, banks, instances)

    @property
    def knows_busiest(self) -> bool:
        """Whether it is counted how much the busiest instance of a memory has to do: not with lines, nor where what
        zeros leave depends on tiles."""
        return self.ragged and self.cost_columns.scales_words

    def loads_differ(self, memory: int) -> bool:
        """Whether instances of a memory may have more or less to do than others, and it is counted how much."""
        has_port = any(port.memory is self.hierarchy.memories[memory] for port in self.cost_columns.ports)
        return self.knows_busiest and memory != MAC and has_port

    def _of_first(
        self,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        memory: int,
        words: Floats,
    ) -> tuple[Floats, Floats] | None:
        """(rows,) bits read and written by the first instance of a holder of a boundary, of the words that pass there,
        at least; None: the average over all is what is known."""
        if not self.loads_differ(memory) or (fill_point is not None and self._halo_is_exact(boundary)):
            return None
        share = first_share(model, rows, boundary, memory, fill_point)
        if share is None:
            return None
        arch, tensor, none = self.cost_columns.arch, self.hierarchy.problem.tensors[boundary.tensor], np.zeros(1)
        words, outer = words * share.words, memory == boundary.outer
        if not tensor.is_output:
            bits = words * self._word_bits(model, rows, boundary, memory)
            return (bits, none) if outer else (none, bits)
        distinct = float(model.distinct_words(tensor)) * self.cost_columns.once_of
        finished = self._finished(model, rows, boundary, memory) * share.distinct
        bits_at = sum_bits_at_outer if outer else sum_bits_at_inner
        return bits_at(arch, tensor, words, np.minimum(distinct * share.distinct, words), finished)

    def _word_bits(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int) -> Floats | float:
        """(rows,) bits of a word of an operand in one of the holders of a boundary; the least, where the tile of the
        outer one is not known yet."""
        zeros = self.cost_columns.zeros
        if zeros is None:
            return self.cost_columns.arch.width_bits(self.hierarchy.problem.tensors[boundary.tensor])
        if memory == boundary.outer and not self._is_placed(model, boundary):
            return zeros.least_bits(memory, boundary.tensor)
        return zeros.bits(memory, boundary.tensor, rows.tiles[model.path.node_group_of(memory, boundary.tensor)])

    def _is_unsettled(self, zeros: ZeroBounds, model: TrafficModel, boundary: MemoryBoundary) -> bool:
        """Whether the bits of the words that are read depend on a tile that is not known yet."""
        return zeros.depend_on_tiles(boundary.outer, boundary.tensor) and not self._is_placed(model, boundary)

    def _is_placed(self, model: TrafficModel, boundary: MemoryBoundary) -> bool:
        """Whether the node of the outer holder stands already."""
        return any(
            self.hierarchy.node_memory(node_group, boundary.tensor) == boundary.outer
            for node_group in model.path.node_groups
        )

    def _finished(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int) -> Floats:
        """(rows,) words that are known to be finished when they leave the last time."""
        tensor = self.hierarchy.problem.tensors[boundary.tensor]
        if memory == model.path.placement[boundary.tensor][0]:
            return np.zeros(len(rows))
        shared = model.reduction_instances(rows, memory) > 1
        finished: Floats = np.where(shared, 0.0, float(model.distinct_words(tensor)) * self.cost_columns.once_of)
        return finished
