"""The path of one operation through a tree: the loops and nodes from the root to its leaf."""

from __future__ import annotations

from dataclasses import dataclass

from .mapping import Mapping
from .nest import Loop
from .operation import Operation
from .tree import Place


@dataclass(frozen=True)
class OperationPath:
    """The path of one operation through a tree.

    operation  whose way it is
    mapping    its loops and nodes, outermost first: an ordinary mapping, but for where its branches begin. Along
               dimensions in `windows` its problem is as long as if every visit made a whole tile
    windows    dimensions of the output that a shared loop steps over and a consumer reads through a window (p + r):
               what a visit makes of them depends on what the node of the output still holds
    places     where in the tree each item of the nest stands
    starts     positions in the nest at which a tree on the way begins; the first is 0, the last that of the leaf
    """

    operation: Operation
    mapping: Mapping
    places: tuple[Place, ...]
    starts: tuple[int, ...]
    windows: frozenset[str] = frozenset()

    def start(self, position: int) -> int:
        """Return the position at which the branch of an item begins: what stands inside it lasts for one visit of the
        branch."""
        return max(start for start in self.starts if start <= position)

    @property
    def shared_loops(self) -> tuple[Loop, ...]:
        """Loops above the innermost split, as loops over dimensions of this operation."""
        items = self.mapping.nest.items[: self.starts[-1]]
        return tuple(item for item in items if isinstance(item, Loop))
