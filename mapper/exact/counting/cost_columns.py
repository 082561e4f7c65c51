"""From words to costs: energy, and the cycles of every bounded port, as columns of one array.

Column 0 is energy in pJ. Every further column is one port of one memory: cycles that one instance needs for its
bits, averaged over the instances in use (the busiest instance needs no less). Costs of different boundaries add.

Where the bits of a word depend on the tile of the memory that is read, the last columns hold the words of each operand
that have been read from a memory whose tile is not known yet, by then at the least bits; `settle` adds the others.

Bounds are minimized column by column, so the least energy and the least cycles of a port may belong to different
mappings. For a product of the two that is too modest: `exchange_rate` adds, per port, the column
energy + rate * cycles, and whoever has a bound on it has a better bound on the product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....arch import Architecture, Memory
from ....cost_models import EDP, ENERGY, Objective
from ....cost_models.cost import largest_tile_bits
from ....cost_models.ports import IDLE, Port, ports_of, run_cycles
from ....ir import Role, Tensor
from ....ir.problem import ROLES
from ...tilings import Tiling
from ..question.surroundings import ALONE, Surroundings
from ..rows import Floats, Ints
from .lines import LineBounds
from .zeros import ZeroBounds


def all_ports(arch: Architecture) -> tuple[Port, ...]:
    """The bounded ports of all memories of an architecture; one that carries nothing of memories that have none, and
    keep arrays waiting while they are refilled."""
    found: list[Port] = []
    for memory in arch.memories:
        ports = list(ports_of(memory))
        stalls = not memory.overlaps and arch.filling_between(arch.memories[0].name, memory.name) > 0
        found += ports or ([Port(memory, IDLE, math.inf)] if stalls else [])
    return tuple(found)


@dataclass(frozen=True)
class CostColumns:
    """Turns the words of boundaries into cost columns.

    lines  what lines of memories take more than the words in them; None: no memory has lines
    zeros  what those of operands leave; None: they have none
    of_bounds  of what is still to come: nothing is settled in them later
    """

    arch: Architecture
    ports: tuple[Port, ...]
    exchange_rate: float | None = None
    surroundings: Surroundings = ALONE
    lines: LineBounds | None = None
    zeros: ZeroBounds | None = None
    of_bounds: bool = False

    @classmethod
    def of(
        cls,
        arch: Architecture,
        exchange_rate: float | None = None,
        objective: Objective | None = None,
        surroundings: Surroundings = ALONE,
        lines: LineBounds | None = None,
        zeros: ZeroBounds | None = None,
    ) -> CostColumns:
        """Columns for an architecture; `exchange_rate` in pJ per cycle. Where only energy is minimized, and none of it
        leaks, no port has a column."""
        timeless = objective == ENERGY and not arch.total_leakage_pj_per_cycle
        banks = () if lines is None else lines.bank_ports()
        ports = () if timeless else (*all_ports(arch), *banks)
        return cls(arch, ports, exchange_rate, surroundings, lines, zeros)

    @cached_property
    def once_of(self) -> float:
        """Part of the first visits of partial sums that no sum has to be read for, and of the last ones that finish
        them: where other visits add to the same words, only one in so many."""
        return 1 / self.surroundings.again

    @cached_property
    def _busy(self) -> tuple[float, ...]:
        """Cycles of every port that other things take."""
        found = []
        for port in self.ports:
            found.append(port.busy(self.surroundings.busy.get(port.memory.name, {})))
        return tuple(found)

    @property
    def count(self) -> int:
        return self.costing + len(self._unsettled)

    @property
    def counts_words(self) -> bool:
        """Whether words are all that counts: no memory has lines, and no operand zeros."""
        return self.lines is None and self.zeros is None

    @property
    def scales_words(self) -> bool:
        """Whether words cost in proportion, whatever the tiles: no memory has lines, and of operands with zeros every
        mapping leaves out the same part, and takes as many bits for a word."""
        return self.lines is None and (self.zeros is None or not self.zeros.rules.trips_count)

    @property
    def costing(self) -> int:
        """Columns that cost something."""
        return 1 + len(self.ports) * (1 if self.exchange_rate is None else 2)

    @property
    def _joint(self) -> slice:
        """The columns of energy and cycles together."""
        return slice(1 + len(self.ports), self.costing)

    @property
    def _unsettled(self) -> tuple[int, ...]:
        """Operands the bits of whose words depend on tiles."""
        return () if self.zeros is None or self.of_bounds else self.zeros.rules.unsettled

    def leave_unsettled(self, costs: Floats, tensor: int, words: Floats) -> None:
        """Note words that are read, not only looked at, from a memory whose tile is not known."""
        self._unsettled_column(costs, tensor)[:] += words

    def settle(self, costs: Floats, tensor: int, memory: Memory, role: Role, bits: Floats, instances: Floats) -> None:
        """Add what is missing of words read from a memory whose tile is known now: (rows,) bits of each."""
        if tensor in self._unsettled:
            words = self._unsettled_column(costs, tensor).copy()
            self._unsettled_column(costs, tensor)[:] = 0.0
            self.book(costs, memory, role, (words * bits, np.zeros(1)), instances)

    def _unsettled_column(self, costs: Floats, tensor: int) -> Floats:
        """(rows,) words that are read from a memory whose tile is not known: a view of their column."""
        column: Floats = costs[self.costing + self._unsettled.index(tensor)]
        return column

    @cached_property
    def _leakage(self) -> float:
        return self.arch.total_leakage_pj_per_cycle

    def leaked(self, latency: Floats) -> Floats | float:
        """pJ that leak in some cycles, which may be infinitely many."""
        return self._leakage * latency if self._leakage else 0.0

    def book(
        self,
        costs: Floats,
        memory: Memory,
        role: Role,
        bits: tuple[Floats, Floats],
        instances: Floats,
        in_blocks: Floats | None = None,
        costing: Floats | float = 1.0,
    ) -> None:
        """Add one memory's bits of a role, summed over its instances, to the columns; `costs` is (columns, ...).

        bits       read and written
        costing    which part of them costs energy
        in_blocks  instances at each of which the bits are rounded up to whole blocks, where the memory has them;
                   None: they are not, which is a bound
        """
        reads, writes = bits
        if memory.block_bits and in_blocks is not None:
            reads, writes = (_whole(each, memory.block_bits * in_blocks) for each in bits)
        energy = reads * (memory.read_energy_pj / memory.access_bits)
        energy = energy + writes * (memory.write_energy_pj / memory.access_bits)
        self.book_energy(costs, energy * costing)
        self._book_cycles(costs, memory, role, None, bits, instances)

    def book_busiest(
        self,
        costs: Floats,
        memory: Memory,
        role: Role,
        every: tuple[Floats, Floats],
        instances: Floats,
        own: tuple[Floats, Floats],
    ) -> None:
        """Add cycles that the busiest instance takes longer than what has been booked.

        every  bits read and written by all instances, as they have been booked
        own    by the busiest one, at least
        """
        for column, port in enumerate(self.ports, 1):
            if port.memory is memory and port.waits_for is None:
                more = np.maximum(port.cycles(role, *own) - port.cycles(role, *every, instances), 0.0)
                costs[column] += more
                if self.exchange_rate is not None:
                    costs[column + len(self.ports)] += self.exchange_rate * more

    def book_refills(self, costs: Floats, outer: Memory, inner: Memory, tensor: Tensor, bits: Floats) -> None:
        """Add cycles for which arrays are empty while one instance of a memory that does not overlap is refilled.

        bits  that come to the instance, at least: as few tiles as if each filled the memory, of which one is no refill.
              Of several tensors each has a first tile, in every visit of a branch: how many visits, is not known here
        """
        waiting = 0.0 if inner.overlaps else self.arch.filling_between(outer.name, inner.name)
        alone = self.surroundings is ALONE or [role for role in ROLES if inner.keeps[role] != "never"] == [tensor.role]
        if waiting and alone:
            refills = np.maximum(bits / largest_tile_bits(inner, tensor) - 1.0, 0.0)
            for column, port in enumerate(self.ports, 1):
                if port.memory is inner and port.waits_for is None:
                    costs[column] += refills * waiting
                    if self.exchange_rate is not None:
                        costs[column + len(self.ports)] += self.exchange_rate * refills * waiting

    def book_banks(
        self, costs: Floats, memory: Memory, role: Role, tensor: int, cycles: tuple[Floats, Floats], instances: Floats
    ) -> None:
        """Add cycles for which a tensor keeps banks of one memory busy, summed over its instances."""
        self._book_cycles(costs, memory, role, tensor, cycles, instances)

    def _book_cycles(
        self,
        costs: Floats,
        memory: Memory,
        role: Role,
        waits_for: int | None,
        passing: tuple[Floats, Floats],
        instances: Floats,
    ) -> None:
        for column, port in enumerate(self.ports, 1):
            if port.memory is memory and port.waits_for == waits_for:
                cycles = port.cycles(role, *passing, instances)
                costs[column] += cycles
                if self.exchange_rate is not None:
                    costs[column + len(self.ports)] += self.exchange_rate * cycles

    def book_energy(self, costs: Floats, energy_pj: Floats | float) -> None:
        """Add energy that belongs to no port."""
        costs[0] += energy_pj
        costs[self._joint] += energy_pj

    def latency(self, costs: Floats, steps: Floats) -> Floats:
        """Cycles: the slowest of compute and overlapping ports, plus the ports that do not overlap."""
        busiest: dict[str, tuple[bool, Floats]] = {}
        for column, port in enumerate(self.ports, 1):
            cycles, name = costs[column] + self._busy[column - 1], port.memory.name
            known = busiest.get(name)
            busiest[name] = port.memory.overlaps, cycles if known is None else np.maximum(known[1], cycles)
        return run_cycles(steps / self.arch.mac.per_cycle, busiest.values()) + self.arch.filling_cycles

    def objective(self, objective: Objective, costs: Floats, steps: Floats) -> Floats:
        """The objective of complete columns; of bounds, a bound."""
        energy, latency = costs[0], self.latency(costs, steps)
        value: Floats = objective.value(energy + self.leaked(latency), latency)
        rate = self.exchange_rate
        if objective == EDP and rate is not None:
            value = np.maximum(value, 0.0)  # a new array, to be raised in place
            total = energy + rate * latency
            for busy, joint_alone in zip(self._busy, costs[self._joint], strict=True):
                joint = joint_alone + rate * busy
                self._raise_product(value, energy, latency, joint, np.flatnonzero(total < joint))
        return value

    def _raise_product(self, value: Floats, energy: Floats, latency: Floats, joint: Floats, rows: Ints) -> None:
        """Raise bounds on a product of energy and latency, in some rows whose weighted sum is known to be larger.

        The least product with energy + rate * latency >= joint lies at one of the two ends, whatever leaks.
        """
        rate = self.exchange_rate
        if not len(rows) or rate is None:
            return
        least, shortest, joint = energy[rows], latency[rows], joint[rows]
        with np.errstate(invalid="ignore"):  # infinite where nothing fits: the value says so already
            longest, most = (joint - least) / rate, joint - rate * shortest
            ends = (least + self.leaked(longest)) * longest, (most + self.leaked(shortest)) * shortest
            value[rows] = np.fmax(value[rows], np.minimum(*ends))


def rounds_unequally(arch: Architecture, tiling: Tiling) -> bool:
    """Whether bits are rounded up to whole blocks at instances that do not all move as many: then a mapping with fewer
    words may need more blocks, and blocks are left to the cost model."""
    return tiling == "ragged" and any(memory.block_bits for memory in arch.memories)


def _whole(bits: Floats, block_bits: Floats) -> Floats:
    """Bits rounded up to whole blocks; what floats have added is no block."""
    rounded: Floats = np.ceil(bits / block_bits * (1 - 1e-12)) * block_bits
    return rounded
