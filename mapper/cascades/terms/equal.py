"""Equal cascades under different names: a network repeats its blocks, and each is searched once; and of the orders of
its operations, those that are the same under other names: Q, K and V of one input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ....arch import Architecture
from ....ir import Call, Cascade, Expression, FusedMapping, Loop, Node, Operand, Operation, Problem, SharedLoop, Tree
from ...exact.symmetry import treatment


@dataclass(frozen=True)
class CascadeNames:
    """The names of a cascade, each kind in the order in which they occur in it."""

    operations: tuple[str, ...]
    tensors: tuple[str, ...]
    dims: tuple[str, ...]

    @classmethod
    def of(cls, cascade: Cascade) -> CascadeNames:
        """Those of a cascade."""
        dims = dict.fromkeys(dim for operation in cascade for dim in operation.problem.dim_names)
        return cls(tuple(operation.name for operation in cascade), cascade.tensors, tuple(dims))


def form_of(cascade: Cascade, arch: Architecture) -> tuple[object, ...]:
    """What two cascades have in common that differ in names alone, where these mean nothing to the machine: one form is
    of equal costs. Arrays may allow some dimensions by their names, and layouts call tensors and dimensions."""
    names = CascadeNames.of(cascade)
    tensors = {tensor: number for number, tensor in enumerate(names.tensors)}
    dims = {dim: number for number, dim in enumerate(names.dims)}
    found: list[object] = []
    for operation in cascade:
        problem = operation.problem
        operands = tuple(
            (
                tensors[tensor.name],
                tensor.role,
                tensor.bits,
                tensor.partial_bits,
                tensor.density,
                tuple(tuple((dims[dim], step) for dim, step in rank) for rank in tensor.ranks),
            )
            for tensor in problem.tensors
        )
        pads = tuple((tensors[tensor], zeros) for tensor, zeros in operation.pads)
        iterated = tuple(
            (tensors[one.tensor], one.axis, None if one.dim is None else dims[one.dim], one.after)
            for one in operation.generations
        )
        point = _form(operation.expression, tensors), operation.reduction
        found.append((_sizes_of(problem, dims, arch), operands, *point, pads, iterated, operation.start))
    if any(memory.layouts for memory in arch.memories):
        found.append(names)
    return tuple(found)


def _sizes_of(problem: Problem, dims: dict[str, int], arch: Architecture) -> tuple[object, ...]:
    """The dimensions of an operation by number, with what axes of arrays may have loops over each."""
    axes = [axis for fanout in arch.fanouts for axis in fanout.axes]
    return tuple((dims[dim], size, tuple(axis.allows(problem, dim) for axis in axes)) for dim, size in problem.dims)


def order_form_of(cascade: Cascade, arch: Architecture) -> tuple[object, ...]:
    """What two orders of the operations of a cascade have in common that differ in names alone, for one machine: trees
    cost the same in both. What is computed does not matter, nor the order of operands, but what the machine takes for
    it, and how it treats them."""
    names = CascadeNames.of(cascade)
    tensors = {tensor: number for number, tensor in enumerate(names.tensors)}
    dims = {dim: number for number, dim in enumerate(names.dims)}
    return tuple(_cost_form(operation, tensors, dims, arch) for operation in cascade)


def _cost_form(operation: Operation, tensors: dict[str, int], dims: dict[str, int], arch: Architecture) -> object:
    problem = operation.problem
    used = [
        (tensors[t.name], tuple(tuple((dims[dim], step) for dim, step in rank) for rank in t.ranks), treatment(arch, t))
        for t in problem.tensors
    ]
    pads = tuple(sorted((tensors[tensor], zeros) for tensor, zeros in operation.pads))
    iterated = tuple(
        (tensors[one.tensor], one.axis, None if one.dim is None else dims[one.dim], one.after)
        for one in operation.generations
    )
    kind = operation.kind, operation.reduction
    sizes = _sizes_of(problem, dims, arch)
    return sizes, tuple(sorted(used, key=lambda each: each[0])), kind, pads, tuple(sorted(iterated, key=str))


def under_names_of(mapping: FusedMapping, cascade: Cascade) -> FusedMapping:
    """The same tree for another cascade of the same form."""
    ours, theirs = CascadeNames.of(mapping.cascade), CascadeNames.of(cascade)
    renaming = _Renaming(
        _pairs(ours.operations, theirs.operations), _pairs(ours.tensors, theirs.tensors), _pairs(ours.dims, theirs.dims)
    )
    return FusedMapping(cascade, renaming.tree(mapping.tree))


@dataclass(frozen=True)
class _Renaming:
    operations: dict[str, str]
    tensors: dict[str, str]
    dims: dict[str, str]

    def tree(self, tree: Tree) -> Tree:
        items = tuple(map(self._item, tree.items))
        return Tree(items, tuple(map(self.tree, tree.branches)), self.operations.get(tree.operation, ""))

    def _item(self, item: Loop | Node) -> Loop | Node:
        if isinstance(item, Node):
            return replace(item, tensor=self.tensors[item.tensor])
        if isinstance(item, SharedLoop):
            renamed = tuple((self.operations[operation], self.dims[dim]) for operation, dim in item.renamed)
            return replace(item, dim=self.dims[item.dim], renamed=renamed)
        return replace(item, dim=self.dims[item.dim])


def _pairs(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    return dict(zip(ours, theirs, strict=True))


def _form(expression: Expression, tensors: dict[str, int]) -> object:
    if isinstance(expression, Operand):
        return ("operand", tensors[expression.tensor])
    if isinstance(expression, Call):
        return (expression.function, *(_form(argument, tensors) for argument in expression.arguments))
    return expression
