"""Branches answered by tables: exact on machines of one memory outside the arrays, a table for every operation.

    table_machine.py   which machines and operations
    table_form.py      an operation without names: equal ones share tables
    table_lattice.py   tiles as numbers
    table_nodes.py     which nodes and loops are worth having
    table_inside.py    arrays and memories inside them, from the MAC outwards
    table_cuts.py      the least costs below each tile of the nearest memory
    table_branches.py  own nodes of that memory, for a visit's tile and homes
    table_nest.py      loops and nodes of an entry
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...arch import Architecture
from ...cost_models.cascades import visit_cost
from ...ir import Cascade
from ..constraints import Constraints
from ..question import FREE
from ..space import Space
from ..tilings import Tiling
from ..exact.rows import Floats, Ints
from .branch import BranchMapping, BranchQuestion
from .machine import UNBOUNDED
from .oracle import machine_with_room
from .table_branches import BranchTable, Choices, Sources, lower_steps
from .table_cuts import FAR, NEAR, fronts
from .table_form import Form, NamedForm
from .table_machine import TableMachine, refusal
from .weights import Weights


def supports(
    cascade: Cascade, arch: Architecture, space: Space, tiling: Tiling, constraints: Constraints = FREE
) -> str | None:
    """Why tables cannot answer for a search; None if they can."""
    return refusal(cascade, arch, space, tiling, constraints)


class Steps(NamedTuple):
    """The least energy as a function of the room: of each step, the bits that it needs, ascending, and pJ a visit."""

    bits: Ints
    energy_pj: Floats


class _Asked(NamedTuple):
    table: BranchTable
    named: NamedForm
    sizes: dict[str, int]
    homes: dict[str, str]
    choices: Choices


@dataclass
class TableBranches:
    """Branches of one cascade on one machine, in the uneven space of perfect tiles.

    timed  whether answers are asked for that depend on latency. With energy alone tables are smaller
    """

    cascade: Cascade
    arch: Architecture
    timed: bool
    _named: dict[str, NamedForm] = field(default_factory=dict)
    _tables: dict[Form, dict[float, BranchTable]] = field(default_factory=dict)
    _asked: dict[tuple[object, ...], _Asked] = field(default_factory=dict)
    _answers: dict[tuple[BranchQuestion, int], BranchMapping] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.machine = TableMachine(self.arch)
        self.leakage = self.arch.total_leakage_pj_per_cycle
        self.timed = self.timed or self.leakage > 0

    # ---- answers -------------------------------------------------------------------------------------------

    def least(self, question: BranchQuestion, weights: Weights) -> BranchMapping | None:
        """The mapping of least weight; None if nothing fits."""
        asked = self._ask(question)
        values = self._values(asked, question, weights)
        if not len(values):
            return None
        return self._mapping(asked, question, int(values.argmin()))

    def least_weight(self, question: BranchQuestion, weights: Weights) -> float:
        """What that mapping weighs; infinite if nothing fits."""
        return float(self._values(self._ask(question), question, weights).min(initial=math.inf))

    def step_function(self, question: BranchQuestion) -> Steps:
        """The least energy for every room; the question's is not looked at."""
        choices = self._ask(question).choices
        energy = choices.columns[0]
        if self.timed:
            energy = energy + self.leakage * self._latency(choices, len(energy), question)
        steps = lower_steps(energy)
        bits = choices.bits.take(steps)
        last = np.ones(len(bits), dtype=bool)
        np.less(bits[:-1], bits[1:], out=last[:-1])
        return Steps(bits[last], energy.take(steps[last]))

    def front(self, question: BranchQuestion) -> list[BranchMapping]:
        """Mappings of which none other has as little energy and latency, least energy first. Only if timed."""
        asked = self._ask(question)
        fitting = self._fitting(asked.choices, question)
        latency = self._latency(asked.choices, fitting, question)
        energy = asked.choices.columns[0, :fitting] + self.leakage * latency
        found = fronts(np.zeros(fitting, dtype=np.int64), np.array([energy, latency]))
        return [self._mapping(asked, question, at) for at in found.tolist()]

    # ---- figures -------------------------------------------------------------------------------------------

    def _values(self, asked: _Asked, question: BranchQuestion, weights: Weights) -> Floats:
        """(choices that fit,) what they weigh."""
        choices = asked.choices
        fitting = self._fitting(choices, question)
        energy = choices.columns[0, :fitting]
        if not self.timed:
            assert weights.energy_only
            return energy[-1:] * weights.energy if len(energy) else energy
        latency = self._latency(choices, fitting, question)
        return weights.energy * energy + (weights.energy * self.leakage + weights.latency) * latency

    def _fitting(self, choices: Choices, question: BranchQuestion) -> int:
        """How many choices have room."""
        room = next((bits for memory, _, bits in question.room if memory == self.machine.nearest.name), UNBOUNDED)
        return int(np.searchsorted(choices.bits, room, side="right"))

    def _latency(self, choices: Choices, fitting: int, question: BranchQuestion) -> Floats:
        """(choices that fit,) cycles of a visit."""
        machine, columns = self.machine, choices.columns[:, :fitting]
        memories = machine.outermost, machine.nearest
        busy = {memory: (read, written) for memory, read, written in question.busy}
        busiest, serial = columns[1], columns[2]
        alone = [np.zeros(fitting), np.zeros(fitting)]
        for port, cycles in zip(machine.ports, columns[3:], strict=True):
            memory = memories[port.memory]
            read, written = busy.get(memory.name, (0.0, 0.0))
            cycles = cycles + (read * port.read + written * port.write)
            if memory.overlaps:
                busiest = np.maximum(busiest, cycles)
            else:
                alone[port.memory] = np.maximum(alone[port.memory], cycles)
        latency: Floats = busiest + serial + alone[0] + alone[1]
        return latency

    # ---- tables --------------------------------------------------------------------------------------------

    def _ask(self, question: BranchQuestion) -> _Asked:
        key = question.operation, question.sizes, question.homes, question.again
        if key not in self._asked:
            self._asked[key] = self._tabled(question)
        return self._asked[key]

    def _tabled(self, question: BranchQuestion) -> _Asked:
        if question.operation not in self._named:
            self._named[question.operation] = NamedForm.of(self.cascade.operation(question.operation), self.arch)
        named = self._named[question.operation]
        form, sizes, homes = named.form, dict(question.sizes), dict(question.homes)
        tile = named.tile(sizes)
        adding = math.prod(tile[d] for d in form.dims_beside(form.output))
        first = math.prod(form.sizes) / (adding * question.again)
        tables = self._tables.setdefault(form, {})
        if first not in tables:
            tables[first] = BranchTable(form, self.machine, first, self.timed)
        sources: Sources = tuple(NEAR if homes[name] == self.machine.nearest.name else FAR for name in named.tensors)
        return _Asked(tables[first], named, sizes, homes, tables[first].choices(tile, sources))

    def _mapping(self, asked: _Asked, question: BranchQuestion, at: int) -> BranchMapping:
        fitting = self._fitting(asked.choices, question)
        at = at if self.timed else fitting - 1
        key = question, at
        if key not in self._answers:
            mapping = asked.table.mapping(asked.named, asked.sizes, asked.homes, asked.choices, at)
            operation = self.cascade.operation(question.operation)
            arch = machine_with_room(self.arch, ((self.machine.nearest.name, "", UNBOUNDED),))
            arch = arch.model_copy(update={"mac": self.arch.mac.of(operation.kind)})
            busy = {memory: (read, written) for memory, read, written in question.busy}
            nearest = self.machine.nearest
            used = ((nearest.name, "", int(asked.choices.bits[at])),) if nearest.size_bits else ()
            cost = visit_cost(mapping, arch, question.again, busy)
            energy, latency = cost.energy_pj, cost.latency_cycles
            items = mapping.nest.items[len(asked.named.tensors) :]
            self._answers[key] = BranchMapping(energy, latency, used, items)
        return self._answers[key]
