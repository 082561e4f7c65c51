"""In which orders loops above a split are looked at.

Two loops of which one stands directly in the other may change places, and nothing is counted otherwise, if no node
stands between them, nor below them above the split: what is further out sees a tile that both of them have cut, and
what is in a branch lasts for one visit, whichever comes before it. Under `reuse: at_node` nodes below them do no harm
either: these are filled anew at every step of all loops above, and only words that tiles have in common could stay from
one step to the next.

So of two such loops that are not in the order of their names one change of places gives a tree that costs the same; its
nodes may then stand where `terms/placing.py` has them, at no more cost and with the loops as they are. Each change
leaves fewer pairs that are not in order, so this ends: some best tree has a node between any two neighbours that are
not in order, or below them, and no others are looked at.

Not so of loops along windows, whose order says which rows are kept, nor of those from one generation to the next, of
steps of which the last is shorter, or where memories pass blocks: there all orders are looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ....cost_models.sets import is_plain
from ....ir import Cascade
from ..terms.parts import VisitedPart
from ..terms.placing import Placing
from ..terms.sharing import SharedDim
from ..terms.upper_memories import UpperMemories
from ..terms.upper_nodes import Chain


@dataclass(frozen=True, eq=False)
class LoopOrders:
    """Orders of loops above the splits of one cascade on one machine.

    ragged  whether loops may have a last step that is shorter
    """

    cascade: Cascade
    memories: UpperMemories
    placing: Placing
    ragged: bool
    _plain: dict[tuple[str, ...], bool] = field(default_factory=dict)

    def may_be_needed(self, part: VisitedPart, dims: Sequence[SharedDim]) -> bool:
        """Whether nodes may stand so that loops over some dimensions, outermost first, are needed in this order."""
        if not self._swappable(dims):
            return True
        every = (self.placing.chains(part, tuple(dims), tensor, home) for tensor, home in part.homes)
        return self.are_needed(part, dims, (chain for chains in every for chain in chains))

    def are_needed(self, part: VisitedPart, dims: Sequence[SharedDim], chains: Iterable[Chain]) -> bool:
        """Whether loops over some dimensions, outermost first, are needed in this order around some nodes."""
        swappable = self._swappable(dims)
        if not swappable:
            return True
        depths = {depth for chain in chains for _, depth in chain}
        if self.filled_anew(part):
            return depths.issuperset(swappable)
        return max(depths, default=0) >= max(swappable)

    def _swappable(self, dims: Sequence[SharedDim]) -> list[int]:
        """Of neighbours that are not in order, and may change places if nodes let them, how many loops there are up to
        the outer one."""
        pairs = list(enumerate(itertools.pairwise(dims), 1))
        unordered = [
            at for at, (outer, inner) in pairs if inner.dims < outer.dims and not (outer.uneven or inner.uneven)
        ]
        return [] if unordered and self._order_counts else unordered

    @property
    def _order_counts(self) -> bool:
        """Whether it says more than what is in which loop."""
        iterates = any(operation.iterates for operation in self.cascade)
        return self.ragged or iterates or any(memory.block_bits for memory in self.memories.upper)

    def filled_anew(self, part: VisitedPart) -> bool:
        """Whether all words of every node come at each step of all loops above it."""
        if part.names not in self._plain:
            arch, operations = self.memories.arch, map(self.cascade.operation, part.names)
            ranks = (rank for operation in operations for tensor in operation.problem.tensors for rank in tensor.ranks)
            self._plain[part.names] = arch.reuse == "at_node" and all(is_plain(rank, arch.footprint) for rank in ranks)
        return self._plain[part.names]
