"""A fused mapping as one self-contained C99 file: the tree, the operations one after the other, and a check of both."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....arch import Architecture
from ....ir import FusedMapping
from ..lowering.bands import unrolled
from ..lowering.loop_program import Affine, Array, Begin, Compute, Drain, Fill, For, LookUp, MoveUp, Statement, Variable
from ..lowering.tree_lowering import lower_tree
from ..lowering.tree_scalar_program import TreeProgram, buffers_of, loops_of, statements_of
from ..parts.exactness import largest_exact
from .cascade import cascade_lines, generations_of
from .direct import added, number_text, point_text
from .runtime import BUFFERS, CHECK, CLOCKS, HEAD, LEAST
from .schedule import LARGEST_UNROLLED, SHORTEST_VECTOR, CSchedule, plus
from .text import c_comment, c_names
from .tree_runtime import FUNCTIONS, TREE_MAIN


def emit_c_tree(fused: FusedMapping, arch: Architecture) -> str:
    """The text of a C99 file with `run(inputs..., outputs...)`, which executes the tree on doubles, and a `main` that
    checks it against the operations done one after the other.

    Raises MappingError when a node or loop stands where the architecture has no place for it, and for trees whose
    programs cannot be written yet.
    """
    program = lower_tree(fused, arch)
    parts = [
        _header_lines(fused, arch),
        [HEAD.replace("#include <stdint.h>", "#include <math.h>\n#include <stdint.h>"), "typedef double element;"],
        [BUFFERS, LEAST, FUNCTIONS],
        c_comment("The tree. Loop variables are first indices of tiles; buffers begin at the tile that they hold."),
        CTree(program).function_lines(),
        [CHECK],
        c_comment("The same operations, one after the other: what the outputs of run() are compared with."),
        cascade_lines(fused.cascade),
        _constant_lines(program),
        [CLOCKS, TREE_MAIN],
    ]
    return "\n".join(line for part in parts for line in part)


class CTree(CSchedule):
    """Names for everything in `run`, and its text."""

    def __init__(self, program: TreeProgram) -> None:
        names = self.fresh = c_names()
        self.tree = program
        self.names: dict[Variable, str] = {}
        for loop in loops_of(program.body):
            name = names.unique(f"{loop.variable.dim}{loop.variable.number}")
            self.names[loop.variable] = name
            if loop.count:
                self.names[loop.count] = names.unique(f"{name}_count")
        for statement in statements_of(program.body):
            for variable in statement.variables if isinstance(statement, LookUp) else ():
                self.names[variable] = names.unique(f"{variable.dim}{variable.number}_{variable.kind}")
        arrays = (*program.inputs, *program.outputs)
        buffers = list(buffers_of(program.body))
        self.data = {a: names.unique(f"{a.tensor.name}_data") for a in arrays}
        self.array = {a: names.unique(a.tensor.name) for a in arrays}
        self.array |= {b: names.unique(f"{b.memory}_{b.tensor.name}") for b in buffers}
        deepest = max(len(a.shape) for a in (*arrays, *buffers))
        self.copy_index = [names.unique(f"i{axis}") for axis in range(deepest)]
        self.parallel = None
        self.unrolled = {loop.variable for loop in unrolled(program.body, LARGEST_UNROLLED)}
        self.maxima = {op.output.name for op in program.cascade if op.reduction == "max"}
        self.iterated = {op.output.name for op in program.cascade if op.iterates}

    def function_lines(self) -> Iterator[str]:
        program = self.tree
        given = [f"const element *restrict {self.data[a]}" for a in program.inputs]
        given += [f"element *restrict {self.data[a]}" for a in program.outputs]
        yield f"void run({', '.join(given)})"
        yield "{"
        for array in (*program.inputs, *program.outputs):
            yield from self.pointer_lines(array, "const " if array in program.inputs else "", self.data[array], "    ")
        yield from self.scope_lines(program.body, "    ")
        yield "}"

    def body_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        for statement in body:
            if isinstance(statement, Compute):
                yield f"{indent}{self.combined(statement)}"
            elif isinstance(statement, Begin):
                yield from self.begin_lines(statement, indent)
            elif isinstance(statement, LookUp):
                yield from self.look_up_lines(statement, indent)
            elif isinstance(statement, MoveUp):
                yield from self.move_up_lines(statement, indent)
            else:
                yield from super().body_lines((statement,), indent)

    def loop_lines(self, loop: For, indent: str) -> Iterator[str]:
        """A loop; the innermost one of a sum as one that compilers turn into vector instructions."""
        statement = loop.body[0]
        is_sum = isinstance(statement, Compute) and statement.operation.output.name not in self.maxima | self.iterated
        if len(loop.body) > 1 or not isinstance(statement, Compute) or not is_sum:
            yield from super().loop_lines(loop, indent)
            return
        if loop.axis:
            yield from c_comment(f"parallel on {loop.axis}", indent)
        hint = loop.trips >= SHORTEST_VECTOR
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
        yield f"{indent}        sum += {self.value(statement)};"
        yield f"{indent}    {self.access(statement.target)} += sum;"
        yield f"{indent}}}"

    def word(self, array: Array, index: list[str]) -> str:
        """An element as what is computed with; where a tensor has none, which is asked for around it, 0."""
        return self.inside(array, index, super().word(array, index), "0")

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
        if isinstance(statement, Drain):
            return self.joined(statement.target, there, self.word(statement.buffer, index))
        return super().copied_text(statement, index, there)


def _header_lines(fused: FusedMapping, arch: Architecture) -> Iterator[str]:
    yield from c_comment("A cascade of operations on one accelerator, as a tree in C99. Written by tilewright.")
    yield from c_comment("    cc -O3 -march=native tree.c -lm -o tree && ./tree")
    yield ""
    yield from c_comment(f"Cascade       {fused.cascade.name}")
    for line in str(fused.cascade).split("\n"):
        yield from c_comment(f"              {line}")
    yield from c_comment(f"Architecture  {arch.name}")
    yield from c_comment("Tree")
    for line in str(fused).split("\n"):
        yield from c_comment(f"    {line}")


# ---- the check ---------------------------------------------------------------------------------------------


def _constant_lines(program: TreeProgram) -> Iterator[str]:
    cascade = program.cascade
    number = {name: i for i, name in enumerate(cascade.tensors)}
    largest = largest_exact([(operation, {t: t for t in cascade.tensors}) for operation in cascade])
    elements = ", ".join(f"INT64_C({math.prod(cascade.extents(name))})" for name in cascade.tensors)
    outputs = [array.tensor.name for array in program.outputs]
    yield f"#define TENSORS {len(number)}"
    yield f"#define OUTPUTS {len(outputs)}"
    yield f"#define EXACT {int(largest > 0)}"
    yield f"#define LARGEST {largest or 1}"
    yield f"static const int64_t ELEMENTS[TENSORS] = {{{elements}}};"
    generations = ", ".join(str(generations_of(cascade, name)) for name in number)
    yield f"static const int64_t GENERATIONS[TENSORS] = {{{generations}}};"
    yield f"static const int IS_INPUT[TENSORS] = {{{', '.join(str(int(t not in cascade.producers)) for t in number)}}};"
    yield f"static const int OUTPUT[OUTPUTS] = {{{', '.join(str(number[name]) for name in outputs)}}};"
    given = [f"array[{number[a.tensor.name]}]" for a in program.inputs]
    given += [f"found[{i}]" for i in range(len(outputs))]
    yield f"#define RUN(array, found) run({', '.join(f'({one[:5]}){one[5:]}' for one in given)})"
