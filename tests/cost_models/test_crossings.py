"""What every loop moves, and what every array shares: word by word as in the simulator."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from generators import random_architecture, random_mapping, random_problem
from tilewright.arch import Architecture
from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.closed_form import count_words
from tilewright.cost_models.crossings import Words, crossings_of
from tilewright.cost_models.simulator import FIRST_STEP, Walk
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


def random_case(seed: int) -> tuple[Mapping, Architecture]:
    rng = random.Random(seed)
    problem = random_problem(rng, 4)
    arch = random_architecture(rng, reuse=rng.choice(["across_levels", "across_levels", "at_node"]))
    return random_mapping(rng, problem, arch), arch


@settings(max_examples=120)
@given(st.integers(0, 10**9))
def test_every_loop_moves_the_words_that_the_simulator_sees(seed: int) -> None:
    mapping, arch = random_case(seed)
    walk = Recorder(mapping, arch)
    walk.run()
    seen = 0
    for crossing in crossings_of(mapping, arch):
        boundary = crossing.boundary
        if boundary.inner is None:
            continue
        at = boundary.tensor.name, boundary.inner_position
        for loop, words in ((FIRST_STEP, crossing.first), *crossing.moved.items()):
            assert words.delivered == walk.delivered.pop((*at, loop), 0), (at, loop)
            if not boundary.tensor.is_output:
                assert words.taken == walk.taken.pop((*at, loop), 0), (at, loop)
            seen += words.delivered
        for loop in crossing.stays:
            assert not walk.delivered.pop((*at, loop), 0)
    assert not any(walk.delivered.values())  # no step of any other loop moved a word
    assert seen or len(arch.memories) == 1 or len({node.memory for node in mapping.nest.nodes}) == 1


@settings(max_examples=150)
@given(st.integers(0, 10**9))
def test_totals_are_the_counts_of_the_model(seed: int) -> None:
    mapping, arch = random_case(seed)
    counts = count_words(mapping, arch).total
    for crossing in crossings_of(mapping, arch):
        boundary, total = crossing.boundary, crossing.total
        outer = counts[boundary.outer.name, boundary.tensor.name]
        if not boundary.tensor.is_output:
            assert total.taken == outer.reads
            assert boundary.inner is None or total.delivered == counts[boundary.inner.name, boundary.tensor.name].fills
        else:
            assert total.taken == outer.writes - outer.fills
            if boundary.inner is not None:
                assert total.delivered == counts[boundary.inner.name, boundary.tensor.name].drains
        if boundary.inner is None:
            assert total.delivered == mapping.problem.macs
        assert total.wanted >= total.delivered >= total.taken


@settings(max_examples=60)
@given(st.integers(0, 10**9))
def test_a_shared_word_is_counted_as_often_without_the_sharing(seed: int) -> None:
    mapping, arch = random_case(seed)
    crossings = crossings_of(mapping, arch)
    for number, crossing in enumerate(crossings):
        for loop, share in crossing.shares.items():
            joined = crossing.boundary.reduced if crossing.boundary.tensor.is_output else crossing.boundary.multicast
            walk = Walk(mapping, arch)
            apart = replace(crossing.boundary, multicast=joined - {loop}, reduced=joined - {loop})
            walk.boundaries = tuple(apart if i == number else c.boundary for i, c in enumerate(crossings))
            walk.legs = dict.fromkeys(walk.legs, ())
            counts = walk.run().total[apart.outer.name, apart.tensor.name]
            taken = counts.writes - counts.fills if apart.tensor.is_output else counts.reads
            assert share * crossing.total.taken == taken or abs(share * crossing.total.taken - taken) < 1e-6
            assert share == 1 or loop in joined


def test_words_add_up() -> None:
    assert Words(3, 2, 1) + Words(4, 4, 4) == Words(7, 6, 5)
