"""Which memories exchange the intermediates of a split, and what room they take while they are live."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ....cost_models.cascades import reads_all, words_exchanged
from ....ir import Operation
from ...kernel.remembered import remembered
from .branch import Room
from .parts import HeldSums, VisitedPart, less_room, less_rooms, stepped_dims
from .tree_rules import TreeRules


class Passed(NamedTuple):
    """An intermediate that a memory exchanges.

    taken    by operation, the bits that it takes while it works
    further  readers in the branch that writes it, that find it at a node further in: this one has no zeros for them
    sums     that it holds, with room for them while it is written; None: it is taken to be finished
    """

    tensor: str
    memory: str
    taken: tuple[Room, ...]
    further: frozenset[str] = frozenset()
    sums: HeldSums | None = None


Exchange = tuple[Passed, ...]
"""Intermediates that are live."""


@dataclass(frozen=True, eq=False)
class Exchanges(TreeRules):
    """Exchanges at the splits of one cascade on one machine."""

    @remembered
    def choices(self, inside: VisitedPart, start: int, end: int, live: Exchange) -> list[Exchange]:
        """Choices of memories for the intermediates that a branch writes for others: with what is live already."""
        homes = dict(inside.homes)
        names = inside.names[start:end]
        options = []
        for place, name in enumerate(names, start):
            operation = self.cascade.operation(name)
            tensor = operation.output.name
            later = inside.names[end:]
            readers = frozenset(one.name for one in self.cascade.consumers[tensor] if one.name in later)
            if tensor in homes or not readers:
                continue
            near = {user.name for user in self.placing.users(inside, tensor) if user.name in names} - {name}
            possible = [
                self._passed(inside, place, operation, memory.name, further)
                for memory in self.memories.upper
                if self._may_exchange(memory.name, name, readers)
                for further in self._further(operation, near, memory.name)
            ]
            stepped = stepped_dims(operation, inside.sizes[place])
            tile = dict(inside.sizes[place])
            allowed = partial(self.constraints.allow_exchange, tensor, stepped=stepped, tile=tile)
            options.append([one for one in possible if allowed(one.memory, _most_bits(one.taken))])
            if self.beam is not None:  # of all memories the nearest that has room alone
                options[-1] = self._nearest_of(inside, live, options[-1])
        return [(*live, *chosen) for chosen in itertools.product(*options)]

    def _nearest_of(self, inside: VisitedPart, live: Exchange, options: list[Passed]) -> list[Passed]:
        """Of all choices for one intermediate that in the nearest memory that has room for it beside what is live."""
        for option in reversed(options):
            taken = tuple(
                tuple(bits for one in (*live, option) for bits in one.taken[i]) for i in range(len(inside.names))
            )
            if less_rooms(inside.room, taken) is not None:
                return [option]
        return options[:1]

    def together(self, inside: VisitedPart, start: int = 0, live: Exchange = ()) -> Iterator[Exchange]:
        """Choices of memories for all intermediates from one operation on that have room for them, where each operation
        is a branch of its own."""
        if start == len(inside.names):
            yield ()
            return
        for exchange in self.choices(inside, start, start + 1, live):
            held = tuple(bits for one in exchange for bits in one.taken[start])
            if less_room(inside.room[start], held) is not None:
                for rest in self.together(inside, start + 1, self.live_after(inside, start + 1, exchange)):
                    yield (*exchange[len(live) :], *rest)

    def live_after(self, inside: VisitedPart, end: int, exchange: Exchange) -> Exchange:
        """Which intermediates are live for the branches from one operation on."""
        needed = {t.name for name in inside.names[end:] for t in self.cascade.operation(name).problem.operands}
        return tuple(each for each in exchange if each.tensor in needed)

    @remembered
    def _may_exchange(self, memory: str, writer: str, readers: frozenset[str]) -> bool:
        """Whether a memory may exchange what an operation writes with some readers."""
        if memory == self.memories.outermost:
            return True
        operation = self.cascade.operation(writer)
        tensor, users = operation.output.name, [self.cascade.operation(name) for name in readers]
        roles = {operation.output.role, *(user.problem.tensor(tensor).role for user in users)}
        extents = self.cascade.extents(tensor)
        is_whole = any(reads_all(user, tensor, extents) for user in users)  # what is read in part is not counted yet
        return self.fuses and is_whole and self.memories.may_hold(memory, roles)

    def _further(self, operation: Operation, near: set[str], memory: str) -> Iterator[frozenset[str]]:
        """Of some readers in the branch that writes an intermediate, all choices of those that find it at a node
        further in than that of a memory."""
        if memory in (self.memories.outermost, self.memories.nearest):
            yield frozenset()
            return
        yield from self.placing.further_readers(operation, [self.cascade.operation(name) for name in sorted(near)])

    def _passed(
        self, inside: VisitedPart, place: int, operation: Operation, memory: str, further: frozenset[str]
    ) -> Passed:
        """What an operation writes, where a memory exchanges it. It may take the room of partial sums while it is
        written, and while others work of which loops go on with the sums.

        further  readers that find it further in
        """
        tensor = operation.output.name
        if memory == self.memories.outermost:
            return Passed(tensor, memory, ((),) * len(inside.names), further)
        users = [user for user in self.placing.users(inside, tensor) if user.name not in further]
        readers = [user for user in users if user is not operation]
        tile, footprint = dict(inside.sizes[place]), self.memories.arch.footprint
        words = words_exchanged(operation, readers, tile, frozenset(), footprint)
        words *= self.memories.copies(memory, inside.steps and self.memories.arch.overlap == "across_operations")
        users = self.placing.users(inside, tensor)
        iterates = operation.iterates is not None and tile[operation.iterates] > 1 and memory == self.memories.nearest
        is_wide, found = (tensor, memory) in self.sums.wide, list[Room]()
        for name in inside.names:
            width = self.memories.width(operation, tensor, (is_wide or iterates) and name == operation.name)
            found.append(((memory, self.memories.part_for(name, users, tensor, memory), words * width),))
        sums = None
        if is_wide and operation.iterates is None:
            more = self.memories.wider_by(operation, users, inside.names, memory, words)
            sums = HeldSums(operation.name, tensor, more)
        return Passed(tensor, memory, tuple(found), further, sums)


def _most_bits(rooms: tuple[Room, ...]) -> int:
    """The most that an intermediate takes while any operation works."""
    return max((bits for room in rooms for _, _, bits in room), default=0)
