"""Ranks of several dimensions that come to each place once, as the heads of an attention side by side: they are as good
as a rank for each dimension, of which more is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ....arch import Architecture
from ....cost_models.layouts import has_lines
from ....ir import Operation, Rank, Tensor


def slides(rank: Rank, sizes: Mapping[str, int]) -> bool:
    """Whether several settings of the dimensions of a rank come to one place, as those of a window do, and heads of an
    attention do not."""
    reached = 1
    for coefficient, size in sorted((coefficient, sizes[dim]) for dim, coefficient in rank if sizes[dim] > 1):
        if coefficient < reached:
            return True
        reached += coefficient * (size - 1)
    return False


def with_apart_ranks(operation: Operation, arch: Architecture) -> Operation:
    """An operation whose mappings cost the same, with a rank for each dimension of those that do not slide.

    What tiles have in common, and what moves, are sets of places: other names for these change nothing, where it does
    not matter which of them lie side by side.
    """
    lies = has_lines(arch) or any(memory.layouts for memory in arch.memories)
    if arch.footprint != "exact" or lies or operation.generations:
        return operation
    padded, sizes = {tensor for tensor, _ in operation.pads}, operation.problem.sizes
    tensors = tuple(
        tensor if tensor.name in padded else replace(tensor, ranks=tuple(_apart(tensor, sizes)))
        for tensor in operation.problem.tensors
    )
    return replace(operation, problem=replace(operation.problem, tensors=tensors))


def _apart(tensor: Tensor, sizes: Mapping[str, int]) -> Iterator[Rank]:
    for rank in tensor.ranks:
        if len(rank) < 2 or slides(rank, sizes):
            yield rank
        else:
            yield from (((dim, 1),) for dim, _ in rank)
