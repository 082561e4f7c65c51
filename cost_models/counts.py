"""Counts of a mapping: words read and written, by memory and tensor."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Accesses:
    """The words of one tensor that pass the ports of one memory.

    reads, writes                  partial-sum words of outputs included
    finished_reads, finished_writes  of those, words that carry a finished output (narrower than a partial sum)
    drains                         of the reads, those of partial sums on their way outwards; the others go inwards
    fills                          of the writes, those of words that come from outside; the others come from inside
    """

    reads: int = 0
    writes: int = 0
    finished_reads: int = 0
    finished_writes: int = 0
    drains: int = 0
    fills: int = 0


@dataclass(frozen=True)
class FirstTile:
    """The first tile of one tensor at a memory on its way in (operands), or its last tile on the way out (partial
    sums).

    tensor  its name
    outer, inner  the memories between which they pass
    outer_words   that an outer instance reads, or that arrive at it
    inner_words   of the tile of an inner instance
    outer_finishes, inner_finishes  whether the memory may know a word of the output as finished
    steps  compute steps in which the first tile of an operand is in use
    times  visits of a branch of a tree that start and end with them
    """

    tensor: str
    outer: str
    inner: str
    outer_words: int
    inner_words: int
    outer_finishes: bool = False
    inner_finishes: bool = False
    steps: int = 0
    times: int = 1


AccessTable = dict[tuple[str, str], Accesses]
"""Accesses by (memory name, tensor name)."""


@dataclass
class Counts:
    """All words that a mapping moves, and its compute steps.

    total    over all instances of each memory
    busiest  of the busiest instance of each memory
    in_use   instances of each memory that ever have a word of the tensor
    hops     words times hops, by (fanout, tensor), of fanouts whose hops cost energy
    first_tiles  of every boundary between memories, where the latency is to hold the time that they take
    refills  by (outer, inner) memory, tiles that come to the inner one after the first of a visit, where the array
             between them stands empty meanwhile (`filling.py`)
    visits   of what is counted: 1, or those of a branch of a tree
    steps    compute steps: the time steps in which at least one MAC works
    """

    total: AccessTable = field(default_factory=dict)
    busiest: AccessTable = field(default_factory=dict)
    in_use: dict[tuple[str, str], int] = field(default_factory=dict)
    hops: dict[tuple[str, str], float] = field(default_factory=dict)
    first_tiles: list[FirstTile] = field(default_factory=list)
    refills: dict[tuple[str, str], int] = field(default_factory=dict)
    visits: int = 1

    def add_refills(self, outer: str, inner: str, times: int) -> None:
        """Count tiles that come to a memory after the first."""
        self.refills[outer, inner] = self.refills.get((outer, inner), 0) + times

    def add_hops(self, fanout: str, tensor: str, hops: float) -> None:
        """Count hops of some words."""
        self.hops[fanout, tensor] = self.hops.get((fanout, tensor), 0.0) + hops

    steps: int = 0
