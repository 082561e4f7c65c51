"""A tree grows by these choices: shared loops, nodes above a split, branches below it.

shared_loops.py  loops above a split: all choices
fewer_steps.py   shared loops that others with fewer steps rule out
node_choices.py  nodes of tensors from outside, above a split: all choices that fit
above_splits.py  nodes above a split that fit, and what is below them
splits.py        branches of a split: which there may be, and what they find
leaves.py        branches of one operation
"""
