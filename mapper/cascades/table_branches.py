"""Branches of one operation: own nodes of the nearest memory below a visit's tile, and around a cut tile."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from ...ir import LoopNest, Mapping
from ..exact.rows import Floats, Ints
from .table_cuts import FAR, NEAR, OWN, CutTable
from .table_form import Form, NamedForm
from .table_inside import InsideTable
from .table_lattice import Lattice
from .table_machine import TableMachine
from .table_nest import nest_of
from .table_nodes import CutTiles, cut_tiles, orders

Sources = tuple[int, ...]
"""Per tensor, `NEAR` if its home is the nearest memory, else `FAR`."""


@dataclass(frozen=True, eq=False)
class _Passing:
    """Words that pass at the own node of a tensor, where they depend on the visit's tile.

    per_word  (columns,) what a word adds
    words     (entries,) if the visit's tile had one element along some dimensions
    dims      these dimensions
    """

    per_word: Floats
    words: Floats
    dims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Family:
    """Own nodes in one order with all tiles, and all that is worth having below them; by bits, ascending.

    cell, entry  (entries,) of `tiles`, and of `cuts`
    outer    (dims, entries) places of what has to divide the visit's tile
    bits     (entries,) that the own nodes take
    columns  (columns, entries) costs of all visits, as far as they do not depend on the visit's tile
    """

    tiles: CutTiles
    cuts: CutTable
    cell: Ints
    entry: Ints
    outer: Ints
    bits: Ints
    columns: Floats
    passing: tuple[_Passing, ...]


@dataclass(frozen=True, eq=False)
class Choices:
    """All that is worth having for a visit of some tile with some homes, by bits, ascending.

    bits     (choices,) of the nearest memory
    columns  (columns, choices) costs of one visit, as `CutTable` has them
    which    (2, choices) family, and its entry
    """

    families: tuple[Family, ...]
    bits: Ints
    columns: Floats
    which: Ints


@dataclass
class BranchTable:
    """Branches of one form.

    first  words of the output that come for the first time, over all visits
    timed  whether cycles count
    """

    form: Form
    machine: TableMachine
    first: float
    timed: bool
    _cuts: dict[Sources, CutTable] = field(default_factory=dict)
    _families: dict[Sources, tuple[Family, ...]] = field(default_factory=dict)
    _choices: dict[tuple[tuple[int, ...], Sources], Choices] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lattice = Lattice(self.form.sizes)
        self.inside = InsideTable(self.form, self.machine, self.lattice, self.first)
        self.points = math.prod(self.form.sizes)

    def choices(self, tile: tuple[int, ...], homes: Sources) -> Choices:
        """What there is for visits of a tile."""
        key = tile, homes
        if key not in self._choices:
            self._choices[key] = self._of_tile(tile, homes)
        return self._choices[key]

    def _of_tile(self, tile: tuple[int, ...], homes: Sources) -> Choices:
        families = self.families(homes)
        place = self.lattice.place(tile)
        found = []
        for number, family in enumerate(families):
            index = self._dividing(family, place)
            columns = family.columns.take(index, 1)
            for passing in family.passing:
                whole = math.prod(tile[d] for d in passing.dims)
                columns += passing.per_word[:, None] * (passing.words.take(index) / whole)
            found.append((family.bits.take(index), columns, np.full(len(index), number), index))
        bits = np.concatenate([bits for bits, *_ in found])
        columns = np.concatenate([columns for _, columns, *_ in found], 1) * (math.prod(tile) / self.points)
        which = np.array([np.concatenate([each[2] for each in found]), np.concatenate([each[3] for each in found])])
        order = np.argsort(bits, kind="stable") if len(found) > 1 else np.arange(len(bits))
        if not self.timed:
            # A step function: less energy than everything that takes no more bits.
            order = np.lexsort([columns[0], bits])
            energy = columns[0][order]
            least = np.minimum.accumulate(energy)
            order = order[np.flatnonzero(np.diff(least, prepend=np.inf) < 0)] if len(energy) else order
        return Choices(families, bits[order], columns[:, order], which[:, order])

    def _dividing(self, family: Family, place: tuple[int, ...]) -> Ints:
        """Entries of a family that can stand below a visit's tile."""
        fits = np.ones(len(family.bits), dtype=bool)
        for d, at in enumerate(place):
            if family.tiles.exactly[d]:
                fits &= family.outer[d] == at
            else:
                fits &= self.lattice.divides[d][:, at].take(family.outer[d])
        return np.flatnonzero(fits)

    # ---- families ------------------------------------------------------------------------------------------

    def families(self, homes: Sources) -> tuple[Family, ...]:
        """All orders of own nodes."""
        if homes not in self._families:
            options = []
            for tensor, home in zip(self.form.problem.tensors, homes, strict=True):
                keeps = self.machine.nearest.keeps[tensor.role]
                own = {"must": (OWN,), "may": (OWN, FAR), "never": (FAR,)}[keeps]
                options.append((NEAR,) if home == NEAR else own)
            self._families[homes] = tuple(
                self._family(tuple(tensor for _, tensor in order), sources)
                for sources in itertools.product(*options)
                for order in orders([(1, tensor) for tensor, source in enumerate(sources) if source == OWN])
            )
        return self._families[homes]

    def _cut_table(self, sources: Sources) -> CutTable:
        finishes = self.form.widths[self.form.output] == self.form.finished[self.form.output]
        key = tuple(NEAR if s == OWN and (finishes or t != self.form.output) else s for t, s in enumerate(sources))
        if key not in self._cuts:
            self._cuts[key] = CutTable.of(self.inside, key, self.timed)
        return self._cuts[key]

    def _family(self, order: tuple[int, ...], sources: Sources) -> Family:
        form, lattice, cuts = self.form, self.lattice, self._cut_table(sources)
        tiles = cut_tiles(form, order)
        number = lattice.numbers([lattice.places(d, cut) for d, cut in enumerate(tiles.cut)])
        bits = np.zeros(len(number), dtype=np.int64)
        for node, tensor in enumerate(order):
            words = tiles.extents[node, form.dims_of(tensor)].prod(axis=0)
            bits += self.machine.copies * words * form.widths[tensor]
        by_bits = np.argsort(bits, kind="stable")
        counts = np.diff(cuts.start)[number[by_bits]]
        cell = np.repeat(by_bits, counts)
        entry = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts) + cuts.start[number[cell]]
        columns = cuts.columns.take(entry, 1)
        passing = []
        for node, tensor in enumerate(order):
            per_word, always = self._passing(tensor)
            columns += always[:, None]
            fixed = [d for d in form.dims_beside(tensor) if d not in tiles.whole[node]]
            words = (self.points / tiles.extents[node, fixed].prod(axis=0)).take(cell)
            if dims := tuple(sorted(tiles.whole[node])):
                passing.append(_Passing(per_word, words, dims))
            else:
                columns += per_word[:, None] * words
        outer = np.array([lattice.places(d, size) for d, size in enumerate(tiles.outer)]).take(cell, 1)
        return Family(tiles, cuts, cell, entry, outer, bits[cell], columns, tuple(passing))

    def _passing(self, tensor: int) -> tuple[Floats, Floats]:
        """(columns,) what each word that enters an own node adds, and what it adds however many enter."""
        form, arch = self.form, self.machine.arch
        wide, narrow = form.widths[tensor], form.finished[tensor]
        if tensor != form.output:
            return self._cost(far=(wide, 0.0), near=(0.0, wide)), self._cost(far=(0.0, 0.0), near=(0.0, 0.0))
        once = self.first * wide * arch.first_read_elision
        drained = wide * arch.inner_drain_read
        return (
            self._cost(far=(wide, wide), near=(drained, wide)),
            self._cost(far=(-once, -self.first * (wide - narrow)), near=(0.0, -once)),
        )

    def _cost(self, far: tuple[float, float], near: tuple[float, float]) -> Floats:
        """(columns,) of bits that the outermost memory and the nearest one read and write."""
        machine = self.machine
        energy = 0.0
        for memory, (read, written) in zip((machine.outermost, machine.nearest), (far, near), strict=True):
            energy += (read * memory.read_energy_pj + written * memory.write_energy_pj) / memory.access_bits
        if not self.timed:
            return np.array([energy])
        bits = far, near
        ports = [bits[port.memory][0] * port.read + bits[port.memory][1] * port.write for port in machine.ports]
        return np.array([energy, 0.0, 0.0, *ports])

    # ---- mappings ------------------------------------------------------------------------------------------

    def mapping(self, named: NamedForm, sizes: dict[str, int], homes: dict[str, str], choices: Choices, at: int) -> Mapping:
        """One of the choices, below the homes of its tensors."""
        number, place = choices.which[:, at].tolist()
        family = choices.families[number]
        cell, entry = int(family.cell[place]), int(family.entry[place])
        cut = self.lattice.numbers([self.lattice.places(d, size[cell : cell + 1]) for d, size in enumerate(family.tiles.cut)])
        row = family.cuts.row(int(cut[0]), entry)
        nest = nest_of(self.inside, row, family.tiles, cell, named.tile(sizes))
        return named.restored(sizes, homes, LoopNest(tuple(nest)))
