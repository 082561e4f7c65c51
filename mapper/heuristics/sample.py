"""Points of the even space as genomes: their random draw, whether they fit, and the mapping that each stands for.

A slot is a place for one loop of every dimension: one in time below each memory, one on each axis of a fanout. The
slots of a machine stand in one row, outermost first; the first is the outermost memory's, which keeps everything.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...arch import Architecture, ArrayAxis, Fanout, Memory
from ...cost_models.cost import capacity_parts, held_width_bits, tensor_tile_words
from ...ir import Axis, Loop, LoopNest, Mapping, Node, Problem, Tensor, ceil_div
from ..kernel.remembered import remembered
from ..tilings import Tiling
from .chains import MostTrips, draw_chain

Flags = tuple[tuple[bool, ...], ...]
Numbers = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Genome:
    """One mapping of the even space, in parts that can be changed one by one. Equal mappings have equal genomes.

    keeps   per memory (outermost first) and tensor, whether it is kept there
    trips   per dimension and slot (outermost first); 1 below a memory that keeps nothing
    orders  per memory, the dimensions (by index) of its temporal loops of more than one trip, outermost first
    """

    keeps: Flags
    trips: Numbers
    orders: Numbers


class GenomeSlot(NamedTuple):
    """A place for one loop of every dimension: below memory number `memory` in time, or on an axis."""

    memory: int | None
    axis: Axis | None
    spec: ArrayAxis | None


class _Capacity(NamedTuple):
    """A capacity of a memory, and what one word of each tensor in it takes (both copies, if double buffered)."""

    bits: int
    word_bits: tuple[tuple[int, Tensor, int], ...]


@dataclass(frozen=True)
class GenomeSpace:
    """The even space of a problem on an architecture."""

    problem: Problem
    arch: Architecture
    tiling: Tiling

    @cached_property
    def slots(self) -> tuple[GenomeSlot, ...]:
        slots: list[GenomeSlot] = []
        memories = 0
        for level in self.arch.levels:
            if isinstance(level, Fanout):
                axes = list(enumerate(level.axes))
                slots += [GenomeSlot(None, Axis(level.name, i), axis) for i, axis in reversed(axes)]
            else:
                slots.append(GenomeSlot(memories, None, None))
                memories += 1
        return tuple(slots)

    @cached_property
    def time_slots(self) -> tuple[int, ...]:
        """Per memory, the slot of its temporal loops."""
        return tuple(i for i, slot in enumerate(self.slots) if slot.memory is not None)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.problem.dims)

    @cached_property
    def allowed(self) -> tuple[tuple[int, ...], ...]:
        """Per dimension, the slots that it may use: all in time, and the axes that allow it."""
        return tuple(
            tuple(i for i, slot in enumerate(self.slots) if slot.spec is None or slot.spec.allows(self.problem, dim))
            for dim in self.problem.dim_names
        )

    @cached_property
    def optional(self) -> tuple[tuple[int, int], ...]:
        """(memory, tensor) where the architecture leaves open whether the tensor is kept."""
        return tuple(
            (m, t)
            for m, memory in enumerate(self.arch.memories)
            for t, tensor in enumerate(self.problem.tensors)
            if memory.keeps[tensor.role] == "may"
        )

    def draw(self, rng: random.Random) -> Genome:
        """A random genome, which need not fit.

        Every optional tensor is kept or not with equal chance; given that, every way to cover a dimension by trips
        over the slots is equally likely (no axis has more trips of one dimension than instances), and so is every
        order of the temporal loops below a memory.
        """
        keeps = tuple(
            tuple(_drawn(memory.keeps[tensor.role], rng) for tensor in self.problem.tensors)
            for memory in self.arch.memories
        )
        limits = self._limits(tuple(any(kept) for kept in keeps))
        trips = tuple(
            draw_chain(rng, size, most, self.tiling)[::-1] for size, most in zip(self.sizes, limits, strict=True)
        )
        orders = []
        for slot in self.time_slots:
            loops = [d for d, chain in enumerate(trips) if chain[slot] > 1]
            rng.shuffle(loops)
            orders.append(tuple(loops))
        return Genome(keeps, trips, tuple(orders))

    @remembered
    def _limits(self, used: tuple[bool, ...]) -> tuple[MostTrips, ...]:
        """The most trips of each dimension in each slot, innermost first, but for the outermost slot.

        used  per memory, whether it keeps anything
        """
        return tuple(
            tuple(self._most_trips(size, i, used, i in allowed) for i in range(len(self.slots) - 1, 0, -1))
            for size, allowed in zip(self.sizes, self.allowed, strict=True)
        )

    def _most_trips(self, size: int, slot: int, used: tuple[bool, ...], allowed: bool) -> int:
        memory, _, axis = self.slots[slot]
        if not (allowed if memory is None else used[memory]):
            return 1
        return size if axis is None else min(axis.size, size)

    def assemble(
        self, keeps: Flags, trips: Sequence[Sequence[int]], orders: Sequence[Sequence[int]], rng: random.Random
    ) -> Genome:
        """The genome of some parts that need not agree with each other.

        Loops of a memory that keeps nothing join those of the next memory outwards; tiles that cover their dimension
        are cut; the outermost loop covers what the others leave. Orders lose the loops that are gone, and a new one
        is put at a random place.
        """
        closed = [slot.memory is not None and not any(keeps[slot.memory]) for slot in self.slots]
        settled = tuple(
            _settled(size, chain, closed, self.slots) for size, chain in zip(self.sizes, trips, strict=True)
        )
        found = []
        for slot, order in zip(self.time_slots, orders, strict=True):
            loops = [d for d in order if settled[d][slot] > 1]
            for d, chain in enumerate(settled):
                if chain[slot] > 1 and d not in loops:
                    loops.insert(rng.randrange(len(loops) + 1), d)
            found.append(tuple(loops))
        return Genome(keeps, settled, tuple(found))

    def mapping(self, genome: Genome) -> Mapping:
        """The mapping that a genome stands for; loops of one axis stand in the order of the problem's dimensions."""
        names = self.problem.dim_names
        items: list[Loop | Node] = []
        for i, slot in enumerate(self.slots):
            order: Sequence[int] = range(len(names))
            if slot.memory is not None:
                kept = zip(self.problem.tensors, genome.keeps[slot.memory], strict=True)
                items += [Node(self.arch.memories[slot.memory].name, tensor.name) for tensor, keep in kept if keep]
                order = genome.orders[slot.memory]
            items += [Loop(names[d], genome.trips[d][i], slot.axis) for d in order if genome.trips[d][i] > 1]
        return Mapping(self.problem, LoopNest(tuple(items)))

    def genome(self, mapping: Mapping) -> Genome:
        """The genome that stands for a mapping of the even space."""
        index = {dim: d for d, dim in enumerate(self.problem.dim_names)}
        memories = {memory.name: m for m, memory in enumerate(self.arch.memories)}
        axes = {slot.axis: i for i, slot in enumerate(self.slots) if slot.axis is not None}
        trips = [[1] * len(self.slots) for _ in index]
        orders: list[list[int]] = [[] for _ in memories]
        kept, memory = set(), 0
        for item in mapping.nest:
            if isinstance(item, Node):
                memory = memories[item.memory]
                kept.add((memory, item.tensor))
            elif item.trips > 1:
                slot = self.time_slots[memory] if item.axis is None else axes[item.axis]
                trips[index[item.dim]][slot] *= item.trips
                if item.axis is None:
                    orders[memory].append(index[item.dim])
        keeps = tuple(tuple((m, t.name) in kept for t in self.problem.tensors) for m in memories.values())
        return Genome(keeps, tuple(map(tuple, trips)), tuple(map(tuple, orders)))

    def fits(self, genome: Genome) -> bool:
        """Whether axes and capacities suffice: `check_fit` of the mapping, without building it."""
        tile = dict.fromkeys(self.problem.dim_names, 1)
        for i in range(len(self.slots) - 1, 0, -1):
            memory, _, axis = self.slots[i]
            used = 1
            for (dim, size), chain in zip(self.problem.dims, genome.trips, strict=True):
                used *= chain[i]
                tile[dim] = min(tile[dim] * chain[i], size)
            if axis is not None and used > axis.size:
                return False
            if memory is not None and not all(
                self._holds(c, genome.keeps[memory], tile) for c in self._capacities[memory]
            ):
                return False
        return True

    @cached_property
    def _capacities(self) -> tuple[tuple[_Capacity, ...], ...]:
        """Per memory, its capacities."""
        return tuple(
            tuple(_Capacity(part.bits, tuple(self._word_bits(memory, part.roles))) for part in capacity_parts(memory))
            for memory in self.arch.memories
        )

    def _holds(self, capacity: _Capacity, kept: Sequence[bool], tile: dict[str, int]) -> bool:
        footprint = self.arch.footprint
        words = (bits * tensor_tile_words(tensor, tile, footprint) for t, tensor, bits in capacity.word_bits if kept[t])
        return sum(words) <= capacity.bits

    def _word_bits(self, memory: Memory, roles: frozenset[str]) -> list[tuple[int, Tensor, int]]:
        copies = 2 if memory.double_buffered else 1
        return [
            (t, tensor, copies * held_width_bits(self.arch, memory, tensor))
            for t, tensor in enumerate(self.problem.tensors)
            if tensor.role in roles
        ]


def _drawn(keep: str, rng: random.Random) -> bool:
    return rng.random() < 0.5 if keep == "may" else keep == "must"


def _settled(size: int, chain: Sequence[int], closed: Sequence[bool], slots: Sequence[GenomeSlot]) -> tuple[int, ...]:
    """Trips of one dimension that cover it: see `GenomeSpace.assemble`."""
    settled = [1] * len(chain)
    left, carried = size, 1
    for i in range(len(chain) - 1, 0, -1):
        if closed[i]:
            carried *= chain[i]
            continue
        trips = chain[i]
        if slots[i].memory is not None:
            trips, carried = trips * carried, 1
        settled[i] = min(trips, left)
        left = ceil_div(left, settled[i])
    settled[0] = left
    return tuple(settled)
