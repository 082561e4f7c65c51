"""A genetic search: a population of genomes that are mixed dimension by dimension, changed a little, and selected."""

from __future__ import annotations

import math
import random
from collections.abc import Generator

from .moves import crossover, neighbour
from .sample import Genome, GenomeSpace
from .trajectory import Proposals

Scored = tuple[float, Genome]


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
