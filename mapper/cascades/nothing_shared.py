"""Cascades whose operations have nothing in common on chip: what all their trees weigh at least.

Where every intermediate passes through the outermost memory, since no other one may hold it both as what is written and
as what is read, and no tensor is read twice, a tree is no more than its operations one after the other.
What it does for one of them, with the loops and nodes on the way to its branch, is a mapping of that operation alone in
which every memory and tensor has its own boundary, as in the uneven space. So it weighs no less than the best of these.
"""

from __future__ import annotations

from collections import Counter

from ...ir import Cascade, Operation
from .branch import BranchQuestion
from .oracle import ExactBranches
from .upper_memories import UpperMemories
from .weights import Weights


def shares_nothing(cascade: Cascade, memories: UpperMemories) -> bool:
    """Whether operations have no tensor in common in any memory but the outermost."""
    if any(operation.iterates or operation.generations for operation in cascade):
        return False
    reads = Counter(tensor.name for operation in cascade for tensor in operation.problem.operands)
    pass_far = all(memories.exchanging(cascade, tensor) == [memories.outermost] for tensor in cascade.intermediates)
    return pass_far and max(reads.values()) == 1


def least_apart(cascade: Cascade, memories: UpperMemories, uneven: ExactBranches, weights: Weights) -> float:
    """What the operations of such a cascade weigh at least, as far as that is soon known.

    uneven  searches of single operations in the uneven space
    """
    return sum(uneven.lower(_alone(operation, memories), weights) for operation in cascade)


def _alone(operation: Operation, memories: UpperMemories) -> BranchQuestion:
    """All of an operation, with all room that there is."""
    homes = sorted((tensor.name, memories.outermost) for tensor in operation.problem.tensors)
    return BranchQuestion(operation.name, operation.problem.dims, tuple(homes), memories.room)
