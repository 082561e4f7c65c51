"""What a fused mapping costs: the closed form of its counts, capacity, energy and latency."""

from ..cost import Held, Occupancy
from .asks import Ask, includes, reads_all, reads_plainly, words_exchanged
from .capacity import check_capacity, live_in, occupancy, tiles_in
from .closed_form import count_tree, count_way
from .cost import RunTotals, cost_of_counts, evaluate_tree, lines_of_tree, whole_cost
from .open_layouts import with_best_layouts
from .tensor_layouts import check_lined_cascade, with_work_layouts
from .visit_cost import TakenBits, kinds_of_visits, taken_bits, visit_cost
from .visits import VisitSizes
from .ways import Way, fillers_of, home_of, left_boundaries, ways_of, without_transfers

__all__ = [
    "Ask",
    "Held",
    "Occupancy",
    "RunTotals",
    "TakenBits",
    "VisitSizes",
    "Way",
    "check_capacity",
    "check_lined_cascade",
    "cost_of_counts",
    "count_tree",
    "count_way",
    "evaluate_tree",
    "fillers_of",
    "home_of",
    "includes",
    "kinds_of_visits",
    "left_boundaries",
    "lines_of_tree",
    "live_in",
    "occupancy",
    "reads_all",
    "reads_plainly",
    "taken_bits",
    "tiles_in",
    "visit_cost",
    "ways_of",
    "whole_cost",
    "with_best_layouts",
    "with_work_layouts",
    "without_transfers",
    "words_exchanged",
]
