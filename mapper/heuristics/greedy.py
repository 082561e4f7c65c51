"""Mappings that are written down without a search: arrays, and then memories, filled from the inside out."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Table
from dataclasses import replace
from types import MappingProxyType

from ...arch import Architecture
from ...ir import Loop, LoopNest, Mapping, Node, Problem, Tensor, ceil_div
from ..tilings import prime_exponents
from .sample import Flags, Genome, GenomeSpace


def greedy_mappings(
    problem: Problem,
    arch: Architecture,
    homes: Table[str, str] = MappingProxyType({}),
    cut: Table[str, int] = MappingProxyType({}),
) -> Iterator[Mapping]:
    """A few mappings of the even space with perfect tiles: with all tensors in all memories that may keep them, and
    with as few as must be; with loops in orders that let one tensor after the other stay where it is.

    homes  by tensor, the memory that it comes from, where that is not the outermost one
    cut    by dimension, the elements of a visit, where loops over visits stand outermost
    """
    visit = replace(problem, dims=tuple((dim, min(size, cut.get(dim, size))) for dim, size in problem.dims))
    tiles = visit.sizes
    visits = tuple(Loop(dim, ceil_div(size, tiles[dim])) for dim, size in problem.dims if tiles[dim] < size)
    space, outermost = GenomeSpace(visit, arch, "perfect"), arch.memories[0]
    depth = {memory.name: place for place, memory in enumerate(arch.memories)}
    nodes = tuple(Node(homes.get(tensor.name, outermost.name), tensor.name) for tensor in problem.tensors)
    for kept in (("must", "may"), ("must",)):
        keeps: Flags = tuple(
            tuple(
                place == 0 or (memory.keeps[tensor.role] in kept and place > depth[node.memory])
                for tensor, node in zip(problem.tensors, nodes, strict=True)
            )
            for place, memory in enumerate(arch.memories)
        )
        trips = _filled(space, keeps)
        for tensor in problem.tensors if trips else ():
            items = space.mapping(_genome(space, keeps, trips, tensor)).nest.items
            yield Mapping(problem, LoopNest((*nodes, *visits, *items[len(nodes) :])))


def _genome(space: GenomeSpace, keeps: Flags, trips: list[list[int]], stays: Tensor) -> Genome:
    """With loops inside that do not move one tensor."""
    order = sorted(range(len(trips)), key=lambda d: space.problem.dim_names[d] not in stays.dims)
    orders = tuple(tuple(d for d in order if trips[d][slot] > 1) for slot in space.time_slots)
    return Genome(keeps, tuple(map(tuple, trips)), orders)


def _filled(space: GenomeSpace, keeps: Flags) -> list[list[int]]:
    """Trips by dimension and slot: from the inside out, those of arrays first, as many as fit, by one prime after the
    other of the dimension whose tile is smallest; the outermost memory has what is left. None where nothing fits."""
    trips = [[size, *(1 for _ in space.slots[1:])] for size in space.sizes]
    if not space.fits(_unordered(keeps, trips)):
        return []
    inner = range(len(space.slots) - 1, 0, -1)
    used = [i for i in inner if (memory := space.slots[i].memory) is None or any(keeps[memory])]
    for slot in sorted(used, key=lambda i: space.slots[i].axis is None):
        growing = {d for d, allowed in enumerate(space.allowed) if slot in allowed}
        while growing:
            d = min(growing, key=lambda d: space.sizes[d] // trips[d][0])
            prime = next(iter(prime_exponents(trips[d][0])), None)
            if prime is None:
                growing.discard(d)
                continue
            before = trips[d][0], trips[d][slot]
            trips[d][0], trips[d][slot] = before[0] // prime, before[1] * prime
            if not space.fits(_unordered(keeps, trips)):
                trips[d][0], trips[d][slot] = before
                growing.discard(d)
    return trips


def _unordered(keeps: Flags, trips: list[list[int]]) -> Genome:
    return Genome(keeps, tuple(map(tuple, trips)), ())
