"""Limits are those of a call, whatever it is made of; where they run out there is an answer all the same, and what it
says of itself is true."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from small_networks import IMAGES, WORDS

from cascade_cases import ITERATED, random_case
from generators import random_architecture, random_problem
from longer import blocks
from tilewright.arch import load_arch
from tilewright.cost_models import ENERGY, evaluate, parse_objective
from tilewright.ir import InfeasibleError, MappingError
from tilewright.mapper import means
from tilewright.mapper.answer import Answer
from tilewright.mapper.cascades import NothingBelow, search_cascade
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.fusing import answer_below, answer_cascade
from tilewright.mapper.means import MARGIN, Account, Means, OutOfMeans, one_call
from tilewright.mapper.question import Limits, Question, TreeQuestion
from tilewright.mapper.segmentation import GroupLost, NetworkQuestion, OneAfterTheOther, segment
from tilewright.mapper.simplest import unsearched_mappings
from tilewright.workloads import cascade, load_network
from tilewright.workloads.softmax_forms import in_any_way

ATTENTION = ("S[b,m,n] += Q[b,m,e]*K[b,n,e]", "P[b,m,n] = exp(S[b,m,n])", "O[b,m,f] += P[b,m,n]*V[b,n,f]")
SLACK = 1 + 1e-9


class Clock:
    """A clock that stands still but when it is looked at."""

    def __init__(self, step: float = 0.01) -> None:
        self.ticks, self.step = 0, step

    @property
    def now(self) -> float:
        return self.ticks * self.step

    def perf_counter(self) -> float:
        self.ticks += 1
        return self.now

    process_time = perf_counter


def test_a_call_inside_another_one_ends_with_it() -> None:
    with one_call(1.0, 100) as outer, one_call(50.0, 200) as inner:
        assert inner.deadline == outer.deadline
        assert inner.account is outer.account
        assert Means.from_now(None).deadline == outer.deadline
        assert Means.from_now(0.0).deadline < outer.deadline
    assert Means.from_now(None).deadline == math.inf


def test_an_account_is_over_once_the_process_has_grown_by_more(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 1000
    monkeypatch.setattr(means, "_resident_bytes", lambda: size)
    monkeypatch.setattr(means, "time", Clock(1.0))
    found = Means(account=Account(500))
    size += 500 + MARGIN
    found.check()
    size += 1
    with pytest.raises(OutOfMeans):
        found.check()


def ragged_attention(arch: str, seconds: float | None, memory: int = 2**30) -> TreeQuestion:
    sizes = {"b": 4, "m": 360, "n": 360, "e": 64, "f": 64}
    limits = Limits(seconds, memory)
    return Question(cascade(list(ATTENTION), sizes), load_arch(arch), ENERGY, "ragged", limits=limits)


@pytest.mark.parametrize("arch", ["cpu", "h100"])
def test_choices_of_ragged_loops_end_with_the_clock(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of their bounds take minutes and gigabytes."""
    clock = Clock()
    monkeypatch.setattr(means, "time", clock)
    found = answer_cascade(ragged_attention(arch, 2.0))
    assert clock.now < 4.0
    proof = found.certificate
    assert not proof.proven
    assert proof.lower_bound < proof.value == found.cost.energy_pj


@pytest.mark.long
def test_choices_of_ragged_loops_end_with_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    size, limit = 0, 2**20

    def grown() -> int:
        nonlocal size
        size += 2**18
        return size

    monkeypatch.setattr(means, "_resident_bytes", grown)
    monkeypatch.setattr(means, "LOOK_AFTER", 0.0)
    found = answer_cascade(ragged_attention("cpu", None, limit))
    assert size < 2 * (limit + MARGIN)
    assert found.certificate.lower_bound < found.certificate.value


@pytest.mark.long
@pytest.mark.parametrize("tiling", ["perfect", "ragged"])
def test_forms_share_the_limit(tiling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = ["S[m,n] += Q[m,e] * K[n,e]", "L[m] max= S[m,n]", "P[m,n] = exp(S[m,n] - L[m])"]
    statements += ["D[m] += P[m,n]", "Y[m,n] = P[m,n] / D[m]", "O[m,f] += Y[m,n] * V[n,f]"]
    whole = in_any_way(cascade(statements, {"m": 64, "n": 64, "e": 4, "f": 4}))
    asked = Question(whole, load_arch("eyeriss"), ENERGY, tiling, limits=Limits(1.0))  # type: ignore[arg-type]
    for one in (asked, replace(asked, below=1.0)):
        clock = Clock()
        monkeypatch.setattr(means, "time", clock)
        found = answer_below(one)
        assert clock.now < len(whole.forms) / 2
        assert isinstance(found, NothingBelow) == (one.below < math.inf)


@pytest.mark.parametrize("seeds", blocks(6, 6))
def test_without_time_cascades_have_an_answer_and_a_true_bound(seeds: range) -> None:
    answered = 0
    for seed in seeds:
        case, objective = random_case(seed, 200), parse_objective(("energy", "latency", "edp")[seed % 3])
        asked = Question(case.cascade, case.arch, objective, case.tiling, case.space, fuse=case.fuse)
        try:
            best = search_cascade(asked).certificate.value
        except InfeasibleError:
            continue
        found = search_cascade(replace(asked, limits=Limits(0.0)))
        assert found.certificate.lower_bound <= best * SLACK
        assert found.certificate.value * SLACK >= best
        answered += 1
    assert answered > len(seeds) / 2


@pytest.mark.parametrize("kind", list(ITERATED))
def test_what_iterates_has_an_answer_without_time(kind: str) -> None:
    sizes = dict.fromkeys("kn" if kind == "fed back" else "m", 4) | {"i": 3}
    whole = cascade(ITERATED[kind], sizes, name=kind)
    asked = Question(whole, load_arch("three_level"), ENERGY, "perfect", limits=Limits(0.0))
    proof, best = search_cascade(asked).certificate, search_cascade(replace(asked, limits=Limits())).certificate
    assert 0 < proof.lower_bound <= best.value * SLACK <= proof.value * SLACK**2
    assert best.proven


@pytest.mark.some(1)
@pytest.mark.parametrize(("text", "objective"), [(IMAGES, "energy"), (WORDS, "edp")], ids=["images", "words"])
def test_without_time_a_network_has_a_plan(text: str, objective: str, tmp_path: Path) -> None:
    path = tmp_path / "network.yaml"
    path.write_text(text, encoding="utf-8")
    graph = load_network(path).wiring
    assert graph is not None
    asked = NetworkQuestion(graph, load_arch("three_level"), parse_objective(objective), "perfect", total_s=0.0)
    found = segment(asked)
    assert sum(len(one.names) for one in found.segments) == len(graph.by_name)
    assert found.certificate.value >= found.certificate.lower_bound


@pytest.mark.long
def test_groups_whose_processes_die_are_told(tmp_path: Path) -> None:
    """What they cost without a search is in the plan."""
    path = tmp_path / "network.yaml"
    path.write_text(IMAGES, encoding="utf-8")
    graph = load_network(path).wiring
    assert graph is not None

    def solve(asked: TreeQuestion) -> Answer | NothingBelow:
        if any(operation.name == "fc" for operation in asked.cascade):
            raise GroupLost("the process that searched it died", where=asked.cascade.name)
        return answer_below(asked)

    asked = NetworkQuestion(graph, load_arch("three_level"), ENERGY, "perfect", fuse="none")
    found, whole = segment(asked, OneAfterTheOther(solve)), segment(asked)
    assert "fc" in "".join(found.lost)
    assert found.lost[0].endswith("run again")
    assert found.lost[0] in found.certificate.constraints
    assert not whole.lost
    assert found.certificate.lower_bound <= whole.certificate.value * SLACK <= found.certificate.value * SLACK


@pytest.mark.parametrize("seeds", blocks(12, 12))
def test_mappings_without_a_search_fit_and_are_none_too_good(seeds: range) -> None:
    told = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 6), random_architecture(rng, rng.randint(0, 2), capacity=60)
        try:
            least = search_exact(problem, arch, "energy", "perfect")[1].energy_pj
        except InfeasibleError:
            for mapping in unsearched_mappings(problem, arch):
                with pytest.raises(MappingError):
                    evaluate(mapping, arch)
            continue
        costs = [evaluate(mapping, arch).energy_pj for mapping in unsearched_mappings(problem, arch)]
        assert min(costs) * SLACK >= least
        told += len(costs) > 1
    assert told > len(seeds) / 3


def test_one_operation_without_time_is_mapped_well() -> None:
    """Arrays and memories are filled: no element after the other."""
    product = cascade(["O[m,n] += A[m,k] * B[k,n]"], {"m": 256, "n": 256, "k": 256})
    asked = Question(product, load_arch("eyeriss"), ENERGY, "perfect")
    found, best = answer_cascade(replace(asked, limits=Limits(0.0))), answer_cascade(asked)
    assert best.cost.energy_pj <= found.cost.energy_pj < 5 * best.cost.energy_pj
