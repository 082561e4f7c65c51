"""What a fused mapping costs: the simulator that defines its counts, the closed form, capacity, energy and latency."""

from .asks import Ask, includes, reads_all, reads_plainly, words_exchanged
from .capacity import Held, Occupancy, check_capacity, live_in, occupancy, tiles_in
from .closed_form import count_tree, count_way
from .cost import FusedCost, cost_of_counts, evaluate_tree
from .lines import lines_of_tree
from .open_layouts import evaluate_open_tree, with_best_layouts
from .simulator import simulate_tree, walk_tree_lines
from .tensor_layouts import check_lined_cascade, with_tree_layouts
from .visit_cost import TakenBits, kinds_of_visits, taken_bits, visit_cost
from .visits import VisitSizes
from .ways import Way, fillers_of, home_of, left_boundaries, ways_of, without_transfers

__all__ = [
    "Ask",
    "FusedCost",
    "Held",
    "Occupancy",
    "TakenBits",
    "VisitSizes",
    "Way",
    "check_capacity",
    "check_lined_cascade",
    "cost_of_counts",
    "count_tree",
    "count_way",
    "evaluate_open_tree",
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
    "simulate_tree",
    "taken_bits",
    "tiles_in",
    "visit_cost",
    "walk_tree_lines",
    "ways_of",
    "with_best_layouts",
    "with_tree_layouts",
    "without_transfers",
    "words_exchanged",
]
