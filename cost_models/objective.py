"""The objective that a search minimizes: a name, a formula in energy and latency, a lexicographic pair, each with
limits if asked.

    edp                               energy, latency, edp and ed2p have names
    energy * latency ** 0.5           a formula (`formula.py`) never falls when energy or latency grows: the proof of a
    max(energy, 2 * latency)          search compares bounds of the two, and takes it for granted
    latency,energy                    the least latency, and of all mappings that have it the one of the least energy
    energy where latency <= 20000     the least energy of all mappings within a limit; it may have a unit: 25 us

`parse_objective` makes an `Objective` of such a text; the objective's name reads back as the same objective.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import inf, isfinite
from typing import TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..arch.units import cycles, energy_pj
from ..ir import TilewrightError, did_you_mean
from .formula import canonical, function_of, number_text, parse_expression

Figures = TypeVar("Figures", float, npt.NDArray[np.float64])
"""Figures of one mapping, or of many in an array."""

LIMIT_TOLERANCE = 1e-9
"""A limit holds to this fraction: sums of floats in another order differ by less, and a bound must not rule out a
mapping that lies exactly on the limit."""


@dataclass(frozen=True)
class Objective:
    """An objective that a search minimizes; less is better.

    name     its canonical text, from which `parse_objective` makes it again
    unit     of its values: "pJ", "cycles", "pJ x cycles", "pJ x cycles^2", or "formula"; that of its first part if it
             is lexicographic
    formula  in energy (pJ) and latency (cycles); empty if it is lexicographic
    parts    what a lexicographic objective minimizes, the most important first; else empty
    """

    name: str
    unit: str
    formula: str = ""
    parts: tuple[Objective, ...] = ()

    @property
    def is_lexicographic(self) -> bool:
        """Whether it has two parts, the second of which is minimized among the optima of the first."""
        return bool(self.parts)

    def value(self, energy_pj: Figures, latency_cycles: Figures) -> Figures:
        """The value of energy in pJ and latency in cycles; arrays of both give an array.

        Raises TilewrightError when the objective is lexicographic: it has a value for each part.
        """
        if self.is_lexicographic:
            names = " and ".join(part.name for part in self.parts)
            raise TilewrightError(
                "one value cannot stand for a lexicographic objective",
                where=f"objective {self.name}",
                hint=f"take {names} one after the other",
            )
        with np.errstate(over="ignore"):
            value = function_of(self.formula)(np.asarray(energy_pj, float), np.asarray(latency_cycles, float))
        return cast(Figures, value if np.ndim(value) else float(value))

    def capped(self, *, energy: float | None = None, latency: float | None = None) -> Objective:
        """Return the same objective with upper limits in pJ and cycles; None sets no limit.

        Raises TilewrightError for a limit that is negative or no number.
        """
        for what, limit in (("energy", energy), ("latency", latency)):
            if limit is not None and not limit >= 0:
                raise TilewrightError(f"the limit is {limit}, expected 0 or more", where=f"limit on {what}")
        most_energy, most_latency = (inf if limit is None else float(limit) for limit in (energy, latency))
        if most_energy == most_latency == inf:
            return self
        return _capped(self, most_energy, most_latency)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Capped(Objective):
    """An objective with upper limits: infinite beyond them (to `LIMIT_TOLERANCE`), else as its base.

    The parts of a lexicographic one have the same limits.
    """

    base: Objective = field(kw_only=True)
    max_energy_pj: float = field(default=inf, kw_only=True)
    max_latency_cycles: float = field(default=inf, kw_only=True)

    def value(self, energy_pj: Figures, latency_cycles: Figures) -> Figures:
        """As of every objective, and infinite beyond the limits."""
        value = self.base.value(energy_pj, latency_cycles)
        slack = 1 + LIMIT_TOLERANCE
        beyond = np.greater(energy_pj, self.max_energy_pj * slack)
        beyond = beyond | np.greater(latency_cycles, self.max_latency_cycles * slack)
        limited = np.where(beyond, inf, value)
        return cast(Figures, limited if limited.ndim else float(limited))

    def capped(self, *, energy: float | None = None, latency: float | None = None) -> Objective:
        """The base with these limits and those that it has."""
        energy = self.max_energy_pj if energy is None else min(energy, self.max_energy_pj)
        latency = self.max_latency_cycles if latency is None else min(latency, self.max_latency_cycles)
        return self.base.capped(energy=energy, latency=latency)


ObjectiveLike: TypeAlias = Objective | str
"""An objective, or a text that `parse_objective` reads."""

ENERGY = Objective("energy", "pJ", "energy")
LATENCY = Objective("latency", "cycles", "latency")
EDP = Objective("edp", "pJ x cycles", "energy * latency")
ED2P = Objective("ed2p", "pJ x cycles^2", "energy * latency ** 2")

NAMED: Mapping[str, Objective] = {objective.name: objective for objective in (ENERGY, LATENCY, EDP, ED2P)}
"""The objectives that have a name."""

OBJECTIVES: tuple[str, ...] = ("energy", "latency", "edp")
"""The three that every page of a result prints."""

_NAME_OF_FORMULA = {
    **{objective.formula: objective for objective in NAMED.values()},
    "latency * energy": EDP,
    "latency ** 2 * energy": ED2P,
    "energy * latency * latency": ED2P,
}
_LIMIT = re.compile(r"\s*(energy|latency)\s*<=\s*([-+]?\d*\.?\d+(?:e[-+]?\d+)?)\s*([a-zA-Z]*)\s*", re.IGNORECASE)


def parse_objective(objective: ObjectiveLike, clock_hz: float | None = None) -> Objective:
    """The objective that a text names; an objective is returned as it is.

    clock_hz  of the machine, for limits in seconds

    Raises TilewrightError, with the part that is wrong and the reason, for a text that cannot be understood, or whose
    value may fall while energy or latency grows.
    """
    if isinstance(objective, Objective):
        return objective
    if not isinstance(objective, str):
        raise TilewrightError(f"found {objective!r}, expected a text or an Objective", where="objective")
    return _parsed(objective, clock_hz)


@cache
def _parsed(text: str, clock_hz: float | None) -> Objective:
    try:
        base, *limits = re.split(r"\bwhere\b", text, maxsplit=1)
        objective = _unlimited(base.strip())
        return _limited(objective, limits[0], clock_hz) if limits else objective
    except TilewrightError as error:
        raise error.located("objective") from None


def _unlimited(text: str) -> Objective:
    """A name, a formula, or a list."""
    if text in NAMED:
        return NAMED[text]
    if not text or text.isidentifier():
        near = did_you_mean(text.lower(), NAMED)
        hint = near if near.startswith("did you mean") else 'or a formula such as "energy * latency ** 0.5"'
        raise TilewrightError(f"unknown name {text!r}, expected {' or '.join(NAMED)}", hint=hint)
    tree = parse_expression(text)
    if isinstance(tree, ast.Tuple):
        return _lexicographic([ast.unparse(part) for part in tree.elts])
    function_of(text)
    formula = canonical(tree)
    function_of(formula)  # longer by its spaces than what was written, perhaps too long
    return _NAME_OF_FORMULA.get(formula) or Objective(formula, "formula", formula)


def _lexicographic(names: list[str]) -> Objective:
    if sorted(names) != ["energy", "latency"]:
        raise TilewrightError(
            f"the list is {', '.join(names) or 'empty'}, expected latency,energy or energy,latency",
            hint="once both are at their least, nothing is left to choose",
        )
    parts = tuple(NAMED[name] for name in names)
    return Objective(",".join(names), parts[0].unit, parts=parts)


def _limited(objective: Objective, limits: str, clock_hz: float | None) -> Objective:
    """An objective with the limits of a text: numbers of pJ and cycles, or quantities."""
    for limit in re.split(r"\band\b", limits):
        found = _LIMIT.fullmatch(limit)
        if found is None or not isfinite(most := float(found[2])):
            message = f"the limit is {limit.strip()!r}, expected energy or latency, <= and a number"
            raise TilewrightError(message, hint='write "energy where latency <= 20000", or "<= 25 us"')
        what, unit = found[1].lower(), f"1 {found[3]}"
        if found[3]:
            most *= energy_pj(unit) if what == "energy" else cycles(unit, clock_hz=clock_hz)
        objective = objective.capped(**{what: most})
    return objective


def _capped(base: Objective, energy: float, latency: float) -> Capped:
    limits = {"energy": energy, "latency": latency}
    conditions = " and ".join(f"{what} <= {number_text(most)}" for what, most in limits.items() if most < inf)
    return Capped(
        f"{base.name} where {conditions}",
        base.unit,
        base.formula,
        tuple(part.capped(energy=energy, latency=latency) for part in base.parts),
        base=base,
        max_energy_pj=energy,
        max_latency_cycles=latency,
    )
