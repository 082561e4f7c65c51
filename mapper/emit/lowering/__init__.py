"""A mapping as a scalar program, in no language yet.

loop_program.py  its statements, and how to walk them
lowering.py      from a mapping to its program
operation.py     an operation on its way through the tree, as a nest of its own
tiles.py         arrays of the tree's nodes, and shared loops along windows
bands.py         loops in a better order, and those that threads share
lifetimes.py     when buffers are in use
passing.py       tiles that only pass through a memory
nests.py         which statements are nests of one operation
register_tiles.py  how these are computed in registers, on a machine with caches
packs.py         copies of operands in the order in which that reads them
"""
