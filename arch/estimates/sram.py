"""SRAMs by capacity, width of an access and ports, between the rows of a table that CACTI 7 wrote (sram.csv).

Figures are interpolated in logarithms of figure and node, width and capacity, one after the other, and go on a little
beyond the table. More than 1024 bits are several arrays side by side, as are more than 256 MiB; fewer than 16 words,
or 64 B, are registers (`registers.py`). An access of less than 32 bits costs 0.3 + 0.7 x bits / 32 of one of 32, as in
Accelergy-Project/accelergy-cacti-plug-in (cacti_wrapper.py). So are technologies below 22 nm, where CACTI ends: energy
and leakage shrink with the square root of the node, and leakage by 0.79 for fin transistors; areas with the node.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from ...ir import ArchitectureError
from .nodes import Figures, between, check_node, nearest_two
from .registers import registers

_TABLE = Path(__file__).with_name("sram.csv")
_SMALLEST_NM: Final = 22
_WIDEST, _NARROWEST = 1024, 32
_SMALLEST_B, _LARGEST_B = 64, 2**28  # of an array: four times beyond the table
_FEWEST_WORDS: Final = 16

Columns = tuple[float, float, float, float]


def sram(size_bits: int, width_bits: int, node_nm: float, ports: int = 1) -> Figures:
    """An SRAM of some capacity, of which an access through one of its read-write ports takes a word of some width.

    Raises ArchitectureError for technologies and ports beyond the table.
    """
    check_node(node_nm)
    arrays = math.ceil(width_bits / _WIDEST)
    capacity, width = size_bits / 8 / arrays, width_bits / arrays
    if capacity < _SMALLEST_B or size_bits / max(width_bits, _NARROWEST) < _FEWEST_WORDS:
        return registers(size_bits, width_bits, node_nm)
    banks = math.ceil(capacity / _LARGEST_B)
    narrow = 0.3 + 0.7 * width / _NARROWEST if width < _NARROWEST else 1.0
    found = _at_node(max(node_nm, _SMALLEST_NM), ports, max(width, _NARROWEST), capacity / banks)
    shrunk = min(node_nm / _SMALLEST_NM, 1.0)
    less_leakage = math.sqrt(shrunk) * (0.79 if shrunk < 1 else 1.0)
    alike = arrays * banks
    return Figures(*found).times(arrays * narrow * math.sqrt(shrunk), alike * less_leakage, alike * shrunk)


def _at_node(node_nm: float, ports: int, width: float, capacity: float) -> Columns:
    table = _table()
    known = sorted({node for node, have, _ in table if have == ports})
    if not known:
        choices = ", ".join(map(str, sorted({have for _, have, _ in table})))
        raise ArchitectureError(f"{ports} ports are beyond the table of SRAMs, expected one of {choices}")
    at_nodes = {}
    for node in nearest_two(known, node_nm):
        widths = sorted(bits for at, have, bits in table if (at, have) == (node, ports))
        at_widths = {}
        for bits in nearest_two(widths, width):
            rows = table[node, ports, bits]
            at_widths[bits] = _columns({at: rows[at] for at in nearest_two(sorted(rows), capacity)}, capacity)
        at_nodes[node] = _columns(at_widths, width)
    return _columns(at_nodes, node_nm)


def _columns(around: Mapping[float, Columns], place: float) -> Columns:
    read, write, leakage, area = (between({at: row[i] for at, row in around.items()}, place) for i in range(4))
    return read, write, leakage, area


@cache
def _table() -> Mapping[tuple[float, int, float], Mapping[float, Columns]]:
    """(node in nm, ports, width in bits) -> capacity in bytes -> read and write in pJ, leakage in mW, area in mm2."""
    found: dict[tuple[float, int, float], dict[float, Columns]] = {}
    with _TABLE.open(encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            place = (float(row["node_nm"]), int(row["ports"]), float(row["width_bits"]))
            figures = (row["read_pJ"], row["write_pJ"], row["leakage_mW"], row["area_mm2"])
            read, write, leakage, area = map(float, figures)
            found.setdefault(place, {})[float(row["capacity_B"])] = (read, write, leakage, area)
    return found
