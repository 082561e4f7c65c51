"""What fusing is worth, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....ir.units import percent
from .rows import FusedRow

NOTABLE = 0.0005
"""Savings below this are called nothing."""


def findings(rows: Sequence[FusedRow], objective: str) -> tuple[str, ...]:
    """What fusing saves at most; a sentence for each network, and one for whatever has no mapping. No sentence has more
    than two figures: the others are in the tables."""
    found: list[str] = []
    most = max((row for row in rows if is_notable(row)), key=lambda row: row.saves or 0.0, default=None)
    if most is not None:
        found.append(f"Fusing saves up to {percent(most.saves or 0.0, 1)} of {objective}: {most.place}.")
    elif any(row.saves is not None for row in rows):
        found.append(f"Fusing saves no {objective}.")
    for network in dict.fromkeys(row.network for row in rows):
        here = [row for row in rows if row.network == network and row.saves is not None]
        parts = [*_saved(here), *_nothing(here)]
        found += [f"{network}: {'; '.join(parts)}."] if parts else []
    left_out = {row.network: row.left_out for row in rows if row.left_out}
    found += [f"{network}: {told}; figures and proofs are of the rest." for network, told in left_out.items()]
    found += [f"{row.network} on {row.arch}: {_first_line(row)}" for row in rows if row.answer is None]
    return tuple(found)


def _saved(rows: Iterable[FusedRow]) -> list[str]:
    """Where fusing saves most, and least of those where it saves anything."""
    notable = sorted((row for row in rows if is_notable(row)), key=lambda row: -(row.saves or 0.0))
    if not notable:
        return []
    first, last = notable[0], notable[-1]
    told = f"fusing saves most on {first.arch}, {percent(first.saves or 0.0, 1)}, by {first.saved_by_kind}"
    return [told, *([f"least on {last.arch}, {percent(last.saves or 0.0, 1)}"] if len(notable) > 1 else [])]


def _nothing(rows: Iterable[FusedRow]) -> list[str]:
    """Machines where nothing is saved, by the reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if not is_notable(row):
            reasons.setdefault(row.why_nothing, []).append(row.arch)
    return [f"nothing on {' and '.join(archs)}, since {reason}" for reason, archs in reasons.items()]


def is_notable(row: FusedRow) -> bool:
    """Whether fusing saves enough to speak of."""
    return row.saves is not None and row.saves >= NOTABLE


def saving_words(row: FusedRow) -> str:
    """What fusing saves, and between what that is proven to lie: `12.1%` or `12.1% (10.0% to 14.2%)`."""
    saves = percent(row.saves or 0.0, 1)
    if row.saves_between is None:
        return saves
    least, most = (percent(one, 1) for one in row.saves_between)
    return saves if least == most == saves else f"{saves} ({least} to {most})"


def _first_line(row: FusedRow) -> str:
    return row.diagnosis.partition("\n")[0]
