"""One question as plain numbers: an operation, a machine, an objective. Dimensions of size 1 are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arch import Architecture, Halo, Keep, Memory
from ...cost_models import Objective
from ...cost_models.ports import Port, ports_of
from ...ir import Problem, Role
from .columns import Floats, Rank

ROLES: tuple[Role, ...] = ("input", "weight", "output")


@dataclass(frozen=True)
class PlainTensor:
    """A tensor: its ranks are sums of coefficients times dimensions.

    ranks   each a tuple of dimensions' numbers with their coefficients
    dims    numbers of the dimensions that move it
    wide    bits of a word while it is accumulated, and anywhere of an operand
    narrow  bits of a finished word
    """

    name: str
    role: Role
    ranks: tuple[Rank, ...]
    dims: frozenset[int]
    output: bool
    wide: int
    narrow: int

    @property
    def windows(self) -> frozenset[int]:
        """Dimensions of ranks that have several."""
        return frozenset(d for rank in self.ranks if len(rank) > 1 for d, _ in rank)

    @property
    def dense(self) -> bool:
        """Whether windows have no strides and no dilation: instances side by side want the least together."""
        return all(c == 1 for rank in self.ranks if len(rank) > 1 for _, c in rank)


@dataclass(frozen=True)
class PlainMemory:
    """A memory in plain numbers, per bit.

    level  its place in the hierarchy, fanouts counted too
    read, write  energy of a bit in pJ
    parts  roles and bits: the inequalities of its capacity, copies taken into account
    halo   what a sliding tile of an operand keeps
    """

    name: str
    level: int
    read: float
    write: float
    ports: tuple[Port, ...]
    overlaps: bool
    parts: tuple[tuple[tuple[Role, ...], float], ...]
    keeps: dict[Role, Keep]
    halo: Halo


@dataclass(frozen=True)
class PlainFanout:
    """An array below a memory.

    axes  of each its size, and the numbers of the dimensions that may lie along it
    """

    name: str
    level: int
    axes: tuple[tuple[int, frozenset[int]], ...]
    multicast: bool
    reduces: bool

    @property
    def dims(self) -> frozenset[int]:
        """Dimensions that some axis may have."""
        return frozenset(d for _, dims in self.axes for d in dims)


class PlainQuestion:
    """The tensors, memories, fanouts and prices of one search."""

    def __init__(self, problem: Problem, arch: Architecture, objective: Objective) -> None:
        self.problem, self.arch, self.objective = problem, arch, objective
        names = [d for d in problem.dim_names if problem.sizes[d] > 1] or [problem.dim_names[0]]
        number = {d: i for i, d in enumerate(names)}
        self.dims, self.sizes = names, [problem.sizes[d] for d in names]
        self.tensors: list[PlainTensor] = []
        for t in sorted(problem.tensors, key=lambda t: t.is_output):
            plain = (tuple((number[d], c) for d, c in rank if d in number) for rank in t.ranks)
            ranks = tuple(rank for rank in plain if rank)
            dims = frozenset(d for rank in ranks for d, _ in rank)
            widths = arch.partial_width_bits(t), arch.width_bits(t)
            self.tensors.append(PlainTensor(t.name, t.role, ranks, dims, t.is_output, *widths))
        self.memories: list[PlainMemory] = []
        self.fanouts: list[PlainFanout] = []
        for level, part in enumerate(arch.levels):
            if isinstance(part, Memory):
                self.memories.append(_memory(part, level))
            else:
                axes = tuple((a.size, frozenset(number[d] for d in names if a.allows(problem, d))) for a in part.axes)
                self.fanouts.append(PlainFanout(part.name, level, axes, part.multicast, part.spatial_reduction))
        self.macs, self.per_cycle = math.prod(self.sizes), arch.mac.per_cycle
        self.filling_cycles = arch.filling_cycles
        self.timed = "latency" in objective.formula  # what an objective leaves out costs nothing
        self.powered = "energy" in objective.formula
        self.mac_energy = self.macs * arch.mac.energy_pj * self.powered
        self.columns = [(m, port) for m, memory in enumerate(self.memories) for port in memory.ports if self.timed]

    @property
    def everything(self) -> frozenset[int]:
        return frozenset(range(len(self.tensors)))

    def slides(self, tensor: PlainTensor) -> bool:
        """Whether some memory keeps what overlaps when a tile of a tensor slides."""
        keeping = (m.halo == "innermost" and m.keeps[tensor.role] != "never" for m in self.memories[1:])
        return not tensor.output and bool(tensor.windows) and any(keeping)

    def value(self, compute: Floats, costs: Floats) -> Floats:
        """The objective of rows, of their compute steps and the columns of their costs."""
        return self.objective.value(costs[:, 0], self.latency(compute, costs[:, 1:]))

    def latency(self, compute: Floats, cycles: Floats) -> Floats:
        """Cycles of a run: the slowest of what overlaps, and the rest; `cycles` has a column for every port."""
        slowest, added = compute, np.full(len(compute), self.filling_cycles, dtype=np.float64)
        for m, memory in enumerate(self.memories):
            own = [i for i, (owner, _) in enumerate(self.columns) if owner == m]
            if own:
                busy = cycles[:, own].max(1) if len(own) > 1 else cycles[:, own[0]]
                if memory.overlaps:
                    slowest = np.maximum(slowest, busy)
                else:
                    added = added + busy
        return slowest + added

    def price(self, memory: int, reads: bool) -> Floats:
        """What a bit read (or written) at a memory costs: pJ, then cycles of every port of one instance."""
        m, bit = self.memories[memory], (1.0, 0.0) if reads else (0.0, 1.0)
        energy = (m.read if reads else m.write) * self.powered
        return np.array([energy] + [(owner == memory) * port.cycles(*bit) for owner, port in self.columns])


def _memory(m: Memory, level: int) -> PlainMemory:
    copies = 2 if m.double_buffered else 1
    parts: list[tuple[tuple[Role, ...], float]] = [((role,), bits // copies) for role, bits in m.partition_bits.items()]
    if m.size_bits is not None:
        parts.append((tuple(r for r in ROLES if r not in m.partition_bits), m.size_bits // copies))
    return PlainMemory(
        m.name,
        level,
        m.read_energy_pj / m.access_bits,
        m.write_energy_pj / m.access_bits,
        tuple(ports_of(m)),
        m.overlaps,
        tuple(parts) or (((), 0.0),),  # unbounded
        {r: m.keeps[r] for r in ROLES},
        m.halo,
    )
