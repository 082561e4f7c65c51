"""What trees of a cascade have to satisfy (`cascades/terms/tree_constraints.py` reads it from lines)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class TreeConstraints:
    """What trees have to satisfy.

    lines    in words, as they were written
    homes    by intermediate, the memory in which it passes
    barred   (intermediate, memory) in which it does not
    most     by intermediate, bits on chip at a time
    along    (intermediate, dimension of its producer) of shared loops that stand above its passing
    across   the same, of those that do not
    tiles    (intermediate, dimension of its producer, elements that shared loops leave where it passes)
    steps    (dimension, steps of a shared loop over it)
    only     dimensions that shared loops step over; None: any
    without  dimensions that none steps over
    """

    lines: tuple[str, ...] = ()
    homes: tuple[tuple[str, str], ...] = ()
    barred: tuple[tuple[str, str], ...] = ()
    most: tuple[tuple[str, int], ...] = ()
    along: tuple[tuple[str, str], ...] = ()
    across: tuple[tuple[str, str], ...] = ()
    tiles: tuple[tuple[str, str, int], ...] = ()
    steps: tuple[tuple[str, int], ...] = ()
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def allow_exchange(self, tensor: str, memory: str, bits: int, stepped: Set[str], tile: Mapping[str, int]) -> bool:
        """Whether an intermediate may pass in a memory, of which it takes some bits; 0 in the outermost one.

        stepped  dimensions of its producer that shared loops above step over
        tile     elements that they leave along each
        """
        if any(tile[dim] != asked for name, dim, asked in self.tiles if name == tensor):
            return False
        if dict(self.homes).get(tensor, memory) != memory or (tensor, memory) in self.barred:
            return False
        if any(bits > most for name, most in self.most if name == tensor):
            return False
        asked = all(dim in stepped for name, dim in self.along if name == tensor)
        return asked and not any(dim in stepped for name, dim in self.across if name == tensor)

    @property
    def is_free(self) -> bool:
        """Whether they exclude nothing."""
        return self == ANY_TREE

    def allow_loop(self, names: Set[str]) -> bool:
        """Whether a shared loop may step over a dimension, which operations call by some names."""
        return not names & self.without and (self.only is None or bool(names & self.only))

    def allow_trips(self, names: Set[str], trips: int) -> bool:
        """Whether a shared loop over a dimension, which operations call by some names, may have so many steps."""
        return all(trips == asked for name, asked in self.steps if name in names)


ANY_TREE: Final = TreeConstraints()
"""No constraints."""
