"""Where the buffers of a group's program lie: at the addresses that were planned for its tiles, in elements.

The plan counts bytes of the machine's words and what operations of the tree work side by side; a program has one kind
of element, and does instances of an array one after the other. So every plan is checked against what the statements of
the program use and when. Where it does not hold (an instance would find its tiles overwritten by another one's, or
there are zeros around a tile that the plan does not count), the buffers of that arena are given addresses anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....arch import Architecture
from ....ir import Cascade, MemoryPlanError, Place
from ...means import Means
from ...memory_plan import BufferSet, LiveBuffer, MemoryPlan, plan_memory
from ...segmentation import Segment, planned_places
from ..lifetimes import live_buffers
from ..loop_program import Array, Statement

ArenaKey = tuple[str, tuple[str, ...]]
"""A memory, and the roles of the tensors that a part of it is for; of a memory without parts and bounds, none."""

PLAN_SECONDS = 5.0
"""For addresses that are given anew."""


@dataclass(frozen=True)
class Addresses:
    """The buffers of one group in one arena.

    offsets     of each, in elements
    height      elements up to the end of the uppermost one
    is_planned  whether they are those of the network's plan
    """

    offsets: Mapping[Array, int]
    height: int
    is_planned: bool


def group_addresses(
    segment: Segment, arch: Architecture, body: tuple[Statement, ...], places: Mapping[Array, Place]
) -> dict[ArenaKey, Addresses]:
    """Addresses of all buffers of a group's program, by arena; those in the outermost memory too.

    body    of the program
    places  of its buffers in the tree
    """
    assert segment.answer is not None
    cost = segment.answer.cost
    bits = _narrowest(segment.answer.mapping.cascade, arch)
    planned: dict[Place, list[tuple[ArenaKey, int]]] = {}
    for arena in segment.arenas:
        for place, name in planned_places(cost, arch, arena).items():
            offset = -(-arena.plan.offsets[name][0] * 8 // bits)
            planned.setdefault(place, []).append(((arena.memory, arena.roles), offset))
    arenas: dict[ArenaKey, dict[Array, LiveBuffer]] = {}
    offsets: dict[Array, int] = {}
    for array, buffer in live_buffers(body).items():
        found = planned.get(places[array], [])
        key = found[0][0] if found else (array.memory, ())
        arenas.setdefault(key, {})[array] = buffer
        if len(found) == 1:  # a tile that lies in two parts, one after the other, is given one address of its own
            offsets[array] = found[0][1]
    return {key: _addresses(buffers, offsets) for key, buffers in arenas.items()}


def _narrowest(cascade: Cascade, arch: Architecture) -> int:
    """Bits of the narrowest word: what an element stands for."""
    return min(arch.width_bits(tensor) for operation in cascade for tensor in operation.problem.tensors)


def _addresses(buffers: Mapping[Array, LiveBuffer], offsets: Mapping[Array, int]) -> Addresses:
    """The planned addresses where they hold for these buffers, others where they do not."""
    wanted = BufferSet(tuple(buffers.values()))
    if buffers.keys() <= offsets.keys():
        plan = MemoryPlan(wanted, {buffer.name: (offsets[array],) for array, buffer in buffers.items()}, (), 0)
        try:
            plan.check()
            return Addresses({array: offsets[array] for array in buffers}, plan.height, is_planned=True)
        except MemoryPlanError:
            pass
    plan = plan_elements(wanted)
    return Addresses({array: plan.offsets[b.name][0] for array, b in buffers.items()}, plan.height, is_planned=False)


def plan_elements(buffers: BufferSet) -> MemoryPlan:
    """Addresses in as few elements as are found in a few seconds."""
    return plan_memory(buffers, means=Means.from_now(PLAN_SECONDS))
