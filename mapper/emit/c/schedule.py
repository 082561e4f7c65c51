"""C99 source text of `run`: the loops and copies of a scalar program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ....arch import Architecture
from ..lowering.loop_program import (
    Access,
    Affine,
    Allocate,
    Array,
    Drain,
    Fill,
    For,
    Index,
    LoopProgram,
    MultiplyAccumulate,
    Statement,
    Variable,
    Zero,
    parallel_loop,
    writes_apart,
)
from .packed import Packed, packed_operands
from .text import affine_text, c_comment, c_names

LARGEST_ON_STACK = 1024
"""Elements of a buffer that is an automatic variable; larger ones are allocated."""
LARGEST_UNROLLED = 64
"""Iterations of the loops around the innermost one that a compiler is asked to unroll: what registers can hold."""
SHORTEST_VECTOR = 4
"""Iterations of an innermost loop that a compiler is asked to turn into vector instructions."""


class CSchedule:
    """Names for everything in `run`, and its text; `arch`: whose outermost memory may have operands packed."""

    packed: Mapping[str, Packed] = MappingProxyType({})

    def __init__(self, program: LoopProgram, arch: Architecture | None = None) -> None:
        self.program = program
        names = c_names()
        self.names: dict[Variable, str] = {}
        for loop in program.loops():
            name = names.unique(f"{loop.variable.dim}{loop.variable.number}")
            self.names[loop.variable] = name
            if loop.count:
                self.names[loop.count] = names.unique(f"{name}_count")
        self.data = {a: names.unique(f"{a.tensor.name}_data") for a in program.arrays}
        self.array = {a: names.unique(a.tensor.name) for a in program.arrays}
        self.array |= {b: names.unique(f"{b.memory}_{b.tensor.name}") for b in program.buffers}
        shapes = {a.tensor.name: a.shape for a in program.arrays}
        data_names = {a.tensor.name: self.data[a].removesuffix("_data") for a in program.arrays}
        self.packed = {} if arch is None else packed_operands(program.problem, arch, shapes, data_names)
        deepest = max(len(a.shape) for a in program.arrays)
        self.copy_index = [names.unique(f"i{axis}") for axis in range(deepest)]
        self.parallel = parallel_loop(program)
        self.unrolled = set(_unrolled(program))

    # ---- expressions ---------------------------------------------------------------------------------------

    def text(self, expression: Affine) -> str:
        return affine_text(expression, self.names)

    def element(self, array: Array, index: list[str]) -> str:
        """An element; a tensor without axes is an array of one element."""
        if array.tensor.name in self.packed and not array.is_local:
            return self.packed[array.tensor.name].at(index)
        ordered = [index[axis] for axis in array.order] or ["0"]
        return self.array[array] + "".join(f"[{text}]" for text in ordered)

    def word(self, array: Array, index: list[str]) -> str:
        """An element as what is computed with."""
        return self.element(array, index)

    def kind(self, _: Array) -> str:
        """The type of its elements."""
        return "element"

    def zero(self, _: Array) -> str:
        """What an element is that stands for 0."""
        return "0"

    def access(self, access: Access) -> str:
        return self.element(access.array, self.index(access))

    def index(self, access: Access) -> list[str]:
        return [self.text(part) for part in access.index]

    def row_type(self, array: Array) -> str:
        """`[5][7]` behind a pointer to rows, or nothing behind a pointer to elements."""
        return "".join(f"[{array.shape[axis]}]" for axis in array.order[1:])

    # ---- the function --------------------------------------------------------------------------------------

    def function_lines(self) -> Iterator[str]:
        parameters: list[str] = []
        for a in self.program.arrays:
            if a.tensor.name in self.packed:
                parameters += self.packed[a.tensor.name].parameters
            else:
                const = "" if a is self.program.output else "const "
                parameters.append(f"{const}element *restrict {self.data[a]}")
        yield f"void run({', '.join(parameters)})"
        yield "{"
        for array in self.program.arrays:
            if array.tensor.name in self.packed:
                continue
            const = "" if array is self.program.output else "const "
            yield from self.pointer_lines(array, const, self.data[array], "    ")
        if self.parallel is None:
            yield from c_comment(_why_not_parallel(self.program), "    ")
        yield from self.scope_lines(self.program.body, "    ")
        yield "}"

    def pointer_lines(
        self, array: Array, const: str, source: str, indent: str, restrict: str = "restrict "
    ) -> Iterator[str]:
        """The array as one of as many axes as the tensor has."""
        rows, name, kind = self.row_type(array), self.array[array], self.kind(array)
        shown = " x ".join(str(array.shape[axis]) for axis in array.order) or "1"
        yield from c_comment(f"{array.memory} keeps {array.tensor}: {shown}", indent)
        if rows:
            cast = f"({const}{kind} (*){rows})"
            yield f"{indent}{const}{kind} (*{restrict}{name}){rows} = {cast}{source};"
        else:
            cast = "" if kind == "element" else f"({const}{kind} *)"
            yield f"{indent}{const}{kind} *{restrict}{name} = {cast}{source};"

    def scope_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        """A body with the large buffers that belong to it: to one thread, below the loop that threads share."""
        large = [b for b in self._allocated(body) if b.elements > LARGEST_ON_STACK]
        for buffer in large:
            yield from self.pointer_lines(buffer, "", f"allocate({buffer.elements})", indent)
        yield from self.body_lines(body, indent)
        yield from (f"{indent}free({self.array[buffer]});" for buffer in large)

    def _allocated(self, body: tuple[Statement, ...]) -> Iterator[Array]:
        for statement in body:
            if isinstance(statement, Allocate):
                yield statement.buffer
            elif isinstance(statement, For) and statement is not self.parallel:
                yield from self._allocated(statement.body)

    def body_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        for statement in body:
            if isinstance(statement, For):
                yield from self.loop_lines(statement, indent)
            elif isinstance(statement, Allocate):
                yield from self.local_lines(statement.buffer, indent)
            elif isinstance(statement, Zero):
                yield from self.zero_lines(statement, indent)
            elif isinstance(statement, MultiplyAccumulate):
                yield f"{indent}{self.access(statement.target)} += {self.product(statement)};"
            elif isinstance(statement, (Fill, Drain)):
                yield from self.copy_lines(statement, indent)

    def product(self, statement: MultiplyAccumulate) -> str:
        return " * ".join(self.access(factor) for factor in statement.factors)

    # ---- buffers -------------------------------------------------------------------------------------------

    def local_lines(self, buffer: Array, indent: str) -> Iterator[str]:
        if buffer.elements > LARGEST_ON_STACK:
            return
        yield from c_comment(f"{buffer.memory} keeps {buffer.tensor}", indent)
        sizes = "".join(f"[{buffer.shape[axis]}]" for axis in buffer.order) or "[1]"
        yield f"{indent}element {self.array[buffer]}{sizes};"

    def zero_lines(self, statement: Zero, indent: str) -> Iterator[str]:
        index = self._copied(statement.extents)
        if statement.at:
            index = [plus(self.text(at), i) for at, i in zip(statement.at, index, strict=True)]
        action = f"{self.element(statement.array, index)} = {self.zero(statement.array)};"
        yield from self._box_lines(statement.array, statement.extents, action, indent)

    def copy_lines(self, statement: Fill | Drain, indent: str) -> Iterator[str]:
        index = self._copied(statement.extents)
        steps = statement.steps if isinstance(statement, Fill) else (1,) * len(index)
        there = [plus(self.text(at), i, step) for at, i, step in zip(statement.at, index, steps, strict=True)]
        action = self.copied_text(statement, index, there)
        yield from self._box_lines(statement.buffer, statement.extents, action, indent)

    def copied_text(self, statement: Fill | Drain, index: list[str], there: list[str]) -> str:
        """What is done with one element of a buffer, and of the array outside it, at these places."""
        if isinstance(statement, Fill):
            return f"{self.element(statement.buffer, index)} = {self.word(statement.source, there)};"
        return f"{self.element(statement.target, there)} += {self.word(statement.buffer, index)};"

    def _copied(self, extents: Index) -> list[str]:
        """The index of a copy on each axis; an axis of one element needs no loop."""
        return ["0" if e == Affine.of(1) else name for e, name in zip(extents, self.copy_index, strict=False)]

    def _box_lines(self, array: Array, extents: Index, action: str, indent: str) -> Iterator[str]:
        """Loops over the extents, in the order of an array, around one action."""
        axes = [axis for axis in array.order if extents[axis] != Affine.of(1)]
        fixed = array.is_local and array.elements <= LARGEST_ON_STACK and not any(extents[a].terms for a in axes)
        unroll = fixed and math.prod(extents[axis].constant for axis in axes[:-1]) <= LARGEST_UNROLLED
        for axis in axes:
            if unroll and axis is not axes[-1]:
                yield f"{indent}#pragma GCC unroll {extents[axis].constant}"
            name = self.copy_index[axis]
            yield f"{indent}for (int64_t {name} = 0; {name} < {self.text(extents[axis])}; {name}++)"
            indent += "    "
        yield indent + action

    # ---- loops ---------------------------------------------------------------------------------------------

    def loop_lines(self, loop: For, indent: str) -> Iterator[str]:
        name = self.names[loop.variable]
        if loop.axis:
            yield from c_comment(f"parallel on {loop.axis}", indent)
        if loop is self.parallel:
            yield f"{indent}#pragma omp parallel for schedule(static)"
        elif loop.variable in self.unrolled:
            yield f"{indent}#pragma GCC unroll {loop.trips}"
        if isinstance(loop.body[0], MultiplyAccumulate) and loop is not self.parallel:
            yield from self.innermost_lines(loop, loop.body[0], indent)
            return
        yield f"{indent}{self.head(loop)} {{"
        inner = f"{indent}    "
        if loop.count:
            end = loop.size if loop.end is None else self.text(loop.end)
            count = f"least({loop.step}, {end} - {name})"
            yield f"{inner}const int64_t {self.names[loop.count]} = {count};"
        lines = self.scope_lines if loop is self.parallel else self.body_lines
        yield from lines(loop.body, inner)
        yield f"{indent}}}"

    def head(self, loop: For) -> str:
        name = self.names[loop.variable]
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        return f"for (int64_t {name} = {self.text(loop.start)}; {name} < {self.text(loop.stop)}; {step})"

    def innermost_lines(self, loop: For, statement: MultiplyAccumulate, indent: str) -> Iterator[str]:
        """A loop whose iterations are independent, or one that sums up: vectors are asked for, if it is long enough."""
        hint = loop.trips >= SHORTEST_VECTOR
        target, product = self.access(statement.target), self.product(statement)
        if any(v == loop.variable for part in statement.target.index for v, _ in part.terms):
            if hint:
                yield f"{indent}#pragma omp simd"
            yield f"{indent}{self.head(loop)}"
            yield f"{indent}    {target} += {product};"
            return
        yield f"{indent}{{"
        yield f"{indent}    element sum = 0;"
        if hint:
            yield f"{indent}    #pragma omp simd reduction(+ : sum)"
        yield f"{indent}    {self.head(loop)}"
        yield f"{indent}        sum += {product};"
        yield f"{indent}    {target} += sum;"
        yield f"{indent}}}"


def _why_not_parallel(program: LoopProgram) -> str:
    spatial = [loop for loop in program.loops() if loop.axis]
    if not spatial:
        return "One thread: no loop of the mapping is spatial."
    if not any(writes_apart(loop, program.problem) for loop in spatial):
        return "One thread: the instances of every spatial loop add to the same outputs."
    return "One thread: the spatial loops hold too little work."


def _unrolled(program: LoopProgram) -> Iterator[Variable]:
    """Variables of loops of known length right around the innermost one, as many as may be."""
    iterations = 1
    for loop in [*reversed([*program.loops()])][1:]:
        iterations *= loop.trips
        if iterations > LARGEST_UNROLLED or len(loop.body) > 1 or (loop.stop - loop.start).terms:
            return
        yield loop.variable


def plus(at: str, index: str, step: int = 1) -> str:
    """The index of an element in the array that a tile is copied from."""
    if index == "0":
        return at
    shift = index if step == 1 else f"{step} * {index}"
    return shift if at == "0" else f"{at} + {shift}"
