"""Multiply-accumulate units by the format of their operands, and that of the sum.

Energies: M. Horowitz, "Computing's energy problem", ISSCC 2014, at 45 nm and 0.9 V; N. Jouppi et al., "Ten lessons from
three generations shaped Google's TPUv4i", ISCA 2021, Table 2, at 7 nm (C: recalled, not confirmed by a second source).
Between the two, logarithms of energy and node are interpolated; outside, energies follow `nodes.py`. A 16-bit integer
multiplication, which neither has, lies between those of 8 and 32 bit, in logarithms of energy and width.

Areas and leakage: Aladdin's library of 40 nm (Accelergy-Project/hwcomponents-library; of floating point, and leakage of
adders, ashleyswang/pm-tech-lib, py-script/test.c). Integer adders scale with their width, multipliers with its square;
floating point so with the digits of the significand. Leakage scales as area.
"""

from __future__ import annotations

from typing import Final

from .nodes import Figures, area_factor, between, check_node, energy_factor

_HOROWITZ_NM: Final = 45
_JOUPPI_NM: Final = 7
_ALADDIN_NM: Final = 40

_INT_MULTIPLY_PJ = {45: {8: 0.2, 32: 3.1}, 7: {8: 0.07, 32: 1.48}}
_INT_ADD_PJ = {45: {8: 0.03, 16: 0.05, 32: 0.1}, 7: {8: 0.007, 32: 0.03}}
_FLOAT_MULTIPLY_PJ = {45: {16: 1.1, 32: 3.7}, 7: {16: 0.21, 32: 1.31}}  # at 7 nm the 16 bit are bf16
_FLOAT_ADD_PJ = {45: {16: 0.4, 32: 0.9}, 7: {16: 0.11, 32: 0.38}}

# Of 32 bit: um2, mW.
_INT_ADD = (278.0, 0.00225)
_INT_MULTIPLY = (6350.0, 0.0779)
_FLOAT_ADD = (4360.0, 0.0531)
_FLOAT_MULTIPLY = (8970.0, 0.12)

FORMATS: dict[str, tuple[int, int]] = {
    "int8": (8, 8),
    "int16": (16, 16),
    "int32": (32, 32),
    "bf16": (16, 8),
    "fp16": (16, 11),
    "fp32": (32, 24),
}
"""Format -> bits, and bits of the significand."""


def mac(operands: str, total: str, node_nm: float) -> Figures:
    """A unit that multiplies two operands of a format and adds the product to a sum of another format; both are
    integers, or both are floats. Raises ArchitectureError for a technology beyond the tables."""
    check_node(node_nm)
    is_float = not operands.startswith("int")
    multiply, add = (_FLOAT_MULTIPLY_PJ, _FLOAT_ADD_PJ) if is_float else (_INT_MULTIPLY_PJ, _INT_ADD_PJ)
    energy = _energy(multiply, FORMATS[operands][0], node_nm) + _energy(add, FORMATS[total][0], node_nm)
    whole = 24 if is_float else 32
    product, addition = FORMATS[operands][1] / whole, FORMATS[total][1] / whole
    multiplier, adder = (_FLOAT_MULTIPLY, _FLOAT_ADD) if is_float else (_INT_MULTIPLY, _INT_ADD)
    area, leakage = (multiplier[i] * product**2 + adder[i] * addition for i in (0, 1))
    factor = area_factor(_ALADDIN_NM, node_nm)
    return Figures(energy, energy, leakage * factor, area * factor * 1e-6)


def _energy(table: dict[int, dict[int, float]], bits: int, node_nm: float) -> float:
    """Of an operation, between the two technologies that are published, or scaled from the nearer one."""
    found = {float(node): between(by_width, bits) for node, by_width in table.items()}
    if _JOUPPI_NM <= node_nm <= _HOROWITZ_NM:
        return between(found, node_nm)
    nearer = _HOROWITZ_NM if node_nm > _HOROWITZ_NM else _JOUPPI_NM
    return found[nearer] * energy_factor(nearer, node_nm)
