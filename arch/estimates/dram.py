"""DRAM beside the chip: energies per bit, read or written, by kind.

They are of the memory and its interface together. It has no area on the chip, and its refresh is not counted.
"""

from __future__ import annotations

from .figures import Figures

_ACCELERGY = "Accelergy-Project/accelergy-cacti-plug-in, cacti_wrapper.py"
_MICRO17 = "O'Connor et al., MICRO 2017"

DRAM_KINDS: dict[str, tuple[float, str]] = {
    "LPDDR4": (8.0, f"{_ACCELERGY}: public data"),
    "LPDDR": (40.0, f"{_ACCELERGY}: Malladi et al., ISCA 2012"),
    "DDR3": (70.0, f"{_ACCELERGY}: Chatterjee et al., MICRO 2017"),
    "GDDR5": (14.0, f"{_ACCELERGY}; {_MICRO17}"),
    "HBM2": (3.9, f"{_ACCELERGY}; {_MICRO17}"),
    "HMC": (4.2, f"{_ACCELERGY}: doi 10.1145/3093336.3037702"),
}
"""Kind -> pJ a bit, and where that is from."""


def dram(kind: str, width_bits: int) -> Figures:
    """An access of some width. `kind` is one of `DRAM_KINDS`."""
    energy = DRAM_KINDS[kind][0] * width_bits
    return Figures(energy, energy)
