"""The least traffic of a cascade to a buffer, proven, against the size of the buffer; and that with nothing fused.

As of one operation (`ski_slope.py`): a search for the least energy on a machine where nothing costs but words between a
memory without limit and one buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..cost_models import ENERGY
from ..cost_models.intensity import compulsory_words
from ..ir import Cascade, FusedMapping, InfeasibleError, Operation
from .fusing import answer_cascade
from .question import DEFAULT_LIMITS, Limits, Question
from .ski_slope import DEFAULT_TILING, one_buffer
from .space import Space
from .tilings import Tiling


@dataclass(frozen=True)
class FusedSlopePoint:
    """The least traffic of a cascade for one size of the buffer.

    words    size of the buffer
    traffic  words read and written by the best mapping; None where no mapping fits
    least    no mapping of the space moves fewer: equal to `traffic` where that is proven
    unfused  words of the best mapping with every intermediate outside the buffer; None: not known
    mapping  the best mapping
    """

    words: int
    traffic: int | None
    least: float
    unfused: int | None
    mapping: FusedMapping | None

    @property
    def proven(self) -> bool:
        return self.traffic is not None and self.least >= self.traffic


def fused_slope(
    cascade: Cascade,
    sizes: Sequence[int],
    tiling: Tiling = DEFAULT_TILING,
    space: Space = "even",
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[FusedSlopePoint]:
    """The points of the curve, from the smallest buffer to the largest.

    sizes   of the buffer, in words
    limits  of the search of each point

    Once every word moves once, and nothing less is moved without fusing either, larger buffers are not searched.
    """
    plain = _without_widths(cascade)
    enough = compulsory_of(plain), compulsory_unfused(plain)
    last: FusedSlopePoint | None = None
    for words in sorted(set(sizes)):
        if last is not None and (last.traffic, last.unfused) == enough:
            last = replace(last, words=words)
        else:
            last = _point(plain, words, tiling, space, limits)
        yield last


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


def _point(cascade: Cascade, words: int, tiling: Tiling, space: Space, limits: Limits) -> FusedSlopePoint:
    try:
        best = answer_cascade(Question(cascade, one_buffer(words), ENERGY, tiling, space, limits=limits))
    except InfeasibleError:
        return FusedSlopePoint(words, None, 0.0, None, None)
    traffic, apart = round(best.cost.energy_pj), best.unfused
    least = float(traffic) if best.certificate.proven else best.certificate.lower_bound
    return FusedSlopePoint(words, traffic, least, None if apart is None else round(apart.energy_pj), best.mapping)


def _without_widths(cascade: Cascade) -> Cascade:
    """The cascade in words that are all alike."""

    def plain(operation: Operation) -> Operation:
        tensors = tuple(replace(t, bits=None, partial_bits=None) for t in operation.problem.tensors)
        return replace(operation, problem=replace(operation.problem, tensors=tensors))

    others = tuple(map(_without_widths, cascade.others))
    return replace(cascade, operations=tuple(plain(operation) for operation in cascade), others=others)
