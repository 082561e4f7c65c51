"""Where nodes of tensors that come from outside a part may stand among the loops above its split.

A node directly below a loop that does not move its tensor holds the same tile as one above that loop, and costs no
less. A node all of whose loops below move its tensor saves nothing over one below them, and holds more. So only those
depths are tried with a moving loop directly above and a standing one directly below; directly above the split, where
several branches share the node, where the even space would bind it to others inside its branch, or where words that two
steps have in common remain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...arch import Memory
from ...cost_models.sets import tiles_overlap
from ...ir import Cascade, Operation, Role
from ..space import Space
from .parts import VisitedPart
from .sharing import SharedDim
from .upper_memories import UpperMemories
from .upper_nodes import Chain

Dims = tuple[SharedDim, ...]
"""Of the loops above a split, outermost first."""


@dataclass(frozen=True, eq=False)
class Placing:
    """The nodes above splits of one cascade on one machine.

    flat  whether trees have one split alone, of which every operation is a branch
    """

    cascade: Cascade
    memories: UpperMemories
    space: Space
    flat: bool = False
    _users: dict[tuple[tuple[str, ...], str], list[Operation]] = field(default_factory=dict)
    _known: dict[tuple[object, ...], list[Chain]] = field(default_factory=dict)

    def users(self, part: VisitedPart, tensor: str) -> list[Operation]:
        """The operations of a part that read or write a tensor: the one that writes it, then in the order in which they
        are done."""
        key = part.names, tensor
        if key not in self._users:
            operations = (self.cascade.operation(name) for name in part.names)
            found = [op for op in operations if any(t.name == tensor for t in op.problem.tensors)]
            self._users[key] = sorted(found, key=lambda op: op.output.name != tensor)  # first reads of a step before
        return self._users[key]

    def payers(self, part: VisitedPart, tensor: str) -> list[Operation]:
        """The operations that take a tensor from its home above a split for sure: all, where each has a branch of its
        own; else the first, since the others may have a node further in that it has filled."""
        users = self.users(part, tensor)
        return users if self.all_part_here(part) else users[:1]

    def exchangers(self, part: VisitedPart, tensor: str) -> list[Operation]:
        """The operations of a part that come for sure to where an intermediate without a home above is exchanged: that
        which writes it, if the part has it, and the first that reads it. Others may find it at a node that this one
        has filled. None, where there are generations."""
        users = self.users(part, tensor)
        if any(user.generations for user in users):
            return []
        return users[: 2 if users[0].output.name == tensor else 1]

    def all_part_here(self, part: VisitedPart) -> bool:
        """Whether each operation of a part is for sure a branch of its split."""
        return self.flat or len(part.names) == 2

    def chains(self, part: VisitedPart, loops: Dims, tensor: str, home: str, first: int = 0) -> list[Chain]:
        """All choices of nodes for a tensor, none among them first.

        first  loops that stand outside the home: of generations, with the loop that steps over them
        """
        key = part.names, part.sizes, part.over, loops, tensor, home, first
        if key not in self._known:
            self._known[key] = self._chains(part, loops, tensor, home, first)
        return self._known[key]

    def _chains(self, part: VisitedPart, loops: Dims, tensor: str, home: str, first: int) -> list[Chain]:
        users = self.users(part, tensor)
        memories = [memory for memory in self.memories.upper if self._may_keep(memory, users, tensor, home)]
        depths = list(self._depths(part, loops, users, tensor, first))
        found: list[Chain] = [()]
        for count in range(1, len(memories) + 1):
            for chosen in itertools.combinations(memories, count):
                if not self._passes_over(home, chosen, {user.problem.tensor(tensor).role for user in users}):
                    continue
                for places in itertools.combinations_with_replacement(depths, count):
                    found.append(tuple((m.name, depth) for m, depth in zip(chosen, places, strict=True)))
        return found

    def _passes_over(self, home: str, chosen: Sequence[Memory], roles: Iterable[Role]) -> bool:
        """Whether the memories between a home and the innermost of some others, but for these, may be passed over."""
        first, last = self.memories.depth[home] + 1, self.memories.depth[chosen[-1].name]
        between = [memory for memory in self.memories.upper[first:last] if memory not in chosen]
        return all(memory.keeps[role] != "must" for memory in between for role in roles)

    def may_exchange(self, memory: str, roles: Iterable[Role]) -> bool:
        """Whether an intermediate may pass at a node of a memory, in all its roles, and not further out."""
        return self.memories.may_hold(memory, roles)

    def _may_keep(self, memory: Memory, users: Sequence[Operation], tensor: str, home: str) -> bool:
        inside = self.memories.depth[memory.name] > self.memories.depth[home]
        return inside and all(memory.keeps[user.problem.tensor(tensor).role] != "never" for user in users)

    def _depths(
        self, part: VisitedPart, loops: Dims, users: Sequence[Operation], tensor: str, outermost: int
    ) -> Iterator[int]:
        first = users[0]
        moves = [loop.of(first.name) in first.problem.tensor(tensor).dims for loop in loops]
        innermost, slides = len(loops), bool(loops) and self._slides(first, tensor, loops[-1])
        if len(users) > 1 and any(user.name in loop.uneven for user in users for loop in loops):
            return  # what uneven visits share with another operation is not counted yet
        for depth in range(outermost, innermost + 1):
            if any(moves[i] and first.name in loops[i].uneven for i in range(depth)):
                return  # nor is a node that moves with them
            if depth > outermost and not moves[depth - 1]:
                continue
            if depth < innermost and moves[depth]:
                continue
            if depth == innermost and len(users) == 1 and self.space == "uneven" and not slides:
                continue
            if len(users) == 1 or self._alike(part, loops[:depth], users, tensor):
                yield depth

    def _slides(self, operation: Operation, tensor: str, loop: SharedDim) -> bool:
        """Whether a node between the innermost loop and a branch may fill less than its tile: what the step before has
        in common with it remains there. Inside the branch it does not: nothing goes on from visit to visit."""
        one, own = operation.problem.tensor(tensor), loop.of(operation.name)
        keeps = any(memory.halo != "none" for memory in self.memories.upper)
        return keeps and tiles_overlap(one, own, self.memories.arch.footprint)

    def _alike(self, part: VisitedPart, above: Dims, users: Sequence[Operation], tensor: str) -> bool:
        """Whether all operations ask a node for the same tile."""
        sizes = dict(zip(part.names, part.sizes, strict=True))
        names = enumerate(part.names)
        over = {(name, one.dim): one.loop.dims for place, name in names for one in part.over_of(place)}
        asks = set()
        for user in users:
            own = dict(sizes[user.name])
            ask = []
            for i, rank in enumerate(user.problem.tensor(tensor).ranks):
                terms = [
                    (
                        coefficient,
                        own[dim],
                        tuple(k for k, loop in enumerate(above) if loop.of(user.name) == dim),
                        over.get((user.name, dim), ()),
                    )
                    for dim, coefficient in rank
                    if own[dim] > 1
                ]
                ask.append((tuple(sorted(terms)), user.pad(tensor, i)))
            asks.add(tuple(ask))
        return len(asks) == 1
