"""Layers by their shape: convolutions and matrix multiplications as problems.

Sizes count elements. `bits` gives widths by role, such as {"input": 8, "weight": 8, "partial": 32, "output": 8};
a width that is left out is the architecture's.
"""

from __future__ import annotations

from ..ir import Problem, ProblemError, Rank, Role
from .arguments import Bits, Pair, axes, build, pair, whole


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
    P, Q    height and width of the output; padding is part of the input here
    R, S    height and width of the filter
    N       batch
    groups  divides K and C; dimensions K and C of the problem are per group, and G is left out when there is one
            group. Depthwise is groups=C: K and C of the problem then have size K/C and 1
    stride, dilation    one number or (height, width)

    Raises ProblemError when a size is not a positive whole number, or `groups` does not divide K and C.
    """
    title = name or "conv2d"
    for key, size in {"N": N, "groups": groups, "K": K, "C": C, "P": P, "Q": Q, "R": R, "S": S}.items():
        whole(key, size, title)
    _check_groups(K, C, groups, title)
    stride_h, stride_w = pair("stride", stride, title)
    dilation_h, dilation_w = pair("dilation", dilation, title)
    sizes = {"N": N, "G": groups, "K": K // groups, "C": C // groups, "P": P, "Q": Q, "R": R, "S": S}
    group = ("G",) if groups > 1 else ()
    if not group:
        del sizes["G"]
    window: tuple[Rank, Rank] = ((("P", stride_h), ("R", dilation_h)), (("Q", stride_w), ("S", dilation_w)))
    tensors: list[tuple[str, Role, tuple[Rank, ...]]] = [
        ("I", "input", axes("N", *group, "C") + window),
        ("W", "weight", axes(*group, "K", "C", "R", "S")),
        ("O", "output", axes("N", *group, "K", "P", "Q")),
    ]
    return build(title, sizes, tensors, bits)


def _check_groups(K: int, C: int, groups: int, where: str) -> None:
    for key, channels in (("K", K), ("C", C)):
        if channels % groups:
            raise ProblemError(
                f"{key} is {channels} channels, which {groups} groups do not divide",
                where=where,
                hint="K and C are total channels, over all groups; both must be a multiple of groups",
            )


def gemm(M: int, N: int, K: int, *, name: str | None = None, bits: Bits | None = None) -> Problem:
    """A matrix product: O[m,n] += A[m,k] * W[k,n]; A has the role input, W the role weight.

    Raises ProblemError when a size is not a positive whole number.
    """
    return _matmul({"M": M, "N": N, "K": K}, (), name or "gemm", bits)


def batched_gemm(B: int, M: int, N: int, K: int, *, name: str | None = None, bits: Bits | None = None) -> Problem:
    """B independent matrix products: O[b,m,n] += A[b,m,k] * W[b,k,n]; A has the role input, W the role weight.

    Raises ProblemError when a size is not a positive whole number.
    """
    return _matmul({"B": B, "M": M, "N": N, "K": K}, ("B",), name or "batched_gemm", bits)


def _matmul(sizes: dict[str, int], batch: tuple[str, ...], name: str, bits: Bits | None) -> Problem:
    for key, size in sizes.items():
        whole(key, size, name)
    tensors: list[tuple[str, Role, tuple[Rank, ...]]] = [
        ("A", "input", axes(*batch, "M", "K")),
        ("W", "weight", axes(*batch, "K", "N")),
        ("O", "output", axes(*batch, "M", "N")),
    ]
    return build(name, sizes, tensors, bits)
