"""The cycles for which every resource waits for the first tiles, and for which the last tiles outlast it: `latency:
with_fill`.

The first tiles of the operands come down the hierarchy, memory by memory, and nothing further in can start before; the
last tiles of the output go up in the same way, once everything further in is done. With

    fill(m), drain(m) = sum over tensors whose tiles go from memory m to the next one inwards, or come to m from there,
                        of the cycles of one tile, at the slower of its ports

a port of memory m is idle for the fills of all memories outside m, and for their drains; the MACs for all of them:

    latency = max over resources of (fills outside + busy cycles + drains outside) + cycles of memories without overlap

That is how a pipeline of stages with one long one is timed: what stands before it fills up, then it works without a
pause, then what comes after it empties. `clock.py` is what it is compared with (results/clock). In a tree of several
operations every visit of a branch fills and empties on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..arch import Architecture
from ..ir import Tensor
from .counts import Accesses, FirstTile
from .passing import sums_drained
from .ports import access_bits, port_cycles


def idle_cycles(
    arch: Architecture,
    tensors: Mapping[str, Tensor],
    first_tiles: Sequence[FirstTile],
    lines: Mapping[tuple[str, str, str], int] = MappingProxyType({}),
) -> dict[str, float]:
    """Cycles before the first and after the last word, per memory and for `compute`.

    lines  in which these tiles lie, by the memory that has lines, the other one, and the tensor
    """
    passing = dict.fromkeys((memory.name for memory in arch.memories), 0.0)
    memories = {memory.name: memory for memory in arch.memories}
    for first in first_tiles:
        if memories[first.outer].overlaps and memories[first.inner].overlaps:  # else their time is added anyway
            passing[first.outer] += first.times * tile_cycles(arch, tensors[first.tensor], first, lines)
    idle, outside = {}, 0.0
    for memory in arch.memories:
        idle[memory.name] = outside
        outside += passing[memory.name]
    return idle | {"compute": outside}


def tile_cycles(
    arch: Architecture,
    tensor: Tensor,
    first: FirstTile,
    lines: Mapping[tuple[str, str, str], int] = MappingProxyType({}),
) -> float:
    """Return the cycles of a tile, and of the tiles that move together with it, on their way in or out; `lines` as in
    `idle_cycles`."""
    memories = {memory.name: memory for memory in arch.memories}
    outer_words, inner_words = first.outer_words, first.inner_words
    if not tensor.is_output:
        outer, inner = Accesses(reads=outer_words), Accesses(writes=inner_words, fills=inner_words)
    else:
        outer = Accesses(writes=outer_words, finished_writes=outer_words * first.outer_finishes)
        drained = sums_drained(arch, inner_words)
        inner = Accesses(reads=drained, drains=drained, finished_reads=drained * first.inner_finishes)
    cycles = []
    for name, other, accesses in ((first.outer, first.inner, outer), (first.inner, first.outer, inner)):
        memory, bits = memories[name], access_bits(arch, tensor, accesses)
        read, write = bits.read, bits.write
        if memory.line_bits is not None:
            whole = lines[name, other, tensor.name] * memory.line_bits
            read, write = whole * (read > 0), whole * (write > 0)
        cycles.append(port_cycles(memory, read, write))
    return max(cycles)
