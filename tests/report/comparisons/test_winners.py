"""Machines are compared in joules and seconds, and the free choice is never worse than a fixed dataflow."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from batches import Here
from cases import CASES
from tilewright.arch import Architecture, load_arch
from tilewright.batches import machine_of, settings_of, workloads_of
from tilewright.cost_models import parse_objective
from tilewright.mapper.question import Limits
from tilewright.report.comparisons.comparison import Comparison, comparison_of
from tilewright.report.comparisons.findings import findings
from tilewright.report.comparisons.html.data import page_data
from tilewright.report.comparisons.page import comparison_page
from tilewright.report.comparisons.rows import FREE, Row
from tilewright.report.comparisons.tables import all_tables
from tilewright.report.explorations.exploration import exploration_of
from tilewright.report.explorations.measures import front_measures
from tilewright.report.parts.si import in_si, least_of_sums
from tilewright.report.parts.text import plain_text
from tilewright.run.batch.plan import distinct_questions, plan_comparison, read_dataflows
from tilewright.run.batch.run import run_batch

MACHINES = [str(CASES / "machines" / f"{name}.yaml") for name in ("fast", "slow_cheap")]


def compared(machines: Sequence[str | Architecture], objective: str) -> Comparison:
    """One product on some machines, under no dataflow."""
    workloads = workloads_of([str(CASES / "networks" / "tiny.yaml")])
    settings = settings_of(objective, "perfect", "even", Limits())
    cells = plan_comparison(workloads, list(map(machine_of, machines)), read_dataflows(["free"]), settings)
    return comparison_of(cells, run_batch(distinct_questions(cells), None, Here), settings, "", "")


@pytest.mark.parametrize(
    ("objective", "best", "other"),
    [
        ("edp", "fast has the least EDP", "slow_cheap has 2.66 times"),
        ("ed2p", "fast has the least ED2P", "slow_cheap has 10.6 times"),
        ("latency", "fast has the least latency", "slow_cheap has 4.00 times"),
        ("energy", "slow_cheap has the least energy", "fast has 1.50 times"),
        ("energy + latency", "", ""),
    ],
)
def test_the_better_machine_is_named_whatever_the_clocks(objective: str, best: str, other: str) -> None:
    found = compared(MACHINES, objective)
    sentence = f"tiny: {best} with a free choice of mapping; {other} as much."
    unranked = "Architectures are not ranked: energy + latency counts cycles, and their clocks differ."
    assert findings(found)[0] == (sentence if best else unranked)
    assert page_data(found)["objective"]["compares"] is (objective != "energy + latency")
    unit = {"edp": "J s", "ed2p": "J s^2", "latency": "s", "energy": "J"}.get(objective, "of pJ and cycles")
    assert f"objective ({unit})" in plain_text(comparison_page(found), 200)
    if objective == "edp":
        fast, slow = found.data()["networks"]
        assert fast["objective_J_s"] == pytest.approx(fast["energy_pJ"] * 1e-12 * fast["latency_s"])
        assert slow["objective_J_s"] / fast["objective_J_s"] == pytest.approx(2.662, rel=1e-3)
        assert not any("pJ_cycles" in column for table in all_tables(found) for column in table.columns)


def with_random_costs(comparison: Comparison, seed: int, proven: bool) -> Comparison:
    """The same with other energies, latencies and bounds in every row."""
    rng = random.Random(seed)

    def other(row: Row) -> Row:
        assert row.answer is not None
        answer = row.answer
        cost = replace(answer.cost, energy_pj=rng.uniform(1, 9), latency_cycles=rng.uniform(1, 9))
        value = cost.energy_pj * cost.latency_cycles
        bound = value if proven else value * rng.uniform(0.5, 1.0)
        proof = replace(answer.certificate, value=value, lower_bound=bound)
        return replace(row, outcome=replace(answer, cost=cost, certificate=proof))

    return replace(comparison, rows=tuple(map(other, comparison.rows)))


@pytest.mark.parametrize("seed", range(10))
def test_no_dataflow_is_better_than_the_free_choice(comparison: Comparison, seed: int) -> None:
    """Not for a whole network either, whose best EDP is not that of the best EDP of every layer."""
    found = with_random_costs(comparison, seed, proven=False)
    for summary in found.summaries():
        assert summary.penalty is not None
        assert summary.penalty >= 1 - 1e-12
        assert summary.gap is not None
        assert 0 <= summary.gap < 1
    assert all(h.hybrid_value >= h.free_value * (1 - 1e-12) for h in found.hybrids() if h.hybrid_value and h.free_value)


def test_what_is_not_proven_says_its_gap(comparison: Comparison) -> None:
    found = with_random_costs(comparison, 1, proven=False)
    gaps = {s.arch: f"{100 * (s.gap or 0):.1f}%" for s in found.summaries() if s.dataflow == FREE}
    assert all(f"{arch} (not proven, gap {gap})" in findings(found)[0] for arch, gap in gaps.items())
    most = max(gaps.values(), key=lambda gap: float(gap[:-1]))
    assert f"the best free choice found (not proven, gap up to {most})" in findings(found)[1]
    assert not any("optimum" in text for text in findings(found))
    text = plain_text(comparison_page(found), 200)
    assert all(re.search(rf"{arch} +free .* gap {gap}", text) for arch, gap in gaps.items())
    assert all("gap" not in text for text in findings(comparison))


@pytest.mark.parametrize("objective", ["energy", "latency", "edp", "ed2p"])
def test_no_sums_are_below_the_bound_on_sums(objective: str) -> None:
    goal, rng = parse_objective(objective), random.Random(0)
    for _ in range(200):
        layers = [(rng.randint(1, 3), rng.uniform(0.1, 9), rng.uniform(0.1, 9)) for _ in range(rng.randint(1, 4))]
        bounds = [(repeat, goal.value(energy, latency)) for repeat, energy, latency in layers]
        energy = sum(repeat * energy for repeat, energy, _ in layers)
        latency = sum(repeat * latency for repeat, _, latency in layers)
        least = least_of_sums(goal, bounds)
        assert least is not None
        assert least <= goal.value(energy, latency) * (1 + 1e-12)
        alike = [(repeat, 2.0, 3.0) for repeat, _, _ in layers]  # the bound is met where layers are alike
        count = sum(repeat for repeat, _, _ in alike)
        assert least_of_sums(goal, [(r, goal.value(e, t)) for r, e, t in alike]) == pytest.approx(
            goal.value(2.0 * count, 3.0 * count)
        )


def test_units_in_joules_and_seconds() -> None:
    assert math.isclose(in_si(parse_objective("ed2p where energy <= 9"), 8.0, 2e9), 8e-12 / 4e18)
    assert in_si(parse_objective("latency,energy"), 10.0, 1e9) == 1e-8
    assert in_si(parse_objective("energy * latency ** 0.5"), 10.0, 1e9) == 10.0


def test_the_best_point_of_an_exploration_is_the_best_in_seconds() -> None:
    """At a tenth of the clock everything takes the same cycles, or fewer."""
    machines = [load_arch("three_level", set={"clock": clock}) for clock in ("100 MHz", "1 GHz")]
    machines = [machine.model_copy(update={"name": str(machine.clock_hz)}) for machine in machines]
    values = [{"clock": "100 MHz"}, {"clock": "1 GHz"}]
    found = exploration_of(compared(machines, "edp"), [["clock"]], values, front_measures(None, machines))
    assert found.best is not None
    assert found.best.values == {"clock": "1 GHz"}
    slow, fast = found.points
    assert slow.summary.value
    assert slow.summary.value == pytest.approx((slow.summary.energy_pj or 0) * 1e-12 * (slow.summary.latency_s or 0))
    assert slow.summary.value > (fast.summary.value or 0)
    assert "edp_J_s" in found.table().columns
