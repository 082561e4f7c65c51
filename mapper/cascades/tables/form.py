"""An operation as tables see it: no names, no more dimensions than it needs. Equal operations share tables."""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import mul

from ....arch import Architecture, Fanout
from ....ir import Loop, LoopNest, Mapping, Node, Operation, Problem, Tensor
from ...exact.question.canonical import CanonicalForm, canonical_problem
from ...exact.rows import Ints


@dataclass(frozen=True)
class TableForm:
    """One operation on one machine.

    problem    its dimensions and tensors, by numbers
    fanouts    of the machine, outermost first, their axes in these dimensions
    widths     per tensor, bits of a word while it is added to
    finished   per tensor, bits of a word that is finished
    mac_pj, per_cycle  energy of a point, and points that one unit completes in a cycle
    """

    problem: Problem
    fanouts: tuple[Fanout, ...]
    widths: tuple[int, ...]
    finished: tuple[int, ...]
    mac_pj: float
    per_cycle: float

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.problem, self.fanouts, self.widths, self.finished, self.mac_pj, self.per_cycle))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Of the dimensions."""
        return tuple(size for _, size in self.problem.dims)

    @cached_property
    def moves(self) -> tuple[tuple[bool, ...], ...]:
        """Per tensor, whether each dimension moves it."""
        return tuple(tuple(dim in t.dims for dim in self.problem.dim_names) for t in self.problem.tensors)

    @cached_property
    def output(self) -> int:
        """The number of the output."""
        return next(i for i, t in enumerate(self.problem.tensors) if t.is_output)

    def dims_of(self, tensor: int) -> list[int]:
        """Dimensions that move a tensor."""
        return [d for d, moved in enumerate(self.moves[tensor]) if moved]

    def dims_beside(self, tensor: int) -> list[int]:
        """Dimensions that do not."""
        return [d for d, moved in enumerate(self.moves[tensor]) if not moved]


@dataclass(frozen=True, eq=False)
class NamedForm:
    """A form, and the names of one operation.

    dims     of the canonical problem, in the order of the form's
    tensors  in the order of the form's
    """

    form: TableForm
    canonical: CanonicalForm
    dims: tuple[str, ...]
    tensors: tuple[str, ...]

    @classmethod
    def of(cls, operation: Operation, arch: Architecture) -> NamedForm:
        """The form of an operation whose ranks are all plain."""
        canonical = canonical_problem(operation.problem, arch, "perfect")
        problem, fanouts = canonical.problem, canonical.arch.fanouts
        dims = sorted(problem.dim_names, key=lambda dim: (_kind(problem, fanouts, dim), problem.sizes[dim]))
        number = {dim: str(d) for d, dim in enumerate(dims)}
        tensors = tuple(_numbered(i, t, number) for i, t in enumerate(problem.tensors))
        mac = arch.mac.of(operation.kind)
        form = TableForm(
            Problem("", tuple((number[dim], problem.sizes[dim]) for dim in dims), tensors),
            tuple(_renamed(fanout, number) for fanout in fanouts),
            tuple(arch.partial_width_bits(t) for t in problem.tensors),
            tuple(arch.width_bits(t) for t in problem.tensors),
            mac.energy_pj,
            mac.per_cycle,
        )
        return cls(form, canonical, tuple(dims), tuple(t.name for t in problem.tensors))

    def tile(self, sizes: MappingABC[str, int]) -> tuple[int, ...]:
        """A tile of the operation in the form's dimensions."""
        return tuple(math.prod(sizes[dim] for dim in self.canonical.members[name]) for name in self.dims)

    def tiles(self, sizes: MappingABC[str, Ints]) -> tuple[Ints, ...]:
        """The same of many tiles."""
        return tuple(reduce(mul, (sizes[dim] for dim in self.canonical.members[name])) for name in self.dims)

    def restored(self, sizes: MappingABC[str, int], homes: MappingABC[str, str], nest: LoopNest) -> Mapping:
        """The nest of the form as a mapping of a tile of the operation, below the homes of its tensors."""
        named: list[Loop | Node] = [Node(homes[name], name) for name in self.tensors]
        for item in nest.items:
            if isinstance(item, Loop):
                named.append(Loop(self.dims[int(item.dim)], item.trips, item.axis))
            else:
                named.append(Node(item.memory, self.tensors[int(item.tensor)]))
        whole, reduced = self.canonical.original, self.canonical.problem
        tile = Problem(whole.name, tuple((dim, sizes[dim]) for dim in whole.dim_names), whole.tensors)
        tiles = dict(zip(self.dims, self.tile(sizes), strict=True))
        small = Problem(whole.name, tuple((dim, tiles[dim]) for dim in reduced.dim_names), reduced.tensors)
        return replace(self.canonical, original=tile).restore(Mapping(small, LoopNest(tuple(named))))


def _kind(problem: Problem, fanouts: tuple[Fanout, ...], dim: str) -> tuple[bool, ...]:
    moved = (dim in t.dims for t in problem.tensors)
    return (*moved, *(axis.allows(problem, dim) for fanout in fanouts for axis in fanout.axes))


def _numbered(i: int, tensor: Tensor, number: dict[str, str]) -> Tensor:
    ranks = tuple(sorted(((number[dim], 1),) for rank in tensor.ranks for dim, _ in rank))
    return Tensor(str(i), ranks, tensor.role)


def _renamed(fanout: Fanout, number: dict[str, str]) -> Fanout:
    axes = tuple(
        axis.model_copy(update={"dims": tuple(sorted(number[dim] for dim in axis.dims or ()))}) for axis in fanout.axes
    )
    return fanout.model_copy(update={"axes": axes})
