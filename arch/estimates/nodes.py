"""From one technology to another: factors for the area and the energy of logic.

Source: A. Stillmaker and B. Baas, "Scaling equations for the accurate prediction of CMOS device performance from 180 nm
to 7 nm", Integration 58, 2017, doi 10.1016/j.vlsi.2017.02.002: areas relative to 45 nm, and energies as a polynomial in
the supply voltage, here at 0.9 V. Between its nodes figures are interpolated with logarithms of both. Below 7 nm
areas shrink with the node, and energies with its square root (IRDS 2017, as Accelergy's hwcomponents does).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from ...ir import ArchitectureError


@dataclass(frozen=True)
class Figures:
    """Of one memory, register file or MAC unit.

    read_pj, write_pj  of one access; of a MAC unit, both are those of one multiply-accumulate
    leakage_mw         at work or not
    area_mm2           on the chip
    """

    read_pj: float
    write_pj: float
    leakage_mw: float = 0.0
    area_mm2: float = 0.0

    def rounded(self) -> Figures:
        """To four digits: estimates have no more."""
        return Figures(*(float(f"{figure:.4g}") for figure in astuple(self)))

    def times(self, energy: float, leakage: float, area: float) -> Figures:
        """With its energies, its leakage and its area multiplied."""
        return Figures(self.read_pj * energy, self.write_pj * energy, self.leakage_mw * leakage, self.area_mm2 * area)


SMALLEST_NM, LARGEST_NM = 3, 130
"""Technologies that there are estimates for."""

_VOLTS: Final = 0.9
_SMALLEST_TABLE = 7.0
_AREAS = {130: 6.4, 90: 2.8, 65: 1.5, 45: 1.0, 32: 0.46, 20: 0.21, 16: 0.19, 14: 0.17, 10: 0.1, 7: 0.059}
_ENERGIES = {  # a, b, c of a V^2 + b V + c
    130: (7.171, -6.709, 2.904),
    90: (4.762, -4.781, 2.092),
    65: (3.755, -4.398, 1.975),
    45: (1.103, -0.362, 0.2767),
    32: (0.9559, -0.7823, 0.471),
    20: (0.373, -0.1582, 0.04104),
    16: (0.2958, -0.1241, 0.03024),
    14: (0.2363, -0.09675, 0.02239),
    10: (0.2068, -0.09311, 0.02375),
    7: (0.1776, -0.09097, 0.02447),
}


def check_node(nm: float) -> None:
    """ArchitectureError for a technology that there are no estimates for."""
    if not SMALLEST_NM <= nm <= LARGEST_NM:
        message = f"{nm:g} nm is beyond the published tables, expected {SMALLEST_NM} nm to {LARGEST_NM} nm"
        raise ArchitectureError(message)


def area_factor(from_nm: float, to_nm: float) -> float:
    """By what the area of logic is multiplied from one technology to the other."""
    return _area(to_nm) / _area(from_nm)


def energy_factor(from_nm: float, to_nm: float) -> float:
    """By what the energy of logic is multiplied from one technology to the other, at 0.9 V in both."""
    return _energy(to_nm) / _energy(from_nm)


def between(points: Mapping[float, float] | Mapping[int, float], place: float) -> float:
    """The value at a place, straight between the nearest two points in logarithms of both; beyond the first or last
    one the line goes on."""
    values = {float(at): value for at, value in points.items()}
    low, high = nearest_two(sorted(values), place)
    if low == high:
        return values[low]
    share = math.log(place / low) / math.log(high / low)
    return math.exp((1 - share) * math.log(values[low]) + share * math.log(values[high]))


def nearest_two(places: Sequence[float], place: float) -> tuple[float, float]:
    """The two of the sorted places that a place is between, or beyond; twice the same where it is one of them."""
    if place in places or len(places) == 1:
        only = place if place in places else places[0]
        return only, only
    after = next((i for i, known in enumerate(places) if known > place), len(places) - 1)
    after = max(after, 1)
    return places[after - 1], places[after]


def _area(nm: float) -> float:
    shrunk = min(nm / _SMALLEST_TABLE, 1.0)
    return between(_AREAS, max(nm, _SMALLEST_TABLE)) * shrunk


def _energy(nm: float) -> float:
    at_voltage = {node: a * _VOLTS**2 + b * _VOLTS + c for node, (a, b, c) in _ENERGIES.items()}
    return between(at_voltage, max(nm, _SMALLEST_TABLE)) * math.sqrt(min(nm / _SMALLEST_TABLE, 1.0))
