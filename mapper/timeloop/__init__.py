"""Timeloop v0.4 files: problem, architecture and mapping, read into ours. `mapper/emit/timeloop.py` writes them.

    documents.py     the files as one document, and their versions; mapping: as a nest
    problem.py       problem:      shape and instance
    nodes.py         architecture: nodes and their attributes
    architecture.py  the machine of the nodes; energies from attributes or an ERT
    accelergy.py     ERT and ART: Accelergy's tables of energies and areas
    directives.py    what nodes, lists of constraints and mappings ask for; implied.py: what follows from that
    constraints.py   the same as a constraints file

Every key is read, is an error that names it, or is named by a note: `Parts.notes`.
"""

from .documents import Imported, Parts, complete, read_parts, read_timeloop

__all__ = ["Imported", "Parts", "complete", "read_parts", "read_timeloop"]
