"""A convolution in its direct form and as a product (im2col), side by side."""

from __future__ import annotations

from ...ir.units import count, energy, significant
from ...mapper.lowering import Forms


def form_rows(forms: Forms) -> list[tuple[str, str]]:
    """What each form costs, and which one is taken."""
    spent, image = forms.lowering, forms.lowered.image.name
    times = significant(spent.lowered_words / spent.image_words)
    direct, product = forms.direct, forms.product
    ratio = significant(forms.value / direct.certificate.value)
    return [
        ("Words", f"{image} {spent.image_words:,}, lowered {spent.lowered_words:,}: {times} times as many"),
        ("Direct", _figures(direct.cost.energy_pj, direct.cost.latency_cycles)),
        ("Product alone", _figures(product.cost.energy_pj, product.cost.latency_cycles)),
        ("Lowering", _figures(spent.energy_pj, spent.cycles)),
        ("As a product", f"{ratio} times the {forms.objective.name} of the direct form, with lowering"),
        ("Taken", f"{'as a product' if forms.wins else 'direct'}, {_proven(forms)}"),
    ]


def _figures(picojoules: float, cycles: float) -> str:
    return f"{energy(picojoules)}, {count(cycles)} cycles"


def _proven(forms: Forms) -> str:
    return "proven: no mapping of either form costs less" if forms.proven else "not proven: a search ended early"
