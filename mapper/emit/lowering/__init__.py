"""A mapping as a scalar program, in no language yet.

loop_program.py         its statements
lowering.py             of one operation
tree_scalar_program.py  the program of a tree, and how to walk one
tree_lowering.py        of a tree
tree_operation.py       an operation on its way through a tree
tree_tiles.py           arrays of a tree's nodes
tree_windows.py         shared loops along windows
bands.py                loops in a better order
lifetimes.py            when buffers are in use
passing.py              tiles that only pass through a memory
"""
