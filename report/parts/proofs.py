"""What a search proves, in words: the one place where bounds and gaps are printed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ...ir.units import count, exact, percent
from ...mapper.certificate import Certificate, Points
from ...mapper.kernel.tolerance import reaches


def verdict(value: float, lower_bound: float) -> str:
    """`proven`, or how much better another one could be at most, as in `gap 3.1%`."""
    if reaches(lower_bound, value):
        return "proven"
    return f"gap {percent(value - max(0.0, lower_bound), value)}"


def verdict_of(proof: Certificate) -> str:
    """The same of a certificate."""
    return verdict(proof.value, proof.lower_bound)


def front_words(front: Points[Any]) -> str:
    """Whether any point of a front is missing, and how far it could be."""
    if front.complete:
        return "The front is complete: no mapping of the space costs as little energy and latency as one of these."
    less = percent(front.gap, 1)
    return f"The front is not complete: what is missing could have up to {less} less energy and latency than these."


def ranking_words(ranking: Points[Any]) -> str:
    """Whether these are the best, where that is not so for sure."""
    if ranking.complete:
        return ""
    if ranking.gap:
        return f"The ranking is not complete: what is missing could be up to {percent(ranking.gap, 1)} better."
    return "The ranking is not complete: time or memory ran out before as many were found."


def points_json(points: Points[Any], documents: Iterable[str]) -> str:
    """Several mapping.json documents as one, with what is known of those that are missing."""
    head = f'"complete": {json.dumps(points.complete)},\n"gap": {json.dumps(points.gap)},\n'
    return f'{{\n{head}"points": [\n' + ",\n".join(text.rstrip() for text in documents) + "\n]\n}"


def proof_rows(proof: Certificate) -> Iterator[tuple[str, str]]:
    """What was minimized, the value, its bound, and what is proven of parts of the space where all of it is not."""
    from ...cost_models import parse_objective  # numpy comes with it, and not every page has a proof

    unit = parse_objective(proof.objective).unit
    unit = "(of pJ and cycles)" if unit == "formula" else unit
    told = "proven optimal" if proof.proven else f"{verdict_of(proof)}, not proven optimal"
    yield "Objective", f"{proof.objective}: {told}"
    yield "Value", f"{exact(proof.value)} {unit}"
    yield "Lower bound", f"{exact(proof.lower_bound)} {unit}"
    for part in () if proof.proven else proof.parts:
        of_part = verdict(proof.value, part.lower_bound)
        yield "Of a part", f"{of_part} among {part.among}"


def pruned_row(proof: Certificate) -> tuple[str, str]:
    """What was left aside, by rule."""
    return "Pruned", ", ".join(f"{rule} {count(number)}" for rule, number in proof.pruned.items()) or "nothing"
