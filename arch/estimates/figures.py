"""What an estimate consists of."""

from __future__ import annotations

from dataclasses import astuple, dataclass


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
