"""A nest as exact integer sets (islpy): which points it visits, what its instances hold, what a new tile brings.

Nothing here is a formula, and nothing is shared with the closed forms but the loops: the index of a dimension is the
sum of `value * tile` over its loops, a tensor is an affine map of the indices, and all else is left to isl's sets.
Ranks may be any affine sums; a dimension may appear in several of them.

    Schedule.visits     { [loops] -> [point] }
    Schedule.tiles      { [loops above a node] -> [element] }
    fresh               what of this an instance does not hold already
    count               elements of a set

Sets grow with the nest, not with the problem; only `count` looks at elements one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..arch import Architecture
from ..ir import Digit, Loop, LoopNest, Problem, Rank, digits_by_dimension, need_package
from .boundaries import Boundary

if TYPE_CHECKING:
    import islpy as isl


def need_islpy() -> None:
    """TilewrightError, with the extra to install, when islpy is missing."""
    need_package("islpy", "sets", "integer sets")


@dataclass(frozen=True)
class Schedule:
    """The loops of a nest as digits of the indices: time and instances on one side, points on the other.

    digits  per dimension, in any order; tiles need not nest, so that a wrong schedule can be written down too
    """

    problem: Problem
    digits: Mapping[str, Sequence[Digit]]

    @classmethod
    def of(cls, problem: Problem, nest: LoopNest) -> Schedule:
        """The schedule of a nest, whether or not it covers the problem."""
        need_islpy()
        return cls(problem, digits_by_dimension(problem, nest))

    @cached_property
    def loops(self) -> tuple[tuple[str, Digit], ...]:
        """(dimension, digit) of every loop, outermost first."""
        found = ((dim, digit) for dim, digits in self.digits.items() for digit in digits)
        return tuple(sorted(found, key=lambda loop: loop[1].position))

    @cached_property
    def points(self) -> isl.Set:
        """{ [point] }: the iteration space of the problem."""
        import islpy as isl

        return isl.Set(f"{{ [{self._indices}] : {_all(self._bounds())} }}")

    @cached_property
    def visits(self) -> isl.Map:
        """{ [values of all loops, outermost first] -> [point] }; a loop setting beyond a ragged edge visits nothing."""
        return self._relation([digit.position for _, digit in self.loops])

    def tiles(self, ranks: Iterable[Rank], position: int, time: Sequence[int], space: Sequence[int]) -> isl.Map:
        """{ [time, space] -> [element] }: what each instance of a node at `position` holds.

        time, space  positions of the temporal and spatial loops above the node that the tiles are told apart by; other
                     temporal loops above it are at 0
        """
        return self._relation([*time, *space], position).apply_range(self.access(ranks))

    def access(self, ranks: Iterable[Rank]) -> isl.Map:
        """{ [point] -> [element] } of a tensor."""
        import islpy as isl

        names = {dim: f"d{i}" for i, dim in enumerate(self.problem.dim_names)}
        sums = (" + ".join(f"{c}*{names[dim]}" for dim, c in rank) or "0" for rank in ranks)
        return isl.Map(f"{{ [{self._indices}] -> [{', '.join(sums)}] }}")

    def _relation(self, shown: Sequence[int], position: int | None = None) -> isl.Map:
        """{ [shown loops] -> [point] }: loops at or below `position` take all values, the others above it are at 0."""
        import islpy as isl

        free = [d for _, d in self.loops if d.position in shown or (position is not None and d.position >= position)]
        hidden = [f"l{d.position}" for d in free if d.position not in shown]
        conditions = [f"0 <= l{d.position} < {d.trips}" for d in free]
        for i, dim in enumerate(self.problem.dim_names):
            terms = [f"{d.tile}*l{d.position}" for d in self.digits.get(dim, ()) if d in free]
            conditions.append(f"d{i} = {' + '.join(terms) or 0}")
        exists = f"exists {', '.join(hidden)} : " if hidden else ""
        domain = ", ".join(f"l{p}" for p in shown)
        return isl.Map(f"{{ [{domain}] -> [{self._indices}] : {exists}{_all([*conditions, *self._bounds()])} }}")

    @property
    def _indices(self) -> str:
        return ", ".join(f"d{i}" for i in range(len(self.problem.dims)))

    def _bounds(self) -> list[str]:
        return [f"0 <= d{i} < {size}" for i, (_, size) in enumerate(self.problem.dims)]


def loops_above(nest: LoopNest, position: int) -> tuple[list[int], list[int]]:
    """Positions of the temporal and of the spatial loops above a position."""
    above = [(i, item) for i, item in enumerate(nest.items[:position]) if isinstance(item, Loop)]
    return [i for i, loop in above if not loop.is_spatial], [i for i, loop in above if loop.is_spatial]


def serving_loops(nest: LoopNest, arch: Architecture, boundary: Boundary) -> list[int]:
    """Positions of the temporal loops at whose steps the inner end of a boundary is served: the innermost that moves
    its tensor, and those outside it; the MAC is served by all."""
    time, _ = loops_above(nest, boundary.inner_position)
    if boundary.inner is None:
        return time
    moving = [i for i in time if loop_at(nest, i).trips > 1 and arch.loop_moves(loop_at(nest, i).dim, boundary.tensor)]
    return [i for i in time if moving and i <= moving[-1]]


def loop_at(nest: LoopNest, position: int) -> Loop:
    """The loop at a position that has one."""
    loop = nest.items[position]
    assert isinstance(loop, Loop)
    return loop


def before(tiles: isl.Map, time: int) -> isl.Map:
    """{ [time, space] -> [time', space] }: when the same instance was given a tile before; the first `time` loops are
    temporal."""
    import islpy as isl

    given = tiles.domain()
    loops = given.dim(isl.dim_type.set)
    context = given.get_ctx()
    earlier = isl.Map.lex_gt(isl.Space.set_alloc(context, 0, time))
    same = isl.Map.identity(isl.Space.alloc(context, 0, loops - time, loops - time))
    order: isl.Map = earlier.flat_product(same)
    return order.intersect_domain(given).intersect_range(given).lexmax()


def lifted(tiles: isl.Map, kept: Sequence[int], loops: int) -> isl.Map:
    """Return the same tiles over more loops; `kept` marks the loops that distinguish the tiles, in order."""
    import islpy as isl

    names = [f"l{i}" for i in range(loops)]
    chosen = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(names[i] for i in kept)}] }}")
    return chosen.apply_range(tiles)


def fresh(tiles: isl.Map, time: int) -> isl.Map:
    """{ [time, space] -> [element] }: what of each tile the same instance's tile before did not have."""
    return tiles.subtract(before(tiles, time).apply_range(tiles))


def count(elements: isl.Set) -> int:
    """Count the elements: axis by axis where the set is a product of its axes, else element by element."""
    import islpy as isl

    axes = [_axis(elements, i) for i in range(elements.dim(isl.dim_type.set))]
    if len(axes) > 1:
        product = axes[0]
        for axis in axes[1:]:
            product = product.flat_product(axis)
        if product.is_equal(elements):
            return math.prod(count(axis) for axis in axes)
    return int(elements.count_val().to_python())


def _axis(elements: isl.Set, axis: int) -> isl.Set:
    """The elements' coordinates along one axis."""
    import islpy as isl

    after = elements.dim(isl.dim_type.set) - axis - 1
    return elements.project_out(isl.dim_type.set, axis + 1, after).project_out(isl.dim_type.set, 0, axis)


def _all(conditions: Iterable[str]) -> str:
    return " and ".join(conditions) or "true"
