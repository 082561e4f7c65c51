"""A mapping: what is to be done, a problem or a cascade, together with the tree that does it.

A nest is a tree with one leaf. The way of an operation through a tree is again such a mapping: the loops above it, over
its own dimensions, and the nodes of its own tensors. A consumer's nodes of an intermediate begin at the *exchange*
node, the innermost one above the split at which its branch parts from the producer's; those further out are the
producer's alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

from .cascade import Cascade
from .display import Shown
from .errors import MappingError, checked, did_you_mean, entry
from .nest import Loop, LoopNest, Node
from .operation import Operation
from .problem import Problem
from .tiles import ceil_div
from .tree import Address, Place, Tree, loop_of
from .tree_rules import (
    CascadeTree,
    check_iterations,
    check_leaves,
    check_nodes,
    check_outer_nodes,
    check_shared_loops,
    check_sizes,
    exchange_place,
    windowed_dims,
)

Work: TypeAlias = Problem | Cascade
"""What a mapping does: one operation, or several that depend on each other."""


@dataclass(frozen=True, init=False)
class Mapping(Shown):
    """A tree that does all of its work; of a problem it is a nest.

    work  what is done
    tree  loops and storage nodes, and the branches below them

    Tile sizes nest exactly; only the outermost loop of a dimension may leave a ragged last tile, so its
    trip count is the dimension divided by the tile below it, rounded up.

    Raises MappingError where the tree breaks a rule that holds on every machine: a loop over an unknown dimension or a
    node of an unknown tensor, a dimension that is not covered, a tensor that one memory keeps twice, or none keeps; and
    of a cascade an operation that is missing or done before what it reads, loops that its operations cannot share, an
    intermediate that its producer and a consumer have no node in common for, nodes that nothing uses.
    """

    work: Work
    tree: Tree

    def __init__(self, work: Work, tree: Tree | LoopNest) -> None:
        given = self.__dict__  # of a frozen value
        if isinstance(work, Cascade):
            checked(tree, Tree, "the tree of a mapping", "a Tree, as Mapping.parse reads one", MappingError)
            given |= {"work": work, "tree": tree}
            self._check_tree()
            return
        checked(work, Problem, "the work of a mapping", "a Problem or a Cascade", MappingError)
        nest = LoopNest(tree.items) if isinstance(tree, Tree) else tree
        checked(nest, LoopNest, "the nest of a mapping", "a LoopNest, as LoopNest.parse makes one", MappingError)
        if isinstance(tree, Tree) and tree.branches:
            raise MappingError("found branches, and one operation", where=work.name)
        given |= {"work": work, "tree": Tree.of(nest, work.name), "problem": work, "nest": nest}
        _check_names(work, nest)
        for dim, size in work.dims:
            check_cover(nest, dim, size)
        for tensor in work.tensors:
            if not nest.node_positions(tensor.name):
                hint = f"add a line such as 'DRAM keeps {tensor.name}' at the top"
                raise MappingError(f"no memory keeps tensor {tensor.name}", hint=hint)

    def _check_tree(self) -> None:
        check_leaves(self._rules)
        check_iterations(self._rules)
        check_nodes(self._rules)
        for tensor in self.cascade.intermediates:
            read = {self.exchange(tensor, consumer.name) for consumer in self.cascade.consumers[tensor]}
            check_outer_nodes(self._rules, tensor, read)
        for address, tree in self.tree.walk():
            if tree.branches:
                check_shared_loops(self._rules, address)
        windows, paths = self._windows, self.paths
        for address, tree in self.tree.walk():
            for position, item in enumerate(tree.items if tree.branches else ()):
                if isinstance(item, Loop) and item.trips > 1:
                    check_sizes(self._rules, (address, position), windows)
                    _check_tiles(self, (address, position))
        for path in paths.values():
            _check_reductions(path)

    @classmethod
    def parse(cls, work: Work, text: str) -> Mapping:
        """The mapping whose tree, or nest, is written in a text (docs/cascades.md).

        Of a cascade with several forms it is that one of them which the tree executes.

        Raises MappingError for a line that is not understood, and for a tree that breaks a rule.
        """
        if isinstance(work, Problem):
            return cls(work, LoopNest.parse(text))
        checked(work, Cascade, "the work of a mapping", "a Problem or a Cascade", MappingError)
        tree = Tree.parse(text, work.operations[0].name if len(work.operations) == 1 else "")
        refused = []
        for form in _likely_forms(work, tree):
            try:
                return cls(form, tree)
            except MappingError as error:
                refused.append(error)
        raise refused[0]

    def of(self, work: Work) -> Mapping:
        """The same tree for work that differs in its name alone; of a cascade's forms, for the one executed.

        Raises MappingError for a cascade of other operations.
        """
        if not isinstance(work, Problem):
            checked(work, Cascade, "the work of a mapping", "a Problem or a Cascade", MappingError)
        if work.name == self.work.name:
            return self
        if isinstance(work, Problem):
            return Mapping(work, self.nest)
        form = next((form for form in work.forms if form.operations == self.cascade.operations), None)
        if form is None:
            raise MappingError(f"{work.name} has other operations than {self.cascade.name}, whose tree this is")
        return Mapping(form, self.tree)

    # ---- of one operation --------------------------------------------------------------------------------------------

    @property
    def is_of_cascade(self) -> bool:
        """Whether its work is a cascade, and no problem."""
        return isinstance(self.work, Cascade)

    @cached_property
    def problem(self) -> Problem:
        """What a nest computes; MappingError where there are several operations."""
        return self._only.problem

    @cached_property
    def nest(self) -> LoopNest:
        """Loops and nodes of the only operation; MappingError where there are several."""
        assert self._only
        return LoopNest(self.tree.items)

    @property
    def _only(self) -> Operation:
        if len(self.cascade.operations) > 1:
            raise MappingError(f"{self.cascade.name} has several operations", hint="look at one of `paths`")
        return self.cascade.operations[0]

    # ---- of every operation ------------------------------------------------------------------------------------------

    @cached_property
    def cascade(self) -> Cascade:
        """What is done, as a cascade: of a problem, of one operation, without the zeros of its operands."""
        if isinstance(self.work, Cascade):
            return self.work
        return Cascade(self.work.name, (Operation.of(self.work.dense),))

    @cached_property
    def leaves(self) -> dict[str, Address]:
        """The address of every operation's leaf, in the order in which they are done."""
        return self.tree.leaves()

    @cached_property
    def paths(self) -> dict[str, OperationPath]:
        """The way of every operation through the tree, in the order in which they are done."""
        return {name: _path(self, self.cascade.operation(name)) for name in self.leaves}

    @cached_property
    def _rules(self) -> CascadeTree:
        return CascadeTree(self.cascade, self.tree)

    @cached_property
    def _exchanges(self) -> dict[tuple[str, str], Place]:
        consumers = self.cascade.consumers
        passing = [(tensor, consumer) for tensor in self.cascade.intermediates for consumer in consumers[tensor]]
        return {(tensor, reader.name): exchange_place(self._rules, tensor, reader) for tensor, reader in passing}

    @cached_property
    def _windows(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for name in reversed(self.leaves):
            found[name] = frozenset(windowed_dims(self._rules, self.cascade.operation(name), found))
        return found

    def split_of(self, first: str, second: str) -> Address:
        """The tree at whose split the branches of two operations part."""
        return self.tree.split_of(first, second)

    def windows(self, operation: str) -> frozenset[str]:
        """Dimensions of an operation's output that shared loops step over and consumers read through windows."""
        return entry(self._windows, operation, "operation", MappingError)

    def exchange(self, tensor: str, consumer: str) -> Place:
        """The node at which an intermediate passes from its producer to a consumer."""
        return entry(self._exchanges, (tensor, consumer), "intermediate with its reader", MappingError)

    def item(self, place: Place) -> Loop | Node:
        """The item at a place of the tree."""
        return self.tree.item(place)

    def above(self, address: Address, position: int | None = None) -> list[tuple[Place, Loop | Node]]:
        """All items from the root down to a position in a tree, by default to its end, with their places."""
        return self.tree.above(address, position)

    def nodes_above(self, tensor: str, address: Address) -> list[Place]:
        """Places of a tensor's nodes from the root down to the end of a tree's items."""
        return self.tree.nodes_above(tensor, address)

    def __str__(self) -> str:
        return str(self.tree)


@dataclass(frozen=True)
class OperationPath:
    """The path of one operation through a tree.

    operation  whose way it is
    mapping    its loops and nodes, outermost first: a nest, but for where its branches begin. Along dimensions in
               `windows` its problem is as long as if every visit made a whole tile
    windows    dimensions of the output that a shared loop steps over and a consumer reads through a window (p + r):
               what a visit makes of them depends on what the node of the output still holds
    places     where in the tree each item of the nest stands
    starts     positions in the nest at which a tree on the way begins; the first is 0, the last that of the leaf
    """

    operation: Operation
    mapping: Mapping
    places: tuple[Place, ...]
    starts: tuple[int, ...]
    windows: frozenset[str] = frozenset()

    def start(self, position: int) -> int:
        """Return the position at which the branch of an item begins: what stands inside it lasts for one visit of the
        branch."""
        return max(start for start in self.starts if start <= position)

    @property
    def shared_loops(self) -> tuple[Loop, ...]:
        """Loops above the innermost split, as loops over dimensions of this operation."""
        items = self.mapping.nest.items[: self.starts[-1]]
        return tuple(item for item in items if isinstance(item, Loop))


# ---- the rules -------------------------------------------------------------------------------------------------------


def _check_names(problem: Problem, nest: LoopNest) -> None:
    seen: set[Node] = set()
    for item in nest:
        if isinstance(item, Loop):
            if item.dim not in problem.sizes:
                raise MappingError(
                    f"loop over unknown dimension {item.dim!r}", hint=did_you_mean(item.dim, problem.sizes)
                )
            continue
        checked(item, Node, "a line of the nest", "a Loop or a Node", MappingError)
        if item.tensor not in {t.name for t in problem.tensors}:
            names = [t.name for t in problem.tensors]
            raise MappingError(
                f"{item.memory} keeps unknown tensor {item.tensor!r}", hint=did_you_mean(item.tensor, names)
            )
        if item in seen:
            raise MappingError(f"{item.memory} keeps {item.tensor} twice")
        seen.add(item)


def check_cover(nest: LoopNest, dim: str, size: int) -> None:
    """MappingError where the loops of a dimension do not cover its elements exactly, but for a ragged last tile."""
    trips = [loop.trips for loop in nest.loops if loop.dim == dim and loop.trips > 1]
    inner = math.prod(trips[1:])
    needed = ceil_div(size, inner)
    found = trips[0] if trips else 1
    if found != needed:
        shown = " x ".join(map(str, trips)) or "no loop"
        raise MappingError(
            f"dimension {dim} has {size} elements, and its loops are {shown}",
            hint=f"the outermost loop over {dim} must have {needed} trips, since the loops inside cover {inner}",
        )


def _check_tiles(mapping: Mapping, place: Place) -> None:
    """A shared loop steps over as many positions in each operation below it."""
    tiles: dict[str, int] = {}
    shared = mapping.item(place)
    assert isinstance(shared, Loop)
    below = [leaf.operation for _, leaf in mapping.tree.at(place[0]).walk() if not leaf.branches]
    names = [name for name in below if loop_of(shared, name).dim not in mapping.paths[name].windows]
    for name in names:
        path = mapping.paths[name]
        position = path.places.index(place)
        loop = path.mapping.nest.items[position]
        assert isinstance(loop, Loop)
        tile = 1
        for inner in path.mapping.nest.items[position + 1 :]:
            if isinstance(inner, Loop) and inner.dim == loop.dim:
                tile *= inner.trips
        tiles[name] = tile
    if len(set(tiles.values())) > 1:
        shown = " and ".join(f"{tile} in {name}" for name, tile in tiles.items())
        raise MappingError(f"a step of '{mapping.item(place)}' covers {shown} positions, expected as many")


def _check_reductions(path: OperationPath) -> None:
    """Partial sums that go on from visit to visit have a node above the loop that adds to them."""
    output = path.operation.output
    first = path.mapping.nest.node_positions(output.name)[0]
    for position, item in enumerate(path.mapping.nest.items[: path.starts[-1]]):
        if isinstance(item, Loop) and item.trips > 1 and item.dim not in output.dims and position < first:
            raise MappingError(
                f"'{item}' adds to {output.name}, which no memory keeps above it",
                where=path.operation.name,
                hint=f"put a node of {output.name} above that loop, or the loop into the branch",
            )


# ---- forms, and ways through a tree ----------------------------------------------------------------------------------


def _likely_forms(cascade: Cascade, tree: Tree) -> list[Cascade]:
    """The forms that a tree may execute, the likeliest first: that with most of its operations, and of these with most
    operations whose loops cover them."""
    names = set(tree.leaves())

    def alike(form: Cascade) -> tuple[int, int]:
        same = [operation for operation in form if operation.name in names]
        return len(same) - len(form.operations), sum(_is_covered(tree, operation) for operation in same)

    return sorted(cascade.forms, key=alike, reverse=True)


def _is_covered(tree: Tree, operation: Operation) -> bool:
    """Whether the loops above an operation's leaf cover all its points, as far as dimensions have the same names."""
    loops = [
        loop_of(item, operation.name) for _, item in tree.above(tree.leaves()[operation.name]) if isinstance(item, Loop)
    ]
    steps = {dim: prod(loop.trips for loop in loops if loop.dim == dim) for dim in operation.problem.dim_names}
    return steps == dict(operation.problem.dims)


def _path(tree: Mapping, operation: Operation) -> OperationPath:
    address = tree.leaves[operation.name]
    names = {t.name for t in operation.problem.tensors}
    taken: list[Loop | Node] = []
    places: list[Place] = []
    starts = [0]
    for place, item in tree.above(address):
        while len(place[0]) >= len(starts):
            starts.append(len(taken))
        if isinstance(item, Loop):
            taken.append(loop_of(item, operation.name))
        elif item.tensor in names and not _is_outside(tree, operation, item.tensor, place):
            taken.append(item)
        else:
            continue
        places.append(place)
    starts += [len(taken)] * (len(address) + 1 - len(starts))
    nest, windows = LoopNest(tuple(taken)), tree.windows(operation.name)
    sizes = {dim: prod(loop.trips for loop in nest.loops if loop.dim == dim) for dim in windows}
    problem = operation.problem
    if windows:
        dims = tuple((dim, sizes.get(dim, size)) for dim, size in problem.dims)
        problem = Problem(problem.name, dims, problem.tensors)
    try:
        mapping = Mapping(problem, nest)
    except MappingError as error:
        raise error.located(operation.name) from None
    return OperationPath(operation, mapping, tuple(places), tuple(starts), windows)


def _is_outside(tree: Mapping, operation: Operation, tensor: str, place: Place) -> bool:
    """Whether a node holds an intermediate that this operation reads further inwards."""
    is_read = tensor in tree.cascade.producers and operation.output.name != tensor
    return is_read and place < tree.exchange(tensor, operation.name)
