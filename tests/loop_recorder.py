"""A walk of the simulator that remembers at which loop's steps words moved."""

from __future__ import annotations

import random
from collections import defaultdict

from generators import random_architecture, random_mapping, random_problem, with_extras
from tilewright.arch import Architecture
from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.simulator import Walk
from tilewright.ir import Mapping

Key = tuple[str, int, int]
"""Tensor, position of the inner node, and the loop that stepped."""


class Recorder(Walk):
    """A walk that remembers at which loop's steps words came into every inner memory, and left the outer ones."""

    def __init__(self, mapping: Mapping, arch: Architecture) -> None:
        super().__init__(mapping, arch)
        self.delivered: dict[Key, int] = defaultdict(int)
        self.taken: dict[Key, int] = defaultdict(int)

    def _key(self, boundary: Boundary) -> Key:
        return boundary.tensor.name, boundary.inner_position, self.moved_loop

    def _sum(self, memory: str, tensor: str, what: str) -> int:
        return sum(getattr(a, what) for (m, t, _), a in self.instance_accesses.items() if (m, t) == (memory, tensor))

    def fill(self, boundary: Boundary, time: dict[int, int]) -> None:
        assert boundary.inner is not None
        tensor = boundary.tensor.name
        before = self._sum(boundary.inner.name, tensor, "fills"), self._sum(boundary.outer.name, tensor, "reads")
        super().fill(boundary, time)
        self.delivered[self._key(boundary)] += self._sum(boundary.inner.name, tensor, "fills") - before[0]
        self.taken[self._key(boundary)] += self._sum(boundary.outer.name, tensor, "reads") - before[1]

    def admit(self, boundary: Boundary, time: dict[int, int]) -> None:
        held = set(self.holders[boundary.inner_position].tile)
        super().admit(boundary, time)
        tiles = self.holders[boundary.inner_position].tile
        self.delivered[self._key(boundary)] += sum(len(tile) for place, tile in tiles.items() if place not in held)


def random_case(seed: int, *extras: str) -> tuple[Mapping, Architecture]:
    rng = random.Random(seed)
    problem = random_problem(rng, 4)
    arch = random_architecture(rng, reuse=rng.choice(["across_levels", "across_levels", "at_node"]))
    return random_mapping(rng, problem, arch), with_extras(rng, arch, *extras)
