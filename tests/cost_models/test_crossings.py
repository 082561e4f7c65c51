"""What every loop moves, and what every array shares: word by word as in the simulator."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from loop_recorder import Recorder, random_case
from tilewright.cost_models.closed_form import count_words
from tilewright.cost_models.crossings import Words, crossings_of
from tilewright.cost_models.simulator import FIRST_STEP, Walk


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
