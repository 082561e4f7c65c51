"""The exact search: mapping, cost, certificate = search_exact(problem, arch, objective="edp", tiling="perfect")

`from_scratch.py` describes the algorithm as a whole. Each room answers one question, and imports from those below it
alone:

search.py      searches ahead of the search, which find incumbents sooner
from_scratch.py  the search: best first over batches of partial mappings; the proof
exploring/     what is grown next, and what has been found?
growing/       how does a partial mapping grow by one step?
bounds/        what does all that is still to come cost at least?
counting/      what do partial mappings hold and move, for many rows at once?
question/      what is asked, in fewer dimensions, and what has a partial mapping still to do?
tiles/         which tiles, trips and instances are there?
table_memo.py  the tables that were used last
rows.py        partial mappings as arrays, and counting over them
"""

from __future__ import annotations

from .search import search_exact

__all__ = ["search_exact"]
