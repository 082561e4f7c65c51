"""The cycles for which every resource waits for the first tiles, and for which the last tiles outlast it: `latency:
with_fill`.

The first tiles of the operands come down the hierarchy, memory by memory, and nothing further in can start before; the
last tiles of the output go up in the same way, once everything further in is done. With

    fill(m), drain(m) = sum over tensors whose tiles go from memory m to the next one inwards, or come to m from there,
                        of the cycles of one tile, at the slower of its ports

a port of memory m is idle for the fills of all memories outside m, and for their drains; the MACs for all of them:

    latency = max over resources of (fills outside + busy cycles + drains outside) + cycles of memories without overlap

That is how a pipeline of stages with one long one is timed: what stands before it fills up, then it works without a
pause, then what comes after it empties. A port that carries words into m alone is at work itself while the first tiles
come, and has done when the last ones are there, which are in use for a while:

    idle of such a port = fills outside - its own part of them + last use + drains outside
    last use            = fewest, over operands that come to m, of the cycles in which the MACs use one tile of it

`clock.py` is what it is compared with (results/clock). In a tree of several operations every visit of a branch fills
and empties on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ..arch import Architecture, Memory
from ..ir import Tensor
from .counts import Accesses, FirstTile
from .passing import sums_drained
from .ports import PortUse, access_bits, port_cycles, ports_of

COMPUTE = "compute"

Idle = Mapping[str, tuple[float, float]]
"""Cycles before the first and after the last word of a run: per memory for ports that read, and for those that write
alone; and for COMPUTE."""


def idle_cycles(
    arch: Architecture,
    tensors: Mapping[str, Tensor],
    first_tiles: Sequence[FirstTile],
    lines: Mapping[tuple[str, str, str], int] = MappingProxyType({}),
) -> Idle:
    """Cycles for which ports and MACs wait for first and last tiles.

    lines  in which these tiles lie, by the memory that has lines, the other one, and the tensor
    """
    passing = dict.fromkeys((memory.name for memory in arch.memories), 0.0)
    own = dict(passing)
    last_use: dict[str, dict[str, float]] = {name: {} for name in passing}
    memories = {memory.name: memory for memory in arch.memories}
    for first in first_tiles:
        if memories[first.outer].overlaps and memories[first.inner].overlaps:  # else their time is added anyway
            tensor = tensors[first.tensor]
            outside, inside = tile_cycles(arch, tensor, first, lines)
            passing[first.outer] += first.times * max(outside, inside)
            if not tensor.is_output:
                own[first.inner] += first.times * inside
                used = last_use[first.inner]
                used[first.tensor] = used.get(first.tensor, 0.0) + first.times * first.steps / arch.mac.per_cycle
    idle, before = {}, 0.0
    for memory in arch.memories:
        writing = before
        if not memory.keeps_sums:
            writing += min(last_use[memory.name].values(), default=0.0) - own[memory.name]
        idle[memory.name] = before, writing
        before += passing[memory.name]
    return idle | {COMPUTE: (before, before)}


def tile_cycles(
    arch: Architecture,
    tensor: Tensor,
    first: FirstTile,
    lines: Mapping[tuple[str, str, str], int] = MappingProxyType({}),
) -> tuple[float, float]:
    """Return the cycles of the outer and of the inner memory for a tile, and the tiles that move together with it, on
    their way in or out; `lines` as in `idle_cycles`."""
    memories = {memory.name: memory for memory in arch.memories}
    outer_words, inner_words = first.outer_words, first.inner_words
    if not tensor.is_output:
        outer, inner = Accesses(reads=outer_words), Accesses(writes=inner_words, fills=inner_words)
    else:
        outer = Accesses(writes=outer_words, finished_writes=outer_words * first.outer_finishes)
        drained = sums_drained(arch, inner_words)
        inner = Accesses(reads=drained, drains=drained, finished_reads=drained * first.inner_finishes)

    def cycles(name: str, other: str, accesses: Accesses) -> float:
        memory, bits = memories[name], access_bits(arch, tensor, accesses)
        read, write = bits.read, bits.write
        if memory.line_bits is not None:
            whole = lines[name, other, tensor.name] * memory.line_bits
            read, write = whole * (read > 0), whole * (write > 0)
        return port_cycles(memory, {tensor.role: (read, write)})

    return cycles(first.outer, first.inner, outer), cycles(first.inner, first.outer, inner)


def waiting_cycles(memory: Memory, uses: Iterable[PortUse], idle: tuple[float, float]) -> float:
    """Cycles until the last port of a memory has done, of those for which each is busy and idle."""
    ports = zip(ports_of(memory), uses, strict=True)
    return max((use.cycles + idle[not port.kind.reads] for port, use in ports), default=0.0)
