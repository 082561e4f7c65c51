"""The comparison of predicted and measured times: its arithmetic, and its page from a table."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import reality
from reality_page import Measured, layers_of, page_lines, ranks, read_table, spearman, write_table

from tilewright.arch import load_arch
from tilewright.ir import LoopNest, Mapping, Problem
from tilewright.workloads import batched_gemm, conv2d, gemm


def test_rank_correlation() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [3.5, 1.0, 3.5, 2.0]
    assert spearman([1, 2, 3, 4], [10, 20, 400, 4000]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # d = (0, 1, -1, 0): 1 - 6 * 2 / (4 * 15)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert math.isnan(spearman([1, 1, 1], [1, 2, 3]))


@pytest.mark.parametrize(
    "problem",
    [gemm(M=3, N=4, K=5), batched_gemm(B=2, M=3, N=4, K=5), conv2d(K=3, C=2, P=4, Q=5, R=3, S=2, stride=2)],
    ids=lambda problem: problem.name,
)
def test_blas_computes_the_layer(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    operands = [(t, rng.integers(-4, 5, reality.shape(problem, t)).astype(np.float32)) for t in problem.operands]
    found = reality.product(problem, *operands)
    total = np.zeros([problem.sizes[rank[0][0]] for rank in problem.output.ranks])
    for point in np.ndindex(*(size for _, size in problem.dims)):
        at = dict(zip(problem.dim_names, point, strict=True))
        values = [a[tuple(sum(c * at[d] for d, c in rank) for rank in t.ranks)] for t, a in operands]
        total[tuple(at[rank[0][0]] for rank in problem.output.ranks)] += math.prod(values)
    assert sorted(found.ravel()) == sorted(total.ravel())
    assert found.sum() == total.sum()


def test_what_is_used_once_is_not_copied() -> None:
    problem = gemm(M=1, N=64, K=64)
    text = "{} keeps A W O\n"
    memories = [text.format(name) for name in ("DRAM", "L3", "L2", "L1")]
    nest = f"{''.join(memories)}for N in 4\nfor K in 64\nregisters keeps A W O\nparallel N in 16 on vector.x"
    assert reality.copied(Mapping(problem, LoopNest.parse(nest)), load_arch("cpu")) == ["registers.O", "L2.A"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_the_page_of_a_table(tmp_path: Path) -> None:
    def row(layer: str, cycles: float, seconds: float, chosen: bool) -> Measured:
        return Measured(
            layer, 1000, cycles, 5.0, 1e-9 * cycles, seconds, 4e-3, 5e-4, chosen, "DRAM keeps A\nfor M in 2"
        )

    rows = [
        row("a:x", 100, 1e-3, True),
        row("a:x", 200, 3e-3, False),
        row("a:x", 300, 2e-3, False),
        row("b:y", 100, 2e-3, True),
        row("b:y", 150, 1e-3, False),
    ]
    write_table(tmp_path, rows)
    back = read_table(tmp_path)
    assert [one.measured_s for one in back] == [one.measured_s for one in rows]
    layers = layers_of(back)
    assert [layer.place() for layer in layers] == [1, 2]
    page = "\n".join(page_lines(layers, ["| effects |"], "a processor, gcc"))
    assert "Run on: a processor, gcc `" in page
    assert "| effects |" in page
    assert "median -0.25 of 2 layers, from -1.00 to 0.50" in page
    assert "within 1.25 times the fastest that was tried in 1 of 2 layers" in page
    assert "| a:x | 0.0 M | 3 | 0.50 | 0.50 | 0.00 | 1.00 | 1 | 1.00 | 4.00 | 0.50 | 0.0 |" in page
