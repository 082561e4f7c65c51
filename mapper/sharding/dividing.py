"""Operations divided among devices: which problems there are, and how many devices have each.

An outer axis deals a dimension first, an inner one its blocks; blocks are equal, the last ones shorter or empty. What a
device reads beyond its block (a halo, zeros of padding) are words that its windows read, as any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from string import ascii_uppercase

from ...arch.system import MeshAxis
from ...ir import Cascade, Tensor, ceil_div
from ...ir.sharding import Split
from ...workloads.graph import OUTSIDE, NetworkGraph, Occurrence, Source, operation_groups
from ...workloads.graph.joining import members_of

_WORK = "work"
"""What every divided operation is called, so that equal ones of two operations are one, in the result store too."""


@dataclass(frozen=True)
class DividedWork:
    """What some devices do of an operation.

    sizes    of its dimensions, by name
    devices  that have as much
    cascade  to be mapped; None: words are moved, or nothing is done
    moved    of what is no operation, words that pass the outermost memory, by tensor
    """

    sizes: Mapping[str, int]
    devices: int
    cascade: Cascade | None = None
    moved: tuple[tuple[Tensor, int], ...] = ()


def dims_of(graph: NetworkGraph, occurrence: Occurrence) -> tuple[tuple[str, int], ...]:
    """The dimensions of an occurrence and their sizes: those of its problem, between layers those of the axes that it
    reads, outside those of the axes that it makes, A, B, ... from the slowest to the fastest."""
    if occurrence.kind == OUTSIDE:
        return tuple(zip(ascii_uppercase, graph.shape(occurrence.name) or (), strict=False))
    if occurrence.problem is not None:
        return occurrence.problem.dims
    members = members_of(graph, occurrence, "parts")
    return tuple({dim: size for member in members for dim, size in member.operation.problem.dims}.items())


def blocks_of(size: int, devices: Sequence[int]) -> Counter[int]:
    """How many devices have blocks of each size of a dimension that several axes deal, the outermost first."""
    found, block = Counter({size: 1}), size
    for count in devices:
        block = ceil_div(block, count)
        inner: Counter[int] = Counter()
        for one, times in found.items():
            for place in range(count):
                inner[min(block, max(0, one - place * block))] += times
        found = inner
    return found


def divided_sizes(
    dims: Sequence[tuple[str, int]], split: Split, axes: Sequence[MeshAxis]
) -> list[tuple[Mapping[str, int], int]]:
    """The sizes of an operation's dimensions that devices have, and how many have them; the largest first. Devices that
    have nothing are left out; along an axis that deals none of the dimensions all have as much."""
    dealt = [
        blocks_of(size, [axis.size for axis, one in zip(axes, split, strict=True) if one == dim][::-1])
        for dim, size in dims
    ]
    alike = prod(axis.size for axis, one in zip(axes, split, strict=True) if one not in dict(dims))
    names = [dim for dim, _ in dims]
    found = [
        (dict(zip(names, (size for size, _ in each), strict=True)), alike * prod(count for _, count in each))
        for each in product(*(blocks.items() for blocks in dealt))
    ]
    worked = [one for one in found if all(one[0].values())]
    return sorted(worked, key=lambda one: tuple(one[0].values()), reverse=True)


def divided(graph: NetworkGraph, occurrence: Occurrence, split: Split, axes: Sequence[MeshAxis]) -> list[DividedWork]:
    """What devices do of an operation, the largest problem first; nothing for views and caches, which move no words."""
    dims = dims_of(graph, occurrence)
    found = []
    for sizes, devices in divided_sizes(dims, split, axes):
        if occurrence.kind == OUTSIDE:
            share = prod(sizes.values()), prod(size for _, size in dims)
            found.append(DividedWork(sizes, devices, moved=_moved_share(graph, occurrence, *share)))
        else:
            found.append(DividedWork(sizes, devices, cascade_of_sizes(graph, occurrence, sizes)))
    return found


def likeness(graph: NetworkGraph, occurrence: Occurrence) -> object:
    """What two operations have in common that cost the same, whatever their split is."""
    moved = graph.moved(occurrence)
    return (
        _alone(occurrence),
        dims_of(graph, occurrence),
        _widths(graph, occurrence),
        tuple(n for _, n in moved.read),
        moved.written,
    )


def cascade_of_sizes(graph: NetworkGraph, occurrence: Occurrence, sizes: Mapping[str, int]) -> Cascade:
    """An operation with other sizes of its dimensions, on its own: as a group of a network, under names that all
    divided operations have."""
    work = _alone(occurrence)
    read: tuple[Occurrence, ...] = ()
    if work.problem is not None:
        dims = tuple((dim, sizes[dim]) for dim, _ in work.problem.dims)
        work = replace(work, problem=replace(work.problem, dims=dims))
    else:
        shape = _shape_read(graph, occurrence, sizes)
        read = tuple(Occurrence(name, OUTSIDE, shape=shape) for name in dict.fromkeys(work.reads))
    alone = NetworkGraph(_WORK, (*read, work), widths=dict(_widths(graph, occurrence)))
    (group,) = (one for one in operation_groups(alone, 1) if one.names == (_WORK,))
    assert group.cascade is not None, "it is no operation outside"
    return group.cascade


def _names(occurrence: Occurrence) -> dict[str, str]:
    """What a divided operation calls what it reads and makes."""
    return {name: f"x{number or ''}" for number, name in enumerate(occurrence.reads)} | {occurrence.name: _WORK}


def _alone(occurrence: Occurrence) -> Occurrence:
    """The operation under the names of divided ones; zeros around what it reads are words of it."""
    names, problem, window = _names(occurrence), occurrence.problem, occurrence.window
    return replace(
        occurrence,
        name=_WORK,
        sources=tuple(Source(names[source.name], source.order) for source in occurrence.sources),
        follows=(),
        times=1,
        part_of="",
        moves=None,
        problem=problem and replace(problem, name=_WORK, pads=()),
        layer="",
        local="",
        entry=0,
        shape=None,
        window=window and (*window[:2], (0, 0)),
    )


def _widths(graph: NetworkGraph, occurrence: Occurrence) -> tuple[tuple[str, int], ...]:
    """Bits of the words of what it reads and makes, where the graph states them."""
    return tuple((own, graph.widths[name]) for name, own in _names(occurrence).items() if name in graph.widths)


def _shape_read(graph: NetworkGraph, occurrence: Occurrence, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of what an operation between layers reads, with what lies around it, where it has other sizes."""
    problem = members_of(graph, occurrence, "parts")[0].operation.problem
    ranks = problem.operands[0].ranks
    return tuple(1 + sum(step * (sizes[dim] - 1) for dim, step in rank) for rank in ranks)


def _moved_share(graph: NetworkGraph, occurrence: Occurrence, made: int, whole: int) -> tuple[tuple[Tensor, int], ...]:
    """Words that pass the outermost memory for a part of what is no operation."""
    read, written = graph.moved(occurrence)
    every = [(Tensor(name, (), "input", graph.widths.get(name)), words) for name, words in read]
    every.append((Tensor(occurrence.name, (), "output", graph.widths.get(occurrence.name)), written))
    return tuple((tensor, ceil_div(words * made, whole)) for tensor, words in every if words)
