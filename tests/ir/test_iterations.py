"""Operations that iterate: what is one, which trees execute it, and what is refused."""

from __future__ import annotations

import pytest

from tilewright.ir import Mapping, MappingError, ProblemError
from tilewright.ir.iteration import components
from tilewright.workloads import cascade

RUNNING = ["L[m,i] max= S[m,i,j]", "R[m,i+1] = max(R[m,i], L[m,i]) start -inf", "P[m,i,j] = S[m,i,j] - R[m,i+1]"]
ONE_PASS = [
    "S[m,i,j] += Q[m,e] * K[i:j,e]",
    "L[m,i] max= S[m,i,j]",
    "C[m,i] = exp(R[m,i] - max(R[m,i], L[m,i]))",
    "R[m,i+1] = max(R[m,i], L[m,i]) start -inf",
    "P[m,i,j] = exp(S[m,i,j] - R[m,i+1])",
    "D[m,i+1] = D[m,i] * C[m,i] + L[m,i] start 0.5",
    "O[m] = D[m,-1] / R[m,-1]",
]
SIZES = {"m": 2, "i": 3, "j": 2}


def test_generations_are_no_ranks() -> None:
    whole = cascade(ONE_PASS, SIZES | {"e": 2})
    running = whole.operation("R")
    assert (running.iterates, running.start, running.kind) == ("I", float("-inf"), "max")
    assert [t.name for t in running.problem.tensors] == ["L", "R"]
    assert running.output.ranks == ((("M", 1),),)
    assert whole.operation("S").problem.tensor("K").ranks[0] == (("I", 2), ("J", 1))
    assert [op.name for op in whole.consumers["R"]] == ["C", "P", "O"]
    assert [whole.operation(name).reads_before("R") for name in "CPO"] == [True, False, False]
    assert [op.name for (op,) in components(whole.operations)] == ["S", "L", "R", "C", "P", "D", "O"]


def test_printed_lines_of_iterations_read_back() -> None:
    whole = cascade(ONE_PASS, SIZES | {"e": 2}, name="x")
    *printed, _ = str(whole).splitlines()
    assert cascade(printed, SIZES | {"e": 2}, name="x") == whole
    assert printed[3] == "R[m, i+1] = max(R[m, i], L[m, i]) start -inf"
    assert printed[-1] == "O[m] = D[m, -1] / R[m, -1]"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["R[m,i+1] = max(R[m,i], L[m,i])"], "R[m, i+1] has no start value"),
        (["R[m,i+1] = L[m,i] start 0"], "R[m, i+1] does not read R[m, i]"),
        (["R[m,i+1] max= L[m,i] start 0"], "R[m, i+1] max= ..., expected '='"),
        (["R[m,i+1] = R[m,i+1] + L[m,i] start 0"], "R is read at another place than it is written"),
        (["R[m,i+1] = R[i,m] + L[m,i] start 0"], "R is read at another place than it is written"),
        (["R[m,i] = R[m,i] + L[m,i] start 0"], "R is read and written by one operation"),
        (["R[m+1,i+1] = L[m,i] start 0"], "two indices + 1 on the left side"),
        (["R[m,i+1] = R[m,i] + L[m,i] start nan"], "start nan, expected a number, inf or -inf"),
        (["R[m] = L[m] start 0"], "a start value, and R has no generations"),
        (["R[m,i+1] = R[m,i] + L[m,i,j] start 0"], "the left side has not J"),
        ([*RUNNING[:2], "P[m,i] = R[m,i+1] - R[m,i]"], "R is read at two places"),
        ([*RUNNING[:2], "P[m] = max(R[m,i+2], 0)"], "cannot read the index '2'"),
        ([*RUNNING[:2], "P[m,j] = R[m,j] * S[m,j]"], "R makes 3 generations of R, and P reads 2"),
        ([*RUNNING[:2], "P[m,i] = max(R[m+1,i], 0)"], "R has an index + 1, and no operation writes its generations"),
        (["P[m,i] = L[m,i+1]"], "L has an index + 1, and no operation writes its generations"),
        (["P[m] = L[m,-1]"], "L has the last index, -1, and no operation writes its generations"),
        ([*RUNNING[:2], "P[m,i] = max(R[m,i], 0)"], "R before it writes the next generation in its place"),
        (["P[m,i] = max(R[m,i+1], 0)", *RUNNING[:2]], "P reads R, which R writes after it"),
        (
            ["Y[m,i] = max(R[m,i], 0)", "Z[m] += Y[m,i]", "R[m,i+1] = R[m,i] - Z[m] start 0"],
            "R reads Z[m], which is known only after all steps",
        ),
        (
            ["Y[m,i] = max(R[m,i+1], 0)", "R[m,i+1] = R[m,i] - Y[m,i] start 0"],
            "Y reads R, and R, which writes it, needs Y: a cycle",
        ),
    ],
)
def test_bad_iterations_are_refused(lines: list[str], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        cascade(lines, {letter: SIZES[letter] for letter in SIZES if any(letter in line for line in lines)})
    assert message in str(caught.value)


TREE = """
DRAM keeps S P
GLB keeps R
for I in 3
  GLB keeps L
  branch L
    for M in 2
      for J in 2
  branch R
    for M in 2
  branch P
    for M in 2
      for J in 2
"""


def test_a_tree_of_an_iteration() -> None:
    fused = Mapping.parse(cascade(RUNNING, SIZES), TREE)
    assert str(fused.item(fused.exchange("R", "P"))) == "GLB keeps R"
    assert not any(map(fused.windows, fused.leaves))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("for I in 3", "parallel I in 3 on array.x"), "stands on an array"),
        (("GLB keeps R\nfor I in 3\n", "for I in 3\n  GLB keeps R\n"), "adds to R, which no memory keeps above it"),
        (("for I in 3\n", ""), "dimension I has 3 elements, and its loops are no loop"),
        (("DRAM keeps S P", "DRAM keeps S P R"), "'DRAM keeps R' has no reader"),
    ],
)
def test_trees_that_do_not_iterate_are_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(MappingError) as caught:
        Mapping.parse(cascade(RUNNING, SIZES), TREE.replace(*change))
    assert message in str(caught.value)


def test_steps_stand_above_all_who_read_them() -> None:
    apart = """
    DRAM keeps S P
    GLB keeps R L
    branch
      for I in 3
        branch L
          for M in 2
            for J in 2
        branch R
          for M in 2
    branch P
      for I in 3
        for M in 2
          for J in 2
    """
    with pytest.raises(MappingError, match=r"'for I in 3' stands in the branch of P, and P uses R\[m, i\+1\]"):
        Mapping.parse(cascade(RUNNING, SIZES), apart)
    last = ["R[m,i+1] = R[m,i] + S[m,i] start 0", "P[m,i] = S[m,i] - R[m,-1]"]
    tree = "DRAM keeps S P\nGLB keeps R\nfor I in 3\n  branch R\n    for M in 2\n  branch P\n    for M in 2"
    with pytest.raises(MappingError, match=r"stands above P, which reads R\[m, -1\], the last generation"):
        Mapping.parse(cascade(last, m=2, i=3), tree)
