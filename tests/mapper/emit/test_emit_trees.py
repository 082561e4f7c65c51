"""Programs of random trees: they compute the cascade, and move the words that the model counts."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from trees import random_cascade, random_tree
from window_trees import random_windows

from generators import random_architecture
from longer import blocks
from tilewright.arch import Architecture
from tilewright.ir import Mapping
from tilewright.ir.expression import FUNCTIONS, SYMBOLS
from tilewright.mapper.emit import emit_numpy, verify_numpy
from tilewright.workloads import cascade

SEEDS = blocks(200, 50)


def random_case(seed: int) -> tuple[Mapping, Architecture]:
    rng = random.Random(seed)
    whole = random_cascade(rng, 4)
    arch = random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
    return random_tree(rng, whole, arch), arch


@pytest.mark.parametrize("seeds", SEEDS)
def test_programs_agree(seeds: range) -> None:
    for seed in seeds:
        fused, arch = random_case(seed)
        verification = verify_numpy(fused, arch, seed)
        assert verification, f"seed {seed}: {verification.message}\n{fused}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_has_a_program(function: str) -> None:
    """The tree's program, and the operations one after the other."""
    arguments = ["T[m]", "B[m]"][: FUNCTIONS[function]]
    point = f"T[m] {SYMBOLS[function]} B[m]" if function in SYMBOLS else f"{function}({', '.join(arguments)})"
    both = cascade(["T[m] += A[m,k] * C[m,k]", f"O[m] = {'-T[m]' if function == 'neg' else point}"], m=4, k=2)
    rng = random.Random(1)
    arch = random_architecture(rng)
    verification = verify_numpy(random_tree(rng, both, arch), arch, 1)
    assert verification, verification.message


@pytest.mark.parametrize("seeds", blocks(60, 30))
def test_programs_of_windows_agree(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        arch = random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
        fused = random_windows(rng, arch)
        assert any(map(fused.windows, fused.leaves))
        verification = verify_numpy(fused, arch, seed)
        assert verification, f"seed {seed}: {verification.message}\n{fused}"


@pytest.mark.long
def test_rows_that_are_kept_and_wrong_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    arch = random_architecture(rng, reuse="across_levels")
    every = [random_windows(rng, arch) for _ in range(60)]

    def broken(fused: Mapping, arch: Architecture, *_: object) -> str:
        return emit_numpy(fused, arch).replace("] = before[shift:]", "] = 1 + before[shift:]")

    moved = [fused for fused in every if emit_numpy(fused, arch).count("moved_up(") > 1]
    monkeypatch.setattr("tilewright.mapper.emit.numpy.verify.emit_numpy", broken)
    assert sum(not verify_numpy(fused, arch) for fused in moved) >= 3  # where steps ask for the same rows


def test_the_program_runs_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "reference.py"
    path.write_text(emit_numpy(*random_case(5)), encoding="utf-8")
    done = subprocess.run([sys.executable, path, "3"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("OK: outputs and words moved agree (")


def test_a_wrong_transfer_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fused, arch = random_case(5)
    text = emit_numpy(fused, arch)
    assert " = placed(operands" in text
    broken = text.replace(" = placed(operands", " = 1 + placed(operands")
    monkeypatch.setattr("tilewright.mapper.emit.numpy.verify.emit_numpy", lambda *_: broken)
    assert not verify_numpy(fused, arch)
    assert emit_numpy(fused, arch) == text
