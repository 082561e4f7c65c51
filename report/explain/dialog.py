"""The dialog of a mapping, in every page that has one: certificate, picture, loops, and what moves."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group

from ...arch import Architecture
from ...cost_models import Cost
from ...ir import Mapping
from ...ir.units import count, significant
from ...mapper.certificate import Certificate
from ..parts.costs import table_parts
from ..parts.nest import mapping_lines
from ..parts.proofs import proof_rows, pruned_row
from ..web import Details, Part, page_parts, pairs_part, picture_part, text_part
from .explanation import explain_mapping


def mapping_parts(
    details: Details,
    mapping: Mapping,
    arch: Architecture,
    cost: Cost,
    proof: Certificate,
    told: Iterable[tuple[str, str]] = (),
) -> list[Part]:
    """The parts of a dialog that shows a mapping; `told` stands above its certificate."""
    kind = "Tree" if mapping.is_of_cascade else "Loop nest"
    picture = details.picture((mapping, arch.name), lambda: explain_mapping(mapping, arch, cost).svg())
    return [
        pairs_part("Certificate", [*told, *certificate_rows(proof)]),
        picture_part("Mapping", picture, f"The {kind.lower()} of {mapping.work.name} with tiles and marks"),
        text_part(kind, "\n".join(mapping_lines(mapping, arch, cost))),
        *page_parts(Group(*table_parts(cost))),
    ]


def certificate_rows(proof: Certificate) -> list[tuple[str, str]]:
    """The lines of a certificate: what, and how much."""
    size = "" if proof.space_size is None else f", {count(proof.space_size)} mappings"
    return [
        *proof_rows(proof),
        ("Space", f"{proof.space}, {proof.tiling} tilings{size}"),
        ("Evaluated", count(proof.evaluated)),
        pruned_row(proof),
        ("Seconds", significant(proof.seconds)),
    ]
