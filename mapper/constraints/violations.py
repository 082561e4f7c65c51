"""What a mapping breaks of some constraints, in words: a check that knows nothing of the search."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from ...arch import Architecture, Fanout
from ...cost_models.closed_form import count_words
from ...ir import Axis, Loop, Node, ceil_div
from ...ir import Mapping as LoopMapping
from ...ir.tiles import digits_by_dimension
from ..kernel.tolerance import is_better
from .constraints import Constraints, Groups, Range, trips


def violations(mapping: LoopMapping, arch: Architecture, constraints: Constraints) -> tuple[str, ...]:
    """One sentence for every constraint that the mapping breaks; empty if it satisfies them all.

    The nest may be even or uneven. That it fits the machine is not looked at.
    """
    loops = loops_by_memory(mapping, arch)
    return (
        *_kept(mapping, constraints.keeps),
        *_temporal(loops, constraints.temporal),
        *_ordered(loops, constraints.orders),
        *_spatial(mapping, constraints.spatial),
        *_utilized(mapping, arch, constraints),
    )


def loops_by_memory(mapping: LoopMapping, arch: Architecture) -> dict[str, tuple[Loop, ...]]:
    """The temporal loops at every memory, outermost first: at the innermost memory that has a node above them."""
    found: dict[str, list[Loop]] = {memory.name: [] for memory in arch.memories}
    innermost = arch.memories[0].name
    for item in mapping.nest:
        if isinstance(item, Node):
            innermost = max(innermost, item.memory, key=arch.depth.__getitem__)
        elif not item.is_spatial:
            found[innermost].append(item)
    return {memory: tuple(loops) for memory, loops in found.items()}


def _kept(mapping: LoopMapping, keeps: Mapping[tuple[str, str], bool]) -> Iterator[str]:
    nodes = {(node.memory, node.tensor) for node in mapping.nest.nodes}
    for (memory, tensor), keep in keeps.items():
        if keep and (memory, tensor) not in nodes:
            yield f"{memory} does not keep {tensor}, expected it to"
        elif not keep and (memory, tensor) in nodes:
            yield f"{memory} keeps {tensor}, expected it not to"


def _temporal(loops: Mapping[str, tuple[Loop, ...]], ranges: Mapping[tuple[str, str], Range]) -> Iterator[str]:
    for (memory, dim), span in ranges.items():
        found = math.prod(loop.trips for loop in loops[memory] if loop.dim == dim)
        if not _within(found, span):
            yield f"{_counted(found)} of {dim} at {memory}, expected {trips(span)}"


def _ordered(loops: Mapping[str, tuple[Loop, ...]], orders: Mapping[str, Groups]) -> Iterator[str]:
    for memory, groups in orders.items():
        group_of = {dim: i for i, group in enumerate(groups) for dim in group}
        real = [loop.dim for loop in loops[memory] if loop.trips > 1 and loop.dim in group_of]
        for outer, inner in dict.fromkeys(itertools.combinations(real, 2)):
            if group_of[outer] > group_of[inner]:
                yield f"at {memory} a loop over {outer} stands outside one over {inner}, expected inside"


def _spatial(mapping: LoopMapping, ranges: Mapping[tuple[str, int, str], Range]) -> Iterator[str]:
    for (fanout, index, dim), span in ranges.items():
        axis = Axis(fanout, index)
        found = math.prod(loop.trips for loop in mapping.nest.loops if loop.axis == axis and loop.dim == dim)
        if not _within(found, span):
            yield f"{_counted(found)} of {dim} on {axis}, expected {trips(span)}"


def _utilized(mapping: LoopMapping, arch: Architecture, constraints: Constraints) -> Iterator[str]:
    for fanout in arch.fanouts:
        share = constraints.utilization.get(fanout.name, 0.0)
        used = _instances_in_use(mapping, fanout)
        if is_better(used, share * fanout.instances):
            yield f"{used} of {fanout.instances} instances of {fanout.name} in use, expected {share:.4g} of them"
    if constraints.min_utilization > 0:
        steps = count_words(mapping, arch).steps
        found = mapping.problem.macs / (arch.mac_instances * steps)
        if is_better(found, constraints.min_utilization):
            yield f"{found:.4g} of the MACs at work, expected {constraints.min_utilization:.4g} of them"


def _instances_in_use(mapping: LoopMapping, fanout: Fanout) -> int:
    """Instances that ever have work: ragged loops over both axes may have more trips together than there are tiles."""
    used = 1
    for dim, digits in digits_by_dimension(mapping.problem, mapping.nest).items():
        here = [d for d in digits if _stands_on(mapping.nest.items[d.position], fanout)]
        if here:
            tiles = ceil_div(mapping.problem.sizes[dim], here[-1].tile)
            used *= min(math.prod(d.trips for d in here), tiles)
    return used


def _stands_on(item: Loop | Node, fanout: Fanout) -> bool:
    return isinstance(item, Loop) and item.axis is not None and item.axis.fanout == fanout.name


def _within(found: int, span: Range) -> bool:
    least, most = span
    return found >= least and (most is None or found <= most)


def _counted(found: int) -> str:
    return f"{found} trip{'' if found == 1 else 's'}"
