"""Heuristic searches of the even space, to compare the exact search with. They prove nothing.

mapping, cost = result.mapping, result.cost       where result = search_heuristic(question, "anneal")

search.py           one strategy, one budget: independent draws, simulated annealing, or a genetic search
sample.py           genomes: their random draw, whether they fit, the mapping of each
chains.py           uniform draws of the trips of one dimension
moves.py            neighbours and children of genomes
greedy.py           mappings that are written down without a search
neighbourhood.py    mappings near a given one, for the exact search
trajectory.py       budget, counts, and the best so far
"""

from .search import PROPOSALS, search_heuristic
from .trajectory import HeuristicResult, TrajectoryStep

__all__ = ["PROPOSALS", "HeuristicResult", "TrajectoryStep", "search_heuristic"]
