"""What uneven visits cost of as many even ones at least, by how instances side by side share the positions of a visit.

A mapping of fewer positions costs no less than their part of the best mapping of an even visit: its loops, as often as
needed, are one. That is the part `Uneven.part` of each kind of cost; and computing takes the steps that it takes.

Lemma. Let V visits of an operation make n_1, .., n_V positions along a dimension, each by the loops of one mapping of
an even visit, with one more outside where it makes more. Let instances side by side have all `step` positions of an
even visit: inside there are no loops in time over them. Then at each node, and for each memory:

- words of a tensor with the dimension are as many as positions are made, and what neighbouring tiles share besides;
- words of another one come anew with every pass over `step` positions, or stay for the whole visit. Of n positions
  there are n / step passes or more; and what stays comes once in every visit that makes anything.

So of what V even visits take, all visits take the part `Uneven.whole_part` or more: the positions that they make as a
part of V step, or the visits that make any as a part of V. And the time that all take is no less than that of each port
and of all units together, of the busiest instance: the first one has work whenever another has.

One thing is less: what stays in instances comes only to those that have work in a visit. That is the part
`Uneven.part` of what even visits bring there, and what these bring is no more than such memories hold. Where nothing
without the dimension stays inside arrays, nothing is less; and then words of an operand that comes from the nearest
memory pass anew with every pass, unless units see one part of it alone in a whole visit.

Second lemma. Let an even visit make two positions, one after the other, and neighbouring tiles share nothing. With one
position the loop over both is gone; so is it inside D, which has it outside all others. Of each cost that adds up, as
energy or cycles of one port, let s be what stays for a whole visit, and N and D what two positions take with the given
mapping and with D. Then n positions take s + q (N - s), q = n // 2, and (D - s) / 2 more if n is odd. All visits
together take V' s + Q (N - s) + O (D - s) / 2, with V' that make anything, and 2 Q + O positions: with w = `whole_part`
no less than w V times a mixture of N and D, the same for all such costs. So energy and the cycles of one port together
weigh no less than the part w of V even visits with the better of these two, or the best mapping.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....cost_models.cost import capacity_parts, tensor_tile_words
from ....cost_models.sets import tiles_overlap
from ....ir import Operation, Tensor
from ...kernel.tolerance import is_better
from ...tilings import factors
from ..terms.branch import BranchQuestion, NamedPort, Sizes, Slot
from ..terms.upper_memories import UpperMemories
from ..terms.windowed import Uneven

Beside = tuple[tuple[Slot, int, int], ...]
"""Along axes of arrays, the least and the most trips of a dimension."""


class UnevenShare(NamedTuple):
    """Mappings of an even visit, and what uneven visits take at least with them.

    beside   the mappings
    part     of what as many even visits take
    at_once  positions that instances side by side have
    slower   so many times as long as in that part of even visits does computing take
    less_pj  by which the mean visit may take less
    keeps, wider, waits_for  as of `BranchQuestion`
    """

    beside: Beside
    at_once: int
    part: float
    slower: float
    less_pj: float = 0.0
    keeps: tuple[tuple[str, str, bool], ...] = ()
    wider: tuple[tuple[str, float], ...] = ()
    waits_for: NamedPort | None = None


def uneven_shares(uneven: Uneven, operation: Operation, sizes: Sizes, memories: UpperMemories) -> Iterator[UnevenShare]:
    """All mappings, in groups. Where arrays have many axes, or what stays in instances costs outside of them as well,
    they are told apart by how many positions are side by side at most, and all by what the lemma says of these."""
    ways = _ways(uneven, memories)
    if ways is None or not _is_shared_inside_alone(memories):
        yield from _by_steps(uneven, memories)
        return
    less = (uneven.whole_part - uneven.part) * _staying_pj(operation, uneven.dim, sizes, memories)
    for beside in ways:
        at_once = math.prod(trips for _, trips, _ in beside)
        part = uneven.whole_part if at_once == uneven.step else uneven.part
        less_pj = less if at_once == uneven.step > 1 else 0.0
        yield UnevenShare(beside, at_once, part, uneven.computing(at_once) / part, less_pj)


def finer_shares(
    one: UnevenShare, uneven: Uneven, asked: BranchQuestion, operation: Operation, memories: UpperMemories
) -> list[UnevenShare]:
    """Some mappings of a visit, told apart by what stays inside arrays: nothing without the dimension, or some tensor
    in some memory. None where that says no more of any."""
    if one.at_once < uneven.step or one.part < uneven.whole_part:
        return []
    inside = [memory for memory in memories.arch.memories if memory not in memories.upper]
    still = [tensor for tensor in operation.problem.tensors if uneven.dim not in tensor.dims]
    keeps = {(memory.name, tensor.name): memory.keeps[tensor.role] for memory in inside for tensor in still}
    pairs = [pair for pair, kept in keeps.items() if kept == "may"]
    wider = _wider(one, uneven, asked, still, memories)
    if "must" in keeps.values() or not pairs or not (one.less_pj or wider):
        return []
    none = one._replace(less_pj=0.0, keeps=tuple((*pair, False) for pair in pairs), wider=wider)
    return [none, *(one._replace(keeps=((*pair, True),)) for pair in pairs)]


def single_shares(
    one: UnevenShare, uneven: Uneven, operation: Operation, memories: UpperMemories
) -> Iterator[UnevenShare]:
    """What is said besides of mappings that make one of two positions after the other: by the second lemma."""
    arch = memories.arch
    is_apart = not any(tiles_overlap(tensor, uneven.dim, arch.footprint) for tensor in operation.problem.tensors)
    is_alone = one.at_once == 1 and uneven.step == 2 and all(least == most for _, least, most in one.beside)
    if is_alone and is_apart and _is_shared_inside_alone(memories) and uneven.part < uneven.whole_part:
        for port in memories.ports:
            yield one._replace(part=uneven.whole_part, slower=1.0, waits_for=(port.memory.name, port.name))


def _wider(
    one: UnevenShare, uneven: Uneven, asked: BranchQuestion, still: Sequence[Tensor], memories: UpperMemories
) -> tuple[tuple[str, float], ...]:
    """By tensor without the dimension, that passes from the nearest memory to units directly, how many times as many of
    its words pass: anew with every pass over positions, unless units see one part of it alone in a whole visit."""
    homes, sizes = dict(asked.homes), dict(asked.sizes)
    times = uneven.computing(uneven.step) / one.part
    changing = [t for t in still if math.prod(sizes[dim] for dim in t.dims) > memories.arch.mac_instances]
    near = [t.name for t in changing if homes[t.name] == memories.nearest and not t.is_output]
    return tuple((name, times) for name in near) if is_better(1, times) else ()


def _by_steps(uneven: Uneven, memories: UpperMemories) -> Iterator[UnevenShare]:
    """Mappings by how many positions are side by side at most; those of fewer that compute no faster are left aside."""
    fewest = math.inf
    for at_once in reversed(factors(uneven.step, "perfect", True)):
        slower = uneven.computing(at_once) / uneven.part
        if slower < fewest:
            fewest = slower
            most = tuple((slot, 1, at_once) for slot in _slots(uneven, memories))
            yield UnevenShare(most if at_once < uneven.step else (), at_once, uneven.part, slower)


def _ways(uneven: Uneven, memories: UpperMemories) -> list[Beside] | None:
    """All ways in which axes may share the positions of an even visit; None where there are many."""
    slots, every = _slots(uneven, memories), factors(uneven.step, "perfect", True)
    most = 8
    if len(every) ** len(slots) > most**2:
        return None
    shared = (trips for trips in itertools.product(every, repeat=len(slots)) if uneven.step % math.prod(trips) == 0)
    found = [tuple((slot, own, own) for slot, own in zip(slots, trips, strict=True)) for trips in shared]
    return found if len(found) <= most else None


def _slots(uneven: Uneven, memories: UpperMemories) -> list[Slot]:
    arrays = memories.arch.fanouts
    return [(one.name, axis, uneven.dim) for one in arrays for axis in range(len(one.axes))]


def _is_shared_inside_alone(memories: UpperMemories) -> bool:
    """Whether what several instances keep costs as much outside them however many do; and words no more than words."""
    arch = memories.arch
    reaches_all = all(one.multicast and not one.hop_pj_per_bit for one in arch.fanouts)
    return reaches_all and arch.latency == "steady" and not any(memory.line_bits for memory in arch.memories)


def _staying_pj(operation: Operation, dim: str, sizes: Sizes, memories: UpperMemories) -> float:
    """Energy at most of words without a dimension that come once a visit to the memories inside arrays."""
    arch, found = memories.arch, 0.0
    inside = [memory for memory in arch.memories if memory not in memories.upper]
    read = max((memory.read_energy_pj / memory.access_bits for memory in inside), default=0.0)
    for memory in inside:
        room = sum(part.bits for part in capacity_parts(memory)) if capacity_parts(memory) else math.inf
        for tensor in operation.problem.tensors:
            if dim not in tensor.dims and memory.keeps[tensor.role] != "never":
                bits = min(room, tensor_tile_words(tensor, dict(sizes)) * arch.partial_width_bits(tensor))
                found += arch.instances(memory.name) * bits * (read + memory.write_energy_pj / memory.access_bits)
    return found
