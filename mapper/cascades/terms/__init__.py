"""Trees hold these: branches, shared loops, nodes above splits, exchanges, windows, iterations; what each costs.

branch.py            what a branch of one operation is asked
sharing.py           which dimensions may be one loop
windowed.py          visits that are not alike: loops along what readers see through windows
ragged_loops.py      shared loops of which the last step is shorter
parts.py             a part of a tree, and what it finds around it
upper_memories.py    the memories outside all arrays
upper_nodes.py       what nodes above a split cost
placing.py           where nodes may stand among shared loops
exchanges.py         memories that exchange intermediates at a split
generations.py       iterations: loops from one generation to the next, and where these stand
window_passing.py    where such intermediates pass, and whether rows are kept
sums.py              partial sums that are wider than words: where they have room
tree_rules.py        what the rules of trees are given
operation_orders.py  in which operations can be done
"""
