"""Where nodes of tensors that come from outside a part may stand among the loops above its split.

A node directly below a loop that does not move its tensor holds the same tile as one above that loop, and costs no
less. But where a branch writes an intermediate that is read outside the part, a node directly above the split takes
room in that branch alone, to the last that reads it, and one above the loop in all branches. The same may be had inside
the branch, where nodes have depths of their own, unless the tile stays from step to step (`across_levels`).

A node directly above a loop that moves its tensor saves nothing over one below it, and holds more: if steps have no
words in common (else a tile that is left stays for whichever step comes back to it, and a loop in between takes away
what the one outside it could have kept), if transfers are not rounded up to blocks, and if all operations that use the
node may have it further in.

So only those depths are tried with a moving loop directly above and a standing one directly below; directly above the
split, where several branches share the node, where it is let go sooner, or where the even space would bind it to others
inside its branch; and, of what is excepted above, all below a moving loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ....arch import Memory
from ....cost_models.cascades import Ask, includes, reads_plainly
from ....cost_models.sets import tiles_overlap
from ....ir import Cascade, Operation, Role
from ...kernel.remembered import remembered_by
from ...space import Space
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

    @remembered_by(lambda _, part, tensor: (part.names, tensor))
    def users(self, part: VisitedPart, tensor: str) -> list[Operation]:
        """The operations of a part that read or write a tensor: the one that writes it, then in the order in which they
        are done."""
        operations = (self.cascade.operation(name) for name in part.names)
        found = [op for op in operations if any(t.name == tensor for t in op.problem.tensors)]
        return sorted(found, key=lambda op: op.output.name != tensor)  # first reads of a step before

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

    def further_readers(self, writer: Operation, readers: Sequence[Operation]) -> Iterator[frozenset[str]]:
        """Of some readers of what an operation writes, all choices of those that find it at a node further in than some
        other one, which then holds no zeros for them; none, and those alone for whom a node may have to hold more than
        is written."""
        tensor = writer.output.name
        extents = self.cascade.extents(tensor)
        wide = [one.name for one in readers if not reads_plainly(one, tensor, extents)]
        for count in reversed(range(len(wide) + 1)):
            yield from map(frozenset, itertools.combinations(wide, count))

    def all_part_here(self, part: VisitedPart) -> bool:
        """Whether each operation of a part is for sure a branch of its split."""
        return self.flat or len(part.names) == 2

    def _around(self, part: VisitedPart, loops: Dims, tensor: str, home: str, first: int = 0) -> Hashable:
        """What choices of nodes depend on: of a tensor that a single operation uses not on how large tiles are."""
        is_shared = len(self.users(part, tensor)) > 1
        return part.names, (part.sizes, part.over, part.apart) if is_shared else (), loops, tensor, home, first

    @remembered_by(_around)
    def chains(self, part: VisitedPart, loops: Dims, tensor: str, home: str, first: int = 0) -> list[Chain]:
        """All choices of nodes for a tensor, none among them first.

        first  loops that stand outside the home: of generations, with the loop that steps over them
        """
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

    def _may_keep(self, memory: Memory, users: Sequence[Operation], tensor: str, home: str) -> bool:
        inside = self.memories.depth[memory.name] > self.memories.depth[home]
        return inside and all(memory.keeps[user.problem.tensor(tensor).role] != "never" for user in users)

    def _depths(
        self, part: VisitedPart, loops: Dims, users: Sequence[Operation], tensor: str, outermost: int
    ) -> Iterator[int]:
        first, innermost = users[0], len(loops)
        moves = [loop.of(first.name) in first.problem.tensor(tensor).dims for loop in loops]
        slides = [self._slides(user, tensor, loop) for loop in loops for user in users]
        overlap = [any(slides[: (i + 1) * len(users)]) for i in range(innermost)]
        if len(users) > 1 and any(user.name in loop.uneven for user in users for loop in loops):
            return  # what uneven visits share with another operation is not counted yet
        possible = [self._may_stand(part, loops[:depth], users, tensor, moves) for depth in range(innermost + 1)]
        for depth in range(outermost, innermost + 1):
            stands = depth > outermost and not moves[depth - 1]
            if not possible[depth] or (stands and not (depth == innermost and self._is_let_go(part, users, tensor))):
                continue
            if depth < innermost and moves[depth] and possible[depth + 1] and not (overlap[depth] or self._in_blocks):
                continue
            inside = depth == innermost and len(users) == 1 and self.space == "uneven" and not any(overlap[-1:])
            if inside and not (stands and self.memories.arch.reuse == "across_levels"):
                continue
            yield depth

    def _is_let_go(self, part: VisitedPart, users: Sequence[Operation], tensor: str) -> bool:
        """Whether a node directly above the split takes room in some of its branches alone."""
        writes = users[0].output.name == tensor and tensor in self.cascade.intermediates
        return writes and len(part.names) > 1

    def _may_stand(
        self, part: VisitedPart, above: Dims, users: Sequence[Operation], tensor: str, moves: Sequence[bool]
    ) -> bool:
        """Whether a node of a tensor may stand below some loops."""
        if any(moving and users[0].name in loop.uneven for moving, loop in zip(moves, above, strict=False)):
            return False  # a node that moves with uneven visits is not counted yet
        return self.widest(part, above, users, tensor) is not None

    @property
    def _in_blocks(self) -> bool:
        return any(memory.block_bits for memory in self.memories.upper)

    def _slides(self, operation: Operation, tensor: str, loop: SharedDim) -> bool:
        """Whether steps of a loop may have words of a tensor in common, or tiles count gaps."""
        return tiles_overlap(operation.problem.tensor(tensor), loop.of(operation.name), self.memories.arch.footprint)

    def widest(
        self, part: VisitedPart, above: Sequence[SharedDim], users: Sequence[Operation], tensor: str
    ) -> Operation | None:
        """Of the operations that use a node below some loops, the one that asks it for all that the others ask for, by
        which it is counted: that which writes the tensor, if it is among them, or else the first of its kind."""
        if len(users) == 1:
            return users[0]
        if part.apart & {(tensor, one.name, other.name) for one, other in itertools.combinations(users, 2)}:
            return None
        asks = [self._asks(part, above, user, tensor) for user in users]
        if len(set(asks)) == 1:
            return users[0]
        footprint = self.memories.arch.footprint
        if users[0].output.name == tensor:
            # What is written, and no operation reads, is not held.
            alike = not any(user.generations for user in users) and all(_cut_alike(asks[0], ask) for ask in asks[1:])
            return users[0] if alike and any(includes(ask, asks[0], footprint) for ask in asks[1:]) else None
        for user, ask in zip(users, asks, strict=True):
            if all(includes(ask, other, footprint) for other in asks):
                return user
        return None

    @remembered_by(lambda _, part, loops: (part.names, loops))
    def apart(self, part: VisitedPart, loops: Dims) -> frozenset[tuple[str, str, str]]:
        """Pairs of operations that loops above a split let see different parts of a tensor that both use, each pair in
        the order of `users`."""
        found = set()
        tensors = {t.name for name in part.names for t in self.cascade.operation(name).problem.tensors}
        for tensor in tensors if loops else ():
            for one, other in itertools.combinations(self.users(part, tensor), 2):
                if self._cut_by(loops, one, tensor) != self._cut_by(loops, other, tensor):
                    found.add((tensor, one.name, other.name))
        return frozenset(found)

    @staticmethod
    def _cut_by(loops: Sequence[SharedDim], user: Operation, tensor: str) -> list[list[int]]:
        """By rank of a tensor, the loops that step along it."""
        ranks = [{dim for dim, _ in rank} for rank in user.problem.tensor(tensor).ranks]
        return [[k for k, loop in enumerate(loops) if loop.of(user.name) in dims] for dims in ranks]

    def _asks(self, part: VisitedPart, above: Sequence[SharedDim], user: Operation, tensor: str) -> tuple[Ask, ...]:
        """What an operation asks a node for: by rank, as `includes` compares it. Loops outside the part, and visits of
        which the last is shorter, are among the loops above."""
        place = part.names.index(user.name)
        own, whole = dict(part.sizes[place]), user.problem.sizes
        over: dict[str, tuple[Hashable, ...]] = {one.dim: one.loop.dims for one in part.over_of(place)}
        found = []
        for i, rank in enumerate(user.problem.tensor(tensor).ranks):
            terms = []
            for dim, coefficient in rank:
                loops: list[Hashable] = [k for k, loop in enumerate(above) if loop.of(user.name) == dim]
                loops += [*over.get(dim, ()), *(["further out"] if own[dim] < whole[dim] else [])]
                terms += [(coefficient, own[dim], tuple(loops))] if whole[dim] > 1 else []
            found.append((tuple(sorted(terms, key=str)), user.pad(tensor, i)[0]))
        return tuple(found)


def _cut_alike(writer: tuple[Ask, ...], reader: tuple[Ask, ...]) -> bool:
    """Whether loops cut what an operation writes, and another one reads, along equal ranks alone; along others zeros
    may be around it."""
    different = [(mine, yours) for mine, yours in zip(writer, reader, strict=True) if mine != yours]
    return not any(loops for asks in different for terms, _ in asks for _, _, loops in terms)
