"""A whole network as groups of operations, each mapped as one tree: which groups cost least, proven.

search.py     the question, the answer, its certificate
lazy_path.py  the cheapest way where the cost of a step takes long to find
equal.py      groups that differ in names alone
arenas.py     what a network's mapping holds in every memory, over the run
"""

from __future__ import annotations

from .arenas import Arena, over_the_run
from .search import MOST, Apart, NetworkAnswer, NetworkQuestion, Segment, segment

__all__ = [
    "MOST",
    "Apart",
    "Arena",
    "NetworkAnswer",
    "NetworkQuestion",
    "Segment",
    "over_the_run",
    "segment",
]
