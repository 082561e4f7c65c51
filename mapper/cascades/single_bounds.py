"""What a cascade weighs at least by what each of its operations weighs on its own: a bound that no search over trees is
needed for.

What a tree does for one operation, with the nodes and loops on the way to its branch, is a mapping of that operation
alone, in which every memory and tensor has its own boundary, as in the uneven space. So the operation costs there no
less than at its best, with the whole machine to itself and with each tensor from the memory that it comes from:

- one from outside from the outermost memory, or from where it stays; but where an operation before it reads the same
  tensor, a node that both share may have been filled already, and then it comes from any memory that may keep it;
- an intermediate from one of the memories that may exchange it, or the outermost one.

Where shared loops may step along what readers see through windows, visits are uneven: then of the operation with as
many positions as visits are parts of, its part.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...ir import Cascade, Operation, ProblemError, Tensor, ceil_div
from .branch import BranchQuestion, BranchSolver, Homes, Sizes
from .equal import form_of
from .operation_orders import MOST_ORDERS, orders
from .question import CascadeQuestion
from .tree_search import Fuse
from .upper_memories import UpperMemories
from .weights import Weights
from .windowed import Windowed, windowed_dims

SingleLeast = dict[object, float]
"""By weights, form of an operation, homes, room and the windows along which its visits may be uneven: what it weighs at
least on its own."""


def is_bounded_by_singles(question: CascadeQuestion, memories: UpperMemories, weights: Weights) -> bool:
    """Whether bounds are as quick as they should be: of energy alone, where one choice of homes is best."""
    timed = not weights.energy_only or question.arch.total_leakage_pj_per_cycle > 0
    return not timed and memories.nearer_is_cheaper and question.tiling == "perfect"


@dataclass
class SingleBounds:
    """Bounds of one cascade on one machine, by weights of energy alone on a machine that does not leak.

    solver  of operations in the uneven space
    fuse    of the trees that are bounded, as of `TreeSearch`
    stays   (tensor, memory) of tensors from outside that lie there whole
    known   what is known of single operations; more is noted there
    """

    cascade: Cascade
    memories: UpperMemories
    solver: BranchSolver
    weights: Weights
    fuse: Fuse
    stays: dict[str, str]
    known: SingleLeast = field(default_factory=dict)

    def of_all(self) -> float:
        """What the whole cascade weighs at least, in any order."""
        return min(map(self.of, itertools.islice(orders(self.cascade), MOST_ORDERS)), default=math.inf)

    def of(self, names: Sequence[str]) -> float:
        """What the whole cascade weighs at least, its operations done in an order."""
        if any(operation.iterates or operation.generations for operation in self.cascade):
            return 0.0
        least, read = 0.0, set[str]()
        for name in names:
            operation = self.cascade.operation(name)
            least += self._least(operation, read)
            read |= {tensor.name for tensor in operation.problem.operands}
        return least

    def _least(self, operation: Operation, read: set[str]) -> float:
        """What one operation weighs at least.

        read  tensors that operations before it read
        """
        options = [self._possible_homes(tensor, read) for tensor in operation.problem.tensors]
        windows = list(windowed_dims(self.cascade, operation)) if self.fuse == "all" else []
        dims = operation.problem.dim_names
        uneven = tuple((dims.index(one.dim), one.extra, tuple(sorted(one.steps))) for one in windows)
        room = self.memories.room
        key = self.weights, form_of(Cascade(operation.name, (operation,))), tuple(map(tuple, options)), room, uneven
        if key not in self.known:
            self.known[key] = self._least_of_new(operation, options, windows)
        return self.known[key]

    def _least_of_new(self, operation: Operation, options: list[list[str]], windows: list[Windowed]) -> float:
        least = math.inf
        whole = operation.problem.dims
        for dims in (whole, *_covering_sizes(whole, windows)):
            part = math.prod(n for _, n in whole) / math.prod(n for _, n in dims)
            for chosen in itertools.product(*options):
                homes = zip((tensor.name for tensor in operation.problem.tensors), chosen, strict=True)
                try:
                    found = self.solver.lower(
                        self._question(operation, dims, tuple(sorted(homes))), self.weights, least / part
                    )
                except ProblemError:  # more positions than a search counts
                    return 0.0
                least = min(least, part * found)
        return least

    def _question(self, operation: Operation, dims: Sizes, homes: Homes) -> BranchQuestion:
        return BranchQuestion(operation.name, dims, homes, self.memories.room)

    def _possible_homes(self, tensor: Tensor, read: set[str]) -> list[str]:
        """Memories that a tensor may come from or go to, of which one is cheapest; the innermost alone, where nearer
        ones are cheaper."""
        name, upper = tensor.name, self.memories.upper
        home = self.stays.get(name, self.memories.outermost)
        found = {home}
        if name in self.cascade.intermediates and self.fuse != "none":
            found |= set(self.memories.exchanging(self.cascade, name))
        if name in read and self.fuse != "none":
            found |= {memory.name for memory in upper if memory.keeps[tensor.role] != "never"}
            inside = self.memories.depth[home]
            found = {memory for memory in found if self.memories.depth[memory] >= inside}
        ordered = sorted(found, key=self.memories.depth.__getitem__)
        return ordered[-1:] if self.memories.nearer_is_cheaper else ordered


def _covering_sizes(whole: Sizes, windows: Sequence[Windowed]) -> Iterator[Sizes]:
    """Sizes of an operation of which all uneven visits are parts."""
    sizes = dict(whole)
    for one in windows:
        found = set()
        for step in one.steps:
            for times in range(1, ceil_div(step + one.extra, step) + 1):
                found.add(math.lcm(times * step, sizes[one.dim]))
        for covered in sorted(n for n in found if n != sizes[one.dim]):
            yield tuple((dim, covered if dim == one.dim else n) for dim, n in whole)
