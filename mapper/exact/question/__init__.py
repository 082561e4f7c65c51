"""What is asked, as the steps of a search see it.

reduced.py       the question with fewer dimensions, arrays with one axis each, packed lines
canonical.py     the problem with fewer dimensions, and the way back
single_axes.py   an array with one axis
zero_rules.py    operands with zeros: which rules of the search hold
surroundings.py  what stands around a mapping that is a branch of a tree
hierarchy.py     machine and placements from the inside out, and what a growing mapping has still to do
limits.py        constraints, as the steps ask for them
"""
