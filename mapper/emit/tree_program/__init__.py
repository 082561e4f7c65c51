"""A fused mapping as a self-contained numpy program.

program.py      the whole text, and its parts that stand outside the loops
schedules.py    one schedule per operation, on buffers that they have in common
loops.py        the loops of the tree, the transfers at every node, and what is done at the points
points.py       what is done at a point, as an expression on arrays
direct.py       the operations one after the other, without a schedule
runtime_tree.py what all such programs have in common, besides the runtime of numpy_program
"""

from .program import emit_tree

__all__ = ["emit_tree"]
