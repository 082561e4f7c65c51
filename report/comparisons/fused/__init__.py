"""Comparisons of whole networks on several machines: the best with fusing beside the best without.

rows.py        a network on a machine, and what fusing saves there
comparison.py  all of them, and what follows
findings.py    the same as sentences
tables.py      as tables
page.py        as parts of a page of text
html_page.py   as a page in a browser
picture.py     what fusing saves, drawn
"""

from __future__ import annotations

from .comparison import FusedComparison, fused_comparison_of
from .rows import FusedRow

__all__ = ["FusedComparison", "FusedRow", "fused_comparison_of"]
