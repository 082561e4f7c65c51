"""Forms of attention, made of the one in two passes: they compute the same, for all sizes of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.arch import Architecture, Keeps, Mac, Memory
from tilewright.ir import Cascade, Loop, Mapping, Node, ProblemError, Tree
from tilewright.mapper.emit import emit_numpy
from tilewright.workloads import cascade, cascade_of, resolve_cascade
from tilewright.workloads.attention import attentions
from tilewright.workloads.one_pass import in_one_pass
from tilewright.workloads.softmax_forms import in_any_way

LINES = [
    "S[b,m,n] += Q[m,b,e] * K[n,b,e]",
    "L[b,m] max= S[b,m,n]",
    "P[b,m,n] = exp(S[b,m,n] - L[b,m])",
    "D[b,m] += P[b,m,n]",
    "Y[b,m,n] = P[b,m,n] / D[b,m]",
    "O[m,b,f] += Y[b,m,n] * V[n,b,f]",
]
SIZES = {"b": 2, "m": 3, "n": 4, "e": 2, "f": 2}


def direct(whole: Cascade, operands: dict[str, np.ndarray]) -> np.ndarray:
    """What a cascade computes, operation by operation, by the part of its program that has no schedule."""
    steps = [(op.iterates, op.problem.sizes[op.iterates]) for op in whole if op.iterates]
    step = dict(steps[:1])
    names = [op.name for op in whole if step.keys() <= set(op.problem.sizes)]
    leaves = {
        op.name: Tree(tuple(Loop(d, n) for d, n in op.problem.dims if d not in step), (), op.name) for op in whole
    }
    outside = [leaves[op.name] for op in whole if op.name not in names]
    loops = tuple(Loop(dim, n) for dim, n in step.items())
    inside = Tree(loops, tuple(leaves[name] for name in names)) if step else None
    branches = (inside, *outside) if inside else tuple(leaves.values())
    tree = Tree(tuple(Node("DRAM", tensor) for tensor in whole.tensors), branches)
    memory = Memory(name="DRAM", access_bits=8, read_energy_pj=1.0, write_energy_pj=1.0, keeps=Keeps())
    arch = Architecture(name="one", clock_hz=1e9, word_bits=8, levels=(memory,), mac=Mac(energy_pj=1.0))
    module: dict[str, Any] = {"__name__": "reference"}
    exec(compile(emit_numpy(Mapping(whole, tree), arch), "reference", "exec"), module)
    assert module["check"](1)[0] == ""
    result: np.ndarray = module["direct"](operands)["O"]
    return result


FORMS = ["two passes", "two passes, divided last", "one pass, 1 at a time", "one pass, 2 at a time"]


def test_all_forms_compute_the_same() -> None:
    whole = in_any_way(cascade(LINES, SIZES))
    rng = np.random.default_rng(3)
    operands = {name: rng.random(shape) for name, shape in {"Q": (3, 2, 2), "K": (4, 2, 2), "V": (4, 2, 2)}.items()}
    assert [form.form for form in whole.forms] == FORMS
    expected = direct(whole.forms[0], operands)
    assert direct(whole.forms[1], operands) == pytest.approx(expected, rel=1e-12)
    for size, form in zip((1, 2), whole.forms[2:], strict=True):
        cut = {name: operands[name].reshape(4 // size, size, 2, 2) for name in ("K", "V")}
        assert direct(form, operands | cut) == pytest.approx(expected, rel=1e-12)


def test_keys_that_others_see_whole_stay_one_rank() -> None:
    whole = cascade(["K[n,b,e] = X[n,b,e]", *LINES], SIZES)
    (one,) = attentions(whole)
    scores = in_one_pass(whole, one, 2).operation("S").problem
    assert scores.tensor("K").ranks[0] == (("I", 2), ("J", 1))
    assert scores.tensor("S").ranks[2:] == ((("I", 1),), (("J", 1),))


def test_several_softmaxes_are_computed_in_the_same_way() -> None:
    second = ["T[b,m,n] += O[m,b,f] * H[n,b,f]", "M[b,m] max= T[b,m,n]", "E[b,m,n] = exp(T[b,m,n] - M[b,m])"]
    second += ["G[b,m] += E[b,m,n]", "Z[b,m,n] = E[b,m,n] / G[b,m]", "X[m,b,f] += Z[b,m,n] * W[n,b,f]"]
    whole = in_any_way(cascade([*LINES, *second], SIZES))
    assert [form.form for form in whole.forms] == FORMS
    assert [len(form.operations) for form in whole.forms] == [12, 12, 20, 20]


@pytest.mark.parametrize(
    ("line", "other"),
    [
        (5, "O[b,m,n] = Y[b,m,n] * V[n,b,m]"),
        (2, "P[b,m,n] = exp(S[b,m,n] - 2 * L[b,m])"),
        (3, "D[b,m] max= P[b,m,n]"),
        (4, "Y[b,m,n] = D[b,m] / P[b,m,n]"),
        (0, "S[b,m,n] += exp(Q[m,b,e]) * K[n,b,e]"),
    ],
)
def test_what_is_no_softmax_between_products(line: int, other: str) -> None:
    lines = [*LINES[:line], other, *LINES[line + 1 :]]
    letters = {letter for letter in SIZES if any(letter in one.split("=")[-1] for one in lines)}
    assert list(attentions(cascade(lines, {letter: SIZES[letter] for letter in letters}))) == []


def test_layers_of_a_network() -> None:
    whole = cascade_of("gpt2_small", "qk+softmax+av")
    two, last, one = (
        cascade_of("gpt2_small", "qk+softmax+av", softmax=softmax)
        for softmax in ("two-pass", "divided-last", "one-pass")
    )
    assert [len(each.forms) for each in (whole, two, last, one)] == [12, 1, 1, 10]
    assert whole.forms[0].operations == two.operations
    assert whole.others == (last, *one.forms)
    assert len(cascade_of("gpt2_small", "q_proj..av").forms) == 12
    assert len(cascade_of("gpt2_small", "qk+softmax").forms) == 1
    for choice, expected in {"any": whole, "two-pass": two, "divided-last": last, "one-pass": one}.items():
        assert resolve_cascade(f"gpt2_small:qk+softmax.{choice}+av") == expected
    with pytest.raises(ProblemError, match="no softmax stands between two products"):
        resolve_cascade("gpt2_small:qk+softmax.one-pass")
