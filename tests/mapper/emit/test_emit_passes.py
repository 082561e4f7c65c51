"""Passes of emitted numpy programs: those that repeat another are run at once, and nothing that is checked changes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from trees import random_cascade, random_tree
from window_trees import random_windows

import longer
from emitted import random_triple
from generators import memory, random_architecture
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, load_arch
from tilewright.cost_models import simulate
from tilewright.ir import LoopNest, Mapping
from tilewright.mapper.emit import emit_numpy, program_steps, verify_numpy
from tilewright.mapper.emit.numpy.passes import LARGEST_ARRAY, pass_depths
from tilewright.mapper.emit.numpy.plan import NestPlan
from tilewright.mapper.emit.numpy.schedules import Schedules
from tilewright.workloads import batched_gemm, cascade, conv2d, gemm

MAY = Keeps(input="may", weight="may", output="may")


def simulated(mapping: Mapping, arch: Architecture) -> dict[tuple[str, str], tuple[int, int]]:
    return {name: (words.reads, words.writes) for name, words in simulate(mapping, arch).total.items()}


def plan_of(mapping: Mapping, arch: Architecture) -> NestPlan:
    (plan,) = Schedules(mapping, arch).plans.values()
    return plan


def choices_of_depths(mapping: Mapping, arch: Architecture, seed: int) -> list[list[int]]:
    """Passes of every depth, of all depths, and of some."""
    depths = list(range(1, len(plan_of(mapping, arch).python_loops)))
    some = random.Random(seed).sample(depths, len(depths) // 2)
    return [*([depth] for depth in depths), depths, some]


@pytest.mark.parametrize("seeds", longer.blocks(60, 10))
def test_passes_of_every_depth_change_neither_outputs_nor_words(seeds: range) -> None:
    repeated = 0
    for seed in seeds:
        problem, arch, mapping = random_triple(seed)
        words = simulated(mapping, arch)
        for depths in choices_of_depths(mapping, arch, seed):
            found = verify_numpy(mapping, arch, seed, depths=depths)
            assert found, f"seed {seed}, depths {depths}: {problem}: {found.message}"
            assert found.moved == words, f"seed {seed}, depths {depths}"
            repeated += found.steps_run < found.steps
    assert longer.occurs(repeated > 2)


@pytest.mark.long
def test_passes_of_larger_problems() -> None:
    """More steps than the simulator can go; the words are compared with those of the closed forms."""
    checked = 0
    for seed in range(80):
        _, arch, mapping = random_triple(seed, largest=14)
        if not 500 < program_steps(mapping, arch) < 5_000:
            continue
        for depths in choices_of_depths(mapping, arch, seed):
            found = verify_numpy(mapping, arch, seed, depths=depths)
            assert found, f"seed {seed}, depths {depths}: {found.message}"
            checked += found.steps_run < found.steps
    assert checked > 20


@pytest.mark.long
def test_floats_with_passes() -> None:
    for seed in range(12):
        _, arch, mapping = random_triple(seed)
        for depths in choices_of_depths(mapping, arch, seed):
            assert verify_numpy(mapping, arch, seed, floats=True, depths=depths), (seed, depths)


def uneven_convolution() -> tuple[Mapping, Architecture]:
    """Ragged, strided, dilated, in groups, each tensor at a depth of its own, loops over instances at two levels."""
    problem = conv2d(K=12, C=8, P=9, Q=7, R=3, S=2, groups=2, stride=2, dilation=3)
    levels = (
        memory("DRAM"),
        memory("GLB", keeps=MAY, halo="innermost"),
        Fanout(name="array", axes=(ArrayAxis(size=16), ArrayAxis(size=16))),
        memory("spad", keeps=MAY, halo="exact"),
        Fanout(name="lanes", axes=(ArrayAxis(size=4),), spatial_reduction=False),
        memory("reg", keeps=MAY),
    )
    arch = Architecture(name="deep", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    text = """
        DRAM keeps I W O
        for K in 3
          for P in 3
            GLB keeps I W
            for Q in 4
              parallel K in 2 on array.x
                parallel P in 2 on array.y
                  for C in 2
                    spad keeps O
                    for G in 2
                      spad keeps I
                      for P in 2
                        parallel C in 2 on lanes.x
                          reg keeps W O
                          for Q in 2
                            for R in 3
                              for S in 2
        """
    return Mapping(problem, LoopNest.parse(text)), arch


@pytest.mark.long
def test_uneven_convolution_with_all_that_can_be() -> None:
    mapping, arch = uneven_convolution()
    words = simulated(mapping, arch)
    for depths in choices_of_depths(mapping, arch, 0):
        found = verify_numpy(mapping, arch, depths=depths)
        assert found, (depths, found.message)
        assert found.moved == words
        assert found.steps_run < found.steps


def product(batch: int, columns: int, rows: int) -> tuple[Mapping, Architecture]:
    """A batch of products, as Eyeriss does those of BERT."""
    text = f"""
        DRAM keeps A W O
        for B in {batch}
          for N in {columns}
            GLB keeps A O
            for M in {rows}
              parallel N in 2 on array.y
                parallel K in 4 on array.y
                  parallel K in 8 on array.x
                    spad keeps A W O
                    for K in 2
                      for N in 16
        """
    return Mapping(batched_gemm(B=batch, M=rows, N=32 * columns, K=64), LoopNest.parse(text)), load_arch("eyeriss")


@pytest.mark.parametrize("seeds", blocks(40, 20))
def test_passes_inside_branches_of_trees(seeds: range) -> None:
    """Sums, maxima, functions; operations that iterate, and those with uneven visits, have none."""
    repeated = 0
    for seed in seeds:
        rng = random.Random(seed)
        whole = random_cascade(rng, 3)
        arch = random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
        for fused in (random_tree(rng, whole, arch), random_windows(rng, arch)):
            for depths in ([1], [2, 3], range(1, 9)):
                found = verify_numpy(fused, arch, seed, depths=depths)
                assert found, f"seed {seed}, depths {[*depths]}: {found.message}\n{fused}"
                repeated += found.steps_run < found.steps
    assert repeated


def test_a_large_cascade_has_passes_by_itself() -> None:
    """A product and the maxima of its rows, each of more steps than are run one by one."""
    whole = cascade(["T[m,n] += A[m,k] * B[k,n]", "R[m] max= T[m,n]"], {"m": 64, "n": 64, "k": 32})
    tree = """
        DRAM keeps A B R
        for M in 4
          GLB keeps T R
          branch T
            for N in 64
              for M in 16
                for K in 32
                  GLB keeps A B
          branch R
            for N in 64
              for M in 16
    """
    levels = (memory("DRAM"), memory("GLB", keeps=MAY))
    arch = Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    fused = Mapping.parse(whole, tree)
    assert program_steps(fused, arch) > 100_000 > 20_000 > program_steps(fused, arch, None)
    found = verify_numpy(fused, arch)
    assert found, found.message
    assert found.steps_run < 20_000 < found.steps


@pytest.mark.long
def test_a_large_layer_has_passes_by_itself() -> None:
    mapping, arch = product(12, 16, 512)
    assert program_steps(mapping, arch) == 12 * 16 * 512
    assert program_steps(mapping, arch, None) < 20_000
    found = verify_numpy(mapping, arch)
    assert found.moved == found.expected
    assert found.steps == 12 * 16 * 512
    assert found.steps_run < 10_000
    told = f"{found.steps_run:,} of 98,304 steps were run one by one, the others at once, in passes like one of those"
    assert found.message == f"output and words moved agree; {told}"
    assert "pass1" in emit_numpy(mapping, arch)
    assert "pass1" not in emit_numpy(mapping, arch, fast=False)


def program_of(text: str) -> dict[str, Any]:
    program: dict[str, Any] = {"__name__": "program"}
    exec(text, program)
    return program


def test_every_step_of_a_program_with_passes() -> None:
    mapping, arch = uneven_convolution()
    program = program_of(emit_numpy(mapping, arch, depths=[1, 3]))
    wrong, moved, (steps, ran) = program["check"](every_step=True)
    assert not wrong
    assert moved == program["EXPECTED"]
    assert ran == steps == verify_numpy(mapping, arch).steps
    wrong, moved, (steps, ran) = program["check"]()
    assert not wrong
    assert ran < steps


def held_over_an_edge(order: str) -> tuple[Mapping, Architecture]:
    """A tile stays where it is from a pass that is run at once to one that is not, since that one is ragged."""
    across, along = order
    text = f"""
        DRAM keeps A W O
        for {along} in 4
          for {across} in 2
            for {along} in 2
              for {along} in 2
                spad keeps A W O
        """
    sizes = {"M": 1, "N": 1, "K": 1} | {along: 15, across: 2}
    arch = Architecture(
        name="two",
        clock_hz=1e9,
        word_bits=8,
        levels=(memory("DRAM"), memory("spad", keeps=MAY)),
        mac=Mac(energy_pj=1.0),
    )
    return Mapping(gemm(**sizes), LoopNest.parse(text)), arch


def random_pair(seed: int) -> tuple[Mapping, Architecture]:
    _, arch, mapping = random_triple(seed, largest=14)
    return mapping, arch


@pytest.mark.parametrize(
    ("case", "depths", "right", "spoiled"),
    [
        (product(2, 4, 64), [2], "left = pass1_", "left = 2 * pass1_"),
        (product(2, 4, 64), [2], "counting.add(count)", "pass"),
        (product(2, 4, 64), [2], "again = self.visits.visit(", "again = not self.visits.visit("),
        (random_pair(7), [1], "self.all, self.places = again, set()", "self.places = set(self.places)"),
        (held_over_an_edge("MK"), [3], "self.at = at\n        return before", "pass\n        return before"),
        (random_pair(14), [2], "meter.holding = holding", "pass"),
        (random_pair(7), [4], "along.hold(holds, start)", "pass"),
        (random_pair(36), [5], "key = (again, self._edges(starts), ", "key = (again, "),
        (
            random_pair(75),
            [5],
            "now = None if now is None else (_plus(now[0], place)",
            "now = None if not now else (now[0]",
        ),
    ],
)
def test_what_goes_wrong_in_passes_is_found(
    case: tuple[Mapping, Architecture], depths: list[int] | None, right: str, spoiled: str
) -> None:
    """What a pass remembers, and restores, is needed: each of these makes outputs or words wrong."""
    text = emit_numpy(*case, depths=depths)
    assert verify_numpy(*case, depths=depths)
    assert right in text
    program = program_of(text.replace(right, spoiled))
    wrong, moved, _ = program["check"]()
    assert wrong or moved != program["EXPECTED"]


def test_contractions_of_passes_fit_the_memory() -> None:
    text = """
        DRAM keeps A W O
        for K in 4
          for M in 65536
            GLB keeps A O
            for N in 4096
              spad keeps A W O
        """
    plan = plan_of(Mapping(gemm(M=65536, N=4096, K=4), LoopNest.parse(text)), load_arch("eyeriss"))
    assert max(plan.core(1).elements) > LARGEST_ARRAY
    assert pass_depths(plan) == (2,)
