"""The visits of an operation whose consumers read through windows, as ordinary mappings.

Along every shared dimension visits differ in the number of positions alone, so alike ones are counted together.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...arch import Architecture
from ...ir import Loop, LoopNest, Mapping, Node, OperationPath, Problem, ceil_div
from ..boundaries import chains_of
from ..closed_form import Nest, count_boundaries, steps_of_first
from ..counts import FirstTile
from .windows import Made, own_loops

VisitSizes = tuple[tuple[int, int], ...]
"""Visits along a dimension: (positions, how many of them make so many)."""


def visits(path: OperationPath, made: dict[str, Made]) -> Iterator[tuple[int, Mapping]]:
    """The visits of an operation that has windowed dimensions, alike ones together: how many, and their mapping.

    In it, all nodes above the split from which the branch fills, or to which it drains, stand at the top.
    """
    shared = {loop.dim for loop in path.shared_loops if loop.trips > 1}
    numbers: list[list[tuple[str, int, int]]] = []
    for dim in sorted(shared):
        sizes = Counter(map(len, made[dim].new)) if dim in made else _plain_sizes(path, dim)
        numbers.append([(dim, size, count) for size, count in sizes.items() if size])
    for chosen in itertools.product(*numbers):
        sizes_here = {dim: size for dim, size, _ in chosen}
        yield math.prod(count for _, _, count in chosen), visit_mapping(path, sizes_here)


def _plain_sizes(path: OperationPath, dim: str) -> Counter[int]:
    tile = math.prod(loop.trips for loop in own_loops(path) if loop.dim == dim)
    return _numbers(path.operation.problem.sizes[dim], tile)


def _numbers(size: int, tile: int) -> Counter[int]:
    """How many visits have so many positions of a dimension, of which the others have a tile."""
    return Counter({tile: size // tile}) + Counter({size % tile: 1} if size % tile else {})


def visit_mapping(path: OperationPath, sizes: dict[str, int]) -> Mapping:
    """The mapping of one visit: its branch, on as many positions of every shared dimension."""
    return _visit_of(path.operation.problem, path.mapping.nest.items, path.starts[-1], sizes)


def _visit_of(problem: Problem, items: Sequence[Loop | Node], start: int, sizes: dict[str, int]) -> Mapping:
    """The mapping of one visit of what stands from a position on."""
    last = {item.tensor: item for item in items[:start] if isinstance(item, Node)}
    dims = tuple((dim, sizes.get(dim, size)) for dim, size in problem.dims)
    covered = dict.fromkeys(problem.dim_names, 1)
    branch: list[Loop | Node] = []
    for item in reversed(items[start:]):
        if isinstance(item, Loop):
            left = ceil_div(dict(dims)[item.dim], covered[item.dim])
            branch.append(replace(item, trips=min(item.trips, left)))
            covered[item.dim] *= min(item.trips, left)
        else:
            branch.append(item)
    nest = LoopNest((*(Node(n.memory, n.tensor) for n in last.values()), *reversed(branch)))
    return Mapping(Problem(problem.name, dims, problem.tensors), nest)


def uneven_visits(mapping: Mapping, start: int, made: dict[str, VisitSizes]) -> Iterator[tuple[int, Mapping]]:
    """How many visits of what stands from a position on are alike, and their mapping; of those that make anything. One
    that makes more than the loops there step over does so by one more loop outside them."""
    items, tile = mapping.nest.items, dict.fromkeys(made, 1)
    for item in items[start:]:
        if isinstance(item, Loop) and item.dim in made:
            tile[item.dim] *= item.trips
    passes = [Loop(dim, ceil_div(max(n for n, _ in sizes), tile[dim])) for dim, sizes in made.items()]
    longest = (*items[:start], *passes, *items[start:])
    for chosen in itertools.product(*made.values()):
        sizes = dict(zip(made, (positions for positions, _ in chosen), strict=True))
        if not all(sizes.values()):
            continue
        yield math.prod(times for _, times in chosen), _visit_of(mapping.problem, longest, start, sizes)


def first_tiles_of_visits(mapping: Mapping, arch: Architecture, start: int) -> list[FirstTile]:
    """The first tiles of every visit of what stands in a mapping from a position on, alike ones together."""
    problem, items = mapping.problem, mapping.nest.items
    inside = dict.fromkeys(problem.dim_names, 1)
    for item in items[start:]:
        if isinstance(item, Loop):
            inside[item.dim] *= item.trips
    above = sorted({item.dim for item in items[:start] if isinstance(item, Loop) and item.trips > 1})
    numbers = [_numbers(problem.sizes[dim], inside[dim]).items() for dim in above]
    found = Counter[FirstTile]()
    for chosen in itertools.product(*numbers):
        sizes = {dim: size for dim, (size, _) in zip(above, chosen, strict=True)}
        visit = _visit_of(problem, items, start, sizes)
        for first in first_tiles(visit, arch):
            steps = _steps_in_use(first, mapping, visit, arch, start)
            found[replace(first, steps=steps)] += math.prod(count for _, count in chosen)
    return [replace(first, times=times) for first, times in found.items()]


def _steps_in_use(first: FirstTile, mapping: Mapping, visit: Mapping, arch: Architecture, start: int) -> int:
    """Count the compute steps in which a first tile is in use: also where a visit leaves one trip to the loop that
    moves it in others, the loops outside that one bring it again."""
    tensor, whole = mapping.problem.tensor(first.tensor), Nest.of(mapping, arch, (0, start))
    if tensor.is_output:
        return 0
    position = mapping.nest.items.index(Node(first.inner, first.tensor), start)
    serving = whole.innermost_serving(tensor, position)
    before = len(visit.nest.items) - len(mapping.nest.items)
    return steps_of_first(Nest.of(visit, arch), serving + before if serving >= start else -1)


def first_tiles(visit: Mapping, arch: Architecture) -> list[FirstTile]:
    """The first tiles of a visit."""
    return count_boundaries(Nest.of(visit, arch), visit, tuple(chains_of(visit, arch))).first_tiles


def whole_mapping(path: OperationPath, tensor: str) -> Mapping:
    """A mapping in which the nodes of one tensor above the split have the tiles, and the loops above them, that they
    have in the tree: either the windowed loops are below them all, or do not move the tensor."""
    problem, start = path.operation.problem, path.starts[-1]
    moved = path.windows & problem.tensor(tensor).dims
    sizes = dict(problem.dims)
    above: list[Loop | Node] = []
    for item in path.mapping.nest.items[:start]:
        if isinstance(item, Loop) and item.dim in moved:
            above.append(Loop(item.dim, 1))
        else:
            above.append(item)
    for dim in path.windows - moved:
        sizes[dim] = math.prod(loop.trips for loop in path.shared_loops if loop.dim == dim)
    kept = {item.tensor for item in above if isinstance(item, Node)}
    nodes = {item.tensor: item for item in path.mapping.nest.items[start:] if isinstance(item, Node)}
    below: list[Loop | Node] = [node for name, node in nodes.items() if name not in kept]
    below += [Loop(dim, sizes[dim]) for dim in sorted(moved)]
    below += [loop for loop in own_loops(path) if loop.dim not in path.windows]
    problem = Problem(problem.name, tuple(sizes.items()), problem.tensors)
    return Mapping(problem, LoopNest((*above, *below)))


def largest_visit(path: OperationPath, made: dict[str, Made]) -> Mapping:
    """The mapping of the visit that makes most: its tiles are the largest."""
    shared = {loop.dim for loop in path.shared_loops if loop.trips > 1}
    sizes = {dim: made[dim].most if dim in made else max(_plain_sizes(path, dim)) for dim in shared}
    return visit_mapping(path, sizes)


def points_made(path: OperationPath, made: dict[str, Made]) -> int:
    """Points that an operation does in all its visits, those that are done again included."""
    return sum(count * mapping.problem.macs for count, mapping in visits(path, made))
