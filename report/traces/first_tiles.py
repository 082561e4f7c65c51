"""Loads, computing and drains of the first tiles of a mapping, memory by memory.

Of every memory inside the outermost one the first steps of the loops above its tiles: what comes in before a step, what
is computed meanwhile, and which sums leave after it. Words are those that the counts have for the loop that steps
(`cost_models/crossings.py`); a port takes as long for them as it does on average over the run. A memory that overlaps
loads the next tiles while it computes with those that it has; another one waits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...arch import Architecture, Memory
from ...cost_models import Cost
from ...cost_models.cost import MemoryUse
from ...cost_models.crossings import Crossing, crossings_of
from ...cost_models.ports import longest
from ...ir import Loop, Mapping
from .events import Trace

STEPS = 32
"""Of each memory, at most."""


def add_first_tiles(trace: Trace, mapping: Mapping, arch: Architecture, cost: Cost) -> None:
    """Add the first tiles of every memory to a trace, a process for each memory."""
    crossings = crossings_of(mapping, arch)
    for memory in arch.memories[1:]:
        found = [c for c in crossings if c.boundary.inner is not None and c.boundary.inner.name == memory.name]
        if found:
            _Level(memory, mapping, arch, cost, found).add_to(trace)


@dataclass(frozen=True)
class _Transfer:
    """Words of one tensor through one boundary at one step."""

    tensor: str
    words: float
    cycles: float
    is_sum: bool


class _Level:
    """The steps of one memory's tiles: those of the loops above the innermost of its nodes."""

    def __init__(self, memory: Memory, mapping: Mapping, arch: Architecture, cost: Cost, crossings: Sequence[Crossing]):
        self.memory, self.arch, self.crossings = memory, arch, crossings
        self.use = {use.name: use for use in cost.memories}
        self.outer = {c.boundary.tensor.name: c.boundary.outer.name for c in crossings}
        items = mapping.nest.items
        last = max(c.boundary.inner_position for c in crossings)
        self.loops = [(i, x) for i, x in enumerate(items[:last]) if isinstance(x, Loop) and x.axis is None]
        self.steps = math.prod(loop.trips for _, loop in self.loops)
        names = [memory.name for memory in cost.memories]
        inside = [use.cycles for use in cost.memories[names.index(memory.name) + 1 :]]
        self.macs = mapping.problem.macs / self.steps
        self.computing = max([cost.compute_cycles, *inside]) / self.steps

    def add_to(self, trace: Trace) -> None:
        """Loads before each step, its computation, and what leaves after it, each as soon as it can be."""
        process = f"tiles of {self.memory.name}"
        free: dict[str, float] = {}  # from when on a lane is
        left: dict[str, float] = {}  # when the tile before the present one was used last, and its room is free
        leaving: dict[str, _Transfer] = {}
        ended = 0.0

        def add(lane: str, what: str, transfer: _Transfer, start: float) -> float:
            begin = max(start, free.get(lane, 0.0))
            words = round(transfer.words, 1)
            trace.add(process, lane, f"{what} {transfer.tensor}", begin, transfer.cycles, words=words)
            free[lane] = begin + transfer.cycles
            return free[lane]

        for number, transfers in enumerate(self._first_steps(), 1):
            ready = ended
            for transfer in transfers:
                tensor, outer = transfer.tensor, self.outer[transfer.tensor]
                if transfer.is_sum:
                    if tensor in leaving:
                        add(f"into {outer}", "drain", leaving[tensor], ended)
                    leaving[tensor] = transfer
                else:
                    room = left.get(tensor, 0.0) if self.memory.overlaps else ended
                    ready = max(ready, add(f"out of {outer}", "load", transfer, room))
                    left[tensor] = ended
            trace.add(process, "MACs", f"step {number:,} of {self.steps:,}", ready, self.computing, macs=self.macs)
            ended = ready + self.computing

    def _first_steps(self) -> Iterator[list[_Transfer]]:
        """The transfers of each of the first steps."""
        before: tuple[int, ...] | None = None
        ranges = [range(loop.trips) for _, loop in self.loops]
        for values in itertools.islice(itertools.product(*ranges), STEPS):
            changed = None if before is None else _outermost_change(self.loops, before, values)
            before = values
            yield [t for c in self.crossings if (t := self._transfer(c, changed)) is not None]

    def _transfer(self, crossing: Crossing, changed: int | None) -> _Transfer | None:
        """What passes a boundary when a loop steps; at first, what fills it."""
        if changed is None:
            words = crossing.first
            delivered, taken = float(words.delivered), float(words.taken)
        elif changed in crossing.moved:
            words, times = crossing.moved[changed], self._times_of(changed)
            delivered, taken = words.delivered / times, words.taken / times
        else:
            return None
        boundary = crossing.boundary
        assert boundary.inner is not None
        bits = self.arch.width_bits(boundary.tensor)
        outer, inner = self.use[boundary.outer.name], self.use[boundary.inner.name]
        gives = not boundary.tensor.is_output
        cycles = max(taken * bits * _cycles_per_bit(outer, gives), delivered * bits * _cycles_per_bit(inner, not gives))
        return _Transfer(boundary.tensor.name, taken, cycles, boundary.tensor.is_output)

    def _times_of(self, changed: int) -> int:
        """The number of steps of which a loop is the outermost one that steps."""
        above = math.prod(loop.trips for i, loop in self.loops if i < changed)
        return above * (next(loop.trips for i, loop in self.loops if i == changed) - 1)


def _outermost_change(loops: Sequence[tuple[int, Loop]], before: Sequence[int], values: Sequence[int]) -> int:
    return next(i for (i, _), old, new in zip(loops, before, values, strict=True) if old != new)


def _cycles_per_bit(use: MemoryUse, reads: bool) -> float:
    """Cycles that a port takes for a bit, on average over the run."""
    bits = use.read_bits if reads else use.write_bits
    return longest(use.ports, reads) / bits if bits else 0.0
