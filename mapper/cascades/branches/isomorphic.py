"""Isomorphic operations, which differ in names alone, as Q, K and V of one input: branches of the first are searched,
and answer for the others under their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ....ir import Cascade, Loop, Node, Operation
from ..terms.branch import BranchMapping, BranchQuestion, Sizes
from .shared_branches import KnownOperations


@dataclass(frozen=True, eq=False)
class Isomorphism:
    """An operation, and the first of those that cost the same, whose dimensions and tensors have the same order."""

    own: Operation
    first: Operation

    @cached_property
    def is_first(self) -> bool:
        """Whether the operation answers for itself."""
        return self.own == self.first

    @cached_property
    def dims(self) -> dict[str, str]:
        """The names of dimensions in the first operation."""
        return dict(zip(self.own.problem.dim_names, self.first.problem.dim_names, strict=True))

    @cached_property
    def tensors(self) -> dict[str, str]:
        """The names of tensors in the first operation."""
        both = zip(self.own.problem.tensors, self.first.problem.tensors, strict=True)
        return {mine.name: yours.name for mine, yours in both}

    def sizes(self, own: Sizes) -> Sizes:
        """Return the sizes of a tile by the first operation's names."""
        return tuple((self.dims[dim], size) for dim, size in own)

    def first_question(self, asked: BranchQuestion) -> BranchQuestion:
        """A question as it is asked of the first."""
        dims, tensors = self.dims, self.tensors
        return replace(
            asked,
            operation=self.first.name,
            sizes=self.sizes(asked.sizes),
            homes=tuple(sorted((tensors[tensor], memory) for tensor, memory in asked.homes)),
            cut=frozenset(dims[dim] for dim in asked.cut),
            over=tuple((dims[dim], size) for dim, size in asked.over),
            made=tuple((dims[dim], visits) for dim, visits in asked.made),
            beside=tuple(((a, axis, dims[dim]), least, most) for (a, axis, dim), least, most in asked.beside),
            keeps=tuple((memory, tensors[tensor], kept) for memory, tensor, kept in asked.keeps),
            wider=tuple((tensors[tensor], times) for tensor, times in asked.wider),
        )

    def own_items(self, items: tuple[Loop | Node, ...]) -> tuple[Loop | Node, ...]:
        """Return the first operation's items under this operation's names."""
        dims = {first: own for own, first in self.dims.items()}
        tensors = {first: own for own, first in self.tensors.items()}
        return tuple(_item(item, dims, tensors) for item in items)


@dataclass(frozen=True, eq=False)
class IsomorphicOperations:
    """The operations of one cascade, with the isomorphic operation that answers for each on one machine.

    known  has the first of all equal operations
    """

    cascade: Cascade
    known: KnownOperations
    _isomorphisms: dict[str, Isomorphism] = field(default_factory=dict)

    def first(self, question: BranchQuestion) -> BranchQuestion:
        """A question as it is asked of the first of equal operations."""
        isomorphism = self._isomorphism(question.operation)
        return question if isomorphism.is_first else isomorphism.first_question(question)

    def sizes_of_first(self, operation: str, sizes: Sizes) -> tuple[str, Sizes]:
        """The first of equal operations, and a tile as one of it."""
        isomorphism = self._isomorphism(operation)
        return isomorphism.first.name, isomorphism.sizes(sizes)

    def mapping_of(self, question: BranchQuestion, mapping: BranchMapping) -> BranchMapping:
        """The mapping that one of the first of equal operations is for a question."""
        isomorphism = self._isomorphism(question.operation)
        return mapping if isomorphism.is_first else replace(mapping, items=isomorphism.own_items(mapping.items))

    def _isomorphism(self, name: str) -> Isomorphism:
        """The operation that answers for another one."""
        if name not in self._isomorphisms:
            operation = self.cascade.operation(name)
            self._isomorphisms[name] = Isomorphism(operation, self.known.first(operation))
        return self._isomorphisms[name]


def _item(item: Loop | Node, dims: Mapping[str, str], tensors: Mapping[str, str]) -> Loop | Node:
    if isinstance(item, Node):
        return replace(item, tensor=tensors[item.tensor])
    return replace(item, dim=dims[item.dim])
