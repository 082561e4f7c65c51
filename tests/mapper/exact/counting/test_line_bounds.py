"""What the search books for lines of complete mappings, against the cost model."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from lined_cases import case_of, orders, stated

import brute_force
import longer
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.cost_models import OBJECTIVES, evaluate
from tilewright.cost_models.layouts import packed
from tilewright.ir import InfeasibleError, Mapping, MappingError, Problem
from tilewright.mapper.exact.counting.line_ranks import lined_rank
from tilewright.mapper.exact.counting.lines import never_fills_lines
from tilewright.mapper.exact.exploring.finishing import Finishing
from tilewright.mapper.exact.growing.batch import Batch
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.kernel.states import Closed
from tilewright.workloads import conv2d, gemm

Told = list[tuple[float, float]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Of every complete row that a search comes to on a machine with lines: its bound, and what its mapping costs."""
    found: Told = []
    finish = Finishing.finish

    def finish_and_tell(self: Finishing, batch: Batch) -> Iterator[Closed[Mapping]]:
        counted = self.context.costs.lines is not None and not batch.pending
        for row, bound in enumerate(batch.bound.tolist() if counted else ()):
            for canonical in self.mappings(batch, row):
                with suppress(MappingError):  # its lines do not fit
                    cost = evaluate(self.canonical.restore(canonical), self.best.machine)
                    found.append((bound, cost.objective(self.best.objective)))
        yield from finish(self, batch)

    monkeypatch.setattr(Finishing, "finish", finish_and_tell)
    return found


def _keeps_overlaps(arch: Architecture) -> bool:
    return any(isinstance(level, Memory) and level.halo == "exact" for level in arch.levels)


def _stated_case(seed: int) -> tuple[Problem, Architecture, bool]:
    (problem, arch, ragged), rng = case_of(seed), random.Random(seed)
    layouts = {(m.name, t.name): rng.choice(orders(problem, t.name)) for m in arch.memories for t in problem.tensors}
    return problem, stated(arch, layouts), ragged


def _slides_over_gaps(problem: Problem, arch: Architecture) -> bool:
    """Whether a tile that slides may have gaps, which what is new fills."""
    windows = [rank for tensor in problem.tensors for rank in tensor.ranks if len(rank) > 1]
    return any(m.halo == "innermost" for m in arch.memories) and any(step > 1 for rank in windows for _, step in rank)


def test_complete_rows_cost_what_the_cost_model_says(told: Told) -> None:
    """No bound is above the cost; and it is the energy of perfect tiles, but with halos that no loop tells, and where
    tiles with gaps slide."""
    for seed in longer.seeds(30):
        problem, arch, ragged = _stated_case(seed)
        for objective in OBJECTIVES:
            told.clear()
            with suppress(InfeasibleError):
                search_exact(problem, arch, objective, "ragged" if ragged else "perfect")
            assert all(bound <= value * (1 + 1e-9) for bound, value in told), (seed, objective)
            if objective == "energy" and not (ragged or _keeps_overlaps(arch) or _slides_over_gaps(problem, arch)):
                assert told == [(pytest.approx(value), value) for _, value in told], seed


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("machine", "line", "problem", "objective"),
    [
        # Sums wait in accumulators, and are four times as wide as what is kept of them.
        ("gemmini", "64 B", gemm(100, 100, 100), "edp"),
        # Matrix units share lines of weights, which pass the memories between.
        ("tpu_v4i", "128 B", conv2d(K=256, C=32, P=7, Q=7, R=3, S=3), "energy"),
    ],
)
def test_few_mappings_are_evaluated(machine: str, line: str, problem: Problem, objective: str) -> None:
    """Bounds on complete rows said so little that hundreds were evaluated, one by one, and proofs took minutes."""
    arch = load_arch(machine, {f"{load_arch(machine).memories[0].name}.line": line})
    _, _, certificate = search_exact(problem, arch, objective, "ragged" if machine == "gemmini" else "perfect")
    assert certificate.proven
    assert certificate.evaluated < 20


def test_a_window_without_rows() -> None:
    """Steps that no row took stopped a search whose lines hold several words along a window."""
    problem = conv2d(K=4, C=4, P=4, Q=4, R=3, S=3)
    window = lined_rank(problem.tensors[0].ranks[-1], problem, problem.dim_names, is_box=False)
    assert window.is_window
    none = np.zeros(0, dtype=np.int64)
    assert window.lines_per_word(np.array([2, 4]), none, none).shape == (2, 0)


@pytest.mark.parametrize("seed", longer.seeds(12))
def test_where_no_mapping_fills_lines_all_cost_more_than_words(seed: int) -> None:
    """Then no best mapping of words is looked for first."""
    problem, arch, ragged = case_of(seed)
    if never_fills_lines(problem, arch):
        mappings = list(brute_force.all_mappings(problem, arch, ragged))
        for mapping in random.Random(seed).sample(mappings, min(20, len(mappings))):
            with suppress(MappingError):  # its lines do not fit
                assert evaluate(mapping, arch).energy_pj > evaluate(mapping, packed(arch)).energy_pj
