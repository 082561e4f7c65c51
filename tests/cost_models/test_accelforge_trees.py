"""AccelForge's fused mappings on our model: every count, energy and latency, to the last word and pJ."""

from __future__ import annotations

from typing import Any

import pytest

from accelforge_trees import cases, machine_of, tree_of
from tilewright.cost_models import Cost, evaluate

SOLUTIONS = [
    pytest.param(case, solution, id=f"{case['case']}-{case['machine']}-{case['glb_words']}-{case['mode']}-{objective}")
    for case in cases()
    for objective, solution in case["solutions"].items()
]
COUNTED_TWICE = {"gated3_64", "gated4_64"}
"""Cases in which two operations read one input. AccelForge fetches it for each of them, and prints one node."""


def words(cost: Cost) -> dict[str, float]:
    """Words by `operation|memory|tensor|direction`, as the golden has them, without those that do not move."""
    found: dict[str, float] = {}
    for name, operation in cost.operations.items():
        for traffic in operation.traffic:
            where = f"{name}|{traffic.memory}|{traffic.tensor}"
            found |= {f"{where}|read": traffic.reads, f"{where}|write": traffic.writes}
    return {what: count for what, count in found.items() if count}


@pytest.mark.some(15)
@pytest.mark.parametrize(("case", "solution"), SOLUTIONS)
def test_every_figure_is_accelforges(case: dict[str, Any], solution: dict[str, Any]) -> None:
    arch = machine_of(case)
    cost = evaluate(tree_of(case, solution["mapping"]), arch)
    expected = {what: count for what, count in solution["actions"].items() if "|MAC|" not in what and count}
    found = words(cost)
    saved = {what: count for what, count in expected.items() if what not in found}
    assert found == {what: count for what, count in expected.items() if what not in saved}
    if saved:
        assert case["case"] in COUNTED_TWICE
        assert set(saved) == {"U|DRAM|X|read", "U|GLB|X|write"}
    energy = solution["energy"] - sum(count * (200 if "DRAM" in what else 6) for what, count in saved.items())
    assert cost.energy_pj == energy
    if solution["latency"] is not None and not saved:
        assert cost.latency_cycles == solution["latency"]
        each = {f"{name}|latency|MAC": operation.compute_cycles for name, operation in cost.operations.items()}
        for name, operation in cost.operations.items():
            each |= {f"{name}|latency|{use.name}": use.cycles for use in operation.memories}
        assert {what: cycles for what, cycles in each.items() if cycles} == solution["latency_per_einsum"]


def test_both_machines_and_all_modes_are_there() -> None:
    assert {(case["machine"], case["mode"]) for case in cases()} == {
        ("F2", "unfused"),
        ("F2", "whole"),
        ("F2", "fused"),
        ("F3", "unfused"),
        ("F3", "fused"),
    }
