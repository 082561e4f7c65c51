"""Steps from one sharding of a tensor to another along one axis: which collective it is, its real blocks, and its cost.

Words are counted, not devices walked: deals whose periods lie within one another's blocks are independent digits of a
word's number, so their counts multiply; others are counted together, cell by cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, lcm
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ...arch.system import System
from ...ir.sharding import PARTIAL, REPLICATED, SPREAD, Deal, Placement, Sharding
from ..ports import port_cycles
from .cost import Blocks, Phase, phase_of
from .schedules import Operation, dealt

Move: TypeAlias = Literal["all-gather", "reduce-scatter", "all-reduce", "exchange", "slice"]
"""A step from one sharding of a tensor to another, along one axis. An exchange is an all-to-all of unequal blocks,
halos among them; nothing moves for a slice."""

Words = npt.NDArray[np.int64]

_OPERATION: dict[Move, Operation] = {
    "all-gather": "all-gather",
    "reduce-scatter": "reduce-scatter",
    "all-reduce": "all-reduce",
    "exchange": "all-to-all",
}


@dataclass(frozen=True)
class StepCost:
    """What a step costs.

    move       what takes place
    phase      bytes on links, hops and time; None: nothing moves
    seconds    of the slowest: links, or the port of a device's outermost memory
    energy_pj  of links and memories; None if nobody states the energy of a hop
    """

    move: Move
    phase: Phase | None = None
    seconds: float = 0.0
    energy_pj: float | None = 0.0


class ReshardingSteps:
    """The steps of tensors on one system, each worked out once."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._known: dict[tuple[Any, ...], StepCost | None] = {}

    def step(self, words: int, bits: int, before: Sharding, after: Placement, axis: int) -> StepCost | None:
        """What it costs to bring a tensor of so many words along an axis from one placement to another; None: no single
        collective does it."""
        key = words, bits, before, after, axis
        if key not in self._known:
            self._known[key] = self._step(words, bits, before, after, axis)
        return self._known[key]

    def _step(self, words: int, bits: int, before: Sharding, after: Placement, axis: int) -> StepCost | None:
        mesh, own = self.system.axes, before[axis]
        move = move_of(own, after, mesh[axis].size)
        if move is None or move == "slice":
            return None if move is None else StepCost("slice")
        others = [i for i, one in enumerate(before) if i != axis and one != REPLICATED and mesh[i].size > 1]
        counted = counts(words, [(before[i], mesh[i].size) for i in others], own, after, mesh[axis].size)
        if move == "exchange" and not counted.any():
            return StepCost("slice")
        sizes, word = (counted, bits // 8) if bits % 8 == 0 else (-(-counted * bits // 8), 1)
        lines: dict[tuple[int, ...], Blocks] = {}
        for at in itertools.product(*(range(mesh[i].size) for i in others)):
            blocks = sizes[at]
            if move == "exchange":
                lines[at] = tuple(map(tuple, blocks.tolist()))
            else:
                lines[at] = dealt(int(blocks), mesh[axis].size) if move == "all-reduce" else tuple(blocks.tolist())
        phase = phase_of(self.system, _OPERATION[move], mesh[axis], [mesh[i] for i in others], lines, word)
        return self._priced(move, phase)

    def _priced(self, move: Move, phase: Phase) -> StepCost:
        """With the outermost memories: their ports, and their energy."""
        device = self.system.device
        memory = device.memories[0]
        passing = [(8.0 * read, 8.0 * written) for (read, written), _ in phase.at_memories]
        cycles = max(port_cycles(memory, {"input": (read, 0.0), "output": (0.0, written)}) for read, written in passing)
        seconds = max(phase.time, cycles / device.clock_hz)
        if phase.energy_pj is None:
            return StepCost(move, phase, seconds, None)
        energy = phase.energy_pj + device.total_leakage_pj_per_cycle * seconds * device.clock_hz * self.system.devices
        for (read, written), (_, count) in zip(passing, phase.at_memories, strict=True):
            bits = read * memory.read_energy_pj + written * memory.write_energy_pj
            energy += count * bits / memory.access_bits
        return StepCost(move, phase, seconds, energy)


def move_of(before: Placement, after: Placement, devices: int) -> Move | None:
    """What brings a tensor from one placement to another along an axis, an exchange that may move nothing; None where
    no single step does."""
    if after == before or after in (PARTIAL, SPREAD):
        return None
    if before == REPLICATED:
        return "slice"
    if before == PARTIAL:
        if after == REPLICATED:
            return "all-reduce"
        return "reduce-scatter" if isinstance(after, Deal) and not after.low and not after.high else None
    if isinstance(before, Deal) and (before.low < 0 or before.high < 0 or before.block * devices < before.period):
        return None  # words that no window reads are nowhere
    return "all-gather" if after == REPLICATED else "exchange"


def counts(
    words: int, others: Sequence[tuple[Placement, int]], before: Placement, after: Placement, devices: int
) -> Words:
    """Words that a step moves, by the place along each of the other axes; then by the device that has them (or gets
    them, of addends), of an exchange also by the one that gets them."""
    wanted: list[_Dealt] = [(one, size, None) for one, size in others if isinstance(one, Deal)]
    is_exchange = before not in (PARTIAL, REPLICATED) and after != REPLICATED
    if isinstance(before, Deal):
        wanted.append((Deal(before.period, before.block), devices, None))
    if isinstance(after, Deal):
        halo = before if isinstance(before, Deal) and (before.low or before.high) else None
        wanted.append((after, devices, halo))
    found = _counted(words, tuple(wanted))
    dealing = sum(isinstance(one, Deal) for one, _ in others)
    if before == SPREAD:
        found = _shared_out(found, devices, dealing)
    if is_exchange:
        diagonal = np.arange(devices)
        found = found.copy()
        found[..., diagonal, diagonal] = 0
    for place, (one, size) in enumerate(others):
        if one == SPREAD:
            found = _shared_out(found, size, place)
        elif one == PARTIAL:
            found = np.repeat(np.expand_dims(found, place), size, axis=place)
    return found


def most_words(words: int, sharding: Sharding, sizes: Sequence[int]) -> int:
    """Words that the fullest device has of a tensor of so many, its halo included, on a mesh of axes of these sizes."""
    every = list(zip(sharding, sizes, strict=True))
    most = int(_counted(words, tuple((one, size, None) for one, size in every if isinstance(one, Deal))).max())
    for one, size in every:
        most = -(-most // size) if one == SPREAD else most
    return most


def _shared_out(found: Words, devices: int, place: int) -> Words:
    """Every number in equal parts, the last ones less, along a new axis at a place."""
    block = -(-found // devices)
    starts = np.arange(devices).reshape([-1] + [1] * found.ndim)
    return np.moveaxis(np.clip(found - starts * block, 0, block), 0, place)


_Dealt: TypeAlias = tuple[Deal, int, Deal | None]
"""A deal, devices, and what they have already."""


@lru_cache(1 << 16)
def _counted(words: int, wanted: tuple[_Dealt, ...]) -> Words:
    """How many words lie in every combination of one block of each deal."""
    groups: list[list[int]] = []
    for i in sorted(range(len(wanted)), key=lambda i: (-_span(wanted[i]), i)):
        groups.append([i])
        while len(groups) > 1:
            before = [j for group in groups[:-1] for j in group]
            unit = gcd(*(_unit(wanted[j]) for j in before))
            if not unit % lcm(*(_span(wanted[j]) for j in groups[-1])) and not any(wanted[j][2] for j in before):
                break
            groups[-2:] = [groups[-2] + groups[-1]]
    found = np.full([1] * len(wanted), words, np.int64)
    for group in groups:
        span = lcm(*(_span(wanted[i]) for i in group))
        span = words if words % span else span
        counted = _cells(span, tuple(wanted[i] for i in group)).transpose(np.argsort(group))
        shape = [wanted[i][1] if i in group else 1 for i in range(len(wanted))]
        found = found // span * counted.reshape(shape)  # what was counted so far is whole spans
    return found


def _span(one: _Dealt) -> int:
    return max(one[0].period, one[2].period if one[2] else 0)


def _unit(one: _Dealt) -> int:
    return gcd(
        *(number for deal in (one[0], one[2]) if deal for number in (deal.period, deal.block, deal.low, deal.high))
    )


@lru_cache(1 << 14)
def _cells(span: int, wanted: tuple[_Dealt, ...]) -> Words:
    """The same of the first words up to a span, cell by cell."""
    unit = gcd(span, *map(_unit, wanted))
    at = np.arange(span // unit) * unit
    found = np.full(len(at), unit, np.float64)  # exact: tensors have fewer words than 2^53
    for number, (deal, devices, halo) in enumerate(wanted, 1):
        inside = _inside(deal, devices, at)
        if halo is not None:
            inside &= ~_inside(halo, devices, at)
        found = found @ inside.T.astype(np.float64) if number == len(wanted) else found[..., None, :] * inside
    return found.astype(np.int64)


def _inside(deal: Deal, devices: int, at: Words) -> npt.NDArray[np.bool_]:
    starts = (np.arange(devices) * deal.block)[:, None]
    within = at % deal.period
    inside: npt.NDArray[np.bool_] = (within >= starts - deal.low) & (within < starts + deal.block + deal.high)
    return inside
