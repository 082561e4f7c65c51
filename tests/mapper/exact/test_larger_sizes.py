"""Mappings of larger sizes, cut to those that are asked for: they are mappings, and searches that begin with them find
the same."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from test_search_ragged import case_of, check_case

import longer
import tilewright as tw
from generators import random_architecture, random_mapping, random_problem
from tilewright.cost_models import evaluate
from tilewright.ir import Loop
from tilewright.mapper.exact.search import cut_to
from tilewright.mapper.tilings import rounded_up


def test_a_mapping_that_is_cut_is_one_of_the_smaller_problem() -> None:
    for seed in longer.seeds(400):
        rng = random.Random(seed)
        larger, arch = random_problem(rng, 9), random_architecture(rng)
        mapping = random_mapping(rng, larger, arch, ragged=False)
        sizes = {dim: rng.randint(1, size) for dim, size in larger.dims}
        cut = cut_to(replace(larger, dims=tuple(sizes.items())), mapping)
        assert evaluate(cut, arch).steps <= evaluate(mapping, arch).steps
        assert all(item.trips > 1 for item in cut.nest.items if isinstance(item, Loop))


@pytest.mark.parametrize("seeds", longer.blocks(60, 20))
def test_optimum_of_brute_force(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sizes are one larger, in all dimensions."""
    asked = []

    def one_more(size: int, least: int) -> int:
        asked.append(size)
        return size + 1

    monkeypatch.setattr("tilewright.mapper.exact.search.rounded_up", one_more)
    compared = sum(check_case(*case_of(seed), 1_500) for seed in seeds)
    assert longer.occurs(compared > 5)
    assert asked


def test_a_size_is_rounded_up_where_more_than_twice_as_many_numbers_divide_the_larger_one() -> None:
    assert [rounded_up(size) for size in (7, 64, 1000, 1009, 50257)] == [7, 64, 1000, 1020, 50400]


def test_operands_given_as_arrays_keep_their_size() -> None:
    """A mask of 1,009 columns is none of 1,020: an error once."""
    weights = np.zeros((8, 1009))
    weights[:, ::3] = 1
    found = tw.search(
        tw.gemm(M=4, N=1009, K=8), "sparse_tensor_core", "energy", "ragged", density={"W": weights}, time_limit=60
    )
    assert found.certificate.proven
