"""A genetic search: a population of genomes that are mixed dimension by dimension, changed a little, and selected."""

from __future__ import annotations

import math
import random
from collections.abc import Generator

from .moves import crossover, neighbour
from .sample import Genome, GenomeSpace
from .trajectory import Proposals

POPULATION = 40
ELITE = 4
"""The best of a population, which live on unchanged."""
TOURNAMENT = 3
"""A parent is the best of this many, chosen at random."""
MUTATED = 0.7
"""Chance that a child of two parents is changed; a child that equals a parent always is."""
STALE = 25
"""Generations without a better genome after which the search begins anew."""

Scored = tuple[float, Genome]


def genetic(space: GenomeSpace, rng: random.Random) -> Proposals:
    """Populations without end, each from random genomes; one that no longer gets better makes room for the next."""
    while True:
        population = yield from _first(space, rng)
        stale = 0
        while stale < STALE:
            best = population[0][0]
            population = yield from _next(space, population, rng)
            stale = 0 if population[0][0] < best else stale + 1


def _first(space: GenomeSpace, rng: random.Random) -> Generator[Genome, float, list[Scored]]:
    """Random genomes that fit, best first."""
    population: list[Scored] = []
    while len(population) < POPULATION:
        genome = space.draw(rng)
        value = yield genome
        if value < math.inf:
            population.append((value, genome))
    return sorted(population, key=_value)


def _next(space: GenomeSpace, population: list[Scored], rng: random.Random) -> Generator[Genome, float, list[Scored]]:
    """The next generation, best first: the elite, and children that fit."""
    children = population[:ELITE]
    while len(children) < POPULATION:
        first, second = _parent(population, rng), _parent(population, rng)
        child = crossover(space, first, second, rng)
        if child in (first, second) or rng.random() < MUTATED:
            child = neighbour(space, child, rng)
        value = yield child
        if value < math.inf:
            children.append((value, child))
    return sorted(children, key=_value)


def _parent(population: list[Scored], rng: random.Random) -> Genome:
    return min(rng.sample(population, TOURNAMENT), key=_value)[1]


def _value(scored: Scored) -> float:
    return scored[0]
