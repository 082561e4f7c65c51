"""The least traffic to a buffer, proven, against the size of the buffer: the "ski slope" of an operation.

The curve is that of Huang, Tsai, Emer, Parashar, "Mind the Gap: Attainable Data Movement and Operational Intensity
Bounds for Tensor Algorithms" (Orojenesis), ISCA 2024: one memory without limit, one buffer, one MAC. A search for the
least energy on a machine where nothing costs but words between the two finds each point, with its proof.

Of operands with zeros, nonzero words alone count, on average, where they are moved and where they are held: a word of
such an operand is a part of one. No format takes less, and no tile is fuller than the fullest; so what is least here is
a bound for all formats, metadata aside, as long as all nonzero words of a tile are moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..arch import Architecture, Mac, Memory
from ..cost_models import ENERGY
from ..cost_models.sparse.least import nonzero_shares
from ..cost_models.traffic_bounds import least_words, traffic_bound
from ..ir import InfeasibleError, Mapping, Problem
from .question import DEFAULT_LIMITS, Limits, NestQuestion, Question
from .several import best_of
from .space import Space
from .tilings import Tiling

DEFAULT_TILING: Tiling = "ragged"
"""Of the curve: with divisors alone, the words of a buffer between two tiles are of no use."""

WORD_BITS = 8
"""Of the machine; all words are alike, so that its bits are no more than a unit."""

PARTS = 2**20
"""Bits of a word where operands have zeros: parts of words are told apart by so much, rounded down."""


@dataclass(frozen=True)
class SlopePoint:
    """The least traffic for one size of the buffer.

    words    size of the buffer
    traffic  words read and written by the best mapping; with zeros on average, and in parts of words; None where no
             mapping fits
    least    no mapping of the space moves fewer: equal to `traffic` where that is proven
    bound    no schedule whatever moves fewer words (`cost_models/traffic_bounds.py`)
    mapping  the best mapping
    """

    words: int
    traffic: float | None
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
    last: SlopePoint | None = None
    for words in sorted(set(sizes)):
        if last is not None and last.traffic is not None and last.traffic <= least_words(problem):
            last = replace(last, words=words, bound=traffic_bound(problem, words))
        else:
            last = least_traffic(problem, words, tiling, space, limits)
        yield last


def least_traffic(
    problem: Problem,
    words: int,
    tiling: Tiling = DEFAULT_TILING,
    space: Space = "even",
    limits: Limits = DEFAULT_LIMITS,
) -> SlopePoint:
    """One point of the curve."""
    bound, unit = traffic_bound(problem, words), PARTS if problem.has_zeros else WORD_BITS
    question: NestQuestion = Question(
        _counted_in_words(problem), one_buffer(words, unit), ENERGY, tiling, space, limits=limits
    )
    try:
        best = best_of(question)
    except InfeasibleError:
        return SlopePoint(words, None, bound, bound, None)
    traffic = best.cost.energy_pj if problem.has_zeros else round(best.cost.energy_pj)
    least = float(traffic) if best.certificate.proven else best.certificate.lower_bound
    return SlopePoint(words, traffic, least, bound, best.mapping)


def one_buffer(words: int, word_bits: int = WORD_BITS) -> Architecture:
    """A machine on which the energy of a mapping is the number of words that cross between memory and buffer."""
    free = {"access_bits": word_bits, "read_energy_pj": 0.0, "write_energy_pj": 0.0}
    memory = Memory.model_validate(free | {"name": "memory", "read_energy_pj": 1.0, "write_energy_pj": 1.0})
    buffer = Memory.model_validate(free | {"name": "buffer", "size_bits": words * word_bits})
    return Architecture(
        name=f"buffer of {words} words",
        clock_hz=1e9,
        word_bits=word_bits,
        levels=(memory, buffer),
        mac=Mac(energy_pj=0.0),
    )


def _counted_in_words(problem: Problem) -> Problem:
    """The problem in words that are all alike; those of operands with zeros are as large as their nonzero part."""
    bits: dict[str, int | None] = dict.fromkeys((tensor.name for tensor in problem.tensors), None)
    if problem.has_zeros:
        shares = nonzero_shares(problem)
        bits |= {name: int(PARTS * share) for name, share in shares.items() if share < 1.0}
    tensors = tuple(replace(t, bits=bits[t.name], partial_bits=None, density=None) for t in problem.tensors)
    return replace(problem, tensors=tensors)
