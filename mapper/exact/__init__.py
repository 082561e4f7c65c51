"""The exact search: mapping, cost, certificate = search_exact(problem, arch, objective="edp", tiling="perfect")

`search.py` describes the algorithm as a whole. From the outside in:

search.py        best first over batches of partial mappings; the proof
reduced.py       the question as rows see it: fewer dimensions, arrays with one axis each
preparing.py     columns, bounds and context, before anything is decided
effort.py        everything that decides how long a search takes, and nothing that decides its result
exploring.py     what is grown next, and when better bounds are made
own_tables.py    tables for single choices of arrays, or groups of them: whether they pay, and which choice is in work
open_items.py    what is still open, as states of the kernel (`mapper/kernel/`)
standing.py      where a search stands that ends before its proof is complete
known_rows.py    rows that have been queued, and stand for others that come to the same by other steps
finishing.py     complete rows, evaluated
found.py         the best mappings so far, and the cutoff
simplest.py      the mapping that there is always time for
limits.py        constraints, as the steps ask for them
unmet_limits.py  why no mapping keeps the limits of an objective
canonical.py     the problem with fewer dimensions, and the way back
symmetry.py      dimensions that may change places
visits.py        which tiles mappings are made of, in a branch of a tree
surroundings.py  what stands around a mapping that is a branch of a tree
hierarchy.py     machine and placements from the inside out, and what a growing mapping has still to do
context.py       what all steps of a search have in common
rows.py          partial mappings as arrays, and counting over them
batch.py         partial mappings that have taken the same steps
instances.py     instances that an array's axes can realize
at_work.py       which of them ever have work, and how much the first one has
lattice.py       the tiles that stand for all others
table_memo.py    the tables that were used last
placements.py    step: which memories keep which tensor
arrays/          step: which instances of arrays are at work on what
loop_bands/      step: the temporal loops up to the next group of storage nodes, and its tile
counting/        what partial mappings hold and move, for many rows at once
bounds/          what all that is still to come costs at least
nest_builder.py  from a complete row to a mapping
"""

from __future__ import annotations

from .search import search_exact

__all__ = ["search_exact"]
