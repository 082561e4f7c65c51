"""Layers written in one line, as on the command line: "K=64,C=64,P=56,Q=56,R=3,S=3,stride=2"."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..ir import Problem, ProblemError
from .arguments import Bits, Pair, check_keys, pair
from .einsum import einsum
from .layers import batched_gemm, conv2d, gemm, padded

CONV_REQUIRED = ("K", "C", "P", "Q", "R", "S")
_BY_AXIS = tuple(f"{key}{axis}" for key in ("stride", "dilation", "pad") for axis in ("", "_h", "_w"))
CONV_OPTIONAL = ("N", "groups", *_BY_AXIS)
GEMM_REQUIRED = ("M", "N", "K")
GEMM_OPTIONAL = ("B",)

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_INPUT_SHAPE_HINT = "give the size of the output instead: P = (H + 2*pad - dilation*(R - 1) - 1) // stride + 1, Q alike"


def parse_sizes(text: str) -> dict[str, int]:
    """Keys and sizes of "K=64,C=64", in order; spaces around a key or a size are allowed.

    Raises ProblemError for an item without "=", a key that is empty or given twice, and a size that is not a whole
    number of 1 or more.
    """
    sizes: dict[str, int] = {}
    for number, item in enumerate(text.split(","), 1):
        where = f"item {number} of {text!r}"
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise ProblemError(
                f"found {item.strip()!r}, expected key=size", where=where, hint="write sizes as K=64,C=64"
            )
        if key in sizes:
            raise ProblemError(f"{key} is given twice, as {sizes[key]} and as {value}", where=where)
        sizes[key] = _size(key, value, where, 0 if key.startswith("pad") else 1)
    return sizes


def _size(key: str, value: str, where: str, least: int) -> int:
    if not _NUMBER.fullmatch(value):
        if value.removeprefix("+").isdecimal():
            raise ProblemError(f"{key} has {len(value)} digits, expected a number below 10^18", where=where)
        raise ProblemError(f"{key} is {value!r}, expected a whole number", where=where)
    if int(value) < least:
        raise ProblemError(f"{key} is {value}, expected {least} or more", where=where)
    return int(value)


def conv_from_text(text: str, *, name: str | None = None, bits: Bits | None = None) -> Problem:
    """A convolution from "K=64,C=64,P=56,Q=56,R=3,S=3"; N, groups, stride, dilation and pad are
    optional.

    Of `stride_h=2,stride_w=1`, one that is left out is 1; the same for dilation, and 0 for pad.
    Raises ProblemError for keys that are unknown, missing or in conflict, and as `conv2d` does.
    """
    sizes = parse_sizes(text)
    where = f"conv {text!r}"
    for key in ("H", "W"):
        if key in sizes:
            raise ProblemError(f"unknown key {key!r}", where=where, hint=_INPUT_SHAPE_HINT)
    check_keys(sizes, where, CONV_REQUIRED, CONV_OPTIONAL)
    shape = {key: sizes[key] for key in (*CONV_REQUIRED, "N", "groups") if key in sizes}
    stride, dilation = _by_axis("stride", sizes, where), _by_axis("dilation", sizes, where)
    problem = conv2d(**shape, stride=stride, dilation=dilation, name=name, bits=bits)
    return padded(problem, pair("pad", _by_axis("pad", sizes, where, 0), where, 0))


def _by_axis(key: str, sizes: Mapping[str, int], where: str, otherwise: int = 1) -> Pair:
    """`stride`, or `stride_h` and `stride_w`, but not both ways."""
    by_axis = [f"{key}_h", f"{key}_w"]
    given = [axis for axis in by_axis if axis in sizes]
    if key in sizes and given:
        raise ProblemError(
            f"{key} and {given[0]} are both given", where=where, hint=f"write {key}, or {by_axis[0]} and {by_axis[1]}"
        )
    if key in sizes:
        return sizes[key]
    return sizes.get(by_axis[0], otherwise), sizes.get(by_axis[1], otherwise)


def gemm_from_text(text: str, *, name: str | None = None, bits: Bits | None = None) -> Problem:
    """A matrix product from "M=512,N=768,K=768", or a batched one when B is given too.

    Raises ProblemError for keys that are unknown or missing.
    """
    sizes = parse_sizes(text)
    check_keys(sizes, f"gemm {text!r}", GEMM_REQUIRED, GEMM_OPTIONAL)
    if "B" in sizes:
        return batched_gemm(**sizes, name=name, bits=bits)
    return gemm(**sizes, name=name, bits=bits)


def einsum_from_text(spec: str, sizes_text: str, *, name: str | None = None, bits: Bits | None = None) -> Problem:
    """An einsum from its spec "mk,kn->mn" and its sizes "m=64,n=64,k=32"; the case of an index matters.

    Raises ProblemError as `parse_sizes` and `einsum` do.
    """
    return einsum(spec, parse_sizes(sizes_text), name=name, bits=bits)
