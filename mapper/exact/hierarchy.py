"""The machine from the inside out, and how far a mapping that grows outwards has come.

A mapping grows from the MAC to the outermost memory. Each step either places storage nodes (a *block*: one memory, the
tensors whose tiles end there together) or passes a fanout. Memories are numbered from the inside out, innermost 0,
and so are fanouts. The memories between two fanouts form a *region*: its nodes all stand above the spatial loops of
the fanout inside it, and below those of the fanout outside it.

In the even space a memory's nodes are one block, and memories follow each other in hierarchy order. In the uneven
space every node is a block of its own, and the blocks of a region may follow each other in any order that takes the
memories of one tensor from the inside out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...arch import Architecture, Fanout, Memory
from ...ir import Problem
from ..space import Space

MAC = -1
"""The holder inside memory 0: the MAC, which holds nothing."""

Holders = tuple[tuple[int, ...], ...]
"""One placement: per tensor, the memories that keep it, inside out; the outermost memory is always the last."""


class Crossing(NamedTuple):
    """A boundary: a tensor passes between two of its holders.

    tensor  index into the problem's tensors
    inner   memory that is filled (MAC: the MAC)
    outer   memory that is read
    """

    tensor: int
    inner: int
    outer: int


class Block(NamedTuple):
    """Storage nodes that stand together: the tiles of some tensors end here, in one memory."""

    memory: int
    tensors: tuple[int, ...]


class State(NamedTuple):
    """What a growing mapping has still to do: all that its future costs depend on, besides its tile.

    passed   fanouts passed
    ahead    per tensor, the memories that are still to keep it, inside out
    waiting  crossings that no temporal loop has charged yet
    """

    passed: int
    ahead: Holders
    waiting: tuple[Crossing, ...]

    def charging(self, moved: Sequence[Crossing]) -> State:
        """The state when some of the crossings that wait have been charged."""
        return State(self.passed, self.ahead, tuple(c for c in self.waiting if c not in moved))


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A problem and a machine, with memories and fanouts from the inside out."""

    problem: Problem
    arch: Architecture
    space: Space = "even"

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        return self.arch.memories[::-1]

    @cached_property
    def fanouts(self) -> tuple[Fanout, ...]:
        return self.arch.fanouts[::-1]

    @cached_property
    def inside(self) -> tuple[int, ...]:
        """Per fanout, how many memories lie inside it."""
        counts, memories = [], 0
        for level in reversed(self.arch.levels):
            if isinstance(level, Fanout):
                counts.append(memories)
            else:
                memories += 1
        return tuple(counts)

    @property
    def outermost(self) -> int:
        return len(self.memories) - 1

    def between(self, fanout: int, crossing: Crossing) -> bool:
        """Whether a fanout lies between the two holders."""
        return crossing.inner < self.inside[fanout] <= crossing.outer

    def joins(self, fanout: int, crossing: Crossing) -> bool:
        """Whether instances of a fanout between the holders share words that are alike."""
        output = self.problem.tensors[crossing.tensor].is_output
        level = self.fanouts[fanout]
        return self.between(fanout, crossing) and (level.spatial_reduction if output else level.multicast)

    def placements(self) -> Iterator[Holders]:
        """Every choice of memories for every tensor that the architecture allows."""
        per_tensor = []
        for tensor in self.problem.tensors:
            options = [
                {"must": (True,), "may": (True, False), "never": (False,)}[memory.keeps[tensor.role]]
                for memory in self.memories
            ]
            per_tensor.append(
                [tuple(m for m, kept in enumerate(flags) if kept) for flags in itertools.product(*options)]
            )
        yield from itertools.product(*per_tensor)

    # ---- steps outwards ------------------------------------------------------------------------------------

    def start(self, holders: Holders) -> State:
        """Inside everything."""
        return State(0, holders, ())

    def next_blocks(self, state: State) -> tuple[Block, ...]:
        """The blocks that may come next; none if a fanout comes first, or if nothing is left."""
        edge = self.inside[state.passed] if state.passed < len(self.inside) else len(self.memories)
        heads = {t: ahead[0] for t, ahead in enumerate(state.ahead) if ahead and ahead[0] < edge}
        inner = {t: m for t, m in heads.items() if m != self.outermost}
        if not inner:
            return (Block(self.outermost, tuple(heads)),) if heads else ()
        if self.space == "uneven":
            return tuple(Block(m, (t,)) for t, m in inner.items())
        nearest = min(inner.values())
        return (Block(nearest, tuple(t for t, m in inner.items() if m == nearest)),)

    def at_fanout(self, state: State) -> bool:
        """Whether the next step is to pass a fanout."""
        return state.passed < len(self.inside) and not self.next_blocks(state)

    def is_last(self, block: Block) -> bool:
        """Whether a block ends the mapping: the outermost memory's nodes stand above all loops."""
        return block.memory == self.outermost

    def place(self, state: State, block: Block, still: tuple[Crossing, ...]) -> State:
        """The state above a block, where the crossings `still` go on waiting."""
        ahead = tuple(a[1:] if t in block.tensors else a for t, a in enumerate(state.ahead))
        new = [Crossing(t, block.memory, ahead[t][0]) for t in block.tensors if ahead[t]]
        return State(state.passed, ahead, tuple(sorted((*still, *new))))

    def passing(self, state: State) -> State:
        """The state above the next fanout."""
        return State(state.passed + 1, state.ahead, state.waiting)

    def tenants(self, state: State, block: Block) -> tuple[int, ...]:
        """Tensors whose tiles in the block's memory hold at least the block's tile: its own, and those to come."""
        later = (t for t, ahead in enumerate(state.ahead) if block.memory in ahead)
        return tuple(sorted({*block.tensors, *later}))


@dataclass(frozen=True)
class Path:
    """The steps that a growing mapping has taken.

    blocks  from the inside out
    gaps    per fanout passed, how many blocks lie inside it
    """

    hierarchy: Hierarchy
    holders: Holders
    blocks: tuple[Block, ...] = ()
    gaps: tuple[int, ...] = ()

    def placing(self, block: Block) -> Path:
        return Path(self.hierarchy, self.holders, (*self.blocks, block), self.gaps)

    def passing(self) -> Path:
        return Path(self.hierarchy, self.holders, self.blocks, (*self.gaps, len(self.blocks)))

    @property
    def gap(self) -> int:
        """The gap that is open: `gap k` is what lies between block k-1 and block k."""
        return len(self.blocks)

    def memory_at(self, gap: int) -> int:
        """The memory that a gap's temporal loops belong to: the innermost one that has a node above them."""
        below = {(b.memory, t) for b in self.blocks[:gap] for t in b.tensors}
        return min(m for t, held in enumerate(self.holders) for m in held if (m, t) not in below)

    def block_of(self, memory: int, tensor: int) -> int:
        """The block of a storage node; MAC for the MAC."""
        if memory == MAC:
            return MAC
        return next(k for k, b in enumerate(self.blocks) if b.memory == memory and tensor in b.tensors)
