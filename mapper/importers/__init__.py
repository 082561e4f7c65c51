"""Machines from the files of other tools, as architectures of ours; Timeloop's are read by `mapper/timeloop/`.

zigzag.py              ZigZag's hardware files
accelforge.py          AccelForge's architectures
accelforge_figures.py  energies, rates, leakage and area of one of their nodes
accelforge_classes.py  estimates where those are of a component class
tables.py              Accelergy's energies and areas, put into an architecture
machine.py             what an import comes to

What has no equal is an error that names it; what is left out or changed, and costs little, is a note.
"""

from .accelforge import read_accelforge
from .machine import ImportedMachine
from .tables import with_tables
from .zigzag import read_zigzag

__all__ = ["ImportedMachine", "read_accelforge", "read_zigzag", "with_tables"]
