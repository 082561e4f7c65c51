"""What a search comes to: a mapping, its cost and its certificate; and what only searches for trees know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..cost_models import Cost
from ..ir import Mapping, Work
from .certificate import Certificate
from .kernel.tolerance import is_better


@dataclass(frozen=True)
class Unfused:
    """What a cascade costs at best where every intermediate passes through the outermost memory.

    energy_pj, latency_cycles  of the whole run
    outer_words  words that the outermost memory reads and writes
    certificate  what is proven of it
    """

    energy_pj: float
    latency_cycles: float
    outer_words: int
    certificate: Certificate


@dataclass(frozen=True)
class TriedForm:
    """What is known of one form of a cascade that can be computed in several ways.

    form         as `Cascade.form`
    value        of the best of its mappings that were found; None where none is better than those of other forms, or
                 none was found
    lower_bound  no mapping of it has less, or it has none that is better than the best of all; None: nothing fits
    """

    form: str
    value: float | None
    lower_bound: float | None


@dataclass(frozen=True)
class Answer:
    """What a search comes to.

    mapping      the best one that was found
    cost         of the mapping
    certificate  what is proven of it
    unfused      of a cascade, the same for the same question with nothing fused; None where that was the question,
                 where nothing fits without fusing, and where it was not searched for
    forms        of a cascade that can be computed in several ways, what is known of each, as they were searched
    """

    mapping: Mapping
    cost: Cost
    certificate: Certificate
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()

    def of(self, work: Work) -> Answer:
        """The same for work that differs in its name alone."""
        mapping = self.mapping.of(work)
        return self if mapping is self.mapping else replace(self, mapping=mapping)

    @property
    def saves(self) -> float | None:
        """The part of the objective that fusing saves; None where nothing is known to compare with."""
        return saved_by_fusing(self.certificate, self.unfused)


def saved_by_fusing(certificate: Certificate, unfused: Unfused | None) -> float | None:
    """The part of the objective that a mapping saves; None where nothing is known to compare with."""
    if unfused is None:
        return None
    apart, value = unfused.certificate.value, certificate.value
    return 1 - value / apart if is_better(value, apart) else 0.0
