"""C99 source text of `run`: the loops, the copies and the points of a scalar program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ....ir.expression import unbracketed
from ..lowering.bands import SHORTEST, threaded, unrolled, writes_apart
from ..lowering.loop_program import (
    Access,
    Affine,
    Allocate,
    Array,
    Begin,
    Compute,
    Drain,
    Fill,
    Finish,
    For,
    Index,
    LookUp,
    LoopProgram,
    MoveUp,
    PerfectNest,
    RegisterTile,
    Statement,
    Variable,
    Zero,
    statements_of,
)
from .direct import added, number_text, point_text
from .nests import CNest
from .packed import Packed
from .text import affine_text, c_comment, c_names

LARGEST_ON_STACK = 1024
"""Elements of a buffer that is an automatic variable; larger ones are allocated."""
LARGEST_UNROLLED = 64
"""Iterations of the loops around the innermost one that a compiler is asked to unroll: what registers can hold."""


class CSchedule:
    """Names for everything in `run`, and its text; `packed`: of operands that are packed, how."""

    packed: Mapping[str, Packed] = MappingProxyType({})

    def __init__(self, program: LoopProgram) -> None:
        names = self.fresh = c_names()
        self.program = program
        self.names: dict[Variable, str] = {}
        for loop in program.loops():
            name = names.unique(f"{loop.variable.dim}{loop.variable.number}")
            self.names[loop.variable] = name
            if loop.count:
                self.names[loop.count] = names.unique(f"{name}_count")
        for statement in statements_of(program.body):
            for variable in statement.variables if isinstance(statement, LookUp) else ():
                self.names[variable] = names.unique(f"{variable.dim}{variable.number}_{variable.kind}")
        self.data = {a: names.unique(f"{a.tensor.name}_data") for a in program.arrays}
        self.array = {a: names.unique(a.tensor.name) for a in program.arrays}
        self.array |= {b: names.unique(f"{b.memory}_{b.tensor.name}") for b in program.buffers}
        deepest = max(len(a.shape) for a in self.array)
        self.copy_index = [names.unique(f"i{axis}") for axis in range(deepest)]
        self.threads = {loop.variable for loop in threaded(program.body)}
        self.unrolled = {loop.variable for loop in unrolled(program.body, LARGEST_UNROLLED)} - self.threads
        self.maxima = {op.output.name for op in program.cascade if op.reduction == "max"}
        self.iterated = {op.output.name for op in program.cascade if op.iterates}

    # ---- expressions ---------------------------------------------------------------------------------------

    def text(self, expression: Affine) -> str:
        return affine_text(expression, self.names)

    def element(self, array: Array, index: list[str]) -> str:
        """An element; a tensor without axes is an array of one element."""
        if array.tensor.name in self.packed and not array.is_local:
            return self.packed[array.tensor.name].at(index)
        ordered = [index[axis] for axis in array.order] or ["0"]
        return self.array[array] + "".join(f"[{text}]" for text in ordered)

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

    # ---- points -------------------------------------------------------------------------------------------

    def word(self, array: Array, index: list[str]) -> str:
        """An element as what is computed with; where a tensor has none, which is asked for around it, 0."""
        return self.inside(array, index, self.element(array, index), "0")

    def inside(self, array: Array, index: list[str], found: str, otherwise: str) -> str:
        """What is found, or something else around a tensor."""
        if not array.edges:
            return found
        inside = " && ".join(f"within({index[axis]}, {array.shape[axis]})" for axis in sorted(array.edges))
        return f"({inside} ? {found} : {otherwise})"

    def sum_kind(self, _: Compute) -> str:
        """The type in which points are summed up."""
        return "element"

    def combined(self, statement: Compute) -> str:
        """One point of an operation."""
        return self.joined(statement.target.array, self.index(statement.target), self.value(statement))

    def joined(self, array: Array, index: list[str], value: str) -> str:
        """A word of a tensor that is written, with what was there before."""
        target, tensor = self.element(array, index), array.tensor.name
        return f"{target} = {value};" if tensor in self.iterated else added(target, value, tensor in self.maxima)

    def value(self, statement: Compute) -> str:
        """What an operation makes of its operands at a point."""
        operands = zip(statement.operation.problem.operands, statement.operands, strict=True)
        words = {tensor.name: self.word(access.array, self.index(access)) for tensor, access in operands}
        words[statement.operation.output.name] = self.word(statement.target.array, self.index(statement.target))
        return point_text(statement.operation.expression, words)

    def finished(self, finish: Finish, value: str, position: list[str]) -> str:
        """What is done with a complete word at a position of its tensor; nothing in programs of one mapping."""
        raise NotImplementedError

    # ---- the function --------------------------------------------------------------------------------------

    def function_lines(self) -> Iterator[str]:
        program, parameters = self.program, []
        for array in program.arrays:
            if array.tensor.name in self.packed:
                parameters += self.packed[array.tensor.name].parameters
            else:
                parameters.append(f"{self.const(array)}element *restrict {self.data[array]}")
        yield f"void run({', '.join(parameters)})"
        yield "{"
        yield from self.given_lines()
        if not self.threads:
            yield from c_comment(_why_no_threads(program), "    ")
        yield from self.scope_lines(program.body, "    ")
        yield "}"

    def given_lines(self) -> Iterator[str]:
        """The arrays of the caller that are not packed, as arrays of as many axes as their tensors have."""
        for array in self.program.arrays:
            if array.tensor.name not in self.packed:
                yield from self.pointer_lines(array, self.const(array), self.data[array], "    ")

    def const(self, array: Array) -> str:
        """What an array is before its type, which is only read."""
        return "const " if array in self.program.inputs else ""

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
            elif isinstance(statement, For) and statement.variable not in self.threads:
                yield from self._allocated(statement.body)

    def body_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        for statement in body:
            match statement:
                case For():
                    yield from self.loop_lines(statement, indent)
                case Allocate(buffer):
                    yield from self.local_lines(buffer, indent)
                case Compute():
                    yield f"{indent}{self.combined(statement)}"
                case PerfectNest():
                    yield from CNest(self, statement).plain_lines(indent)
                case RegisterTile():
                    yield from CNest(self, statement.nest).tile_lines(statement, indent)
                case _:
                    yield from self.moving_lines(statement, indent)

    def moving_lines(self, statement: Statement, indent: str) -> Iterator[str]:
        """What is done with tiles, but for points."""
        match statement:
            case Zero():
                yield from self.zero_lines(statement, indent)
            case Begin():
                yield from self.begin_lines(statement, indent)
            case Fill() | Drain():
                yield from self.copy_lines(statement, indent)
            case LookUp():
                yield from self.look_up_lines(statement, indent)
            case MoveUp():
                yield from self.move_up_lines(statement, indent)

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

    def begin_lines(self, statement: Begin, indent: str) -> Iterator[str]:
        """Loops over words that are not combined with others yet."""
        index = self._copied(statement.extents)
        there = [plus(self.text(at), i) for at, i in zip(statement.at, index, strict=True)]
        action = f"{self.element(statement.array, there)} = {self.begun(statement)};"
        yield from self._box_lines(statement.array, statement.extents, action, indent)

    def begun(self, statement: Begin) -> str:
        """What elements begin with."""
        return number_text(statement.value)

    def look_up_lines(self, statement: LookUp, indent: str) -> Iterator[str]:
        """Constants from a table."""
        step = self.step(statement.loop, statement.tile)
        for column, variable in enumerate(statement.variables):
            name = self.names[variable]
            values = ", ".join(str(row[column]) for row in statement.rows)
            yield f"{indent}static const int64_t {name}_of[{len(statement.rows)}] = {{{values}}};"
            yield f"{indent}const int64_t {name} = {name}_of[{step}];"
            yield f"{indent}(void){name};"

    def move_up_lines(self, statement: MoveUp, indent: str) -> Iterator[str]:
        """Loops over all words of an array, from the first row on; after the last step's begin those of the step before
        are where this one has them."""
        array, axis, index = statement.array, statement.axis, self.copy_index
        shape = array.shape
        shift = self.names[statement.shift]
        row = index[axis] if shape[axis] > 1 else "0"
        here = [index[i] if n > 1 else "0" for i, n in enumerate(shape)]
        there = [f"{row} + {shift}" if i == axis else one for i, one in enumerate(here)]
        moved = f"within({row} + {shift}, {shape[axis]}) ? {self.element(array, there)} : {self.zero(array)}"
        yield from self._box_lines(
            array, tuple(map(Affine.of, shape)), f"{self.element(array, here)} = {moved};", indent
        )

    def step(self, loop: Variable, tile: int) -> str:
        """The number of a loop's step."""
        return f"{self.names[loop]} / {tile}" if tile > 1 else self.names[loop]

    def copied_text(self, statement: Fill | Drain, index: list[str], there: list[str]) -> str:
        """What is done with one element of a buffer, and of the array outside it, at these places."""
        if isinstance(statement, Fill):
            return f"{self.element(statement.buffer, index)} = {self.word(statement.source, there)};"
        return self.joined(statement.target, there, self.word(statement.buffer, index))

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

    @property
    def pragma(self) -> str:
        """What threads share a loop by."""
        return "#pragma omp parallel for schedule(static)"

    def loop_lines(self, loop: For, indent: str) -> Iterator[str]:
        name, is_shared = self.names[loop.variable], loop.variable in self.threads
        if loop.axis:
            yield from c_comment(f"parallel on {loop.axis}", indent)
        if is_shared:
            yield f"{indent}{self.pragma}"
        elif loop.variable in self.unrolled:
            yield f"{indent}#pragma GCC unroll {loop.trips}"
        if len(loop.body) == 1 and isinstance(loop.body[0], Compute) and self._is_sum(loop.body[0]):
            yield from self.innermost_lines(loop, loop.body[0], indent)
            return
        yield f"{indent}{self.head(loop)} {{"
        inner = f"{indent}    "
        if loop.count:
            end = loop.size if loop.end is None else self.text(loop.end)
            count = f"least({loop.step}, {end} - {name})"
            yield f"{inner}const int64_t {self.names[loop.count]} = {count};"
        lines = self.scope_lines if is_shared else self.body_lines
        yield from lines(loop.body, inner)
        yield f"{indent}}}"

    def _is_sum(self, statement: Compute) -> bool:
        return statement.operation.output.name not in self.maxima | self.iterated

    def head(self, loop: For) -> str:
        name = self.names[loop.variable]
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        return f"for (int64_t {name} = {self.text(loop.start)}; {name} < {self.text(loop.stop)}; {step})"

    def innermost_lines(self, loop: For, statement: Compute, indent: str) -> Iterator[str]:
        """A loop whose iterations are independent, or one that sums up: vectors are asked for, if it is long enough."""
        hint = loop.trips >= SHORTEST
        if any(v == loop.variable for part in statement.target.index for v, _ in part.terms):
            if hint:
                yield f"{indent}#pragma omp simd"
            yield f"{indent}{self.head(loop)}"
            yield f"{indent}    {self.combined(statement)}"
            return
        yield f"{indent}{{"
        yield f"{indent}    {self.sum_kind(statement)} sum = 0;"
        if hint:
            yield f"{indent}    #pragma omp simd reduction(+ : sum)"
        yield f"{indent}    {self.head(loop)}"
        yield f"{indent}        sum += {unbracketed(self.value(statement))};"
        yield f"{indent}    {self.access(statement.target)} += sum;"
        yield f"{indent}}}"


def _why_no_threads(program: LoopProgram) -> str:
    spatial = [loop for loop in program.loops() if loop.axis]
    if not spatial:
        return "One thread: no loop of the mapping is spatial."
    if not any(writes_apart(loop, operation) for loop in spatial for operation in program.cascade):
        return "One thread: the instances of every spatial loop add to the same outputs."
    return "One thread: the spatial loops hold too little work."


def plus(at: str, index: str, step: int = 1) -> str:
    """The index of an element in the array that a tile is copied from."""
    if index == "0":
        return at
    shift = index if step == 1 else f"{step} * {index}"
    return shift if at == "0" else f"{at} + {shift}"
