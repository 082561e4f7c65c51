"""Timeloop v0.4 files: problem, architecture and mapping, read into ours. `mapper/emit/timeloop.py` writes them.

    documents.py     the files as one document
    problem.py       problem:      shape and instance
    architecture.py  architecture: nodes; energies from attributes or an ERT
    accelergy.py     ERT and ART: Accelergy's tables of energies and areas
    constraints.py   constraints of nodes, as a constraints file
    mapping.py       mapping:      factors, permutations, bypass

What is read is what our model has an equal for. Everything else is an error that names it.
"""

from .documents import Imported, Parts, read_parts, read_timeloop

__all__ = ["Imported", "Parts", "read_parts", "read_timeloop"]
