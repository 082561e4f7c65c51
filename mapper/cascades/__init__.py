"""The search over trees: the best fused mapping of a cascade, proven.

question.py       what is asked, and what is answered
forms.py          cascades that can be computed in several ways: one search for each form
answers.py        one form: the search for the machine
tree_searches.py  how a search over trees is set up; what the cost model says of a tree
tree_search.py    branch and bound over parts of a tree, from the outside in
objectives/       sums, products, fronts and limits of energy and latency, as searches of weighted sums; the proof
recounts/         relaxed machines: searched, and what is found counted again on the true one
space/            how a tree grows: shared loops, nodes above a split, branches below it
relaxations/      what parts of a tree cost at least
branches/         branches, answered by the exact search of one operation; isomorphic ones once
tables/           branches answered by tables, where these are exact
terms/            what trees are made of, and what each part costs
"""

from __future__ import annotations

from .answers import least_energies, without_search
from .branches.shared_branches import SharedBranches, sharing
from .forms import (
    bound_cascade,
    forms_with_bounds,
    iterates,
    search_cascade,
    search_cascade_below,
    search_cascade_front,
)
from .question import NothingBelow
from .relaxations.operation_bounds import Nearest

__all__ = [
    "Nearest",
    "NothingBelow",
    "SharedBranches",
    "bound_cascade",
    "forms_with_bounds",
    "iterates",
    "least_energies",
    "search_cascade",
    "search_cascade_below",
    "search_cascade_front",
    "sharing",
    "without_search",
]
