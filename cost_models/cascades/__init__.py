"""What a fused mapping costs: the simulator that defines its counts, the closed form, capacity, energy and latency."""

from .closed_form import count_tree
from .simulator import simulate_tree
from .ways import Way, ways_of

__all__ = ["Way", "count_tree", "simulate_tree", "ways_of"]
