"""Operations that differ in names alone, as Q, K and V of one input: branches of the first of them are searched, and
answer for the others, under their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ...ir import Cascade, Loop, Node, Operation
from .branch import BranchMapping, BranchQuestion, Sizes
from .shared_branches import KnownOperations


@dataclass(frozen=True, eq=False)
class Twins:
    """The operations of one cascade, and those that answer for them on one machine.

    known  has the first of all equal operations
    """

    cascade: Cascade
    known: KnownOperations

    @cached_property
    def _first_of(self) -> dict[str, Operation]:
        """By operation, the first of those that it is equal to."""
        return {operation.name: self.known.first(operation) for operation in self.cascade}

    @cached_property
    def _firsts(self) -> frozenset[str]:
        """Operations that answer for themselves: their names are those of the first one."""
        return frozenset(operation.name for operation in self.cascade if self._first_of[operation.name] == operation)

    def first(self, question: BranchQuestion) -> BranchQuestion:
        """A question as it is asked of the first of equal operations."""
        if question.operation in self._firsts:
            return question
        own, first = self.cascade.operation(question.operation), self._first_of[question.operation]
        dims, tensors = _names(own, first)
        return replace(
            question,
            operation=first.name,
            sizes=_renamed(question.sizes, dims),
            homes=tuple(sorted((tensors[tensor], memory) for tensor, memory in question.homes)),
            cut=frozenset(dims[dim] for dim in question.cut),
            over=_renamed(question.over, dims),
            made=tuple((dims[dim], visits) for dim, visits in question.made),
            beside=tuple(((a, axis, dims[dim]), least, most) for (a, axis, dim), least, most in question.beside),
            keeps=tuple((memory, tensors[tensor], kept) for memory, tensor, kept in question.keeps),
            wider=tuple((tensors[tensor], times) for tensor, times in question.wider),
        )

    def sizes_of_first(self, operation: str, sizes: Sizes) -> tuple[str, Sizes]:
        """The first of equal operations, and a tile as one of it."""
        first = self._first_of[operation]
        return first.name, _renamed(sizes, _names(self.cascade.operation(operation), first)[0])

    def mapping_of(self, operation: str, mapping: BranchMapping) -> BranchMapping:
        """The mapping of an operation that one of the first of its equals is."""
        if operation in self._firsts:
            return mapping
        dims, tensors = _names(self._first_of[operation], self.cascade.operation(operation))
        return replace(mapping, items=tuple(_item(item, dims, tensors) for item in mapping.items))


def _names(one: Operation, other: Operation) -> tuple[dict[str, str], dict[str, str]]:
    """What equal operations call dimensions, and tensors, of each other."""
    dims = zip(one.problem.dim_names, other.problem.dim_names, strict=True)
    tensors = zip(one.problem.tensors, other.problem.tensors, strict=True)
    return dict(dims), {mine.name: yours.name for mine, yours in tensors}


def _renamed(sizes: Sizes, dims: Mapping[str, str]) -> Sizes:
    return tuple((dims[dim], size) for dim, size in sizes)


def _item(item: Loop | Node, dims: Mapping[str, str], tensors: Mapping[str, str]) -> Loop | Node:
    if isinstance(item, Node):
        return replace(item, tensor=tensors[item.tensor])
    return replace(item, dim=dims[item.dim])
