"""Bounds on the way to any mapping, not just to the best ones, never exceed what it costs."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from test_lattice_search import random_machine

from generators import random_problem
from longer import seeds
from tilewright.cost_models import OBJECTIVES, parse_objective
from tilewright.mapper.kernel.incumbents import BestAnswers
from tilewright.mapper.kernel.states import Closed
from tilewright.mapper.lattice.answers import Found
from tilewright.mapper.lattice.batch import RowBatch, root
from tilewright.mapper.lattice.placement import Placement, placements
from tilewright.mapper.lattice.plain_question import PlainQuestion
from tilewright.mapper.lattice.space import Space
from tilewright.mapper.means import Means

DESCENTS = 20


def descent(rng: random.Random, space: Space, placement: Placement) -> tuple[list[float], float]:
    """The bounds of random rows, each grown from the one before, and what the best mapping costs that the last one
    leads to; infinite where nothing fits."""
    state, bounds = root(space, placement), []
    while True:
        i = rng.randrange(len(state.bounds))
        columns = {name: values[i : i + 1] for name, values in state.columns.items()}
        row = RowBatch(space, placement, state.step, state.bounds[i : i + 1], columns)
        bounds.append(row.bound)
        children = list(row.advance())
        values = [child.bound for child in children if isinstance(child, Closed)]
        grown = [child for child in children if isinstance(child, RowBatch)]
        if not grown:
            return bounds, min(values, default=math.inf)
        (state,) = grown


@pytest.mark.parametrize("seed", seeds(60))
def test_no_bound_on_the_way_exceeds_what_a_mapping_costs(seed: int) -> None:
    rng = random.Random(seed)
    arch, objective = random_machine(rng, ("none", "innermost", "exact")), parse_objective(OBJECTIVES[seed % 3])
    question = PlainQuestion(random_problem(rng, 7), arch, objective)
    reached = 0
    for placement in rng.choices(list(placements(question)), k=DESCENTS):
        best: BestAnswers[Found] = BestAnswers()  # nothing is offered to it, so nothing is pruned
        bounds, value = descent(rng, Space(question, Means(), best, Counter()), placement)
        assert bounds == sorted(bounds)
        assert bounds[-1] <= value * (1 + 1e-9)
        reached += value < math.inf
    assert reached
