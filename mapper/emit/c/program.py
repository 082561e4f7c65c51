"""A mapping as one self-contained C99 file: the schedule, the same operations in plain loops, and a check of both."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from collections.abc import Mapping as MappingABC

from ....arch import Architecture
from ....ir import Mapping, MappingError
from ..lowering.loop_program import LoopProgram
from ..lowering.lowering import lower
from ..parts.exactness import Element, check_element, largest_exact
from ..parts.steps import operand_shapes
from ..parts.trees import heading, layer_of
from .direct import cascade_lines, generations_of
from .packed import RANDOM_NUMBER, Packed, packed_lines, packed_operands
from .runtime import BUFFERS, CHECK, CLOCKS, FUNCTIONS, HEAD, LEAST, MAIN
from .schedule import CSchedule
from .text import c_comment

_TYPES = {"float": "float", "double": "double", "int32": "int32_t"}
"""Of each kind of element, its name in C."""


def emit_c(
    mapping: Mapping,
    arch: Architecture,
    element: Element | None = None,
    copied: Collection[str] | None = None,
) -> str:
    """The text of a C99 file with `run(inputs..., outputs...)`, which executes the mapping, and a `main` that checks it
    against the same operations done one after the other.

    element  of all arrays; None: floats for a nest, doubles for a tree
    copied   what is copied into local buffers: "GLB" (a memory), "GLB.W" (a tensor in it); None: everything that the
             mapping keeps. On a processor with caches, leave out those: they keep what passes through them

    Raises MappingError when a node or loop stands where the architecture has no place for it, for trees whose programs
    cannot be written yet, when `copied` names something else than memories, or when sums are too long to be checked in
    this kind of element.
    """
    if element is None:
        element = "double" if mapping.is_of_cascade else "float"
    check_element(element)
    program = lower(mapping, arch, copied, laid_out=True)
    layer = layer_of(program.cascade)
    schedule = CSchedule(program)
    packed = schedule.packed = _packed(mapping, arch, schedule)
    orders = {array.tensor.name: array.order for array in program.arrays}
    ragged = layer is None or any(loop.count for loop in program.loops())
    parts = [
        c_comment("Operations on one accelerator, as a schedule in C99. Written by tilewright."),
        c_comment("    cc -O3 -march=native -fopenmp schedule.c -lm -o schedule && ./schedule"),
        [""],
        c_comment(heading(program.fused, arch)),
        _header_lines(mapping, arch, copied),
        [HEAD, f"typedef {_TYPES[element]} element;", BUFFERS],
        [LEAST] if ragged else [],
        [FUNCTIONS] if layer is None else [],
        packed_lines(packed),
        c_comment("The schedule. Loop variables are first indices of tiles; buffers begin at the tile that they hold."),
        schedule.function_lines(),
        [CHECK],
        c_comment("The same operations, one after the other: what the outputs of run() are compared with."),
        cascade_lines(program.cascade, orders, totals=layer is not None),
        _constant_lines(program, element, packed),
        [RANDOM_NUMBER] if packed else [],
        *(each.pack_lines() for each in packed.values()),
        [CLOCKS, _main(program, packed)],
    ]
    return "\n".join(line for part in parts for line in part)


def _packed(mapping: Mapping, arch: Architecture, schedule: CSchedule) -> dict[str, Packed]:
    """The operands that the outermost memory has packed."""
    if not mapping.work.has_zeros:
        return {}
    names = {array.tensor.name: name.removesuffix("_data") for array, name in schedule.data.items()}
    return packed_operands(mapping.problem, arch, operand_shapes(mapping.problem), names)


def _main(program: LoopProgram, packed: MappingABC[str, Packed]) -> str:
    """The check; operands that are packed get their zeros, and are packed, before anything is computed."""
    names = list(program.cascade.tensors)
    lines = [f"    {each.name}_pack(array[{names.index(name)}], &state);\n" for name, each in packed.items()]
    before = "    double best = 0;\n"
    return MAIN.replace(before, "".join(lines) + before)


def _header_lines(mapping: Mapping, arch: Architecture, copied: Collection[str] | None) -> Iterator[str]:
    """What a caller should know besides."""
    if not mapping.is_of_cascade:
        stated = arch.memories[0].layouts
        orders = [f"{t.name} {stated[t.name]}" for t in mapping.problem.tensors if t.name in stated]
        if orders:
            yield from c_comment(
                f"Layouts       {', '.join(orders)}, the arrays of run(); a rank with a block stands last"
            )
    if copied is not None:
        yield from c_comment(f"Copied        {', '.join(copied) or 'nothing'}")


def _constant_lines(program: LoopProgram, element: Element, packed: MappingABC[str, Packed]) -> Iterator[str]:
    cascade, layer = program.cascade, layer_of(program.cascade)
    number = {name: i for i, name in enumerate(cascade.tensors)}
    largest = largest_exact([(operation, {t: t for t in cascade.tensors}) for operation in cascade], element)
    is_infinite = any(op.reduction == "max" or not math.isfinite(op.start or 0) for op in cascade)
    if (not largest and (layer is not None or element != "double")) or (element == "int32" and is_infinite):
        what = "results"
        if layer is not None:
            terms = math.prod(size for dim, size in layer.dims if dim not in layer.output.dims)
            what = f"sums of {terms:,} products"
        message = f"{what} are not exact in elements of type {element}, so they cannot be checked"
        raise MappingError(message, where=cascade.name, hint="emit it with elements of type double")
    elements = ", ".join(f"INT64_C({math.prod(cascade.extents(name))})" for name in cascade.tensors)
    outputs = [array.tensor.name for array in program.outputs]
    yield f"#define TENSORS {len(number)}"
    yield f"#define OUTPUTS {len(outputs)}"
    yield f"#define EXACT {int(largest > 0)}"
    yield f"#define LARGEST {largest or 1}"
    yield f"#define POINTS {cascade.macs}.0"
    yield f'#define RATE "{"GMAC/s" if layer is not None else "Gpoint/s"}"'
    yield f"static const int64_t ELEMENTS[TENSORS] = {{{elements}}};"
    generations = ", ".join(str(generations_of(cascade, name)) for name in number)
    yield f"static const int64_t GENERATIONS[TENSORS] = {{{generations}}};"
    yield f"static const int IS_INPUT[TENSORS] = {{{', '.join(str(int(t not in cascade.producers)) for t in number)}}};"
    yield f"static const int OUTPUT[OUTPUTS] = {{{', '.join(str(number[name]) for name in outputs)}}};"
    given: list[str] = []
    for array in program.inputs:
        name = array.tensor.name
        given += packed[name].arguments if name in packed else [f"(array)[{number[name]}]"]
    given += [f"(found)[{i}]" for i in range(len(outputs))]
    yield f"#define RUN(array, found) run({', '.join(given)})"
