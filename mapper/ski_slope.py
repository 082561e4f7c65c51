"""The least traffic to a buffer, proven, against the size of the buffer: the "ski slope" of an operation or a cascade.

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
from ..cost_models.intensity import compulsory_words
from ..cost_models.sparse.least import nonzero_shares
from ..cost_models.traffic_bounds import least_words, traffic_bound
from ..ir import Cascade, InfeasibleError, Mapping, Operation, Problem, Work
from .fusing import answer_cascade
from .question import DEFAULT_LIMITS, Limits, NestQuestion, Question, TreeQuestion
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
    bound    of a layer, no schedule whatever moves fewer words (`cost_models/traffic_bounds.py`)
    unfused  of a cascade, words of the best mapping with every intermediate outside the buffer; None: not known
    mapping  the best mapping
    """

    words: int
    traffic: float | None
    least: float
    bound: float | None
    unfused: int | None
    mapping: Mapping | None

    @property
    def proven(self) -> bool:
        return self.traffic is not None and self.least >= self.traffic


def ski_slope(
    work: Work,
    sizes: Sequence[int],
    tiling: Tiling = DEFAULT_TILING,
    space: Space = "even",
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[SlopePoint]:
    """The points of the curve, from the smallest buffer to the largest.

    sizes   of the buffer, in words
    limits  of the search of each point

    A size at which every word moves once, and nothing less is moved without fusing, is the last that is searched:
    larger buffers have the same mapping.
    """
    last: SlopePoint | None = None
    for words in sorted(set(sizes)):
        if last is not None and _is_flat(work, last):
            last = replace(last, words=words, bound=None if isinstance(work, Cascade) else traffic_bound(work, words))
        else:
            last = least_traffic(work, words, tiling, space, limits)
        yield last


def _is_flat(work: Work, last: SlopePoint) -> bool:
    """Whether larger buffers move as much."""
    if isinstance(work, Cascade):
        return (last.traffic, last.unfused) == (compulsory_of(work), compulsory_unfused(work))
    return last.traffic is not None and last.traffic <= least_words(work)


def least_traffic(
    work: Work,
    words: int,
    tiling: Tiling = DEFAULT_TILING,
    space: Space = "even",
    limits: Limits = DEFAULT_LIMITS,
) -> SlopePoint:
    """One point of the curve."""
    if isinstance(work, Cascade):
        return _least_of_cascade(work, words, tiling, space, limits)
    bound, unit = traffic_bound(work, words), PARTS if work.has_zeros else WORD_BITS
    machine = one_buffer(words, unit)
    question: NestQuestion = Question(_counted_in_words(work), machine, ENERGY, tiling, space, limits=limits)
    try:
        best = best_of(question)
    except InfeasibleError:
        return SlopePoint(words, None, bound, bound, None, None)
    traffic = best.cost.energy_pj if work.has_zeros else round(best.cost.energy_pj)
    least = float(traffic) if best.certificate.proven else best.certificate.lower_bound
    return SlopePoint(words, traffic, least, bound, None, best.mapping)


def _least_of_cascade(cascade: Cascade, words: int, tiling: Tiling, space: Space, limits: Limits) -> SlopePoint:
    asked: TreeQuestion = Question(_without_widths(cascade), one_buffer(words), ENERGY, tiling, space, limits=limits)
    try:
        best = answer_cascade(asked)
    except InfeasibleError:
        return SlopePoint(words, None, 0.0, None, None, None)
    traffic, apart = round(best.cost.energy_pj), best.unfused
    least = float(traffic) if best.certificate.proven else best.certificate.lower_bound
    return SlopePoint(words, traffic, least, None, None if apart is None else round(apart.energy_pj), best.mapping)


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


def compulsory_of(cascade: Cascade) -> int:
    """Words of all tensors that enter or leave the cascade, each once: no schedule moves fewer."""
    return min(
        sum(_words(form, tensor) for tensor in form.tensors if tensor not in form.intermediates)
        for form in cascade.forms
    )


def compulsory_unfused(cascade: Cascade) -> int:
    """Words that all operations read and write, one after the other, each once by each of them."""
    return min(sum(sum(compulsory_words(one.problem).values()) for one in form) for form in cascade.forms)


def _words(cascade: Cascade, tensor: str) -> int:
    """Words of a tensor that some operation reads or writes, at least."""
    users = [op for op in cascade if any(t.name == tensor for t in op.problem.tensors)]
    return max(compulsory_words(user.problem)[tensor] for user in users)


def _without_widths(cascade: Cascade) -> Cascade:
    """The cascade in words that are all alike."""

    def plain(operation: Operation) -> Operation:
        tensors = tuple(replace(t, bits=None, partial_bits=None) for t in operation.problem.tensors)
        return replace(operation, problem=replace(operation.problem, tensors=tensors))

    others = tuple(map(_without_widths, cascade.others))
    return replace(cascade, operations=tuple(plain(operation) for operation in cascade), others=others)
