"""No bound of a part is above what it weighs at best."""

from __future__ import annotations

import pytest

from tilewright.arch import load_arch
from tilewright.ir import Cascade
from tilewright.mapper.cascades.branch import BranchQuestion
from tilewright.mapper.cascades.oracle import ExactBranches
from tilewright.mapper.cascades.part_bounds import PartBounds
from tilewright.mapper.cascades.parts import VisitedPart
from tilewright.mapper.cascades.placing import Placing
from tilewright.mapper.cascades.upper_memories import UpperMemories
from tilewright.mapper.cascades.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.mapper.means import Means
from tilewright.mapper.space import Space
from tilewright.workloads import cascade

WHOLE = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=16, n=12, k=8, p=4)


def _part(whole: Cascade, memories: UpperMemories, name: str) -> VisitedPart:
    """One operation, all of whose tensors come from the outermost memory."""
    problem = whole.operation(name).problem
    homes = tuple(sorted((t.name, memories.outermost) for t in problem.tensors))
    return VisitedPart((name,), (problem.dims,), homes, (1,), (memories.room,), ((),), steps=False)


@pytest.mark.parametrize("machine", ["eyeriss", "three_level", "tpu_v4i"])
@pytest.mark.parametrize("space", ["even", "uneven"])
@pytest.mark.parametrize("weights", [ENERGY_ALONE, LATENCY_ALONE, Weights(1.0, 100.0)])
def test_one_operation_weighs_its_bounds_or_more(machine: str, space: Space, weights: Weights) -> None:
    """On eyeriss weights never stay in the buffer: what they cost from further out counts once."""
    memories = UpperMemories(load_arch(machine))
    solver = ExactBranches(WHOLE, memories.arch, space, "perfect", Means())
    bounds = PartBounds(WHOLE, memories, space, weights, solver, Placing(WHOLE, memories, space))
    for name in ("T", "O"):
        part = _part(WHOLE, memories, name)
        asked: BranchQuestion = part.question()
        least = solver.least(asked, weights).bound
        assert 0 < bounds.of(part) <= least * (1 + 1e-9)
        assert 0 < bounds.close(part) <= least * (1 + 1e-9)
