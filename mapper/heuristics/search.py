"""Heuristic search: one strategy, one budget, the best mapping found."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Mapping

from ...ir import TilewrightError, did_you_mean
from ..progress import answering
from ..question import NestQuestion
from .moves import crossover, neighbour
from .sample import Genome, GenomeSpace
from .trajectory import HeuristicResult, Proposals, Run


def search_heuristic(
    question: NestQuestion, heuristic: str = "random", seed: int = 0, evaluations: int | None = None
) -> HeuristicResult:
    """The best mapping of the even space that a heuristic finds within its budget; nothing is proven.

    question     its space and its constraints are not looked at; once its time limit is over, the search goes on only
                 until it has a first mapping
    heuristic    "random", "anneal" or "genetic"
    seed         with the same seed and the same evaluations alone, the result is the same on every run
    evaluations  mappings whose cost is computed; 2,000 if there is no time limit either

    KeyboardInterrupt ends the search early, if it has found something.
    Raises InfeasibleError when nothing that was tried fits, TilewrightError for an unknown heuristic or a wrong budget.
    """
    _check(heuristic, question.limits.time_s, evaluations)
    if question.limits.time_s is None and evaluations is None:
        evaluations = 2_000
    space = GenomeSpace(question.problem, question.arch, question.tiling)
    run = Run(space, question.objective, question.limits.time_s, evaluations)
    proposals = PROPOSALS[heuristic](space, random.Random(seed))
    try:
        with answering(run.progress):
            genome = next(proposals)
            while not run.spent():
                genome = proposals.send(run.value(genome))
    except KeyboardInterrupt:
        if not run.found:
            raise
    return run.result()


def _check(heuristic: str, time_limit: float | None, evaluations: int | None) -> None:
    if heuristic not in PROPOSALS:
        raise TilewrightError(f"unknown heuristic {heuristic!r}", hint=did_you_mean(heuristic, PROPOSALS))
    if time_limit is not None and not 0 <= time_limit < math.inf:
        raise TilewrightError(f"the time limit is {time_limit}, expected seconds, 0 or more")
    if evaluations is not None and evaluations < 1:
        raise TilewrightError(f"the budget is {evaluations} evaluations, expected 1 or more")


def random_sampling(space: GenomeSpace, rng: random.Random) -> Proposals:
    """Independent draws, without end. What does not fit is rejected, as by Timeloop's random-pruned mapper."""
    while True:
        yield space.draw(rng)


# Simulated annealing: a walk over neighbouring genomes that accepts worse ones, less and less willingly (Kirkpatrick,
# Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983).


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


Scored = tuple[float, Genome]


# A genetic search: a population of genomes that are mixed dimension by dimension, changed a little, and selected.


def genetic(space: GenomeSpace, rng: random.Random, stale: int = 25) -> Proposals:
    """Populations without end, each from random genomes; one that no longer gets better makes room for the next.

    stale  generations without a better genome after which that is so
    """
    while True:
        population = yield from _first(space, rng)
        unimproved = 0
        while unimproved < stale:
            best = population[0][0]
            population = yield from _next(space, population, rng)
            unimproved = 0 if population[0][0] < best else unimproved + 1


def _first(space: GenomeSpace, rng: random.Random, size: int = 40) -> Generator[Genome, float, list[Scored]]:
    """Random genomes that fit, best first."""
    population: list[Scored] = []
    while len(population) < size:
        genome = space.draw(rng)
        value = yield genome
        if value < math.inf:
            population.append((value, genome))
    return sorted(population, key=_value)


def _next(
    space: GenomeSpace, population: list[Scored], rng: random.Random, elite: int = 4, mutated: float = 0.7
) -> Generator[Genome, float, list[Scored]]:
    """The next generation, best first: the elite, and children that fit.

    elite    how many of the best live on unchanged
    mutated  chance that a child of two parents is changed; a child that equals a parent always is
    """
    children = population[:elite]
    while len(children) < len(population):
        first, second = _parent(population, rng), _parent(population, rng)
        child = crossover(space, first, second, rng)
        if child in (first, second) or rng.random() < mutated:
            child = neighbour(space, child, rng)
        value = yield child
        if value < math.inf:
            children.append((value, child))
    return sorted(children, key=_value)


def _parent(population: list[Scored], rng: random.Random, tournament: int = 3) -> Genome:
    """The best of a few, chosen at random."""
    return min(rng.sample(population, tournament), key=_value)[1]


def _value(scored: Scored) -> float:
    return scored[0]


PROPOSALS: Mapping[str, Callable[[GenomeSpace, random.Random], Proposals]] = {
    "random": random_sampling,
    "anneal": annealing,
    "genetic": genetic,
}
"""A heuristic is a generator of proposals: to add one, a function, a line here and one in `mapper/strategies.py`."""
