"""Problems as rows of network files: the row makes the same problem, with other names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.ir import Problem, ProblemError, Tensor
from tilewright.workloads import batched_gemm, conv2d, einsum, gemm, load_network
from tilewright.workloads.layers import convolution
from tilewright.workloads.rows import network_text, row_of


def renamed(problem: Problem, names: dict[str, str]) -> set[tuple[object, ...]]:
    """Role and ranks of every tensor, without dimensions of one element, whatever their order."""
    kept = {dim for dim, size in problem.dims if size > 1}
    return {
        (
            tensor.role,
            frozenset(
                frozenset((names[dim], step) for dim, step in rank if dim in kept) for rank in tensor.ranks
            ) - {frozenset()},
        )
        for tensor in problem.tensors
    }  # fmt: skip


@pytest.mark.parametrize(
    "problem",
    [
        conv2d(K=4, C=3, P=5, Q=6, R=3, S=2, N=2),
        conv2d(K=4, C=3, P=5, Q=6, R=3, S=2, stride=(2, 3), dilation=(1, 2)),
        conv2d(K=4, C=4, P=5, Q=5, R=3, S=3, groups=4, name="depthwise"),
        conv2d(K=8, C=4, P=5, Q=5, R=3, S=3, groups=2, stride=2, name="grouped"),
        convolution(4, 3, (5, 6, 7), (3, 2, 2), stride=(1, 2, 1), name="conv3d"),
        gemm(M=4, N=5, K=6),
        batched_gemm(B=2, M=4, N=5, K=6),
        einsum("ghqd,gkd->ghqk", g=2, h=3, q=4, k=5, d=6),
        Problem(
            "conv1d",
            (("C", 3), ("M", 4), ("R", 3), ("Out", 16)),
            (
                Tensor("Inputs", ((("C", 1),), (("R", 1), ("Out", 2))), "input"),
                Tensor("Weights", ((("C", 1),), (("M", 1),), (("R", 1),)), "weight"),
                Tensor("Outputs", ((("M", 1),), (("Out", 1),)), "output"),
            ),
        ),
    ],
    ids=lambda problem: problem.name,
)
def test_the_row_makes_the_problem(problem: Problem, tmp_path: Path) -> None:
    row = row_of(problem, "layer")
    path = tmp_path / "imported.yaml"
    path.write_text(network_text(row, "imported"), encoding="utf-8")
    found = load_network(path).layers[0].problem
    assert found.macs == problem.macs
    assert {row.dims[dim]: size for dim, size in problem.dims if size > 1} == {d: s for d, s in found.dims if s > 1}
    assert renamed(problem, row.dims) == renamed(found, {dim: dim for dim in found.dim_names})
    for tensor in problem.tensors:
        moved = {row.dims[dim] for dim in tensor.dims if problem.sizes[dim] > 1}
        assert moved == {dim for dim in found.tensor(row.tensors[tensor.name]).dims if found.sizes[dim] > 1}


def test_what_no_row_makes() -> None:
    named = Problem(
        "odd", (("for", 4),), (Tensor("in", ((("for", 2),),), "input"), Tensor("O", ((("for", 1),),), "output"))
    )
    with pytest.raises(ProblemError, match="no row of a network file says this problem"):
        row_of(named, "layer")
