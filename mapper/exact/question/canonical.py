"""The problem as the search sees it: fewer dimensions, the same mappings.

Dimensions of size 1 have no loops. With perfect tiling, dimensions that move the same tensors, each alone in its
ranks, and that may use the same array axes, cost alike: only the product of their tiles counts, and every divisor of
the product is a product of divisors. They are searched as one and split again afterwards.

Where boxes count (`footprint: box`), a dimension that strides through its rank alone leaves bands, whose number depends
on its tiles as it does for windows. It is searched as a window of one element; so is one along whose rank zeros of
padding are no words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ....arch import Architecture, ArrayAxis, Fanout, Footprint
from ....cost_models.padding import counted
from ....cost_models.sets import is_plain
from ....ir import Loop, LoopNest, Mapping, Node, Problem, Rank, Stored, Tensor
from ...tilings import Tiling


@dataclass(frozen=True)
class CanonicalForm:
    """A smaller problem and architecture, and the way back.

    members  per dimension of the smaller problem, the original dimensions that it stands for; none for the one
             element of a window that was added
    """

    original: Problem
    problem: Problem
    arch: Architecture
    members: dict[str, tuple[str, ...]]

    def restore(self, reduced: Mapping) -> Mapping:
        """The mapping of the original problem: every loop over a joined dimension split over its members."""
        left = {dim: self.original.sizes[dim] for members in self.members.values() for dim in members}
        items: list[Loop | Node] = []
        for item in reversed(reduced.nest.items):
            if isinstance(item, Node) or len(self.members[item.dim]) == 1:
                items.append(item if isinstance(item, Node) else Loop(self.members[item.dim][0], item.trips, item.axis))
                continue
            items += self._split(item, left)
        return Mapping(self.original, LoopNest(tuple(reversed(items))))

    def _split(self, loop: Loop, left: dict[str, int]) -> Iterator[Loop]:
        trips = loop.trips
        for dim in self.members[loop.dim]:
            part = math.gcd(trips, left[dim])
            trips //= part
            left[dim] //= part
            if part > 1:
                yield Loop(dim, part, loop.axis)


class _NamedAxis(ArrayAxis):
    """An axis that allows no dimensions but those that it names, whatever letters they have."""

    def allows(self, problem: Problem, dim: str) -> bool:
        """Whether it names a dimension."""
        return super().allows(problem, dim) and dim in (self.dims or ())


def canonical_problem(
    problem: Problem, arch: Architecture, tiling: Tiling, apart: frozenset[str] = frozenset()
) -> CanonicalForm:
    """Leave out dimensions of size 1; with perfect tiling, join dimensions that cost alike.

    apart  dimensions that are to stay on their own
    """
    kept = [dim for dim, size in problem.dims if size > 1] or [problem.dims[0][0]]
    groups = _alike(problem, arch, kept, apart) if tiling == "perfect" else [(dim,) for dim in kept]
    members = {"+".join(group): group for group in groups}
    name_of = {dim: name for name, group in members.items() for dim in group}
    tensors = tuple(_reduced_tensor(t, name_of, arch.footprint) for t in counted(problem, arch).tensors)
    members |= {dim: () for t in tensors for rank in t.ranks for dim, _ in rank if dim not in members}
    dims = tuple((name, math.prod(problem.sizes[d] for d in group)) for name, group in members.items())
    reduced = Problem(problem.name, dims, tensors)
    return CanonicalForm(problem, reduced, _reduced_arch(problem, arch, members), members)


def _alike(problem: Problem, arch: Architecture, kept: list[str], apart: frozenset[str]) -> list[tuple[str, ...]]:
    """Dimensions grouped by what tells them apart for the cost model."""
    groups: dict[object, list[str]] = {}
    for dim in kept:
        tensors = counted(problem, arch).tensors
        ranks = [each for t in tensors for each in t.stored_ranks if any(d == dim for d, _ in each[0])]
        present = [(tuple((d, c) for d, c in rank if d in kept), stored) for rank, stored in ranks]
        alone = all(len(rank) == 1 and is_plain(rank, arch.footprint) and not stored for rank, stored in present)
        moves = tuple(dim in t.dims for t in problem.tensors)
        allowed = tuple(axis.allows(problem, dim) for fanout in arch.fanouts for axis in fanout.axes)
        groups.setdefault((moves, allowed) if alone and dim not in apart else dim, []).append(dim)
    return [tuple(group) for group in groups.values()]


def _reduced_tensor(tensor: Tensor, name_of: dict[str, str], footprint: Footprint) -> Tensor:
    ranks: dict[Rank, Stored | None] = {}
    for rank, stored in tensor.stored_ranks:
        terms = [(name_of[dim], coefficient) for dim, coefficient in rank if dim in name_of]
        if len(terms) == 1 and is_plain(tuple(terms), footprint) and stored is None:
            terms = [(terms[0][0], 1)]
        elif len(terms) == 1:
            terms.append((f"{tensor.name}:{terms[0][0]}", 1))
        if terms:
            ranks[tuple(terms)] = stored
    stored_ranks = tuple(ranks.values()) if any(ranks.values()) else ()
    return Tensor(tensor.name, tuple(ranks), tensor.role, tensor.bits, tensor.partial_bits, stored=stored_ranks)


def _reduced_arch(problem: Problem, arch: Architecture, members: dict[str, tuple[str, ...]]) -> Architecture:
    """The architecture with its axes' permissions spelled in the smaller problem's dimensions."""

    def axis_of(axis: ArrayAxis) -> ArrayAxis:
        allowed = tuple(name for name, group in members.items() if all(axis.allows(problem, d) for d in group))
        return _NamedAxis(size=axis.size, dims=allowed)

    levels = tuple(
        level.model_copy(update={"axes": tuple(axis_of(a) for a in level.axes)}) if isinstance(level, Fanout) else level
        for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})
