"""Mappings that need no search: what there is when means run out before anything is found."""

from __future__ import annotations

from collections.abc import Iterator

from ..arch import Architecture
from ..ir import Loop, LoopNest, Mapping, Node, Problem


def unsearched_mappings(problem: Problem, arch: Architecture) -> Iterator[Mapping]:
    """A few good ones, and the simplest one last."""
    from .heuristics.greedy import greedy_mappings  # here, since few searches need it

    yield from greedy_mappings(problem, arch)
    yield simplest_mapping(problem, arch)


def simplest_mapping(problem: Problem, arch: Architecture) -> Mapping:
    """All loops in time stand below the outermost memory's nodes; inside them, memories that must keep a tensor keep
    one element of it. Of all mappings it takes the least room, so that where it does not fit, nothing does."""
    outermost, *inner = arch.memories
    items: list[Loop | Node] = [Node(outermost.name, tensor.name) for tensor in problem.tensors]
    items += [Loop(dim, size) for dim, size in problem.dims if size > 1]
    items += [
        Node(memory.name, tensor.name)
        for memory in inner
        for tensor in problem.tensors
        if memory.keeps[tensor.role] == "must"
    ]
    return Mapping(problem, LoopNest(tuple(items)))
