"""In how many ways a region of the hierarchy can have so many slots for temporal loops.

A region is the memories between two fanouts, above the first, or below the last. Its spatial loops come first. A slot
is a place between nodes; loops in one slot have distinct dimensions.

- Even: all nodes of a memory stand together, and a memory that keeps something has one slot below it.
- Uneven: nodes stand in any order that keeps, per tensor, memories in hierarchy order, with a slot below every node.
  Two nests are the same mapping when they are equal after unit loops are dropped and nodes that stand next to each
  other are sorted: then nodes form blocks, and every block of a region but the last has a loop below it. The outermost
  memory's nodes stand on top, with a slot below all of them.

No slot stands directly inside an array, between its spatial loops and the first node inside it (docs/search.md says
what that leaves out).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...arch import Architecture, ArrayAxis, Keep, Memory
from ...ir import Problem
from .chain_tables import Region


@dataclass(frozen=True)
class SlotWays:
    """A region, and per number of slots, how many ways there are to have so many (any of them may be empty).

    These may be differences: negative where slots that must not be empty are told apart from slots that may be.
    """

    region: Region
    ways: tuple[int, ...]


def placements(problem: Problem, arch: Architecture) -> int:
    """Choices of the memories that keep each tensor."""
    return math.prod(2 ** _keeps(problem, memory).count("may") for memory in arch.memories)


def slot_ways(problem: Problem, arch: Architecture, space: Literal["even", "uneven"]) -> tuple[SlotWays, ...]:
    """The regions of an architecture, outermost first."""
    parts: list[tuple[tuple[ArrayAxis, ...], list[list[Keep]]]] = [((), [])]
    for level in arch.levels[1:]:
        if isinstance(level, Memory):
            parts[-1][1].append(_keeps(problem, level))
        else:
            parts.append((tuple(reversed(level.axes)), []))
    found: list[SlotWays] = []
    for axes, keeps in parts:
        ways = _even(keeps) if space == "even" else _uneven(keeps)
        # The outermost memory keeps everything, and has a slot.
        ways = [0, *ways] if not found else ways
        found.append(SlotWays(Region(axes, len(ways) - 1), tuple(ways)))
    return tuple(found)


def without_arrays(regions: Sequence[SlotWays]) -> tuple[SlotWays, ...]:
    """The regions where no array has a spatial loop."""
    return tuple(SlotWays(Region((), ways.region.slots), ways.ways) for ways in regions)


def _keeps(problem: Problem, memory: Memory) -> list[Keep]:
    return [memory.keeps[t.role] for t in problem.tensors]


def _even(memories: Sequence[Sequence[Keep]]) -> list[int]:
    """Placements by the number of memories that keep something."""
    ways = [1]
    for keeps in memories:
        empty = 0 if "must" in keeps else 1
        filled = 2 ** keeps.count("may") - empty
        if filled:
            ways = [empty * a + filled * b for a, b in zip([*ways, 0], [0, *ways], strict=True)]
    return ways


def _uneven(memories: Sequence[Sequence[Keep]]) -> list[int]:
    """Placements and node orders, as sums over numbers of slots that may be empty."""
    most = sum(keep != "never" for keeps in memories for keep in keeps)
    # Ways to give every node one of so many places in a row, memories of a tensor in their order.
    placed = [
        math.prod(_in_order(chain, places) for chain in zip(*memories, strict=True)) for places in range(most + 1)
    ]
    # No place is empty (a block) ...
    blocks = [
        sum((-1) ** (count - places) * math.comb(count, places) * placed[places] for places in range(count + 1))
        for count in range(most + 1)
    ]
    # ... and no slot but that of the last block is empty.
    ways = [
        sum(
            (-1) ** (count - slots) * math.comb(count - 1, slots - 1) * blocks[count]
            for count in range(slots, most + 1)
        )
        for slots in range(1, most + 1)
    ]
    return [blocks[0], *ways]


def _in_order(chain: Sequence[Keep], places: int) -> int:
    """Ways to choose the nodes of one tensor, and to put them into places in a row in their order."""
    must, may = chain.count("must"), chain.count("may")
    rows = [math.comb(places + nodes - 1, nodes) if nodes else 1 for nodes in range(must, must + may + 1)]
    return sum(math.comb(may, extra) * row for extra, row in enumerate(rows))
