"""What the units themselves leave out: multiply-accumulates with a zero of an operand."""

from __future__ import annotations

import math
from collections import Counter

from ...arch import Mac
from ...ir import Tensor
from .densities import Density, Structured


def zeros_at_mac(mac: Mac, operand: Tensor, density: Density, nonzero: float) -> tuple[float, float]:
    """Which part of the operations a MAC gates, and which it skips, for the zeros of an operand.

    nonzero  words of all words of the operand
    """
    gated = 1.0 - nonzero if operand.role in mac.gates else 0.0
    skipped = 1.0 - nonzero if operand.role in mac.skips else 0.0
    if skipped and mac.structure is not None:
        kept, block = mac.structure
        fits = isinstance(density, Structured) and _fits(density, kept, block)
        skipped = min(skipped, 1.0 - kept / block) if fits else 0.0  # of a padded block, no word that is nonzero
    return gated, skipped


def _fits(density: Structured, kept: int, block: int) -> bool:
    """Whether no block that a unit takes has more nonzero words than it can take, wherever blocks of the density, which
    may be of another length, have theirs."""
    for start in range(0, math.lcm(block, density.block), block):
        overlaps = Counter(place // density.block for place in range(start, start + block))
        if sum(min(density.kept, words) for words in overlaps.values()) > kept:
            return False
    return True
