"""Plans for several devices by brute force: all splits, and all ways to make what is read.

Shares with the search how an operation may be split, what a split needs and makes, and the cost of a single step.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Iterator, Mapping
from functools import cache

from tilewright.arch import load_arch
from tilewright.arch.system import KINDS, MeshAxis, System
from tilewright.cost_models.collectives import ReshardingSteps
from tilewright.ir.sharding import PARTIAL, REPLICATED, SPREAD, Deal, Placement, Sharding, Split
from tilewright.mapper.sharding import ShardingSpace
from tilewright.workloads import einsum, gemm
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source

DEVICE = load_arch("three_level")

Costs = Mapping[tuple[str, Split], float]


def some_system(rng: random.Random, axes: int) -> System:
    return System(
        "mesh",
        DEVICE,
        tuple(
            MeshAxis(
                "xyz"[i], rng.choice(KINDS), rng.choice([2, 2, 3, 4]), rng.choice([1e9, 4e9]), rng.choice([0, 2e-9])
            )
            for i in range(axes)
        ),
    )


def some_graph(rng: random.Random, operations: int) -> NetworkGraph:
    """Products, additions and norms of a few tensors of two axes, some of them read more than once."""
    rows, width = rng.choice([4, 6, 8]), rng.choice([4, 8])
    made: list[tuple[str, tuple[int, int]]] = [("given", (rows, width))]
    found = [Occurrence("given", "outside", shape=(rows, width))]
    for number in range(operations):
        name = f"o{number}"
        source, (m, k) = rng.choice(made[-2:])
        equal = [other for other, shape in made if shape == (m, k) and other != source]
        kind = rng.choice(["gemm", "gemm", "rmsnorm", "add", "scores"])
        if kind == "add" and equal:
            found.append(Occurrence(name, "add", (Source(source), Source(rng.choice(equal)))))
            made.append((name, (m, k)))
        elif kind == "rmsnorm":
            found.append(Occurrence(name, "rmsnorm", (Source(source),)))
            made.append((name, (m, k)))
        elif kind == "scores" and equal:
            problem = einsum("mk,nk->mn", m=m, n=m, k=k)
            found.append(Occurrence(name, "layer", (Source(source), Source(rng.choice(equal))), problem=problem))
            made.append((name, (m, m)))
        else:
            n = rng.choice([4, 8])
            found.append(Occurrence(name, "layer", (Source(source),), problem=gemm(m, n, k)))
            made.append((name, (m, n)))
    return NetworkGraph("some", tuple(found))


def some_costs(rng: random.Random, space: ShardingSpace) -> dict[tuple[str, Split], float]:
    """Less for what divides more, by a measure."""
    found = {}
    for name in space.names:
        whole = rng.choice([1e-7, 4e-7])
        for split in space.splits(name):
            shared = math.prod(n for n, dim in zip(space.sizes, split, strict=True) if dim not in (None, PARTIAL))
            found[name, split] = whole / shared * rng.choice([1, 1.1, 1.5])
    return found


class ByBruteForce:
    """All plans of a network."""

    def __init__(self, space: ShardingSpace, system: System, costs: Costs) -> None:
        self.space, self.system, self.costs = space, system, costs
        self.steps = ReshardingSteps(system)
        self._next = cache(self._next_of)
        self.making = cache(self._making)

    def best(self) -> float:
        return min(self.price(splits) for splits in self.choices())

    def choices(self) -> Iterator[dict[str, Split]]:
        names = self.space.names
        for splits in itertools.product(*(self.space.splits(name) for name in names)):
            yield dict(zip(names, splits, strict=True))

    def price(self, splits: Mapping[str, Split]) -> float:
        found = sum(self.costs[name, split] for name, split in splits.items())
        for name in self.space.names:
            ends = {
                self.space.needed(reader, splits[reader], number) for reader, number in self.space.readers.get(name, ())
            }
            is_output = name in self.space.outputs
            found += self.making(name, self.space.made(name, splits[name]), frozenset(ends), is_output)
            if math.isinf(found):
                break
        return found

    def _making(self, name: str, made: Sharding, ends: frozenset[Sharding], is_output: bool) -> float:
        """The least that it costs to hold all of some shardings, in any order, from one on: over sets of what is
        held."""
        start = self._with_slices(name, frozenset({made}))
        queue: list[tuple[float, int, frozenset[Sharding]]] = [(0.0, 0, start)]
        seen = {start: 0.0}
        tickets = itertools.count(1)
        while queue:
            value, _, held = heapq.heappop(queue)
            if value > seen[held]:
                continue
            if ends <= held and (not is_output or any(not {PARTIAL, SPREAD} & set(one) for one in held)):
                return value
            for one in held:
                for after, cost in self._next(name, one):
                    if after in held:
                        continue
                    more = self._with_slices(name, held | {after})
                    if value + cost < seen.get(more, math.inf):
                        seen[more] = value + cost
                        heapq.heappush(queue, (value + cost, next(tickets), more))
        return math.inf

    def _with_slices(self, name: str, held: frozenset[Sharding]) -> frozenset[Sharding]:
        """And all that nothing moves for."""
        found, waiting = set(held), list(held)
        while waiting:
            for after, cost in self._next(name, waiting.pop()):
                if not cost and after not in found:
                    found.add(after)
                    waiting.append(after)
        return frozenset(found)

    def _next_of(self, name: str, one: Sharding) -> list[tuple[Sharding, float]]:
        words, bits, found = self.space.words(name), self.space.bits(name), []
        for axis, placements in enumerate(self.placements(name)):
            for after in placements:
                step = self.steps.step(words, bits, one, after, axis)
                if step is not None:
                    found.append(((*one[:axis], after, *one[axis + 1 :]), step.seconds))
        return found

    def placements(self, name: str) -> list[set[Placement]]:
        """All that a tensor has along each axis, in whatever it is made or read."""
        every = [self.space.made(name, split) for split in self.space.splits(name)]
        for reader, number in self.space.readers.get(name, ()):
            every += [self.space.needed(reader, split, number) for split in self.space.splits(reader)]
        found: list[set[Placement]] = [{REPLICATED, *own} for own in zip(*every, strict=True)]
        return [own | {Deal(o.period, o.block) for o in own if isinstance(o, Deal)} for own in found]
