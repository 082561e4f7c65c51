"""Cascades that can be computed in several ways: one search is as good as one for each form, and proves no more."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from clocks import ticking

from tilewright.arch import Architecture, Keeps, Mac, Memory
from tilewright.cost_models import EDP, ENERGY, parse_objective
from tilewright.ir import Cascade, ConstraintError, Mapping, MappingError
from tilewright.mapper.cascades import (
    NothingBelow,
    bound_cascade,
    search_cascade,
    search_cascade_below,
    search_cascade_front,
)
from tilewright.mapper.constraints.trees import read_tree_constraints
from tilewright.mapper.fusing import answer_cascade
from tilewright.mapper.fusings import answer_fusings
from tilewright.mapper.question import Question, TreeQuestion
from tilewright.mapper.ski_slope import compulsory_of, ski_slope
from tilewright.workloads import cascade
from tilewright.workloads.softmax_forms import in_any_way

RUNNING = ["T[m,i] += S[m,i,j]", "R[m,i+1] = R[m,i] + T[m,i] start 0", "O[m] = R[m,-1] * 2"]
ATTENTION = [
    "S[m,n] += Q[m,e] * K[n,e]",
    "L[m] max= S[m,n]",
    "P[m,n] = exp(S[m,n] - L[m])",
    "D[m] += P[m,n]",
    "Y[m,n] = P[m,n] / D[m]",
    "O[m,f] += Y[m,n] * V[n,f]",
]
OBJECTIVES = ["energy", "latency", "edp", "energy where latency <= 60"]


def machine(words: int) -> Architecture:
    """One buffer of so many words, that is dear and fast."""
    memory = {"access_bits": 8, "shared_bits_per_cycle": 8.0}
    dram = Memory(name="DRAM", read_energy_pj=20.0, write_energy_pj=20.0, **memory)
    keeps = Keeps(input="may", weight="may", output="may")
    glb = Memory(name="GLB", read_energy_pj=30.0, write_energy_pj=30.0, size_bits=8 * words, keeps=keeps, **memory)
    mac = Mac(energy_pj=0.5)
    return Architecture(name="dear", clock_hz=1e9, word_bits=8, levels=(dram, glb), mac=mac)


def running(words: int, objective: str = "edp") -> TreeQuestion:
    whole = cascade(RUNNING, {"m": 2, "i:j": 8})
    assert len(whole.forms) == 3
    return Question(whole, machine(words), parse_objective(objective), "perfect", "uneven")


def alone(question: TreeQuestion) -> list[TreeQuestion]:
    return [replace(question, work=form) for form in question.cascade.forms]


@pytest.mark.parametrize("words", [5, 9])
def test_the_front_is_that_of_all_forms(words: int) -> None:
    question = running(words)
    points = [(a.cost.energy_pj, a.cost.latency_cycles) for one in alone(question) for a in search_cascade_front(one)]
    expected = [p for p in sorted(set(points)) if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)]
    found = search_cascade_front(question)
    assert [(a.cost.energy_pj, a.cost.latency_cycles) for a in found] == expected
    assert all(answer.certificate.proven for answer in found)


@pytest.mark.some(2)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_is_that_of_all_forms(objective: str) -> None:
    question = running(9, objective)
    answer, expected = search_cascade(question), [search_cascade(one).certificate for one in alone(question)]
    assert answer.certificate.proven
    assert answer.certificate.value == pytest.approx(min(proof.value for proof in expected))
    for tried, proof in zip(answer.forms, expected, strict=True):
        assert tried.lower_bound is not None
        assert tried.lower_bound <= proof.value * (1 + 1e-9)
        assert tried.value is None or tried.value >= proof.value * (1 - 1e-9)


def test_what_is_less_than_a_value_and_the_bound_on_all() -> None:
    question = running(9, "energy")
    best = search_cascade(question).certificate.value
    found = search_cascade_below(replace(question, below=1.01 * best))
    assert not isinstance(found, NothingBelow)
    assert found.certificate.value == found.certificate.lower_bound == best
    assert search_cascade_below(replace(question, below=0.9 * best)) == NothingBelow(0.9 * best)
    assert 0 < bound_cascade(question) == min(map(bound_cascade, alone(question))) <= best


@pytest.mark.long
def test_the_best_few_are_those_of_all_forms() -> None:
    question = running(9, "energy")
    each = [answer.certificate.value for one in alone(question) for answer in answer_fusings(one, 5)]
    found = answer_fusings(question, 5)
    assert [answer.certificate.value for answer in found] == pytest.approx(sorted(each)[:5])
    assert all(answer.certificate.proven for answer in found)
    assert len({(answer.mapping.cascade.form, str(answer.mapping)) for answer in found}) == 5


@pytest.mark.long
def test_lines_hold_of_the_forms_that_have_what_they_name() -> None:
    question = running(9, "energy")
    lines = read_tree_constraints(["R tile M = 1"], question.cascade, question.arch)
    asked = replace(question, constraints=lines)
    expected = [replace(one, constraints=lines) for one in alone(question)]
    assert search_cascade(asked).cost.energy_pj == min(search_cascade(one).cost.energy_pj for one in expected)
    attention = in_any_way(cascade(ATTENTION, m=2, n=2, e=1, f=1))
    (only,) = (form for form in attention.forms if form.form == "two passes, divided last")
    lines = read_tree_constraints(["O_sum in GLB"], attention, question.arch)
    told = answer_cascade(replace(question, work=attention, constraints=lines))
    assert told.mapping.cascade == only
    assert [one.form for one in told.forms] == [only.form]
    with pytest.raises(ConstraintError, match="Z is no intermediate"):
        read_tree_constraints(["Z in GLB"], attention, question.arch)


def test_a_tree_is_read_as_the_form_that_it_executes() -> None:
    whole = cascade(RUNNING, {"m": 2, "i:j": 8})
    tree = "DRAM keeps S O\nGLB keeps R\nbranch\n  for I in 4\n    GLB keeps T\n    branch T\n      for M in 2\n"
    tree += "        for J in 2\n    branch R\n      for M in 2\nbranch O\n  for M in {}\n"
    assert Mapping.parse(whole, tree.format(2)).cascade.form == "i=4, j=2"
    with pytest.raises(MappingError, match="M") as caught:  # and not that I has 8 steps
        Mapping.parse(whole, tree.format(1))
    assert "8" not in caught.value.message


@pytest.fixture(scope="module")
def attention() -> Cascade:
    """In two passes, and divided last."""
    whole = in_any_way(cascade(ATTENTION, m=2, n=2, e=1, f=2))
    return replace(whole, others=whole.others[:1])


@pytest.mark.long
def test_attention_in_any_way_is_as_good_as_the_best_of_its_forms(attention: Cascade) -> None:
    question = Question(attention, machine(16), ENERGY, "perfect")
    answer = answer_cascade(question)
    assert answer.certificate.proven
    each = [search_cascade(one).certificate for one in alone(question)]
    assert answer.certificate.value == min(proof.value for proof in each)
    apart = replace(question, fuse="none")
    assert answer.unfused is not None
    assert answer.unfused.energy_pj == min(search_cascade(one).cost.energy_pj for one in alone(apart))
    assert [one.form for one in search_cascade(apart).forms] == ["two passes", "two passes, divided last"]


@pytest.mark.long
def test_the_least_traffic_is_that_of_all_forms(attention: Cascade) -> None:
    sizes = [12, 64]
    points = list(ski_slope(attention, sizes, "perfect"))
    each = [list(ski_slope(form, sizes, "perfect")) for form in attention.forms]
    for number, point in enumerate(points):
        assert point.proven
        assert point.traffic == min(own[number].traffic or math.inf for own in each)
        assert point.unfused == min(own[number].unfused or math.inf for own in each)
    assert points[-1].traffic == compulsory_of(attention)


def test_without_time_there_is_a_bound_for_every_form(attention: Cascade, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on when it is looked at, however busy this machine is."""
    ticking(monkeypatch, 2e-4)
    hurried = replace(Question(attention, machine(16), EDP, "perfect").limits, time_s=0.0)
    answer = answer_cascade(Question(attention, machine(16), EDP, "perfect", limits=hurried))
    assert answer.certificate.lower_bound <= answer.certificate.value
