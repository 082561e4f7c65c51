"""The search over trees: the best fused mapping of a cascade, proven.

question.py       what is asked, and what is answered
forms.py          cascades that can be computed in several ways: one search for each form
answers.py        one form: the search for the machine
search.py         which weighted sums are searched: for sums, products, fronts, within limits
proofs.py         what a search proves: the certificate, or why there is nothing
filled.py         latency with the time of first tiles
overlapped.py     latency where operations overlap
prices.py         energy on a machine where cycles of resources cost
operation_orders.py in which operations can be done
weighted_sums.py  the tree of least weight, over all orders of operations
first_trees.py    good trees that are found soon
tree_searches.py  how a search over trees is set up; what the cost model says of a tree
regions.py        energies and latencies that no mapping has, and those that matter still
tree_search.py    branch and bound over parts of a tree, from the outside in
above_splits.py   nodes above a split that fit, and what is below them
splits.py         branches of a split: which there may be, and what they find
leaves.py         branches of one operation
front_search.py   all that may be best where energy and latency are weighed in other ways
part_bounds.py    what parts weigh at least
operation_bounds.py  what single operations take at least, with endless room
single_bounds.py  what a cascade weighs at least, by its operations one by one
nothing_shared.py what all trees weigh at least where operations have nothing in common on chip
single_branches.py what the branch of each of them weighs
shared_steps.py   what they weigh together that make the steps of loops
run_exchanges.py  into how many parts loops cut what they exchange
ragged_loops.py   shared loops of which the last step is shorter
equal.py          cascades that differ in names alone
shared_loops.py   loops above a split: all choices
node_choices.py   nodes of tensors from outside, above a split: all choices that fit
exchanges.py      memories that exchange intermediates at a split
tree_constraints.py  what users ask of trees
parts.py          a part of a tree, and what it finds around it
sharing.py        which dimensions may be one loop
windowed.py       visits that are not alike: loops along what readers see through windows
uneven_shares.py  what such visits take of as many even ones
window_passing.py where such intermediates pass, and whether rows are kept
generations.py    iterations: loops from one generation to the next, and where these stand
placing.py        where nodes may stand among shared loops
upper_nodes.py    what nodes above a split cost
upper_memories.py the memories outside all arrays
branch.py         what a branch of one operation is asked
loop_bounds.py    what a part weighs at least, for all orders and trips of its loops at once
tensor_bounds.py  what one choice for a tensor takes with these
loop_weights.py   what a part weighs that takes so much more than its operations
room_bounds.py    what operations take more in the room that nodes leave them
loop_orders.py    in which orders loops above a split are looked at
loop_choices.py   what choices for nodes take at least; what is known of them
oracle.py         branches answered by the exact search of one operation
branch_search.py  which search that is
known_branches.py answers, and what follows from them
mirrored.py       branches and trees that are mirror images of others
merged_dims.py    dimensions that always move together
apart_ranks.py    ranks of several dimensions that are as good as one for each
shared_branches.py  what searches of several cascades know of equal operations
twins.py          operations that differ in names alone
fewer_steps.py    shared loops that others with fewer steps rule out
tables/           branches answered by tables, where these are exact
sums.py           partial sums that are wider than words: where they have room
held_sums.py      sums that are unfinished while other operations work
weights.py        sums of energy and latency
"""

from __future__ import annotations

from .answers import bound_by_singles
from .forms import (
    ITERATED_SECONDS,
    bound_cascade,
    forms_with_bounds,
    iterates,
    search_cascade,
    search_cascade_below,
    search_cascade_front,
)
from .operation_bounds import Nearest
from .question import CascadeAnswer, CascadeQuestion, NothingBelow, TriedForm
from .shared_branches import SharedBranches, sharing
from .single_bounds import SingleLeast
from .tree_search import Fuse

__all__ = [
    "ITERATED_SECONDS",
    "CascadeAnswer",
    "CascadeQuestion",
    "Fuse",
    "Nearest",
    "NothingBelow",
    "SharedBranches",
    "SingleLeast",
    "TriedForm",
    "bound_by_singles",
    "bound_cascade",
    "forms_with_bounds",
    "iterates",
    "search_cascade",
    "search_cascade_below",
    "search_cascade_front",
    "sharing",
]
