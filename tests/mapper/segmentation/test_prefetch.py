"""Weights that are fetched while the group before runs (`prefetch: next`), in plans of networks."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

import tilewright as tw
from longer import seeds
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.cost_models import LATENCY, Cost, Objective, parse_objective
from tilewright.ir import ArchitectureError, MemoryPlanError
from tilewright.mapper.fusing import answer_below
from tilewright.mapper.segmentation import NetworkQuestion, OneAfterTheOther, segment
from tilewright.mapper.segmentation.group_edges import GroupEdge
from tilewright.mapper.segmentation.group_search import GroupSearch
from tilewright.mapper.segmentation.steps import NetworkSteps
from tilewright.run.documents.network_plans import dump_network_plan, network_plan_of, parse_network_plan
from tilewright.workloads import Network, load_network


def machine(size: str = "2 KiB", prefetch: str = "next", **others: object) -> Architecture:
    """Sixteen MACs, a buffer, and a slow port outside."""
    fields = {"array": "4x4", "GLB.size": size, "DRAM.bandwidth": "4 words/cycle", "GLB.prefetch": prefetch, **others}
    return load_arch("three_level", set=fields)


def chain(folder: Path, sizes: list[tuple[int, int, int]]) -> Network:
    """Products one after the other: rows, columns and depth of each."""
    rows = [f"  - {{name: p{i}, op: gemm, M: {m}, N: {n}, K: {k}, weight: true}}" for i, (m, n, k) in enumerate(sizes)]
    names = "\n".join(f"  - p{i}" for i in range(len(sizes)))
    start = f"graph:\n  - {{name: input, op: outside, shape: [{sizes[0][0]}, {sizes[0][2]}]}}\n"
    path = folder / "chain.yaml"
    path.write_text("network: chain\nlayers:\n" + "\n".join(rows) + "\n" + start + names + "\n", encoding="utf-8")
    return load_network(path)


def drawn(folder: Path, seed: int) -> Network:
    draw = random.Random(seed)
    m, widths = draw.choice([4, 8]), [draw.choice([4, 8, 16, 32]) for _ in range(draw.choice([3, 4]))]
    return chain(folder, [(m, n, k) for k, n in itertools.pairwise(widths)])


def asked(found: Network, arch: Architecture, objective: Objective, most: int = 2) -> NetworkQuestion:
    assert found.wiring is not None
    return NetworkQuestion(found.wiring, arch, objective, "perfect", most=most)


# ---- the recurrence, written down again: one port outside, and one of the buffer -------------------------------------


def run_along(costs: list[tuple[Cost, float]], arch: Architecture) -> float:
    """The cycles of groups one after the other; with each, the bits of its buffer that others take."""
    cycles, idle, room = 0.0, (0.0, 0.0), 0.0
    buffer = next(memory for memory in arch.memories if memory.name == "GLB")
    rates = [memory.shared_bits_per_cycle or 0.0 for memory in arch.memories[:2]]
    for cost, taken in costs:
        outside, inside = idle
        here = {tile.tensor for tile in next(iter(cost.occupancy.values())) if tile.memory == "GLB"}
        left, idle_after = room, [0.0, 0.0]
        for part in cost.operations.values():
            ahead = 0.0  # bits of this operation's weights that are there
            for one in part.traffic:
                if one.memory == "GLB" and one.tensor.endswith("W") and one.tensor in here and one.tile_words:
                    ahead = max(0.0, min(8 * one.tile_words, left, outside * rates[0], inside * rates[1]))
                    left -= 8 * one.tile_words
                    outside, inside = outside - ahead / rates[0], inside - ahead / rates[1]
            port = [use.cycles - ahead / rate for use, rate in zip(part.memories[:2], rates, strict=True)]
            others = max([part.compute_cycles, *(use.cycles for use in part.memories[2:])])
            time = max(others, *port)
            cycles += time
            idle_after = [one + time - each for one, each in zip(idle_after, port, strict=True)]
        idle = idle_after[0], idle_after[1]
        held = max(sum(t.bits for t in tiles if t.memory == "GLB") for tiles in cost.occupancy.values())
        room = (buffer.size_bits or 0) - held - taken
    return cycles


def paths(steps: NetworkSteps, at: int = 0) -> list[list[GroupEdge]]:
    """All ways through the states, of the trees that are known."""
    if at == steps.states - 1:
        return [[]]
    starts = [edge for edge in steps.edges if edge.start == at and edge.value < float("inf")]
    return [[edge, *rest] for edge in starts for rest in paths(steps, edge.end)]


def value_along(steps: NetworkSteps, path: list[GroupEdge], objective: Objective) -> float:
    costs = [(cost, float(sum(edge.taken))) for edge in path if (cost := steps.ahead.cost(edge)) is not None]
    energy = sum(cost.energy_pj for cost, _ in costs)
    return objective.value(energy, run_along(costs, steps.question.arch))


@pytest.mark.parametrize("seed", seeds(40))
def test_no_way_of_known_trees_is_better_and_no_plan_below_the_bound(tmp_path: Path, seed: int) -> None:
    objective = [LATENCY, parse_objective("energy + 50 * latency")][seed % 2]
    arch = machine(random.Random(seed).choice(["256 B", "512 B", "2 KiB"]))
    question = asked(drawn(tmp_path, seed), arch, objective)
    search = GroupSearch(question, OneAfterTheOther(answer_below))
    answer = search.run()
    steps, proof = search.steps, answer.certificate
    least = min(value_along(steps, path, objective) for path in paths(steps))
    in_the_end = objective.value(answer.energy_pj, answer.latency_cycles)
    assert in_the_end == pytest.approx(proof.value)
    assert proof.lower_bound <= least * (1 + 1e-9) <= proof.value * (1 + 2e-9)
    if proof.proven_among:  # addresses beside what stays may leave less room than there is
        assert proof.value == pytest.approx(least)

    every = NetworkSteps(question)  # all groups, whether they could be of use or not
    whole = GroupSearch(question, OneAfterTheOther(answer_below), every)
    whole.costs.search_all(every.edges)
    assert proof.lower_bound <= min(value_along(every, path, objective) for path in paths(every)) * (1 + 1e-9)


def test_a_small_layer_finds_its_weights_there(tmp_path: Path) -> None:
    """While 64 x 64 weights are used, the port is idle for 4,096 - 3,072 cycles: the 512 weights of what follows come,
    256 cycles of its 832. That is busy at the port all the time, so that nothing comes for the last one."""
    found = chain(tmp_path, [(16, 64, 64), (16, 8, 64), (16, 64, 8)])
    slow: dict[str, object] = {"DRAM.bandwidth": "2 words/cycle"}
    machines = {key: machine("16 KiB", key, **slow) for key in ("none", "next")}
    plans = {key: segment(replace(asked(found, arch, LATENCY, 1), stays=False)) for key, arch in machines.items()}
    before, after = plans["none"], plans["next"]
    assert before.latency_cycles == 4096 + 832 + 832
    assert after.latency_cycles == before.latency_cycles - 256
    assert after.saved_ahead.latency_cycles == 256
    assert after.certificate.proven
    assert any("fetched ahead into GLB" in line for line in after.certificate.constraints)
    assert not before.saved_ahead.latency_cycles
    document = network_plan_of(after)
    document.check()
    text = dump_network_plan(document)
    assert parse_network_plan(text, "plan.json") == document
    group = next(number for number, one in enumerate(document.groups) if one.ahead)
    moved = document.groups[group].ahead[0].model_copy(update={"size_bytes": 1})
    groups = list(document.groups)
    groups[group] = groups[group].model_copy(update={"ahead": (moved,)})
    with pytest.raises(MemoryPlanError, match="comes ahead to GLB, where its addresses are not kept for it"):
        document.model_copy(update={"groups": tuple(groups)}).check()
    for plan in after.arenas.values():
        plan.check()


def test_least_energy_is_what_it_was(tmp_path: Path) -> None:
    found = chain(tmp_path, [(16, 64, 64), (16, 8, 64), (16, 64, 8)])
    results = {}
    for key in ("none", "next"):
        results[key] = tw.compile(found, machine("16 KiB", key), tiling="perfect", most=1, workers=1)
    assert results["next"].energy_pj == results["none"].energy_pj
    assert results["next"].latency_cycles <= results["none"].latency_cycles
    assert results["next"].certificate.proven


def test_no_memory_fetches_ahead_to_no_end() -> None:
    for fields, message in (
        ({"DRAM.prefetch": "next"}, "nothing comes to the outermost memory"),
        ({"GLB.prefetch": "soon"}, "expected none or next"),
        ({"GLB.prefetch": "next", "GLB.keep": "{input: may, weight: never, output: may}"}, "never keeps weights"),
        ({"GLB.prefetch": "next", "GLB.overlaps": "false"}, "overlaps is false"),
        ({"GLB.prefetch": "next", "DRAM.overlaps": "false"}, "no word passes DRAM while computing"),
        ({"GLB.prefetch": "next", "DRAM.line": "64 B"}, "knows none"),
    ):
        with pytest.raises(ArchitectureError, match=message):
            load_arch("three_level", set=fields)
    plain = next(one for one in load_arch("three_level").levels if isinstance(one, Memory) and one.name == "GLB")
    assert "prefetch" not in plain.model_dump()


def test_one_operation_has_no_next() -> None:
    question = tw.gemm(16, 64, 32)
    one, other = (tw.search(question, machine(prefetch=key), objective="latency") for key in ("none", "next"))
    assert one.mapping == other.mapping
