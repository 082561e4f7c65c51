"""Weights that come while the group before runs, against a walk of the ports word by word."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from longer import seeds
from tilewright.cost_models.cascades.ahead import Fetch, GroupTurns, Turn


@dataclass
class Walked:
    """A group as the walk sees it: of every operation cycles without the two ports, and words of each; of every tile
    that may come ahead its operation and its words; and how many words have room while the group before runs."""

    operations: list[tuple[int, int, int]]
    tiles: list[tuple[int, int]]
    room: int
    there: list[int] = field(default_factory=list)


def walk(groups: list[Walked]) -> list[int]:
    """The cycles of every group: in each cycle a port passes one word, of the group that runs if it has any left. A
    word of the next group has come once it has passed both ports."""
    found = []
    for number, group in enumerate(groups):
        after = groups[number + 1] if number + 1 < len(groups) else Walked([], [], 0)
        passed, cycles = [0, 0], 0
        for place, (compute, *words) in enumerate(group.operations):
            ahead = sum(there for (at, _), there in zip(group.tiles, group.there, strict=False) if at == place)
            left = [one - ahead for one in words]
            while compute > 0 or max(left) > 0:
                cycles, compute = cycles + 1, compute - 1
                for port in (0, 1):
                    if left[port] > 0:
                        left[port] -= 1
                    else:
                        passed[port] += 1
        come = min(*passed, after.room)
        for _, size in after.tiles:
            after.there.append(min(size, come))
            come -= after.there[-1]
        found.append(cycles)
    return found


@pytest.mark.parametrize("seed", seeds(300))
def test_the_recurrence_is_a_walk_word_by_word(seed: int) -> None:
    draw = random.Random(seed)
    chain = []
    for _ in range(draw.randint(2, 6)):
        tiles = sorted((draw.randrange(2), draw.randint(0, 30)) for _ in range(draw.randint(0, 3)))
        operations = []
        for place in range(2):
            own = sum(words for at, words in tiles if at == place)  # over both ports, with whatever else passes
            operations.append((draw.randint(0, 60), *(own + draw.randint(0, 30) for _ in range(2))))
        chain.append(Walked(operations, tiles, draw.choice([0, 10, 100])))

    found, idle = [], (0.0, 0.0)
    for group in chain:
        turns = tuple(Turn(compute, (one, other)) for compute, one, other in map(tuple, group.operations))
        fetches = tuple(Fetch(at, words, (1.0, 1.0), memory="GLB", bits=8) for at, words in group.tiles)
        own = GroupTurns(turns, fetches)
        saved, idle = own.run(own.fetched(idle, own.room({"GLB": 8.0 * group.room})))
        found.append(sum(max(operation) for operation in group.operations) - saved)
    assert found == walk(chain)


def test_a_narrow_port_inside_takes_its_time_too() -> None:
    """Of 40 idle cycles outside and 10 inside, where a word takes 2: 5 words come."""
    group = GroupTurns((Turn(0.0, (100.0, 20.0)),), (Fetch(0, 50, (1.0, 2.0)),))
    assert group.fetched((40.0, 10.0), [30.0]) == (5.0,)
    assert group.run((5.0,)) == (5.0, (0.0, 85.0))
