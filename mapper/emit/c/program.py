"""A mapping as one self-contained C99 file: the schedule, the same operation in plain loops, and a check of both."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from collections.abc import Mapping as MappingABC

from ....arch import Architecture
from ....ir import Mapping, MappingError, Problem, Tensor
from ..lowering.loop_program import Affine, LoopProgram, Variable
from ..lowering.lowering import lower
from ..parts.elements import Element, check_element
from .packed import RANDOM_NUMBER, Packed, packed_lines
from .runtime import BUFFERS, CHECK, CLOCKS, HEAD, LEAST, MAIN
from .schedule import CSchedule
from .text import affine_text, c_comment, c_names

_TYPES: dict[str, tuple[str, int]] = {"float": ("float", 24), "double": ("double", 53), "int32": ("int32_t", 31)}
"""Of each kind of element: its name in C, and the bits of whole numbers that it holds exactly."""
LARGEST = 4
"""Magnitude of the whole numbers that a program checks itself with, where their sums stay exact."""


def emit_c(
    mapping: Mapping, arch: Architecture, element: Element = "float", copied: Collection[str] | None = None
) -> str:
    """The text of a C99 file with `run(operands..., output)`, which executes the mapping, and a `main` that checks it.

    element  of all arrays
    copied   what is copied into local buffers: "GLB" (a memory), "GLB.W" (a tensor in it); None: everything that the
             mapping keeps. On a processor with caches, leave out those: they keep what passes through them

    Raises MappingError when a node or loop stands where the architecture has no place for it, when `copied` names
    something else than memories, or when sums are too long to be checked in this kind of element.
    """
    check_element(element)
    program = lower(mapping, arch, copied, laid_out=True)
    schedule = CSchedule(program, arch)
    packed = schedule.packed
    ragged = any(loop.count for loop in program.loops())
    parts = [
        _header_lines(mapping, arch, copied),
        [HEAD, f"typedef {_TYPES[element][0]} element;", BUFFERS],
        [LEAST] if ragged else [],
        packed_lines(packed),
        c_comment("The schedule. Loop variables are first indices of tiles; buffers begin at the tile that they hold."),
        schedule.function_lines(),
        [CHECK],
        c_comment("The same operation without a schedule: what the output of run() is compared with."),
        _direct_lines(program),
        [""],
        _constant_lines(program, element, packed),
        [RANDOM_NUMBER] if packed else [],
        *(each.pack_lines() for each in packed.values()),
        [CLOCKS, _main(program, packed)],
    ]
    return "\n".join(line for part in parts for line in part)


def _main(program: LoopProgram, packed: MappingABC[str, Packed]) -> str:
    """The check; operands that are packed get their zeros, and are packed, before anything is computed."""
    names = [array.tensor.name for array in program.arrays]
    lines = [f"    {each.name}_pack(array[{names.index(name)}], &state);\n" for name, each in packed.items()]
    before = "    const int64_t elements = ELEMENTS[ARRAYS - 1];\n"
    return MAIN.replace(before, "".join(lines) + before)


def _header_lines(mapping: Mapping, arch: Architecture, copied: Collection[str] | None) -> Iterator[str]:
    yield from c_comment("One layer on one accelerator, as a schedule in C99. Written by tilewright.")
    yield from c_comment("    cc -O3 -march=native -fopenmp schedule.c -o schedule && ./schedule")
    yield ""
    yield from c_comment(f"Layer         {mapping.problem}")
    yield from c_comment(f"Architecture  {arch.name}")
    if arch.description:
        yield from c_comment(f"              {arch.description}")
    orders = {
        t: memory.layouts[t.name]
        for memory in arch.memories[:1]
        for t in mapping.problem.tensors
        if t.name in memory.layouts
    }
    if orders:
        shown = ", ".join(f"{tensor.name} {text}" for tensor, text in orders.items())
        yield from c_comment(f"Layouts       {shown}, the arrays of run(); a rank with a block stands last")
    if copied is not None:
        yield from c_comment(f"Copied        {', '.join(copied) or 'nothing'}")
    yield from c_comment("Mapping")
    for line in str(mapping.nest).split("\n"):
        yield from c_comment(f"    {line}")


def _direct_lines(program: LoopProgram) -> Iterator[str]:
    """Loops over the output around loops over all else."""
    problem, names = program.problem, c_names()
    order = {array.tensor.name: array.order for array in program.arrays}
    data = {t.name: names.unique(t.name) for t in problem.tensors}
    loop = {dim: names.unique(dim) for dim in problem.dim_names}
    parameters = [f"const element *restrict {data[t.name]}" for t in problem.operands]
    yield f"void direct({', '.join([*parameters, f'element *restrict {data[problem.output.name]}'])})"
    yield "{"
    indent = "    "
    for dim in problem.dim_names:
        if dim in problem.output.dims:
            yield f"{indent}for (int64_t {loop[dim]} = 0; {loop[dim]} < {problem.sizes[dim]}; {loop[dim]}++)"
            indent += "    "
    yield f"{indent}{{"
    yield f"{indent}    element total = 0;"
    inner = f"{indent}    "
    for dim in problem.dim_names:
        if dim not in problem.output.dims:
            yield f"{inner}for (int64_t {loop[dim]} = 0; {loop[dim]} < {problem.sizes[dim]}; {loop[dim]}++)"
            inner += "    "
    product = " * ".join(f"{data[t.name]}[{_flat(problem, t, order[t.name], loop)}]" for t in problem.operands)
    yield f"{inner}total += {product};"
    output = problem.output
    yield f"{indent}    {data[output.name]}[{_flat(problem, output, order[output.name], loop)}] = total;"
    yield f"{indent}}}"
    yield "}"


def _flat(problem: Problem, tensor: Tensor, order: tuple[int, ...], loop: dict[str, str]) -> str:
    """The place of an element in the memory of a tensor, whose axes lie there in some order, the slowest first."""
    sizes = problem.sizes
    found, stride = Affine(), 1
    for rank in (tensor.ranks[axis] for axis in reversed(order)):
        for dim, coefficient in rank:
            found += Affine.of(Variable(dim, 0)).times(coefficient * stride)
        stride *= 1 + sum(c * (sizes[dim] - 1) for dim, c in rank)
    return affine_text(found, {Variable(dim, 0): name for dim, name in loop.items()})


def _constant_lines(program: LoopProgram, element: Element, packed: MappingABC[str, Packed]) -> Iterator[str]:
    problem = program.problem
    count = len(program.arrays)
    operands = [f"(array)[{i}]" for i in range(count - 1)]
    taken = [
        ", ".join(packed[array.tensor.name].arguments) if array.tensor.name in packed else operand
        for array, operand in zip(program.arrays, operands, strict=False)
    ]
    yield f"#define ARRAYS {count}"
    yield f"#define MACS {problem.macs}.0"
    yield f"#define LARGEST {_largest(problem, element)}"
    yield f"#define RUN(array, output) run({', '.join(taken)}, output)"
    yield f"#define DIRECT(array, output) direct({', '.join(operands)}, output)"
    elements = ", ".join(f"INT64_C({array.elements})" for array in program.arrays)
    yield f"static const int64_t ELEMENTS[ARRAYS] = {{{elements}}};"


def _largest(problem: Problem, element: Element) -> int:
    """The largest magnitude of operands with which every sum is exact."""
    terms = math.prod(size for dim, size in problem.dims if dim not in problem.output.dims)
    bits = _TYPES[element][1]
    for magnitude in range(LARGEST, 0, -1):
        if terms * magnitude ** len(problem.operands) < 2**bits:
            return magnitude
    message = f"sums of {terms:,} products are not exact in elements of type {element}, so they cannot be checked"
    raise MappingError(message, where=problem.name, hint="emit it with elements of type double")
