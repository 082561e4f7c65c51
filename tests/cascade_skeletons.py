"""Trees of a tiny cascade without their branches' insides: orders, splits, shared loops, and where nodes may stand.

Written from docs/cascades.md for the brute force (`cascade_brute_force.py`); what is not allowed is left to the errors
of `Mapping`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace
from typing import Literal

from tilewright.ir import (
    Address,
    Cascade,
    Loop,
    Mapping,
    MappingError,
    Node,
    Problem,
    SharedLoop,
    TilewrightError,
    Tree,
)
from tilewright.mapper.tilings import Tiling

Fuse = Literal["all", "whole", "none"]
Items = tuple[Loop | Node, ...]
Sites = tuple[tuple[Address, int, str], ...]
"""Nodes of one tensor above splits: the split, how many of its loops stand above the node, and the memory."""

Own = dict[str, str]
"""The dimension of every operation below a split that one shared loop steps over."""


@dataclass(frozen=True)
class Wider:
    """What is tried beyond the space that the search states.

    repeated  several shared loops of one dimension at one split
    higher    exchange nodes with shared loops between them and their split
    empty     splits inside others without loops
    """

    repeated: bool = False
    higher: bool = False
    empty: bool = False


STATED = Wider()


@dataclass(frozen=True)
class Shared:
    """A shared loop: the dimension of every operation, in the order in which they are done, its trips, and the elements
    of each, of which the last one may have fewer."""

    dims: tuple[tuple[str, str], ...]
    trips: int
    tile: int

    def of(self, operation: str) -> str:
        return dict(self.dims)[operation]

    @property
    def loop(self) -> Loop:
        first = self.dims[0][1]
        renamed = tuple((name, dim) for name, dim in self.dims if dim != first)
        return SharedLoop(first, self.trips, renamed=renamed) if renamed else Loop(first, self.trips)


@dataclass(frozen=True)
class Skeleton:
    """Shared loops above a split, and what is below it; a leaf has one operation and no loops."""

    names: tuple[str, ...]
    loops: tuple[Shared, ...] = ()
    branches: tuple[Skeleton, ...] = ()

    def walk(self, address: Address = ()) -> Iterator[tuple[Address, Skeleton]]:
        yield address, self
        for i, branch in enumerate(self.branches):
            yield from branch.walk((*address, i))

    def at(self, address: Address) -> Skeleton:
        return self.branches[address[0]].at(address[1:]) if address else self

    def tile(self, operation: str, dim: str, size: int) -> int:
        """Elements of a visit along a dimension of an operation."""
        for loop in self.loops:
            size = loop.tile if loop.of(operation) == dim else size
        for branch in self.branches:
            size = branch.tile(operation, dim, size) if operation in branch.names else size
        return size

    def tree(
        self,
        sites: MappingABC[str, Sites],
        leaves: MappingABC[str, Items],
        depth: MappingABC[str, int],
        address: Address = (),
    ) -> Tree:
        """The tree with these nodes above splits, and these items in branches. depth: of memories, outermost 0."""
        if not self.branches:
            return Tree(leaves[self.names[0]], (), self.names[0])
        items: list[Loop | Node] = []
        for position in range(len(self.loops) + 1):
            here = [
                Node(memory, tensor)
                for tensor, chosen in sites.items()
                for where, at, memory in chosen
                if (where, at) == (address, position)
            ]
            items += sorted(here, key=lambda node: (depth[node.memory], node.tensor))
            items += [loop.loop for loop in self.loops[position : position + 1]]
        below = (branch.tree(sites, leaves, depth, (*address, i)) for i, branch in enumerate(self.branches))
        return Tree(tuple(items), tuple(below))


def orders(cascade: Cascade) -> Iterator[tuple[str, ...]]:
    """All orders in which nothing is read before it is written, and of generations the one before while it is there."""
    for names in itertools.permutations(op.name for op in cascade):
        done = set(cascade.tensors) - set(cascade.producers)
        for name in names:
            operation = cascade.operation(name)
            read = {t.name: operation.reads_before(t.name) for t in operation.problem.operands}
            if any((tensor in done) == before for tensor, before in read.items()):
                break
            done.add(cascade.operation(name).output.name)
        else:
            yield names


def shapes(names: tuple[str, ...]) -> Iterator[Skeleton]:
    """All ways to split operations, and what is below, again; without loops."""
    if len(names) == 1:
        yield Skeleton(names)
        return
    for count in range(1, len(names)):
        for cuts in itertools.combinations(range(1, len(names)), count):
            groups = [names[a:b] for a, b in itertools.pairwise((0, *cuts, len(names)))]
            for branches in itertools.product(*(list(shapes(group)) for group in groups)):
                yield Skeleton(names, (), branches)


@dataclass
class Skeletons:
    """All skeletons of one cascade on a machine whose outermost memory has this name."""

    cascade: Cascade
    outermost: str
    fuse: Fuse = "all"
    wider: Wider = STATED
    tiling: Tiling = "perfect"
    _sharable: dict[tuple[str, ...], list[Own]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Skeleton]:
        for names in orders(self.cascade):
            tiles = {name: self.cascade.operation(name).problem.sizes for name in names}
            for shape in shapes(names):
                yield from self._with_loops(shape, tiles, is_root=True)

    def _with_loops(self, shape: Skeleton, tiles: dict[str, dict[str, int]], *, is_root: bool) -> Iterator[Skeleton]:
        if not shape.branches:
            yield shape
            return
        for loops in self._loops(shape.names, tiles):
            if not (loops or is_root or self.wider.empty):
                continue
            inner = {name: dict(tiles[name]) for name in shape.names}
            for loop in loops:
                for name in shape.names:
                    inner[name][loop.of(name)] = loop.tile
            below = [list(self._with_loops(branch, inner, is_root=False)) for branch in shape.branches]
            for branches in itertools.product(*below):
                yield Skeleton(shape.names, loops, branches)

    def _loops(self, names: tuple[str, ...], tiles: dict[str, dict[str, int]]) -> Iterator[tuple[Shared, ...]]:
        yield ()
        if self.fuse != "all":
            return
        for own in self.sharable(names):
            sizes = {tiles[name][dim] for name, dim in own.items()}
            if len(sizes) > 1:
                continue
            (size,) = sizes
            for tile in range(1, size):
                if size % tile and not self._may_be_ragged(own, size):
                    continue
                if tile > 1 and self._steps(own):
                    continue  # from generation to generation
                left = {name: dict(tiles[name]) for name in names}
                for name, dim in own.items():
                    left[name][dim] = tile if self.wider.repeated else 1
                first = Shared(tuple(own.items()), -(-size // tile), tile)
                yield from ((first, *rest) for rest in self._loops(names, left))

    def _may_be_ragged(self, own: Own, size: int) -> bool:
        """Whether the last step of a loop may be shorter: no loop outside steps over the dimensions, and each of them
        is alone in the ranks that it indexes."""
        problems = [(self.cascade.operation(name).problem, dim) for name, dim in own.items()]
        ranks = [(rank, dim) for problem, dim in problems for tensor in problem.tensors for rank in tensor.ranks]
        alone = all(rank == ((dim, 1),) for rank, dim in ranks if dim in dict(rank))
        return self.tiling == "ragged" and alone and all(problem.sizes[dim] == size for problem, dim in problems)

    def sharable(self, names: tuple[str, ...]) -> list[Own]:
        """Which dimensions may be one loop above a split of these operations: those of which a tree can be made."""
        if names not in self._sharable:
            choices = itertools.product(*(self.cascade.operation(name).problem.dims for name in names))
            owns = [({n: dim for n, (dim, _) in zip(names, c, strict=True)}, {s for _, s in c}) for c in choices]
            self._sharable[names] = [
                own for own, sizes in owns if len(sizes) == 1 and sizes != {1} and self._is_sharable(own, min(sizes))
            ]
        return self._sharable[names]

    def _steps(self, own: Own) -> bool:
        """Whether a loop goes from generation to generation."""
        return any(one.dim == dim for name, dim in own.items() for one in self.cascade.operation(name).generations)

    def _is_sharable(self, own: Own, trips: int) -> bool:
        """Whether there is a tree in which these dimensions, and no others, are shared, none of them by windows."""
        if any(operation.iterates for operation in self.cascade):
            return self._is_sharable_alone(own, trips)
        order = next(o for o in orders(self.cascade) if _stand_together(o, own))
        leaves = {name: Skeleton((name,)) for name in order}
        group = Skeleton(tuple(own), (Shared(tuple(own.items()), trips, 1),), tuple(leaves[name] for name in own))
        branches = [group if name == next(iter(own)) else leaves[name] for name in order if name not in list(own)[1:]]
        whole = Skeleton(order, (), tuple(branches)) if len(branches) > 1 else group
        inside = {
            op.name: tuple(Loop(d, n) for d, n in op.problem.dims if own.get(op.name) != d) for op in self.cascade
        }
        everything: dict[str, Sites] = dict.fromkeys(self.cascade.tensors, (((), 0, self.outermost),))
        try:
            fused = Mapping(self.cascade, whole.tree(everything, inside, {self.outermost: 0}))
        except MappingError:
            return False
        return not any(fused.windows(name) for name in order)

    def _is_sharable_alone(self, own: Own, trips: int) -> bool:
        """The same, of these operations as a cascade of their own: others may have steps that it does not make."""
        written = {self.cascade.operation(name).output.name for name in own}
        steps = {one.dim for op in self.cascade for one in op.generations} - set(own.values())
        operations = []
        for name in own:
            operation = self.cascade.operation(name)
            kept = tuple(one for one in operation.generations if one.tensor in written)
            if any(one.dim is not None for one in set(operation.generations) - set(kept)):
                return False
            problem = operation.problem
            dims = tuple((dim, 1 if dim in steps else size) for dim, size in problem.dims)
            problem = Problem(problem.name, dims, problem.tensors)
            operations.append(replace(operation, problem=problem, generations=kept))
        inside = {op.name: tuple(Loop(d, n) for d, n in op.problem.dims if own[op.name] != d) for op in operations}
        group = Skeleton(tuple(own), (Shared(tuple(own.items()), trips, 1),), tuple(Skeleton((name,)) for name in own))
        try:
            alone = Cascade("alone", tuple(operations))
            everything: dict[str, Sites] = dict.fromkeys(alone.tensors, (((), 0, self.outermost),))
            fused = Mapping(alone, group.tree(everything, inside, {self.outermost: 0}))
        except TilewrightError:
            return False
        return not any(map(fused.windows, own))


def _stand_together(order: tuple[str, ...], own: Own) -> bool:
    first = order.index(next(iter(own)))
    return order[first : first + len(own)] == tuple(own)


def sites(
    cascade: Cascade, skeleton: Skeleton, tensor: str, memories: tuple[str, ...], address: Address = ()
) -> Iterator[Sites]:
    """All choices of nodes of a tensor in some memories, outermost first, above the splits of a skeleton."""
    here = skeleton.at(address)
    users = {op.name for op in cascade if tensor in {t.name for t in op.problem.tensors}}
    if not here.branches or not users & set(here.names):
        yield ()
        return
    for count in range(len(memories) + 1):
        for chosen in itertools.combinations(memories, count):
            left = memories[memories.index(chosen[-1]) + 1 :] if chosen else memories
            below = [list(sites(cascade, skeleton, tensor, left, (*address, i))) for i in range(len(here.branches))]
            for depths in itertools.combinations_with_replacement(range(len(here.loops) + 1), count):
                own = tuple((address, at, memory) for at, memory in zip(depths, chosen, strict=True))
                for rest in itertools.product(*below):
                    yield (*own, *itertools.chain.from_iterable(rest))
