"""DRAM beside the chip: energies per bit, read or written, by kind.

They are of the memory and its interface together. It has no area on the chip, and its refresh is not counted. Where no
figure of a kind is published, it is its predecessor's, at the supply voltage of the kind's own standard (energy as its
square), or as much less as a maker says.
"""

from __future__ import annotations

from .nodes import Figures

_ACCELERGY = "Accelergy-Project/accelergy-cacti-plug-in, cacti_wrapper.py"
_MICRO17 = "O'Connor et al., MICRO 2017"
_ISCA21 = "Jouppi et al., ISCA 2021, Table 2"

DRAM_KINDS: dict[str, tuple[float, str]] = {
    "LPDDR4": (8.0, f"{_ACCELERGY}: public data"),
    "LPDDR": (40.0, f"{_ACCELERGY}: Malladi et al., ISCA 2012"),
    "DDR3": (70.0, f"{_ACCELERGY}: Chatterjee et al., MICRO 2017"),
    "LPDDR5": (5.6, "LPDDR4 less 30%: Samsung's announcement of 12 Gb LPDDR5, July 2019, against LPDDR4X"),
    "DDR4": (20.3, f"{_ISCA21}: DDR3/4, 1300 pJ for 64 bit"),
    "DDR5": (17.1, "DDR4 at 1.1 V instead of 1.2 V: JESD79-5, JESD79-4"),
    "GDDR6": (7.5, f"{_ISCA21}: 350 to 480 pJ for 64 bit, the upper end"),
    "GDDR5": (14.0, f"{_ACCELERGY}; {_MICRO17}"),
    "HBM2": (3.9, f"{_ACCELERGY}; {_MICRO17}"),
    "HBM2e": (3.9, "as HBM2: 1.2 V in both, JESD235"),
    "HBM3": (3.3, "HBM2 at 1.1 V instead of 1.2 V: JESD238, JESD235; its I/O at 0.4 V takes less"),
    "HMC": (4.2, f"{_ACCELERGY}: doi 10.1145/3093336.3037702"),
}
"""Kind -> pJ a bit, and where that is from."""


def dram(kind: str, width_bits: int) -> Figures:
    """An access of some width. `kind` is one of `DRAM_KINDS`."""
    energy = DRAM_KINDS[kind][0] * width_bits
    return Figures(energy, energy)
