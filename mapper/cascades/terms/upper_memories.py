"""The machine as the search over trees sees it: the memories outside all arrays, their room and their accesses."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ....arch import Architecture, Memory
from ....cost_models.cost import capacity_parts, tensor_tile_words
from ....cost_models.ports import Port, port_cycles, ports_of
from ....ir import Cascade, Operation, Role, Tensor
from ...pareto.weights import Weights
from .branch import Busy, Room, by_memory

Floats = npt.NDArray[np.float64]

UNBOUNDED = 1 << 60
"""Bits that are more than anything needs."""

SumNode = tuple[str, str]
"""A tensor that an operation writes, and a memory in which it has a node above splits."""


@dataclass(frozen=True, eq=False)
class UpperMemories:
    """An architecture, and what stands outside its arrays."""

    arch: Architecture

    @cached_property
    def upper(self) -> tuple[Memory, ...]:
        """Memories outside all arrays, outermost first: splits stand at their loops and nodes."""
        return self.arch.memories_outside

    @property
    def outermost(self) -> str:
        """The name of the outermost memory."""
        return self.upper[0].name

    @property
    def nearest(self) -> str:
        """The name of the innermost memory outside all arrays."""
        return self.upper[-1].name

    @cached_property
    def depth(self) -> dict[str, int]:
        """The number of each memory outside all arrays, outermost 0."""
        return {memory.name: i for i, memory in enumerate(self.upper)}

    def of(self, name: str) -> Memory:
        """The memory of that name."""
        return self.upper[self.depth[name]]

    @cached_property
    def room(self) -> Room:
        """Bits of every bounded part of every memory outside all arrays."""
        return tuple(
            (memory.name, self.part_of(memory, next(iter(part.roles))), part.bits)
            for memory in self.upper
            for part in capacity_parts(memory)
        )

    @cached_property
    def endless_room(self) -> Room:
        """Rooms of these memories as if they were never full."""
        return tuple((memory, role, UNBOUNDED) for memory, role, _ in self.room)

    def roomiest(self, memory: str, roles: Iterable[Role]) -> Role:
        """Of some roles, the one whose part of a memory has most bits."""
        parts = capacity_parts(self.of(memory))
        bits = {role: next((part.bits for part in parts if role in part.roles), 0) for role in roles}
        return max(bits, key=bits.__getitem__)

    def part_of(self, memory: Memory, role: str) -> str:
        """The part of a memory that a role has: its own, or "" for that which roles share."""
        return role if role in memory.partition_bits else ""

    def part_for(self, name: str, users: Sequence[Operation], tensor: str, memory: str) -> str:
        """The part of a memory in which a tensor lies while an operation works: that of the role that it has there; of
        the roles that others see it in, the one with more room, where this one does not use it."""
        roles = {user.name: user.problem.tensor(tensor).role for user in users}
        role = roles.get(name) or self.roomiest(memory, roles.values())
        return self.part_of(self.of(memory), role)

    def wider_by(
        self, writer: Operation, users: Sequence[Operation], names: Iterable[str], memory: str, words: int
    ) -> tuple[Room, ...]:
        """By operation, the bits by which a node of what one of them writes is wider while it has room for partial sums
        than for finished words; none for the writer."""
        output = writer.output
        bits = words * (self.arch.partial_width_bits(output) - self.arch.width_bits(output))
        parts = {name: self.part_for(name, users, output.name, memory) for name in names}
        return tuple(() if name == writer.name else ((memory, part, bits),) for name, part in parts.items())

    def may_hold(self, memory: str, roles: Iterable[Role]) -> bool:
        """Whether a memory may hold, in all its roles, a tensor that has no node further out."""
        roles, depth = set(roles), self.depth[memory]
        passed_over = all(one.keeps[role] != "must" for one in self.upper[1:depth] for role in roles)
        return passed_over and all(self.upper[depth].keeps[role] != "never" for role in roles)

    def exchanging(self, cascade: Cascade, tensor: str) -> list[str]:
        """Memories that may exchange an intermediate with some of its readers, outermost first; the outermost always
        may."""
        role = cascade.producers[tensor].output.role
        readers = {user.problem.tensor(tensor).role for user in cascade.consumers[tensor]}
        inner = (memory.name for memory in self.upper[1:])
        return [self.outermost, *(m for m in inner if any(self.may_hold(m, {role, reader}) for reader in readers))]

    def bits_of_stays(
        self, cascade: Cascade, stays: Iterable[tuple[str, str]], wide_sums: frozenset[SumNode] = frozenset()
    ) -> dict[str, Room]:
        """By operation, the bits that tensors take while it works that lie in a memory as a whole: the tile that all
        operations ask for, and in the memory's part for the role that it has there.

        wide_sums  (tensor, memory) of outputs that take the room of partial sums while they are written
        """
        held: dict[str, list[tuple[str, str, int]]] = {operation.name: [] for operation in cascade}
        for tensor, memory in stays:
            users = [op for op in cascade if any(t.name == tensor for t in op.problem.tensors)]
            words = self.words_of_stay(users, tensor)
            for operation in cascade:
                is_wide = (tensor, memory) in wide_sums and operation.output.name == tensor
                bits = words * self.width(users[0], tensor, is_wide)
                held[operation.name].append((memory, self.part_for(operation.name, users, tensor, memory), bits))
        return {name: tuple(taken) for name, taken in held.items()}

    def words_of_stay(self, users: Iterable[Operation], tensor: str) -> int:
        """Words of a tensor that lies in a memory as a whole: all that any operation asks for."""
        footprint = self.arch.footprint
        return max(tensor_tile_words(op.problem.tensor(tensor), op.problem.sizes, footprint) for op in users)

    def copies(self, memory: str, moves: bool) -> int:
        """Return how many tiles of a node a memory holds, where the tile changes as loops step, or lasts."""
        return 2 if self.of(memory).double_buffered and moves else 1

    def width(self, user: Operation, tensor: str, is_partial: bool) -> int:
        """Bits of a word of a tensor, of a partial sum or not."""
        one = user.problem.tensor(tensor)
        return self.arch.partial_width_bits(one) if is_partial else self.arch.width_bits(one)

    @cached_property
    def nearer_is_cheaper(self) -> bool:
        """Whether no bit costs more in a memory than in the next one further out: then what comes from there could as
        well come from the nearer one, if that had the room."""
        return all(
            near.read_energy_pj * far.access_bits <= far.read_energy_pj * near.access_bits
            and near.write_energy_pj * far.access_bits <= far.write_energy_pj * near.access_bits
            and not far.block_bits
            and not near.block_bits
            for far, near in itertools.pairwise(self.upper)
        )

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """The bounded ports of these memories."""
        return tuple(port for memory in self.upper for port in ports_of(memory))

    def port_cycles(self, busy: Busy) -> Floats:
        """(ports,) cycles that bits take at each bounded port of the memories outside all arrays."""
        bits = by_memory(busy)
        return np.array([port.busy(bits.get(port.memory.name, {})) for port in self.ports])

    def further_bits(self, tensor: Tensor, words: float, home: str) -> Busy:
        """Bits that pass at a home further out than the nearest memory, at least, for so many words of a tensor."""
        if home == self.nearest:
            return ()
        bits = words * self.arch.width_bits(tensor)
        return ((home, tensor.role, *((0.0, bits) if tensor.is_output else (bits, 0.0))),)

    def further_pj(self, tensor: Tensor, home: str) -> float:
        """pJ per word at least, by which a tensor costs more from a home further out than the nearest one, whether a
        node of the nearest memory is between or not."""
        far, near = self.upper[self.depth[home]], self.upper[-1]
        if far is near:
            return 0.0
        bits = self.arch.width_bits(tensor)

        def per_word(memory: Memory, energy: float) -> float:
            return bits * energy / memory.access_bits

        if tensor.is_output:
            instead = per_word(far, far.write_energy_pj) - per_word(near, near.write_energy_pj)
            if per_word(far, far.read_energy_pj) < per_word(near, near.read_energy_pj):
                instead = 0.0  # sums may be read more often than written: the more of them, the better further out
        else:
            instead = per_word(far, far.read_energy_pj) - per_word(near, near.read_energy_pj)
        if near.block_bits:
            instead = 0.0  # words there may cost as much as blocks
        may_pass, through = near.keeps[tensor.role] != "must", self.through_pj(tensor, home, near.name)
        return max(0.0, min(instead, through) if may_pass else through)

    def further_weight(self, tensor: Tensor, home: str, weights: Weights) -> float | None:
        """What a word of a tensor weighs more at least, from a home further out than the nearest memory; None where it
        may weigh less.

        If a node of the nearest memory is between, every word passes there at least once: without that, all else stays
        as it is. If none is, the nearest memory may serve in place of those further out: each time, a word takes the
        energy of one of these less, and cycles of the nearest memory's ports more, of which it may have fewer to spare,
        and in which the machine leaks.
        """
        near, bits = self.upper[-1], self.arch.width_bits(tensor)
        later = Weights(weights.energy, weights.latency + weights.energy * self.arch.total_leakage_pj_per_cycle)
        through = weights.energy * self.through_pj(tensor, home, near.name)
        if near.keeps[tensor.role] == "must":
            return through
        reads, writes = (port_cycles(near, {tensor.role: bit}) for bit in ((1.0, 0.0), (0.0, 1.0)))
        saved = []
        for far in self.upper[self.depth[home] : -1]:
            read = far.read_energy_pj / far.access_bits - near.read_energy_pj / near.access_bits
            written = far.write_energy_pj / far.access_bits - near.write_energy_pj / near.access_bits
            read, written = later.of(read, -reads), later.of(written, -writes)
            if read < 0 or (tensor.is_output and written < 0):
                return None
            saved.append(bits * (written if tensor.is_output else read))
        return min(through, saved[0])

    def through_pj(self, tensor: Tensor, home: str, inner: str) -> float:
        """pJ per word at least, by which a tensor passes from its home to a node further in, or back: through all
        memories between that have to keep it."""
        way = self.upper[self.depth[home] : self.depth[inner] + 1]
        passed = [way[0], *(memory for memory in way[1:-1] if memory.keeps[tensor.role] == "must"), way[-1]]
        drained = float(self.arch.inner_drain_read)
        energy = 0.0
        for far, near in itertools.pairwise(passed):
            if tensor.is_output:
                energy += far.write_energy_pj / far.access_bits + drained * near.read_energy_pj / near.access_bits
            else:
                energy += far.read_energy_pj / far.access_bits + near.write_energy_pj / near.access_bits
        return self.arch.width_bits(tensor) * energy


def without_leakage(arch: Architecture) -> Architecture:
    """The machine if it leaked nothing."""
    none = {"leakage_pj_per_cycle": 0.0}
    levels = (one.model_copy(update=none) if isinstance(one, Memory) else one for one in arch.levels)
    return arch.model_copy(update={"levels": tuple(levels), "mac": arch.mac.model_copy(update=none), **none})


def with_single_copies(arch: Architecture) -> Architecture:
    """Return the machine whose memories outside all arrays hold one copy of each tile, on which nothing costs more.

    A mapping of one operation has two in a double-buffered memory, wherever a node stands; a node of a tree above all
    that moves its tile has one. So of what a tree does for an operation this machine has a mapping, and that one none.
    """
    upper = {memory.name for memory in UpperMemories(arch).upper}
    one = {"double_buffered": False}
    levels = (level.model_copy(update=one) if level.name in upper else level for level in arch.levels)
    return arch.model_copy(update={"levels": tuple(levels)})


def with_room(arch: Architecture, room: Room) -> Architecture:
    """The machine with as much room in some of its memories."""
    left = {(memory, role): bits for memory, role, bits in room}
    levels = []
    for level in arch.levels:
        if isinstance(level, Memory) and any(memory == level.name for memory, _ in left):
            size = left.get((level.name, ""), level.size_bits)
            parts = {role: left.get((level.name, role), bits) for role, bits in level.partition_bits.items()}
            level = level.model_copy(update={"size_bits": size, "partition_bits": parts})
        levels.append(level)
    return arch.model_copy(update={"levels": tuple(levels)})
