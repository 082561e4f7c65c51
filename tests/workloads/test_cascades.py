"""Cascades from lines and files: what they say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.ir import Call, Cascade, Number, Operand, ProblemError
from tilewright.workloads import cascade, cascade_from_texts, load_cascade
from tilewright.workloads.operations import read_statement

CHAIN = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]


def test_a_chain_of_products() -> None:
    whole = cascade(CHAIN, m=8, k=4, n=16, p=2)
    first, second = whole.operations
    assert whole.name == "T+O"
    assert first.problem.dims == (("M", 8), ("N", 16), ("K", 4))
    assert [t.role for t in second.problem.tensors] == ["input", "weight", "output"]
    assert (whole.intermediates, whole.producers["T"], whole.consumers["T"]) == (("T",), first, (second,))
    assert (first.kind, first.reduced_dims, whole.macs) == ("mac", ("K",), 8 * 16 * 4 + 8 * 2 * 16)
    assert whole == cascade_from_texts(CHAIN, "m=8,k=4,n=16,p=2")


@pytest.mark.parametrize(
    ("line", "kind", "reduction"),
    [
        ("T[m] += A[m,k] * B[k]", "mac", "sum"),
        ("T[m] += 0.5 * A[m,k] * B[k]", "mac", "sum"),
        ("T[m,k] = A[m,k] * B[k]", "mul", None),
        ("T[m] max= A[m,k]", "max", "max"),
        ("T[m] += A[m,k]", "add", "sum"),
        ("T[m] += exp(A[m,k] - B[m])", "exp", "sum"),
        ("T[m,k] = max(A[m,k], 0)", "max", None),
        ("T[m,k] = A[m,k]", "copy", None),
        ("T[m,k] = A[m,k] / B[m]", "div", None),
        ("T[m,k] = -A[m,k]", "neg", None),
        ("T += A[m,k] * B[m]", "mac", "sum"),
    ],
)
def test_kinds_of_operations(line: str, kind: str, reduction: str | None) -> None:
    (operation,) = cascade([line], dict.fromkeys(read_statement(line).indices(), 3)).operations
    assert (operation.kind, operation.reduction) == (kind, reduction)
    roles = {t.role for t in operation.problem.operands}
    assert roles == ({"input", "weight"} if kind == "mac" else {"input"})


def test_expressions_names_and_pads() -> None:
    statement = read_statement("conv: T[k,p] += X[c,2*p + r] * W[k,c,r] pad X[0, 1:2]")
    assert (statement.name, statement.output) == ("conv", ("T", ((("k", 1),), (("p", 1),))))
    assert statement.operands["X"] == ((("c", 1),), (("p", 2), ("r", 1)))
    assert statement.pads == {"X": ((0, 0), (1, 2))}
    assert read_statement("T[m] = max(A[m] - 1, -2)").expression == Call(
        "max", (Call("sub", (Operand("A"), Number(1))), Number(-2))
    )


@pytest.mark.parametrize(
    "lines",
    [
        CHAIN,
        ["L[m] max= S[m,n]", "P[m,n] = exp(S[m,n] - L[m]) * (S[m,n] + 1)", "D[m] += P[m,n]", "Y[m,n] = P[m,n] / D[m]"],
        ["a.b: T[m,p] += A[m,p+n] * B[n] pad A[0,1:1]", "Q[m,p] = max(T[m,p], 0)"],
    ],
)
def test_printed_lines_read_back(lines: list[str]) -> None:
    sizes = {"m": 8, "k": 4, "n": 3, "p": 2}
    letters = {letter for line in lines for letter in read_statement(line).indices()}
    whole = cascade(lines, {letter: sizes[letter] for letter in letters}, name="x")
    *printed, _ = str(whole).splitlines()
    assert cascade(printed, {letter: sizes[letter] for letter in letters}, name="x") == whole


@pytest.mark.parametrize(
    ("lines", "sizes", "message"),
    [
        (["T[m,n] += A[m,k] * B[k,n]", "O[a,b] += X[a,c] * Y[c,b]"], "mnkabc", "no tensor in common"),
        (["T[m] = A[m]", "T[m] = B[m]"], "m", "T is written by operations 1 and 2, expected one producer"),
        (["x: T[m] = A[m]", "y: T[m] = B[m]"], "m", "T is written by x and y, expected one producer"),
        (["T[m] = U[m]", "U[m] = T[m]"], "m", "a cycle"),
        (["O[m] = T[m]", "T[m] = A[m]"], "m", "O reads T, which T writes after it"),
        (["T[m] = A[m,k]"], "mk", "the left side has not K"),
        (["T[m] = A[m]", "O[m,k] = T[m,k]"], "mk", "T has 1 in T and 2 in O ranks"),
        (["T[m] = T[m]"], "m", "T is read and written by one operation"),
        (["T[m] = A[m,m]"], "m", "index 'm' appears 2 times in A"),
        (["T[m+k] = A[m] * B[k]"], "mk", "no plain index on the left"),
        (["T[m] = A[m] * A[m]", "O[m] = foo(T[m])"], "m", "unknown function 'foo'"),
        (["T[m,k] = max(A[m])"], "mk", "max has 1 arguments, expected 2"),
        (["T[m] += A[m,k] * A[k,m]"], "mk", "A is read at two places"),
        (["T[m] = 1"], "m", "the right side reads no tensor"),
        (["T[m]"], "m", "expected one of '=', '+=' and 'max='"),
        (["T[m] = A[m-1]"], "m", "cannot read the index 'm - 1'"),
        (["T[m] = A[m] pad B[1]"], "m", "pad of unknown tensor 'B'"),
        (["T[m] = A[m] pad A[1,1]"], "m", "expected zeros for each rank"),
        (["T[m] = A[m] ; import os"], "m", "cannot read"),
        (["T[m] = __import__('os')"], "m", "unknown function '__import__'"),
    ],
)
def test_bad_cascades_are_refused(lines: list[str], sizes: str, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        cascade(lines, dict.fromkeys(sizes, 2))
    assert message in str(caught.value)


def test_sizes_that_disagree_need_a_pad() -> None:
    lines = ["T[x] = A[x]", "O[p] += T[p+r] * W[r]"]
    sizes = {"x": 8, "p": 8, "r": 3}
    with pytest.raises(ProblemError, match="reads 10 positions of rank 1 of T, and T writes 8"):
        cascade(lines, sizes)
    assert isinstance(cascade([lines[0], lines[1] + " pad T[1]"], sizes), Cascade)
    with pytest.raises(ProblemError, match="reads 6 positions of rank 1 of T, and T writes 8"):
        cascade(["T[x] = A[x]", "O[p] = T[p]"], x=8, p=6)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "chain.yaml"
    operations = "".join(f"- {line}\n" for line in CHAIN)
    path.write_text(f"operations:\n{operations}sizes: {{m: 8, k: 4, n: 16, p: 2}}\nbits: {{T: 16}}\n")
    whole = load_cascade(path)
    assert whole.name == "chain"
    assert [op.problem.tensor("T").bits for op in whole] == [16, 16]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operations: [T]\nsizes: {m: 1}\nsize: 2", "unknown key 'size'"),
        ("operations: 3\nsizes: {m: 1}", "operations, expected a list of texts"),
        ("operations: ['T[m] = A[m]']\nsizes: [m]", "sizes is ['m'], expected names and numbers"),
        ("operations: ['T[m] = A[m]']\nsizes: {m: x}", "m is 'x', expected a whole number"),
        ("operations: ['T[m] = A[m]']\nsizes: {m: 2}\nbits: {B: 8}", "unknown key 'B'"),
        ("- 1", "found list, expected a cascade"),
    ],
)
def test_bad_files_are_refused_with_their_name(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ProblemError, match=r"bad\.yaml|T: ") as caught:
        load_cascade(path)
    assert message in str(caught.value)
