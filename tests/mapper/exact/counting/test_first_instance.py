"""How long ports of the busiest instance are busy, compared with the cost model on random ragged mappings."""

from __future__ import annotations

import random

import numpy as np

import longer
from generators import random_architecture, random_problem
from paths import context_of, random_uneven, steps_to
from tilewright.cost_models.closed_form import count_words
from tilewright.cost_models.cost import cost_of


def test_cycles_of_the_busiest_instance() -> None:
    """Never above on the way nor in the end; in the end just so many where no rank is a sum of several dimensions. The
    average over instances is less at times."""
    same = averages = 0
    for seed in longer.seeds(400):
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 9), random_architecture(rng)
        mapping = random_uneven(rng, problem, arch, ragged=True)
        context = context_of(problem, arch, "ragged", "uneven")
        *growing, complete = steps_to(mapping, context)
        ports = context.costs.cost_columns.ports
        uses = {use.name: use for use in cost_of(mapping, arch, count_words(mapping, arch)).memories}
        longest = np.array([uses[port.memory.name].cycles for port in ports])
        found, columns = complete.costs(context)[:, 0], slice(1, 1 + len(ports))
        for step in (*growing, complete):
            assert (step.costs(context)[columns, 0] <= longest * (1 + 1e-9)).all(), seed
        busiest: dict[str, float] = {}
        for port, cycles in zip(ports, found[columns], strict=True):
            busiest[port.memory.name] = max(cycles, busiest.get(port.memory.name, 0.0))
        windows = any(len(rank) > 1 for tensor in problem.tensors for rank in tensor.ranks)
        exact = any(memory.halo == "exact" for memory in arch.memories[1:])  # counted when a mapping is complete
        if not (windows or exact):
            assert all(np.isclose(busiest[name], uses[name].cycles) for name in busiest), seed
            same += bool(busiest)
            context.costs = context.costs.__class__(context.hierarchy, context.costs.cost_columns)
            averages += (complete.costs(context)[columns, 0] < found[columns] * (1 - 1e-9)).any()
    assert longer.occurs(same > 50 * longer.TIMES)
    assert longer.occurs(averages > 10 * longer.TIMES)
