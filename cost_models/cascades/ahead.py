"""Weights that come to a memory with `prefetch: next` while the group before runs.

The words pass ports of the outermost memory and of that one. These serve the group that runs, and in what is left of
its time they bring weights of the next group: first tiles that it holds at its start, as many words as there is room
for beside what the running group holds. With C cycles of all that is not such a port, and of a port P for all words of
the group, of which g came ahead (g = 0 in the first group), each turn of an operation takes

    t = max(C, P - g / bandwidth)        and leaves        t - (P - g / bandwidth)        for the group after.

What fills and empties first, and memories that do not overlap, add to t as they do without.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...arch import Architecture, Memory
from ...ir import Mapping
from ..boundaries import Boundary
from ..closed_form import Nest, first_tile
from ..cost import Cost
from ..ports import Port, ports_of
from .ways import Way, ways_of, without_transfers

Idle = tuple[float, ...]
"""Cycles of each port that fetched weights pass (`ports_ahead`) for which it is not busy."""


class Turn(NamedTuple):
    """The time of one operation of a group, or of all together where they overlap.

    others  cycles of the slowest of all else
    busy    cycles of each port that fetched weights pass
    """

    others: float
    busy: tuple[float, ...]


class Fetch(NamedTuple):
    """A first tile of weights that may be fetched ahead.

    turn    whose words it is counted among, by place
    words   of it that the outermost memory reads
    cycles  of each port for a word
    tensor, memory  what it is, and where it comes to
    bits    that a word takes in one instance there
    """

    turn: int
    words: float
    cycles: tuple[float, ...]
    tensor: str = ""
    memory: str = ""
    bits: float = 0.0


@dataclass(frozen=True)
class GroupTurns:
    """The turns of a mapped group, and what may come ahead of it, in the order in which it is needed."""

    turns: tuple[Turn, ...]
    fetches: tuple[Fetch, ...] = ()

    def fetched(self, idle: Idle, room: Sequence[float]) -> tuple[float, ...]:
        """Return the words of each tile that come while the group before leaves ports idle.

        room  for words of each
        """
        left, found = list(idle), []
        for one, most in zip(self.fetches, room, strict=True):
            ports = [at for at, cycles in enumerate(one.cycles) if cycles]
            words = max(0.0, min([one.words, most, *(left[at] / one.cycles[at] for at in ports)]))
            for at in ports:
                left[at] -= words * one.cycles[at]
            found.append(words)
        return tuple(found)

    def run(self, words: Sequence[float]) -> tuple[float, Idle]:
        """Return the cycles that these words save when they are there at the start, and what the group leaves idle."""
        saved, idle = 0.0, [0.0] * len(self.turns[0].busy)
        for number, (others, busy) in enumerate(self.turns):
            there = list(busy)
            for one, count in zip(self.fetches, words, strict=True):
                if one.turn == number:
                    there = [cycles - count * each for cycles, each in zip(there, one.cycles, strict=True)]
            takes = max(others, *there)
            saved += max(others, *busy) - takes
            idle = [before + takes - cycles for before, cycles in zip(idle, there, strict=True)]
        return saved, tuple(idle)

    def room(self, free: dict[str, float]) -> list[float]:
        """Return the words of each tile that have room beside those before it, by bits that are free in memories."""
        left, found = dict(free), []
        for one in self.fetches:
            bits = left.get(one.memory, math.inf)
            found.append(bits / one.bits if one.bits else math.inf)
            left[one.memory] = max(0.0, bits - one.words * one.bits)
        return found


def ports_ahead(arch: Architecture) -> list[tuple[Memory, Port]]:
    """The bounded ports that weights pass on their way from the outermost memory to one with `prefetch: next`."""
    outermost, *others = arch.memories
    found = [(outermost, port) for port in ports_of(outermost) if port.kind.reads]
    ahead = (memory for memory in others if memory.prefetch == "next")
    found += [(memory, port) for memory in ahead for port in ports_of(memory) if port.kind.writes]
    return [(memory, port) for memory, port in found if port.kind.role in (None, "weight")]


def turns_of(
    fused: Mapping, cost: Cost, arch: Architecture, weights: Collection[str], stays: Collection[str] = ()
) -> GroupTurns:
    """The turns of a mapped group, and those of its weights that may come ahead.

    cost     of the mapping
    weights  tensors that nobody makes
    stays    as of `evaluate_tree`
    """
    ports, together = ports_ahead(arch), arch.overlap == "across_operations"
    turns = tuple(_turn(part, ports) for part in ([cost] if together else cost.parts.values()))
    ways = ways_of(fused, arch)
    held = {(tile.memory, tile.tensor) for tile in next(iter(cost.occupancy.values()))}
    found = []
    for number, way in enumerate(ways.values()):
        for boundary, nest in _filled_from_outside(without_transfers(way, arch, stays), arch):
            key = boundary.inner.name if boundary.inner else "", boundary.tensor.name
            if boundary.tensor.name in weights and key in held and not way.path.windows & boundary.tensor.dims:
                found.append(_fetch(0 if together else number, boundary, nest, arch, ports))
    return GroupTurns(turns, tuple(found))


def _filled_from_outside(way: Way, arch: Architecture) -> Iterator[tuple[Boundary, Nest]]:
    """The boundaries over which an operation fills memories that fetch ahead from the outermost one."""
    every = [(boundary, way.path) for boundary in way.boundaries]
    every += [(borrowed.boundary, borrowed.path) for borrowed in way.borrowed]
    for boundary, path in every:
        inner = boundary.inner
        if boundary.outer.name == arch.memories[0].name and inner is not None and inner.prefetch == "next":
            yield boundary, Nest.of(path.mapping, arch, path.starts)


def _turn(part: Cost, ports: Sequence[tuple[Memory, Port]]) -> Turn:
    busy = {(use.name, port.name): port.cycles for use in part.memories if use.overlaps for port in use.ports}
    own = tuple(busy.pop((memory.name, port.name), 0.0) for memory, port in ports)
    return Turn(max([part.compute_cycles, *busy.values()]), own)


def _fetch(
    turn: int, boundary: Boundary, nest: Nest, arch: Architecture, ports: Sequence[tuple[Memory, Port]]
) -> Fetch:
    assert boundary.inner is not None
    tile, width = first_tile(nest, boundary, boundary.inner.name), arch.width_bits(boundary.tensor)
    bits = width * tile.inner_words / tile.outer_words
    passing = {boundary.outer.name: (width, 0.0), boundary.inner.name: (0.0, bits)}
    cycles = tuple(port.cycles("weight", *passing.get(memory.name, (0.0, 0.0))) for memory, port in ports)
    return Fetch(turn, tile.outer_words, cycles, boundary.tensor.name, boundary.inner.name, bits)
