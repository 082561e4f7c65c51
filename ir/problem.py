"""A tensor operation: iteration dimensions, and tensors as affine projections of them."""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

from .display import Shown
from .errors import ProblemError, checked, did_you_mean, entry, shown

Role = Literal["input", "weight", "output"]
ROLES: tuple[Role, ...] = ("input", "weight", "output")

Rank = tuple[tuple[str, int], ...]
"""One axis of a tensor, as a sum of `coefficient * dimension`: (("P", 2), ("R", 1)) is 2p + r."""

Pad = tuple[int, int]
"""Zeros that an operation reads before the first and after the last position of a rank."""


class Stored(NamedTuple):
    """The sums along a rank that are stored, from `first` to before `end`; others are zeros of padding.

    words  so many sums lie there
    """

    first: int
    end: int
    words: int

    def most(self, *, gaps: bool) -> int:
        """The words of the largest tile, gaps between sums included or not."""
        return self.end - self.first if gaps else self.words


@dataclass(frozen=True)
class Tensor:
    """A tensor as the iteration space sees it.

    name          of the tensor, such as I, W or O
    ranks         one affine sum per axis; a dimension may appear in one rank only
    role          what the architecture calls it; placement and widths are given by role
    bits          width of a word; None takes the architecture's word width
    partial_bits  width of a partial sum (outputs only); None takes the architecture's
    density       where its nonzero words are, as a text (operands only, docs/sparse.md); None: all may be nonzero
    stored        per rank, which words there are, on a machine that stores no zeros of padding (`padding: free`);
                  None, or nothing at all: all of them
    """

    name: str
    ranks: tuple[Rank, ...]
    role: Role
    bits: int | None = None
    partial_bits: int | None = None
    density: str | None = None
    stored: tuple[Stored | None, ...] = ()

    @cached_property
    def dims(self) -> frozenset[str]:
        """The dimensions that move this tensor (its relevance set)."""
        return frozenset(dim for rank in self.ranks for dim, _ in rank)

    @property
    def stored_ranks(self) -> tuple[tuple[Rank, Stored | None], ...]:
        """Every rank with what of it is stored."""
        return tuple(zip(self.ranks, self.stored or (None,) * len(self.ranks), strict=True))

    @property
    def is_output(self) -> bool:
        """Whether the problem computes this tensor."""
        return self.role == "output"

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(axis_texts(self))}]"


def axis_texts(tensor: Tensor) -> list[str]:
    """The projection of a tensor, rank by rank: ["n", "2*p+r"]."""

    def term(dim: str, coefficient: int) -> str:
        return dim.lower() if coefficient == 1 else f"{coefficient}*{dim.lower()}"

    return ["+".join(term(*t) for t in rank) or "0" for rank in tensor.ranks]


@dataclass(frozen=True)
class Problem(Shown):
    """One dense affine einsum: `output += product of the operands`, over all points of the dimensions.

    name     of the layer
    dims     (name, size) in a fixed order; sizes are positive
    tensors  operands first, the single output last
    pads     per padded operand, the zeros before and after each of its ranks. They count as words, unless the machine
             says `padding: free`

    Raises ProblemError when sizes, names or projections make no sense.
    """

    name: str
    dims: tuple[tuple[str, int], ...]
    tensors: tuple[Tensor, ...]
    pads: tuple[tuple[str, tuple[Pad, ...]], ...] = ()
    _sizes: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        _check_kinds(self)
        object.__setattr__(self, "_sizes", dict(self.dims))
        names = self.dim_names
        if not names:
            raise ProblemError("no dimensions", where=self.name)
        if len(set(names)) != len(names):
            raise ProblemError(f"a dimension is given twice: {', '.join(names)}", where=self.name)
        for name, size in self.dims:
            if isinstance(size, bool) or not isinstance(size, int):
                raise ProblemError(f"dimension {name} is {size!r}, expected a whole number", where=self.name)
            if size < 1:
                raise ProblemError(f"dimension {name} is {size}, expected 1 or more", where=self.name)
        outputs = [t.name for t in self.tensors if t.is_output]
        if len(outputs) != 1:
            raise ProblemError(f"expected exactly one output tensor, found {len(outputs)}", where=self.name)
        if not self.operands:
            raise ProblemError("expected at least one operand tensor, found none", where=self.name)
        if len({t.name for t in self.tensors}) != len(self.tensors):
            raise ProblemError("two tensors share a name", where=self.name)
        for tensor in self.tensors:
            _check_tensor(self, tensor)
        _check_pads(self)

    @property
    def sizes(self) -> MappingABC[str, int]:
        """The sizes by dimension."""
        return self._sizes

    @cached_property
    def dim_names(self) -> tuple[str, ...]:
        """The names of the dimensions, in their order."""
        return tuple(name for name, _ in self.dims)

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """The tensors that are multiplied."""
        return tuple(t for t in self.tensors if not t.is_output)

    @cached_property
    def output(self) -> Tensor:
        """The tensor that is computed."""
        return next(t for t in self.tensors if t.is_output)

    @cached_property
    def has_zeros(self) -> bool:
        """Whether some operand has a stated density."""
        return any(tensor.density is not None for tensor in self.tensors)

    @cached_property
    def dense(self) -> Problem:
        """Return the same problem without densities."""
        tensors = tuple(replace(tensor, density=None) for tensor in self.tensors)
        return replace(self, tensors=tensors) if self.has_zeros else self

    @cached_property
    def stores_less(self) -> bool:
        """Whether some words of an operand are zeros of padding that are not stored."""
        return any(tensor.stored for tensor in self.tensors)

    @cached_property
    def macs(self) -> int:
        """Points of the iteration space: multiply-accumulates of the whole problem."""
        return math.prod(size for _, size in self.dims)

    def extents(self, tensor: str) -> tuple[int, ...]:
        """Positions of every rank of a tensor, from the least to the largest that is used."""
        ranks = self.tensor(tensor).ranks
        return tuple(1 + sum(c * (self.sizes[dim] - 1) for dim, c in rank) for rank in ranks)

    def tensor(self, name: str) -> Tensor:
        """Return the tensor of that name; ProblemError suggests the nearest name otherwise."""
        return entry(self._by_name, name, "tensor", ProblemError, self.name)

    @cached_property
    def _by_name(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={size}" for name, size in self.dims)
        operands = " * ".join(str(t) for t in self.operands)
        return f"{self.name}: {self.output} += {operands}  ({sizes})"


def _check_kinds(problem: Problem) -> None:
    checked(problem.name, str, "the name of a problem", "a text", ProblemError)
    for dim in checked(problem.dims, tuple, "the dimensions of a problem", "a tuple of (name, size)", ProblemError):
        if not (isinstance(dim, tuple) and len(dim) == 2 and isinstance(dim[0], str)):
            raise ProblemError(f"a dimension is {shown(dim)}, expected (name, size)", where=problem.name)
    for tensor in checked(problem.tensors, tuple, "the tensors of a problem", "a tuple of Tensors", ProblemError):
        checked(tensor, Tensor, "a tensor of a problem", "a Tensor", ProblemError)


def _check_tensor(problem: Problem, tensor: Tensor) -> None:
    where = f"{problem.name}: tensor {tensor.name}"
    seen: set[str] = set()
    for rank in tensor.ranks:
        for dim, coefficient in rank:
            if dim not in problem.sizes:
                raise ProblemError(f"unknown dimension {dim!r}", where=where, hint=did_you_mean(dim, problem.sizes))
            if coefficient < 1:
                raise ProblemError(f"coefficient of {dim} is {coefficient}, expected 1 or more", where=where)
            if dim in seen:
                raise ProblemError(f"dimension {dim} appears in two ranks or twice in one", where=where)
            seen.add(dim)
        if tensor.is_output and (len(rank) != 1 or rank[0][1] != 1):
            raise ProblemError(
                "an output axis must be one dimension with coefficient 1",
                where=where,
                hint="write the operation as a gather: outputs plain, sums of dimensions in the operands",
            )
    for what, bits in (("bits", tensor.bits), ("partial_bits", tensor.partial_bits)):
        if bits is not None and bits < 1:
            raise ProblemError(f"{what} is {bits}, expected 1 or more", where=where)


def _check_pads(problem: Problem) -> None:
    for name, pads in problem.pads:
        tensor, where = problem.tensor(name), f"{problem.name}: pad of {name}"
        if tensor.is_output or len(pads) != len(tensor.ranks):
            raise ProblemError("expected two numbers for each rank of an operand", where=where)
        for rank, pad in zip(tensor.ranks, pads, strict=True):
            reach = 1 + sum(coefficient * (problem.sizes[dim] - 1) for dim, coefficient in rank)
            if min(pad) < 0 or sum(pad) >= reach:
                found = f"{pad[0]} and {pad[1]} zeros around a rank of {reach}"
                raise ProblemError(f"{found}, expected 0 or more, and a word between them", where=where)
