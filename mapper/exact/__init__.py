"""The exact search: mapping, cost, certificate = search_exact(problem, arch, objective="edp", tiling="perfect")

`search.py` describes the algorithm as a whole. From the outside in:

search.py        best first over batches of partial mappings; the proof
effort.py        everything that decides how long a search takes, and nothing that decides its result
exploring.py     what is grown next, and when better bounds are made
frontier.py      what is still open, by its bound
finishing.py     complete rows, evaluated
found.py         the best mappings so far, and the cutoff
limits.py        constraints, as the steps ask for them
single_axes.py   an array with one axis, as the search sees it
unmet_limits.py  why no mapping keeps the limits of an objective
canonical.py     the problem with fewer dimensions, and the way back
placements.py    step: which memories keep which tensor
array_choices.py  step: arrays, one fanout after the other, before any tile
simplest.py      the mapping that there is always time for
hierarchy.py     machine and placements from the inside out, and what a growing mapping has still to do
context.py       what all steps of a search have in common
batch.py         partial mappings that have taken the same steps
fanouts.py       bounds on rows of arrays; and putting an array in place when a mapping has grown to it
arrays.py        instances that a fanout's axes can realize
blocks.py        loops in time directly inside arrays, and where they may pay
trip_rules.py    where loops longer than the number of tiles asks for may pay
first_tiles.py   the innermost tiles, for many arrays at once
visits.py        which tiles mappings are made of, in a branch of a tree
surroundings.py  what stands around a mapping that is a branch of a tree
symmetry.py      dimensions that may change places
loops.py         step: the temporal loops up to the next group of storage nodes, and its tile
lines.py         memories with lines: words packed without a gap, and what is known to be more
zero_rules.py    operands with zeros: which rules of the search hold
zeros.py         what they leave of words and bits, at least
loop_band.py     the rows of a stage of these loops, and how their tiles grow
dominance.py     rows that another one stands for
bounds/          what all that is still to come costs at least
cost_columns.py  from words to cost columns: energy, and cycles of every port
fill_point.py    where a boundary is charged
traffic.py       words that cross between memories, for many partial mappings at once
row_loops.py     the loops of these mappings, dimension by dimension
rank_traffic.py  words along single ranks of a tensor
windows.py       words along a rank of several dimensions, for one setting of the loops
footprints.py    tiles in words, and whether a memory has room for them
rows.py          partial mappings as arrays, and counting over them
nest_builder.py  from a complete row to a mapping
"""

from __future__ import annotations

from .search import search_exact

__all__ = ["search_exact"]
