"""The search: the proven best mapping of a problem on an architecture.

    mapping, cost, certificate = search_exact(problem, arch, objective="edp", tiling="perfect")

`search.py` describes the algorithm as a whole. From the outside in:

    search.py        best first over batches of partial mappings; the proof
    exploring.py     what is grown next, and when better bounds are made
    frontier.py      what is still open, by its bound
    finishing.py     complete rows, evaluated
    found.py         the best mappings so far, and the cutoff
    several.py       the best few, one objective after another, the Pareto front
    strategies.py    the exact search, CP-SAT and the heuristics under one roof
    certificate.py   what a search proves, and what it did
    reduction.py     the problem with fewer dimensions, and the way back
    hierarchy.py     machine and placements from the inside out, and what a growing mapping has still to do
    batch.py         partial mappings that have taken the same steps
    fanouts.py       step: arrays; planned before anything else, put in place when a mapping has grown to them
    first_tiles.py   the innermost tiles, for many arrays at once
    symmetry.py      dimensions that may change places
    loops.py         step: the temporal loops up to the next block of storage nodes, and its tile
    dominance.py     rows that another one stands for
    bounds.py        what all that is still to come costs at least, for every tile
    crossing_bounds.py  what a crossing costs at least, at any tile
    array_tables.py  such tables from inside an array
    moves.py         what the next loop does to the crossings that wait
    array_groups.py  groups of alike arrays
    group_bounds.py  bounds for each of them
    lattice.py       the tiles that stand for all others
    ledger.py        from words to cost columns: energy, and cycles of every port
    traffic.py       words that cross between memories, for many partial mappings at once
    footprints.py    tiles in words, and whether a memory has room for them
    rows.py          partial mappings as arrays, and counting over them
    search_limits.py constraints, as the steps ask for them
    tilings.py       trip counts worth trying: perfect and ragged
    arrays.py        instances that a fanout's axes can realize
    nest_builder.py  from a complete row to a mapping
    space_size.py    how many mappings there are, counted: even and uneven
    space_regions.py in how many ways a region of the hierarchy can have so many slots for loops
    chain_tables.py  chains of trip counts of one dimension, counted
    ski_slope.py     the least traffic to one buffer, against its size
    textbook.py      how many mappings texts would say that there are
    legality.py      that a mapping is a legal schedule, proven by integer sets
    diagnosis.py     why nothing fits
    conflicts.py     which constraints leave nothing
    constraints.py   which part of the space is asked for
    violations.py    what a mapping breaks of that
    constraint_*.py  how users write it: files, names, one line
    dataflows/       weight-stationary and others, as such files
    unmet_limits.py  why no mapping keeps the limits of an objective
    cpsat/           the same space as a model that knows nothing of the search
    heuristics/      random sampling, annealing, a genetic search: to compare with
    emit/            programs that run a mapping
"""

from .certificate import Certificate
from .search import search_exact
from .tilings import TILINGS, Tiling

__all__ = ["TILINGS", "Certificate", "Tiling", "search_exact"]
