"""Branches answered by tables: exact on machines of one memory outside the arrays, a few tables for every operation."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....arch import Architecture
from ....ir import Cascade, Loop, Node
from ...constraints import Constraints
from ...exact.rows import Floats, Ints
from ...kernel.remembered import remembered, remembered_by
from ...pareto.weights import ENERGY_ALONE, UNKNOWN, LeastOfEach, OpenRegion, Weights
from ...question import FREE
from ...space import Space
from ...tilings import Tiling
from ..terms.branch import BranchAnswer, BranchMapping, BranchQuestion, Sizes, by_memory
from ..terms.upper_memories import UNBOUNDED, without_leakage
from .branches import BranchTable, Sources, TableChoices
from .cuts import FAR, NEAR, fronts
from .form import NamedForm, TableForm
from .inside import InsideTable
from .machine import TableMachine, refusal


def supports(
    cascade: Cascade, arch: Architecture, space: Space, tiling: Tiling, constraints: Constraints = FREE
) -> str | None:
    """Why tables cannot answer for a search; None if they can."""
    return refusal(cascade, arch, space, tiling, constraints)


class _Tabled(NamedTuple):
    """All but the room and the ports of a question."""

    table: BranchTable
    named: NamedForm
    choices: TableChoices


def _all_but_room(question: BranchQuestion) -> tuple[Hashable, ...]:
    """What tables depend on."""
    return question.operation, question.sizes, question.homes, question.again


@dataclass
class TableBranches:
    """Branches of one cascade on one machine, in the uneven space of perfect tiles, if `supports` says nothing.

    timed     whether cycles are going to be asked for: then there are no tables without them
    searches  how many tables have been made
    """

    cascade: Cascade
    arch: Architecture
    timed: bool = False
    searches: int = 0

    def __post_init__(self) -> None:
        self.machine = TableMachine(self.arch)
        self._leakage = self.arch.total_leakage_pj_per_cycle

    @property
    def knows_all(self) -> bool:
        """Tables do."""
        return True

    # ---- answers -------------------------------------------------------------------------------------------

    @property
    def learned(self) -> int:
        """Bounds are the same at all times."""
        return 0

    def least(
        self,
        question: BranchQuestion,
        weights: Weights,
        cutoff: float = math.inf,
        apart: LeastOfEach = UNKNOWN,  # noqa: ARG002 - tables know more
    ) -> BranchAnswer:
        """The mapping of least weight, if it weighs less than the cutoff; a small part of the time, if it does not."""
        asked, values = self._values(question, weights)
        if not len(values):
            return BranchAnswer(math.inf)
        best = int(values.argmin())
        weight = float(values[best])
        return BranchAnswer(weight, self._mapping(asked, question, best) if weight < cutoff else None)

    def lower(
        self,
        question: BranchQuestion,
        weights: Weights,
        cutoff: float = math.inf,
        apart: LeastOfEach = UNKNOWN,  # noqa: ARG002 - tables know more
    ) -> float:
        """What the mapping of least weight weighs, or the cutoff if that is less; infinite if nothing fits."""
        if weights.energy_only and not self._leakage:
            choices = self._ask(question, timed=False).choices
            fitting = self._fitting(choices, question)
            return min(weights.energy * choices.least_pj[fitting - 1], cutoff) if fitting else cutoff
        _, values = self._values(question, weights)
        return float(values.min(initial=cutoff))

    def lower_accesses(self, question: BranchQuestion, cutoff: float = math.inf) -> float:
        """pJ that the mapping takes at least if nothing leaks, or the cutoff if that is less."""
        if not self._leakage:
            return self.lower(question, ENERGY_ALONE, cutoff)
        before = self._tight.searches
        found = self._tight.lower(question, ENERGY_ALONE, cutoff)
        self.searches += self._tight.searches - before
        return found

    @cached_property
    def _tight(self) -> TableBranches:
        """The same on the machine if it leaked nothing."""
        return TableBranches(self.cascade, without_leakage(self.arch))

    def know(self, question: BranchQuestion, weights: Weights, bound: float) -> None:
        """Tables know more."""

    def bound(self, question: BranchQuestion, weights: Weights, apart: LeastOfEach = UNKNOWN) -> float:  # noqa: ARG002
        """The same."""
        return self.lower(question, weights)

    def counted(self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf) -> BranchAnswer | None:
        """None for visits that are not alike: tables have none."""
        return None if question.made else self.least(question, weights, cutoff)

    def at_peak(self, operation: str, sizes: Sizes) -> float:
        """Cycles that a tile takes if the only unit computes at all times."""
        kind = self.cascade.operation(operation).kind
        points = math.prod(size for _, size in sizes)
        return points / self.arch.mac.of(kind).per_cycle + self.arch.filling_cycles

    def least_by_room(
        self, operation: str, tiles: MappingABC[str, Ints], far: Iterable[str], adding: float, timed: bool
    ) -> tuple[Ints, Floats] | None:
        """What all visits of an operation take at least, by the room that each has; None where that is very much.

        tiles   per dimension, (n,) sizes of the visit's tile
        far     tensors that come from the outermost memory; all others come from the nearest one
        adding  steps, of all visits, that add to one word of the output

        Returns (steps,) bits of the nearest memory, ascending, and what is least from there on: (1, n, steps) pJ
        without what leaks; and if timed cycles of each port outside the arrays, (1 + ports, n, steps). Infinite where
        nothing fits so far.
        """
        sizes, most = self._named_form(operation).tiles(tiles), 1 << 17  # steps of all tiles together
        table, sources = self._table_from(operation, far, adding, timed)
        if FAR in sources and len(table.sheet(sources).bits) * len(sizes[0]) > most:
            return None
        bits, columns = table.least_by_room(sizes, sources)
        return bits, columns[[0, *range(3, len(columns))]]

    def _table_from(
        self, operation: str, far: Iterable[str], adding: float, timed: bool
    ) -> tuple[BranchTable, Sources]:
        """That of an operation's branches, some tensors of which come from the outermost memory."""
        named, far = self._named_form(operation), set(far)
        sources: Sources = tuple(FAR if name in far else NEAR for name in named.tensors)
        return self._table(named.form, math.prod(named.form.sizes) / adding, timed or self.timed), sources

    def front(self, question: BranchQuestion, region: OpenRegion) -> list[BranchMapping]:
        """Mappings in a region of which no other one has as little energy and latency, from the least energy on."""
        asked = self._ask(question, timed=True)
        fitting = self._fitting(asked.choices, question)
        latency = self._latency(asked.choices.columns[:, :fitting], question)
        energy = asked.choices.columns[0, :fitting] + self._leakage * latency
        within = np.flatnonzero(region.of_each(energy, latency) < 1)
        energy, latency = energy[within], latency[within]
        found = fronts(np.zeros(len(within), dtype=np.int64), np.array([energy, latency]))
        return [self._mapping(asked, question, at) for at in within[found[np.argsort(energy[found])]].tolist()]

    # ---- figures -------------------------------------------------------------------------------------------

    def _values(self, question: BranchQuestion, weights: Weights) -> tuple[_Tabled, Floats]:
        """(choices that fit,) what they weigh."""
        timed = self._leakage > 0 or not weights.energy_only
        asked = self._ask(question, timed)
        choices = asked.choices
        fitting = self._fitting(choices, question)
        energy = weights.energy * choices.columns[0, :fitting]
        if not timed:
            return asked, energy
        of_latency = weights.energy * self._leakage + weights.latency
        return asked, energy + of_latency * self._latency(choices.columns[:, :fitting], question)

    def _fitting(self, choices: TableChoices, question: BranchQuestion) -> int:
        """How many choices have room."""
        nearest = self.machine.nearest.name
        for memory, _, bits in question.room:
            if memory == nearest:
                return choices.fitting(bits)
        return choices.fitting(UNBOUNDED)

    def _latency(self, columns: Floats, question: BranchQuestion) -> Floats:
        """(choices,) cycles of a visit, by timed columns."""
        machine = self.machine
        busy = by_memory(question.busy)
        busiest, serial = columns[1], columns[2]
        alone = [np.zeros_like(serial), np.zeros_like(serial)]
        for (number, port), cycles in zip(machine.ports, columns[3:], strict=True):
            cycles = cycles + port.busy(busy.get(port.memory.name, {}))
            if port.memory.overlaps:
                busiest = np.maximum(busiest, cycles)
            else:
                alone[number] = np.maximum(alone[number], cycles)
        latency: Floats = busiest + serial + alone[0] + alone[1] + self.arch.filling_cycles
        return latency

    # ---- tables --------------------------------------------------------------------------------------------

    @remembered_by(lambda _, question, timed: (*_all_but_room(question), timed))
    def _ask(self, question: BranchQuestion, timed: bool) -> _Tabled:
        named = self._named_form(question.operation)
        tile, homes = named.tile(dict(question.sizes)), dict(question.homes)
        nearest = self.machine.nearest.name
        sources: Sources = tuple(NEAR if homes[name] == nearest else FAR for name in named.tensors)
        form = named.form
        adding = math.prod(tile[d] for d in form.dims_beside(form.output))
        table = self._table(form, math.prod(form.sizes) / (adding * question.again), timed or self.timed)
        return _Tabled(table, named, table.choices(tile, sources))

    @remembered
    def _named_form(self, operation: str) -> NamedForm:
        return NamedForm.of(self.cascade.operation(operation), self.arch)

    @remembered
    def _inside(self, form: TableForm, first: float) -> InsideTable:
        return InsideTable(form, self.machine, first)

    @remembered
    def _table(self, form: TableForm, first: float, timed: bool) -> BranchTable:
        """That of all branches of a form.

        first  words of the output that come for the first time, over all visits
        """
        self.searches += 1
        return BranchTable(self._inside(form, first), timed)

    def _mapping(self, asked: _Tabled, question: BranchQuestion, at: int) -> BranchMapping:
        items, columns = self._items(asked, question, int(asked.choices.entry[at]))
        latency = float(self._latency(columns, question)[0])
        nearest = self.machine.nearest
        used = ((nearest.name, "", int(asked.choices.bits[at])),) if nearest.size_bits else ()
        return BranchMapping(float(columns[0, 0]) + self._leakage * latency, latency, used, items)

    @remembered_by(lambda _, asked, question, entry: (*_all_but_room(question), asked.table.timed, entry))
    def _items(self, asked: _Tabled, question: BranchQuestion, entry: int) -> tuple[tuple[Loop | Node, ...], Floats]:
        """Loops and nodes of an entry, and (columns, 1) its costs."""
        sizes, homes = dict(question.sizes), dict(question.homes)
        mapping, columns = asked.table.mapping(asked.named, sizes, homes, asked.choices.homes, entry)
        return mapping.nest.items[len(asked.named.tensors) :], columns
