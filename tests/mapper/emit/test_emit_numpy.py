"""Emitted numpy programs compute the layer, and move exactly the words that the simulator and the cost model count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longer
from emitted import random_triple
from generators import POISONS, hostile_mapping, memory, tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, load_arch
from tilewright.cost_models import count_words, simulate
from tilewright.ir import Loop, LoopNest, Mapping, MappingError, Node, Problem
from tilewright.mapper.emit import emit_numpy, program_steps, verify_numpy
from tilewright.workloads import conv2d, gemm

MAY = Keeps(input="may", weight="may", output="may")


def machine(*levels: object, inner_drain_read: bool = True) -> Architecture:
    return Architecture.model_validate(
        {
            "name": "machine",
            "clock_hz": 1e9,
            "word_bits": 8,
            "levels": levels,
            "mac": Mac(energy_pj=1.0),
            "inner_drain_read": inner_drain_read,
        }
    )


def two_level(**changes: object) -> Architecture:
    axes = (ArrayAxis(size=16), ArrayAxis(size=16))
    return machine(
        memory("DRAM"),
        memory("GLB", keeps=MAY, **changes),
        Fanout(name="array", axes=axes),
        memory("reg", keeps=MAY, **changes),
    )


def mapping_of(problem: Problem, text: str) -> Mapping:
    return Mapping(problem, LoopNest.parse(text))


def run_script(text: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = folder / "reference.py"
    script.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def spoil_output(text: str) -> str:
    """The program with a `run` whose output is wrong."""
    last = ".astype(output_kind)"
    assert last in text
    return text.replace(last, f"{last} + 1")


@pytest.mark.parametrize("seeds", longer.blocks(200, 20))
def test_random_mappings_compute_the_layer_and_move_the_words_counted(seeds: range) -> None:
    for seed in seeds:
        problem, arch, mapping = random_triple(seed)
        found = verify_numpy(mapping, arch, seed)
        assert found, f"seed {seed}: {problem}: {found.message}"
        simulated = simulate(mapping, arch).total
        assert found.moved == {name: (words.reads, words.writes) for name, words in simulated.items()}, f"seed {seed}"


@pytest.mark.parametrize("halo", ["none", "innermost", "exact"])
def test_row_stationary_convolution(halo: str) -> None:
    problem = conv2d(K=16, C=8, P=14, Q=14, R=3, S=3)
    arch = two_level(halo=halo)
    mapping = mapping_of(
        problem,
        """
        DRAM keeps I W O
        for K in 2
          for C in 2
            GLB keeps I O
            for C in 2
              for Q in 14
                parallel P in 14 on array.x
                  parallel R in 3 on array.y
                    reg keeps W I O
                    for K in 8
                      for C in 2
                        for S in 3
        """,
    )
    found = verify_numpy(mapping, arch)
    assert found.message == "output and words moved agree"
    assert found.moved == found.expected
    assert found.agrees
    assert found.words_agree


def test_strided_dilated_grouped_convolution_with_a_ragged_edge() -> None:
    problem = conv2d(K=8, C=8, P=9, Q=5, R=3, S=2, groups=2, stride=2, dilation=3)
    mapping = mapping_of(
        problem,
        """
        DRAM keeps I W O
        for P in 3
          GLB keeps I W
          parallel K in 4 on array.x
            parallel P in 4 on array.y
              for C in 4
                reg keeps O
                for G in 2
                  reg keeps I
                  for Q in 5
                    for R in 3
                      for S in 2
        """,
    )
    assert verify_numpy(mapping, two_level(halo="exact"))


@pytest.mark.parametrize("reduces", [True, False])
@pytest.mark.parametrize("drain_read", [True, False])
def test_gemm_on_three_levels_with_sums_that_come_back(reduces: bool, drain_read: bool) -> None:
    problem = gemm(M=48, N=40, K=36)
    arch = machine(
        memory("DRAM"),
        memory("GLB", keeps=MAY),
        Fanout(name="array", axes=(ArrayAxis(size=8), ArrayAxis(size=8)), spatial_reduction=reduces),
        memory("spad", keeps=MAY),
        Fanout(name="lanes", axes=(ArrayAxis(size=4),), multicast=False),
        memory("reg", keeps=MAY),
        inner_drain_read=drain_read,
    )
    names = " ".join(t.name for t in problem.tensors)
    mapping = mapping_of(
        problem,
        f"""
        DRAM keeps {names}
        for K in 2
          for M in 2
            GLB keeps {names}
            for K in 2
              for N in 5
                parallel K in 3 on array.x
                  parallel M in 6 on array.y
                    spad keeps {names}
                    for K in 3
                      for M in 2
                        parallel N in 4 on lanes.x
                          reg keeps {names}
                          for N in 2
                            for M in 2
        """,
    )
    found = verify_numpy(mapping, arch)
    assert found, found.message
    assert found.moved["GLB", problem.output.name][0] > 0


@pytest.mark.long
def test_large_layer_takes_seconds() -> None:
    problem = conv2d(K=64, C=64, P=56, Q=56, R=3, S=3, name="ResNet-50 conv2_x 3x3")
    mapping = mapping_of(
        problem,
        """
        DRAM keeps I W O
        for K in 4
          for C in 8
            for P in 4
              GLB keeps I O
              for C in 2
                for Q in 56
                  parallel P in 14 on array.x
                    parallel R in 3 on array.y
                      parallel C in 4 on array.y
                        spad keeps W I O
                        for K in 16
                          for S in 3
        """,
    )
    arch = load_arch("eyeriss")
    assert program_steps(mapping, arch) == 4 * 8 * 4 * 2 * 56
    found = verify_numpy(mapping, arch)
    assert found, found.message
    assert found.seconds < 30


def test_dimensions_that_no_operand_marks() -> None:
    """Average pooling has no weights whose zeros end a ragged window; one dimension moves nothing but the output."""
    problem = Problem(
        "pool",
        (("P", 5), ("R", 5), ("X", 3), ("Y", 3)),
        (tensor("I", "input", {"P": 2, "R": 1}), tensor("O", "output", "P", "X")),
    )
    mapping = mapping_of(
        problem,
        """
        DRAM keeps I O
        for R in 3
          parallel X in 2 on array.x
            parallel Y in 2 on array.y
              for Y in 2
                reg keeps I O
                for R in 2
                  for X in 2
                    for P in 5
        """,
    )
    assert verify_numpy(mapping, two_level())


def test_scalar_output_and_a_constant_axis() -> None:
    problem = Problem(
        "dot", (("K", 6),), (tensor("A", "input", "K"), tensor("B", "weight", {}, "K"), tensor("O", "output"))
    )
    mapping = mapping_of(problem, "DRAM keeps A B O\nfor K in 3\n  GLB keeps O\n  reg keeps A\n  for K in 2")
    assert verify_numpy(mapping, two_level())


def test_loops_above_the_outermost_node() -> None:
    """The outermost memory holds whole tensors, wherever its nodes stand."""
    problem = gemm(M=4, N=6, K=5)
    left, right, output = (t.name for t in problem.tensors)
    mapping = mapping_of(
        problem,
        f"""
        for N in 2
          DRAM keeps {left}
          for K in 3
            DRAM keeps {right} {output}
            for M in 2
              GLB keeps {right}
              for N in 3
                for M in 2
                  GLB keeps {left} {output}
                  for K in 2
        """,
    )
    found = verify_numpy(mapping, two_level())
    assert found, found.message
    simulated = simulate(mapping, two_level()).total
    assert found.moved == {name: (words.reads, words.writes) for name, words in simulated.items()}


def test_loops_that_move_nothing_join_the_contraction() -> None:
    problem = gemm(M=64, N=8, K=8)
    left, right, output = (t.name for t in problem.tensors)
    mapping = mapping_of(
        problem,
        f"""
        DRAM keeps {left} {right} {output}
        for K in 2
          for M in 64
            parallel K in 4 on array.x
              parallel N in 8 on array.y
                reg keeps {right}
        """,
    )
    assert program_steps(mapping, two_level()) == 2
    assert verify_numpy(mapping, two_level())


def test_more_loops_than_python_nests() -> None:
    problem = gemm(M=256, N=256, K=256)
    names = [t.name for t in problem.tensors]
    loops = [Loop(dim, 2) for _ in range(8) for dim in "MNK"]
    top = [Node("DRAM", name) for name in names]
    nest = LoopNest((*top, *loops[:12], Node("GLB", names[0]), *loops[12:], *(Node("reg", name) for name in names)))
    text = emit_numpy(Mapping(problem, nest), two_level())
    compile(text, "deep", "exec")
    assert "itertools.product(range(0, 256, 128)" in text


def test_loops_that_share_a_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.mapper.emit.numpy.leaf.DEEPEST", 4)
    problem = gemm(M=7, N=6, K=5)
    names = [t.name for t in problem.tensors]
    loops = [Loop(dim, 2) for _ in range(3) for dim in "MNK"]
    top = [Node("DRAM", name) for name in names]
    nest = LoopNest((*top, *loops[:3], Node("GLB", names[0]), *loops[3:], *(Node("reg", name) for name in names)))
    found = verify_numpy(Mapping(problem, nest), two_level())
    assert found, found.message


def test_loops_with_too_many_nodes_between_are_refused() -> None:
    problem = gemm(M=2**22, N=1, K=1)
    nest = LoopNest((*(Node("DRAM", t.name) for t in problem.tensors), *[Loop("M", 2)] * 22, Node("GLB", "O")))
    with pytest.raises(MappingError, match="Python nests 20"):
        emit_numpy(Mapping(problem, nest), two_level())


def test_run_takes_operands_of_any_type() -> None:
    problem, arch, mapping = random_triple(7)
    program: dict[str, object] = {"__name__": "program"}
    exec(emit_numpy(mapping, arch), program)
    shapes = program["OPERANDS"]
    rng = np.random.default_rng(0)
    for scale in (3, 3_000, 3_000_000):
        operands = {name: rng.integers(-scale, scale, shape) for name, shape in shapes.items()}  # type: ignore[attr-defined]
        output = program["run"](operands)[0][problem.output.name]  # type: ignore[operator]
        floats = {name: array.astype(float) for name, array in operands.items()}
        output_of_floats = program["run"](floats)[0][problem.output.name]  # type: ignore[operator]
        assert output.dtype == np.int64
        assert output.shape == tuple(problem.sizes[rank[0][0]] for rank in problem.output.ranks)
        np.testing.assert_allclose(output_of_floats, output)
    small = {name: np.full(shape, 100, np.int8) for name, shape in shapes.items()}  # type: ignore[attr-defined]
    assert program["run"](small)[0][problem.output.name].min() >= 100  # type: ignore[operator]
    name = problem.operands[0].name
    with pytest.raises(ValueError, match="expected"):
        program["run"]({**operands, name: np.zeros((1,) * 9)})  # type: ignore[operator]


@pytest.mark.parametrize("seeds", longer.blocks(60, 20))
def test_floats_agree_but_for_rounding(seeds: range) -> None:
    for seed in seeds:
        _, arch, mapping = random_triple(seed)
        found = verify_numpy(mapping, arch, seed, floats=True)
        assert found, (seed, found.message)


def test_a_wrong_float_is_found() -> None:
    """A hundred times the bound is an error; what a sum in another order differs by is none."""
    problem, arch, mapping = random_triple(11)
    program: dict[str, Any] = {"__name__": "program"}
    exec(emit_numpy(mapping, arch), program)
    operands = program["random_floats"](program["OPERANDS"], 0)
    output = program["run"](operands)[0][problem.output.name]
    assert output.dtype == np.float32
    sizes = program["direct"]({name: np.abs(array) for name, array in operands.items()})[problem.output.name]
    bound = program["rounding_bound"](sizes, program["ROUNDINGS"])
    assert (bound < 1e-3 * sizes).all()
    reference = program["direct"](operands)[problem.output.name]
    assert not program["difference"](output, reference, bound)
    output.flat[-1] += 100 * bound.flat[-1]
    assert program["difference"](output, reference, bound).startswith(f"1 of {output.size} outputs differ")
    output.flat[-1] = np.nan
    assert program["difference"](output, reference, bound).startswith(f"1 of {output.size} outputs differ")
    with pytest.raises(ValueError, match="single precision"):
        program["rounding_bound"](sizes, 2**24)


def test_program_runs_as_a_script(tmp_path: Path) -> None:
    _, arch, mapping = random_triple(11)
    done = run_script(emit_numpy(mapping, arch), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("OK")
    assert done.stderr == ""
    done = run_script(emit_numpy(mapping, arch), tmp_path, "3", "--floats")
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_expectation_fails(tmp_path: Path) -> None:
    _, arch, mapping = random_triple(11)
    words = count_words(mapping, arch).total["DRAM", mapping.problem.output.name]
    row = f"({words.reads}, {words.writes})"
    text = emit_numpy(mapping, arch)
    assert row in text
    done = run_script(text.replace(row, f"({words.reads}, {words.writes + 1})"), tmp_path)
    assert done.returncode == 1
    assert "<-- differs" in done.stdout
    assert "FAILED: the words moved" in done.stdout


def test_wrong_schedule_fails(tmp_path: Path) -> None:
    _, arch, mapping = random_triple(11)
    done = run_script(spoil_output(emit_numpy(mapping, arch)), tmp_path)
    assert done.returncode == 1
    assert "outputs differ" in done.stdout


def test_verification_says_what_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    _, arch, mapping = random_triple(11)
    output = mapping.problem.output.name
    words = count_words(mapping, arch).total["DRAM", output]
    text = spoil_output(emit_numpy(mapping, arch)).replace(
        f"({words.reads}, {words.writes})", f"({words.reads}, {words.writes + 1})"
    )
    monkeypatch.setattr("tilewright.mapper.emit.numpy.verify.emit_numpy", lambda *_: text)
    found = verify_numpy(mapping, arch)
    assert not found
    assert not found.agrees
    assert not found.words_agree
    assert "outputs differ" in found.message
    assert f"words of {output}, expected ({words.reads}, {words.writes + 1})" in found.message


@pytest.mark.some(3)
@pytest.mark.parametrize("poison", POISONS)
def test_hostile_names_stay_names(poison: str, tmp_path: Path) -> None:
    mapping, arch = hostile_mapping([poison + str(i) * (i > 0) for i in range(12)])
    text = emit_numpy(mapping, arch)
    text.encode("ascii")
    done = run_script(text, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_that_differ_in_case_only() -> None:
    mapping, arch = hostile_mapping(["n", "k", "K", "k0", "o", "O", "o_2", "a", "a", "mac", "MAC", "macs"])
    assert verify_numpy(mapping, arch)


def test_emission_is_deterministic_and_free_of_paths() -> None:
    _, arch, mapping = random_triple(5)
    text = emit_numpy(mapping, arch)
    assert text == emit_numpy(mapping, arch)
    assert str(Path(__file__).parents[3]) not in text
    assert "tilewright." not in text.replace("Written by tilewright.", "")
