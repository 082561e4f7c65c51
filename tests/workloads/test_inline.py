from __future__ import annotations

import pytest

from tilewright.ir import ProblemError
from tilewright.workloads import (
    batched_gemm,
    conv2d,
    conv_from_text,
    einsum,
    einsum_from_text,
    gemm,
    gemm_from_text,
    parse_sizes,
)

CONV = "K=64,C=64,P=56,Q=56,R=3,S=3"


def test_sizes_keep_their_order_and_spaces_are_ignored():
    assert list(parse_sizes(" K = 64, C=8 ,P=+7").items()) == [("K", 64), ("C", 8), ("P", 7)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("K=64,C", "item 2 of 'K=64,C': found 'C', expected key=size\nhint: write sizes as K=64,C=64"),
        ("", "item 1 of '': found '', expected key=size"),
        ("K=64,", "item 2 of 'K=64,': found '', expected key=size"),
        ("=4", "item 1 of '=4': found '=4', expected key=size"),
        ("K=x", "item 1 of 'K=x': K is 'x', expected a whole number"),
        ("K=", "item 1 of 'K=': K is '', expected a whole number"),
        ("K=1.5", "item 1 of 'K=1.5': K is '1.5', expected a whole number"),
        ("K=1_0", "item 1 of 'K=1_0': K is '1_0', expected a whole number"),
        ("K=0", "item 1 of 'K=0': K is 0, expected 1 or more"),
        ("K=-3", "item 1 of 'K=-3': K is -3, expected 1 or more"),
        ("K=4,K=5", "item 2 of 'K=4,K=5': K is given twice, as 4 and as 5"),
        ("K=" + "9" * 5000, "item 1 of"),
    ],
)
def test_sizes_that_cannot_be_read(text, message):
    with pytest.raises(ProblemError) as error:
        parse_sizes(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("", {}),
        (",N=4,groups=2", {"N": 4, "groups": 2}),
        (",stride=2", {"stride": 2}),
        (",stride_h=2,stride_w=1", {"stride": (2, 1)}),
        (",stride_w=3", {"stride": (1, 3)}),
        (",dilation=2", {"dilation": 2}),
        (",dilation_w=2", {"dilation": (1, 2)}),
    ],
)
def test_convolutions(extra, arguments):
    assert conv_from_text(CONV + extra, name="c") == conv2d(64, 64, 56, 56, 3, 3, **arguments, name="c")


def test_other_layers():
    bits = {"partial": 32}
    assert gemm_from_text("M=2,N=3,K=4", bits=bits) == gemm(2, 3, 4, bits=bits)
    assert gemm_from_text("M=2,N=3,K=4,B=5", name="qk") == batched_gemm(5, 2, 3, 4, name="qk")
    assert einsum_from_text("mk,kn->mn", "m=2,n=3,k=4", bits=bits) == einsum("mk,kn->mn", m=2, n=3, k=4, bits=bits)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (conv_from_text, "K=64,C=64,P=56,Q=56,R=3", "missing S\nhint: required: K, C, P, Q, R, S; optional: N"),
        (conv_from_text, CONV + ",strid=2", "unknown key 'strid'\nhint: did you mean 'stride'?"),
        (conv_from_text, CONV.lower(), "unknown key 'k'\nhint: did you mean 'K'?"),
        (conv_from_text, CONV + ",H=56", "unknown key 'H'\nhint: give the size of the output instead: P = "),
        (conv_from_text, CONV + ",stride=2,stride_w=2", "stride and stride_w are both given\nhint: write stride, or "),
        (gemm_from_text, "M=4,N=4", "missing K\nhint: required: M, N, K; optional: B"),
        (gemm_from_text, "M=4,N=4,K=4,L=4", "unknown key 'L'\nhint: known: M, N, K, B"),
    ],
)
def test_keys_that_do_not_belong(read, text, message):
    with pytest.raises(ProblemError) as error:
        read(text)
    kind = "conv" if read is conv_from_text else "gemm"
    assert str(error.value).startswith(f"{kind} {text!r}: {message}")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("pad=-1", "pad is -1, expected 0 or more"),
        ("pad_h=29", "pad of I: 29 and 29 zeros around a rank of 58, expected 0 or more, and a word between them"),
        ("pad=1,pad_w=1", "pad and pad_w are both given"),
    ],
)
def test_pads_that_make_no_sense(keys, message):
    with pytest.raises(ProblemError, match=message):
        conv_from_text(f"{CONV},{keys}")


def test_pads_of_a_convolution():
    assert conv_from_text(f"{CONV},pad=1").pads == (("I", ((0, 0), (0, 0), (1, 1), (1, 1))),)
    assert conv_from_text(f"{CONV},pad_w=1,stride=2").pads == (("I", ((0, 0), (0, 0), (0, 0), (1, 0))),)
    assert conv_from_text(f"{CONV},pad=0").pads == ()


def test_groups_that_do_not_divide():
    with pytest.raises(ProblemError, match="K is 64 channels, which 3 groups do not divide"):
        conv_from_text(CONV + ",groups=3")


def test_einsum_indices_are_case_sensitive():
    with pytest.raises(ProblemError, match="unknown key 'M'\nhint: did you mean 'm'"):
        einsum_from_text("mk,kn->mn", "M=2,n=3,k=4")
