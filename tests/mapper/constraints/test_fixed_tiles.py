"""Tiles that constraints fix are compared with capacities before anything is searched."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

import brute_force
import longer
from cases import CASES
from generators import random_architecture, random_problem
from tilewright import load_arch, search
from tilewright.arch import Architecture
from tilewright.cost_models import evaluate
from tilewright.ir import InfeasibleError, Mapping, MappingError, Problem
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.files import load_constraints
from tilewright.mapper.constraints.fixed_tiles import fixed_tiles_error
from tilewright.mapper.constraints.violations import violations
from tilewright.mapper.space import SPACES, Space
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import conv2d, gemm

FOLDER = CASES / "timeloop"


@pytest.mark.parametrize(
    ("sizes", "changes", "file", "message"),
    [
        (
            {"N": 16, "K": 128, "C": 64, "P": 50, "Q": 50, "R": 3, "S": 3},
            {},
            "c206.yaml",
            "constraints fix a tile of I of 5.28 MiB at GLB, capacity 4 MiB, and one of O of 9.77 MiB",
        ),
        (
            {"N": 4, "K": 16, "C": 8, "P": 12, "Q": 12, "R": 3, "S": 3},
            {"array": "4x4", "GLB.size": "4 KiB"},
            "c206tl.yaml",
            "constraints fix a tile of I of 12.25 KiB at GLB, capacity 4 KiB, and one of O of 18 KiB",
        ),
    ],
)
def test_what_does_not_fit_is_named(sizes: dict[str, int], changes: dict[str, str], file: str, message: str) -> None:
    arch = load_arch(str(FOLDER / "os16.yaml"), set=changes)
    with pytest.raises(InfeasibleError, match=message) as caught:
        search(conv2d(**sizes), arch, "energy", "perfect", constraints=str(FOLDER / file), time_limit=0.001)
    assert "exactly 64 trips of C at RF" in str(caught.value) or "exactly 8 trips of C at RF" in str(caught.value)
    assert "no loop over" not in str(caught.value)  # K and N at DRAM fix nothing that is not fixed further in


def test_tiles_may_be_too_large_together_and_from_the_outside() -> None:
    """Nothing is said of loops further in, but DRAM may have none: then all of A, W and O lie in GLB."""
    problem = gemm(64, 64, 64)
    arch = load_arch("three_level", set={"GLB.size": "8 KiB", "GLB.keep": "must"})
    lines = [f"DRAM.temporal.{dim}=1" for dim in problem.dim_names]
    error = fixed_tiles_error(problem, arch, load_constraints(lines, problem, arch), "even")
    assert error
    assert error.message == (
        "constraints fix tiles of A of 4 KiB, W of 4 KiB and O of 4 KiB at GLB, 12 KiB together, capacity 8 KiB"
    )
    assert error.hint
    assert error.hint.startswith(
        "relax one of these: no loop over M at DRAM; no loop over K at DRAM; no loop over N at"
    )
    assert error.hint.endswith("; or give GLB at least 12 KiB")


@pytest.mark.some(1)
@pytest.mark.parametrize("space", SPACES)
def test_no_mapping_keeps_what_is_called_too_large(space: Space) -> None:
    """By listing all mappings: whichever keeps the constraints does not fit."""
    refused = 0
    for seed in longer.seeds(600):
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 3), random_architecture(rng, memories=1, capacity=5)
        inner = arch.memories[1].name
        spans = {(rng.choice(arch.memories).name, dim): rng.choice([(1, 1), (2, None)]) for dim in problem.dim_names}
        spread = {(f.name, 0, rng.choice(problem.dim_names)): (2, None) for f in arch.fanouts if rng.random() < 0.5}
        kept = {(inner, tensor.name): True for tensor in problem.tensors if rng.random() < 0.9}
        constraints, tiling = Constraints(keeps=kept, temporal=spans, spatial=spread), rng.choice(TILINGS)
        if fixed_tiles_error(problem, arch, constraints, space) is None:
            continue
        for mapping in itertools.islice(listed(problem, arch, tiling, space), 100):
            if not violations(mapping, arch, constraints):
                refused += 1
                with pytest.raises(MappingError):
                    evaluate(mapping, arch)
    assert refused > 4


def listed(problem: Problem, arch: Architecture, tiling: Tiling, space: Space) -> Iterator[Mapping]:
    if space == "uneven":
        return brute_force.uneven_mappings(problem, arch, tiling)
    return brute_force.all_mappings(problem, arch, tiling == "ragged")
