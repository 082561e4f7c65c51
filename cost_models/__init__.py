"""The cost of a mapping: counts, energy and latency, and the simulator that checks the counts."""

from .closed_form import count_words
from .cost import Cost, Held, MemoryUse, NetworkUse, TensorTraffic, check_fit, cost_of
from .counts import Accesses, AccessTable, Counts
from .objective import EDP, ENERGY, LATENCY, OBJECTIVES, Capped, Objective, ObjectiveLike, parse_objective
from .open_choices import best_choices, evaluate, evaluate_open
from .ports import PortUse
from .roofline import Roof, Roofline, roofline
from .simulator import SimulationError, simulate

__all__ = [
    "EDP",
    "ENERGY",
    "LATENCY",
    "OBJECTIVES",
    "AccessTable",
    "Accesses",
    "Capped",
    "Cost",
    "Counts",
    "Held",
    "MemoryUse",
    "NetworkUse",
    "Objective",
    "ObjectiveLike",
    "PortUse",
    "Roof",
    "Roofline",
    "SimulationError",
    "TensorTraffic",
    "best_choices",
    "check_fit",
    "cost_of",
    "count_words",
    "evaluate",
    "evaluate_open",
    "parse_objective",
    "roofline",
    "simulate",
]
