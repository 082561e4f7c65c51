"""Checks and small builders that all layer builders share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..inputs import checks
from ..ir import Problem, ProblemError, Rank, Role, Tensor

Bits = Mapping[str, int]
"""Widths in bits by role: any of input, weight, partial (partial sums of the output), output."""

Pair = int | tuple[int, int]
"""One number for both axes, or (height, width)."""

WIDEST = 4096
"""Bits of a word."""

BITS_KEYS = ("input", "weight", "partial", "output")


def check_keys(given: Mapping[str, object], where: str, required: Collection[str], optional: Collection[str]) -> None:
    """ProblemError for the first unknown key (the nearest known one is the hint), or for missing ones."""
    known = [*required, *optional]
    for key in given:
        if key not in known:
            raise ProblemError(f"unknown key {key!r}", where=where, hint=checks.key_hint(str(key), known))
    missing = [key for key in required if key not in given]
    if missing:
        optional_keys = f"; optional: {', '.join(optional)}" if optional else ""
        raise ProblemError(
            f"missing {', '.join(missing)}", where=where, hint=f"required: {', '.join(required)}{optional_keys}"
        )


def title_of(name: object, otherwise: str) -> str:
    """The name that is given, a text, or else another one."""
    return otherwise if name is None else checks.text(name, "the name", "a text", ProblemError) or otherwise


def whole(key: str, value: object, where: str, minimum: int = 1) -> int:
    """The value, if it is a whole number of at least `minimum`; ProblemError naming the key otherwise."""
    return checks.whole(value, key, minimum, ProblemError, where)


def pair(key: str, value: object, where: str, minimum: int = 1) -> tuple[int, int]:
    """(height, width) from one whole number or a pair of them; ProblemError naming the key otherwise."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ProblemError(f"{key} has {len(value)} numbers, expected one or (height, width)", where=where)
        return whole(f"{key} (height)", value[0], where, minimum), whole(f"{key} (width)", value[1], where, minimum)
    both = whole(key, value, where, minimum)
    return both, both


def axes(*dims: str) -> tuple[Rank, ...]:
    """Ranks of one dimension each, coefficient 1."""
    return tuple(((dim, 1),) for dim in dims)


def build(
    name: str,
    sizes: Mapping[str, int],
    tensors: Iterable[tuple[str, Role, tuple[Rank, ...]]],
    bits: Bits | None,
) -> Problem:
    """The problem of these dimensions, in order, and (tensor name, role, ranks) triples, the output last.

    ProblemError when a size is not a positive whole number, or `bits` has an unknown role or a width below 1.
    """
    given = checks.mapping({} if bits is None else bits, f"{name}: bits", 'a dict such as {"weight": 4}', ProblemError)
    check_keys(given, f"{name}: bits", (), BITS_KEYS)
    widths = {role: whole(role, width, f"{name}: bits") for role, width in given.items()}
    for role, width in widths.items():
        if width > WIDEST:
            raise ProblemError(f"{role} is {checks.shown(width)} bit, expected {WIDEST} at most", where=f"{name}: bits")
    made = tuple(
        Tensor(tensor, ranks, role, widths.get(role), widths.get("partial") if role == "output" else None)
        for tensor, role, ranks in tensors
    )
    return Problem(name, tuple((dim, int(size)) for dim, size in sizes.items()), made)
