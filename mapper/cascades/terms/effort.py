"""How a search over trees goes about its work: what decides how long it takes, and not what it proves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class TreeEffort:
    """Settings of all searches over trees."""

    few: int = 4
    """Choices of nodes and loops that a first tree is looked for among, and times as many where none has been found;
    operations of which all ways to part them are bounded, and all choices looked at for a first tree."""
    some: int = 64
    """Elements of a dimension of which all ragged tiles are tried."""
    many: int = 1_000
    """Orders of operations that are looked at."""
    at_once: int = 10_000
    """Combinations of steps that are bounded together; answers about branches after which they are forgotten."""
    numbers: int = 250_000
    """For all choices of some tensors together; what is left then is bounded by the best of each."""
    share: float = 0.1
    """Of the time that is left, at most, for bounds on a branch."""
    moment: float = 2.0
    """Seconds, at most, for what a whole operation costs at least, for a first tree, and to say why nothing fits."""
    patience: float = 30.0
    """Seconds, at most, to count uneven visits of a branch of which bounds are known; `few` times as many once all
    trees have been searched, and such a bound is what leaves a gap."""


EFFORT: Final = TreeEffort()
