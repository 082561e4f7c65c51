"""Layers by their shape: convolutions and matrix multiplications as problems.

Sizes count elements. `bits` gives widths by role, such as {"input": 8, "weight": 8, "partial": 32, "output": 8};
a width that is left out is the architecture's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..inputs.checks import known_keywords
from ..ir import Problem, ProblemError, Rank, Role
from ..ir.errors import checked
from .arguments import Bits, Pair, axes, build, pair, title_of, whole


@known_keywords
def conv2d(
    K: int,
    C: int,
    P: int,
    Q: int,
    R: int,
    S: int,
    N: int = 1,
    groups: int = 1,
    stride: Pair = 1,
    dilation: Pair = 1,
    *,
    name: str | None = None,
    bits: Bits | None = None,
) -> Problem:
    """A convolution: O[n,g,k,p,q] += I[n,g,c, stride*p + dilation*r, stride*q + dilation*s] * W[g,k,c,r,s].

    K, C    output and input channels in total, over all groups
    P, Q    height and width of the output; padding is part of the input here (`padded` says which of it)
    R, S    height and width of the filter
    N       batch
    groups  divides K and C; dimensions K and C of the problem are per group, and G is left out when there is one
            group. Depthwise is groups=C: K and C of the problem then have size K/C and 1
    stride, dilation    one number or (height, width)
    name    what messages and pages call the layer
    bits    widths of words by role, such as {"input": 8, "weight": 8, "partial": 32, "output": 8}; those that are left
            out are the architecture's

    Raises ProblemError when a size is not a positive whole number, or `groups` does not divide K and C.
    """
    title = title_of(name, "conv2d")
    strides, dilations = pair("stride", stride, title), pair("dilation", dilation, title)
    return convolution(K, C, (P, Q), (R, S), N, groups, strides, dilations, name=title, bits=bits)


# By axis from the last one: the dimension of the output and of the filter. One row is Q and S; depth comes first.
_SPATIAL = (("Z", "T"), ("P", "R"), ("Q", "S"))


def convolution(
    K: int,
    C: int,
    output: Sequence[int],
    window: Sequence[int],
    N: int = 1,
    groups: int = 1,
    stride: Sequence[int] = (),
    dilation: Sequence[int] = (),
    *,
    name: str | None = None,
    bits: Bits | None = None,
) -> Problem:
    """A convolution over one, two or three spatial axes: as `conv2d`, with sequences of one number an axis.

    The dimensions of output and filter are Q and S on one axis, P, Q and R, S on two, Z, P, Q and T, R, S on three
    (Z is the depth of the output, T that of the filter). Stride and dilation are 1 where they are left out.

    Raises ProblemError when a size is not a positive whole number, the sequences differ in length, or `groups` does
    not divide K and C.
    """
    title = name or "convolution"
    count = len(output)
    if not 1 <= count <= len(_SPATIAL):
        raise ProblemError(f"{count} spatial axes, expected 1 to {len(_SPATIAL)}", where=title)
    for what, numbers in (("window", window), ("stride", stride or output), ("dilation", dilation or output)):
        if len(numbers) != count:
            raise ProblemError(f"{what} has {len(numbers)} numbers, expected {count}", where=title)
    names = _SPATIAL[-count:]
    spatial = dict(zip([out for out, _ in names] + [tap for _, tap in names], [*output, *window], strict=True))
    for key, size in {"N": N, "K": K, "C": C, "groups": groups, **spatial}.items():
        whole(key, size, title)
    _check_groups(K, C, groups, title)
    group = ("G",) if groups > 1 else ()
    sizes = {"N": N, **dict.fromkeys(group, groups), "K": K // groups, "C": C // groups, **spatial}
    reach: tuple[Rank, ...] = tuple(
        ((out, whole("stride", step, title)), (tap, whole("dilation", spread, title)))
        for (out, tap), step, spread in zip(names, stride or [1] * count, dilation or [1] * count, strict=True)
    )
    tensors: list[tuple[str, Role, tuple[Rank, ...]]] = [
        ("I", "input", axes("N", *group, "C") + reach),
        ("W", "weight", axes(*group, "K", "C", *(tap for _, tap in names))),
        ("O", "output", axes("N", *group, "K", *(out for out, _ in names))),
    ]
    return build(title, sizes, tensors, bits)


@known_keywords
def padded(problem: Problem, pad: int | Sequence[int], image: int | Sequence[int] | None = None) -> Problem:
    """A convolution that says how much of its input is padding: no words, on machines with `padding: free`.

    problem  the convolution
    pad      zeros before the first element of every axis that the filter steps over: one number, or one an axis
    image    elements of these axes that are no zeros. By default the largest image that makes as many outputs:
             as many zeros follow it, less those that no filter reaches under the stride

    Raises ProblemError for numbers below 0, for more or fewer than there are axes, and where only zeros are read.
    """
    checked(problem, Problem, "the problem", "a convolution, as conv2d makes one", ProblemError)
    sliding = problem.operands[0]
    axes = [i for i, rank in enumerate(sliding.ranks) if len(rank) == 2]
    before, stored = (each if isinstance(each, list | tuple) else [each] * len(axes) for each in (pad, image))
    if len(before) != len(axes) or len(stored) != len(axes):
        raise ProblemError(f"expected a number for each of {len(axes)} axes", where=f"{problem.name}: pad")
    pads = [(0, 0)] * len(sliding.ranks)
    for number, i in enumerate(axes):
        (out, stride), (tap, dilation) = sliding.ranks[i]
        zeros = whole("pad", before[number], problem.name, 0)
        reached = 1 + stride * (problem.sizes[out] - 1) + dilation * (problem.sizes[tap] - 1)
        after = (
            zeros - stride + 1 if image is None else reached - zeros - whole("image", stored[number], problem.name, 0)
        )
        pads[i] = zeros, max(0, after)
    return replace(problem, pads=((sliding.name, tuple(pads)),)) if any(map(any, pads)) else problem


def _check_groups(K: int, C: int, groups: int, where: str) -> None:
    for key, channels in (("K", K), ("C", C)):
        if channels % groups:
            raise ProblemError(
                f"{key} is {channels} channels, which {groups} groups do not divide",
                where=where,
                hint="K and C are total channels, over all groups; both must be a multiple of groups",
            )


@known_keywords
def gemm(M: int, N: int, K: int, *, name: str | None = None, bits: Bits | None = None) -> Problem:
    """A matrix product: O[m,n] += A[m,k] * W[k,n]; A has the role input, W the role weight.

    M, N, K     rows and columns of the output, and the terms of each sum
    name, bits  as of `conv2d`

    Raises ProblemError when a size is not a positive whole number.
    """
    return _matmul({"M": M, "N": N, "K": K}, (), title_of(name, "gemm"), bits)


@known_keywords
def batched_gemm(B: int, M: int, N: int, K: int, *, name: str | None = None, bits: Bits | None = None) -> Problem:
    """B independent matrix products: O[b,m,n] += A[b,m,k] * W[b,k,n]; A has the role input, W the role weight.

    B, M, N, K  how many, and the sizes of each
    name, bits  as of `conv2d`

    Raises ProblemError when a size is not a positive whole number.
    """
    return _matmul({"B": B, "M": M, "N": N, "K": K}, ("B",), title_of(name, "batched_gemm"), bits)


def _matmul(sizes: dict[str, int], batch: tuple[str, ...], name: str, bits: Bits | None) -> Problem:
    for key, size in sizes.items():
        whole(key, size, name)
    tensors: list[tuple[str, Role, tuple[Rank, ...]]] = [
        ("A", "input", axes(*batch, "M", "K")),
        ("W", "weight", axes(*batch, "K", "N")),
        ("O", "output", axes(*batch, "M", "N")),
    ]
    return build(name, sizes, tensors, bits)
