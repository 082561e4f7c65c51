"""The search: the proven best mapping of a problem on an architecture.

    mapping, cost, certificate = search_exact(problem, arch, objective="edp", tiling="perfect")

`search.py` describes the algorithm as a whole. From the outside in:

    search.py        best first over branches and batches; the proof
    certificate.py   what a search proves, and what it did
    reduction.py     the problem with fewer dimensions, and the way back
    skeleton.py      placements: which memory keeps which tensor
    inner_stage.py   labels: the innermost tile and the arrays around it
    expansion.py     the next tile and the loop order of a gap
    bounds.py        what the gaps further out cost at least
    ledger.py        from words to cost columns: energy, and cycles of every port
    traffic.py       words that cross between blocks, for many partial mappings at once
    orders.py        loop orders, as far as they matter
    tilings.py       trip counts worth trying: perfect and ragged
    arrays.py        instances that a fanout's axes can realize
    nest_builder.py  from a complete row to a mapping
    space_size.py    how many mappings there are, counted: even and uneven
    space_regions.py in how many ways a region of the hierarchy can have so many slots for loops
    chain_tables.py  chains of trip counts of one dimension, counted
    textbook.py      how many mappings texts would say that there are
    diagnosis.py     why nothing fits
    conflicts.py     which constraints leave nothing
    constraints.py   which part of the space is asked for
    violations.py    what a mapping breaks of that
    constraint_*.py  how users write it: files, names, one line
    dataflows/       weight-stationary and others, as such files
    heuristics/      random sampling, annealing, a genetic search: to compare with
    emit/            programs that run a mapping
"""

from .certificate import Certificate
from .search import search_exact
from .tilings import TILINGS, Tiling

__all__ = ["TILINGS", "Certificate", "Tiling", "search_exact"]
