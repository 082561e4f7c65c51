"""Changes of a machine: each is the one that `--set` makes, gains are those of independent searches, order is fair."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import tilewright as tw
from generators import memory
from tilewright.arch import Architecture, Keeps, Mac, list_archs, load_arch
from tilewright.explanations import explain
from tilewright.mapper.answer import Answer
from tilewright.mapper.question import NestQuestion
from tilewright.mapper.strategies import Exact
from tilewright.report.explain.changes import Change, changes_of
from tilewright.report.explain.facts import Improvement
from tilewright.report.explain.ranking import STOPPED, best_changes, try_changes

CONV = tw.conv2d(K=4, C=4, P=4, Q=4, R=3, S=1)
REFERS = {(name, f"array.{axis}") for name in ("systolic", "tpu_v1", "tpu_v4i") for axis in "xy"}
REFERS |= {("cpu", "mac.per_cycle")}


def small() -> Architecture:
    """Eyeriss with little of everything, and one thing that it lacks."""
    changed = {"array": "2x2", "GLB.size": "80 B", "array.multicast": "false", "DRAM.bandwidth": "1 B/cycle"}
    return load_arch("eyeriss", set=changed)


def tiny() -> Architecture:
    """Two memories and a MAC: few changes, quick searches."""
    levels = (memory("DRAM"), memory("L1", size_bits=40, keeps=Keeps(input="may", weight="may", output="may")))
    return Architecture(name="tiny", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


@pytest.fixture(scope="module")
def improvement(tmp_path_factory: pytest.TempPathFactory) -> Improvement:
    result = tw.search(CONV, small(), "edp")
    found = explain(result, store=tmp_path_factory.mktemp("store") / "results.sqlite3").improvement
    assert found is not None
    return found


@pytest.mark.some(5)
@pytest.mark.parametrize("name", list_archs())
def test_a_change_is_what_set_makes_of_the_file(name: str) -> None:
    arch = load_arch(name)
    changes = changes_of(arch, CONV)
    assert len({change.setting for change in changes}) == len(changes)
    for change in changes:
        field, _, value = change.setting.partition("=")
        assert change.field == field
        assert change.arch.cost_text != arch.cost_text
        if (name, field) not in REFERS:
            assert load_arch(name, set={field: value}).cost_text == change.arch.cost_text, change.setting


def test_what_is_absent_is_offered() -> None:
    arch = small()
    serial = arch.memories[1].model_copy(update={"overlaps": False, "halo": "none"})
    arch = arch.model_copy(update={"levels": (arch.levels[0], serial, *arch.levels[2:])})
    fields = [change.field for change in changes_of(arch, CONV)]
    assert "array.multicast" in fields
    assert "GLB.overlaps" in fields
    assert "GLB.halo" in fields
    assert "spad.halo" not in fields
    assert "GLB.halo" not in [change.field for change in changes_of(arch, tw.gemm(4, 4, 4))]
    assert "GLB.keep.weight" in fields
    assert "array.spatial_reduction" not in fields
    assert fields.count("GLB.size") == 2


def test_parts_of_a_memory_are_changed_one_by_one() -> None:
    parts = {"spad.size": {"input": "24 B", "weight": "64 B", "shared": "48 B"}}
    arch = load_arch("eyeriss", set=parts)
    changes = {c.setting: c for c in changes_of(arch, CONV) if c.field.startswith("spad.size")}
    fields = [f"spad.size.{part}={size}" for part, size in
              (("input", "96 B"), ("input", "48 B"), ("weight", "256 B"), ("weight", "128 B"),
               ("shared", "192 B"), ("shared", "96 B"))]  # fmt: skip
    assert list(changes) == fields
    for setting, change in changes.items():
        field, _, value = setting.partition("=")
        assert load_arch("eyeriss", set=parts | {field: value}).cost_text == change.arch.cost_text


@pytest.mark.long
def test_gains_are_those_of_independent_searches(improvement: Improvement) -> None:
    present = tw.search(CONV, small(), "edp").cost.edp
    assert improvement.present == improvement.given == present
    assert improvement.proven
    assert any(one.helps for one in improvement.tried)
    assert any(not one.helps for one in improvement.tried)
    for one in improvement.tried:
        again = tw.search(CONV, one.change.arch, "edp")
        assert one.value == pytest.approx(again.cost.edp)
        assert one.gain == pytest.approx(present / again.cost.edp)
        assert one.proven


@pytest.mark.long
def test_what_is_left_out_would_not_have_helped(improvement: Improvement) -> None:
    searched = {one.change.setting for one in improvement.tried}
    left = [change for change in changes_of(small(), CONV) if change.setting not in searched]
    assert left
    for change in left:
        assert tw.search(CONV, change.arch, "edp").cost.edp >= improvement.present * (1 - 1e-9)


def test_order_is_gain_for_cost(improvement: Improvement) -> None:
    best = best_changes(improvement.tried)
    assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
    assert len({one.change.field for one in best}) == len(best)


def fake(field: str, cost: float) -> Change:
    return Change(field, f"{field}={cost}", field, "", cost, small())


def test_the_smaller_of_two_equal_changes_stands_first() -> None:
    values: dict[tuple[str, float], float | str] = {
        ("a", 2.0): 50.0,
        ("a", 1.0): 50.0,
        ("b", 1.0): 40.0,
        ("c", 2.0): 100.0,
        ("d", 1.0): "no mapping",
        ("e", 2.0): 30.0,
        ("e", 1.0): 60.0,
    }
    asked: list[str] = []

    def search(change: Change) -> tuple[float, bool] | str:
        asked.append(change.setting)
        found = values[change.field, change.cost]
        return found if isinstance(found, str) else (found, True)

    tried = try_changes([fake(field, cost) for field, cost in [*values, ("c", 1.0)]], 100.0, search)
    assert [(one.change.field, one.change.cost) for one in best_changes(tried)] == [("b", 1.0), ("a", 1.0), ("e", 2.0)]
    assert "c=1.0" not in asked  # a larger c gained nothing
    (impossible,) = [one for one in tried if one.change.field == "d"]
    assert (impossible.value, impossible.reason, impossible.helps) == (None, "no mapping", False)


def test_a_mapping_that_is_not_the_best_is_told_so() -> None:
    nest = "DRAM keeps A W O\nfor M in 4\nfor N in 4\nfor K in 4\nL1 keeps A W O"
    mapping = tw.Mapping(tw.gemm(4, 4, 4), tw.LoopNest.parse(nest))
    best = tw.search(tw.gemm(4, 4, 4), tiny(), "energy")
    worse = tw.evaluate(mapping, tiny())
    explanation = explain(mapping, tiny(), objective="energy")
    found = explanation.improvement
    assert found is not None
    assert found.given == worse.energy_pj > found.present == best.cost.energy_pj
    less = 100 * (1 - found.present / found.given)
    assert f"On the same machine another mapping has {less:.1f}% less energy (even space, perfect" in str(explanation)


def test_a_lexicographic_objective_is_compared_by_its_first_part() -> None:
    result = tw.search(tw.gemm(4, 4, 4), tiny(), "latency,energy")
    found = explain(result).improvement
    assert found is not None
    assert found.objective.name == "latency"
    assert found.notes == ("Changes are compared by latency, the first part of latency,energy.",)


def test_without_time_nothing_is_worse_than_what_is_known() -> None:
    result = tw.search(tw.gemm(2, 2, 2), tiny(), "edp")
    stopped = replace(result, certificate=replace(result.certificate, lower_bound=0.0))
    found = explain(stopped, time_limit=0.0, cache=False).improvement
    assert found is not None
    assert found.present <= result.cost.edp
    assert all(one.value is None or one.gain >= 1 - 1e-9 for one in found.tried)


def test_an_interrupt_hands_over_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    result = tw.search(tw.gemm(2, 2, 2), tiny(), "energy")
    asked: list[str] = []

    search = Exact.search

    def interrupted(self: Exact, question: NestQuestion) -> Answer:
        asked.append(question.arch.name)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return search(self, question)

    monkeypatch.setattr(Exact, "search", interrupted)
    e = explain(result, cache=False)
    found = e.improvement
    assert found is not None
    assert len(asked) == 3
    assert found.proven
    assert [one.reason for one in found.tried].count(STOPPED) == len(found.tried) - 1 > 0
    assert "Not searched, for it was interrupted: " in str(e)


def test_a_limit_that_the_mapping_does_not_keep_to() -> None:
    nest = "DRAM keeps A W O\nfor M in 4\nfor N in 4\nfor K in 4\nL1 keeps A W O"
    mapping = tw.Mapping(tw.gemm(4, 4, 4), tw.LoopNest.parse(nest))
    energy = tw.evaluate(mapping, tiny()).energy_pj
    e = explain(mapping, tiny(), objective=f"latency where energy <= {energy - 1}")
    assert "The mapping does not keep to the limits of latency where energy <= " in str(e)
    document = e.as_dict()["improvement"]
    assert document["given"] is None
    assert document["least"] == tw.search(tw.gemm(4, 4, 4), tiny(), "latency").cost.latency_cycles
    json.dumps(e.as_dict(), allow_nan=False)


def test_the_kind_of_search_follows_the_mapping() -> None:
    nest = "DRAM keeps A W O\nL1 keeps A\nfor N in 3\nL1 keeps O\nfor N in 3"
    found = explain(tw.Mapping(tw.gemm(1, 8, 1), tw.LoopNest.parse(nest)), tiny()).improvement
    assert found is not None
    assert (found.kind, found.objective.name) == ("uneven space, ragged tilings", "edp")
    assert found.notes == ()
    constrained = tw.search(tw.gemm(2, 2, 2), tiny(), "energy", "perfect", constraints="L1.temporal.K<=1")
    told = explain(constrained).improvement
    assert told is not None
    assert (told.kind, told.objective.name) == ("even space, perfect tilings", "energy")
    within = explain(constrained, constraints="L1.temporal.K<=1").improvement
    assert within is not None
    assert within.given == within.present == constrained.certificate.value
    assert told.notes[0].startswith("The mapping was searched for under constraints: ")
