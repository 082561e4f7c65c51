"""How long a search takes, about: to start the longest ones first, and to say how much of a batch is left.

A fit to measurements: 97 searches drawn from the layers of four networks on six machines under five dataflows (EDP,
perfect tilings, even space). A guess is off by a factor of 1.7 in the root mean square, which is good enough to keep
cores busy to the end; how fast this machine is shows in the course of a batch (`run._Forecast`).
"""

from __future__ import annotations

import math

from ...mapper.question import NestQuestion
from ...mapper.tilings import grid, linear_growth

_SECONDS = 0.005
_TILES_POWER = 0.35
_FACTOR_PER_FANOUT = 3.0
_LARGEST = 2**14  # size of a dimension that is looked at
_UNEVEN_FACTOR = 8.0
"""By how much longer the uneven space takes: of the layers of the README."""


def estimated_seconds(question: NestQuestion) -> float:
    """A guess from the number of tiles in the lattice of the problem, and the number of arrays of the machine."""
    problem = question.problem
    sizes = ((dim, min(size, _LARGEST)) for dim, size in problem.dims)
    tiles = math.prod(len(grid(size, question.tiling, linear_growth(problem, dim))) for dim, size in sizes)
    seconds: float = _SECONDS * float(tiles) ** _TILES_POWER * _FACTOR_PER_FANOUT ** len(question.arch.fanouts)
    return seconds * (_UNEVEN_FACTOR if question.space == "uneven" else 1.0)
