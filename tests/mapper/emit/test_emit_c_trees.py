"""C programs of trees compile without a warning and compute the cascade, under sanitizers."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trees import random_cascade, random_tree
from window_trees import random_windows

from generators import random_architecture
from longer import TIMES
from tilewright.arch import Architecture, Keeps, load_arch
from tilewright.ir import Cascade, Mapping, MappingError
from tilewright.mapper.emit import emit_c
from tilewright.workloads import cascade

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="no gcc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined"]
F2 = Path(__file__).parents[2] / "golden" / "fused" / "F2.yaml"
CASES = 6 * TIMES


def machine() -> Architecture:
    """DRAM and a buffer that may keep anything."""
    arch = load_arch(F2)
    outer, buffer = arch.levels
    may = Keeps(input="may", weight="may", output="may")
    return arch.model_copy(update={"levels": (outer, buffer.model_copy(update={"keeps": may}))})


def checked(folder: Path, text: str, seed: int, *flags: str) -> str:
    """What a program says."""
    source, program = folder / f"tree{seed}.c", folder / f"tree{seed}"
    source.write_text(text, encoding="ascii")
    command = [str(GCC), *FLAGS, *flags, str(source), "-lm", "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 0, f"seed {seed}: {built.stderr}"
    done = subprocess.run([program, str(seed), "1"], capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


def written_trees(
    seeds: range, cases: int = CASES, wanted: Callable[[Cascade], bool] = lambda whole: True
) -> Iterator[tuple[int, str]]:
    """Seeds, and programs of random trees of so many cases; what is refused hands nothing out."""
    written, refused = 0, set()
    for seed in seeds:
        rng = random.Random(seed)
        whole = random_cascade(rng, 4)
        if not wanted(whole):
            continue
        arch = random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
        fused = random_tree(rng, whole, arch)
        try:
            yield seed, emit_c(fused, arch)
        except MappingError as error:
            refused.add(error.message)
            continue
        written += 1
        if written == cases:
            break
    assert written == cases
    assert all("hands out nothing" in message for message in refused)


@pytest.mark.some(1)
@needs_gcc
@pytest.mark.parametrize("on_stack", [8, 1024])
def test_random_trees_compute_the_cascade(on_stack: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With buffers on the stack, and with allocated ones."""
    monkeypatch.setattr("tilewright.mapper.emit.c.schedule.LARGEST_ON_STACK", on_stack)
    for seed, text in written_trees(range(on_stack % 3, 20 * CASES, 2), CASES // 2):
        assert checked(tmp_path, text, seed).startswith("OK: all"), f"seed {seed}"


@pytest.mark.long
@needs_gcc
def test_elements_and_copies_are_chosen_of_trees_as_of_nests(tmp_path: Path) -> None:
    """Of whole numbers where results stay exact; what is not copied is read where it lies further out."""
    written, kept, refused = 0, 0, set()
    for seed in range(3 * CASES):
        rng = random.Random(seed)
        fused = random_tree(rng, random_cascade(rng, 3), arch := random_architecture(rng))
        element, copied = rng.choice(["float", "int32"]), [rng.choice(arch.memories).name]
        try:
            text = emit_c(fused, arch, element, copied)  # type: ignore[arg-type]
        except MappingError as error:
            refused.add(error.message)
            continue
        assert f"typedef {element}" in text
        assert checked(tmp_path, text, seed).startswith("OK: all"), f"seed {seed}: {copied}\n{fused}"
        written += 1
        kept += text.count(" keeps ") < emit_c(fused, arch, element).count(" keeps ")  # type: ignore[arg-type]
    assert written > CASES
    assert kept > written // 4
    assert all("not exact in elements of type" in why or "hands out nothing" in why for why in refused)


@needs_gcc
def test_readers_may_see_other_zeros_around_an_input(tmp_path: Path) -> None:
    lines = ["T[p] += X[p+r] * A[r] pad X[1:1]", "O[p] = T[p] + X[p]"]
    whole = cascade(lines, {"p": 6, "r": 3})
    tree = """
        DRAM keeps X A T O
        branch T
          for P in 6
            for R in 3
        branch O
          for P in 6
    """
    text = emit_c(Mapping.parse(whole, tree), machine())
    assert "(within(p0 + r0 - 1, 6) ? x[p0 + r0 - 1] : 0)" in text
    assert checked(tmp_path, text, 0).startswith("OK: all 6 outputs agree")


@pytest.mark.long
@needs_gcc
def test_iterations_step_by_step(tmp_path: Path) -> None:
    """Generations of one tensor and of several, on whole numbers exactly where these stay such."""
    exact = 0
    for seed, text in written_trees(range(20 * CASES), wanted=lambda whole: any(one.iterates for one in whole)):
        assert checked(tmp_path, text, seed).startswith("OK: all"), f"seed {seed}"
        exact += "#define EXACT 1" in text
    assert exact
    broken = text.replace("int64_t step = 0; step <", "int64_t step = 0; step + 1 <")
    assert checked(tmp_path, broken, seed + 1).startswith("FAILED")


@pytest.mark.long
@needs_gcc
def test_windows_along_shared_loops(tmp_path: Path) -> None:
    """Rows kept or made again, exchanges anywhere among the shared loops, two windows, three operations in a row."""
    kept = 0
    for seed in range(CASES):
        rng = random.Random(seed)
        arch = random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
        fused = random_windows(rng, arch)
        text = emit_c(fused, arch)
        assert checked(tmp_path, text, seed).startswith("OK: all"), f"seed {seed}\n{fused}"
        kept += "shift_of" in text
    assert kept


@needs_gcc
def test_rows_that_move_wrongly_are_found_out(tmp_path: Path) -> None:
    lines = ["T[y] = A[y] * 2", "O[p] += T[p+r] * W[r]"]
    whole = cascade(lines, {"p": 6, "r": 3, "y": 8})
    tree = """
        DRAM keeps A W O
        for P,T.Y in 3
          GLB keeps T
          branch T
            for Y in 4
          branch O
            for P in 2
              for R in 3
    """
    arch = machine()
    outer, buffer = arch.levels
    arch = arch.model_copy(update={"levels": (outer, buffer.model_copy(update={"halo": "exact"}))})
    text = emit_c(Mapping.parse(whole, tree), arch)
    assert "shift_of[3] = {4, 2, 2}" in text
    assert checked(tmp_path, text, 0).startswith("OK: all 6 outputs agree")
    assert checked(tmp_path, text.replace("{4, 2, 2}", "{4, 1, 2}"), 1).startswith("FAILED")


@needs_gcc
def test_equal_nodes_of_two_branches_are_two_arrays(tmp_path: Path) -> None:
    lines = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]", "U[m,q] += T[m,n] * D[n,q]"]
    whole = cascade(lines, {"m": 2, "n": 4, "k": 2, "p": 2, "q": 2})
    tree = """
        DRAM keeps A B T C O D U
        for M in 2
          branch T
            for N in 4
              for K in 2
          branch O
            GLB keeps T
            for P in 2
              for N in 4
          branch U
            GLB keeps T
            for Q in 2
              for N in 4
    """
    text = emit_c(Mapping.parse(whole, tree), machine())
    assert text.count("    element glb_t") == 2
    assert checked(tmp_path, text, 0).startswith("OK: all 8 outputs agree")


@needs_gcc
def test_functions_and_maxima(tmp_path: Path) -> None:
    """A softmax on chip, within a part in 10^9."""
    lines = ["R[m] max= S[m,n]", "E[m,n] = exp(S[m,n] - R[m])", "D[m] += E[m,n]", "P[m,n] = E[m,n] / D[m]"]
    whole = cascade(lines, {"m": 4, "n": 8})
    tree = """
        DRAM keeps S P
        for M in 4
          GLB keeps S R E D
          branch R
            for N in 8
          branch E
            for N in 8
          branch D
            for N in 8
          branch P
            for N in 8
    """
    text = emit_c(Mapping.parse(whole, tree), machine())
    assert "#define EXACT 0" in text
    assert checked(tmp_path, text, 3).startswith("OK: all 32 outputs agree")
    broken = text.replace("+= exp(", "+= 1 + exp(", 1)
    assert checked(tmp_path, broken, 3).startswith("FAILED: element 0")


@needs_gcc
def test_a_branch_of_one_point_is_not_all_that_a_loop_has(tmp_path: Path) -> None:
    whole = cascade(["T[b] = relu(X[b])", "O[n] += T[b] * W[b,n]"], {"b": 4, "n": 8})
    tree = """
        DRAM keeps X T W O
        for B in 4
          branch T
          branch O
            for N in 8
    """
    arch = machine()
    fused = Mapping.parse(whole, tree)
    assert checked(tmp_path, emit_c(fused, arch), 0).startswith("OK: all")
