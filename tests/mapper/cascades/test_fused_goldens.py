"""Fused optima that others found: tiny cascades by a brute force of AccelForge's rules, larger ones by AccelForge.

Ours may be lower for two reasons, and no other: splits nest in the order of loops that an intermediate needs, where
AccelForge's shared loops have one order for all operations; and an input that two operations read is kept once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelforge_trees import cascade_of, cases, machine_of, tree_of
from longer import TIMES
from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY, evaluate, parse_objective
from tilewright.ir import Cascade, Loop, Mapping, Node
from tilewright.mapper.answer import Answer
from tilewright.mapper.cascades import search_cascade, search_cascade_front
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

SMALL = Path(__file__).parents[2] / "golden" / "fused" / "small_bruteforce.jsonl"
FUSE = {"unfused": "none", "whole": "whole", "fused": "all"}
FIGURES = {"energy_pJ": "energy", "latency_cycles": "latency", "edp": "edp"}
LOWER = {11: 49_440.0, 37: 23_072.0}
"""Energy of S, Z, O where splits nest, by size of GLB: 59,328 and 26,368 otherwise."""
SHARED_INPUTS = {("gated3_64", 8192), ("gated4_64", 8192), ("gated4_64", 5000)}
"""Cases, with the size of GLB, where the input that two operations read is worth keeping once."""


WITHOUT_WINDOWS = ("trees without shared loops along windows",)
"""Trees among which AccelForge's are: of two convolutions in a row, what others cost at least is not always known."""


def optimum(whole: Cascade, arch: Architecture, objective: str, mode: str) -> Answer:
    """The proven best of the uneven space with perfect tiles; where operations read in windows, of the peer's trees."""
    question = Question(whole, arch, parse_objective(objective), "perfect", "uneven", fuse=FUSE[mode])
    answer = search_cascade(question)
    proof = answer.certificate
    has_windows = any(len(rank) > 1 for one in whole for tensor in one.problem.tensors for rank in tensor.ranks)
    assert proof.proven or (has_windows and proof.proven_among == WITHOUT_WINDOWS)
    return answer


# ---- tiny cascades -----------------------------------------------------------------------------------------


def small_cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SMALL.read_text(encoding="utf-8").splitlines()]


def small_cascade(case: dict[str, Any]) -> Cascade:
    """`T[m,n]=A[m,k]*B[k,n]; ...` sums over what the left side has not."""
    statements = []
    for text in case["cascade"].replace("f(S[m,n])", "exp(S[m,n])").split("; "):
        left, right = text.split("=")
        reduced = set("".join(re.findall(r"\[(.*?)\]", right))) - set(left)
        statements.append(f"{left} {'+=' if reduced else '='} {right}")
    return cascade(statements, case["sizes"], name="small")


def small_questions() -> Iterator[Any]:
    """All modes and figures of every sixth case; of the others the energy of fused mappings."""
    for number, case in enumerate(small_cases()):
        for mode, figures in case.items():
            for figure, value in figures.items() if mode in FUSE else ():
                if TIMES > 1 or number % 6 == 0 or (mode, figure) == ("fused", "energy_pJ"):
                    kind = case["cascade"][0] + str(case["cascade"].count(";") + 1)
                    name = f"{kind}-{case['glb_words']}-{mode}-{FIGURES[figure]}-{number}"
                    yield pytest.param(case, mode, FIGURES[figure], value, id=name)


@pytest.mark.some(12)
@pytest.mark.parametrize(("case", "mode", "objective", "value"), list(small_questions()))
def test_tiny_cascades_are_at_the_optimum_of_a_brute_force(
    case: dict[str, Any], mode: str, objective: str, value: float
) -> None:
    expected = LOWER.get(case["glb_words"], value) if case["cascade"].startswith("S") else value
    answer = optimum(small_cascade(case), machine_of(case), objective, mode)
    assert answer.cost.objective(objective) == expected


@pytest.mark.parametrize("glb_words", LOWER)
def test_where_tiny_cascades_are_lower_splits_nest(glb_words: int) -> None:
    """Z and O share a loop inside those that S shares, and so one word or two of Z are enough while as many rows of S
    stay as its own loops want. In one order of shared loops for all three, S would have no more rows than Z."""
    (case,) = (c for c in small_cases() if c["cascade"].startswith("S") and c["glb_words"] == glb_words)
    answer = optimum(small_cascade(case), machine_of(case), "energy", "fused")
    assert answer.cost.energy_pj < case["fused"]["energy_pJ"]
    scores, rest = answer.mapping.tree.branches
    assert scores.operation == "S"
    assert [branch.operation for branch in rest.branches] == ["Z", "O"]
    assert any(isinstance(item, Loop) for item in rest.items)


def test_all_tiny_cascades_are_there() -> None:
    assert len(small_cases()) == 60


# ---- AccelForge's own --------------------------------------------------------------------------------------

SLOW = {"attn2_1024x128", "attn_softmax1_64", "gated3_64", "gated4_64", "invres_14", "mm2_256x64"}
"""Cases of which the energy alone is searched by default."""


def peer_questions() -> Iterator[Any]:
    """On F2: by default the energy of all, and all objectives of what is quick."""
    for case in cases():
        if case["machine"] != "F2":
            continue
        objectives = ("energy", "latency", "edp") if case["objective"] == "front" else (case["objective"],)
        for objective in objectives:
            if TIMES > 1 or objective == "energy" or (case["case"] not in SLOW and case["mode"] == "fused"):
                name = f"{case['case']}-{case['glb_words']}-{case['mode']}-{objective}"
                yield pytest.param(case, objective, id=name)


@pytest.mark.some(12)
@pytest.mark.parametrize(("case", "objective"), list(peer_questions()))
def test_accelforge_finds_nothing_better(case: dict[str, Any], objective: str) -> None:
    arch, whole = machine_of(case), cascade_of(case)
    answer = optimum(whole, arch, objective, case["mode"])
    value, theirs = answer.cost.objective(objective), case["optimum"][objective]
    if case["mode"] == "fused" and (case["case"], case["glb_words"]) in SHARED_INPUTS:
        assert value < theirs
        assert keeps_once(answer.mapping, "X")
    else:
        assert value == theirs
    if objective in case["solutions"]:
        printed = tree_of(case, case["solutions"][objective]["mapping"])
        assert value <= evaluate(printed, arch).objective(objective) <= theirs


def fronts_of_the_peer() -> Iterator[Any]:
    """On F2: by default of what is quick."""
    for case in cases():
        if case["machine"] == "F2" and case["objective"] == "front" and (TIMES > 1 or case["case"] not in SLOW):
            yield pytest.param(case, id=f"{case['case']}-{case['glb_words']}-{case['mode']}")


@pytest.mark.some(4)
@pytest.mark.parametrize("case", list(fronts_of_the_peer()))
def test_whole_fronts_are_those_of_accelforge(case: dict[str, Any]) -> None:
    arch, whole, fuse = machine_of(case), cascade_of(case), FUSE[case["mode"]]
    found = search_cascade_front(Question(whole, arch, ENERGY, "perfect", "uneven", fuse=fuse))
    assert all(point.certificate.proven for point in found)
    if case["mode"] != "fused" or (case["case"], case["glb_words"]) not in SHARED_INPUTS:
        assert [[point.cost.energy_pj, point.cost.latency_cycles] for point in found] == case["front"]


def keeps_once(mapping: Mapping, tensor: str) -> bool:
    """Whether a node of an input stands above the split of all operations that read it."""
    first, second = (operation.name for operation in mapping.cascade.consumers[tensor])
    split = mapping.tree.above(mapping.split_of(first, second))
    return any(isinstance(item, Node) and item.tensor == tensor and item.memory == "GLB" for _, item in split)
