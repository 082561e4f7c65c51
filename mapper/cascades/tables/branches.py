"""Branches of one operation: own nodes of the nearest memory below a visit's tile, and around a cut tile."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, mul

import numpy as np

from ....ir import LoopNest, Mapping
from ...exact.rows import Flags, Floats, Ints
from ...kernel.remembered import remembered, remembered_by
from .cuts import FAR, NEAR, OWN, CutTable, with_sources
from .form import NamedForm
from .inside import InsideTable
from .nest import nest_of
from .nodes import CutTiles, cut_tiles, orders

Sources = tuple[int, ...]
"""Per tensor, `NEAR` if its home is the nearest memory, else `FAR`."""


@dataclass(frozen=True, eq=False)
class _Passing:
    """Words that pass at own nodes of a tensor, where they depend on the visit's tile.

    per_word  (columns,) what a word adds
    words     (entries,) if the visit's tile had one element along some dimensions
    dims      these dimensions
    """

    per_word: Floats
    words: Floats
    dims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Family:
    """Own nodes in one order with all tiles, and all that is worth having below them.

    cell, entry  (entries,) of `tiles`, and of `cuts`
    bits     (entries,) that the own nodes take
    columns  (columns, entries) costs of all visits, as far as they do not depend on the visit's tile
    """

    tiles: CutTiles
    cuts: CutTable
    cell: Ints
    entry: Ints
    bits: Ints
    columns: Floats
    passing: tuple[_Passing, ...]


@dataclass(frozen=True, eq=False)
class Sheet:
    """Families together, by bits, ascending.

    outer    per dimension, (entries,) places in `TileLattice.stands` of what a visit's tile has to be a multiple of
    which    (2, entries) family, and its entry
    """

    families: tuple[Family, ...]
    outer: tuple[Ints, ...]
    bits: Ints
    columns: Floats
    passing: tuple[_Passing, ...]
    which: Ints


@dataclass(frozen=True, eq=False)
class TableChoices:
    """All that is worth having for a visit of some tile with some homes, by bits, ascending.

    bits     (choices,) of the nearest memory
    columns  (columns, choices) costs of one visit, as `CutTable` has them
    entry    (choices,) of the sheet for these homes
    """

    homes: Sources
    bits: Ints
    columns: Floats
    entry: Ints

    def fitting(self, room: int) -> int:
        """How many have room in so many bits."""
        return bisect_right(self._bits, room)

    @cached_property
    def _bits(self) -> list[int]:
        found: list[int] = self.bits.tolist()
        return found

    @cached_property
    def least_pj(self) -> list[float]:
        """Of one visit, by each choice or one that needs no more bits."""
        found: list[float] = np.minimum.accumulate(self.columns[0]).tolist()
        return found


@dataclass
class BranchTable:
    """Branches of one form.

    inside  what lies below the nearest memory
    timed   whether cycles count
    """

    inside: InsideTable
    timed: bool

    def __post_init__(self) -> None:
        self.form, self.machine = self.inside.form, self.inside.machine
        self.lattice, self.first = self.inside.lattice, self.inside.first
        self.points = math.prod(self.form.sizes)

    @remembered
    def choices(self, tile: tuple[int, ...], homes: Sources) -> TableChoices:
        """What there is for visits of a tile."""
        return self._of_tile(tile, homes) if FAR in homes else self._without_nodes(tile, homes)

    def least_by_room(self, tiles: Sequence[Ints], homes: Sources) -> tuple[Ints, Floats]:
        """(entries,) bits, ascending, and (columns, n, entries) the least of each column, of all visits, among what
        needs no more bits.

        tiles  per dimension, (n,) sizes of the visit's tile
        """
        if FAR not in homes:
            cuts = self._cut_table(homes)
            number = self.lattice.numbers([self.lattice.places(d, sizes) for d, sizes in enumerate(tiles)])
            return np.zeros(1, dtype=np.int64), cuts.least.take(number, 1)[:, :, None]
        sheet = self.sheet(homes)
        stands = (each[self.lattice.places(d, tiles[d])] for d, each in enumerate(self.lattice.stands))
        fits = reduce(and_, (each.take(outer, 1) for each, outer in zip(stands, sheet.outer, strict=True)))
        columns = np.where(fits, sheet.columns[:, None], np.inf)
        for passing in sheet.passing:
            whole = reduce(mul, (tiles[d] for d in passing.dims))
            columns += passing.per_word[:, None, None] * (passing.words / whole[:, None])
        return sheet.bits, np.minimum.accumulate(columns, axis=2)

    def _without_nodes(self, tile: tuple[int, ...], homes: Sources) -> TableChoices:
        """The same where all tensors come from the nearest memory, and the cut tile is the visit's: the sheet has the
        entries of the cut table then, in their order."""
        cuts, number = self._cut_table(homes), 0
        for count, place in zip(self.lattice.shape, self.lattice.place(tile), strict=True):
            number = number * count + place
        entry = np.arange(cuts.start[number], cuts.start[number + 1])
        columns = cuts.columns.take(entry, 1) * (math.prod(tile) / self.points)
        return TableChoices(homes, np.zeros(len(entry), dtype=np.int64), columns, entry)

    def _of_tile(self, tile: tuple[int, ...], homes: Sources) -> TableChoices:
        sheet = self.sheet(homes)
        stands = (each[at] for each, at in zip(self.lattice.stands, self.lattice.place(tile), strict=True))
        fits = reduce(and_, (each.take(outer) for each, outer in zip(stands, sheet.outer, strict=True)))
        entry = fits.nonzero()[0]
        columns = sheet.columns.take(entry, 1)
        for passing in sheet.passing:
            whole = math.prod(tile[d] for d in passing.dims)
            columns += passing.per_word[:, None] * (passing.words.take(entry) / whole)
        columns *= math.prod(tile) / self.points
        steps = not_led(columns) if self.timed else lower_steps(columns[0])
        return TableChoices(homes, sheet.bits.take(entry.take(steps)), columns.take(steps, 1), entry.take(steps))

    @remembered
    def sheet(self, homes: Sources) -> Sheet:
        """All families for some homes, together."""
        families = self._families(homes)
        lengths = [len(family.bits) for family in families]
        bits = np.concatenate([family.bits for family in families])
        columns = np.concatenate([family.columns for family in families], 1)
        order = np.argsort(bits, kind="stable")
        which = np.array([np.repeat(np.arange(len(families)), lengths), np.concatenate([*map(np.arange, lengths)])])
        outer = []
        for d, divisors in enumerate(self.lattice.shape):
            places = (self.lattice.places(d, f.tiles.outer[d]) + divisors * f.tiles.exactly[d] for f in families)
            own = (place.take(family.cell) for place, family in zip(places, families, strict=True))
            outer.append(np.concatenate([*own]).take(order))
        passing = []
        for number, family in enumerate(families):
            for each in family.passing:
                before, after = sum(lengths[:number]), sum(lengths[number + 1 :])
                words = np.concatenate([np.zeros(before), each.words, np.zeros(after)]).take(order)
                passing.append(_Passing(each.per_word, words, each.dims))
        return Sheet(
            families, tuple(outer), bits[order], columns.take(order, 1), _together(passing), which.take(order, 1)
        )

    # ---- families ------------------------------------------------------------------------------------------

    def _families(self, homes: Sources) -> tuple[Family, ...]:
        """All orders of own nodes."""
        options = []
        for tensor, home in zip(self.form.problem.tensors, homes, strict=True):
            keeps = self.machine.nearest.keeps[tensor.role]
            own = {"must": (OWN,), "may": (OWN, FAR), "never": (FAR,)}[keeps]
            options.append((NEAR,) if home == NEAR else own)
        return tuple(
            self._family(tuple(tensor for _, tensor in order), sources)
            for sources in itertools.product(*options)
            for order in orders([(1, tensor) for tensor, source in enumerate(sources) if source == OWN])
        )

    def _cuts_from(self, sources: Sources) -> Sources:
        """Where cuts take tensors from: from own nodes of the nearest memory mostly as from nodes above."""
        finishes = self.form.widths[self.form.output] == self.form.finished[self.form.output]
        return tuple(NEAR if s == OWN and (finishes or t != self.form.output) else s for t, s in enumerate(sources))

    @remembered_by(_cuts_from)
    def _cut_table(self, sources: Sources) -> CutTable:
        return CutTable.of(self.inside, self._cuts_from(sources), self.timed)

    def _family(self, order: tuple[int, ...], sources: Sources) -> Family:
        form, lattice, cuts = self.form, self.lattice, self._cut_table(sources)
        # What is below a tile that is no tighter has loops directly below the last node: by rule 1 of `nodes.py` those
        # that move its tensor may as well stand above it, where the tile, and so what it takes, is smaller.
        start, entries = cuts.below(tuple(form.dims_of(order[-1])) if order else ())
        count = np.diff(start)

        def numbers(cut: Sequence[Ints]) -> Ints:
            return lattice.numbers([lattice.places(d, each) for d, each in enumerate(cut)])

        tiles = cut_tiles(form, order, lambda cut: np.flatnonzero(count[numbers(cut)]))
        number = numbers(tuple(tiles.cut))
        bits = np.zeros(len(number), dtype=np.int64)
        for node, tensor in enumerate(order):
            words = tiles.extents[node, form.dims_of(tensor)].prod(axis=0)
            bits += self.machine.copies * words * form.widths[tensor]
        counts = np.where(self._fits(bits), count[number], 0)
        cell = np.repeat(np.arange(len(number)), counts)
        entry = entries[np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts) + start[number[cell]]]
        columns = cuts.columns.take(entry, 1)
        passing = []
        for node, tensor in enumerate(order):
            per_word, always = self._passing(tensor, self.timed)
            columns += always[:, None]
            fixed = [d for d in form.dims_beside(tensor) if d not in tiles.whole[node]]
            words = (self.points / tiles.extents[node, fixed].prod(axis=0)).take(cell)
            if dims := tuple(sorted(tiles.whole[node])):
                passing.append(_Passing(per_word, words, dims))
            else:
                columns += per_word[:, None] * words
        return Family(tiles, cuts, cell, entry, bits[cell], columns, tuple(passing))

    def _fits(self, bits: Ints) -> Flags:
        """Whether own nodes that take some bits have room in the nearest memory when nothing else is there: no branch
        has others, whatever room it is asked for with."""
        size = self.machine.nearest.size_bits
        return bits <= size if size else np.ones(len(bits), dtype=bool)

    def _passing(self, tensor: int, timed: bool) -> tuple[Floats, Floats]:
        """(columns,) what each word that enters an own node adds, and what it adds however many enter."""
        form, arch = self.form, self.machine.arch
        wide, narrow = form.widths[tensor], form.finished[tensor]
        if tensor != form.output:
            return self._cost(timed, (wide, 0.0), (0.0, wide)), self._cost(timed, (0.0, 0.0), (0.0, 0.0))
        once = self.first * wide * arch.first_read_elision
        drained = wide * arch.inner_drain_read
        return (
            self._cost(timed, (wide, wide), (drained, wide)),
            self._cost(timed, (-once, -self.first * (wide - narrow)), (0.0, -once)),
        )

    def _cost(self, timed: bool, far: tuple[float, float], near: tuple[float, float]) -> Floats:
        """(columns,) of bits that the outermost memory and the nearest one read and write."""
        machine = self.machine
        energy = 0.0
        for memory, (read, written) in zip((machine.outermost, machine.nearest), (far, near), strict=True):
            energy += (read * memory.read_energy_pj + written * memory.write_energy_pj) / memory.access_bits
        if not timed:
            return np.array([energy])
        bits = far, near
        ports = [port.cycles(None, *bits[number]) for number, port in machine.ports]
        return np.array([energy, 0.0, 0.0, *ports])

    # ---- mappings ------------------------------------------------------------------------------------------

    def mapping(
        self, named: NamedForm, sizes: dict[str, int], homes: dict[str, str], sources: Sources, entry: int
    ) -> tuple[Mapping, Floats]:
        """An entry of the sheet for some sources, below the homes of its tensors; (columns, 1) its costs of one visit,
        as if timed."""
        sheet = self.sheet(sources)
        number, place = sheet.which[:, entry].tolist()
        family = sheet.families[number]
        cell = int(family.cell[place])
        cut = self.lattice.place(tuple(family.tiles.cut[:, cell].tolist()))
        row = family.cuts.row(cut, int(family.entry[place]))
        tile = named.tile(sizes)
        nest = nest_of(self.inside, row, family.tiles, cell, tile)
        return named.restored(sizes, homes, LoopNest(tuple(nest))), self._timed(family, cell, row, tile)

    def _timed(self, family: Family, cell: int, row: int, tile: tuple[int, ...]) -> Floats:
        """(columns, 1) costs of one visit of one mapping, cycles among them."""
        rows = self.inside.rows.take(np.array([row]))
        energy, ports = with_sources(self.inside, rows, family.cuts.sources, timed=True)
        columns = np.array([energy, rows.busiest, rows.serial, *ports])
        for node, tensor in enumerate(family.tiles.order):
            per_word, always = self._passing(tensor, timed=True)
            extent = family.tiles.extents[node, :, cell]
            whole = family.tiles.whole[node]
            beside = math.prod(tile[d] if d in whole else int(extent[d]) for d in self.form.dims_beside(tensor))
            columns += (always + per_word * (self.points / beside))[:, None]
        timed: Floats = columns * (math.prod(tile) / self.points)
        return timed


def lower_steps(values: Floats) -> Ints:
    """Where values are lower than all before."""
    least = np.minimum.accumulate(values)
    lower = np.ones(len(least), dtype=bool)
    np.less(least[1:], least[:-1], out=lower[1:])
    return np.flatnonzero(lower)


def not_led(columns: Floats) -> Ints:
    """Where no leader is as low in every column: the lowest in one of them of all until there; of few, any before."""
    if columns.shape[1] <= 64:
        as_low = (columns[:, :, None] <= columns[:, None, :]).all(axis=0)
        return np.flatnonzero(~np.triu(as_low, 1).any(axis=0))
    left = np.arange(columns.shape[1])
    for column in range(len(columns)):
        steps = lower_steps(columns[column].take(left))
        if len(steps) < len(left):
            leader = np.repeat(left.take(steps), np.diff(steps, append=len(left)))
            behind = (columns.take(left, 1) >= columns.take(leader, 1)).all(axis=0)
            left = left[~behind | (left == leader)]
    return left


def _together(passing: list[_Passing]) -> tuple[_Passing, ...]:
    """Those of different families that depend on the visit's tile alike, as one."""
    found: dict[tuple[object, ...], _Passing] = {}
    for each in passing:
        key = each.dims, *each.per_word.tolist()
        other = found.get(key)
        found[key] = each if other is None else _Passing(each.per_word, each.words + other.words, each.dims)
    return tuple(found.values())
