"""Loops that may as well stand further out.

Lemma. A loop directly below a node group that moves none of its tensors may stand directly above it instead, where no
fanout comes next.

Proof. The loops of the nest stay what they are, in their order; only the nodes change places with one of them. Their
tiles have the same words, since the loop does not move them, and the same loops move them. So everything that crosses
any boundary stays the same, and so does the room that it takes. If the band above has a loop of that dimension too, the
two are joined at the place of the inner one: a tensor that they move is charged at the same tile, and another one stays
over no fewer loops. (With halo `exact` every loop counts, and joining may cost.)

So a loop below a node group is needed only if it moves something that is kept there, or if something stays over it that
the same band moves further out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..question.hierarchy import NodeGroup, State
from .context import SearchContext


def further_out(
    context: SearchContext, state: State, node_group: NodeGroup, moving: Sequence[Collection[int]]
) -> frozenset[int]:
    """Return the dimensions whose loops may as well stand above a node group as directly below.

    moving  per tensor, the dimensions whose loops move it
    """
    hierarchy = context.hierarchy
    if not context.may_stand_further_out or hierarchy.is_last(node_group):
        return frozenset()
    if hierarchy.at_fanout(hierarchy.place(state, node_group, ())):
        return frozenset()
    kept = frozenset[int]().union(*(moving[t] for t in node_group.tensors))
    return frozenset(range(len(context.sizes))) - kept
