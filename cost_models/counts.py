"""What is counted: words read and written, per memory and tensor."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Accesses:
    """Words of one tensor at one memory.

    reads, writes                  partial-sum words of outputs included
    finished_reads, finished_writes  of those, words that carry a finished output (narrower than a partial sum)
    """

    reads: int = 0
    writes: int = 0
    finished_reads: int = 0
    finished_writes: int = 0


AccessTable = dict[tuple[str, str], Accesses]
"""Accesses by (memory name, tensor name)."""


@dataclass
class Counts:
    """Everything that a mapping moves.

    total    over all instances of each memory
    busiest  of the busiest instance of each memory
    steps    compute steps: the time steps in which at least one MAC works
    """

    total: AccessTable = field(default_factory=dict)
    busiest: AccessTable = field(default_factory=dict)
    steps: int = 0
