"""Estimates of the size of a mapping space, as texts on accelerators give it: to stand next to the exact count.

They are upper bounds in spirit and products in form: every source of choice counts on its own, whether or not it
makes a difference (loops of one trip are permuted too) and whether or not choices fit together (array axes overflow).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...arch import Architecture
from ...ir import Problem
from ..tilings import Tiling
from .chain_tables import count_chains


@dataclass(frozen=True)
class TextbookEstimate:
    """Two estimates of one space.

    rule_of_thumb  see `rule_of_thumb`
    permutations   loop orders of all tiling levels: (dimensions!)^levels, unit loops included
    bypasses       (2^tensors)^levels: every level keeps any of the tensors
    cofactors      the product over the dimensions of their chains of factors over the levels
    """

    rule_of_thumb: int
    permutations: int
    bypasses: int
    cofactors: int

    @property
    def timeloop(self) -> int:
        """Timeloop's unconstrained map space: permutations x bypasses x co-factor sets."""
        return self.permutations * self.bypasses * self.cofactors


def textbook_estimate(problem: Problem, arch: Architecture, tiling: Tiling = "perfect") -> TextbookEstimate:
    """What texts would put the size of a problem's mapping space on an architecture at.

    The product form is that of Timeloop for a 7-dimensional convolution on 4 tiling levels,
    (7!)^4 x (2^4)^3 x the co-factor sets (Parashar et al., ISPASS 2019, section V-E). A tiling level is a memory or a
    fanout; a co-factor set holds the ways to write a dimension as an ordered product with one factor per level
    (ragged: one trip count per level, rounded up). The rule of thumb is taken with

        choices        the geometric mean over the dimensions of their numbers of tile sizes, rounded
        components     the levels and the MAC
        loops          the dimensions
        spatial loops  one for each array axis, at most one per dimension
    """
    levels, dims = len(arch.levels), len(problem.dims)
    tile_sizes = math.prod(count_chains(size, 2, tiling) for _, size in problem.dims)
    return TextbookEstimate(
        rule_of_thumb=rule_of_thumb(
            choices=round(tile_sizes ** (1 / dims)),
            components=levels + 1,
            loops=dims,
            spatial_loops=min(dims, sum(len(fanout.axes) for fanout in arch.fanouts)),
            memories=len(arch.memories),
        ),
        permutations=math.factorial(dims) ** levels,
        bypasses=2 ** (len(problem.tensors) * levels),
        cofactors=math.prod(count_chains(size, levels, tiling) for _, size in problem.dims),
    )


def rule_of_thumb(choices: int, components: int, loops: int, spatial_loops: int, memories: int) -> int:
    """(choices^components x loops! x loops! / (loops - spatial_loops)!)^memories.

    The form in which courses and textbooks state it, without a single origin that we know of.

    choices        tile sizes to choose from
    components     levels with a tile of their own
    loops          of the nest, in any order
    spatial_loops  of them that are run on an array, in any order
    memories       that choose all this, each for itself
    """
    tiles: int = choices**components
    return int((tiles * math.factorial(loops) * math.perm(loops, spatial_loops)) ** memories)
