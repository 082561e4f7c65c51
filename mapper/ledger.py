"""From words to costs: energy, and the cycles of every bounded port, as columns of one array.

Column 0 is energy in pJ. Every further column is one port of one memory: cycles that one instance needs for its
bits, averaged over the instances in use (the busiest instance needs no less). Costs of different crossings add.

Bounds are minimized column by column, so the least energy and the least cycles of a port may belong to different
mappings. For a product of the two that is too modest: `exchange_rate` adds, per port, the column
energy + rate * cycles, and whoever has a bound on it has a better bound on the product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arch import Architecture, Memory
from ..cost_models import EDP, ENERGY, Objective
from .hierarchy import MAC, Crossing, Hierarchy
from .rows import Floats, Rows
from .traffic import Charge, TrafficModel


@dataclass(frozen=True)
class Port:
    """One bounded port: which directions it carries."""

    memory: Memory
    reads: bool
    writes: bool
    bits_per_cycle: float


def ports_of(arch: Architecture) -> tuple[Port, ...]:
    """All bounded ports of an architecture."""
    found = []
    for memory in arch.memories:
        if memory.shared_bits_per_cycle:
            found.append(Port(memory, True, True, memory.shared_bits_per_cycle))
        if memory.read_bits_per_cycle:
            found.append(Port(memory, True, False, memory.read_bits_per_cycle))
        if memory.write_bits_per_cycle:
            found.append(Port(memory, False, True, memory.write_bits_per_cycle))
    return tuple(found)


@dataclass(frozen=True)
class Ledger:
    """Turns the words of crossings into cost columns."""

    arch: Architecture
    ports: tuple[Port, ...]
    exchange_rate: float | None = None

    @classmethod
    def of(cls, arch: Architecture, exchange_rate: float | None = None, objective: Objective | None = None) -> Ledger:
        """A ledger for an architecture; `exchange_rate` in pJ per cycle. Where energy alone is minimized, no port has a
        column."""
        return cls(arch, () if objective == ENERGY else ports_of(arch), exchange_rate)

    @property
    def columns(self) -> int:
        return 1 + len(self.ports) * (1 if self.exchange_rate is None else 2)

    def book(self, costs: Floats, memory: Memory, read_bits: Floats, write_bits: Floats, instances: Floats) -> None:
        """Add one memory's bits, summed over its instances, to the columns; `costs` is (columns, ...)."""
        energy = read_bits * (memory.read_energy_pj / memory.access_bits)
        energy = energy + write_bits * (memory.write_energy_pj / memory.access_bits)
        self.book_energy(costs, energy)
        for column, port in enumerate(self.ports, 1):
            if port.memory is memory:
                bits = port.reads * read_bits + port.writes * write_bits
                cycles = bits / (instances * port.bits_per_cycle)
                costs[column] += cycles
                if self.exchange_rate is not None:
                    costs[column + len(self.ports)] += self.exchange_rate * cycles

    def book_energy(self, costs: Floats, energy_pj: Floats | float) -> None:
        """Add energy that belongs to no port."""
        costs[0] += energy_pj
        costs[1 + len(self.ports) :] += energy_pj

    def latency(self, costs: Floats, steps: Floats) -> Floats:
        """Cycles: the slowest of compute and overlapping ports, plus the ports that do not overlap."""
        overlapped = steps / self.arch.mac.per_cycle
        serial: dict[str, Floats] = {}
        for column, port in enumerate(self.ports, 1):
            if port.memory.overlaps:
                overlapped = np.maximum(overlapped, costs[column])
            else:
                name = port.memory.name
                serial[name] = np.maximum(serial.get(name, np.zeros_like(costs[column])), costs[column])
        for cycles in serial.values():
            overlapped = overlapped + cycles
        return overlapped

    def objective(self, objective: Objective, costs: Floats, steps: Floats) -> Floats:
        """The objective of complete columns; of bounds, a bound."""
        energy, latency = costs[0], self.latency(costs, steps)
        value: Floats = objective.value(energy, latency)
        rate = self.exchange_rate
        if objective == EDP and rate is not None:
            # The least product with energy + rate * latency >= joint lies at one of the two ends.
            with np.errstate(invalid="ignore"):  # infinite where nothing fits: `value` says so already
                for joint in costs[1 + len(self.ports) :]:
                    end = np.minimum(energy * (joint - energy), latency * rate * (joint - rate * latency)) / rate
                    value = np.where(energy + rate * latency < joint, np.maximum(value, end), value)
        return value


@dataclass(frozen=True)
class CrossingCosts:
    """Cost columns of single crossings."""

    hierarchy: Hierarchy
    ledger: Ledger

    def words(
        self, model: TrafficModel, rows: Rows, crossing: Crossing, charge: Charge | None
    ) -> tuple[Floats, Floats]:
        """(rows,) words given to the inner memory's instances, and words that the outer memory serves; without a
        charge, the words of a crossing at the MAC."""
        if charge is None:
            served = model.computed(rows, crossing)
            return served, served
        tensor = self.hierarchy.problem.tensors[crossing.tensor]
        if not tensor.is_output and self.hierarchy.memories[crossing.inner].halo == "exact":
            # An exact halo keeps words at wraps and ragged edges that depend on all loops above: bounded here,
            # and counted once the mapping is complete.
            distinct = np.full(len(rows), float(model.distinct_words(tensor)))
            return distinct, distinct
        return model.filled(rows, crossing, charge), model.served(rows, crossing, charge)

    def of(self, model: TrafficModel, rows: Rows, crossing: Crossing, charge: Charge | None) -> Floats:
        """(columns, rows) of a crossing, charged as given."""
        filled, served = self.words(model, rows, crossing, charge)
        return self.book(model, rows, crossing, filled, served)

    def book(self, model: TrafficModel, rows: Rows, crossing: Crossing, filled: Floats, served: Floats) -> Floats:
        """Cost columns of the words of one crossing."""
        costs = np.zeros((self.ledger.columns, len(rows)))
        tensor = self.hierarchy.problem.tensors[crossing.tensor]
        for memory, outer in ((crossing.outer, True), (crossing.inner, False)):
            if memory == MAC:
                continue
            level, instances = self.hierarchy.memories[memory], model.instances(rows, memory)
            if not tensor.is_output:
                bits = self.ledger.arch.width_bits(tensor) * (served if outer else filled)
                nothing = np.zeros(1)
                self.ledger.book(costs, level, bits if outer else nothing, nothing if outer else bits, instances)
                continue
            wide = self.ledger.arch.partial_width_bits(tensor)
            first = model.first_words(rows, tensor, memory)
            saved = self._finished(model, rows, crossing, memory)
            if outer:
                again = np.maximum(served - first, 0.0)
                self.ledger.book(costs, level, again * wide, served * wide - saved, instances)
            else:
                again = np.maximum(filled - first, 0.0)
                drained = (filled * wide - saved) * self.ledger.arch.inner_drain_read
                self.ledger.book(costs, level, drained, again * wide, instances)
        return costs

    def _finished(self, model: TrafficModel, rows: Rows, crossing: Crossing, memory: int) -> Floats:
        """Bits saved since finished words are narrower: the last arrival of each word, where it can be known."""
        tensor = self.hierarchy.problem.tensors[crossing.tensor]
        if memory == model.path.holders[crossing.tensor][0]:
            return np.zeros(len(rows))
        narrower = self.ledger.arch.partial_width_bits(tensor) - self.ledger.arch.width_bits(tensor)
        shared = model.reduction_instances(rows, memory) > 1
        saved: Floats = np.where(shared, 0.0, float(model.distinct_words(tensor)) * narrower)
        return saved
