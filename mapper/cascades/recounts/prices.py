"""Prices of resources: a machine on which energy is what a weighted mean of all resources' cycles costs besides.

A resource is what computes, or a bounded port of a memory. Prices of those that overlap add up to 1; a memory that does
not overlap adds its cycles to the run, so its ports share another 1. Of a memory with several instances the mean one
counts, which is busy no longer than the busiest. Energies are of all roles together, so ports of one role cost nothing
here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

from ....arch import Architecture, Fanout, Memory
from ....cost_models import Cost
from ....cost_models.ports import Port, ports_of

Resource = tuple[str, str]
"""A memory, and the name of its port; of what computes, two empty names."""

COMPUTING: Resource = ("", "")

Prices = Mapping[Resource, float]
"""0 where nothing is said."""


@dataclass(frozen=True)
class PricedTree:
    """What a tree weighs without latency, and by resource what its cycles weigh."""

    fixed: float
    cycles: Mapping[Resource, float]


@dataclass(frozen=True)
class Resources:
    """Those of one machine."""

    arch: Architecture

    @property
    def computing(self) -> Prices:
        """Prices of computing alone; and of one port of each memory that does not overlap."""
        return {group[0]: 1.0 for group in self.groups}

    @cached_property
    def groups(self) -> list[list[Resource]]:
        """Resources whose prices add up to 1: those that overlap first."""
        memories = [(memory, [_named(port) for port in ports_of(memory)]) for memory in self.arch.memories]
        together = [COMPUTING, *(one for memory, ports in memories if memory.overlaps for one in ports)]
        return [together, *(ports for memory, ports in memories if ports and not memory.overlaps)]

    def cycles(self, cost: Cost, computing: float) -> dict[Resource, float]:
        """Cycles that a tree needs of each resource; those of computing are given."""
        found = {COMPUTING: computing}
        for memory, use in zip(self.arch.memories, cost.memories, strict=True):
            for port in ports_of(memory):
                found[_named(port)] = port.cycles(None, float(use.read_bits), float(use.write_bits), use.instances)
        return found

    def priced(self, energy: float, latency: float, prices: Prices) -> Architecture:
        """The machine on which energy is so many times that of this one, and what its resources' cycles cost."""
        levels: list[Memory | Fanout] = []
        for level in self.arch.levels:
            if isinstance(level, Memory):
                levels.append(self._priced(level, energy, latency, prices))
            elif isinstance(level, Fanout):
                levels.append(level.model_copy(update={"hop_pj_per_bit": energy * level.hop_pj_per_bit}))
        mac = self.arch.mac
        ops = {kind: op.model_copy(update={"energy_pj": energy * op.energy_pj}) for kind, op in mac.ops.items()}
        without = {"leakage_pj_per_cycle": 0.0}
        mac = mac.model_copy(update={"energy_pj": energy * mac.energy_pj, "ops": ops, **without})
        return self.arch.model_copy(update={"levels": tuple(levels), "mac": mac, **without})

    def _priced(self, memory: Memory, energy: float, latency: float, prices: Prices) -> Memory:
        read, written = energy * memory.read_energy_pj, energy * memory.write_energy_pj
        for port in ports_of(memory):
            each = port.cycles(None, float(memory.access_bits), 0.0, self.arch.instances(memory.name))
            more = port.cycles(None, 0.0, float(memory.access_bits), self.arch.instances(memory.name))
            price = latency * prices.get(_named(port), 0.0)
            read, written = read + price * each, written + price * more
        return memory.model_copy(
            update={"read_energy_pj": read, "write_energy_pj": written, "leakage_pj_per_cycle": 0.0}
        )


def _named(port: Port) -> Resource:
    return port.memory.name, port.name


def highest_prices(resources: Resources, trees: Sequence[PricedTree]) -> tuple[float, Prices]:
    """The prices under which the lightest of some trees weighs most, and what it weighs: a linear program. Of no trees,
    equal prices, and no limit. Any prices make a bound: without ortools they are those of `_votes`."""
    if not trees:
        return float("inf"), {one: 1 / len(group) for group in resources.groups for one in group}
    if find_spec("ortools") is None:
        return float("inf"), _votes(resources, trees)
    from ortools.linear_solver import pywraplp  # type: ignore[import-untyped] # here, since few searches need it

    solver = pywraplp.Solver.CreateSolver("GLOP")
    scale = max(1.0, *(tree.fixed + sum(tree.cycles.values()) for tree in trees))
    price = {one: solver.NumVar(0.0, 1.0, "") for group in resources.groups for one in group}
    for group in resources.groups:
        solver.Add(sum(price[one] for one in group) == 1.0)
    lightest = solver.NumVar(0.0, solver.infinity(), "")
    for tree in trees:
        solver.Add(lightest <= tree.fixed / scale + sum(price[one] * (tree.cycles[one] / scale) for one in price))
    solver.Maximize(lightest)
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return float("inf"), resources.computing
    found = {one: max(0.0, variable.solution_value()) for one, variable in price.items()}
    sums = [sum(found[one] for one in group) for group in resources.groups]
    return scale * lightest.solution_value(), {
        one: found[one] / total for group, total in zip(resources.groups, sums, strict=True) for one in group
    }


def _votes(resources: Resources, trees: Sequence[PricedTree]) -> Prices:
    """By how many of some trees each resource is the busiest one."""
    found: dict[Resource, float] = {}
    for group in resources.groups:
        busiest = [max(group, key=tree.cycles.__getitem__) for tree in trees]
        found |= {one: busiest.count(one) / len(trees) for one in group}
    return found
