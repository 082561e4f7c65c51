"""Orders of the loops of a complete mapping that may be best, where `halo: exact` makes every loop count.

Lemma. Let tiles be perfect, and a loop of n trips stand above loops of P trips in all, all of them above a node. Of the
node's visits, the part (1 - 1 / n) / P is a step of that loop, at which the loops inside it wrap; what is given then
depends on which loops stand inside it, not on their order. So what a node is given per visit is a sum over the bands of
loops above it, and each part of it depends on the order of its band alone. Energy and latency rise with what any node
is given: of the orders of a band, those will do that give some node less than each other one does.

What instances are served together is a tile of its own, where the only array that spreads windows stands directly above
the node, or inside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....arch import Halo
from ....ir import Loop, LoopNest, Mapping, Node
from ....ir.nest import is_temporal
from ..question.hierarchy import Hierarchy


@dataclass
class _GivenTile:
    """What a node is given, while the loops above it are looked at from the inside out.

    tiles    per dimension, extents of the tile of an instance, and of those that are served together
    wraps    per dimension, how far the tile comes back when all loops in time above it wrap
    stands   nothing has moved it
    """

    tensor: int
    halo: Halo
    tiles: tuple[list[int], list[int]]
    wraps: list[int]
    stands: bool = True
    visits: int = 1

    def order(self, hierarchy: Hierarchy, below: Sequence[int], loops: Sequence[tuple[int, int]]) -> tuple[float, ...]:
        """What the loops of a band, (dimension, trips) from the inside out, give of a tile per visit: of an instance's,
        and of that of those served together."""
        below, wraps, stands, visits = list(below), list(self.wraps), self.stands, self.visits
        given = [0.0] * len(self.tiles)
        for d, trips in loops:
            first = stands and d in self._moving(hierarchy)
            if first or not stands:
                for i, tile in enumerate(self.tiles):
                    given[i] += (1 - 1 / trips) / visits * self._step(hierarchy, tile, below, wraps, d, first)
                stands = False
            wraps[d] += (trips - 1) * below[d]
            below[d] *= trips
            visits *= trips
        return tuple(given)

    def _moving(self, hierarchy: Hierarchy) -> set[int]:
        tensor = hierarchy.problem.tensors[self.tensor]
        return {d for d, dim in enumerate(hierarchy.problem.dim_names) if dim in tensor.dims}

    def _step(
        self, hierarchy: Hierarchy, tile: list[int], below: list[int], wraps: list[int], d: int, first: bool
    ) -> float:
        if self.halo == "none" or (self.halo == "innermost" and not first):
            return 1.0
        halo = hierarchy.kept_halo(self.tensor)
        if any(wraps[e] or e == d for e in self._moving(hierarchy) - set(halo.dims)):
            return 1.0
        steps = [(below[e] if e == d else 0) - wraps[e] for e in halo.dims]
        return halo.given(tuple(tile[e] for e in halo.dims), steps)

    def pass_band(self, hierarchy: Hierarchy, below: Sequence[int], loops: Sequence[tuple[int, int]]) -> None:
        """Go on above a band."""
        reached = list(below)
        for d, trips in loops:
            self.wraps[d] += (trips - 1) * reached[d]
            reached[d] *= trips
            self.visits *= trips
            self.stands = self.stands and d not in self._moving(hierarchy)


def useful_orders(mapping: Mapping, hierarchy: Hierarchy, start: int) -> Iterator[Mapping]:
    """Yield the mappings that differ in the order of loops in time between the same nodes and spatial loops, from some
    position on, of which one costs least."""
    above, below = mapping.nest.items[:start], mapping.nest.items[start:]
    chosen = list[list[tuple[Loop | Node, ...]]]()
    dims = list(hierarchy.problem.dim_names)
    reached, nodes = [1] * len(dims), list[_GivenTile]()
    for temporal, group in itertools.groupby(reversed(below), key=is_temporal):
        run = tuple(group)
        if temporal:
            loops = [(dims.index(item.dim), item.trips) for item in run if isinstance(item, Loop)]
            orders = _of_band(loops, nodes, hierarchy, reached)
            chosen.append([tuple(run[i] for i in order) for order in orders])
            for node in nodes:
                node.pass_band(hierarchy, reached, loops)
            for d, trips in loops:
                reached[d] *= trips
            continue
        chosen.append([run])
        for item in run:
            if isinstance(item, Node):
                nodes.append(_node(item, hierarchy, reached))
                continue
            d = dims.index(item.dim)
            reached[d] *= item.trips
            for node in nodes:
                node.tiles[1][d] *= item.trips
    for inside_out in itertools.product(*chosen):
        items = list(itertools.chain.from_iterable(inside_out))
        yield Mapping(mapping.problem, LoopNest((*above, *reversed(items))))


def moves_windows_of_others(mapping: Mapping) -> bool:
    """Tell whether several arrays spread windows, or one above a loop that stands above a node."""
    problem, spread, passed = mapping.problem, set[str](), 0
    windows = {d for tensor in problem.tensors for rank in tensor.ranks if len(rank) > 1 for d, _ in rank}
    for item in reversed(mapping.nest.items):
        if isinstance(item, Node):
            passed = max(passed, 1)
        elif item.axis is None:
            passed = 2 if passed else 0
        elif item.dim in windows:
            spread.add(item.axis.fanout)
            if passed == 2 or len(spread) > 1:
                return True
    return False


def _of_band(
    loops: Sequence[tuple[int, int]], nodes: Sequence[_GivenTile], hierarchy: Hierarchy, reached: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return the orders of a band, from the inside out, that give some node less than each other order does."""
    best: dict[tuple[float, ...], tuple[int, ...]] = {}
    for order in itertools.permutations(range(len(loops))):
        inside_out = [loops[i] for i in order]
        given = itertools.chain.from_iterable(node.order(hierarchy, reached, inside_out) for node in nodes)
        own = tuple(round(each, 12) for each in given)
        if any(_no_more(one, own) for one in best):
            continue
        best = {one: kept for one, kept in best.items() if not _no_more(own, one)}
        best[own] = order
    return list(best.values())


def _no_more(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _node(node: Node, hierarchy: Hierarchy, reached: Sequence[int]) -> _GivenTile:
    tensors, memories = hierarchy.problem.tensors, {memory.name: memory for memory in hierarchy.memories}
    t = next(t for t, tensor in enumerate(tensors) if tensor.name == node.tensor)
    halo: Halo = "none" if tensors[t].is_output else memories[node.memory].halo
    return _GivenTile(t, halo, (list(reached), list(reached)), [0] * len(reached))
