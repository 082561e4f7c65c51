"""Skeletons: which memory keeps which tensor. A skeleton fixes the storage nodes; tiles and loops are still free.

Blocks are memories that keep something, numbered from the inside out; `gap k` is what lies directly below block k:
its temporal loops, and under them the loops of the fanouts between block k-1 (the MAC for k = 0) and block k.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..arch import Architecture, Fanout, Memory
from ..ir import Problem

MAC = -1
"""The block below block 0: the MAC, which holds nothing."""


@dataclass(frozen=True)
class Crossing:
    """A boundary of the skeleton: a tensor passes between two of its holders.

    tensor  index into the problem's tensors
    inner   block that is filled (MAC: the MAC)
    outer   block that is read
    """

    tensor: int
    inner: int
    outer: int


@dataclass(frozen=True)
class Skeleton:
    """One placement: `kept[k]` are the tensors (indices) of block k's memory, innermost block first."""

    problem: Problem
    arch: Architecture
    memories: tuple[Memory, ...]
    kept: tuple[tuple[int, ...], ...]

    @property
    def blocks(self) -> int:
        return len(self.memories)

    @cached_property
    def gap_fanouts(self) -> tuple[tuple[Fanout, ...], ...]:
        """Fanouts of each gap, outermost first."""
        depth = self.arch.depth
        edges = [depth[m.name] for m in self.memories]
        below = [len(self.arch.levels), *edges[:-1]]
        return tuple(
            tuple(level for level in self.arch.levels[edge + 1 : end] if isinstance(level, Fanout))
            for edge, end in zip(edges, below, strict=True)
        )

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """All boundaries, each tensor's from the MAC outwards."""
        found = []
        for t in range(len(self.problem.tensors)):
            holders = [MAC, *(k for k in range(self.blocks) if t in self.kept[k])]
            found += [Crossing(t, inner, outer) for inner, outer in itertools.pairwise(holders)]
        return tuple(found)

    def describe(self) -> str:
        """Which memory keeps what, innermost first."""
        names = [t.name for t in self.problem.tensors]
        holders = zip(self.memories, self.kept, strict=True)
        return " ".join(f"{memory.name}:{''.join(names[t] for t in kept)}" for memory, kept in holders)


def skeletons(problem: Problem, arch: Architecture) -> Iterator[Skeleton]:
    """Every placement that the architecture allows. A memory that keeps nothing has no tile boundary."""
    choices = []
    for memory in reversed(arch.memories):
        options = [
            {"must": (True,), "may": (True, False), "never": (False,)}[memory.keeps[t.role]] for t in problem.tensors
        ]
        choices.append([tuple(i for i, kept in enumerate(flags) if kept) for flags in itertools.product(*options)])
    for kept in itertools.product(*choices):
        used = [(m, k) for m, k in zip(reversed(arch.memories), kept, strict=True) if k]
        yield Skeleton(problem, arch, tuple(m for m, _ in used), tuple(k for _, k in used))
