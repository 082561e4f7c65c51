"""The cycles for which arrays fill with work and drain, where a hop from one instance to the next takes time.

What enters a systolic array of R x C cells in step reaches the far corner R + C - 2 hops later, and the last result
leaves as much later than it would. While registers inside are refilled behind the scenes, the next tile follows the one
before without a gap, and the array fills once a run, or once a visit of a branch of a tree. Where a register does not
overlap (`overlaps: false`), the array runs empty before it is refilled, and fills again for every further tile:

    cycles = visits x hops of all arrays + refills x hops of the arrays that the refilled tile passes

A hop takes its time whether or not all cells of an axis are in use: sums leave at the far end. Source of the formula:
a weight-stationary array walked cycle by cycle takes F (2R + C + T - 2) cycles for F folds of T rows without shadow
registers, of which R are loading, and R + (F - 1) max(T, R) + T + R + C - 2 with them.
"""

from __future__ import annotations

from ..arch import Architecture
from .boundaries import Boundary
from .counts import Counts


def empties_array(boundary: Boundary, arch: Architecture) -> bool:
    """Whether the array that a tile passes runs empty before it comes."""
    inner = boundary.inner
    return inner is not None and not inner.overlaps and arch.filling_between(boundary.outer.name, inner.name) > 0


def filling_cycles(counts: Counts, arch: Architecture) -> float:
    """Cycles that arrays take to fill, over a whole run."""
    again = sum(arch.filling_between(outer, inner) * times for (outer, inner), times in counts.refills.items())
    return counts.visits * arch.filling_cycles + again
