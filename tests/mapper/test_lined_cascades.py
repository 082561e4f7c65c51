"""What no tree costs less than where lines are not full: against trees at random, and in certificates."""

from __future__ import annotations

import random

import pytest
from trees import random_cascade, random_tree

import longer
import tilewright as tw
from generators import random_architecture
from tilewright.arch import Architecture
from tilewright.cost_models import evaluate, evaluate_open
from tilewright.cost_models.cascades import with_work_layouts
from tilewright.cost_models.layouts import packed
from tilewright.cost_models.objective import parse_objective
from tilewright.ir import Mapping, TilewrightError
from tilewright.mapper.lined_cascades import in_lines, least_of_empty_lines

PAIR = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]


def _case_of(seed: int) -> tuple[Mapping, Architecture]:
    """A tree, and a machine with lines in its outermost memory."""
    rng = random.Random(seed)
    arch = random_architecture(rng)
    cascade = random_cascade(rng, largest=5)
    tree = random_tree(rng, cascade, arch)
    outermost, *levels = arch.levels
    line = outermost.model_copy(update={"line_bits": arch.word_bits * rng.choice([2, 3, 4, 8])})
    machine = arch.model_copy(update={"levels": (line, *levels)})
    layout = rng.choice(["row-major", "column-major", "any"])
    return tree, with_work_layouts(machine, cascade, {"all": layout})


def test_no_tree_costs_less_than_what_is_empty_in_its_lines() -> None:
    """The energy, and products of energy and latency, of trees at random; some have no more than the bound."""
    compared = reached = 0
    for seed in longer.seeds(80):
        tree, arch = _case_of(seed)
        try:
            full, (lined, _) = evaluate(tree, packed(arch)), evaluate_open(tree, arch)
        except TilewrightError:
            continue
        empty = least_of_empty_lines(tree.cascade, arch)
        for name in ("energy", "latency", "edp", "ed2p", "energy + 3 * latency"):
            objective = parse_objective(name)
            fewest = full.utilization * full.latency_cycles
            bound = in_lines(objective, full.objective(objective), empty, fewest)
            assert lined.objective(objective) >= bound * (1 - 1e-9), f"seed {seed}, {name}\n{tree}"
        compared += empty > 0
        reached += empty > 0 and lined.energy_pj == pytest.approx(full.energy_pj + empty)
    assert longer.occurs(compared > 10)
    assert longer.occurs(reached)


def test_lines_that_rows_leave_empty_are_part_of_the_bound() -> None:
    """Rows of 50, 40 and 36 bytes in lines of 64: the certificate had a gap of 31 %."""
    arch = tw.load_arch("three_level", {"DRAM.line": "64 B"})
    pair = tw.cascade(PAIR, {"m": 60, "k": 50, "n": 40, "p": 36})
    found = tw.search(pair, arch, "energy", tiling="perfect").certificate
    assert 0 <= 1 - found.lower_bound / found.value < 0.02
