"""The least traffic to a buffer, proven, against the size of the buffer: the "ski slope" of an operation.

The curve is that of Huang, Tsai, Emer, Parashar, "Mind the Gap: Attainable Data Movement and Operational Intensity
Bounds for Tensor Algorithms" (Orojenesis), ISCA 2024: one memory without limit, one buffer, one MAC. A search for the
least energy on a machine where nothing costs but words between the two finds each point, with its proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..arch import Architecture, Mac, Memory
from ..cost_models import ENERGY
from ..cost_models.intensity import compulsory_words
from ..cost_models.traffic_bounds import traffic_bound
from ..ir import InfeasibleError, Mapping, Problem
from .question import DEFAULT_LIMITS, Limits, Question
from .several import best_of
from .space import Space
from .tilings import Tiling

DEFAULT_TILING: Tiling = "ragged"
"""Of the curve: with divisors alone, the words of a buffer between two tiles are of no use."""

WORD_BITS = 8
"""Of the machine; all words are alike, so that its bits are no more than a unit."""


@dataclass(frozen=True)
class SlopePoint:
    """The least traffic for one size of the buffer.

    words    size of the buffer
    traffic  words read and written by the best mapping; None where no mapping fits
    least    no mapping of the space moves fewer: equal to `traffic` where that is proven
    bound    no schedule whatever moves fewer words (`cost_models/traffic_bounds.py`)
    mapping  the best mapping
    """

    words: int
    traffic: int | None
    least: float
    bound: float
    mapping: Mapping | None

    @property
    def proven(self) -> bool:
        return self.traffic is not None and self.least >= self.traffic


def ski_slope(
    problem: Problem,
    sizes: Sequence[int],
    tiling: Tiling = DEFAULT_TILING,
    space: Space = "even",
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[SlopePoint]:
    """The points of the curve, from the smallest buffer to the largest.

    sizes   of the buffer, in words
    limits  of the search of each point

    A size at which every word moves once is the last that is searched: larger buffers have the same mapping.
    """
    plain = _without_widths(problem)
    compulsory = sum(compulsory_words(problem).values())
    last: SlopePoint | None = None
    for words in sorted(set(sizes)):
        if last is not None and last.traffic == compulsory:
            last = replace(last, words=words, bound=traffic_bound(plain, words))
        else:
            last = least_traffic(plain, words, tiling, space, limits)
        yield last


def least_traffic(
    problem: Problem,
    words: int,
    tiling: Tiling = DEFAULT_TILING,
    space: Space = "even",
    limits: Limits = DEFAULT_LIMITS,
) -> SlopePoint:
    """One point of the curve."""
    bound = traffic_bound(problem, words)
    try:
        best = best_of(Question(problem, one_buffer(words), ENERGY, tiling, space, limits=limits))
    except InfeasibleError:
        return SlopePoint(words, None, bound, bound, None)
    traffic = round(best.cost.energy_pj)
    least = float(traffic) if best.certificate.proven else best.certificate.lower_bound
    return SlopePoint(words, traffic, least, bound, best.mapping)


def one_buffer(words: int) -> Architecture:
    """A machine on which the energy of a mapping is the number of words that cross between memory and buffer."""
    free = {"access_bits": WORD_BITS, "read_energy_pj": 0.0, "write_energy_pj": 0.0}
    memory = Memory.model_validate(free | {"name": "memory", "read_energy_pj": 1.0, "write_energy_pj": 1.0})
    buffer = Memory.model_validate(free | {"name": "buffer", "size_bits": words * WORD_BITS})
    return Architecture(
        name=f"buffer of {words} words",
        clock_hz=1e9,
        word_bits=WORD_BITS,
        levels=(memory, buffer),
        mac=Mac(energy_pj=0.0),
    )


def _without_widths(problem: Problem) -> Problem:
    """The problem in words that are all alike."""
    tensors = tuple(replace(tensor, bits=None, partial_bits=None) for tensor in problem.tensors)
    return replace(problem, tensors=tensors)
