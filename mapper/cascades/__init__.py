"""The search over trees: the best fused mapping of a cascade, proven.

search.py         objectives, orders of operations, the certificate
tree_search.py    branch and bound over parts of a tree, from the outside in
parts.py          a part of a tree, and what it finds around it
sharing.py        which dimensions may be one loop
placing.py        where nodes may stand among shared loops
upper_nodes.py    what nodes above a split cost
upper_memories.py the memories outside all arrays
branch.py         what a branch of one operation is asked
oracle.py         branches answered by the exact search of one operation
weights.py        sums of energy and latency
"""

from __future__ import annotations

from .search import CascadeAnswer, CascadeQuestion, search_cascade, search_cascade_front
from .tree_search import Fuse

__all__ = ["CascadeAnswer", "CascadeQuestion", "Fuse", "search_cascade", "search_cascade_front"]
