"""Where nodes of tensors that come from outside a part may stand among the loops above its split.

A node directly below a loop that does not move its tensor holds the same tile as one above that loop, and costs no
less. A node all of whose loops below move its tensor saves nothing over one below them, and holds more. So only those
depths are tried with a moving loop directly above and a standing one directly below; directly above the split, where
several branches share the node, or where the even space would bind it to others inside its branch.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...arch import Memory
from ...ir import Cascade, Operation
from ..space import Space
from .machine import Machine
from .parts import Part
from .sharing import SharedDim
from .upper import Chain


@dataclass(frozen=True)
class LoopAbove:
    """A loop above a split.

    dim    the dimension of every operation below
    trips  of it
    """

    dim: SharedDim
    trips: int


Loops = tuple[LoopAbove, ...]


@dataclass(frozen=True, eq=False)
class Placing:
    """The nodes above splits of one cascade on one machine."""

    cascade: Cascade
    machine: Machine
    space: Space

    def users(self, part: Part, tensor: str) -> list[Operation]:
        """The operations of a part that read or write a tensor, in the order in which they are done."""
        operations = (self.cascade.operation(name) for name in part.names)
        return [op for op in operations if any(t.name == tensor for t in op.problem.tensors)]

    def chains(self, part: Part, loops: Loops, tensor: str, home: str) -> list[Chain]:
        """All choices of nodes for a tensor, none among them first."""
        users = self.users(part, tensor)
        memories = [memory for memory in self.machine.upper if self._may_keep(memory, users, tensor, home)]
        depths = list(self._depths(part, loops, users, tensor))
        found: list[Chain] = [()]
        for count in range(1, len(memories) + 1):
            for chosen in itertools.combinations(memories, count):
                for places in itertools.combinations_with_replacement(depths, count):
                    found.append(tuple((m.name, depth) for m, depth in zip(chosen, places, strict=True)))
        return found

    def _may_keep(self, memory: Memory, users: Sequence[Operation], tensor: str, home: str) -> bool:
        inside = self.machine.depth[memory.name] > self.machine.depth[home]
        return inside and all(memory.keeps[user.problem.tensor(tensor).role] != "never" for user in users)

    def _depths(self, part: Part, loops: Loops, users: Sequence[Operation], tensor: str) -> Iterator[int]:
        first = users[0]
        moves = [loop.dim.of(first.name) in first.problem.tensor(tensor).dims for loop in loops]
        innermost = len(loops)
        for depth in range(innermost + 1):
            if depth and not moves[depth - 1]:
                continue
            if depth < innermost and moves[depth]:
                continue
            if depth == innermost and len(users) == 1 and (self.space == "uneven" or not loops):
                continue
            if len(users) == 1 or self._alike(part, loops[:depth], users, tensor):
                yield depth

    def _alike(self, part: Part, above: Loops, users: Sequence[Operation], tensor: str) -> bool:
        """Whether all operations ask a node for the same tile."""
        sizes = dict(zip(part.names, part.sizes, strict=True))
        asks = set()
        for user in users:
            own = dict(sizes[user.name])
            ask = []
            for i, rank in enumerate(user.problem.tensor(tensor).ranks):
                terms = [
                    (coefficient, own[dim], tuple(k for k, loop in enumerate(above) if loop.dim.of(user.name) == dim))
                    for dim, coefficient in rank
                    if own[dim] > 1
                ]
                ask.append((tuple(sorted(terms)), user.pad(tensor, i)))
            asks.add(tuple(ask))
        return len(asks) == 1
