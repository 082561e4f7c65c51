"""What an architecture file says about zeros: `compress`, `gate`, `skip`, `structure` (docs/sparse.md)."""

from __future__ import annotations

from ..ir.problem import ROLES
from .document import Field
from .spec import SPARSE_FORMATS


def formats_of(field: Field) -> dict[str, str]:
    """How tensors with zeros are held, by role."""
    members = field.members({}, ("input", "weight"))
    return {role: member.choice(SPARSE_FORMATS) for role, member in members.items()}


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
