"""A mapping as TVM TensorIR: a module with one `T.prim_func`, which TVM's script parser reads.

Every loop counts trips from 0. A loop over instances has the annotation `tilewright.axis`, and `tilewright.reduces`
where its iterations add to the same elements; the outermost that does not is `T.parallel`, if it holds enough work for
threads (which do not nest). The innermost loop is `T.vectorized` where its iterations are neighbours in memory. A local
buffer has its memory as the tag of its scope. The function sets the output to 0 before it adds to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from ....arch import Architecture
from ....ir import Mapping, MappingError, ceil_div
from ..lowering.bands import threaded, writes_apart
from ..lowering.loop_program import (
    Access,
    Affine,
    Allocate,
    Array,
    Compute,
    Drain,
    Fill,
    For,
    Index,
    LoopProgram,
    Statement,
    Zero,
)
from ..lowering.lowering import lower
from ..parts.exactness import Element, check_element
from ..parts.names import DEEPEST, FreshNames, comment, printable
from ..parts.trees import heading
from .offsets import Offsets, Spelling, copied_axes, spelled, tile_index

LANES = range(4, 65)
"""Trips of an innermost loop that becomes vector instructions."""
_TYPES: dict[Element, str] = {"float": "float32", "double": "float64", "int32": "int32"}


def emit_tvm(
    mapping: Mapping, arch: Architecture, element: Element = "float", copied: Collection[str] | None = None
) -> str:
    """The text.

    element  of all arrays
    copied   what is copied into local buffers, as `lower` has it

    Raises MappingError when a node or loop stands where the architecture has no place for it, when `copied` names
    something else than memories, or when the nest is deeper than Python's.
    """
    check_element(element)
    program = lower(mapping, arch, copied)
    printer = _TvmPrinter(program, _TYPES[element])
    lines = [
        '"""TVM TensorIR (TVMScript). Written by tilewright."""',
        "",
        "from tvm.script import tirx as T",
        "",
        *comment(heading(program.fused, arch)),
        "",
        "",
        *printer.function_lines(),
    ]
    depth = max((len(line) - len(line.lstrip())) // 4 for line in lines) - 1
    if depth > DEEPEST:
        raise MappingError(
            f"Python nests {DEEPEST} loops at most, and these need {depth}",
            where="TVMScript",
            hint="join neighbouring loops over the same dimension",
        )
    return "\n".join(lines) + "\n"


class _TvmPrinter:
    def __init__(self, program: LoopProgram, element: str) -> None:
        self.program = program
        self.element = element
        self.offsets = Offsets(program, by_trips=True)
        self.spelling = Spelling(program)
        self.parallel = next(threaded(program.body), None)
        self.vector = _vector_loop(program)
        self.wide = any(math.prod(array.shape) >= 2**31 for array in program.arrays)
        scopes = FreshNames()
        self.scope = {memory: scopes.unique(memory) for memory in dict.fromkeys(b.memory for b in program.buffers)}

    def function_lines(self) -> Iterator[str]:
        arguments = [f"{self.spelling.array[a]}: {self.buffer_type(a)}" for a in self.program.arrays]
        yield "@T.prim_func"
        yield f"def {self.spelling.function}({', '.join(arguments)}):"
        yield '    T.func_attr({"tirx.noalias": True})'
        yield from _indented(self.body_lines(self.program.body))

    def body_lines(self, body: Sequence[Statement]) -> Iterator[str]:
        for statement in body:
            yield from self.statement_lines(statement)

    def statement_lines(self, statement: Statement) -> Iterator[str]:
        match statement:
            case For():
                yield from self.loop_lines(statement)
            case Allocate(buffer):
                name, scope = self.spelling.array[buffer], f"global.{self.scope[buffer.memory]}"
                keeps = " ".join(comment(f"{buffer.memory} keeps {buffer.tensor.name}"))
                yield f'{name} = T.alloc_buffer({self.shape(buffer)}, "{self.element}", scope="{scope}")  {keeps}'
            case Zero(array, extents):
                yield from self.copy_lines(extents, f"{self.copied(array, extents)} = T.{self.element}(0)")
            case Fill(buffer, source, at, extents, steps):
                copy = f"{self.copied(buffer, extents)} = {self.copied(source, extents, at, steps)}"
                yield from self.copy_lines(extents, copy)
            case Drain(buffer, target, at, extents):
                copy = f"{self.copied(target, extents, at)} += {self.copied(buffer, extents)}"
                yield from self.copy_lines(extents, copy)
            case Compute(target=target, operands=factors):
                yield f"{self.access(target)} += {' * '.join(self.access(factor) for factor in factors)}"

    # ---- loops ---------------------------------------------------------------------------------------------

    def loop_lines(self, loop: For) -> Iterator[str]:
        """A loop, or several right inside each other as one `T.grid`."""
        group = self.group(loop)
        names = ", ".join(self.spelling.variable[x.variable] for x in group)
        if len(group) > 1:
            yield f"for {names} in T.grid({', '.join(self.trips(x) for x in group)}):"
        else:
            kind = "parallel" if loop is self.parallel else "vectorized" if loop is self.vector else "serial"
            yield f"for {names} in T.{kind}({self.trips(loop)}{self.annotations(loop)}):"
        last = group[-1]
        if last.count is not None:
            name = self.spelling.variable[last.count]
            yield f"    {name}: T.let = T.min({', '.join(map(self.spelled, self.offsets.count(last)))})"
        yield from _indented(self.body_lines(last.body))

    def annotations(self, loop: For) -> str:
        if loop.axis is None:
            return ""
        found: dict[str, object] = {"tilewright.axis": printable(str(loop.axis))}
        if not writes_apart(loop, self.program.cascade.operations[0]):
            found["tilewright.reduces"] = 1
        return f", annotations={json.dumps(found)}"

    def group(self, loop: For) -> list[For]:
        """The loop, and those that a `T.grid` can take with it: in time, with nothing between or before them."""
        found = [loop]
        while found[-1].axis is None and found[-1].count is None and len(found[-1].body) == 1:
            (inner,) = found[-1].body
            if not isinstance(inner, For) or inner.axis or inner.count or inner is self.vector:
                break
            found.append(inner)
        return found

    def trips(self, loop: For) -> str:
        extent = self.offsets.of(loop.stop - loop.start)
        if not extent.terms:
            return self.number(ceil_div(extent.constant, loop.step))
        return self.spelled(extent) if loop.step == 1 else f"T.ceildiv({self.spelled(extent)}, {loop.step})"

    def copy_lines(self, extents: Index, statement: str) -> Iterator[str]:
        """Loops over the axes of a tile, and what is done with each element."""
        axes = copied_axes(extents)
        if not axes:
            yield statement
            return
        names = ", ".join(self.spelling.axes[axis] for axis in axes)
        bounds = [self.offsets.of(extents[axis]) for axis in axes]
        trips = ", ".join(self.spelled(x) if x.terms else self.number(x.constant) for x in bounds)
        yield f"for {names} in T.grid({trips}):"
        yield f"    {statement}"

    # ---- elements ------------------------------------------------------------------------------------------

    def spelled(self, value: Affine) -> str:
        return spelled(value, self.spelling.variable.__getitem__)

    def number(self, value: int) -> str:
        """A bound; loops and shapes of more than 2**31 elements have 64 bits."""
        return f"T.int64({value})" if self.wide else str(value)

    def shape(self, array: Array) -> str:
        extents = [self.number(array.shape[axis]) for axis in array.order]
        return f"({', '.join(extents)}{',' * (len(extents) == 1)})"

    def index(self, index: Index) -> list[str]:
        return [self.spelled(self.offsets.of(part)) for part in index]

    def buffer_type(self, array: Array) -> str:
        return f'T.Buffer({self.shape(array)}, "{self.element}")'

    def copied(self, array: Array, extents: Index, at: Index | None = None, steps: Sequence[int] | None = None) -> str:
        """The copy loops' element of a tile, or of an array that holds the tile."""
        begin = self.index(at) if at is not None else ["0"] * len(extents)
        return self.indexed(array, tile_index(begin, extents, steps or [1] * len(extents), self.spelling.axes))

    def access(self, access: Access) -> str:
        return self.indexed(access.array, self.index(access.index))

    def indexed(self, array: Array, index: Sequence[str]) -> str:
        return f"{self.spelling.array[array]}[{', '.join(index[axis] for axis in array.order) or '()'}]"


def _vector_loop(program: LoopProgram) -> For | None:
    """The innermost loop, where its iterations are lanes: a few, of known number, on neighbouring outputs, each with an
    operand's next element or all with the same one."""
    loop = next((x for x in program.loops() if isinstance(x.body[0], Compute)), None)
    if loop is None or not writes_apart(loop, program.cascade.operations[0]) or (loop.stop - loop.start).terms:
        return None
    (mac,) = loop.body
    assert isinstance(mac, Compute)
    strides = [_stride(access, loop) for access in (mac.target, *mac.operands)]
    return loop if loop.trips in LANES and None not in strides and strides[0] == 1 else None


def _stride(access: Access, loop: For) -> int | None:
    """Elements from one iteration's to the next one's: 0 or 1; None: farther away."""
    moves = [dict(access.index[axis].terms).get(loop.variable, 0) for axis in access.array.order]
    return moves[-1] if moves and moves[-1] in (0, 1) and not any(moves[:-1]) else None if any(moves) else 0


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)
