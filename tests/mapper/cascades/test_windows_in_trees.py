"""Shared loops along windows: no tree of a brute force lies below the bound, and what is found costs what it says."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from tree_simulator import simulate_tree
from window_brute_force import WindowCase, best_windowed, random_window_case

import tilewright as tw
from longer import TIMES, blocks
from tilewright.cost_models import evaluate, parse_objective
from tilewright.ir import InfeasibleError, Loop
from tilewright.mapper.answer import Answer
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.question import Fuse, Question

SEEDS = 4
OBJECTIVES = ("energy", "latency", "edp")
CHIP = """
name: chip
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ, bandwidth: 16 B/cycle}
  - {memory: GLB, size: 8 B, access: 8 bit, read: 6 pJ, write: 6 pJ, bandwidth: 128 B/cycle, keep: may, halo: HALO}
mac: {energy: 0.5 pJ}
"""


def searched(case: WindowCase, objective: str, fuse: Fuse) -> Answer | None:
    question = Question(case.cascade, case.arch, parse_objective(objective), "perfect", case.space, fuse=fuse)
    try:
        return search_cascade(question)
    except InfeasibleError:
        return None


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(SEEDS, 1))
def test_no_tree_lies_below_the_bound(seeds: range) -> None:
    for seed in seeds:
        case = random_window_case(seed)
        best = best_windowed(case, random.Random(seed), 2 if TIMES == 1 else 20)
        for objective in OBJECTIVES if TIMES > 1 else OBJECTIVES[seed % 3 :][:1]:
            answer = searched(case, objective, "all")
            least = math.inf if answer is None else answer.certificate.lower_bound
            assert least <= best[objective] * (1 + 1e-9), f"{seed}, {objective}\n{case}"


@pytest.mark.parametrize("seed", [8] if TIMES == 1 else range(20))
def test_what_is_found_costs_what_it_says(seed: int) -> None:
    case = random_window_case(seed)
    answer, without = (searched(case, "energy", fuse) for fuse in ("all", "plain"))
    if answer is None or without is None:
        return
    assert 0 < answer.certificate.lower_bound <= answer.cost.energy_pj * (1 + 1e-9)
    assert answer.cost.energy_pj <= without.cost.energy_pj * (1 + 1e-9)
    assert evaluate(answer.mapping, case.arch).energy_pj == answer.cost.energy_pj
    simulate_tree(answer.mapping, case.arch)  # raises where something is read before it is finished


@pytest.mark.some(1)
@pytest.mark.parametrize("halo", ["innermost", "none"])
def test_rows_are_kept_where_the_memory_can(halo: str, tmp_path: Path) -> None:
    chip = tmp_path / "chip.yaml"
    chip.write_text(CHIP.replace("HALO", halo))
    rows = ["T[k,y] += X[c,y] * W[k,c]", "O[l,p] += T[k,p+r] * V[l,k,r] pad T[0,1:1]"]
    two = tw.cascade(rows, k=2, y=8, c=2, p=8, r=3, l=2)
    asked = ["T in GLB", "loops over P"]  # there is room for half of it
    result = tw.search(two, chip, "energy", "perfect", constraints=asked)
    (loop,) = (item for item in result.mapping.tree.items if isinstance(item, Loop))
    again = 0 if halo == "innermost" else 2 * (loop.trips - 1)  # a row on both sides of all steps but the outer ones
    assert result.mapping.windows("T") == {"Y"}
    assert result.cost.operations["T"].macs == (8 + again) * 2 * 2
    assert result.certificate.gap < 0.2
    with pytest.raises(InfeasibleError):
        tw.search(two, chip, "energy", "perfect", constraints=asked, fuse="plain")


SUMS = """
name: chip
clock: 1 GHz
word: 8 bit
partial_sum: 24 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 100 pJ, write: 100 pJ}
  - {memory: UB, size: 27 B, access: 8 bit, read: 8 pJ, write: 8 pJ, keep: {input: may, weight: never, output: may}}
  - {memory: ACC, size: 18 B, access: 8 bit, read: 2 pJ, write: 2 pJ, keep: {input: never, weight: never, output: may}}
  - {memory: REG, size: 1 B, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: {input: never, weight: must, output: never}}
mac: {energy: 0.5 pJ}
"""


@pytest.mark.long
def test_uneven_visits_whose_sums_come_finished_are_counted(tmp_path: Path) -> None:
    """There is room for T as finished words alone, and a visit makes three rows of it after one of five: the bound by
    even visits was 5 % below the best tree, and another one was found."""
    chip = tmp_path / "chip.yaml"
    chip.write_text(SUMS)
    rows = ["T[k,y] += X[c,y+s] * W[k,c,s] pad X[0,1:1]", "O[l,p] += T[k,p+r] * V[l,k,r] pad T[0,1:1]"]
    two = tw.cascade(rows, k=2, y=8, c=2, s=3, l=2, p=8, r=3)
    certificate = tw.search(two, chip, "energy", "perfect").certificate
    assert (certificate.value, certificate.lower_bound) == (14276.0, 14276.0)
