"""What is said of operations of a tree is so: shares make their utilization, loops move what the model counts."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from trees import random_cascade, random_tree

import tilewright as tw
from generators import random_architecture
from longer import blocks, occurs
from tilewright.cost_models.cascades import cost_of_counts, count_tree, occupancy, ways_of
from tilewright.cost_models.closed_form import Nest
from tilewright.cost_models.crossings import crossings_in
from tilewright.ir import TilewrightError
from tilewright.report.explain.explanation import Explanation, explain_mapping

LINES = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]


def explained(seed: int) -> Explanation:
    rng = random.Random(seed)
    whole, arch = random_cascade(rng), random_architecture(rng)
    fused = random_tree(rng, whole, arch)
    ways = ways_of(fused, arch)
    cost = cost_of_counts(fused, arch, ways, count_tree(fused, arch), occupancy(fused, arch, ways))
    return explain_mapping(fused, arch, cost)


@pytest.mark.parametrize("seeds", blocks(40, 20))
def test_loops_of_operations_move_what_the_model_counts(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        e = explained(seed)
        ways = ways_of(e.mapping, e.arch)
        for operation in e.operations:
            way, cost = ways[operation.name], e.cost.operations[operation.name]
            start = way.path.starts[-1]
            assert all(role.position >= start for role in operation.loops)
            if way.made:
                continue
            u = operation.utilization
            assert u.in_use * u.full_steps * u.computing == pytest.approx(cost.utilization)
            into = Counter((b.inner.name, b.tensor.name) for b in way.boundaries if b.inner is not None)
            into.update((b.boundary.inner.name, b.boundary.tensor.name) for b in way.borrowed if b.boundary.inner)
            written = {(one.memory, one.tensor): one.writes for one in cost.traffic}
            for crossing in crossings_in(Nest.of(way.mapping, e.arch, way.path.starts), way.boundaries):
                boundary = crossing.boundary
                if boundary.inner is None or boundary.tensor.is_output:
                    continue
                place = boundary.inner.name, boundary.tensor.name
                if into[place] == 1:
                    assert crossing.total.delivered == written[place]
                    compared += 1
    assert occurs(compared > 10)


def test_facts_of_a_layer_are_those_of_its_only_operation() -> None:
    pair = tw.cascade(LINES, m=4, k=2, n=4, p=2)
    found = tw.explain(tw.search(pair, "eyeriss", "energy"))
    with pytest.raises(TilewrightError, match="several operations"):
        found.energy  # noqa: B018
    assert [one["name"] for one in found.as_dict()["operations"]] == ["T", "O"]
    layer = tw.explain(tw.search(tw.gemm(4, 4, 2), "eyeriss", "energy"), changes=False)
    assert layer.energy == layer.operations[0].energy
    assert "What each loop does" in layer.text()
    assert "T: T[m, n] += A[m, k] * B[k, n]" in found.text()
