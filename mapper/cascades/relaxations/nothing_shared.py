"""Cascades whose operations have nothing in common on chip: what all their trees weigh at least.

Where every intermediate passes through the outermost memory, since no other one may hold it both as what is written
and as what is read, and no tensor is read twice, a tree is no more than its operations one after the other. What it
does for one of them, with the loops and nodes on the way to its branch, is a mapping of that operation alone in which
every memory and tensor has its own boundary, as in the uneven space, and nodes that last take the room of one copy
(`with_single_copies`). So it weighs no less than the best of these.
"""

from __future__ import annotations

from collections import Counter

from ....ir import Cascade, Operation
from ...pareto.weights import Weights
from ..terms.branch import BranchQuestion, BranchSolver
from ..terms.upper_memories import UpperMemories


def shares_nothing(cascade: Cascade, memories: UpperMemories) -> bool:
    """Whether operations have no tensor in common in any memory but the outermost, though there are others."""
    if len(memories.upper) == 1 or any(operation.iterates or operation.generations for operation in cascade):
        return False
    reads = Counter(tensor.name for operation in cascade for tensor in operation.problem.operands)
    pass_far = all(memories.exchanging(cascade, tensor) == [memories.outermost] for tensor in cascade.intermediates)
    return pass_far and max(reads.values(), default=0) <= 1


def least_apart(cascade: Cascade, memories: UpperMemories, alone: BranchSolver, weights: Weights) -> float:
    """What the operations of such a cascade weigh at least, as far as that is soon known.

    alone  answers for single operations in the uneven space, on the machine with single copies
    """
    return sum(alone.lower(_whole(operation, memories), weights) for operation in cascade)


def _whole(operation: Operation, memories: UpperMemories) -> BranchQuestion:
    """All of an operation, with all room that there is."""
    homes = sorted((tensor.name, memories.outermost) for tensor in operation.problem.tensors)
    return BranchQuestion(operation.name, operation.problem.dims, tuple(homes), memories.room)
