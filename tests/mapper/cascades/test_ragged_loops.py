"""Shared loops whose tiles do not divide: the search finds no worse trees than a brute force over those."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cascade_cases import CHEAP, DEAR, Case, is_ragged, ragged_case
from cascade_skeletons import Skeleton, Skeletons
from longer import TIMES, blocks
from tilewright.cost_models import parse_objective
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.cascades.terms.ragged_loops import ragged_tiles
from tilewright.mapper.question import Question

SEEDS, BLOCK = 10, 5


def narrow_case(seed: int) -> Case:
    """A case in which partial sums are no wider than words: else the search knows bounds only."""
    case = ragged_case(seed, CHEAP if TIMES == 1 else DEAR)
    return replace(case, arch=case.arch.model_copy(update={"partial_sum_bits": None}))


def all_ragged(case: Case, skeleton: Skeleton) -> bool:
    """Whether there are loops at the root of a tree, and the last step of each of them is shorter."""
    problem = case.cascade.operation(skeleton.names[0]).problem
    ragged = [problem.sizes[loop.of(skeleton.names[0])] % loop.tile > 0 for loop in skeleton.loops]
    return bool(ragged) and all(ragged)


@pytest.mark.parametrize("seeds", blocks(SEEDS, BLOCK))
def test_the_best_of_trees_with_shorter_last_steps(seeds: range) -> None:
    for seed in seeds:
        case = narrow_case(seed)
        best: dict[str, float] = {}
        trees = case.trees
        for skeleton in Skeletons(case.cascade, trees.upper[0].name, trees.fuse, trees.wider, trees.tiling):
            if all_ragged(case, skeleton):
                for choice, objective in trees.best_of(skeleton, dict(best)):
                    best[objective] = choice.value
        for objective, value in best.items():
            question = Question(
                case.cascade, case.arch, parse_objective(objective), case.tiling, case.space, fuse=case.fuse
            )
            proof = search_cascade(question).certificate
            assert proof.proven
            assert proof.value <= value * (1 + 1e-9), f"{seed}, {objective}\n{case}"


@pytest.mark.long
def test_everything_occurs() -> None:
    found = Counter[str]()
    for seed in range(SEEDS):
        case = narrow_case(seed)
        nested = [
            skeleton
            for skeleton in Skeletons(case.cascade, "DRAM", case.fuse, tiling=case.tiling)
            if is_ragged(case.cascade, skeleton) and any(below.loops for _, below in list(skeleton.walk())[1:])
        ]
        found.update({case.kind, case.space, case.arch.reuse, *(["nested"] if nested else [])})
        found.update(["array"] if case.arch.fanouts else [])
    assert {feature for feature, times in found.items() if times >= 2} >= {"nested", "array", "even", "uneven"}


def test_tiles() -> None:
    assert ragged_tiles(7, (1,)) == (6, 5, 4, 3, 2)
    assert all(100 % tile and tile < 100 for tile in ragged_tiles(100, (1, 14)))
    assert {34, 42, 28} <= set(ragged_tiles(100, (1, 14)))
