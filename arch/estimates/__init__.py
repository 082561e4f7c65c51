"""Estimates of energy, leakage and area by kind and technology, from published tables.

sram.py       SRAMs by capacity, width of an access and ports: CACTI 7, in sram.csv
registers.py  registers and register files: Aladdin's 40 nm library, Accelergy's way to put them together
dram.py       DRAM by its kind: energies per bit
macs.py       multiply-accumulate units by format: Horowitz, ISSCC 2014; Jouppi et al., ISCA 2021; Aladdin
nodes.py      what an estimate consists of; from one technology to another: Stillmaker and Baas, 2017

`arch/estimate_fields.py` reads `estimate:` in architecture files; docs/scaling.md compares with the shipped machines.
"""

from .dram import DRAM_KINDS, dram
from .macs import FORMATS, mac
from .nodes import Figures
from .registers import registers
from .sram import sram

__all__ = ["DRAM_KINDS", "FORMATS", "Figures", "dram", "mac", "registers", "sram"]
