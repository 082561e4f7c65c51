"""Operations that differ in names alone, as Q, K and V of one input: branches of the first of them are searched, and
answer for the others, under their names. An operation with one dimension for several that always move together is as
good as another one (`terms/merged_dims.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ....arch import Architecture
from ....ir import Cascade, Loop, Node, Operation
from ...tilings import Tiling
from ..terms.branch import BranchMapping, BranchQuestion, Sizes
from ..terms.merged_dims import Group, MergedDims, merged_sizes, parted
from .shared_branches import KnownOperations


@dataclass(frozen=True, eq=False)
class Twin:
    """An operation, and the first of those that cost the same.

    groups  of its dimensions: each is one of the first operation's, in the same order
    """

    own: Operation
    first: Operation
    groups: tuple[Group, ...]

    @cached_property
    def is_first(self) -> bool:
        """Whether it answers for itself: its names are those of the first one."""
        return self.own == self.first

    @cached_property
    def dims(self) -> dict[str, str]:
        """What the first calls the dimensions that stand for groups."""
        return dict(zip((group[0] for group in self.groups), self.first.problem.dim_names, strict=True))

    @cached_property
    def tensors(self) -> dict[str, str]:
        """What the first calls tensors."""
        both = zip(self.own.problem.tensors, self.first.problem.tensors, strict=True)
        return {mine.name: yours.name for mine, yours in both}

    def sizes(self, own: Sizes) -> Sizes:
        """Those of a tile as one of the first."""
        return tuple((self.dims[dim], size) for dim, size in merged_sizes(self.groups, own))

    def first_question(self, asked: BranchQuestion) -> BranchQuestion:
        """A question as it is asked of the first."""
        dims, tensors = self.dims, self.tensors
        return replace(
            asked,
            operation=self.first.name,
            sizes=self.sizes(asked.sizes),
            homes=tuple(sorted((tensors[tensor], memory) for tensor, memory in asked.homes)),
            cut=frozenset(dims[dim] for dim in asked.cut if dim in dims),
            over=tuple((dims[dim], size) for dim, size in asked.over),
            made=tuple((dims[dim], visits) for dim, visits in asked.made),
            beside=tuple(((a, axis, dims[dim]), least, most) for (a, axis, dim), least, most in asked.beside),
            keeps=tuple((memory, tensors[tensor], kept) for memory, tensor, kept in asked.keeps),
            wider=tuple((tensors[tensor], times) for tensor, times in asked.wider),
        )

    def own_items(self, items: tuple[Loop | Node, ...], sizes: Sizes, arch: Architecture) -> tuple[Loop | Node, ...]:
        """The loops and nodes of a tile that those of the first's are."""
        dims = {first: own for own, first in self.dims.items()}
        tensors = {first: own for own, first in self.tensors.items()}
        renamed = [_item(item, dims, tensors) for item in items]
        return parted(renamed, self.groups, sizes, self.own, arch)


@dataclass(frozen=True, eq=False)
class Twins:
    """The operations of one cascade, and those that answer for them on one machine.

    known  has the first of all equal operations
    """

    cascade: Cascade
    arch: Architecture
    tiling: Tiling
    known: KnownOperations
    _twins: dict[tuple[str, tuple[Group, ...]], Twin] = field(default_factory=dict)

    @cached_property
    def _merged(self) -> dict[str, MergedDims]:
        return {operation.name: MergedDims(operation, self.arch) for operation in self.cascade}

    def first(self, question: BranchQuestion) -> BranchQuestion:
        """A question as it is asked of the first of equal operations."""
        twin = self._asked(question)
        return question if twin.is_first else twin.first_question(question)

    def sizes_of_first(self, operation: str, sizes: Sizes) -> tuple[str, Sizes]:
        """The first of equal operations, and a tile as one of it."""
        twin = self._twin(operation, sizes)
        return twin.first.name, twin.sizes(sizes)

    def mapping_of(self, question: BranchQuestion, mapping: BranchMapping) -> BranchMapping:
        """The mapping that one of the first of equal operations is for a question."""
        twin = self._asked(question)
        if twin.is_first:
            return mapping
        return replace(mapping, items=twin.own_items(mapping.items, question.sizes, self.arch))

    def _asked(self, question: BranchQuestion) -> Twin:
        """Which operation answers a question. Where more is said of dimensions, each is one of its own."""
        as_it_is = bool(question.over or question.made or question.beside)
        return self._twin(question.operation, None if as_it_is else question.sizes)

    def _twin(self, operation: str, sizes: Sizes | None) -> Twin:
        """The operation that answers for a tile; None: with all dimensions of their own."""
        merged = self._merged[operation]
        groups = merged.each_alone if sizes is None or self.tiling != "perfect" else merged.groups(sizes)
        if (operation, groups) not in self._twins:
            first = self.known.first(merged.merged(groups))
            self._twins[operation, groups] = Twin(merged.operation, first, groups)
        return self._twins[operation, groups]


def _item(item: Loop | Node, dims: Mapping[str, str], tensors: Mapping[str, str]) -> Loop | Node:
    if isinstance(item, Node):
        return replace(item, tensor=tensors[item.tensor])
    return replace(item, dim=dims[item.dim])
