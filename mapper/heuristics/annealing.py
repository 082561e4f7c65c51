"""Simulated annealing: a walk over neighbouring genomes that accepts worse ones, less and less willingly.

Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983.
"""

from __future__ import annotations

import math
import random

from .moves import neighbour
from .sample import GenomeSpace
from .trajectory import Proposals


def annealing(space: GenomeSpace, rng: random.Random, moves: int = 1_000) -> Proposals:
    """Rounds of annealing, without end, each from another random genome and twice as slow as the one before.

    moves  of the first round

    So no round has to know how much time there is, and a longer search begins like a shorter one.
    """
    while True:
        yield from _round(space, rng, moves)
        moves *= 2


def _round(space: GenomeSpace, rng: random.Random, moves: int, hot: float = 0.2, cold: float = 0.01) -> Proposals:
    """One round.

    hot, cold  temperatures at which it begins and ends: a mapping worse by that fraction is accepted with chance 1/e
    """
    value = math.inf
    while value == math.inf:
        genome = space.draw(rng)
        value = yield genome
    for step in range(moves):
        temperature = hot * (cold / hot) ** (step / moves)
        proposed = neighbour(space, genome, rng)
        if proposed == genome:
            continue
        found = yield proposed
        if _accepted(value, found, temperature, rng):
            genome, value = proposed, found


def _accepted(value: float, found: float, temperature: float, rng: random.Random) -> bool:
    if found <= value:
        return True
    worse = (found - value) / abs(value) if value else math.inf
    return rng.random() < math.exp(-worse / temperature)
