"""The least costs of everything below the nearest memory, for every tile that it may be given: the cut."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...exact.rows import Flags, Floats, Ints
from ...kernel.remembered import remembered
from .inside import Insides, InsideTable
from .lattice import TileLattice

FAR, OWN, NEAR = range(3)
"""Where the inside takes a tensor from: the outermost memory, a node of the nearest memory inside the branch, one above
it."""


@dataclass(frozen=True, eq=False)
class CutTable:
    """Costs of all visits together, of what is worth having below each tile.

    sources  per tensor, where it is taken from
    start    (tiles + 1,) where a tile's entries begin
    columns  (columns, entries): pJ; and if timed cycles of the inside, of its memories that do not overlap, and of the
             ports of the two memories outside
    tight    (dims, entries) whether an entry would cost more below a tile that is smaller along a dimension
    """

    table: InsideTable
    sources: tuple[int, ...]
    timed: bool
    start: Ints
    columns: Floats
    tight: Flags
    _row: Ints | None

    @classmethod
    def of(cls, table: InsideTable, sources: tuple[int, ...], timed: bool) -> CutTable:
        """For tensors from some memories."""
        lattice = table.lattice
        rows = table.rows
        number = lattice.numbers([lattice.places(d, tile) for d, tile in enumerate(rows.tile)])
        energy, ports = with_sources(table, rows, sources, timed)
        if timed:
            columns = np.array([energy, rows.busiest, rows.serial, *ports])
            start, entry = _fronts_of_divisors(lattice, number, columns)
            sizes = np.repeat(lattice.tiles, np.diff(start), axis=1)
            tight = rows.tile.take(entry, 1) == sizes
            return cls(table, sources, timed, start, columns.take(entry, 1), tight, entry)
        least = np.full(lattice.count, np.inf)
        np.minimum.at(least, number, energy)
        least = lattice.least_of_divisors(least)
        known = least < np.inf
        start = np.concatenate([[0], np.cumsum(known)])
        tight = np.array([least < smaller for smaller in lattice.next_smaller(least)])[:, known]
        return cls(table, sources, timed, start, least[known].reshape(1, -1), tight, None)

    @cached_property
    def least(self) -> Floats:
        """(columns, tiles) the least of every column below each tile, by itself; infinite where there is none."""
        found = np.full((len(self.columns), len(self.start) - 1), np.inf)
        known = np.flatnonzero(np.diff(self.start))
        found[:, known] = np.minimum.reduceat(self.columns, self.start[known], axis=1)
        return found

    @remembered
    def below(self, dims: tuple[int, ...]) -> tuple[Ints, Ints]:
        """Entries that are tight along some dimensions: where a tile's begin, and which they are."""
        kept = self.tight[list(dims)].all(axis=0)
        return np.concatenate([[0], np.cumsum(kept)])[self.start], np.flatnonzero(kept)

    def row(self, place: tuple[int, ...], entry: int) -> int:
        """The row of the inside that an entry of a tile stands for."""
        if self._row is not None:
            return int(self._row[entry])
        lattice = self.table.lattice
        same = np.flatnonzero(self._energy == self.columns[0, entry])
        sizes = np.array([divisors[at] for divisors, at in zip(lattice.divisors, place, strict=True)])
        divides = (sizes[:, None] % self.table.rows.tile.take(same, 1) == 0).all(axis=0)
        return int(same[np.argmax(divides)])

    @cached_property
    def _energy(self) -> Floats:
        return with_sources(self.table, self.table.rows, self.sources, timed=False)[0]


def with_sources(
    table: InsideTable, rows: Insides, sources: tuple[int, ...], timed: bool
) -> tuple[Floats, list[Floats]]:
    """(rows,) pJ with those of the memories that the inside takes from; cycles of their ports."""
    form, machine = table.form, table.machine
    memories = (machine.outermost, machine.nearest)
    read = [np.zeros(len(rows)), np.zeros(len(rows))]
    written = [np.zeros(len(rows)), np.zeros(len(rows))]
    for tensor, source in enumerate(sources):
        memory = 0 if source == FAR else 1
        wide, words = form.widths[tensor], rows.words[tensor]
        read[memory] += words * wide
        if tensor == form.output:
            done = rows.held[tensor] * (table.first * (wide - form.finished[tensor]))
            read[memory] -= table.first * wide * machine.arch.first_read_elision
            written[memory] += words * wide - done
            if source == OWN and machine.arch.inner_drain_read:
                read[memory] -= done
    energy = rows.energy
    for memory, level in enumerate(memories):
        if memory == 1 or FAR in sources:
            bits = read[memory] * level.read_energy_pj + written[memory] * level.write_energy_pj
            energy = energy + bits / level.access_bits
    ports = [port.cycles(None, read[m], written[m]) for m, port in machine.ports] if timed else []
    return energy, ports


def _fronts_of_divisors(lattice: TileLattice, number: Ints, columns: Floats) -> tuple[Ints, Ints]:
    """Of all rows whose tiles divide a tile, those that no other of them beats in every column: where each tile's
    begin, and their numbers."""
    entry = fronts(number, columns)
    number = number[entry]
    stride = 1
    for d in reversed(range(len(lattice.sizes))):
        place = number // stride % lattice.shape[d]
        divides = lattice.divides[d]
        counts = divides.sum(axis=1)[place]
        entry, number = np.repeat(entry, counts), np.repeat(number, counts)
        multiples = np.nonzero(divides)[1]
        offset = np.concatenate([[0], np.cumsum(divides.sum(axis=1))])[place]
        within = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
        grown = multiples[np.repeat(offset, counts) + within]
        number = number + (grown - np.repeat(place, counts)) * stride
        kept = fronts(number, columns.take(entry, 1))
        entry, number = entry[kept], number[kept]
        stride *= lattice.shape[d]
    return np.searchsorted(number, np.arange(lattice.count + 1)), entry


def fronts(group: Ints, columns: Floats) -> Ints:
    """The rows that no other row of their group beats, or equals, in every column; by group."""
    varying = columns[[bool(column.min(initial=np.inf) < column.max(initial=-np.inf)) for column in columns]]
    order = np.lexsort([*varying[::-1], group])
    group, varying = group[order], varying.take(order, 1)
    left, kept = np.arange(len(order)), []
    while len(left):
        # The first of each group is beaten by no other; those that it beats are left aside.
        is_first = np.ones(len(left), dtype=bool)
        is_first[1:] = group[1:] != group[:-1]
        first = np.flatnonzero(is_first)
        kept.append(left[first])
        leader = first[np.cumsum(is_first) - 1]
        stays = np.zeros(len(left), dtype=bool)
        for column in varying:
            stays |= column < column[leader]
        stays = np.flatnonzero(stays)
        left, group, varying = left[stays], group[stays], varying.take(stays, 1)
    return order[np.sort(np.concatenate(kept))] if kept else order
