"""The cheapest way through states whose steps together take no more room than there is.

Steps take bits for weights that lie on chip all the time. With a price for each bit, the cheapest way bounds the
others: no way that fits costs less than it does, less what the whole room would. What is left between that and the
cheapest such way that fits is little, and looked at by cost and bits at once (`front_path.py`): what is better costs no
more than that way, takes no more bits than there are, and with the price no more than both together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..kernel.tolerance import reaches
from ..pareto.weights import AtLeast
from .front_path import StepChoice, StepWithChoices, TooManyLabels, front_of_ways
from .group_edges import GroupEdge
from .lazy_path import ChosenWay, Edge, cheapest


class _Way(NamedTuple):
    """A path with its cost and the bits that it takes."""

    cost: float
    bits: int
    edges: list[Edge]


class LagrangianPath:
    """Ways through states by some edges, which rise by their starts.

    room  bits that the weights of a way's edges may take together
    """

    def __init__(self, states: int, edges: Sequence[GroupEdge], room: int) -> None:
        self.states, self.edges, self.room = states, edges, room
        self._bits = {id(edge): sum(weight.bits for weight in edge.weights.values()) for edge in edges}

    def cheapest(self, cost: Callable[[Edge], float], most_prices: int = 30) -> ChosenWay:
        """Return the cheapest path that fits into the room, and a lower bound on all that fit; where too many may fit,
        a good path."""
        dear = 1 + sum(one for one in map(cost, self.edges) if one < math.inf)
        left, right = self._least(cost, 0.0), self._least(cost, dear)
        if right.bits > self.room or not right.edges:
            return ChosenWay(math.inf, math.inf, [])
        if left.bits <= self.room:
            return ChosenWay(left.cost, left.cost, left.edges)
        price = least = 0.0
        for _ in range(most_prices):
            price = (right.cost - left.cost) / (left.bits - right.bits)
            found = self._least(cost, price)
            weight = found.cost + price * found.bits
            least = max(least, weight - price * self.room)
            if reaches(weight, right.cost + price * right.bits):
                break
            left, right = (left, found) if found.bits <= self.room else (found, right)
        if reaches(least, right.cost):
            return ChosenWay(right.cost, right.cost, right.edges)
        return self._between(cost, price, right, least)

    def _between(self, cost: Callable[[Edge], float], price: float, known: _Way, least: float) -> ChosenWay:
        """Return the cheapest path that fits and costs no more than a known path."""
        steps = []
        for edge in self.edges:
            own, bits = cost(edge), self._bits[id(edge)]
            if own < math.inf:
                choice = StepChoice(AtLeast(own, bits, own + price * bits), edge)
                steps.append(StepWithChoices(edge.start, edge.end, edge.stays, (choice,)))
        most = AtLeast(known.cost, self.room, known.cost + price * self.room)
        try:
            ways = front_of_ways(self.states, steps, most)
        except TooManyLabels:
            return ChosenWay(known.cost, least, known.edges)
        best = min(ways, key=lambda way: way.least.energy, default=None)
        if best is None:  # but for rounding the known one is among them
            return ChosenWay(known.cost, known.cost, known.edges)
        return ChosenWay(best.least.energy, best.least.energy, [edge for edge in best.whats if isinstance(edge, Edge)])

    def _least(self, cost: Callable[[Edge], float], price: float) -> _Way:
        """The cheapest way where each bit has a price."""
        _, way = cheapest(self.states, self.edges, lambda edge: cost(edge) + price * self._bits[id(edge)])
        return _Way(sum(map(cost, way)), sum(self._bits[id(edge)] for edge in way), way)
