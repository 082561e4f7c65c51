"""What programs in all languages have in common.

names.py        names and text of users, made safe
elements.py     kinds of elements
steps.py        loops as digits of indexes
exactness.py    whole numbers of which all results are exact
expressions.py  what is done at a point, as text
packing.py      operands that are packed
finish.py       what is done with complete words
trees.py        mappings of any kind as trees
"""
