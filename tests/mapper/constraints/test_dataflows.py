"""The dataflows that come with tilewright: on which machines they mean what, and what they guarantee."""

from __future__ import annotations

import itertools
import math

import pytest

from brute_force import all_mappings
from tilewright.arch import Architecture, list_archs, load_arch
from tilewright.cost_models import evaluate
from tilewright.ir import Loop, LoopNest, Mapping, Problem
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.files import dataflow_text, list_dataflows, load_constraints
from tilewright.mapper.constraints.violations import violations
from tilewright.workloads import batched_gemm, conv2d, einsum, gemm

LAYERS = {
    "gemm": gemm(M=4, N=4, K=4),
    "batched gemm": batched_gemm(B=2, M=4, N=4, K=4),
    "conv": conv2d(K=4, C=4, P=4, Q=4, R=3, S=3),
    "depthwise": conv2d(K=4, C=4, P=4, Q=4, R=3, S=3, groups=4),
    "einsum without weights": einsum("mk,m->k", {"m": 4, "k": 4}),
}
NAMES = ("free", "input-stationary", "no-local-reuse", "output-stationary", "row-stationary", "weight-stationary")


def test_the_list_is_pinned_and_every_file_names_itself() -> None:
    assert list_dataflows() == NAMES
    for name in NAMES:
        found = load_constraints(name, LAYERS["conv"], load_arch("eyeriss"))
        assert found.name == name
        assert found.is_free == (name == "free")
        assert f"name: {name}\n" in dataflow_text(name)


@pytest.mark.some(15)
@pytest.mark.parametrize("arch", list_archs())
@pytest.mark.parametrize("layer", LAYERS)
def test_all_resolve_on_every_machine_and_every_layer(arch: str, layer: str) -> None:
    for name in NAMES:
        found = load_constraints(name, LAYERS[layer], load_arch(arch))
        assert {dim for _, dim in found.temporal} <= set(LAYERS[layer].dim_names)


def simplest(problem: Problem, arch: Architecture, constraints: Constraints) -> Mapping:
    """All loops at the outermost memory in the order asked for; memories keep what they must, arrays are idle."""
    outermost = arch.memories[0].name
    first = [dim for group in constraints.orders.get(outermost, ()) for dim in sorted(group)]
    lines = []
    for memory in arch.memories:
        for tensor in problem.tensors:
            default = memory.keeps[tensor.role] == "must"
            if constraints.keeps.get((memory.name, tensor.name), default):
                lines.append(f"{memory.name} keeps {tensor.name}")
    dims = [*first, *(dim for dim in problem.dim_names if dim not in first)]
    loops = [f"for {dim} in {problem.sizes[dim]}" for dim in dims if problem.sizes[dim] > 1]
    count = len(problem.tensors)
    return Mapping(problem, LoopNest.parse("\n".join([*lines[:count], *loops, *lines[count:]])))


@pytest.mark.some(20)
@pytest.mark.parametrize("arch", list_archs())
@pytest.mark.parametrize("layer", ["gemm", "conv", "depthwise"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "row-stationary"])
def test_all_but_row_stationary_have_a_mapping_on_every_machine(arch: str, layer: str, name: str) -> None:
    machine, problem = load_arch(arch), LAYERS[layer]
    constraints = load_constraints(name, problem, machine)
    mapping = simplest(problem, machine, constraints)
    assert evaluate(mapping, machine).energy_pj > 0
    assert violations(mapping, machine, constraints) == ()


ROWS = """
DRAM keeps I W O
for K in 2
  GLB keeps I O
  for C in 4
    for Q in 4
      parallel R in 3 on array.y
        parallel K in 2 on array.y
          parallel P in 4 on array.x
            spad keeps I W O
            for S in 3
"""


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        ("", "", None),
        ("parallel R in 3 on array.y", "for R in 3", "3 trips of R at GLB"),
        ("parallel R in 3 on array.y", "parallel R in 3 on array.x", "R on array.x"),
        ("parallel P in 4 on array.x", "parallel P in 4 on array.y", "P on array.y"),
        ("    for C in 4\n    for Q in 4", "    for Q in 4\n    for C in 4", "a loop over Q stands outside one over C"),
        ("spad keeps I W O\nfor S in 3", "for S in 3\nspad keeps I W O", "S at GLB"),
        ("parallel P in 4 on array.x\nspad keeps I W O", "spad keeps I W O\nfor P in 4", "P at spad"),
    ],
)
def test_row_stationary_is_the_mapping_of_the_paper(old: str, new: str, broken: str | None) -> None:
    """A nest like that of the Eyeriss chip, and one change at a time that makes it something else."""
    nest = "\n".join(line.strip() for line in ROWS.splitlines())
    old, new = ("\n".join(line.strip() for line in text.splitlines()) for text in (old, new))
    assert old in nest
    problem, eyeriss = LAYERS["conv"], load_arch("eyeriss")
    constraints = load_constraints("row-stationary", problem, eyeriss)
    found = violations(Mapping(problem, LoopNest.parse(nest.replace(old, new, 1))), eyeriss, constraints)
    assert any(broken in text for text in found) if broken else found == ()


STATIONARY = {"weight-stationary": ("W", "M"), "input-stationary": ("A", "N"), "output-stationary": ("O", "K")}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", STATIONARY)
def test_stationary_words_enter_the_registers_once(name: str) -> None:
    """Of the mappings that satisfy it, those in which no outer loop repeats what inner ones do load each word once.

    Once for every copy: registers that differ in a loop that does not move the tensor hold the same words. A partial
    sum that never comes back is written by its updates alone.
    """
    machine, problem = load_arch("three_level"), gemm(M=2, N=2, K=2)
    tensor, still = STATIONARY[name]
    constraints = load_constraints(name, problem, machine)
    seen, repeated = 0, set()
    for mapping in itertools.islice(all_mappings(problem, machine, ragged=False), 0, None, 5):
        if violations(mapping, machine, constraints):
            continue
        above = mapping.nest.items[: mapping.nest.node_positions(tensor)[-1]]
        loops = [item for item in above if isinstance(item, Loop)]
        in_time = [loop.dim for loop in loops if not loop.is_spatial]
        copies = math.prod(loop.trips for loop in loops if loop.is_spatial and loop.dim == still)
        writes = next(t.writes for t in evaluate(mapping, machine).traffic if (t.memory, t.tensor) == ("RF", tensor))
        once = problem.macs if tensor == "O" else 4 * copies
        if still in in_time[:-1]:
            repeated.add(writes > once)  # a loop of an outer memory comes before those of an inner one
            continue
        seen += 1
        assert writes == once, str(mapping)
    assert seen > 100
    assert True in repeated
