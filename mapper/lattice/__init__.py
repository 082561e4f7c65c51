"""A second exact search of one operation, over perfect tilings of the even space: tiles as numbers, tables as running
minima, one leader per tile.

search.py          the search: roots, a dive, the loop of `kernel/`; what comes first where a halo is exact
batch.py           the states: rows of partial mappings, and how they grow
space.py           what all states of one search share
plain_question.py  operation, machine and objective as plain numbers
lattice.py         tiles as numbers of prime exponents
arrays.py          choices of parallel loops
placement.py       which memory keeps what; boundaries
counting.py        words that cross a boundary, exactly, as columns of costs
look_ups.py        functions of extents, worked out once
orders.py          orders of a band that are worth trying
walks.py           what these cost
halo.py            halo `innermost`: ways to slide
exact_halo.py      halo `exact`: a band as a walk through subsets of its loops
future.py          halo `exact`: what is still given at least, as a table
late.py            windows that bands tear apart
bounds.py          what the rest costs at least
standing.py        when one row stands for another
nest.py            a complete row as a mapping
answers.py         a mapping with its cost
columns.py         names of types
"""

from .search import LatticeSearch

__all__ = ["LatticeSearch"]
