"""A mapping as an explicit scalar program, in no language yet: loops, buffers, copies, and what is done at points.

Printers (C, MLIR, TVM) walk it; `lowering.py` makes it. Everything is immutable, and every number that is not known
beforehand is an affine expression of two kinds of variables, both bound by a loop:

    for p0 = 0; p0 < 9; p0 += 4:              start: the first index of the loop's tile
        count p0: min(4, 9 - p0)              count: elements of the dimension in that tile, where the last is ragged
        GLB_I = copy of I[c0, p0 ...]
        for p1 = p0; p1 < p0 + count; p1 += 1:
            O[p1] += GLB_I[c0, p1 - p0]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ....ir import Axis, Cascade, Mapping, Operation, Place, Tensor
from ..parts.trees import TensorFinish


@dataclass(frozen=True, slots=True)
class Variable:
    """What a loop binds: the `start` of its tile, or the `count` of elements in it; or what `LookUp` does.

    number  of the loop among those of its dimension, outermost first
    """

    dim: str
    number: int
    kind: Literal["start", "count", "asked", "first", "made", "shift"] = "start"


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of variables times coefficients, and a constant; no variable twice, no coefficient 0."""

    terms: tuple[tuple[Variable, int], ...] = ()
    constant: int = 0

    @classmethod
    def of(cls, value: Variable | int) -> Affine:
        """A variable or a number."""
        return cls((), value) if isinstance(value, int) else cls(((value, 1),))

    def __add__(self, other: Affine) -> Affine:
        if not other.terms:
            return Affine(self.terms, self.constant + other.constant) if other.constant else self
        found = dict(self.terms)
        for variable, coefficient in other.terms:
            found[variable] = found.get(variable, 0) + coefficient
        return Affine(tuple((v, c) for v, c in found.items() if c), self.constant + other.constant)

    def __sub__(self, other: Affine) -> Affine:
        return self + other.times(-1) if other.terms or other.constant else self

    def times(self, factor: int) -> Affine:
        """Every coefficient multiplied."""
        if factor == 1:
            return self
        if not factor:
            return Affine()
        return Affine(tuple((v, c * factor) for v, c in self.terms), self.constant * factor)

    def divided(self, divisor: int) -> Affine:
        """Every coefficient divided; all are multiples of the divisor."""
        if divisor == 1:
            return self
        return Affine(tuple((v, c // divisor) for v, c in self.terms), self.constant // divisor)

    def value(self, known: MappingABC[Variable, int]) -> int:
        """The number that it is when the variables are known."""
        return self.constant + sum(c * known[v] for v, c in self.terms)


Index: TypeAlias = tuple[Affine, ...]
"""One expression for each axis of an array."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array of the caller, which holds a whole tensor, or a local buffer, which holds a tile of it.

    shape     elements of each axis of the tensor; a sum of dimensions spans its whole range, but for `steps`
    steps     of each axis, the distance in the tensor of neighbouring elements: a buffer leaves out what lies between
              where a stride is larger than the window of its tile; 1 everywhere else
    position  of its storage node in the nest
    is_local  whether it is a buffer of the program
    order     axes from the one that should vary slowest in memory to the one that should vary fastest: those of the
              tensor as they stand for the caller's, those that inner loops move last for a buffer (a packed tile)
    edges     axes along which what is read may lie before the first element, or behind the last one, and is 0 then
    """

    tensor: Tensor
    memory: str
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    position: int
    is_local: bool
    order: tuple[int, ...]
    edges: frozenset[int] = frozenset()

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Access:
    """An element of an array."""

    array: Array
    index: Index

    @property
    def flat(self) -> Affine:
        """Where it is in memory, from the first element of the array on."""
        found, stride = Affine(), 1
        for axis in reversed(self.array.order):
            found += self.index[axis].times(stride)
            stride *= self.array.shape[axis]
        return found


@dataclass(frozen=True, slots=True)
class Allocate:
    """A local buffer exists from here to the end of the enclosing body; what it holds is undefined."""

    buffer: Array


@dataclass(frozen=True, slots=True)
class Zero:
    """`array[at + i] = 0` for all i within `extents`; without `at`, the first ones."""

    array: Array
    extents: Index
    at: Index = ()


@dataclass(frozen=True, slots=True)
class Begin:
    """`array[at + i] = value` for all i within `extents`: what words are before the first is combined with them. Maxima
    begin below all numbers, and what is iterated with its start value."""

    array: Array
    at: Index
    extents: Index
    value: float


@dataclass(frozen=True, slots=True)
class LookUp:
    """Variables become what a table has for a step of a loop, in the row `loop / tile`."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[int, ...], ...]
    loop: Variable
    tile: int


@dataclass(frozen=True, slots=True)
class MoveUp:
    """Along an axis, elements move up by a variable that is looked up; what is left behind becomes 0."""

    array: Array
    axis: int
    shift: Variable


@dataclass(frozen=True, slots=True)
class Fill:
    """`buffer[i] = source[at + i * steps]` for all i within `extents`: a tile of an operand enters."""

    buffer: Array
    source: Array
    at: Index
    extents: Index
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Drain:
    """`target[at + i] += buffer[i]` for all i within `extents`: a tile of partial sums leaves. Maxima take the larger
    word, and what is iterated takes the place of the generation before."""

    buffer: Array
    target: Array
    at: Index
    extents: Index


@dataclass(frozen=True, slots=True)
class Compute:
    """`target = target combined with the operation's expression of the operands`: sums add, maxima take the larger, and
    what is iterated is the expression, in which the target may stand too."""

    operation: Operation
    target: Access
    operands: tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """`array[at + i] = finish of that word` for all i within `extents`.

    position  in the tensor of the first of these words
    target    the array of the whole tensor in which the word is put instead, at its position
    """

    array: Array
    at: Index
    extents: Index
    position: Index
    finish: TensorFinish
    target: Array | None = None


@dataclass(frozen=True, slots=True)
class For:
    """`for variable = start; variable < stop; variable += step`.

    trips  iterations, but for those that a ragged tile leaves out
    count  bound at the begin of the body to min(step, size - variable), where the last tile of `step` elements is
           ragged; else None
    size   elements of the dimension
    axis   where the iterations run side by side; None: one after the other
    end    where the dimension ends for this loop, if not at `size`
    """

    variable: Variable
    start: Affine
    stop: Affine
    step: int
    trips: int
    size: int
    count: Variable | None
    axis: Axis | None
    body: tuple[Statement, ...]
    end: Affine | None = None


@dataclass(frozen=True)
class PerfectNest:
    """Loops with nothing between them around the points of one operation.

    operation, target, operands  as of `Compute`, every access to what lies outside of the nest
    loops   of the plan that stand outside of its register tile, outermost first: dimension and step
    tile    of every dimension, elements of the register tile
    extents of every dimension, elements that the nest has
    begins  of every dimension, the first of these
    variables of every dimension, what accesses have for its element
    lane    the dimension that the plan spreads over lanes
    begin   what words have before the first is combined with them, where that stands before the nest; None: the words
            that are there
    finish  what is done with complete words, where that stands behind the nest
    """

    operation: Operation
    target: Access
    operands: tuple[Access, ...]
    loops: tuple[tuple[str, int], ...]
    tile: MappingABC[str, int]
    extents: MappingABC[str, int]
    begins: MappingABC[str, Affine]
    variables: MappingABC[str, Variable]
    lane: str | None
    begin: float | None = None
    finish: Finish | None = None

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that it reads or writes."""
        return (self.target.array, *(access.array for access in self.operands))

    @property
    def summed(self) -> tuple[str, ...]:
        """Its dimensions that are summed up."""
        return tuple(dim for dim in self.extents if dim not in self.operation.output.dims)

    @property
    def written(self) -> tuple[str, ...]:
        """Its other dimensions."""
        return tuple(dim for dim in self.extents if dim in self.operation.output.dims)

    def stride(self, access: Access, dim: str) -> int:
        """Words of an array from one element of a dimension to the next."""
        return dict(access.flat.terms).get(self.variables[dim], 0)


@dataclass(frozen=True)
class RegisterTile:
    """How a sum of products, or a maximum, is computed in registers.

    nest     of it
    lane     the dimension along which words are the lanes of vectors
    lanes    of one vector
    vectors  side by side along it
    rows     other dimensions, with how many positions of each have sums of their own at once
    loops    of the plan, outside
    summed   dimensions that are summed up inside, the innermost last
    packed   numbers of the operands that are read from a packed copy
    """

    nest: PerfectNest
    lane: str
    lanes: int
    vectors: int
    rows: tuple[tuple[str, int], ...]
    loops: tuple[tuple[str, int], ...]
    summed: tuple[str, ...]
    packed: tuple[int, ...]

    @property
    def width(self) -> int:
        """Words of a row of sums."""
        return self.lanes * self.vectors

    @property
    def shared(self) -> str | None:
        """The dimension of the outermost loop, if its iterations write different words and are more than one."""
        dim, step = self.loops[0] if self.loops else (self.lane, self.width)
        return dim if dim in self.nest.written and self.nest.extents[dim] > step else None

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that it reads or writes."""
        return self.nest.arrays


Statement: TypeAlias = (
    "For | Allocate | Zero | Begin | LookUp | MoveUp | Fill | Drain | Compute | Finish | PerfectNest | RegisterTile"
)


@dataclass(frozen=True)
class LoopProgram:
    """The whole program.

    fused    the mapping that it executes
    inputs, outputs  arrays of the caller: tensors that no operation writes, and those that none reads
    body     loops, one or more in a body, around copies and points
    places   where in the tree the node of each buffer stands
    """

    fused: Mapping
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    body: tuple[Statement, ...]
    places: MappingABC[Array, Place]

    @property
    def cascade(self) -> Cascade:
        return self.fused.cascade

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays of the caller."""
        return (*self.inputs, *self.outputs)

    @property
    def buffers(self) -> tuple[Array, ...]:
        """The program's own arrays, outermost first."""
        return tuple(sorted(buffers_of(self.body), key=lambda buffer: buffer.position))

    def loops(self) -> Iterator[For]:
        """All loops, each before those inside it."""
        return loops_of(self.body)


@dataclass(frozen=True)
class WholeLying:
    """How a tensor that stays on chip lies there: as it was made, without zeros around it.

    made   positions of each axis
    first  of each axis, the position in the cascade's tensor of the first of these
    edges  axes along which readers may ask for positions that were not made, which are zeros
    """

    made: tuple[int, ...]
    first: tuple[int, ...]
    edges: frozenset[int] = frozenset()


def loops_of(body: tuple[Statement, ...]) -> Iterator[For]:
    """All loops, each before those inside it."""
    for statement in body:
        if isinstance(statement, For):
            yield statement
            yield from loops_of(statement.body)


def buffers_of(body: tuple[Statement, ...]) -> Iterator[Array]:
    """All arrays of the program's own, in the order in which they begin."""
    for statement in body:
        if isinstance(statement, Allocate):
            yield statement.buffer
        elif isinstance(statement, For):
            yield from buffers_of(statement.body)


def statements_of(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, loops before what is inside them."""
    for statement in body:
        yield statement
        if isinstance(statement, For):
            yield from statements_of(statement.body)
