"""Of two mirror images one is searched, and no optimum is lost by that."""

from __future__ import annotations

import random

import numpy as np
import pytest
from lined_cases import banked, lined

import longer
from generators import random_architecture, tensor
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.cost_models import OBJECTIVES
from tilewright.cost_models.layouts.choices import with_layouts
from tilewright.cost_models.sparse import with_densities
from tilewright.ir import InfeasibleError, Problem
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.exact.question.reduced import ReducedQuestion
from tilewright.mapper.exact.question.surroundings import ALONE
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.exact.tiles.symmetry import Mirror, compared, mirror_of
from tilewright.mapper.space import SPACES, Space
from tilewright.mapper.tilings import TILINGS
from tilewright.workloads import batched_gemm, conv2d, gemm


def swaps(problem: Problem, arch: Architecture) -> dict[str, str]:
    mirror, dims = mirror_of(problem, arch), problem.dim_names
    return {} if mirror is None else {dims[d]: dims[other] for d, other in enumerate(mirror) if other > d}


def test_rows_and_columns_of_a_square_convolution() -> None:
    arch = load_arch("three_level")
    assert swaps(conv2d(K=8, C=8, P=6, Q=6, R=3, S=3), arch) == {"P": "Q", "R": "S"}
    assert swaps(conv2d(K=8, C=8, P=6, Q=6, R=1, S=1), arch)["P"] == "Q"


def test_both_operands_of_a_square_matrix_multiplication() -> None:
    arch = load_arch("three_level")
    assert swaps(gemm(8, 8, 4), arch) == {"M": "N"}
    assert swaps(gemm(8, 4, 8), arch) == {}
    assert swaps(gemm(8, 8, 8), load_arch("tpu_v1")) == {}, "it keeps weights apart"
    assert swaps(gemm(8, 8, 4, bits={"input": 16}), arch) == {}


@pytest.mark.parametrize(
    "problem",
    [
        gemm(8, 4, 8),
        conv2d(K=8, C=8, P=6, Q=5, R=3, S=3),
        conv2d(K=8, C=8, P=6, Q=6, R=3, S=2),
        conv2d(K=8, C=8, P=6, Q=6, R=3, S=3, stride=(2, 1)),
    ],
)
def test_nothing_else_has_a_mirror_image(problem: Problem) -> None:
    assert "P" not in swaps(problem, load_arch("three_level"))
    assert "M" not in swaps(problem, load_arch("three_level"))


def mirror_with_lines(problem: Problem, arch: Architecture) -> Mirror | None:
    return ReducedQuestion(problem, arch, "ragged", "even", Constraints(), ALONE).mirror


def test_lines_tell_dimensions_apart_unless_all_layouts_are_open() -> None:
    problem, arch = gemm(8, 8, 4), load_arch("three_level", {"DRAM.line": "64 B"})
    assert mirror_with_lines(problem, arch) is None, "row-major"
    assert mirror_with_lines(problem, with_layouts(arch, problem, {"all": "any"})) is not None
    assert mirror_with_lines(problem, with_layouts(arch, problem, {"A": "any", "O": "any"})) is None
    assert mirror_with_lines(gemm(8, 6, 4), with_layouts(arch, problem, {"all": "any"})) is None


def test_steps_tell_dimensions_apart_in_lines() -> None:
    """Of images that are read in steps of two rows, with a window of one, every other row is never read: its words lie
    in lines all the same."""
    problem = conv2d(K=4, C=1, P=6, Q=6, R=1, S=1, stride=(2, 1))
    assert mirror_of(problem, load_arch("three_level")) is None
    for stride, alike in (((1, 1), True), ((2, 2), False)):
        problem = conv2d(K=4, C=1, P=6, Q=6, R=1, S=1, stride=stride)
        arch = with_layouts(load_arch("three_level", {"DRAM.line": "64 B"}), problem, {"all": "any"})
        assert (mirror_with_lines(problem, arch) is not None) == alike


def test_the_same_optimum_with_open_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    mirrored = 0
    for seed in longer.seeds(16):
        rng = random.Random(seed)
        problem, arch, ragged = square(rng), lined(rng, random_architecture(rng, 1, 24)), rng.random() < 0.5
        arch = with_layouts(banked(rng, arch) if seed % 4 == 0 else arch, problem, {"all": "any"})
        objective = OBJECTIVES[seed % len(OBJECTIVES)]
        if mirror_with_lines(problem, arch) is None:
            continue
        mirrored += 1
        found = optimum(problem, arch, objective, ragged, "even")
        with monkeypatch.context() as patch:
            patch.setattr("tilewright.mapper.exact.question.reduced.mirror_of", lambda *_: None)
            expected = optimum(problem, arch, objective, ragged, "even")
        assert found == pytest.approx(expected, rel=1e-9), f"seed {seed}"
    assert longer.occurs(mirrored >= 6)


def test_an_axis_for_rows_only_tells_them_from_columns() -> None:
    arch = load_arch("three_level")
    levels = tuple(
        level.model_copy(update={"axes": (level.axes[0].model_copy(update={"dims": ("P",)}),)})
        if hasattr(level, "axes")
        else level
        for level in arch.levels
    )
    narrow = arch.model_copy(update={"levels": levels})
    assert swaps(conv2d(K=8, C=8, P=6, Q=6, R=3, S=3), narrow) == {}


def test_rows_beside_their_mirror_images() -> None:
    parts = [np.array([[1, 2], [2, 1], [2, 2], [2, 2]]), np.array([[9, 1], [1, 9], [1, 3], [4, 4]])]
    assert compared(parts, (1, 0), 4).tolist() == [-1, 1, -1, 0]


def square(rng: random.Random) -> Problem:
    """A square convolution, or a square matrix multiplication with some batch."""
    if rng.random() < 0.4:
        return batched_gemm(rng.randint(1, 2), n := rng.randint(2, 4), n, rng.randint(1, 4))
    size, window, step = rng.randint(2, 3), rng.randint(1, 2), rng.randint(1, 2)
    dims = {"K": rng.randint(1, 3), "P": size, "Q": size, "R": window, "S": window}
    ranks = ({"P": step, "R": 1}, {"Q": step, "S": 1})
    operands = (tensor("I", "input", *ranks), tensor("W", "weight", "K", "R", "S"))
    return Problem("square", tuple(dims.items()), (*operands, tensor("O", "output", "K", "P", "Q")))


def optimum(problem: Problem, arch: Architecture, objective: str, ragged: bool, space: Space) -> float:
    try:
        return search_exact(problem, arch, objective, TILINGS[ragged], space)[2].value
    except InfeasibleError:
        return float("inf")


def with_savings(rng: random.Random, problem: Problem, arch: Architecture) -> tuple[Problem, Architecture]:
    """The same with zeros, in formats that count words alone, and memories that leave out accesses."""
    on = {"input": ("weight",), "weight": ("input",), "output": ("input", "weight")}
    levels: list[object] = []
    for level in arch.levels:
        if isinstance(level, Memory):
            changes: dict[str, object] = {"formats": {role: ("bitmask",) for role in on if rng.random() < 0.3}}
            for key in ("gates", "skips"):
                changes[key] = {role: roles for role, roles in on.items() if rng.random() < 0.2}
            level = level.model_copy(update=changes)
        levels.append(level)
    densities = {which.name: rng.choice([0.3, 0.6]) for which in problem.operands}
    return with_densities(problem, densities), arch.model_copy(update={"levels": tuple(levels)})


def test_the_same_optimum_with_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    mirrored = 0
    for seed in longer.seeds(12):
        rng = random.Random(seed)
        problem, arch = with_savings(rng, square(rng), random_architecture(rng, 1, 24))
        objective = OBJECTIVES[seed % len(OBJECTIVES)]
        if mirror_of(problem, arch, True) is None:
            continue
        mirrored += 1
        found = optimum(problem, arch, objective, False, "even")
        with monkeypatch.context() as patch:
            patch.setattr("tilewright.mapper.exact.question.reduced.mirror_of", lambda *_: None)
            expected = optimum(problem, arch, objective, False, "even")
        assert found == pytest.approx(expected, rel=1e-9), f"seed {seed}"
    assert longer.occurs(mirrored >= 6)


def test_operands_with_zeros_do_not_change_places() -> None:
    arch = load_arch("three_level")
    assert mirror_of(gemm(8, 8, 4), arch) is not None
    assert mirror_of(gemm(8, 8, 4), arch, told_apart=True) is None


def test_the_same_optimum_as_without_mirrors(monkeypatch: pytest.MonkeyPatch) -> None:
    mirrored = 0
    for seed in longer.seeds(16):
        rng = random.Random(seed)
        problem, arch, ragged = square(rng), random_architecture(rng, rng.randint(1, 2), 24), rng.random() < 0.6
        objective, space = OBJECTIVES[seed % len(OBJECTIVES)], SPACES[seed % 2]
        mirrored += mirror_of(problem, arch) is not None
        found = optimum(problem, arch, objective, ragged, space)
        with monkeypatch.context() as patch:
            patch.setattr("tilewright.mapper.exact.question.reduced.mirror_of", lambda *_: None)
            expected = optimum(problem, arch, objective, ragged, space)
        assert found == pytest.approx(expected, rel=1e-9), f"seed {seed}"
    assert longer.occurs(mirrored >= 12)
