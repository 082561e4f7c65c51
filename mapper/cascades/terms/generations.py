"""Where generations of tensors stand that operations iterate, and which parts of a tree step over them.

An iterative dimension is one shared loop, of as many trips as it has steps, above a split of all who write or read its
generations. A tensor whose last generation is read outside that loop passes there as other intermediates do, and is a
tensor from outside for what is below. One that is read inside alone stands directly above the loop: further out it
would hold more, and move no fewer words. Nodes further in are those of any tensor from outside
(`space/node_choices.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ....cost_models.cascades import words_exchanged
from ....ir import Cascade, Operation
from ...kernel.remembered import remembered
from .branch import Room, Sizes
from .parts import VisitedPart, stepped_dims
from .sharing import LoopAbove, SharedDim, shared_dims
from .tree_rules import TreeRules
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
class Generations(TreeRules):
    """The iterations of one cascade on one machine."""

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

    def steps_together(self, inside: VisitedPart, start: int, end: int) -> bool:
        """Whether some operations are all that can make the steps together that are still to be made in a part."""
        places = [place for places in self._open(inside) for place in places]
        if not places:
            return False
        return self._group(inside.names, min(places), max(places) + 1) == (start, end)

    @remembered
    def _group(self, names: tuple[str, ...], first: int, last: int) -> tuple[int, int] | None:
        """The most neighbours among some operations, with all from one to another, that a loop can step together."""
        intervals = ((a, b) for a in range(first + 1) for b in range(last, len(names) + 1) if 1 < b - a < len(names))
        for a, b in sorted(intervals, key=lambda one: one[0] - one[1]):
            if any(self.is_stepped(dim) for dim in shared_dims(self.cascade, names[a:b])):
                return a, b
        return None

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
        if not self.iterated:
            yield loops
            return
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
        above = {loop.dim.of(one.producer.name): loop for loop in loops[:depth]}
        stepped |= set(above)
        sizes = part.sizes[part.names.index(one.producer.name)]
        tile = {dim: above[dim].tile_of(size) if dim in above else size for dim, size in sizes}
        for memory in (level.name for level in self.memories.upper):
            if memory == self.memories.outermost or self.memories.may_hold(memory, roles):
                bits = self._words(part, loops, one, memory, depth) * self.memories.width(
                    one.producer, one.tensor, False
                )
                taken = 0 if memory == self.memories.outermost else bits
                if self.constraints.allow_exchange(one.tensor, memory, taken, stepped, tile):
                    yield memory

    # ---- what they take ------------------------------------------------------------------------------------

    def held(
        self, part: VisitedPart, loops: Sequence[LoopAbove], tensor: str, depth: int, is_wide: bool
    ) -> tuple[Room, ...]:
        """By operation, the bits of a generation directly above its loop: in all branches below, since the next step
        finds it in use.

        depth    of the loop
        is_wide  whether they are those of partial sums where the next generation is made
        """
        one, memory = self._of(tensor), dict(loops[depth].generations)[tensor]
        if memory == self.memories.outermost:
            return ((),) * len(part.names)
        users, words = self.placing.users(part, tensor), self._words(part, loops, one, memory, depth)
        found: list[Room] = []
        for name in part.names:
            width = self.memories.width(one.producer, tensor, is_wide and name == one.producer.name)
            found.append(((memory, self.memories.part_for(name, users, tensor, memory), words * width),))
        return tuple(found)

    def _words(self, part: VisitedPart, loops: Sequence[LoopAbove], one: Iterated, memory: str, depth: int) -> int:
        """Words of a generation that stand directly above its loop, with all copies."""
        operation = one.producer
        above = {loop.dim.of(operation.name): loop for loop in loops[:depth]}
        sizes = part.sizes[part.names.index(operation.name)]
        tile = {dim: above[dim].tile_of(size) if dim in above else size for dim, size in sizes}
        readers = [user for user in self.placing.users(part, one.tensor) if user is not operation]
        words = words_exchanged(operation, readers, tile, frozenset(), self.memories.arch.footprint)
        moves = part.steps or any(self.memories.arch.loop_moves(dim, operation.output) for dim in above)
        return words * self.memories.copies(memory, moves and self.memories.arch.overlap == "across_operations")

    def are_stepped(self, operation: Operation, sizes: Sizes) -> bool:
        """Whether loops above a visit of some sizes step over the generations that an operation makes."""
        return operation.iterates is not None and dict(sizes)[operation.iterates] == 1

    def are_wide(
        self, part: VisitedPart, loops: Sequence[LoopAbove], tensor: str, memory: str, chain: Chain, number: int
    ) -> bool:
        """Whether a node of a tensor that branches pass to each other takes the room of partial sums where it is made:
        of generations, if more than one of a word come there. What is not known before the branches are, is as
        `sums` says.

        memory  in which it is
        number  of the node in its chain, from 1; 0 for one further out
        """
        one = next((one for one in self.iterated if one.tensor == tensor), None)
        if one is None:
            return (tensor, memory) in self.sums.wide
        name = one.producer.name
        step = _depth(one, part.names, loops)
        outside = self.are_stepped(one.producer, part.sizes[part.names.index(name)])
        if number == len(chain):
            is_nearest = bool(chain) and memory == self.memories.nearest
            return outside or step is not None or (tensor, memory) in self.sums.wide or is_nearest
        if outside or step is None:
            return outside
        between = loops[step : chain[number][1]]
        return any(self.memories.arch.loop_moves(loop.dim.of(name), one.producer.output) for loop in between)

    def _of(self, tensor: str) -> Iterated:
        return next(one for one in self.iterated if one.tensor == tensor)


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
