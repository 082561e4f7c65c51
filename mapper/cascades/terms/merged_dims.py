"""Dimensions of an operation that move the same tensors, as heads and their words where a projection sums over both:
one dimension stands for them.

Whatever mapping has loops over two such dimensions in one place between nodes, the outer one may as well stand directly
outside the inner one: what both move comes as often as before, since the inner one moves it in any case, and what
neither moves stays over more. Two loops side by side are one, of so many trips together. And where tiles divide, every
division of the one dimension is one of both: for each prime factor, some of it is of the first, and the rest of the
second. Only where axes of arrays allow one of them alone, that one must have as many factors as these axes can use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ....arch import Architecture, ArrayAxis
from ....ir import Loop, Node, Operation, Problem
from ...tilings import prime_exponents
from .apart_ranks import with_apart_ranks
from .branch import Sizes

Group = tuple[str, ...]
"""Dimensions that one stands for: the first of them."""


@dataclass(frozen=True, eq=False)
class MergedDims:
    """Which dimensions of an operation may be one on a machine, where all tiles divide."""

    operation: Operation
    arch: Architecture

    @property
    def each_alone(self) -> tuple[Group, ...]:
        """Every dimension, none of which stands for another."""
        return tuple((dim,) for dim in self.operation.problem.dim_names)

    @cached_property
    def _apart(self) -> Operation:
        return with_apart_ranks(self.operation, self.arch)

    def groups(self, sizes: Sizes) -> tuple[Group, ...]:
        """The dimensions of a tile, each with those that it stands for."""
        found, own = list(self._alike), dict(sizes)
        for less in self._alike:
            more = next((one for one in self._alike if one in found and self._may_join(less, one, own)), None)
            if less in found and more is not None:
                found.remove(less)
                found[found.index(more)] = (*more, *less)
        return tuple(found)

    @cached_property
    def _alike(self) -> tuple[Group, ...]:
        """Those that move the same tensors, and that the same axes allow."""
        found: dict[object, list[str]] = {}
        for dim in self.operation.problem.dim_names:
            moves = self._moves(dim)
            found.setdefault((moves, self._axes(dim)) if moves is not None else dim, []).append(dim)
        return tuple(map(tuple, found.values()))

    def _moves(self, dim: str) -> frozenset[str] | None:
        """The tensors that a dimension moves; None where it does so in another way than a rank of its own does."""
        operation = self._apart
        if self.arch.footprint != "exact" or operation.generations or operation.pads:
            return None
        ranks = [(t.name, rank) for t in operation.problem.tensors for rank in t.ranks if dim in dict(rank)]
        is_plain = all(len(rank) == 1 and rank[0][1] == 1 for _, rank in ranks)
        return frozenset(name for name, _ in ranks) if is_plain else None

    def _axes(self, dim: str) -> tuple[bool, ...]:
        """Which axes allow a dimension."""
        return tuple(axis.allows(self.operation.problem, dim) for axis in self._every_axis)

    @cached_property
    def _every_axis(self) -> tuple[ArrayAxis, ...]:
        return tuple(axis for fanout in self.arch.fanouts for axis in fanout.axes)

    def _may_join(self, less: Group, more: Group, sizes: Mapping[str, int]) -> bool:
        """Whether dimensions that fewer axes allow may be one with others of a tile: these have all the factors that
        the other axes can use."""
        moves, axes, others = self._moves(less[0]), self._axes(less[0]), self._axes(more[0])
        if less == more or moves is None or moves != self._moves(more[0]):
            return False
        if axes == others or any(own and not other for own, other in zip(axes, others, strict=True)):
            return False
        own, left = (math.prod(sizes[dim] for dim in group) for group in (less, more))
        alone = [a.size for a, one, other in zip(self._every_axis, axes, others, strict=True) if other and not one]
        factors = prime_exponents(left)
        return all(
            sum(_most_times(prime, size) for size in alone) <= factors.get(prime, 0) for prime in prime_exponents(own)
        )

    def merged(self, groups: Sequence[Group]) -> Operation:
        """The operation with one dimension for each group, and ranks apart."""
        stands = {dim for group in groups for dim in group[1:]}
        sizes, problem = self.operation.problem.sizes, self._apart.problem
        dims = tuple((group[0], math.prod(sizes[dim] for dim in group)) for group in groups)
        tensors = tuple(
            replace(tensor, ranks=tuple(rank for rank in tensor.ranks if not stands & dict(rank).keys()))
            for tensor in problem.tensors
        )
        return replace(self._apart, problem=Problem(problem.name, dims, tensors))


def merged_sizes(groups: Sequence[Group], sizes: Sizes) -> Sizes:
    """The sizes of a tile by the dimensions that stand for groups."""
    own = dict(sizes)
    return tuple((group[0], math.prod(own[dim] for dim in group)) for group in groups)


def parted(
    items: Sequence[Loop | Node], groups: Sequence[Group], sizes: Sizes, operation: Operation, arch: Architecture
) -> tuple[Loop | Node, ...]:
    """Loops of a tile, each over what is left of the dimensions that the axis it is on allows: first those that fewer
    axes allow, which come last in a group."""
    by_first, left = {group[0]: group for group in groups}, dict(sizes)

    def parts(loop: Loop) -> Iterator[Loop]:
        trips = loop.trips
        for dim in reversed(by_first[loop.dim]):
            if _is_allowed(loop, dim, operation, arch):
                own = math.gcd(trips, left[dim])
                trips, left[dim] = trips // own, left[dim] // own
                if own > 1:
                    yield replace(loop, dim=dim, trips=own)
        assert trips == 1, f"{loop} is no part of {sizes}"

    found: list[Loop | Node] = []
    for item in items:
        found += [item] if isinstance(item, Node) or len(by_first[item.dim]) == 1 else parts(item)
    return tuple(found)


def _is_allowed(loop: Loop, dim: str, operation: Operation, arch: Architecture) -> bool:
    if loop.axis is None:
        return True
    fanout = next(one for one in arch.fanouts if one.name == loop.axis.fanout)
    return fanout.axes[loop.axis.index].allows(operation.problem, dim)


def _most_times(prime: int, size: int) -> int:
    """How many factors of a prime make no more than a size together."""
    times, product = 0, prime
    while product <= size:
        times, product = times + 1, product * prime
    return times
