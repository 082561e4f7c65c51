"""What programs in all languages have in common.

names.py        names and text of users, made safe
steps.py        loops as digits of indexes
exactness.py    kinds of elements; points as text; whole numbers of which all results are exact
packing.py      operands that are packed
trees.py        mappings of any kind as trees; what is done with complete words
"""
