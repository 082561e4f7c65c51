"""Which part of a mapping space is asked for.

constraints.py   what a search is given: limits by name, for one problem and one machine
files.py         how users write them: files, and the dataflows that come with tilewright
inline.py        the same on one line
names.py         the names in them, looked up
violations.py    what a mapping breaks of them
conflicts.py     which of them leave nothing
trees.py         what users ask of trees of cascades, and how they write it
fixed_tiles.py   tiles that they fix, against capacities
dataflows/       weight-stationary and others, as such files
"""

from __future__ import annotations

from .constraints import Constraints, combine

__all__ = ["Constraints", "combine"]
