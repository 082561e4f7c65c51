"""Addresses for every tile of a group's mapping, in each bounded memory inside the outermost memory, over the run.

A tile is live while the operations work that it is held for (`cost_models/cascades/capacity.py`). A group has all of a
memory's addresses, but for those of tensors that stay there between groups: these lie at one place while all groups
work from the one that makes them to the last that reads them, and the tiles of these groups are planned together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...arch import Architecture
from ...cost_models import Cost
from ...cost_models.cascades import Held, tiles_in
from ...cost_models.cost import Part, capacity_parts
from ...ir import NoPlanError, Place, UndecidedError
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


def arenas_of(cost: Cost, arch: Architecture, means: Means = UNLIMITED) -> tuple[Arena, ...]:
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


def check_addresses(cost: Cost, arch: Architecture, means: Means) -> None:
    """NoPlanError where tiles of a fused mapping have no addresses, or none were found."""
    for arena in arenas_of(cost, arch, means):
        if not arena.plan.fits:
            raise NoPlanError(f"no addresses were found for its tiles in {arena.memory}")


@dataclass(frozen=True)
class Resident:
    """A tensor that stays in a memory while a group works.

    name    of the occurrence that makes it; of a weight its own
    memory  in which it lies, whole
    bits    that it takes
    own     what the group's cascade calls it; None: the group does nothing with it
    """

    name: str
    memory: str
    bits: int
    own: str | None

    @property
    def buffer(self) -> str:
        """The name of the tensor among the addresses of the group."""
        return f"{self.name} (stays)" if self.own is None else self.own


@dataclass(frozen=True)
class WorkingGroup:
    """A group of a run, between all of which something stays.

    cost       of its mapping; None: what is no operation
    residents  what stays while it works
    """

    cost: Cost | None
    residents: tuple[Resident, ...]

    @property
    def moments(self) -> int:
        """The number of operations that the group does."""
        return 1 if self.cost is None else len(self.cost.occupancy)


def arenas_of_run(
    groups: Sequence[WorkingGroup], arch: Architecture, means: Means = UNLIMITED
) -> list[tuple[Arena, ...]]:
    """Return addresses, by group, for the tiles of groups that are done one after the other and for the tensors that
    stay between them.

    Raises NoPlanError where the tiles fit by their sum, and not as addresses; UndecidedError where means run out first.
    """
    shared = {resident.memory for group in groups for resident in group.residents}
    found: list[list[Arena]] = [[] for _ in groups]
    for memory in arch.memories[1:]:
        for part in capacity_parts(memory):
            if memory.name in shared:
                plans = _shared_plans(groups, part, means)
            else:
                plans = [_own_plan(group, part, means) for group in groups]
            for arenas, plan in zip(found, plans, strict=True):
                if plan is not None:
                    arenas.append(Arena(memory.name, tuple(sorted(part.roles)), plan))
    return [tuple(arenas) for arenas in found]


def _own_plan(group: WorkingGroup, part: Part, means: Means) -> MemoryPlan | None:
    buffers = () if group.cost is None else tuple(_buffers(group.cost, part))
    return plan_memory(BufferSet(buffers), part.bits // 8, False, means) if buffers else None


def _shared_plans(groups: Sequence[WorkingGroup], part: Part, means: Means) -> list[MemoryPlan | None]:
    """Divide the plan of all groups into a plan for each; a tensor that stays has one place, with the largest room that
    it takes in any of them."""
    buffers: dict[str, LiveBuffer] = {}
    of_group: list[dict[str, tuple[str, LiveBuffer]]] = []
    start = 0
    for number, group in enumerate(groups):
        own = {buffer.name: buffer for buffer in (_buffers(group.cost, part) if group.cost is not None else ())}
        named = {name: (f"{number}.{name}", buffer) for name, buffer in own.items()}
        for resident in group.residents:
            if resident.memory == part.memory.name:
                written = own.get(resident.buffer)  # in partial sums, which may be wider
                size = max(-(-resident.bits // 8), 0 if written is None else written.size)
                tile = LiveBuffer(f"{resident.name} (stays)", 0, group.moments, size)
                named[resident.buffer] = tile.name, tile
        for key, buffer in named.values():
            here = LiveBuffer(key, start + buffer.lower, start + buffer.upper, buffer.size)
            before = buffers.get(key, here)
            buffers[key] = replace(here, lower=before.lower, size=max(before.size, here.size))
        of_group.append(named)
        start += group.moments
    plan = plan_memory(BufferSet(tuple(buffers.values())), part.bits // 8, False, means)
    if not plan.fits:
        raise UndecidedError(f"no addresses were found for tiles in {part.memory.name}, and what stays there")
    return [_part_of_plan(plan, named) for named in of_group]


def _part_of_plan(plan: MemoryPlan, named: dict[str, tuple[str, LiveBuffer]]) -> MemoryPlan | None:
    """Return the part of a plan that is about some buffers, under other names."""
    sizes = plan.buffers.by_name
    own = tuple(replace(buffer, name=name, size=sizes[key].size) for name, (key, buffer) in named.items())
    offsets = {name: plan.offsets[key] for name, (key, _) in named.items()}
    return MemoryPlan(BufferSet(own), offsets, (), BufferSet(own).peak, plan.capacity) if own else None


def _buffers(cost: Cost, part: Part) -> Iterator[LiveBuffer]:
    """The tiles that lie in a part of a memory, each from the first operation that it is held for to the last."""
    for name, moments in _tiles(cost, part).items():
        size = max(-(-tile.bits // 8) for _, tile in moments)
        yield LiveBuffer(name, moments[0][0], moments[-1][0] + 1, size)


def _tiles(cost: Cost, part: Part) -> dict[str, list[tuple[int, Held]]]:
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


def planned_places(cost: Cost, arch: Architecture, arena: Arena) -> dict[Place, str]:
    """For the nodes of the tree whose tiles lie in an arena, the names of their buffers there."""
    memory = next(memory for memory in arch.memories if memory.name == arena.memory)
    part = next(part for part in capacity_parts(memory) if tuple(sorted(part.roles)) == arena.roles)
    return {moments[0][1].place: name for name, moments in _tiles(cost, part).items()}


def over_the_run(arenas: Iterable[tuple[int, Callable[[str], str], Arena]]) -> MemoryPlan:
    """Join the plans of one memory, one for each group in turn, into one plan.

    arenas  when each group begins, what its tiles are called over the run, and its arena; one name in several groups is
            one tile, which lies at its place from the first of them to the last
    """
    buffers: dict[str, LiveBuffer] = {}
    offsets: dict[str, tuple[int, ...]] = {}
    lower, capacity = 0, None
    for start, name_of, arena in arenas:
        plan = arena.plan
        lower, capacity = max(lower, plan.lower_bound), plan.capacity
        for buffer in plan.buffers.buffers:
            name = name_of(buffer.name)
            here = replace(buffer, name=name, lower=start + buffer.lower, upper=start + buffer.upper)
            buffers[name] = replace(here, lower=buffers.get(name, here).lower)
            offsets[name] = plan.offsets[buffer.name]
    return MemoryPlan(BufferSet(tuple(buffers.values())), offsets, (), lower, capacity)
