"""What the branch of one operation weighs at least, by the best mapping of the space that is asked for.

A branch finds each tensor at the innermost node above it, its home. From the outermost memory, or from where a tensor
stays, all its words pass to a home further in once at least; nothing passes where another operation has brought them,
or where an intermediate is exchanged there. So the branch weighs no less than the least, over all homes, of what passes
and of the best mapping from there.

Below no loops a node above the branch holds a whole tensor while the operation works, and all of them have to have room
together. Below loops the branch is visited for each of their steps, with a tile of its own; mappings of fewer steps are
never worse: the loop over the others may stand outside all nodes of the branch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ....cost_models.cost import tensor_tile_words
from ....ir import Cascade, Operation, Tensor
from ..terms.branch import BranchQuestion, BranchSolver, Homes, Room
from ..terms.parts import less_room
from ..terms.upper_memories import UpperMemories
from ..terms.upper_nodes import Around, UpperNodes
from ..terms.weights import Weights
from .operation_bounds import OperationBounds
from .shared_steps import Steps, visits_of

PaidOptions = tuple[tuple[tuple[str, float], ...], ...]
"""By tensor of an operation, memories of which one is its home, with the pJ that pass there at least."""


@dataclass
class SingleBranches:
    """Branches of one cascade on one machine, by weights of energy alone on a machine that does not leak.

    solver  of operations in the space that is asked for
    near    what operations weigh at least with all tensors near
    """

    cascade: Cascade
    memories: UpperMemories
    solver: BranchSolver
    near: OperationBounds
    weights: Weights
    _nodes: UpperNodes = field(init=False)

    def __post_init__(self) -> None:
        self._nodes = UpperNodes(self.cascade, self.memories.arch)

    def options(self, operation: Operation, free: Sequence[Sequence[str]], passes: Sequence[int]) -> PaidOptions:
        """Homes of the tensors of an operation.

        free    by tensor, those where nothing passes
        passes  by tensor, how often it passes to one further in at least; 0: it does not
        """
        every = zip(operation.problem.tensors, free, passes, strict=True)
        return tuple(tuple(self._homes(operation, tensor, own, times)) for tensor, own, times in every)

    def _homes(
        self, operation: Operation, tensor: Tensor, free: Sequence[str], passes: int
    ) -> Iterator[tuple[str, float]]:
        for memory in free:
            yield memory, 0.0
        depth, dims = self.memories.depth, operation.problem.dims
        outermost = min(free, key=depth.__getitem__)
        for level in self.memories.upper[max(depth[memory] for memory in free) + 1 :] if passes else ():
            if level.keeps[tensor.role] != "never":
                chain, around = ((level.name, 0),), Around(outermost, 1)
                once = self._nodes.cost(operation.name, tensor.name, dims, (), chain, around)
                yield level.name, passes * once.energy_pj

    def alone(
        self, operation: Operation, options: PaidOptions, room: Room, stays: Mapping[str, str], outside: Collection[str]
    ) -> float:
        """What an operation weighs at least that is a branch below no loops.

        room     bits that what stays all the time leaves
        stays    by tensor, the memory of those that do
        outside  tensors that are no intermediates: nodes of those that are made here have room for partial sums
        """
        single = Cascade(operation.name, (operation,))
        output, waiting = operation.output.name, []
        for homes, passing_pj in self._chosen(operation, options):
            inner = [
                (name, memory)
                for name, memory in homes
                if memory != stays.get(name, self.memories.outermost) and self._is_seen_as_held(operation, name)
            ]
            sums = frozenset(node for node in inner if node[0] == output and output in outside)
            left = less_room(room, self.memories.bits_of_stays(single, inner, sums)[operation.name])
            if left is not None:
                waiting.append((homes, passing_pj, left))
        return self._least(operation, waiting, ())

    def _is_seen_as_held(self, operation: Operation, tensor: str) -> bool:
        """Whether a node of a tensor holds all that an operation sees of it: of an intermediate, no zeros around it."""
        producer = self.cascade.producers.get(tensor)
        words = [
            tensor_tile_words(user.problem.tensor(tensor), user.problem.sizes, self.memories.arch.footprint)
            for user in (operation, producer or operation)
        ]
        return words[0] <= words[1]

    def in_run(self, operation: Operation, options: PaidOptions, steps: Steps, room: Room) -> float:
        """What an operation weighs at least that is one of several below loops.

        steps  of loops, each of which is a visit
        room   bits that are left for it
        """
        waiting = [(homes, passing_pj, room) for homes, passing_pj in self._chosen(operation, options)]
        return self._least(operation, waiting, steps)

    def _chosen(self, operation: Operation, options: PaidOptions) -> Iterator[tuple[Homes, float]]:
        """All choices of homes, and the pJ that pass there."""
        names = [tensor.name for tensor in operation.problem.tensors]
        for chosen in itertools.product(*options):
            homes = zip(names, (memory for memory, _ in chosen), strict=True)
            yield tuple(sorted(homes)), sum(pj for _, pj in chosen)

    def _least(self, operation: Operation, choices: Sequence[tuple[Homes, float, Room]], steps: Steps) -> float:
        """The least of some choices of homes, with what passes there, and the room that is left."""
        weight = self.weights.energy
        quick = [weight * (self._near(operation, homes) + passing) for homes, passing, _ in choices]
        tile, visits, again = visits_of(operation, steps)
        least, every = math.inf, frozenset(operation.problem.dim_names)
        for bound, (homes, passing, room) in sorted(zip(quick, choices, strict=True)):
            if bound >= least:
                break
            fixed = weight * passing
            asked = BranchQuestion(operation.name, tile, homes, room, again, cut=every)
            branch = visits * self.solver.lower(asked, self.weights, (least - fixed) / visits)
            least = min(least, max(bound, fixed + branch))
        return least

    def _near(self, operation: Operation, homes: Homes) -> float:
        """pJ with all tensors near, and each word from its home once."""
        dims = operation.problem.dims
        further = (self.near.far(operation, tensor, dims, home)[0] for tensor, home in homes)
        return self.near.nearest_pj(operation.name) + sum(further)
