"""The MAC of an architecture file, and what points cost there that do not multiply."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.expression import OPERATION_KINDS
from .document import Field
from .estimate_fields import given, mac_estimate, wants
from .parts import Scale, build, plain_members
from .spec import Mac, Op
from .units import energy_pj
from .zeros import roles_of, structure_of

_MAC = {"energy": "an energy such as 1 pJ"}
_MAC_KEYS = ("energy", "per_cycle", "leakage", "area", "estimate", "ops", "gate", "skip", "structure")


def mac_of(field: Field, scale: Scale) -> Mac:
    """The MAC; what its estimate fills in is noted in `scale`."""
    estimated = wants(plain_members(field), "energy")
    required = {} if estimated else _MAC
    members = given(field.members(required, _MAC_KEYS))
    estimate = mac_estimate(plain_members(field)) if "estimate" in members else None
    energy = members["energy"].quantity(energy_pj, _MAC["energy"]) if "energy" in members else None
    idle = scale.idle(members)
    if estimate is not None:
        scale.estimated["MAC"] = estimate.names
        energy = estimate.pj("energy") if energy is None else energy
        idle |= estimate.idle(scale.clock_hz)
    ops = _ops(members["ops"]) if "ops" in members else {}
    zeros = {f"{key}s": roles_of(members[key]) for key in ("gate", "skip") if key in members}
    structure = structure_of(members["structure"]) if "structure" in members else None
    return build(
        Mac, field, energy_pj=energy, per_cycle=_per_cycle(members), **idle, ops=ops, **zeros, structure=structure
    )


def _ops(field: Field) -> dict[str, Op]:
    """What points cost that are no multiply-accumulates, by kind of function."""
    found = {}
    for kind, each in field.members({}, OPERATION_KINDS).items():
        members = each.members(_MAC, ("per_cycle",))
        energy = members["energy"].quantity(energy_pj, _MAC["energy"])
        found[kind] = build(Op, each, energy_pj=energy, per_cycle=_per_cycle(members))
    return found


def _per_cycle(members: Mapping[str, Field]) -> float:
    return members["per_cycle"].number("a positive number of MACs such as 1") if "per_cycle" in members else 1.0
