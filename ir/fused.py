"""A fused mapping: a cascade together with the tree that executes it, and the way of each operation through the tree.

The way of an operation is an ordinary nest: the loops above it, over its own dimensions, and the nodes of its own
tensors. A consumer's nodes of an intermediate begin at the *exchange* node, the innermost one above the split at which
its branch parts from the producer's; those further out are the producer's alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from .cascade import Cascade
from .display import Shown
from .errors import MappingError, checked, entry
from .iteration_rules import check_iterations
from .mapping import Mapping
from .nest import Loop, LoopNest, Node
from .operation import Operation
from .path import OperationPath
from .problem import Problem
from .tree import Address, Place, Tree, loop_of
from .tree_rules import (
    CascadeTree,
    check_leaves,
    check_nodes,
    check_outer_nodes,
    check_reductions,
    check_shared_loops,
    check_sizes,
    check_tiles,
    exchange_place,
    windowed_dims,
)


@dataclass(frozen=True)
class FusedMapping(Shown):
    """A tree that executes every operation of its cascade.

    cascade, tree  what is executed, and how

    Raises MappingError where the tree breaks a rule that holds on every machine: an operation that is missing or done
    before what it reads, loops that its operations cannot share or that do not cover a dimension, an intermediate that
    its producer and a consumer have no node in common for, nodes that nothing uses.
    """

    cascade: Cascade
    tree: Tree
    _exchanges: dict[tuple[str, str], Place] = field(init=False, repr=False, compare=False, hash=False)
    _windows: dict[str, frozenset[str]] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        checked(self.cascade, Cascade, "the cascade of a fused mapping", "a Cascade", MappingError)
        checked(self.tree, Tree, "the tree of a fused mapping", "a Tree, as FusedMapping.parse reads one", MappingError)
        object.__setattr__(self, "_exchanges", {})
        object.__setattr__(self, "_windows", {})
        asked = CascadeTree(self.cascade, self.tree)
        check_leaves(asked)
        check_iterations(asked)
        check_nodes(asked)
        for tensor in self.cascade.intermediates:
            for consumer in self.cascade.consumers[tensor]:
                self._exchanges[tensor, consumer.name] = exchange_place(asked, tensor, consumer)
            check_outer_nodes(asked, tensor, {self.exchange(tensor, c.name) for c in self.cascade.consumers[tensor]})
        for address, tree in self.tree.walk():
            if tree.branches:
                check_shared_loops(asked, address)
        for name in reversed(self.leaves):
            self._windows[name] = frozenset(windowed_dims(asked, self.cascade.operation(name), self._windows))
        for address, tree in self.tree.walk():
            for position, item in enumerate(tree.items if tree.branches else ()):
                if isinstance(item, Loop) and item.trips > 1:
                    check_sizes(asked, (address, position), self._windows)
                    check_tiles(asked, (address, position), self.paths)
        for path in self.paths.values():
            check_reductions(path)

    @classmethod
    def of_nest(cls, mapping: Mapping) -> FusedMapping:
        """An ordinary mapping as a tree with one leaf; which words of its operands are zero is no part of it.

        Raises MappingError for what is no mapping.
        """
        checked(mapping, Mapping, "the mapping of a nest", "a Mapping", MappingError)
        operation = Operation.of(mapping.problem.dense)
        return cls(Cascade(operation.name, (operation,)), Tree.of(mapping.nest, operation.name))

    @classmethod
    def parse(cls, cascade: Cascade, text: str) -> FusedMapping:
        """The fused mapping whose tree is written in a text (docs/cascades.md).

        Of a cascade with several forms it is that one of them which the tree executes.

        Raises MappingError for a line that is not understood, and for a tree that breaks a rule.
        """
        checked(cascade, Cascade, "the cascade of a fused mapping", "a Cascade", MappingError)
        tree = Tree.parse(text, cascade.operations[0].name if len(cascade.operations) == 1 else "")
        refused = []
        for form in _likely_forms(cascade, tree):
            try:
                return cls(form, tree)
            except MappingError as error:
                refused.append(error)
        raise refused[0]

    def of(self, cascade: Cascade) -> FusedMapping:
        """The same tree for a cascade that differs in its name alone; of several forms, for the one executed.

        Raises MappingError for a cascade of other operations.
        """
        checked(cascade, Cascade, "the cascade of a fused mapping", "a Cascade", MappingError)
        if cascade.name == self.cascade.name:
            return self
        form = next((form for form in cascade.forms if form.operations == self.cascade.operations), None)
        if form is None:
            raise MappingError(f"{cascade.name} has other operations than {self.cascade.name}, whose tree this is")
        return FusedMapping(form, self.tree)

    @cached_property
    def leaves(self) -> dict[str, Address]:
        """The address of every operation's leaf, in the order in which they are done."""
        return self.tree.leaves()

    @cached_property
    def paths(self) -> dict[str, OperationPath]:
        """The way of every operation through the tree, in the order in which they are done."""
        return {name: _path(self, self.cascade.operation(name)) for name in self.leaves}

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


def _path(fused: FusedMapping, operation: Operation) -> OperationPath:
    address = fused.leaves[operation.name]
    names = {t.name for t in operation.problem.tensors}
    taken: list[Loop | Node] = []
    places: list[Place] = []
    starts = [0]
    for place, item in fused.above(address):
        while len(place[0]) >= len(starts):
            starts.append(len(taken))
        if isinstance(item, Loop):
            taken.append(loop_of(item, operation.name))
        elif item.tensor in names and not _is_outside(fused, operation, item.tensor, place):
            taken.append(item)
        else:
            continue
        places.append(place)
    starts += [len(taken)] * (len(address) + 1 - len(starts))
    nest, windows = LoopNest(tuple(taken)), fused.windows(operation.name)
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


def _is_outside(fused: FusedMapping, operation: Operation, tensor: str, place: Place) -> bool:
    """Whether a node holds an intermediate that this operation reads further inwards."""
    is_read = tensor in fused.cascade.producers and operation.output.name != tensor
    return is_read and place < fused.exchange(tensor, operation.name)
