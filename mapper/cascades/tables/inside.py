"""Everything below the nearest memory: all arrays, and all tiles of the memories inside them, as rows of numbers.

With perfect tiles and plain ranks the words that enter a node, over all of an operation and all instances, are its
points divided by the node's tile along the dimensions that do not move the tensor. So they depend on nothing further
out, and costs are numbers of a row, whatever stands around it. They are of all visits together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ....arch import Memory
from ....cost_models.cost import capacity_parts
from ....cost_models.ports import ports_of
from ...exact.rows import Flags, Floats, Ints, distinct, row_codes
from ...exact.tiles.instances import array_vectors
from .form import TableForm
from .lattice import TileLattice, crossed
from .machine import TableMachine
from .nodes import NodeTiles, Place, inner_tiles, orders

Group = list[tuple[int, Memory]]
"""Memories between which no array stands, with their depths, outermost first."""


@dataclass
class Insides:
    """Rows, as they grow from the MAC outwards.

    array     (rows,) which of the arrays
    tile      (dims, rows) elements below, arrays included
    words     (tensors, rows) that what is below takes of each tensor
    held      (tensors, rows) whether a memory below holds it
    energy    (rows,) pJ
    busiest   (rows,) cycles of the busiest part below that works at the same time as the others
    serial    (rows,) cycles of memories below that do not
    picks     per group of memories, innermost first, (2, rows): which order, which tile
    """

    array: Ints
    tile: Ints
    words: Floats
    held: Flags
    energy: Floats
    busiest: Floats
    serial: Floats
    picks: list[Ints] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.array)

    def take(self, index: npt.NDArray[np.intp]) -> Insides:
        return Insides(
            self.array.take(index),
            self.tile.take(index, 1),
            self.words.take(index, 1),
            self.held.take(index, 1),
            self.energy.take(index),
            self.busiest.take(index),
            self.serial.take(index),
            [pick.take(index, 1) for pick in self.picks],
        )


@dataclass
class InsideTable:
    """All rows of one form.

    first   words of the output that come for the first time, over all visits
    vectors per fanout, outermost first, (arrays, dims) instances
    tiles   per group of memories, innermost first, nodes in all their orders
    """

    form: TableForm
    machine: TableMachine
    first: float
    vectors: list[Ints] = field(default_factory=list)
    tiles: list[list[NodeTiles]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lattice = TileLattice(self.form.sizes)
        self.vectors = self._arrays()
        self.rows = self._all()

    # ---- arrays --------------------------------------------------------------------------------------------

    def _arrays(self) -> list[Ints]:
        form = self.form
        even = [True] * len(form.sizes)
        own = [array_vectors(form.problem, fanout, "perfect", even) for fanout in form.fanouts]
        chosen = crossed([len(vectors) for vectors in own])
        together = np.ones((len(chosen[0]) if chosen else 1, len(form.sizes)), dtype=np.int64)
        for vectors, index in zip(own, chosen, strict=True):
            together = together * vectors[index]
        fits = np.flatnonzero((np.array(form.sizes) % together == 0).all(axis=1))
        return [vectors[index[fits]] for vectors, index in zip(own, chosen, strict=True)]

    def _above(self, fanouts: int) -> Ints:
        """(dims, arrays) instances along each dimension of the outermost few fanouts."""
        found = np.ones((len(self.form.sizes), len(self.vectors[0]) if self.vectors else 1), dtype=np.int64)
        for vectors in self.vectors[:fanouts]:
            found = found * vectors.T
        return found

    # ---- from the MAC outwards -----------------------------------------------------------------------------

    def _all(self) -> Insides:
        form = self.form
        every = self._above(len(self.vectors))
        count, tensors, points = every.shape[1], len(form.moves), float(math.prod(form.sizes))
        rows = Insides(
            np.arange(count),
            np.ones_like(every),
            np.full((tensors, count), points),
            np.zeros((tensors, count), dtype=bool),
            np.full(count, points * form.mac_pj),
            points / form.per_cycle / every.prod(axis=0),
            np.zeros(count),
        )
        fanouts = len(self.vectors)
        for level in self.machine.inside:
            if isinstance(level, int):
                fanouts = level
                rows = self._spread(rows, fanouts)
            else:
                rows = self._stored(rows, level, self._above(fanouts))
        return rows

    def _spread(self, rows: Insides, number: int) -> Insides:
        """With the instances of one fanout, which may share what they take."""
        fanout, form = self.form.fanouts[number], self.form
        instances = self.vectors[number].T.take(rows.array, 1)
        words = rows.words.copy()
        for tensor in range(len(words)):
            if fanout.spatial_reduction if tensor == form.output else fanout.multicast:
                words[tensor] /= instances[form.dims_beside(tensor)].prod(axis=0)
        return replace(rows, tile=rows.tile * instances, words=words)

    def _stored(self, rows: Insides, group: Group, above: Ints) -> Insides:
        """With the nodes of memories; `above` are the instances of every array that these memories have."""
        placements = [[inner_tiles(self.form, order) for order in orders(nodes)] for nodes in self._placements(group)]
        self.tiles.append([nodes for ordered in placements for nodes in ordered])
        first, kind = distinct(row_codes(list(rows.tile)))
        nothing = rows.take(np.zeros(0, dtype=np.intp))
        parts = [replace(nothing, picks=[*nothing.picks, np.zeros((2, 0), dtype=np.int64)])]
        for k, example in enumerate(first.tolist()):
            alike, below, number = np.flatnonzero(kind == k), rows.tile[:, example], 0
            for ordered in placements:
                for nodes, cells in zip(ordered, self._different(ordered, group, below), strict=True):
                    parts.append(self._grown(rows, alike, group, nodes, number, cells, above))
                    number += 1
        return _joined([part for part in parts if len(part)] or parts[:1])

    def _different(self, ordered: list[NodeTiles], group: Group, below: Ints) -> list[Ints]:
        """The tiles that fit of some orders of the same nodes, around a tile; of those that cost alike, one."""
        cells = [self._cells(nodes, group, below) for nodes in ordered]
        if len(ordered) == 1:
            return cells
        columns = []
        for nodes, chosen in zip(ordered, cells, strict=True):
            extents = nodes.extents[:, :, chosen]
            own = [extents[nodes.nodes.index(node)][self.form.dims_beside(node[1])] for node in sorted(nodes.nodes)]
            columns.append(np.concatenate([extents[0], *own]))
        keep = np.zeros(sum(map(len, cells)), dtype=bool)
        keep[distinct(row_codes(list(np.concatenate(columns, axis=1))))[0]] = True
        parts = np.split(keep, np.cumsum([len(chosen) for chosen in cells])[:-1])
        return [chosen[kept] for chosen, kept in zip(cells, parts, strict=True)]

    def _placements(self, group: Group) -> Iterator[list[Place]]:
        """Nodes that the memories may have together."""
        must: list[Place] = []
        may: list[Place] = []
        for depth, memory in group:
            for tensor, written in enumerate(self.form.problem.tensors):
                keeps = memory.keeps[written.role]
                if keeps != "never":
                    (must if keeps == "must" else may).append((depth, tensor))
        for count in range(len(may) + 1):
            for chosen in itertools.combinations(may, count):
                yield sorted([*must, *chosen])

    def _cells(self, nodes: NodeTiles, group: Group, below: Ints) -> Ints:
        """The tiles around one that is below them that fit."""
        form, sizes = self.form, np.array(self.form.sizes)
        fits = np.ones(nodes.count, dtype=bool)
        if nodes.nodes:
            fits &= (sizes[:, None] % (nodes.extents[0] * below[:, None]) == 0).all(axis=0)
        for depth, memory in group:
            copies = 2 if memory.double_buffered else 1
            for part in capacity_parts(memory):
                bits = np.zeros(nodes.count, dtype=np.int64)
                for node, (held_at, tensor) in enumerate(nodes.nodes):
                    if held_at == depth and form.problem.tensors[tensor].role in part.roles:
                        dims = form.dims_of(tensor)
                        words = nodes.extents[node, dims].prod(axis=0) * below[dims].prod()
                        bits += copies * words * form.widths[tensor]
                fits &= bits <= part.bits
        return np.flatnonzero(fits)

    def _grown(
        self, rows: Insides, alike: Ints, group: Group, nodes: NodeTiles, number: int, cells: Ints, above: Ints
    ) -> Insides:
        """Some rows with the nodes of one order around them."""
        fits = np.ones((len(alike), len(cells)), dtype=bool)
        for d, size in enumerate(self.form.sizes):
            needed = rows.tile[d, alike] * above[d, rows.array[alike]]
            extent = nodes.extents[0, d, cells] if nodes.nodes else np.ones(len(cells), dtype=np.int64)
            fits &= _divide(size, needed, extent)
        row, cell = np.nonzero(fits)
        grown, cell = rows.take(alike[row]), cells[cell]
        below, used = grown.tile, above.take(grown.array, 1)
        words, held = grown.words, grown.held
        instances, adding = used.prod(axis=0), used[self.form.dims_beside(self.form.output)].prod(axis=0)
        # A word's first arrival is counted at every instance that adds to it on its own.
        first = self.first * adding
        energy, busiest, serial = grown.energy, grown.busiest, grown.serial
        for depth, memory in reversed(group):
            read, written = np.zeros(len(row)), np.zeros(len(row))
            for node, (held_at, tensor) in enumerate(nodes.nodes):
                if held_at != depth:
                    continue
                beside = self.form.dims_beside(tensor)
                tile = nodes.extents[node].take(cell, 1)[beside] * below[beside]
                entering = math.prod(self.form.sizes) / tile.prod(axis=0)
                self._book(tensor, words[tensor], entering, first, (adding == 1) & held[tensor], read, written)
                words[tensor], held[tensor] = entering, True
            energy = energy + (read * memory.read_energy_pj + written * memory.write_energy_pj) / memory.access_bits
            cycles = np.zeros(len(row))
            for port in ports_of(memory):
                cycles = np.maximum(cycles, port.cycles(None, read, written, instances))
            if memory.overlaps:
                busiest = np.maximum(busiest, cycles)
            else:
                serial = serial + cycles
        tile = below * nodes.extents[0].take(cell, 1) if nodes.nodes else below
        pick = np.array([np.full(len(row), number), cell])
        return Insides(grown.array, tile, words, held, energy, busiest, serial, [*grown.picks, pick])

    def _book(
        self,
        tensor: int,
        taken: Floats,
        entering: Floats,
        first: Floats,
        finishes: Flags,
        read: Floats,
        written: Floats,
    ) -> None:
        """Bits that a node inside passes, for what is below it and for what is above."""
        form, arch = self.form, self.machine.arch
        wide, narrow = form.widths[tensor], form.finished[tensor]
        read += taken * wide
        if tensor != form.output:
            written += entering * wide
            return
        once = first if arch.first_read_elision else 0.0
        done = finishes * first * (wide - narrow)
        read -= once * wide
        written += taken * wide - done + (entering - once) * wide
        if arch.inner_drain_read:
            read += entering * wide - done


def _divide(size: int, some: Ints, others: Ints) -> Flags:
    """(some, others) whether their products divide a size."""
    kinds, which = np.unique(some, return_inverse=True)
    tiles, cell = np.unique(others, return_inverse=True)
    found: Flags = (size % (kinds[:, None] * tiles) == 0)[which[:, None], cell]
    return found


def _joined(parts: list[Insides]) -> Insides:
    if len(parts) == 1:
        return parts[0]
    return Insides(
        np.concatenate([part.array for part in parts]),
        np.concatenate([part.tile for part in parts], 1),
        np.concatenate([part.words for part in parts], 1),
        np.concatenate([part.held for part in parts], 1),
        np.concatenate([part.energy for part in parts]),
        np.concatenate([part.busiest for part in parts]),
        np.concatenate([part.serial for part in parts]),
        [np.concatenate(picks, 1) for picks in zip(*(part.picks for part in parts), strict=True)],
    )
