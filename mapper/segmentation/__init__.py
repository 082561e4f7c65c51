"""The search for the segmentation of a network: groups of operations, each mapped as one tree, that together cost
least, with the proof.

question.py   what is asked, and what is answered
search.py     the way in, by objective
group_search.py the least of a weighted sum, with its certificate
group_costs.py what groups cost: which are searched next, for how long
left_aside.py what is proven where plans were left aside
corners.py    the least of several weighted sums: corners of all energies and latencies
limits.py     the best within limits, or by a formula: at corners, or between them
front_ways.py what lies between corners, found and proven
front_path.py ways of which no other one costs as little energy and latency
group_fronts.py trees of a group of which none costs as little energy and latency
front_searches.py these searched, within limits on latency
residency.py  which tensors may stay on chip between groups
resident_weights.py  weights that lie on chip before the run
weight_choice.py which of these are best to keep, where not all have room
lagrangian_path.py  the cheapest path whose steps fit into the room that there is, by a Lagrangian relaxation
states.py     what has been done, and what stays: all orders of all groups
group_edges.py  a step, with what it costs
steps.py      the steps between states, and what each asks
kinds.py      groups that differ in names alone, with what is known of them
covers.py     groups for networks with too many states, by CP-SAT
searching.py  who searches groups: this process, or several others at once
ahead.py      weights that are fetched while the group before runs: the cheapest way with them
ahead_places.py  where these lie
lazy_path.py  the cheapest way where the cost of a step takes long to find
segments.py   from the cheapest way to segments with addresses
arenas.py     what a network's mapping holds in every memory, over the run
"""

from __future__ import annotations

from .arenas import Arena, over_the_run, planned_places
from .question import MOST, Apart, LeftOutWeight, NetworkAnswer, NetworkQuestion, Segment, StayingTensor
from .resident_weights import WeightsIn
from .search import check_objective, segment
from .searching import GroupLost, GroupOutcome, GroupSolvers, OneAfterTheOther, Solve, outcome_of
from .segments import on_its_own

__all__ = [
    "MOST",
    "Apart",
    "Arena",
    "GroupLost",
    "GroupOutcome",
    "GroupSolvers",
    "LeftOutWeight",
    "NetworkAnswer",
    "NetworkQuestion",
    "OneAfterTheOther",
    "Segment",
    "Solve",
    "StayingTensor",
    "WeightsIn",
    "check_objective",
    "on_its_own",
    "outcome_of",
    "over_the_run",
    "planned_places",
    "segment",
]
