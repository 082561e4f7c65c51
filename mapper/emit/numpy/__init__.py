"""Mappings as numpy programs that run on their own, move tiles through buffers, count words, and check themselves.

program.py          of one operation
tree.py             of a tree
verify.py           run one, and say what came of it
plan.py             what the program has to do at every step, and with which buffers
schedule.py         buffers, and how they are filled and drained, as text
schedules.py        one schedule per operation of a tree, on buffers that they have in common
uneven.py           operations whose visits are not all alike: windows along shared loops
loops.py            the nest as text
tree_loops.py       the loops of a tree, and the transfers at nodes above its splits
leaf.py             a branch, and what is done at its points
points.py           what is done at a point, as an expression on arrays
finishes.py         what is done with complete words
contraction.py      one step, or many, as one contraction
passes.py           what repeats in a large layer, and is run at once
meters.py           counting the words that move, as text
direct.py           an operation without a schedule
direct_cascade.py   operations one after the other
runtime.py          what every program has in common: pasted, as are the next ones
runtime_meters.py   meters
runtime_passes.py   passes
runtime_packed.py   the part that packs operands with zeros
runtime_check.py    the comparison with the direct computation
runtime_tree.py     what programs of trees have besides
"""
