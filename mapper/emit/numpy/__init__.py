"""Mappings as numpy programs that run on their own, move tiles through buffers, count words, and check themselves.

program.py           the whole text
verify.py            run one, and say what came of it
schedules.py         one schedule per operation, on buffers that they have in common
schedule.py          one operation's: views of buffers, and how they are filled and drained, as text
plan.py              what it has to do at every step, and with which buffers
loops.py             the loops of the tree, and the transfers at nodes above its splits
leaf.py              a branch, and what is done at its points
points.py            what is done at a point, as an expression on arrays
contraction.py       one step, or many, as one contraction
passes.py            what repeats in a large layer, and is run at once
uneven.py            operations whose visits are not all alike: windows along shared loops
finishes.py          what is done with complete words
meters.py            counting the words that move, as text
direct.py            the operations one after the other, without a schedule
runtime.py           what every program has in common: pasted, as are the next ones where they are needed
runtime_meters.py    meters
runtime_passes.py    passes
runtime_points.py    other operations than one sum of products
runtime_finishes.py  complete words
runtime_packed.py    operands with zeros that are packed
runtime_check.py     the comparison with the direct computation
"""
