"""Programs in C99.

program.py       of one operation
tree.py          of a tree
schedule.py      loops and copies
packed.py        operands that are packed
direct.py        operations in plain loops
cascade.py       operations one after the other
text.py          names, comments, expressions
runtime.py       what all programs have in common
tree_runtime.py  and those of trees besides
"""
