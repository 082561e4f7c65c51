"""A mapping as MLIR: one function over memrefs, in the dialects func, affine, memref and arith.

Every loop is an `affine.for`, every bound and index an affine map, ragged edges minima. A loop over instances carries
the attribute `tilewright.axis`, and `tilewright.reduces` where its iterations add to the same elements; a local buffer
has `tilewright.memory`. Compilers that do not know them leave them alone. The function sets the output to 0 before it
adds to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

from ....arch import Architecture
from ....ir import Mapping
from ..lowering.bands import writes_apart
from ..lowering.loop_program import (
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
    Variable,
    Zero,
)
from ..lowering.lowering import lower
from ..parts.exactness import Element, check_element
from ..parts.names import comment, printable
from ..parts.trees import heading
from .offsets import Offsets, Spelling, copied_axes, spelled, tile_index

_TYPES: dict[Element, tuple[str, str, str]] = {
    "float": ("f32", "0.0", "f"),
    "double": ("f64", "0.0", "f"),
    "int32": ("i32", "0", "i"),
}
"""Of each kind of element: its type in MLIR, its zero, and the last letter of its operations."""
TAKEN = ("main", "malloc", "free", "aligned_alloc", "memcpy", "memset", "memmove", "zero")
"""Symbols that the function must not replace when it is linked with what it calls, and the name of the constant."""


def emit_mlir(
    mapping: Mapping, arch: Architecture, element: Element = "float", copied: Collection[str] | None = None
) -> str:
    """The text.

    element  of all arrays
    copied   what is copied into local buffers, as `lower` has it

    Raises MappingError when a node or loop stands where the architecture has no place for it, or `copied` names
    something else than memories.
    """
    check_element(element)
    program = lower(mapping, arch, copied)
    printer = _MlirPrinter(program, element)
    lines = [
        *comment("MLIR. Written by tilewright.", mark="//"),
        *comment(heading(program.fused, arch), mark="//"),
        *printer.function_lines(),
    ]
    return "\n".join(lines) + "\n"


class _MlirPrinter:
    def __init__(self, program: LoopProgram, element: Element) -> None:
        self.program = program
        self.offsets = Offsets(program)
        self.spelling = Spelling(program, TAKEN)
        self.type, self.zero, self.suffix = _TYPES[element]
        self.numbers = itertools.count()

    def function_lines(self) -> Iterator[str]:
        arguments = ", ".join(f"%{self.spelling.array[a]}: {self.array_type(a)}" for a in self.program.arrays)
        yield f"func.func @{self.spelling.function}({arguments}) attributes {{llvm.emit_c_interface}} {{"
        yield f"  %zero = arith.constant {self.zero} : {self.type}"
        yield from _indented(self.body_lines(self.program.body))
        yield "  return"
        yield "}"

    def body_lines(self, body: Sequence[Statement]) -> Iterator[str]:
        """The statements; what they allocate is freed at the end."""
        for statement in body:
            yield from self.statement_lines(statement)
        for statement in reversed(body):
            if isinstance(statement, Allocate):
                yield f"memref.dealloc %{self.spelling.array[statement.buffer]} : {self.array_type(statement.buffer)}"

    def statement_lines(self, statement: Statement) -> Iterator[str]:
        match statement:
            case For():
                yield from self.loop_lines(statement)
            case Allocate(buffer):
                yield from comment(f"{buffer.memory} keeps {buffer.tensor.name}", mark="//")
                attribute = f"{{tilewright.memory = {_string(buffer.memory)}}}"
                yield f"%{self.spelling.array[buffer]} = memref.alloc() {attribute} : {self.array_type(buffer)}"
            case Zero(array, extents):
                yield from self.copy_lines(extents, [self.store("%zero", array, self.within(extents))])
            case Fill(extents=extents):
                yield from self.copy_lines(extents, list(self.fill_lines(statement)))
            case Drain(extents=extents):
                yield from self.copy_lines(extents, list(self.drain_lines(statement)))
            case Compute():
                yield from self.mac_lines(statement)

    # ---- loops ---------------------------------------------------------------------------------------------

    def loop_lines(self, loop: For) -> Iterator[str]:
        reduces = "" if writes_apart(loop, self.program.cascade.operations[0]) else ", tilewright.reduces"
        attributes = f" {{tilewright.axis = {_string(str(loop.axis))}{reduces}}}" if loop.axis else ""
        name = self.spelling.variable[loop.variable]
        yield self.for_line(name, loop.stop - loop.start, loop.step)
        yield from _indented(self.body_lines(loop.body))
        yield f"}}{attributes}"

    def for_line(self, name: str, extent: Affine, step: int = 1) -> str:
        """`affine.for` from 0 to an extent, which may be the least of several."""
        bounds = self.offsets.least(extent)
        used = list(dict.fromkeys(variable for bound in bounds for variable, _ in bound.terms))
        texts = [spelled(bound, lambda v: f"d{used.index(v)}") for bound in bounds]
        if used:
            dims = ", ".join(f"d{i}" for i in range(len(used)))
            arguments = ", ".join(self.value(v) for v in used)
            minimum = "min " if len(bounds) > 1 else ""
            stop = f"{minimum}affine_map<({dims}) -> ({', '.join(texts)})>({arguments})"
        else:
            stop = texts[0]
        stride = f" step {step}" if step > 1 else ""
        return f"affine.for %{name} = 0 to {stop}{stride} {{"

    def copy_lines(self, extents: Index, inner: Sequence[str]) -> Iterator[str]:
        """Loops over the axes of a tile, and what is done with each element."""
        axes = copied_axes(extents)
        for depth, axis in enumerate(axes):
            yield "  " * depth + self.for_line(self.spelling.axes[axis], extents[axis])
        for line in inner:
            yield "  " * len(axes) + line
        for depth in reversed(range(len(axes))):
            yield "  " * depth + "}"

    # ---- elements ------------------------------------------------------------------------------------------

    def array_type(self, array: Array) -> str:
        return f"memref<{''.join(f'{array.shape[axis]}x' for axis in array.order)}{self.type}>"

    def value(self, variable: Variable) -> str:
        return f"%{self.spelling.variable[variable]}"

    def index(self, index: Index) -> list[str]:
        return [spelled(self.offsets.of(part), self.value) for part in index]

    def within(self, extents: Index, at: Index | None = None, steps: Sequence[int] | None = None) -> list[str]:
        """The index of the copy loops' element, in a tile, or in an array that holds the tile."""
        begin = self.index(at) if at is not None else ["0"] * len(extents)
        axes = [f"%{name}" for name in self.spelling.axes]
        return tile_index(begin, extents, steps or [1] * len(extents), axes)

    def load(self, name: str, array: Array, index: Sequence[str]) -> str:
        return f"{name} = affine.load {self.element(array, index)}"

    def store(self, name: str, array: Array, index: Sequence[str]) -> str:
        return f"affine.store {name}, {self.element(array, index)}"

    def element(self, array: Array, index: Sequence[str]) -> str:
        ordered = ", ".join(index[axis] for axis in array.order)
        return f"%{self.spelling.array[array]}[{ordered}] : {self.array_type(array)}"

    def fresh(self) -> str:
        """A name for a value: bodies without loops share a scope, so no name is given twice."""
        return f"%{next(self.numbers)}"

    def fill_lines(self, fill: Fill) -> Iterator[str]:
        word = self.fresh()
        yield self.load(word, fill.source, self.within(fill.extents, fill.at, fill.steps))
        yield self.store(word, fill.buffer, self.within(fill.extents))

    def drain_lines(self, drain: Drain) -> Iterator[str]:
        word = self.fresh()
        yield self.load(word, drain.buffer, self.within(drain.extents))
        yield from self.accumulate_lines(word, drain.target, self.within(drain.extents, drain.at))

    def mac_lines(self, mac: Compute) -> Iterator[str]:
        """The product of all factors, added to the target."""
        factors = []
        for access in mac.operands:
            factors.append(self.fresh())
            yield self.load(factors[-1], access.array, self.index(access.index))
        product = factors[0]
        for factor in factors[1:]:
            last, product = product, self.fresh()
            yield f"{product} = arith.mul{self.suffix} {last}, {factor} : {self.type}"
        yield from self.accumulate_lines(product, mac.target.array, self.index(mac.target.index))

    def accumulate_lines(self, value: str, target: Array, index: Sequence[str]) -> Iterator[str]:
        before, after = self.fresh(), self.fresh()
        yield self.load(before, target, index)
        yield f"{after} = arith.add{self.suffix} {before}, {value} : {self.type}"
        yield self.store(after, target, index)


def _string(text: str) -> str:
    r"""A string literal: `\` and `"` are written as their codes."""
    return '"' + printable(text).replace("\\", "\\5C").replace('"', "\\22") + '"'


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
