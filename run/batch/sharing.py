"""What searches of a batch know of one another: whatever keeps the constraints of a search is a mapping of its space.

Where a search ended before its proof was complete, the best mapping that another one has found may be better than its
own; and what no mapping of a whole space is below, none of a part is.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingABC
from dataclasses import replace

from ...cost_models import Cost, Objective
from ...ir import Mapping
from ...mapper.answer import Answer
from ...mapper.certificate import Certificate
from ...mapper.constraints.violations import violations
from ...mapper.question import FREE, NestQuestion
from .job import Failure, Outcome


def shared(questions: Iterable[NestQuestion], outcomes: MappingABC[str, Outcome]) -> dict[str, Answer]:
    """Better answers to those questions whose own is not proven, or missing, by their keys."""
    alike: dict[object, list[NestQuestion]] = {}
    for question in questions:
        if question.key in outcomes:
            rest = replace(question, constraints=FREE)
            alike.setdefault(rest.key, []).append(question)
    better: dict[str, Answer] = {}
    for group in alike.values():
        for question in group if len(group) > 1 else ():
            found = _improved(question, group, outcomes)
            if found is not None:
                better[question.key] = found
    return better


def _improved(question: NestQuestion, group: list[NestQuestion], outcomes: MappingABC[str, Outcome]) -> Answer | None:
    """The best of the mappings that keep the constraints of a question; None where its own answer stands."""
    own = outcomes[question.key]
    if not isinstance(own, Failure) and not (isinstance(own, Answer) and not own.certificate.proven):
        return None
    asked = set(question.constraints.singles())
    around = [outcomes[one.key] for one in group if asked >= set(one.constraints.singles())]
    answers = [one for other in group if isinstance(one := outcomes[other.key], Answer)]
    found = [one for one in answers if one is own or not violations(one.mapping, question.arch, question.constraints)]
    if not found:
        return None
    best = min(found, key=lambda one: _rank(question.objective, one.cost))
    if isinstance(own, Answer) and _rank(question.objective, own.cost) <= _rank(question.objective, best.cost):
        best = own
    bounds = [one.certificate.lower_bound for one in around if isinstance(one, Answer)]
    known = own.certificate if isinstance(own, Answer) else _nothing_known(question, best)
    value = best.certificate.value
    bound = min(value, max([known.lower_bound, *bounds]))
    if best is own and bound <= known.lower_bound:
        return None
    proof = replace(known, value=value, lower_bound=bound)
    return Answer(Mapping(question.problem, best.mapping.nest), best.cost, proof)


def _rank(objective: Objective, cost: Cost) -> tuple[float, ...]:
    parts = objective.parts or (objective,)
    return tuple(part.value(cost.energy_pj, cost.latency_cycles) for part in parts)


def _nothing_known(question: NestQuestion, best: Answer) -> Certificate:
    """The certificate of a search that found nothing: of its bound, what the MACs alone take."""
    arch, cost = question.arch, best.cost
    first = question.objective.parts[0] if question.objective.is_lexicographic else question.objective
    floor = first.value(cost.mac_energy_pj, cost.macs / (arch.mac_instances * arch.mac.per_cycle))
    return replace(
        best.certificate,
        lower_bound=0.0 if cost.zeros is not None else floor,
        space_size=None,
        evaluated=0,
        pruned={},
        constraints=question.constraints.describe(),
        open_part=None,
    )
