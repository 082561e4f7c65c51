"""Where tensors pass for sure, and where their nodes may stand: trees by hand that no proof may contradict."""

from __future__ import annotations

import pytest

from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import ENERGY
from tilewright.cost_models.cascades import evaluate_tree
from tilewright.ir import Cascade, FusedMapping
from tilewright.mapper.cascades import CascadeQuestion, bound_by_singles, search_cascade
from tilewright.mapper.space import Space
from tilewright.workloads import cascade

READ_ALONE = """
name: read_alone
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: L2, size: 4 KiB, access: 8 bit, read: 50 pJ, write: 50 pJ, keep: may}
  - {memory: L1, size: 1 KiB, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: {input: may, weight: may, output: never}}
mac: {energy: 0.1 pJ}
"""
SLIDING = """
name: sliding
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: GLB, size: 40 B, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: may, halo: innermost}
mac: {energy: 0.1 pJ}
"""
SHARED = """
DRAM keeps A O R
for M in 2
  L2 keeps T
  branch T
    for N in 4
      for M in 2
  branch
    for M in 2
      L1 keeps T
      branch O
        for N in 4
      branch R
        for N in 4
"""
ROWS_KEPT = """
DRAM keeps X O
for P in 16
  GLB keeps T X
  branch T
    for R in 3
      for C in 4
        for P in 4
  branch O
    for P in 4
"""


def check_found(whole: Cascade, arch: Architecture, tree: str, space: Space) -> None:
    """A search proves a tree as good as one by hand, and no bound lies above it."""
    known = evaluate_tree(FusedMapping.parse(whole, tree), arch).energy_pj
    asked = CascadeQuestion(whole, arch, ENERGY, "perfect", space)
    answer = search_cascade(asked)
    assert answer.certificate.lower_bound == pytest.approx(answer.cost.energy_pj, rel=1e-9)
    assert answer.cost.energy_pj == pytest.approx(known, rel=1e-9)
    assert bound_by_singles(asked, {}) <= known * (1 + 1e-9)


@pytest.mark.parametrize("space", ["even", "uneven"])
def test_a_reader_may_find_a_tensor_where_another_one_has_left_it(space: Space) -> None:
    """R reads T from L1, which O has filled from L2: both were charged for L2, and 12,004.8 pJ were called proven."""
    lines = ["T[m,n] = exp(A[m,n])", "O[m,n] = exp(T[m,n])", "R[m,n] = exp(T[m,n])"]
    check_found(cascade(lines, m=4, n=4), parse_arch(READ_ALONE), SHARED, space)


@pytest.mark.parametrize("space", ["even", "uneven"])
def test_rows_that_two_steps_have_in_common_stay_above_a_branch(space: Space) -> None:
    """In the uneven space such a node was left out for one inside the branch, where nothing goes on from visit to
    visit; and bounds by single operations took all of X again in every step: 69,859.2 pJ were called proven."""
    check_found(
        cascade(["T[p] += X[c,p+r]", "O[p] = exp(T[p])"], p=64, c=4, r=3), parse_arch(SLIDING), ROWS_KEPT, space
    )
