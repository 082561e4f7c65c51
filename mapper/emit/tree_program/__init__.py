"""A fused mapping as a self-contained numpy program.

program.py      the whole text, and its parts that stand outside the loops
schedules.py    one schedule per operation, on buffers that they have in common
uneven.py       operations whose visits are not all alike: windows along shared loops
loops.py        the loops of the tree, and the transfers at nodes above its splits
leaf.py         a branch, and what is done at its points
finishes.py     what is done with complete words
points.py       what is done at a point, as an expression on arrays
direct.py       the operations one after the other, without a schedule
runtime_tree.py what all such programs have in common, besides the runtime of numpy_program
"""

from .finishes import parameter_key
from .program import RUNTIME, emit_tree, runtime_text, tree_lines

__all__ = ["RUNTIME", "emit_tree", "parameter_key", "runtime_text", "tree_lines"]
