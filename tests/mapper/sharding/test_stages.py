"""Stages of a pipeline: cuts against all of them, times against tasks that run one by one."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import pytest

import longer
from tilewright.mapper.sharding import Pipeline, PipelineStage
from tilewright.mapper.sharding.stages import best_cuts


def walked(stages: Sequence[PipelineStage], microbatches: int) -> float:
    """The end of the last task, where each device and each link does one thing at a time, in the order of batches."""
    free: dict[object, float] = {}
    end = 0.0
    for _ in range(microbatches):
        ready = 0.0
        for place, stage in enumerate(stages):
            for what, seconds in (("work", stage.seconds), ("send", stage.send)):
                ready = free[what, place] = max(ready, free.get((what, place), 0.0)) + seconds
        end = ready
    return end


def drawn(draw: random.Random) -> tuple[list[float], list[float], int, int]:
    count = draw.randint(1, 9)
    seconds = [draw.choice([0.0, 1.0, 2.0, 3.0, 5.5]) for _ in range(count)]
    sends = [0.0, *(draw.choice([0.0, 0.5, 1.0, 4.0]) for _ in range(count - 1))]
    return seconds, sends, draw.randint(1, min(count, 5)), draw.randint(1, 6)


def made(seconds: Sequence[float], sends: Sequence[float], cuts: Sequence[int]) -> tuple[PipelineStage, ...]:
    ends = [*cuts, len(seconds)]
    return tuple(
        PipelineStage(first, end, sum(seconds[first:end]), send=sends[end] if end < len(seconds) else 0.0)
        for first, end in zip([0, *cuts], ends, strict=True)
    )


@pytest.mark.parametrize("seed", longer.seeds(200))
def test_cuts_are_the_best_of_all(seed: int) -> None:
    seconds, sends, stages, microbatches = drawn(random.Random(seed))
    every = (cuts for number in range(stages) for cuts in itertools.combinations(range(1, len(seconds)), number))
    least = min(walked(made(seconds, sends, cuts), microbatches) for cuts in every)
    found = best_cuts(seconds, sends, stages, microbatches)
    assert len(found) < stages
    assert math.isclose(walked(made(seconds, sends, found), microbatches), least)


@pytest.mark.parametrize("seed", longer.seeds(300))
def test_a_pipeline_takes_as_long_as_its_tasks(seed: int) -> None:
    draw = random.Random(seed)
    seconds, sends, _, microbatches = drawn(draw)
    cuts = sorted(draw.sample(range(1, len(seconds)), draw.randint(0, len(seconds) - 1)))
    pipeline = Pipeline("x", microbatches, made(seconds, sends, cuts), 0.0)
    assert math.isclose(pipeline.seconds, walked(pipeline.stages, microbatches))
