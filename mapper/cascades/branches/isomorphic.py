"""Branches that cost the same: of operations that differ in names alone, as Q, K and V of one input, and mirror images,
as tiles of some rows and of as many columns. One is searched for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ....ir import Operation
from ...canonical import Renaming
from ..terms.branch import BranchMapping, BranchQuestion, Sizes


@dataclass(frozen=True, eq=False)
class Isomorphism:
    """From one operation to another one that costs the same, or to itself.

    target         the other one
    dims, tensors  its names for those of the first one
    """

    target: Operation
    dims: Mapping[str, str]
    tensors: Mapping[str, str]

    @classmethod
    def of(cls, own: Operation, target: Operation) -> Isomorphism:
        """That of two operations whose dimensions and tensors have the same order."""
        tensors = zip(own.problem.tensors, target.problem.tensors, strict=True)
        dims = dict(zip(own.problem.dim_names, target.problem.dim_names, strict=True))
        return cls(target, dims, {mine.name: yours.name for mine, yours in tensors})

    def sizes(self, own: Sizes) -> Sizes:
        """The sizes of a tile of the other operation."""
        size = {self.dims[dim]: n for dim, n in own}
        return tuple((dim, size[dim]) for dim in self.target.problem.dim_names)

    def question(self, asked: BranchQuestion) -> BranchQuestion:
        """A question as it is asked of the other operation."""
        dims, tensors = self.dims, self.tensors
        return replace(
            asked,
            operation=self.target.name,
            sizes=self.sizes(asked.sizes),
            homes=tuple(sorted((tensors[tensor], memory) for tensor, memory in asked.homes)),
            cut=frozenset(dims[dim] for dim in asked.cut),
            over=tuple(sorted((dims[dim], size) for dim, size in asked.over)),
            made=tuple(sorted((dims[dim], visits) for dim, visits in asked.made)),
            beside=tuple(((a, axis, dims[dim]), least, most) for (a, axis, dim), least, most in asked.beside),
            keeps=tuple((memory, tensors[tensor], kept) for memory, tensor, kept in asked.keeps),
            wider=tuple((tensors[tensor], times) for tensor, times in asked.wider),
        )

    def mapping(self, found: BranchMapping) -> BranchMapping:
        """The other operation's mapping as one of the first."""
        return replace(found, items=self._back.items(found.items))

    @cached_property
    def _back(self) -> Renaming:
        tensors, dims = ({yours: own for own, yours in names.items()} for names in (self.tensors, self.dims))
        return Renaming({}, tensors, dims)
