"""Problems as machines with `padding: free` count them: zeros of padding are no words of a tensor."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import lru_cache

from ..arch import Architecture
from ..ir import Cascade, Mapping, Pad, Problem, ProblemError, Rank, Stored, Tensor, TilewrightError, Work, ceil_div
from .sets import reached_sums


def counted(problem: Problem, arch: Architecture) -> Problem:
    """Return a problem with the words that a machine counts: all, or those that are stored.

    Raises TilewrightError where these are not known: of operands with zeros of their own; ProblemError where none is
    read.
    """
    if arch.padding == "read" or not problem.pads:
        return problem
    if problem.has_zeros:
        message = f"{arch.name} has 'padding: free', which is not known of operands with a density"
        raise TilewrightError(message, where=problem.name, hint="set padding=read, or leave the densities out")
    return _without_zeros(problem)


def points_with_words(problem: Problem) -> int:
    """Points of a problem that take no zero of padding that is not stored; at least, of several padded tensors."""
    return max(0, problem.macs - sum(problem.macs - words_at_macs(problem, tensor) for tensor in problem.tensors))


def words_at_macs(problem: Problem, tensor: Tensor) -> int:
    """Points of a problem that take a word of a tensor: all, but for those that take a zero that is not stored."""
    points = problem.macs
    for rank, stored in tensor.stored_ranks:
        if stored is not None:
            sizes = tuple(problem.sizes[dim] for dim, _ in rank)
            points = points // math.prod(sizes) * stored_points(tuple(c for _, c in rank), sizes, stored)
    return points


@lru_cache(maxsize=4096)
def stored_points(coefficients: tuple[int, ...], sizes: tuple[int, ...], stored: Stored) -> int:
    """Points of the dimensions of a rank whose sum is stored: of the largest dimension a range, for all points of the
    others."""
    *others, (step, size) = sorted(zip(coefficients, sizes, strict=True), key=lambda one: one[1])
    starts = map(sum, itertools.product(*(range(0, c * n, c) for c, n in others)))
    ranges = ((ceil_div(stored.first - at, step), ceil_div(stored.end - at, step)) for at in starts)
    return sum(max(0, min(size, end) - max(0, first)) for first, end in ranges)


def is_padded(work: Work) -> bool:
    """Whether an operation reads zeros around an operand."""
    return any(o.pads or o.problem.pads for o in work) if isinstance(work, Cascade) else bool(work.pads)


def with_padding_read(arch: Architecture) -> Architecture:
    """A machine as trees of operations count it: zeros of padding are words. Its settings say so."""
    if arch.padding == "read":
        return arch
    return arch.model_copy(update={"padding": "read", "settings": {**arch.settings, "padding": "read"}})


def refuse_free_padding(work: Work, arch: Architecture, where: str) -> None:
    """TilewrightError where a part of the house would count zeros of padding that a machine does not store."""
    if is_padded(work) and arch.padding == "free":
        message = f"{arch.name} has 'padding: free', and {work.name} is padded: it counts zeros of padding as words"
        hint = "set padding=read: then all count them"
        raise TilewrightError(message, where=where, hint=hint)


def counted_mapping(mapping: Mapping, arch: Architecture) -> Mapping:
    """Return a mapping of what a machine counts of its problem."""
    if mapping.is_of_cascade or counted(mapping.problem, arch) is mapping.problem:
        return mapping
    return Mapping(counted(mapping.problem, arch), mapping.nest)


@lru_cache(maxsize=256)
def _without_zeros(problem: Problem) -> Problem:
    pads = dict(problem.pads)
    tensors = tuple(
        replace(tensor, stored=_stored(problem, tensor, pads[tensor.name]))
        if any(map(any, pads.get(tensor.name, ())))
        else tensor
        for tensor in problem.tensors
    )
    return replace(problem, tensors=tensors, pads=())


def _stored(problem: Problem, tensor: Tensor, pads: tuple[Pad, ...]) -> tuple[Stored | None, ...]:
    def along(rank: Rank, pad: Pad) -> Stored | None:
        reached = reached_sums(tuple(c for _, c in rank), tuple(problem.sizes[dim] for dim, _ in rank), "exact")
        first, end = pad[0], len(reached) - pad[1]
        words = int(reached[first:end].sum())
        if not words:
            raise ProblemError("it reads zeros alone", where=f"{problem.name}: pad of {tensor.name}")
        return Stored(first, end, words) if any(pad) else None

    return tuple(along(rank, pad) for rank, pad in zip(tensor.ranks, pads, strict=True))
