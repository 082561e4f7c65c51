"""Words of the search's rows, compared with the cost model's on random mappings of the uneven space."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

import longer
from generators import random_architecture, random_problem, windows_below_arrays
from paths import Step, context_of, random_uneven, steps_to
from tilewright.arch import Architecture
from tilewright.cost_models.closed_form import count_words
from tilewright.ir import Mapping
from tilewright.mapper.exact.counting.windows import fewest_sums
from tilewright.mapper.exact.growing.context import SearchContext
from tilewright.mapper.exact.question.hierarchy import MAC
from tilewright.mapper.tilings import TILINGS

Words = Counter[tuple[str, str, str]]
"""Words by memory, tensor, and "read" or "write"."""


def words_of(step: Step, context: SearchContext, exactly: bool) -> Words:
    """All words of a complete row."""
    found: Words = Counter()
    model, hierarchy = context.model(step.path), context.hierarchy
    for boundary, fill_point in step.fill_points:
        filled, served = (float(w[0]) for w in context.costs.words(model, step.rows, boundary, fill_point, exactly))
        tensor = hierarchy.problem.tensors[boundary.tensor]
        names = [hierarchy.memories[m].name if m != MAC else "" for m in (boundary.inner, boundary.outer)]
        first = [float(model.first_words(step.rows, tensor, m)[0]) for m in (boundary.inner, boundary.outer)]
        inner, outer = ((name, tensor.name) for name in names)
        if not tensor.is_output:
            found[*outer, "read"] += served
            found[*inner, "write"] += filled
            continue
        found[*outer, "write"] += served
        found[*outer, "read"] += served - first[1]
        found[*inner, "read"] += filled
        found[*inner, "write"] += filled - first[0]
    return Counter({key: n for key, n in found.items() if key[0] and n})


def counted(mapping: Mapping, arch: Architecture) -> Words:
    found: Words = Counter()
    for (memory, tensor), accesses in count_words(mapping, arch).total.items():
        found[memory, tensor, "read"] += accesses.reads
        found[memory, tensor, "write"] += accesses.writes
    return Counter({key: n for key, n in found.items() if n})


def has_exact_halo(step: Step, context: SearchContext) -> bool:
    """Whether some charge is a bound for good."""
    hierarchy = context.hierarchy
    return any(
        fill_point is not None
        and not hierarchy.problem.tensors[boundary.tensor].is_output
        and hierarchy.memories[boundary.inner].halo == "exact"
        for boundary, fill_point in step.fill_points
    )


def windows_share(step: Step, context: SearchContext) -> bool:
    """Whether windows are charged below fanouts whose instances share."""
    hierarchy = context.hierarchy
    return any(
        fill_point is not None
        and any(len(rank) > 1 for rank in hierarchy.problem.tensors[boundary.tensor].ranks)
        and any(band > fill_point.band and hierarchy.joins(f, boundary) for f, band in enumerate(step.path.bands))
        for boundary, fill_point in step.fill_points
    )


@pytest.mark.parametrize("seeds", longer.blocks(240, 60))
def test_words_of_random_mappings(seeds: range) -> None:
    """Equal where they are exact, never above otherwise; and never above on the way."""
    exact = bounded = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 7), random_architecture(rng)
        ragged = rng.random() < 0.7
        mapping = random_uneven(rng, problem, arch, ragged)
        context = context_of(problem, arch, TILINGS[ragged], "uneven")
        *growing, complete = steps_to(mapping, context)
        bound, found = (words_of(complete, context, exactly) for exactly in (False, True))
        expected, steps = counted(mapping, arch), count_words(mapping, arch).steps
        assert all(n <= expected[key] for key, n in (*bound.items(), *found.items())), seed
        if has_exact_halo(complete, context):
            bounded += 1
        else:
            exact += 1
            assert found == expected, seed
            assert bound == expected or windows_share(complete, context), seed
        assert context.model(complete.path).steps(complete.rows).tolist() == [steps]
        final = complete.costs(context)
        for step in growing:
            assert context.model(step.path).steps(step.rows)[0] <= steps
            charged = sum(context.book(complete.path, complete.rows, *fill_point) for fill_point in step.fill_points)
            so_far = sum(context.book(step.path, step.rows, *fill_point) for fill_point in step.fill_points)
            assert (so_far <= charged * (1 + 1e-9)).all(), seed
            assert (so_far <= final * (1 + 1e-9)).all(), seed
    assert longer.occurs(exact >= 20)
    assert longer.occurs(bounded >= 5)


def test_windows_that_share_over_fanouts_above_their_charge() -> None:
    """Counted exactly once these are passed, whatever loops stand between."""
    counted_so = more = 0
    for seed in (*longer.seeds(400), 516):  # the last one: idle instances of two arrays that share a sum
        rng = random.Random(seed)
        problem, arch = windows_below_arrays(rng)
        ragged = rng.random() < 0.6
        mapping = random_uneven(rng, problem, arch, ragged)
        context = context_of(problem, arch, TILINGS[ragged], "uneven")
        *_, complete = steps_to(mapping, context)
        if windows_share(complete, context) and not has_exact_halo(complete, context):
            expected = counted(mapping, arch)
            assert words_of(complete, context, exactly=True) == expected, seed
            more += words_of(complete, context, exactly=False) != expected
            counted_so += 1
    assert longer.occurs(counted_so > 25)
    assert longer.occurs(more >= 1)


@pytest.mark.long
def test_settled_words_stay() -> None:
    """What is not marked as unsettled costs on the way just what it costs in the end."""
    settled = 0
    for seed in range(120):
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 6), random_architecture(rng)
        ragged = rng.random() < 0.7
        context = context_of(problem, arch, TILINGS[ragged], "uneven")
        *growing, complete = steps_to(random_uneven(rng, problem, arch, ragged), context)
        for step in growing:
            for boundary, fill_point in step.fill_points:
                if context.hierarchy.memories[boundary.inner].halo == "exact" and boundary.inner != MAC:
                    continue
                if context.only_bounded(boundary, step.state.passed, fill_point is not None):
                    continue
                now = context.book(step.path, step.rows, boundary, fill_point)
                then = context.book(complete.path, complete.rows, boundary, fill_point)
                assert np.allclose(now, then, rtol=1e-12, atol=0), (seed, boundary)
                settled += 1
    assert settled > 500


@pytest.mark.parametrize("coefficients", [(1, 1), (2, 1), (2, 3), (4, 2)])
def test_fewest_words_of_windows_side_by_side(coefficients: tuple[int, int]) -> None:
    """Against all tiles that may stand between neighbours, written out."""
    sizes = (7, 4)
    for counts in itertools.product(range(1, 8), range(1, 5)):
        apart = [range(1, (size - 1) // max(n - 1, 1) + 1) for size, n in zip(sizes, counts, strict=True)]
        words = [
            len(
                {
                    coefficients[0] * one * i + coefficients[1] * other * j
                    for i in range(counts[0])
                    for j in range(counts[1])
                }
            )
            for one, other in itertools.product(*apart)
        ]
        assert fewest_sums(coefficients, sizes, counts) == min(words), counts
