"""Small changes of a genome, and the mixing of two: what annealing and the genetic search move by.

Every move leads to a genome of the space, which need not fit; every genome can be reached from every other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from ...ir import ceil_div
from ..tilings import prime_exponents
from .sample import Genome, GenomeSpace

NeighbourMove = Callable[[GenomeSpace, Genome, random.Random], Genome]


def neighbour(space: GenomeSpace, genome: Genome, rng: random.Random, further: float = 0.4) -> Genome:
    """A genome one move away, or a few.

    further  chance that it is one more move away: one alone seldom gets past a full memory or a full array
    """
    genome = _one_move(space, genome, rng)
    while rng.random() < further:
        genome = _one_move(space, genome, rng)
    return genome


def crossover(space: GenomeSpace, first: Genome, second: Genome, rng: random.Random) -> Genome:
    """A child with each dimension's trips, and each tensor's memories, from either parent; orders from the first."""
    trips = [rng.choice(pair) for pair in zip(first.trips, second.trips, strict=True)]
    columns = [rng.choice(pair) for pair in zip(_by_tensor(first), _by_tensor(second), strict=True)]
    return space.assemble(tuple(zip(*columns, strict=True)), trips, first.orders, rng)


def _by_tensor(genome: Genome) -> list[tuple[bool, ...]]:
    """Per tensor, which memories keep it."""
    return list(zip(*genome.keeps, strict=True))


def _one_move(space: GenomeSpace, genome: Genome, rng: random.Random) -> Genome:
    moves = _TRIP_MOVES[space.tiling] + (_swap_loops, _toggle_bypass)
    return rng.choice(moves)(space, genome, rng)


def _move_factor(space: GenomeSpace, genome: Genome, rng: random.Random) -> Genome:
    """A prime factor of one loop's trips goes to another slot."""
    loops = [(d, i) for d, chain in enumerate(genome.trips) for i, trips in enumerate(chain) if trips > 1]
    if not loops:
        return genome
    dim, source = rng.choice(loops)
    targets = [i for i in _open_slots(space, genome, dim) if i != source]
    if not targets:
        return genome
    chain = list(genome.trips[dim])
    factor = rng.choice([p for p, times in prime_exponents(chain[source]).items() for _ in range(times)])
    chain[source] //= factor
    chain[rng.choice(targets)] *= factor
    return _with_chain(space, genome, dim, chain, rng)


def _change_trips(space: GenomeSpace, genome: Genome, rng: random.Random) -> Genome:
    """One loop gets a trip more or less, or any number of trips; the outermost loop covers what the others leave."""
    dims = [d for d, size in enumerate(space.sizes) if size > 1]
    if not dims:
        return genome
    dim = rng.choice(dims)
    slots = [i for i in _open_slots(space, genome, dim) if i != 0]
    if not slots:
        return genome
    chain = list(genome.trips[dim])
    slot = rng.choice(slots)
    most = max(2, ceil_div(space.sizes[dim], math.prod(chain[slot + 1 :])))
    chain[slot] = rng.choice((max(1, chain[slot] - 1), chain[slot] + 1, rng.randint(1, most)))
    return _with_chain(space, genome, dim, chain, rng)


def _swap_loops(_: GenomeSpace, genome: Genome, rng: random.Random) -> Genome:
    """Two temporal loops of one memory change places."""
    memories = [m for m, order in enumerate(genome.orders) if len(order) > 1]
    if not memories:
        return genome
    memory = rng.choice(memories)
    order = list(genome.orders[memory])
    a, b = rng.sample(range(len(order)), 2)
    order[a], order[b] = order[b], order[a]
    orders = (*genome.orders[:memory], tuple(order), *genome.orders[memory + 1 :])
    return Genome(genome.keeps, genome.trips, orders)


def _toggle_bypass(space: GenomeSpace, genome: Genome, rng: random.Random) -> Genome:
    """One memory begins or ceases to keep one tensor."""
    if not space.optional:
        return genome
    memory, tensor = rng.choice(space.optional)
    keeps = [list(row) for row in genome.keeps]
    keeps[memory][tensor] = not keeps[memory][tensor]
    return space.assemble(tuple(tuple(row) for row in keeps), genome.trips, genome.orders, rng)


_TRIP_MOVES: dict[str, tuple[NeighbourMove, ...]] = {
    "perfect": (_move_factor, _move_factor),
    "ragged": (_move_factor, _change_trips),
}
"""By tiling; a half of all moves changes trips."""


def _open_slots(space: GenomeSpace, genome: Genome, dim: int) -> list[int]:
    """Slots in which a dimension may have a loop."""
    memories = [space.slots[i].memory for i in space.allowed[dim]]
    return [
        i for i, memory in zip(space.allowed[dim], memories, strict=True) if memory is None or any(genome.keeps[memory])
    ]


def _with_chain(space: GenomeSpace, genome: Genome, dim: int, chain: list[int], rng: random.Random) -> Genome:
    trips = (*genome.trips[:dim], tuple(chain), *genome.trips[dim + 1 :])
    return space.assemble(genome.keeps, trips, genome.orders, rng)
