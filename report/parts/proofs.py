"""What a search proves, in words: the one place where bounds and gaps are printed."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.units import count, exact, percent
from ...mapper.certificate import RELATIVE_TOLERANCE, Certificate


def verdict(value: float, lower_bound: float) -> str:
    """`proven`, or how much better another one could be at most, as in `gap 3.1%`."""
    if lower_bound >= value * (1 - RELATIVE_TOLERANCE):
        return "proven"
    return f"gap {percent(value - max(0.0, lower_bound), value)}"


def verdict_of(proof: Certificate) -> str:
    """The same of a certificate."""
    return verdict(proof.value, proof.lower_bound)


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
