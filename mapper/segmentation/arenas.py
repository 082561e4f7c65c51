"""Where every tile of a group's mapping lies: for each bounded memory inside the outermost one, addresses over the run.

A tile is live while the operations work that it is held for (`cost_models/cascades/capacity.py`). Between groups
nothing stays, so each group has all of a memory's addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...arch import Architecture
from ...cost_models.cascades import FusedCost, Held, tiles_in
from ...cost_models.cost import Part, capacity_parts
from ...ir import Place
from ..means import UNLIMITED, Means
from ..memory_plan import BufferSet, LiveBuffer, MemoryPlan, plan_memory


@dataclass(frozen=True)
class Arena:
    """One part of a memory while a group works.

    memory  its name
    roles   of the tensors that the part is for, in a fixed order
    plan    an offset for every tile, in bytes; a moment is the place of an operation among those of the group
    """

    memory: str
    roles: tuple[str, ...]
    plan: MemoryPlan


def arenas_of(cost: FusedCost, arch: Architecture, means: Means = UNLIMITED) -> tuple[Arena, ...]:
    """Addresses for all tiles of a fused mapping, memories from the outermost to the innermost.

    cost  of the mapping on the architecture

    Raises NoPlanError where the tiles fit by their sum and not as addresses. Where means run out, a plan may not fit.
    """
    found = []
    for memory in arch.memories[1:]:
        for part in capacity_parts(memory):
            buffers = tuple(_buffers(cost, part))
            if buffers:
                plan = plan_memory(BufferSet(buffers), part.bits // 8, False, means)
                found.append(Arena(memory.name, tuple(sorted(part.roles)), plan))
    return tuple(found)


def _buffers(cost: FusedCost, part: Part) -> Iterator[LiveBuffer]:
    """The tiles that lie in a part of a memory, each from the first operation that it is held for to the last."""
    for name, moments in _tiles(cost, part).items():
        size = max(-(-tile.bits // 8) for _, tile in moments)
        yield LiveBuffer(name, moments[0][0], moments[-1][0] + 1, size)


def _tiles(cost: FusedCost, part: Part) -> dict[str, list[tuple[int, Held]]]:
    """By the name of its buffer every tile, as each operation holds it, with the operation's place."""
    held: dict[tuple[Place, str], list[tuple[int, Held]]] = {}
    for moment, tiles in enumerate(cost.occupancy.values()):
        for tile in tiles_in(tiles, part):
            held.setdefault((tile.place, tile.tensor), []).append((moment, tile))
    count: dict[str, int] = {}
    named = {}
    for (_, tensor), moments in held.items():
        count[tensor] = count.get(tensor, 0) + 1
        named[tensor if count[tensor] == 1 else f"{tensor}.{count[tensor]}"] = moments
    return named


def planned_places(cost: FusedCost, arch: Architecture, arena: Arena) -> dict[Place, str]:
    """For the nodes of the tree whose tiles lie in an arena, the names of their buffers there."""
    memory = next(memory for memory in arch.memories if memory.name == arena.memory)
    part = next(part for part in capacity_parts(memory) if tuple(sorted(part.roles)) == arena.roles)
    return {moments[0][1].place: name for name, moments in _tiles(cost, part).items()}


def over_the_run(arenas: Iterable[tuple[int, str, Arena]]) -> MemoryPlan:
    """The plans of one memory while one group after the other works, as one plan.

    arenas  when each group begins, what names of its tiles begin with, and its arena
    """
    buffers: list[LiveBuffer] = []
    offsets: dict[str, tuple[int, ...]] = {}
    lower, capacity = 0, None
    for start, name, arena in arenas:
        plan = arena.plan
        lower, capacity = max(lower, plan.lower_bound), plan.capacity
        for buffer in plan.buffers.buffers:
            shifted = replace(
                buffer, name=f"{name}{buffer.name}", lower=start + buffer.lower, upper=start + buffer.upper
            )
            buffers.append(shifted)
            offsets[shifted.name] = plan.offsets[buffer.name]
    return MemoryPlan(BufferSet(tuple(buffers)), offsets, (), lower, capacity)
