"""Weights that lie on chip all the time, against the search over trees of the whole network, and as one tree."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from test_residency import DIAMOND, RESIDUAL, graph_of, machine, page_of, solve_once, whole_tree

import longer
import tilewright as tw
from tilewright.arch import Keeps
from tilewright.cost_models import EDP, ENERGY, LATENCY, Objective, evaluate
from tilewright.ir import InfeasibleError, MappingError
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Question
from tilewright.mapper.segmentation import NetworkAnswer, NetworkQuestion, OneAfterTheOther, WeightsIn, segment
from tilewright.mapper.segmentation.states import TooManyStates
from tilewright.workloads.graph import joined

CHAIN = """
network: chain
layers:
  - {name: a, op: gemm, M: 2, N: 4, K: 4, weight: true}
  - {name: b, op: gemm, M: 2, N: 4, K: 4, weight: true}
  - {name: c, op: gemm, M: 2, N: 2, K: 4, weight: true}
graph: [a, b, c]
"""
ALL = (WeightsIn("GLB"),)
MAY_KEEP = machine("64 B").levels[1].model_copy(update={"keeps": Keeps(input="may", weight="may", output="may")})
NAMES = ("first", "up", "down", "last")


def answer_of(
    folder: Path, text: str, size: str, weights: tuple[WeightsIn, ...], most: int, objective: Objective = ENERGY
) -> NetworkAnswer:
    graph = graph_of(folder, text)
    asked = NetworkQuestion(graph, machine(size), objective, "perfect", most=most, weights_in=weights)
    return segment(asked, OneAfterTheOther(solve_once))


def on_chip(answer: NetworkAnswer) -> list[str]:
    """The weights that lie there, as the cascade of the whole network calls them."""
    return [one.name.replace(".", "_") for one in answer.staying if one.is_weight]


@pytest.mark.parametrize(("text", "size", "objective"), [(RESIDUAL, "150 B", ENERGY), (DIAMOND, "170 B", LATENCY)])
def test_single_operations_are_as_good_as_the_best_tree_without_loops(
    tmp_path: Path, text: str, size: str, objective: Objective
) -> None:
    """The whole network as one tree without shared loops, of which the weights are on chip before and after."""
    answer = answer_of(tmp_path, text, size, ALL, 1, objective)
    assert answer.certificate.proven
    weights = on_chip(answer)
    assert len(weights) == 4
    cascade = joined(answer.question.graph, list(answer.question.graph), "whole")
    stays = tuple((weight, "GLB") for weight in weights)
    asked = Question(cascade, machine(size), objective, "perfect", fuse="whole", stays=stays)
    assert answer.certificate.value == pytest.approx(search_cascade(asked).certificate.value)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("text", "size", "weights", "most"),
    [
        (RESIDUAL, "110 B", ALL, 2),
        (RESIDUAL, "150 B", (WeightsIn("GLB", ("down", "up")),), 3),
        (DIAMOND, "140 B", ALL, 2),
    ],
)
def test_the_whole_is_one_tree_that_costs_the_sum(
    tmp_path: Path, text: str, size: str, weights: tuple[WeightsIn, ...], most: int
) -> None:
    """Weights stand above all groups; what passes to them from the outermost memory is not counted."""
    answer = answer_of(tmp_path, text, size, weights, most)
    names = on_chip(answer)
    assert len(names) == len(weights[0].operations or range(4))
    cost = evaluate(whole_tree(answer), machine(size), names)
    assert cost.energy_pj == pytest.approx(answer.energy_pj)
    assert cost.latency_cycles == pytest.approx(answer.latency_cycles)


def test_they_lie_at_one_place_while_all_groups_work(tmp_path: Path) -> None:
    answer = answer_of(tmp_path, RESIDUAL, "110 B", ALL, 2)
    for one in answer.staying:
        if one.is_weight:
            assert (one.first, one.last) == (0, len(answer.segments) - 1)
            found = set()
            for group, name in zip(answer.segments, one.buffers, strict=True):
                arena = next(arena for arena in group.arenas if arena.memory == one.memory)
                assert arena.plan.buffers.by_name[name].size * 8 == one.bits
                found.add(arena.plan.offsets[name])
            assert len(found) == 1


@pytest.mark.long
def test_the_rest_has_so_much_less_room(tmp_path: Path) -> None:
    """With weights all over the memory nothing else stays, and a byte more of them does not fit."""
    tight = answer_of(tmp_path, RESIDUAL, "91 B", ALL, 1)
    assert not [one for one in tight.staying if not one.is_weight]
    named = (WeightsIn("GLB", NAMES),)
    with pytest.raises(InfeasibleError, match="needs 3 B, capacity is 2 B") as found:
        answer_of(tmp_path, RESIDUAL, "90 B", named, 1)
    assert found.value.hint == "weights take 88 bytes of GLB all the time: name fewer operations, or none"
    with pytest.raises(InfeasibleError, match="weights take 88 bytes, and GLB has 87"):
        answer_of(tmp_path, RESIDUAL, "87 B", named, 1)


def test_what_is_found_beside_a_full_memory_is_read_back(tmp_path: Path) -> None:
    """A machine without room was kept in the store, which refused it from then on."""
    path = tmp_path / "network.yaml"
    path.write_text(RESIDUAL, encoding="utf-8")
    arch = machine("64 B").model_copy(update={"levels": (machine("64 B").levels[0], MAY_KEEP)})
    weights, store = {"GLB": ["up", "down"]}, tmp_path / "store.db"
    asked = {"tiling": "perfect", "most": 1, "weights_in": weights, "store": store, "workers": 1}
    found, again = (tw.compile(path, arch, **asked) for _ in range(2))  # type: ignore[arg-type]
    assert again.energy_pj == found.energy_pj
    assert max(plan.height for plan in found.answer.arenas.values()) == 64


# ---- the best of them --------------------------------------------------------------------------------------------

CHOICES = [
    (RESIDUAL, "90 B", 1, ENERGY),
    (RESIDUAL, "87 B", 1, ENERGY),
    (RESIDUAL, "60 B", 1, ENERGY),
    (RESIDUAL, "40 B", 1, ENERGY),
    (RESIDUAL, "24 B", 1, LATENCY),
    (DIAMOND, "96 B", 1, ENERGY),
    (DIAMOND, "44 B", 1, LATENCY),
    (DIAMOND, "30 B", 1, ENERGY),
    (CHAIN, "30 B", 2, ENERGY),
    *[(DIAMOND, "64 B", 2, ENERGY)] * (longer.TIMES > 1),
]


def names_of(text: str) -> tuple[str, ...]:
    """Operations that have weights."""
    return {RESIDUAL: NAMES, CHAIN: ("a", "b", "c")}.get(text, ("first", "left", "wide", "thin"))


def best_of_all(folder: Path, text: str, size: str, most: int, objective: Objective) -> dict[frozenset[str], float]:
    """What the network costs at least with the weights of each set of operations on chip that have room."""
    found = {}
    names = names_of(text)
    for chosen in itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(len(names) + 1)):
        weights = (WeightsIn("GLB", chosen),) if chosen else ()
        try:
            found[frozenset(chosen)] = answer_of(folder, text, size, weights, most, objective).certificate.value
        except InfeasibleError:
            continue
    return found


@pytest.mark.long
@pytest.mark.parametrize(("text", "size", "most", "objective"), CHOICES)
def test_no_other_weights_are_better_where_not_all_have_room(
    tmp_path: Path, text: str, size: str, most: int, objective: Objective
) -> None:
    answer = answer_of(tmp_path, text, size, ALL, most, objective)
    every = best_of_all(tmp_path, text, size, most, objective)
    assert max(map(len, every)) < len(names_of(text))
    assert answer.certificate.proven
    assert answer.certificate.value == pytest.approx(min(every.values()))
    kept = frozenset(one.name.removesuffix(".W") for one in answer.staying if one.is_weight)
    assert every[kept] == pytest.approx(answer.certificate.value)
    assert {one.name.removesuffix(".W") for one in answer.left_out} == set(names_of(text)) - kept
    assert "the best weights in GLB" in answer.certificate.constraints
    for plan in answer.arenas.values():
        plan.check()
        assert plan.fits


@pytest.mark.some(1)
@pytest.mark.parametrize("stays", [True, False])
def test_covers_choose_the_same_weights(tmp_path: Path, stays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By CP-SAT, as where there are too many states: nothing else stays then."""

    def too_many(*_: object) -> None:
        raise TooManyStates

    asked = NetworkQuestion(graph_of(tmp_path, CHAIN), machine("30 B"), ENERGY, "perfect", most=1, weights_in=ALL)
    by_states = segment(replace(asked, stays=False), OneAfterTheOther(solve_once))
    monkeypatch.setattr("tilewright.mapper.segmentation.steps.state_graph", too_many)
    answer = segment(replace(asked, stays=stays), OneAfterTheOther(solve_once))
    assert answer.certificate.proven != stays
    assert len(answer.certificate.proven_among) == stays
    assert answer.certificate.value == pytest.approx(by_states.certificate.value)
    assert answer.all_pass == stays


@pytest.mark.long
def test_products_choose_weights_too(tmp_path: Path) -> None:
    every = best_of_all(tmp_path, CHAIN, "30 B", 1, EDP)
    answer = answer_of(tmp_path, CHAIN, "30 B", ALL, 1, EDP)
    least = min(every.values())
    assert answer.certificate.lower_bound <= least * (1 + 1e-9)
    assert answer.certificate.value >= least * (1 - 1e-9)
    assert answer.left_out
    limited = answer_of(tmp_path, CHAIN, "30 B", ALL, 1, ENERGY.capped(latency=answer.latency_cycles))
    assert limited.latency_cycles <= answer.latency_cycles * (1 + 1e-9)
    assert limited.certificate.lower_bound <= limited.certificate.value


def test_a_page_says_which_weights_are_not_kept(tmp_path: Path) -> None:
    page = page_of(answer_of(tmp_path, CHAIN, "36 B", ALL, 1))
    assert "a.W GLB weight all the time 16 B" in page
    assert "b.W not kept the room is worth more to groups 16 B" in page
    assert "the best weights in GLB" in page


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((WeightsIn("RF"),), "unknown memory outside all arrays 'RF'"),
        ((WeightsIn("GLB", ("ups",)),), "unknown operation 'ups'"),
        ((WeightsIn("GLB", ("add",)),), "add has no weights"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, weights: tuple[WeightsIn, ...], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        answer_of(tmp_path, RESIDUAL, "200 B", weights, 1)


def test_a_plan_is_read_back_where_something_stays_while_others_work(tmp_path: Path) -> None:
    """What is no operation has addresses too: of what lies there meanwhile."""
    path = tmp_path / "network.yaml"
    entries = "graph:\n  - {name: input, op: outside, shape: [4, 4]}\n"
    path.write_text(RESIDUAL.replace("graph:\n", entries), encoding="utf-8")
    found = tw.compile(path, machine("200 B"), tiling="perfect", weights_in="GLB", workers=1)
    assert found.segments[0].answer is None
    found.save(tmp_path / "out")
    plan = tw.load_network_plan(tmp_path / "out" / "plan.json")
    assert not plan.groups[0].counted
    assert [len(one.buffers) for one in plan.staying if one.weight] == [len(plan.groups)] * 4


def test_a_plan_has_them_and_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "network.yaml"
    path.write_text(RESIDUAL, encoding="utf-8")
    found = tw.compile(path, machine("200 B"), tiling="perfect", weights_in={"GLB": ["up", "down"]}, workers=1)
    found.save(tmp_path / "out")
    plan = tw.load_network_plan(tmp_path / "out" / "plan.json")
    assert {one.tensor: (one.size_bytes, one.first, one.last) for one in plan.staying if one.weight} == {
        name: (32, 1, len(plan.groups)) for name in ("up.W", "down.W")
    }
    assert "weights in GLB: up, down" in plan.constraints
    assert all(one.agrees for one in found.verify())
