"""Problems: what they know about themselves, and what they refuse."""

from __future__ import annotations

import dataclasses
import pickle
import re

import pytest

from generators import tensor
from tilewright.ir import Problem, ProblemError, Tensor, TilewrightError, did_you_mean

CONV = Problem(
    "conv",
    (("K", 4), ("C", 3), ("P", 5), ("R", 2)),
    (
        tensor("I", "input", "C", {"P": 2, "R": 1}),
        tensor("W", "weight", "K", "C", "R"),
        tensor("O", "output", "K", "P"),
    ),
)


def with_tensors(*tensors: Tensor) -> Problem:
    return dataclasses.replace(CONV, tensors=tensors)


class TestMeaning:
    def test_sizes_and_names(self) -> None:
        assert CONV.dim_names == ("K", "C", "P", "R")
        assert dict(CONV.sizes) == {"K": 4, "C": 3, "P": 5, "R": 2}
        assert CONV.macs == 4 * 3 * 5 * 2

    def test_tensors(self) -> None:
        assert [t.name for t in CONV.operands] == ["I", "W"]
        assert CONV.output is CONV.tensor("O")
        assert CONV.output.is_output
        assert CONV.tensor("I").dims == {"C", "P", "R"}

    def test_text(self) -> None:
        assert str(CONV) == "conv: O[k, p] += I[c, 2*p+r] * W[k, c, r]  (K=4 C=3 P=5 R=2)"

    def test_a_scalar_axis(self) -> None:
        assert str(Tensor("B", ((),), "input")) == "B[0]"

    def test_an_unknown_tensor(self) -> None:
        with pytest.raises(ProblemError, match=r"^conv: unknown tensor 'Y'\nhint: known: I, W, O$"):
            CONV.tensor("Y")

    def test_problems_are_values(self) -> None:
        same = dataclasses.replace(CONV)
        assert same == CONV
        assert len({CONV, same}) == 1
        assert hash(CONV) == hash(same)
        assert dataclasses.replace(CONV, name="other") != CONV
        assert pickle.loads(pickle.dumps(CONV)) == CONV
        with pytest.raises(dataclasses.FrozenInstanceError):
            CONV.name = "other"  # type: ignore[misc]


class TestRefused:
    @pytest.mark.parametrize(
        ("dims", "message"),
        [
            ((), "conv: no dimensions"),
            ((("K", 4), ("K", 3)), "conv: a dimension is given twice: K, K"),
            ((("K", 0),), "conv: dimension K is 0, expected 1 or more"),
            ((("K", 2.0),), "conv: dimension K is 2.0, expected a whole number"),
            ((("K", True),), "conv: dimension K is True, expected a whole number"),
        ],
    )
    def test_dimensions(self, dims: tuple[tuple[str, int], ...], message: str) -> None:
        with pytest.raises(ProblemError, match="^" + re.escape(message) + "$"):
            dataclasses.replace(CONV, dims=dims)

    @pytest.mark.parametrize(
        ("tensors", "message"),
        [
            (CONV.operands, "expected exactly one output tensor, found 0"),
            ((*CONV.tensors, tensor("Q", "output", "K")), "expected exactly one output tensor, found 2"),
            ((CONV.output,), "expected at least one operand tensor, found none"),
            ((tensor("O", "input", "K"), CONV.output), "two tensors share a name"),
        ],
    )
    def test_the_set_of_tensors(self, tensors: tuple[Tensor, ...], message: str) -> None:
        with pytest.raises(ProblemError, match="^" + re.escape(f"conv: {message}") + "$"):
            with_tensors(*tensors)

    @pytest.mark.parametrize(
        ("operand", "message"),
        [
            (tensor("I", "input", "c"), "unknown dimension 'c'\nhint: known: K, C, P, R"),
            (tensor("I", "input", {"P": 0}), "coefficient of P is 0, expected 1 or more"),
            (tensor("I", "input", {"P": -2}), "coefficient of P is -2, expected 1 or more"),
            (tensor("I", "input", "P", {"P": 1, "R": 1}), "dimension P appears in two ranks or twice in one"),
            (Tensor("I", ((("P", 1), ("P", 2)),), "input"), "dimension P appears in two ranks or twice in one"),
            (Tensor("I", ((("P", 1),),), "input", bits=0), "bits is 0, expected 1 or more"),
            (Tensor("I", ((("P", 1),),), "input", partial_bits=-1), "partial_bits is -1, expected 1 or more"),
        ],
    )
    def test_an_operand(self, operand: Tensor, message: str) -> None:
        with pytest.raises(ProblemError, match="^" + re.escape(f"conv: tensor I: {message}") + "$"):
            with_tensors(operand, CONV.output)

    @pytest.mark.parametrize("rank", [{"P": 1, "R": 1}, {"P": 2}, {}])
    def test_an_output_axis_that_is_not_one_dimension(self, rank: dict[str, int]) -> None:
        with pytest.raises(ProblemError, match="output axis must be one dimension with coefficient 1"):
            with_tensors(CONV.operands[0], tensor("O", "output", rank))


class TestErrors:
    def test_place_and_hint(self) -> None:
        error = ProblemError("too small", where="layers[2]", hint="make it larger")
        assert str(error) == "layers[2]: too small\nhint: make it larger"
        located = error.located("net.yaml:7")
        assert isinstance(located, ProblemError)
        assert str(located) == "net.yaml:7: layers[2]: too small\nhint: make it larger"
        assert str(TilewrightError("plain").located("here")) == "here: plain"

    def test_hints(self) -> None:
        assert did_you_mean("weigth", ["input", "weight"]) == "did you mean 'weight'?"
        assert did_you_mean("zzz", ["input", "weight"]) == "known: input, weight"
        assert did_you_mean("?", map(str, range(20))).endswith("11, ...")
