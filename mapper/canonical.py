"""What has equal costs under different names: operations, cascades that a network repeats, and orders of the operations
of one cascade, as Q, K and V of one input. Each is searched once, and what is found is put under the other names.

The *form* of a cascade has numbers for its names, in the order in which they occur: two cascades with one form are
isomorphic, and so are their trees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..arch import Architecture
from ..cost_models.cost import capacity_parts, held_width_bits
from ..cost_models.ports import ports_of
from ..ir import Cascade, Loop, Mapping, Node, Operation, SharedLoop, Tensor, Tree


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
    """What two cascades have in common that differ in names alone, for one machine: trees cost the same in both.

    What is computed does not matter, nor the order of operands, but what the machine takes for it, and how it treats
    them. Arrays may allow some dimensions by their names, and layouts call tensors and dimensions.
    """
    names = CascadeNames.of(cascade)
    tensors = {tensor: number for number, tensor in enumerate(names.tensors)}
    dims = {dim: number for number, dim in enumerate(names.dims)}
    found: list[object] = [_form_of_operation(operation, tensors, dims, arch) for operation in cascade]
    if any(memory.layouts for memory in arch.memories):
        found.append(names)
    return tuple(found)


def _form_of_operation(
    operation: Operation, tensors: dict[str, int], dims: dict[str, int], arch: Architecture
) -> object:
    problem, axes = operation.problem, [axis for fanout in arch.fanouts for axis in fanout.axes]
    sizes = tuple((dims[dim], size, tuple(axis.allows(problem, dim) for axis in axes)) for dim, size in problem.dims)
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
    return sizes, tuple(sorted(used, key=lambda each: each[0])), kind, pads, tuple(sorted(iterated, key=str))


def treatment(arch: Architecture, tensor: Tensor) -> object:
    """All that costs and room depend on, besides dimensions."""
    memories = tuple(
        (
            memory.keeps[tensor.role],
            tuple(tensor.role in part.roles for part in capacity_parts(memory)),
            held_width_bits(arch, memory, tensor),
            tuple(port.kind.role == tensor.role for port in ports_of(memory)),
        )
        for memory in arch.memories
    )
    widths = arch.width_bits(tensor), arch.partial_width_bits(tensor)
    return tensor.is_output, tensor.density, *widths, memories


def renaming(cascade: Cascade, other: Cascade) -> Renaming:
    """From the names of a cascade to those of another one of the same form."""
    ours, theirs = CascadeNames.of(cascade), CascadeNames.of(other)
    return Renaming(
        _pairs(ours.operations, theirs.operations), _pairs(ours.tensors, theirs.tensors), _pairs(ours.dims, theirs.dims)
    )


def under_names_of(mapping: Mapping, cascade: Cascade) -> Mapping:
    """The same tree for another cascade of the same form."""
    return Mapping(cascade, renaming(mapping.cascade, cascade).tree(mapping.tree))


@dataclass(frozen=True)
class Renaming:
    """New names for those of a tree."""

    operations: dict[str, str]
    tensors: dict[str, str]
    dims: dict[str, str]

    def tree(self, tree: Tree) -> Tree:
        branches = tuple(map(self.tree, tree.branches))
        return Tree(self.items(tree.items), branches, self.operations.get(tree.operation, ""))

    def items(self, items: Iterable[Loop | Node]) -> tuple[Loop | Node, ...]:
        return tuple(map(self._item, items))

    def _item(self, item: Loop | Node) -> Loop | Node:
        if isinstance(item, Node):
            return replace(item, tensor=self.tensors[item.tensor])
        if isinstance(item, SharedLoop):
            renamed = tuple((self.operations[operation], self.dims[dim]) for operation, dim in item.renamed)
            return replace(item, dim=self.dims[item.dim], renamed=renamed)
        return replace(item, dim=self.dims[item.dim])


def _pairs(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    return dict(zip(ours, theirs, strict=True))
