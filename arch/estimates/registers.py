"""Registers and register files: one word, or several of which an access selects one.

Sources: Y. S. Shao et al., "Aladdin", ISCA 2014, library of 40 nm, as in Accelergy-Project/hwcomponents-library
(hwcomponents_library/library/aladdin.py); for the leakage of a register, ashleyswang/pm-tech-lib (py-script/test.c).
A file of several words has a comparator of the address at each, as Accelergy's register files do
(Accelergy-Project/timeloop-accelergy-exercises, regfile of its exercises: 64 x 8 bit cost 0.42564 pJ there, and here).
"""

from __future__ import annotations

import math
from typing import Final

from .nodes import Figures, area_factor, check_node, energy_factor

_NODE_NM: Final = 40
_REGISTER_PJ: Final = 0.009  # a bit, read or written
_REGISTER_UM2: Final = 5.98  # a bit
_REGISTER_MW: Final = 7.4e-5  # a bit
_COMPARATOR_PJ: Final = 0.02947  # of 32 bit; scales with the width
_COMPARATOR_UM2: Final = 71.0
_COMPARATOR_MW: Final = 2.51e-5


def registers(size_bits: int, width_bits: int, node_nm: float) -> Figures:
    """A register file of some size, of which an access takes a word of some width.

    Raises ArchitectureError for a technology beyond the tables.
    """
    check_node(node_nm)
    words = math.ceil(size_bits / width_bits)
    width = min(width_bits, size_bits)
    address = math.ceil(math.log2(words)) if words > 1 else 0
    selected = words * address / 32
    energy = width * _REGISTER_PJ + selected * _COMPARATOR_PJ
    leakage = size_bits * _REGISTER_MW + selected * _COMPARATOR_MW
    area = (size_bits * _REGISTER_UM2 + selected * _COMPARATOR_UM2) * 1e-6
    factor = energy_factor(_NODE_NM, node_nm)
    return Figures(energy, energy, leakage, area).times(factor, factor, area_factor(_NODE_NM, node_nm))
