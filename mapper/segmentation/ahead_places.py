"""Addresses for weights that are fetched ahead: those of the tile that they are part of, as far as nothing has them
while the group before works.

In a memory in which nothing stays between groups, these lie at its two ends in turn, with the tiles at the end of which
weights come ahead: so they find all the room that the group before leaves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from ...cost_models import Cost
from ...cost_models.cascades.ahead import Fetch
from ...ir import NoPlanError, UndecidedError
from ..canonical import CascadeNames
from ..effort import PLAN_EFFORT
from ..means import Means
from ..memory_plan import BufferSet, LiveBuffer, MemoryPlan, plan_memory
from .ahead import WeightsAhead, weights_part
from .arenas import Arena
from .group_edges import GroupEdge
from .question import AheadTile

Piece = tuple[int, int]
"""First address, and the one after the last."""


class AheadPlaces:
    """What is fetched ahead along a way, and where it lies.

    arenas  of every group, with what is fetched ahead while it works
    tiles   that come ahead of every group
    saved   cycles of every group that they save
    """

    def __init__(
        self,
        ahead: WeightsAhead,
        edges: Sequence[GroupEdge],
        costs: Sequence[Cost | None],
        arenas: Sequence[tuple[Arena, ...]],
        stays: Collection[str],
        means: Means,
    ) -> None:
        """
        costs   of the trees of the way; None: of what is no operation
        arenas  addresses of their tiles
        stays   memories in which something stays between groups: there tiles lie where they were planned
        """
        self._ahead, self._edges, self._costs, self._means = ahead, edges, costs, means
        self.arenas, self.tiles, self.saved = list(arenas), list[tuple[AheadTile, ...]](), list[float]()
        for memory in ahead.memories:
            if memory.name not in stays:
                self._at_ends(memory.name)
        before: int | None = None
        idle = (0.0,) * len(ahead.ports)
        for number, edge in enumerate(edges):
            own, saved, found = ahead.turns(edge), 0.0, list[AheadTile]()
            if own is not None:
                pieces = [self._piece(before, number, one) for one in own.fetches]
                room = [8 * (high - low) / one.bits for (low, high), one in zip(pieces, own.fetches, strict=True)]
                words = own.fetched(idle, room)
                saved, idle = own.run(words)
                idle = idle if edge.times == 1 else own.run([0.0] * len(words))[1]
                for one, count, (low, _) in zip(own.fetches, words, pieces, strict=True):
                    if before is not None and count > 0:
                        found.append(self._put(before, number, one, count, low))
                before = number
            elif edge.moves.latency_cycles:
                before = None
            self.tiles.append(tuple(found))
            self.saved.append(saved)

    def _at_ends(self, memory: str) -> None:
        """Move the tiles of groups to the two ends of a memory in turn."""
        plans: dict[int, tuple[MemoryPlan, int]] = {}
        for number, arena in enumerate(map(self._arena, range(len(self.arenas)), itertools.repeat(memory))):
            if arena is not None:
                plans[number] = self._first_at_bottom(number, arena)
        ends = [plans[one][0].height + plans[other][1] for one, other in itertools.pairwise(plans)]
        capacity = max((plan.capacity or 0 for plan, _ in plans.values()), default=0)
        top = min(capacity, max([*ends, *(plan.height for plan, _ in plans.values())], default=0))
        for at, (number, (plan, _)) in enumerate(plans.items()):
            sizes = plan.buffers.by_name
            if at % 2:
                offsets = {name: (top - own[0] - sizes[name].size,) for name, own in plan.offsets.items()}
                plan = replace(plan, offsets=offsets)
            self._set(number, memory, plan)

    def _first_at_bottom(self, number: int, arena: Arena) -> tuple[MemoryPlan, int]:
        """The plan of a group with what may come ahead at its bottom, if there is one, and the bytes of that."""
        plan, own = arena.plan, self._ahead.turns(self._edges[number])
        names = [self._name(number, one) for one in own.fetches if one.memory == arena.memory] if own else []
        first, others = (
            [one for one in plan.buffers.buffers if (one.name in names) is chosen] for chosen in (True, False)
        )
        height = sum(one.size for one in first)
        ends = itertools.accumulate((one.size for one in first), initial=0)
        offsets = {one.name: (offset,) for one, offset in zip(first, ends, strict=False)}
        if others and plan.capacity is not None:
            try:
                means = self._means.at_most(PLAN_EFFORT.plan / 10)
                rest = plan_memory(BufferSet(tuple(others)), plan.capacity - height, False, means)
            except (NoPlanError, UndecidedError):
                return plan, height
            if not rest.fits:
                return plan, height
            offsets |= {name: (height + offset,) for name, (offset,) in rest.offsets.items()}
        return replace(plan, offsets=offsets), height

    def _piece(self, before: int | None, number: int, one: Fetch) -> Piece:
        """The largest piece of a copy of a tile whose addresses the group before leaves free."""
        arena = self._arena(number, one.memory)
        if before is None or arena is None:
            return (0, 0) if before is None else (0, 2**60)
        name, bits = self._name(number, one), one.words * one.bits
        (offset,), size = arena.plan.offsets[name], arena.plan.buffers.by_name[name].size
        copies = 2 if 8 * size >= 2 * bits else 1
        ends = [offset + size * copy // copies for copy in range(copies + 1)]
        other = self._arena(before, one.memory)
        taken = sorted((low, high) for _, low, high in other.plan.places()) if other is not None else []
        pieces = (piece for copy in itertools.pairwise(ends) for piece in _without(copy, taken))
        return max(pieces, key=lambda piece: piece[1] - piece[0], default=(0, 0))

    def _put(self, before: int, number: int, one: Fetch, words: float, low: int) -> AheadTile:
        """Give words that come ahead their place while the group before works."""
        name, part = self._name(number, one), weights_part(self._ahead.memory(one.memory))
        size, cost = math.ceil(words * one.bits / 8 - 1e-9), self._costs[before]
        if part is not None and size:
            assert cost is not None
            tile = LiveBuffer(f"{name} (next)", 0, len(cost.occupancy), size)
            arena = self._arena(before, one.memory)
            old = MemoryPlan(BufferSet(()), {}, (), 0, part.bits // 8) if arena is None else arena.plan
            buffers = BufferSet((*old.buffers.buffers, tile))
            plan = replace(old, buffers=buffers, offsets={**old.offsets, tile.name: (low,)}, lower_bound=buffers.peak)
            self._set(before, one.memory, plan)
        return AheadTile(name, one.memory, words, one.words, size)

    def _name(self, number: int, one: Fetch) -> str:
        """What the group of a step calls a tensor that its kind calls otherwise."""
        edge, ahead = self._edges[number], self._ahead
        cascade = ahead.groups[edge.step.group].cascade
        assert edge.kind is not None
        assert cascade is not None
        return CascadeNames.of(cascade).tensors[CascadeNames.of(edge.kind.cascade).tensors.index(one.tensor)]

    def _arena(self, number: int, memory: str) -> Arena | None:
        return next((one for one in self.arenas[number] if one.memory == memory and "weight" in one.roles), None)

    def _set(self, number: int, memory: str, plan: MemoryPlan) -> None:
        """Give the part of a memory that weights lie in other addresses."""
        part, own = weights_part(self._ahead.memory(memory)), self._arena(number, memory)
        assert part is not None
        arena = Arena(memory, tuple(sorted(part.roles)), plan)
        others = [one for one in self.arenas[number] if one is not own]
        at = next((place for place, one in enumerate(self.arenas[number]) if one is own), len(others))
        self.arenas[number] = (*others[:at], arena, *others[at:])


def _without(piece: Piece, taken: Sequence[Piece]) -> Iterator[Piece]:
    """What is left of some addresses.

    taken  by others, by rising first addresses
    """
    at, end = piece
    for low, high in taken:
        if low > at and at < end:
            yield at, min(low, end)
        at = max(at, high)
    if at < end:
        yield at, end
