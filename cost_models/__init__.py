"""What a mapping costs: counts, energy, latency; and the simulator that checks the counts."""

from .closed_form import count_words
from .cost import OBJECTIVES, Cost, MemoryUse, Objective, TensorTraffic, check_fit, cost_of, evaluate, objective_value
from .counts import Accesses, AccessTable, Counts
from .simulator import SimulationError, simulate

__all__ = [
    "OBJECTIVES",
    "AccessTable",
    "Accesses",
    "Cost",
    "Counts",
    "MemoryUse",
    "Objective",
    "SimulationError",
    "TensorTraffic",
    "check_fit",
    "cost_of",
    "count_words",
    "evaluate",
    "objective_value",
    "simulate",
]
