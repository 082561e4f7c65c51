"""Programs in C99.

program.py   the whole text
schedule.py  loops, copies and points
nests.py     nests of one operation, in registers too
packed.py    operands that are packed
direct.py    operations in plain loops, one after the other
text.py      names, comments, expressions
runtime.py   what all programs have in common
"""
