from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.ir import ProblemError
from tilewright.workloads import einsum


def test_attention_scores():
    problem = einsum("bhqd,bhkd->bhqk", b=1, h=12, q=512, k=256, d=64)
    assert str(problem) == (
        "bhqd,bhkd->bhqk: O[b, h, q, k] += A[b, h, q, d] * B[b, h, k, d]  (B=1 H=12 Q=512 K=256 D=64)"
    )


def test_sizes_may_be_a_mapping_and_keywords():
    mixed = einsum("mk,kn->mn", {"m": 2, "n": 3}, k=4)
    assert mixed == einsum("mk,kn->mn", m=2, n=3, k=4) == einsum(" mk, kn -> mn ", {"m": 2, "n": 3, "k": 4})
    assert mixed.dims == (("M", 2), ("N", 3), ("K", 4))


def test_roles_and_names_of_operands():
    problem = einsum("i,i,i->i", i=4)
    assert [(t.name, t.role) for t in problem.tensors] == [
        ("A", "input"),
        ("B", "weight"),
        ("C", "weight"),
        ("O", "output"),
    ]
    assert [t.role for t in einsum("ij->i", i=2, j=3).tensors] == ["input", "output"]
    many = einsum(",".join(["i"] * 15) + "->i", i=2)
    assert [t.name for t in many.tensors][-3:] == ["N", "P", "O"]


def test_indices_that_differ_in_case_alone_stay_as_they_are():
    assert einsum("aAb->b", a=2, A=3, b=4).dims == (("B", 4), ("a", 2), ("A", 3))


def test_name_and_widths():
    problem = einsum("mk,kn->mn", m=2, n=3, k=4, name="fc", bits={"weight": 4, "partial": 32})
    assert problem.name == "fc"
    assert [t.bits for t in problem.tensors] == [None, 4, None]
    assert problem.output.partial_bits == 32


def test_output_without_indices():
    problem = einsum("i,i->", i=7)
    assert problem.output.ranks == ()
    assert problem.macs == 7


@given(st.lists(st.permutations("cbad").map(lambda p: "".join(p[:2])), min_size=1, max_size=3))
def test_implicit_output_is_numpys(operands):
    spec = ",".join(operands)
    size = {"a": 2, "b": 3, "c": 4, "d": 5}
    used = {index: size[index] for index in "abcd" if index in spec}
    problem = einsum(spec, used)
    expected = np.einsum(spec, *(np.ones([size[i] for i in operand]) for operand in operands))
    assert tuple(problem.sizes[rank[0][0]] for rank in problem.output.ranks) == expected.shape


@pytest.mark.parametrize(
    ("spec", "sizes", "message"),
    [
        ("mk,kn->mn", {"m": 1, "n": 1}, "sizes: missing k\nhint: required: m, n, k"),
        ("mk,kn->mn", {"m": 1, "n": 1, "k": 1, "j": 2}, "sizes: unknown key 'j'\nhint: known: m, n, k"),
        ("mk,kn->mn", {"m": 1, "n": 1, "K": 1}, "sizes: unknown key 'K'\nhint: did you mean 'k'?"),
        ("mk,kn->mn", {"m": 1, "n": 0, "k": 1}, "sizes: n is 0, expected 1 or more"),
        ("mk,kn->mn", {"m": 1, "n": 1.5, "k": 1}, "sizes: n is 1.5, expected a whole number"),
        ("ii->i", {"i": 2}, "index 'i' appears 2 times in operand 1 'ii'\nhint: a diagonal"),
        ("i->ii", {"i": 2}, "index 'i' appears 2 times in output 'ii'"),
        ("mk,kn->mx", {}, "output index 'x' is in no operand\nhint: indices of operands: m, k, n"),
        ("...i->i", {}, "'...' is not supported"),
        ("mk,,kn->mn", {}, "operand 2 has no indices"),
        ("", {}, "operand 1 has no indices"),
        ("i->i->i", {}, "found a stray '-' or '>'"),
        ("mk-kn", {}, "found a stray '-' or '>'"),
        ("i->i,i", {}, "more than one output"),
        ("m1->m", {}, "cannot read '1', expected letters, ',' and '->'"),
        ("é->é", {}, "cannot read 'é'"),
        (",".join(["i"] * 26) + "->i", {"i": 2}, "26 operands, expected at most 25"),
    ],
)
def test_errors_quote_the_spec(spec, sizes, message):
    with pytest.raises(ProblemError) as error:
        einsum(spec, sizes)
    assert str(error.value).startswith(f"einsum {spec!r}: {message}")


def test_a_size_given_twice():
    with pytest.raises(ProblemError, match="the size of 'i' is given twice"):
        einsum("i->i", {"i": 2}, i=2)
