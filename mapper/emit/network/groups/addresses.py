"""Where the buffers of a group's program lie: at the addresses that were planned for its tiles, in elements.

The plan counts bytes of the machine's words and what operations of the tree work side by side; a program has one kind
of element, and does instances of an array one after the other. So every plan is checked against what the statements of
the program use and when. Where it does not hold (an instance would find its tiles overwritten by another one's, or
there are zeros around a tile that the plan does not count), the buffers of that arena are given addresses anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from .....arch import Architecture
from .....ir import MemoryPlanError, Place
from ....effort import PLAN_EFFORT
from ....means import Means
from ....memory_plan import BufferSet, LiveBuffer, MemoryPlan, plan_memory
from ....segmentation import Segment, planned_places
from ...lowering.lifetimes import live_buffers
from ...lowering.loop_program import Array, Statement

ArenaKey = tuple[str, tuple[str, ...]]
"""A memory, and the roles of the tensors that a part of it is for; of a memory without parts and bounds, none."""


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


@dataclass(frozen=True)
class Staying:
    """A tensor that stays on chip, and where: from the group that makes it to the last that reads it; a weight all the
    time.

    arena        in which it lies
    offset       of its first word, in elements
    words        that are kept for it, in elements
    first, last  places of these groups among the segments
    """

    arena: ArenaKey
    offset: int
    words: int
    first: int
    last: int

    @property
    def end(self) -> int:
        """Elements of the arena up to its last word."""
        return self.offset + self.words


def group_addresses(
    segment: Segment,
    arch: Architecture,
    bits: int | Fraction,
    body: tuple[Statement, ...],
    places: Mapping[Array, Place],
    taken: Mapping[ArenaKey, Sequence[Staying]],
    size: Callable[[Array], int] = lambda array: array.elements,
) -> dict[ArenaKey, Addresses]:
    """Addresses of all buffers of a group's program, by arena; those in the outermost memory too.

    bits    of the narrowest word of the network: what an element stands for
    body    of the program
    places  of its buffers in the tree
    taken   what stays in arenas while the group works
    size    of a buffer, in what addresses count: elements, or bytes
    """
    assert segment.answer is not None
    cost = segment.answer.cost
    planned: dict[Place, list[tuple[ArenaKey, int]]] = {}
    for arena in segment.arenas:
        for place, name in planned_places(cost, arch, arena).items():
            offset = in_elements(arena.plan.offsets[name][0], bits)
            planned.setdefault(place, []).append(((arena.memory, arena.roles), offset))
    arenas: dict[ArenaKey, dict[Array, LiveBuffer]] = {}
    offsets: dict[Array, int] = {}
    for array, buffer in live_buffers(body).items():
        found = planned.get(places[array], []) if array in places else []  # sums of outputs are not planned
        key = found[0][0] if found else (array.memory, ())
        arenas.setdefault(key, {})[array] = replace(buffer, size=size(array))
        if len(found) == 1:  # a tile that lies in two parts, one after the other, is given one address of its own
            offsets[array] = found[0][1]
    return {key: _addresses(buffers, offsets, taken.get(key, ())) for key, buffers in arenas.items()}


def in_elements(offset: int, bits: int | Fraction) -> int:
    """Where a tile begins that lies at some byte, in elements of so many bits."""
    return int(-(-offset * 8 // bits))


def narrowest_bits(segments: Iterable[Segment], arch: Architecture) -> int:
    """Bits of the narrowest word of a network: what an element stands for in all of its arenas."""
    cascades = [segment.answer.mapping.cascade for segment in segments if segment.answer is not None]
    tensors = (tensor for cascade in cascades for operation in cascade for tensor in operation.problem.tensors)
    return min((arch.width_bits(tensor) for tensor in tensors), default=arch.word_bits)


def _addresses(
    buffers: Mapping[Array, LiveBuffer], offsets: Mapping[Array, int], taken: Sequence[Staying]
) -> Addresses:
    """The planned addresses where they hold for these buffers, others, behind what stays, where they do not."""
    wanted = BufferSet(tuple(buffers.values()))
    if buffers.keys() <= offsets.keys():
        whole = max((buffer.upper for buffer in buffers.values()), default=1)
        others = [LiveBuffer(f"stays {i}", 0, whole, one.words) for i, one in enumerate(taken)]
        placed = {buffer.name: (offsets[array],) for array, buffer in buffers.items()}
        placed |= {buffer.name: (one.offset,) for buffer, one in zip(others, taken, strict=True)}
        plan = MemoryPlan(BufferSet((*wanted.buffers, *others)), placed, (), 0)
        try:
            plan.check()
            return Addresses({array: offsets[array] for array in buffers}, plan.height, is_planned=True)
        except MemoryPlanError:
            pass
    plan, first = plan_elements(wanted), max((one.end for one in taken), default=0)
    found = {array: (first + plan.offsets[b.name][0]) for array, b in buffers.items()}
    return Addresses(found, first + plan.height, is_planned=False)


def plan_elements(buffers: BufferSet) -> MemoryPlan:
    """Addresses in as few elements as are found in a few seconds."""
    return plan_memory(buffers, means=Means.from_now(PLAN_EFFORT.plan))
