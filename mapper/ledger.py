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
from ..cost_models import Objective, objective_value
from ..ir import Tensor
from .skeleton import MAC, Crossing, Skeleton
from .traffic import Charge, Floats, Rows, TrafficModel


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
    def of(cls, arch: Architecture, exchange_rate: float | None = None) -> Ledger:
        """A ledger for an architecture; `exchange_rate` in pJ per cycle."""
        return cls(arch, ports_of(arch), exchange_rate)

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
        value: Floats = objective_value(objective, energy, latency)  # type: ignore[arg-type,assignment]
        rate = self.exchange_rate
        if objective == "edp" and rate is not None:
            # The least product with energy + rate * latency >= joint lies at one of the two ends.
            with np.errstate(invalid="ignore"):  # infinite where nothing fits: `value` says so already
                for joint in costs[1 + len(self.ports) :]:
                    end = np.minimum(energy * (joint - energy), latency * rate * (joint - rate * latency)) / rate
                    value = np.where(energy + rate * latency < joint, np.maximum(value, end), value)
        return value


@dataclass(frozen=True)
class CrossingCosts:
    """Cost columns of single crossings of one skeleton."""

    model: TrafficModel
    ledger: Ledger

    @property
    def skeleton(self) -> Skeleton:
        return self.model.skeleton

    def charged(self, rows: Rows, crossing: Crossing, charge: Charge) -> Floats:
        """(columns, rows) of a crossing between two memories, charged as given."""
        tensor = self.skeleton.problem.tensors[crossing.tensor]
        filled = self.model.filled(rows, crossing, charge).astype(np.float64)
        served = self.model.served(rows, crossing, charge)
        inner = self.skeleton.memories[crossing.inner]
        if not tensor.is_output and inner.halo == "exact":
            # An exact halo keeps words at wraps and ragged edges that depend on all loops above: bounded here,
            # and counted once the mapping is complete.
            filled = served = np.full(len(rows), float(self.model.distinct_words(tensor)))
        return self.book(crossing, filled, served, rows)

    def computed(self, rows: Rows, crossing: Crossing, gap: int) -> Floats:
        """(columns, rows) of a crossing between the MACs and a memory; tiles known up to the array of `gap`."""
        words = self.model.computed(rows, crossing, gap)
        return self.book(crossing, words, words, rows)

    def book(self, crossing: Crossing, filled: Floats, served: Floats, rows: Rows) -> Floats:
        """Cost columns of the words of one crossing."""
        costs = np.zeros((self.ledger.columns, len(rows)))
        tensor = self.skeleton.problem.tensors[crossing.tensor]
        outer = self.skeleton.memories[crossing.outer]
        outer_instances = self.model.instances(rows, crossing.outer).astype(np.float64)
        inner, inner_instances = None, outer_instances
        if crossing.inner != MAC:
            inner = self.skeleton.memories[crossing.inner]
            inner_instances = self.model.instances(rows, crossing.inner).astype(np.float64)
        if not tensor.is_output:
            bits = self.ledger.arch.width_bits(tensor)
            self.ledger.book(costs, outer, served * bits, np.zeros(1), outer_instances)
            if inner is not None:
                self.ledger.book(costs, inner, np.zeros(1), filled * bits, inner_instances)
            return costs
        wide = self.ledger.arch.partial_width_bits(tensor)
        first = self.model.first_words(rows, tensor, crossing.outer)
        saved = self._finished(rows, tensor, crossing.outer, first)
        self.ledger.book(costs, outer, (served - first) * wide, served * wide - saved, outer_instances)
        if inner is not None:
            first = self.model.first_words(rows, tensor, crossing.inner)
            saved = self._finished(rows, tensor, crossing.inner, first)
            reads = (filled * wide - saved) * self.ledger.arch.inner_drain_read
            self.ledger.book(costs, inner, reads, (filled - first) * wide, inner_instances)
        return costs

    def _finished(self, rows: Rows, tensor: Tensor, block: int, first: Floats) -> Floats:
        """Bits saved since finished words are narrower: the last arrival of each word, where it can be known."""
        accumulator = min(k for k in range(self.skeleton.blocks) if self._keeps(k, tensor))
        if block == accumulator:
            return np.zeros(len(rows))
        shared = self.model.reduction_instances(rows, block) > 1
        narrower = self.ledger.arch.partial_width_bits(tensor) - self.ledger.arch.width_bits(tensor)
        saved: Floats = np.where(shared, 0.0, first * narrower)
        return saved

    def _keeps(self, block: int, tensor: Tensor) -> bool:
        return any(self.skeleton.problem.tensors[t] is tensor for t in self.skeleton.kept[block])
