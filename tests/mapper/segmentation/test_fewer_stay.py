"""Groups of which tensors stay on chip cost no less than those of which fewer stay, less what passing takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_residency import DIAMOND, RESIDUAL, graph_of, machine

from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY, LATENCY
from tilewright.ir import InfeasibleError
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Question
from tilewright.mapper.segmentation.fewer_stay import FewerStay
from tilewright.mapper.segmentation.kinds import Finding, GroupKind
from tilewright.mapper.segmentation.question import NetworkQuestion
from tilewright.mapper.segmentation.steps import NetworkSteps


def least_of(kind: GroupKind, arch: Architecture) -> float:
    asked = Question(kind.cascade, arch, ENERGY, "perfect", stays=kind.stays)
    try:
        answer = search_cascade(asked)
    except InfeasibleError:
        return float("inf")
    assert answer.certificate.proven
    return answer.certificate.value


@pytest.mark.long
@pytest.mark.parametrize(("text", "size", "drains"), [(RESIDUAL, "64 B", True), (DIAMOND, "80 B", False)])
def test_no_group_costs_less_than_passing_saves(tmp_path: Path, text: str, size: str, drains: bool) -> None:
    """Of all groups of two operations of small networks: proven both, and met where there is room."""
    arch = machine(size).model_copy(update={"inner_drain_read": drains})
    steps = NetworkSteps(NetworkQuestion(graph_of(tmp_path, text), arch, ENERGY, "perfect", most=2))
    found = {id(kind): least_of(kind, arch) for kind in steps.kinds if len(kind.cascade.operations) > 1}
    met = compared = 0
    for kind in steps.kinds:
        for fewer, passing in kind.fewer:
            least = found[id(fewer)] - passing
            assert passing > 0
            assert found[id(kind)] >= least * (1 - 1e-9), (kind.cascade.name, kind.stays, fewer.stays)
            met += found[id(kind)] == pytest.approx(least)
            compared += 1
    assert compared > 8
    assert met > compared / 3


def test_what_is_proven_of_a_group_bounds_those_of_which_more_stay(tmp_path: Path) -> None:
    arch = machine("200 B")
    steps = NetworkSteps(NetworkQuestion(graph_of(tmp_path, RESIDUAL), arch, ENERGY, "perfect", most=2))
    nothing = (0,) * len(steps.residency.memories)
    kind = next(kind for kind in steps.kinds if kind.fewer)
    fewer, passing = kind.fewer[0]
    before = kind.bound(nothing)
    fewer.findings.append(Finding(nothing, float("inf"), 1e9))
    steps.tell([fewer])
    assert kind.bound(nothing) == 1e9 - passing > before
    edges = [edge for edge in steps.edges if edge.kind is kind]
    assert edges
    assert all(edge.bound == kind.bound(edge.taken) for edge in edges)


def test_nothing_is_said_where_passing_takes_more_than_energy(tmp_path: Path) -> None:
    arch = machine("200 B")
    assert FewerStay(arch, ENERGY).knows
    assert not FewerStay(arch, LATENCY).knows
    assert not FewerStay(arch.model_copy(update={"first_read_elision": False}), ENERGY).knows
    leaking = arch.model_copy(update={"mac": arch.mac.model_copy(update={"leakage_pj_per_cycle": 1.0})})
    assert not FewerStay(leaking, ENERGY).knows
