"""What an architecture file says about zeros: `compress`, `gate`, `skip`, `structure` (docs/sparse.md)."""

from __future__ import annotations

from ..ir.problem import ROLES
from .document import Field
from .spec import SPARSE_FORMATS


def formats_of(field: Field) -> dict[str, tuple[str, ...]]:
    """How tensors with zeros may be held, by role: `{weight: csr}`, `{weight: [bitmask, csr]}`."""
    members = field.mapping("a mapping such as {weight: bitmask}")
    if "output" in members:
        raise members["output"].error(
            "outputs have no format: their words are not written in order, and come back",
            hint="give those of input and weight",
        )
    return {role: _kinds(member) for role, member in field.members({}, ("input", "weight")).items()}


def _kinds(member: Field) -> tuple[str, ...]:
    if isinstance(member.value, str):
        return (member.choice(SPARSE_FORMATS),)
    kinds = tuple(each.choice(SPARSE_FORMATS) for each in member.elements("a format, or a list such as [bitmask, csr]"))
    if len({*kinds}) < len(kinds):
        raise member.error("a format is given twice")
    return kinds


def savings_of(field: Field) -> dict[str, tuple[str, ...]]:
    """By role whose accesses are left out, the roles whose zeros decide it."""
    return {role: roles_of(member, excluded=role) for role, member in field.members({}, ROLES).items()}


def roles_of(field: Field, excluded: str = "") -> tuple[str, ...]:
    """Operands by role, one of which may be excluded."""
    roles = tuple(each.choice(("input", "weight")) for each in field.elements("a list such as [weight]"))
    if excluded in roles:
        raise field.error(f"{excluded} decides about itself, expected the other operand")
    return roles


def structure_of(field: Field) -> tuple[int, int]:
    """`2:4` is two of four."""
    kept, _, block = field.text("N:M such as 2:4").partition(":")
    if not (kept.isdecimal() and block.isdecimal() and len(kept + block) < 8 and 0 < int(kept) <= int(block)):
        raise field.error(f"found {field.found}, expected N:M with N from 1 to M, such as 2:4")
    return int(kept), int(block)
