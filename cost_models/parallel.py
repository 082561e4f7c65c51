"""The largest number of MACs that a tiling can keep at work, as far as the arrays decide it; capacities and ports are
not considered."""

from __future__ import annotations

from functools import cache

from ..arch import Architecture
from ..ir import Problem, ceil_div


def most_at_work(problem: Problem, arch: Architecture) -> float:
    """The part of the MACs that perfect tilings have at work at most: whatever they spread divides its dimension."""
    sizes = {dim: size for dim, size in problem.dims if size > 1}
    axes = [(axis.size, [axis.allows(problem, dim) for dim in sizes]) for f in arch.fanouts for axis in f.axes]

    @cache
    def most(at: int, dim: int, room: int, left: tuple[int, ...]) -> int:
        """Instances that the axes from one on have at work, of which the first has some room for dimensions from one
        on."""
        if at == len(axes):
            return 1
        if dim == len(left):
            following = at + 1
            return most(following, 0, axes[following][0] if following < len(axes) else 0, left)
        trips = range(1, (min(room, left[dim]) if axes[at][1][dim] else 1) + 1)
        return max(
            spread * most(at, dim + 1, room // spread, (*left[:dim], left[dim] // spread, *left[dim + 1 :]))
            for spread in trips
            if left[dim] % spread == 0
        )

    found = most(0, 0, axes[0][0] if axes else 0, tuple(sizes.values()))
    return found / arch.mac_instances


def ragged_at_work(problem: Problem, arch: Architecture) -> float:
    """Return the largest part of the MACs that ragged tilings with one dimension on every axis keep at work."""
    axes = [axis for fanout in arch.fanouts for axis in fanout.axes]

    @cache
    def steps(at: int, left: tuple[int, ...]) -> int:
        if at == len(axes):
            product = 1
            for size in left:
                product *= size
            return product
        least = steps(at + 1, left)
        for dim, (name, _) in enumerate(problem.dims):
            if left[dim] > 1 and axes[at].allows(problem, name):
                spread = ceil_div(left[dim], axes[at].size)
                least = min(least, steps(at + 1, (*left[:dim], spread, *left[dim + 1 :])))
        return least

    return problem.macs / (steps(0, tuple(size for _, size in problem.dims)) * arch.mac_instances)
