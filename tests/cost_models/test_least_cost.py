"""No mapping costs less than what is known before any search."""

from __future__ import annotations

import random

import pytest

import tilewright as tw
from generators import random_architecture, random_mapping, random_problem, with_extras
from longer import blocks
from tilewright.cost_models import cost_of, count_words, parse_objective
from tilewright.cost_models.least_cost import least_cost
from tilewright.ir import MappingError

EXTRAS = ("leakage", "block", "hop", "fill", "ports", "roles", "serial", "widths")


@pytest.mark.parametrize("seeds", blocks(60, 30))
def test_of_one_operation(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), *EXTRAS)
        try:
            mapping = random_mapping(rng, problem, arch)
        except MappingError:
            continue
        cost, least = cost_of(mapping, arch, count_words(mapping, arch)), least_cost(problem, arch)
        assert 0 < least.energy_pj <= cost.energy_pj * (1 + 1e-9), seed
        assert 0 < least.latency_cycles <= cost.latency_cycles * (1 + 1e-9), seed


@pytest.mark.parametrize("density", [{}, {"A": "1:2@K"}, {"A": 0.3, "W": 0.5}])
@pytest.mark.parametrize("layout", [None, "any"])
def test_of_what_a_search_finds(density: dict[str, object], layout: str | None) -> None:
    if density and layout:
        pytest.skip("operands with zeros have no layouts")
    arch = tw.load_arch("three_level", set={"DRAM.line": "32 B"} if layout else {})
    problem = tw.gemm(M=8, N=6, K=8)
    found = tw.search(problem, arch, "edp", "perfect", density=density or None, layout=layout)
    least = least_cost(found.mapping.problem, arch)
    assert 0 < least.value(parse_objective("edp")) <= found.certificate.value
    assert least.value(parse_objective("latency,energy")) == least.latency_cycles
    assert least.value(parse_objective("energy where latency <= 1")) == least.energy_pj
