"""Objectives: what their texts mean, that they never fall, and what is refused and why."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.cost_models import EDP, ENERGY, LATENCY, Capped, Objective, parse_objective
from tilewright.ir import TilewrightError

FIGURES = st.floats(0, 1e20)


def formulas() -> st.SearchStrategy[str]:
    """Formulas of a few operations, all of which are allowed."""
    numbers = st.sampled_from(["1", "2", "0.5", "3e2", "(1 + 0.25)"])
    leaves = st.sampled_from(["energy", "latency"])

    def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(parts, st.one_of(parts, numbers))
        return st.one_of(
            st.tuples(pairs, st.sampled_from("+*")).map(lambda p: f"({p[0][0]} {p[1]} {p[0][1]})"),
            st.tuples(pairs, st.sampled_from(["max", "min"])).map(lambda p: f"{p[1]}({p[0][0]}, {p[0][1]})"),
            st.tuples(parts, numbers).map(lambda p: f"{p[0]} / {p[1]}"),
            st.tuples(parts, st.sampled_from(["0", "0.5", "1.5", "2"])).map(lambda p: f"({p[0]}) ** {p[1]}"),
        )

    return st.recursive(leaves, grown, max_leaves=4)


@settings(derandomize=True)
@given(formulas(), FIGURES, FIGURES, FIGURES, FIGURES)
def test_what_is_accepted_never_falls(text: str, energy: float, latency: float, more: float, longer: float) -> None:
    objective = parsed_or_none(text)
    if objective is not None:
        before, after = objective.value(energy, latency), objective.value(energy + more, latency + longer)
        assert 0 <= before <= after * (1 + 1e-12)


def parsed_or_none(text: str) -> Objective | None:
    """None for formulas that grow too steeply, or are too long."""
    try:
        return parse_objective(text)
    except TilewrightError as error:
        assert "too large" in str(error) or "characters" in str(error)  # noqa: PT017
        return None


@settings(derandomize=True)
@given(formulas(), st.lists(st.tuples(FIGURES, FIGURES), min_size=1, max_size=8), st.booleans())
def test_arrays_are_as_their_elements(text: str, figures: list[tuple[float, float]], limited: bool) -> None:
    objective = parsed_or_none(text)
    if objective is not None:
        objective = objective.capped(energy=1e10) if limited else objective
        energy, latency = np.array(figures).T
        one_by_one = [objective.value(e, c) for e, c in figures]
        assert all(type(value) is float for value in one_by_one)
        np.testing.assert_allclose(objective.value(energy, latency), one_by_one, rtol=1e-12)


@settings(derandomize=True)
@given(formulas(), st.none() | st.floats(0, 1e12), st.none() | st.floats(0, 1e12))
def test_names_read_back(text: str, energy: float | None, latency: float | None) -> None:
    objective = parsed_or_none(text)
    if objective is not None:
        again = objective.capped(energy=energy, latency=latency)
        assert parse_objective(again.name) == again
        assert hash(parse_objective(again.name)) == hash(again)
        assert str(again) == again.name


@pytest.mark.parametrize(
    ("text", "name", "unit", "value"),
    [
        ("energy", "energy", "pJ", 9),
        ("latency", "latency", "cycles", 4),
        (" edp ", "edp", "pJ x cycles", 36),
        ("ed2p", "ed2p", "pJ x cycles^2", 144),
        ("latency*energy", "edp", "pJ x cycles", 36),
        ("energy*latency**2.0", "ed2p", "pJ x cycles^2", 144),
        ("(energy)", "energy", "pJ", 9),
        ("energy*latency**0.5", "energy * latency ** 0.5", "formula", 18),
        ("energy + 3*latency", "energy + 3 * latency", "formula", 21),
        ("max(energy,(5/2*latency))", "max(energy, 5 / 2 * latency)", "formula", 10),
        ("min(energy, latency, 1_0)", "min(energy, latency, 10)", "formula", 4),
        ("energy**0.5**2 + 0", "energy ** 0.5 ** 2 + 0", "formula", 9**0.25),
        ("energy where latency<=4", "energy where latency <= 4", "pJ", 9),
        ("edp where latency <= 3.5", "edp where latency <= 3.5", "pJ x cycles", math.inf),
        ("edp where latency <= 8 and energy <= 8", "edp where energy <= 8 and latency <= 8", "pJ x cycles", math.inf),
    ],
)
def test_texts(text: str, name: str, unit: str, value: float) -> None:
    objective = parse_objective(text)
    assert (objective.name, objective.unit, objective.is_lexicographic) == (name, unit, False)
    assert objective.value(9, 4) == pytest.approx(value, rel=1e-15)
    assert parse_objective(objective) is objective


def test_lists() -> None:
    for text, parts in (("latency, energy", (LATENCY, ENERGY)), ("energy,latency", (ENERGY, LATENCY))):
        objective = parse_objective(text)
        assert objective.is_lexicographic
        assert objective.parts == parts
        assert objective.unit == parts[0].unit
        assert parse_objective(objective.name) == objective
        with pytest.raises(TilewrightError, match="one value cannot stand"):
            objective.value(1.0, 1.0)


def test_limits_of_a_list_are_those_of_its_parts() -> None:
    objective = parse_objective("latency,energy where energy <= 7")
    assert objective.name == "latency,energy where energy <= 7"
    assert objective.parts == (LATENCY.capped(energy=7), ENERGY.capped(energy=7))


def test_limits() -> None:
    capped = EDP.capped(latency=100)
    assert isinstance(capped, Capped)
    assert capped != EDP
    assert capped == EDP.capped(latency=100.0) != EDP.capped(energy=100)
    assert EDP.capped() == EDP
    assert capped.capped(latency=200, energy=3) == EDP.capped(energy=3, latency=100)
    assert capped.value(2.0, 100.0) == 200
    assert capped.value(2.0, 100.0 + 1e-12) < math.inf  # a sum in another order
    assert capped.value(2.0, 100.001) == math.inf
    assert capped.value(np.array([2.0, 2.0]), np.array([99.0, 101.0])).tolist() == [198, math.inf]
    for wrong in (-1, math.nan):
        with pytest.raises(TilewrightError, match=r"limit on energy: the limit is .*, expected 0 or more"):
            EDP.capped(energy=wrong)


@pytest.mark.parametrize(
    ("text", "part", "why"),
    [
        ("energy - latency", "energy - latency", "a difference falls"),
        ("edp * 2", None, "unknown name 'edp'"),
        ("enrgy * 2", None, "did you mean 'energy'"),
        ("2 + -energy", "-energy", "a negative part falls"),
        ("energy * -1", "-1", "a negative part falls"),
        ("energy + 2 / latency", "2 / latency", "falls when latency grows"),
        ("energy + latency ** -1", "latency ** (-1)", "an exponent must be 0 or more"),
        ("energy ** latency", "energy ** latency", "an exponent must be a number"),
        ("energy / (0 + 0)", "energy / (0 + 0)", "division by 0"),
        ("energy / 0", "energy / 0", "division by 0"),
        ("0 * energy + latency", "0 * energy", "a factor of 0"),
        ("energy ^ 2", "energy ^ 2", r"a power is written \*\*"),
        ("energy // 2", "energy // 2", "// rounds"),
        ("energy % 2", "energy % 2", "falls"),
        ("energy ** 11", "energy ** 11", "too large"),
        ("min(latency ** 99, energy)", "latency ** 99", "too large"),
        ("9 ** 9 ** 9 * energy", "9 ** 9 ** 9", "too large"),
        ("1e999 * energy", "1e309", "too large"),
        ("energy / 1e200", "energy / 1e+200", "too small"),
        ("1 + 2", "1 + 2", "neither energy nor latency"),
        ("max(energy)", "max(energy)", "two or more"),
        ("max(energy, default=latency)", None, "two or more"),
        ("max(*energy, 2)", r"*energy", "not known"),
        ("log(energy)", "log(energy)", "only functions of a formula are max and min"),
        ("__import__('os').system('ls')", None, "only functions"),
        ("energy.real + 1", "energy.real", "not known"),
        ("[energy][0]", "[energy][0]", "not known"),
        ("energy if latency else 1", None, "not known"),
        ("True * energy", "True", "not a number"),
        ("1j * energy", "1j", "not a number"),
        ("'2' * energy", "'2'", "not a number"),
        ("energy latency", None, "cannot be read"),
        ("energy +", None, "cannot be read"),
        ("energy\0", None, "cannot be read"),
        ("(" * 90 + "energy", None, "cannot be read"),
        ("energy" + " + energy" * 30, None, "200 at most"),
        ("energy" + "+energy" * 26, None, "200 at most"),
        ("latency,", None, "expected latency,energy or energy,latency"),
        ("energy,energy", None, "expected latency,energy or energy,latency"),
        ("edp,energy", None, "expected latency,energy or energy,latency"),
        ("ed2", None, "did you mean 'ed2p'"),
        ("EDP2", None, "expected energy or latency or edp or ed2p"),
        ("", None, "unknown name ''"),
        ("energy where", None, "the limit is ''"),
        ("energy where power <= 3", None, "the limit is 'power <= 3'"),
        ("energy where latency < 3", None, "the limit is 'latency < 3'"),
        ("energy where latency <= e", None, "expected energy or latency, <= and a number"),
        ("energy where latency <= 1e", None, "is not a unit of duration"),
        ("energy where energy <= 3 us", None, "is not a unit of energy"),
        ("energy where latency <= 3 us", None, "no clock is known; expected cycles"),
        ("energy where latency <= -3", None, "expected 0 or more"),
    ],
)
def test_refusals_say_which_part_and_why(text: str, part: str | None, why: str) -> None:
    with pytest.raises(TilewrightError, match=why) as caught:
        parse_objective(text)
    assert (caught.value.where or "").startswith("objective")
    if part is not None:
        assert caught.value.where == f"objective: {part}"


def test_limits_may_have_units() -> None:
    both = "energy where energy <= 3 uJ and latency <= 25us"
    assert parse_objective(both, clock_hz=2e8).name == "energy where energy <= 3000000 and latency <= 5000"
    assert parse_objective("latency where energy <= 1.5e3 nJ").name == "latency where energy <= 1500000"
    assert parse_objective("energy where latency <= 20 cycles").name == "energy where latency <= 20"


def test_other_things_are_no_objectives() -> None:
    with pytest.raises(TilewrightError, match="found 3, expected a text"):
        parse_objective(3)  # type: ignore[arg-type]
