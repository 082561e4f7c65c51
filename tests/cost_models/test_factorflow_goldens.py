"""Counts and latencies of FactorFlow's golden GEMMs, figure by figure.

It reads partial sums that leave from the inner memory, as we do by default; where its `bias_read` is on, their first
read counts too (`first_read_elision: false`).
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from generators import tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import evaluate
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Node, Problem

TENSORS = {"w": "weight", "in": "input", "out": "output"}
WORD_BITS = 8


@cache
def cases() -> dict[str, dict[str, Any]]:
    text = (Path(__file__).parent.parent / "golden" / "factorflow.yaml").read_text()
    return {case["case"]: case for case in yaml.load(text, yaml.CSafeLoader)}


def problem_of(case: dict[str, Any]) -> Problem:
    tensors = (tensor("w", "weight", "M", "K"), tensor("in", "input", "K", "N"), tensor("out", "output", "M", "N"))
    return Problem(case["case"], tuple((dim, case[dim]) for dim in "MKN"), tensors)


def kept_by(level: dict[str, Any], outermost: bool) -> list[str]:
    """The outermost memory of ours keeps everything, also what a second memory beside it holds there."""
    return [name for name in TENSORS if outermost or name not in level["bypass"]]


def mapping_of(case: dict[str, Any]) -> Mapping:
    items: list[Loop | Node] = []
    for i, level in enumerate(case["levels_outer_to_inner"]):
        if "memory" in level:
            items += [Node(level["memory"], name) for name in kept_by(level, i == 0)]
            items += [Loop(dim, trips) for dim, trips in level["loops_outer_to_inner"]]
        elif "spatial" in level:
            items += [Loop(dim, trips, Axis(level["spatial"])) for dim, trips in level["factors"].items()]
    return Mapping(problem_of(case), LoopNest(tuple(items)))


def architecture_of(case: dict[str, Any]) -> Architecture:
    levels = case["levels_outer_to_inner"]
    return Architecture(
        name=case["case"],
        clock_hz=1e9,
        word_bits=WORD_BITS,
        first_read_elision=not case["bias_read"],
        levels=tuple(
            memory_of(level, i == 0)
            if "memory" in level
            else Fanout(name=level["spatial"], axes=(ArrayAxis(size=level["mesh"]),))
            for i, level in enumerate(levels[:-1])
        ),
        mac=Mac(energy_pj=levels[-1]["compute_pj"]),
    )


def memory_of(level: dict[str, Any], outermost: bool) -> Memory:
    keeps = {role: "must" if name in kept_by(level, outermost) else "never" for name, role in TENSORS.items()}
    return Memory(
        name=level["memory"],
        size_bits=None if outermost else level["size_values_per_instance"] * WORD_BITS,
        access_bits=WORD_BITS,
        read_energy_pj=level["read_pj"],
        write_energy_pj=level["write_pj"],
        read_bits_per_cycle=level["read_bw"] * WORD_BITS,
        write_bits_per_cycle=level["write_bw"] * WORD_BITS,
        keeps=Keeps.model_validate(keeps),
    )


def memories(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [level for level in case["levels_outer_to_inner"] if "memory" in level]


def beside(case: dict[str, Any]) -> str | None:
    """A second outermost memory: it has its tensors from the start, while ours are filled from DRAM."""
    return "WeightsDRAM" if any(level["memory"] == "WeightsDRAM" for level in memories(case)) else None


def test_all_cases_are_there() -> None:
    assert len(cases()) == 6
    assert {case["bias_read"] for case in cases().values()} == {True, False}


@pytest.mark.parametrize("name", cases())
def test_words_moved(name: str) -> None:
    case = cases()[name]
    cost = evaluate(mapping_of(case), architecture_of(case))
    found = {(t.memory, t.tensor): (t.reads, t.writes) for t in cost.traffic}
    for level in memories(case):
        counts = level["counts_all_instances"]
        for which in TENSORS:
            theirs = (counts[f"{which}_reads"], counts[f"{which}_writes"])
            ours = found.pop((level["memory"], which), (0, 0))
            if beside(case) and which == "w" and level["memory"] in ("DRAM", beside(case)):
                once = math.prod(case[dim] for dim in "MK")
                theirs = (once, 0) if level["memory"] == "DRAM" else (theirs[0], once)
            assert ours == theirs, (level["memory"], which)
    assert not found


@pytest.mark.parametrize("name", cases())
def test_latency(name: str) -> None:
    """Theirs of a level waits for the levels inside it, so the longest of all levels is that of the whole."""
    case = cases()[name]
    theirs = max(cycles for level in memories(case) for cycles in level["latency"].values())
    cost = evaluate(mapping_of(case), architecture_of(case))
    if beside(case):
        # Our DRAM, the slowest here, serves the weights once as well.
        assert cost.limited_by == "DRAM"
        theirs += case["M"] * case["K"] / memories(case)[0]["read_bw"]
    assert cost.latency_cycles == theirs
