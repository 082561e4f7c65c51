"""What fusing is worth, in sentences: one for each network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....ir.units import percent
from .rows import FusedRow

NOTABLE = 0.0005
"""Savings below this are called nothing."""


def findings(rows: Sequence[FusedRow], objective: str) -> tuple[str, ...]:
    """A sentence for each network, and one for whatever has no mapping."""
    found: list[str] = []
    for network in dict.fromkeys(row.network for row in rows):
        here = [row for row in rows if row.network == network and row.saves is not None]
        parts = [*_saved(here, objective), *_nothing(here)]
        found += [f"{network}: {'; '.join(parts)}."] if parts else []
    left_out = {row.network: row.left_out for row in rows if row.left_out}
    found += [f"{network}: {told}; figures and proofs are of the rest." for network, told in left_out.items()]
    found += [f"{row.network} on {row.arch}: {_first_line(row)}" for row in rows if row.answer is None]
    return tuple(found)


def _saved(rows: Iterable[FusedRow], objective: str) -> list[str]:
    """Where fusing saves most first."""
    notable = sorted((row for row in rows if is_notable(row)), key=lambda row: -(row.saves or 0.0))
    words = [f"{saving_words(row)} on {row.arch}, by {row.saved_by}{_words_saved(row)}" for row in notable]
    return [f"fusing saves of {objective} {'; '.join(words)}"] if words else []


def _nothing(rows: Iterable[FusedRow]) -> list[str]:
    """Machines where nothing is saved, by the reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if not is_notable(row):
            reasons.setdefault(row.why_nothing, []).append(f"{row.arch}{_not_ruled_out(row)}")
    return [f"fusing saves nothing on {' and '.join(archs)}, since {reason}" for reason, archs in reasons.items()]


def _not_ruled_out(row: FusedRow) -> str:
    most = row.saves_between[1] if row.saves_between else 0.0
    return f" (where up to {percent(most, 1)} is not ruled out)" if most >= NOTABLE else ""


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


def _words_saved(row: FusedRow) -> str:
    fewer = row.fewer_words
    if not fewer:
        return ""
    share = percent(abs(fewer), 1)
    return f" with {share} {'fewer' if fewer > 0 else 'more'} words at {row.outermost}"


def _first_line(row: FusedRow) -> str:
    return row.diagnosis.partition("\n")[0]
