"""The places of the even space, as the model sees them: slots for loops, and patterns of nodes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ...arch import Architecture, ArrayAxis, Fanout, Memory
from ...ir import Axis, Problem, Tensor


@dataclass(frozen=True)
class Slot:
    """A place for one loop of each dimension: in time, directly below the nodes of a memory; or on an array axis."""

    memory: Memory | None = None
    fanout: Fanout | None = None
    axis: Axis | None = None

    @property
    def is_spatial(self) -> bool:
        return self.fanout is not None

    @property
    def array_axis(self) -> ArrayAxis:
        """The axis of the array that this slot stands for."""
        assert self.fanout is not None
        assert self.axis is not None
        return self.fanout.axes[self.axis.index]


@dataclass(frozen=True)
class Places:
    """The slots of an architecture, outermost first. A position is an index into them.

    node  position of every memory's nodes, outermost memory first: they stand directly above the slot there
    mac   the position of the MAC, below all slots
    """

    slots: tuple[Slot, ...]
    node: tuple[int, ...]

    @classmethod
    def of(cls, arch: Architecture) -> Places:
        """The places of an architecture."""
        slots: list[Slot] = []
        for level in arch.levels:
            if isinstance(level, Memory):
                slots.append(Slot(memory=level))
            else:
                axes = reversed(range(len(level.axes)))
                slots += [Slot(fanout=level, axis=Axis(level.name, index)) for index in axes]
        node = tuple(i for i, slot in enumerate(slots) if slot.memory is not None)
        return cls(tuple(slots), node)

    @property
    def mac(self) -> int:
        return len(self.slots)

    def temporal_above(self, position: int) -> tuple[int, ...]:
        """Slots in time above a position, the nearest one first."""
        return tuple(s for s in reversed(range(position)) if not self.slots[s].is_spatial)

    def spatial(self, first: int, last: int) -> tuple[int, ...]:
        """Spatial slots from one position to another, outermost first."""
        return tuple(s for s in range(first, last) if self.slots[s].is_spatial)


Pattern = tuple[int, ...]
"""The memories (indices, outermost 0 first) that keep one tensor."""


def patterns(arch: Architecture, tensor: Tensor) -> tuple[Pattern, ...]:
    """All patterns of a tensor that the architecture allows."""
    options = {"must": (True,), "may": (True, False), "never": (False,)}
    flags = itertools.product(*(options[memory.keeps[tensor.role]] for memory in arch.memories))
    return tuple(tuple(i for i, kept in enumerate(chosen) if kept) for chosen in flags)


def moving_dims(problem: Problem) -> tuple[str, ...]:
    """Dimensions with more than one element; the others never have a loop."""
    return tuple(dim for dim, size in problem.dims if size > 1)


def windows(problem: Problem, tensor: Tensor) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Ranks of a tensor that sum several dimensions of more than one element, without those of one element."""
    ranks = (tuple((dim, c) for dim, c in rank if problem.sizes[dim] > 1) for rank in tensor.ranks)
    return tuple(rank for rank in ranks if len(rank) > 1)
