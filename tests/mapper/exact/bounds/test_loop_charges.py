"""What a memory holds while boundaries wait."""

from __future__ import annotations

from paths import context_of
from tilewright.arch import load_arch
from tilewright.mapper.exact.question.hierarchy import MemoryBoundary, NodeGroup
from tilewright.workloads import gemm


def test_a_tensor_that_waits_in_a_memory_takes_room_beside_the_next_tile() -> None:
    """Between the nodes of two tensors in one memory, no loop has moved the first of them: both tiles must fit."""
    context = context_of(gemm(8, 8, 8), load_arch("three_level"), "perfect", "uneven")
    hierarchy, moves = context.hierarchy, context.bounds.moves
    state = hierarchy.passing(hierarchy.start(((1, 2), (1, 2), (2,))))
    first = hierarchy.place(state, NodeGroup(1, (0,)), ())
    assert first.waiting == (MemoryBoundary(0, 1, 2),)
    (end,) = moves.steps(first).ends
    assert (end.node_group, end.residents) == (NodeGroup(1, (1,)), (0, 1))
    (end,) = moves.steps(first.charging(first.waiting)).ends
    assert end.residents == (1,), "how much room a tensor takes that a loop has moved since is not known"
