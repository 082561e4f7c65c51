"""Where generations of tensors stand that operations iterate, and which parts of a tree step over them.

An iterative dimension is one shared loop, of as many trips as it has steps, above a split of all who write or read its
generations. A tensor whose last generation is read outside that loop passes there as other intermediates do, and is a
tensor from outside for what is below. One that is read inside alone stands directly above the loop: further out it
would hold more, and move no fewer words. Nodes further in are those of any tensor from outside (`node_choices.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...cost_models.cascades import words_exchanged
from ...ir import Cascade, Operation
from .branch import Room
from .parts import VisitedPart, stepped_dims
from .placing import Placing
from .sharing import LoopAbove, SharedDim
from .tree_constraints import TreeConstraints
from .upper_memories import UpperMemories
from .upper_nodes import Chain


@dataclass(frozen=True)
class Iterated:
    """A tensor of generations.

    producer  the operation that makes one generation after the other
    steps     by operation that writes or reads one of a step, the dimension that counts the steps
    """

    producer: Operation
    steps: dict[str, str]

    @property
    def tensor(self) -> str:
        """Its name."""
        return self.producer.output.name


@dataclass(frozen=True, eq=False)
class Generations:
    """The iterations of one cascade on one machine.

    constraints  that say where intermediates may pass, and how much of them
    """

    cascade: Cascade
    memories: UpperMemories
    placing: Placing
    constraints: TreeConstraints

    @cached_property
    def iterated(self) -> tuple[Iterated, ...]:
        """All tensors of generations."""
        return tuple(
            Iterated(operation, _steps(self.cascade, operation)) for operation in self.cascade if operation.iterates
        )

    # ---- which loops and branches --------------------------------------------------------------------------

    def is_stepped(self, dim: SharedDim) -> bool:
        """Whether a loop steps from one generation to the next: then it has as many trips as there are steps."""
        return any(one.steps.get(name) == own for one in self.iterated for name, own in dim.dims)

    def allows(self, dim: SharedDim) -> bool:
        """Whether a loop over a dimension is searched: not one along windows where generations are used."""
        return not any(self.cascade.operation(name).generations for name in dim.uneven)

    def may_be_branch(self, inside: VisitedPart, start: int, end: int) -> bool:
        """Whether some operations may be one branch of a split: steps that are still to be made are made by all of an
        iteration together, in a branch of several."""
        for places in self._open(inside):
            within = [start <= place < end for place in places]
            if any(within) and (end - start == 1 or not all(within)):
                return False
        return True

    def must_step(self, part: VisitedPart) -> bool:
        """Whether a loop above the split of a part has to step over generations: no branch has all who use them."""
        reached = 0
        for first, last in sorted((min(places), max(places)) for places in self._open(part)):
            if first > reached:
                return False
            reached = max(reached, last)
        return reached == len(part.names) - 1 and reached > 0

    def _open(self, part: VisitedPart) -> list[list[int]]:
        """Where in a part those stand who use the generations of a tensor, of each whose steps are still to be made."""
        found = []
        for one in self.iterated:
            places = [i for i, name in enumerate(part.names) if name in one.steps]
            if any(dict(part.sizes[i])[one.steps[part.names[i]]] > 1 for i in places):
                found.append(places)
        return found

    # ---- where they stand ----------------------------------------------------------------------------------

    def ways(self, part: VisitedPart, loops: tuple[LoopAbove, ...]) -> Iterator[tuple[LoopAbove, ...]]:
        """Some loops, with all choices of memories for the generations that none but the operations below them use."""
        homes = dict(part.homes)
        options: list[list[tuple[int, str, str]]] = []
        for one in self.iterated:
            depth = _depth(one, part.names, loops)
            if depth is not None and one.tensor not in homes:
                options.append([(depth, one.tensor, memory) for memory in self._memories(part, loops, one, depth)])
        for chosen in itertools.product(*options):
            yield tuple(
                replace(loop, generations=tuple((tensor, memory) for at, tensor, memory in chosen if at == depth))
                for depth, loop in enumerate(loops)
            )

    def _memories(self, part: VisitedPart, loops: Sequence[LoopAbove], one: Iterated, depth: int) -> Iterator[str]:
        users = self.placing.users(part, one.tensor)
        roles = {user.problem.tensor(one.tensor).role for user in users}
        stepped = stepped_dims(one.producer, part.sizes[part.names.index(one.producer.name)])
        stepped |= {loop.dim.of(one.producer.name) for loop in loops[:depth]}
        for memory in (level.name for level in self.memories.upper):
            if memory == self.memories.outermost or self.placing.may_exchange(memory, roles):
                held = self._held(part, loops, one, memory, depth)
                most = max((bits for room in held for _, _, bits in room), default=0)
                if self.constraints.allow_exchange(one.tensor, memory, most, stepped):
                    yield memory

    def rooms(self, part: VisitedPart, loops: Sequence[LoopAbove]) -> tuple[Room, ...]:
        """By operation, the bits that generations take that stand above some loops."""
        found: list[Room] = [()] * len(part.names)
        by_name = {one.tensor: one for one in self.iterated}
        for depth, loop in enumerate(loops):
            for tensor, memory in loop.generations:
                taken = self._held(part, loops, by_name[tensor], memory, depth)
                found = [(*own, *more) for own, more in zip(found, taken, strict=True)]
        return tuple(found)

    def _held(
        self, part: VisitedPart, loops: Sequence[LoopAbove], one: Iterated, memory: str, depth: int
    ) -> tuple[Room, ...]:
        """By operation, the bits of a generation directly above its loop: in all branches below, since the next step
        finds it in use; as partial sums where the next one is made."""
        if memory == self.memories.outermost:
            return ((),) * len(part.names)
        operation = one.producer
        trips = {loop.dim.of(operation.name): loop.trips for loop in loops[:depth]}
        tile = {dim: size // trips.get(dim, 1) for dim, size in part.sizes[part.names.index(operation.name)]}
        users = self.placing.users(part, one.tensor)
        readers = [user for user in users if user is not operation]
        words = words_exchanged(operation, readers, tile, frozenset(), self.memories.arch.footprint)
        moves = part.steps or any(
            self.memories.arch.loop_moves(loop.dim.of(operation.name), operation.output) for loop in loops[:depth]
        )
        words *= self.memories.copies(memory, moves and self.memories.arch.overlap == "across_operations")
        found: list[Room] = []
        for name in part.names:
            width = self.memories.width(operation, one.tensor, name == operation.name)
            role = self.memories.part_for(name, users, one.tensor, memory)
            found.append(((memory, role, words * width),))
        return tuple(found)

    def is_below(self, loops: Sequence[LoopAbove], tensor: str, chain: Chain) -> bool:
        """Whether nodes of generations that stand above one of some loops stand below that one."""
        homes = [depth for depth, loop in enumerate(loops) if tensor in dict(loop.generations)]
        return all(at > depth for depth in homes for _, at in chain)


def homes_of(loops: Sequence[LoopAbove]) -> dict[str, str]:
    """By tensor of generations, the memory in which it stands above one of some loops."""
    return {tensor: memory for loop in loops for tensor, memory in loop.generations}


def _steps(cascade: Cascade, producer: Operation) -> dict[str, str]:
    """By operation that uses a generation of a step, its dimension."""
    found = {}
    for operation in (producer, *cascade.consumers[producer.output.name]):
        generation = operation.generation(producer.output.name)
        if generation is not None and generation.dim is not None:
            found[operation.name] = generation.dim
    return found


def _depth(one: Iterated, names: Sequence[str], loops: Sequence[LoopAbove]) -> int | None:
    """How many of some loops stand outside the one that steps over the generations of a tensor, if one does."""
    name = one.producer.name
    if name not in names:
        return None
    return next((i for i, loop in enumerate(loops) if loop.dim.of(name) == one.steps[name]), None)
