"""A compiled network as one self-contained C99 file: all groups, the same operations in plain loops, and a check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import get_args

from ....ir import MappingError
from ..c_runtime import BUFFERS, CHECK, CLOCKS, HEAD, LEAST
from ..c_schedule import LARGEST_ON_STACK
from ..c_text import c_comment, c_names
from ..c_tree_runtime import FUNCTIONS
from ..tree_scalar_program import buffers_of
from .addresses import ArenaKey, Staying
from .c_between import apart_calls, apart_lines
from .c_check import NetworkElement, constant_lines, network_direct_lines
from .c_group import CGroup, threads_of
from .c_runtime import APART, NETWORK_MAIN, STEP_TIMES
from .exact import is_rounded
from .operands import Reading, Weight
from .program import LINE, ApartCall, NetworkProgram, padded_buffer, scratch_buffer, scratch_height

_INCLUDES = HEAD.replace("#include <stdint.h>", "#include <math.h>\n#include <stdint.h>").replace(
    "#include <stdlib.h>", "#include <stdlib.h>\n#include <string.h>"
)


def emit_c_network(program: NetworkProgram, element: NetworkElement = "double") -> str:
    """The text of a C99 file with `run(inputs, weights, outputs, arena)`, which executes the groups without allocating
    anything, `load(weights, arena)` where weights lie on chip all the time, and a `main` that checks it against the
    operations done one after the other.

    element  of all arrays

    Raises MappingError for floats where the network has words that are rounded to whole numbers: sums of these need 32
    bits.
    """
    if element not in get_args(NetworkElement):
        raise MappingError(f"unknown kind of element {element!r}, expected {' or '.join(get_args(NetworkElement))}")
    if element != "double" and is_rounded(program):
        raise MappingError(
            f"its whole numbers are not exact in {element}s", where=program.network, hint="leave the element at double"
        )
    members, memory = _members(program), program.arch.memories[0].name
    parts = [
        _header_lines(program),
        [_INCLUDES if element == "double" else _INCLUDES.replace("math.h", "tgmath.h"), f"typedef {element} element;"],
        [LEAST, FUNCTIONS, APART],
        [f"#define STEPS {len(program.steps)}", STEP_TIMES],
        _arena_lines(program, members),
        *(CGroup(one, members, program.heights, memory).function_lines() for one in program.programs),
        _copy_lines(program),
        apart_lines(program),
        _load_lines(program),
        _run_lines(program),
        [CHECK, BUFFERS],
        c_comment("The same operations, one after the other: what the outputs of run() are compared with."),
        network_direct_lines(program),
        constant_lines(program, element),
        [CLOCKS, NETWORK_MAIN],
    ]
    return "\n".join(line for part in parts for line in part)


# ---- what the file says of itself ------------------------------------------------------------------------------------


def _header_lines(program: NetworkProgram) -> Iterator[str]:
    yield from c_comment(f"The network {program.network} on {program.arch.name}, in C99. Written by tilewright.")
    yield from c_comment(
        "    cc -O3 -march=native -fopenmp network.c -lm -o network && ./network [seed] [runs] [weights]"
    )
    yield ""
    yield from c_comment(
        "run() executes it. Inputs and outputs are in this order, row by row; every thread needs an arena of its own."
    )
    if program.loaded:
        yield from c_comment("load() brings weights to each arena that lie on chip from before the first run on.")
    for what, keys in (("input", program.inputs), ("output", program.outputs)):
        for number, key in enumerate(keys):
            yield from c_comment(f"    {what} {number}: {key}, {program.words[key]} elements")


def _members(program: NetworkProgram) -> dict[ArenaKey, str]:
    names = c_names()
    names.unique(_outermost(program))
    return {key: names.unique("_".join((key[0], *key[1]) if len(key[1]) == 1 else key[:1])) for key in program.heights}


def _outermost(program: NetworkProgram) -> str:
    return c_names().unique(program.arch.memories[0].name)


def _arena_lines(program: NetworkProgram, members: dict[ArenaKey, str]) -> Iterator[str]:
    """The struct of all memories, each as large as its plan is high."""
    yield from c_comment("Every memory with what it holds at a moment, at the addresses of plan.json; an element is a")
    yield from c_comment("word there. The outermost one holds what passes from group to group, but for what stays on")
    yield from c_comment("chip.")
    shared = _shared(program)
    if any(map(threads_of, program.programs)):
        yield from c_comment(
            "Threads share the iterations of some loops over instances, and have a part of what is inside."
        )
        yield from (
            *("#ifndef _OPENMP", "#define THREADS 1", "#define THREAD 0"),
            *("#else", "#include <omp.h>", "#ifndef THREADS", "#define THREADS 8", "#endif"),
            *("#define THREAD omp_get_thread_num()", "#endif"),
        )
    yield "typedef struct {"
    yield f"    element {_outermost(program)}[{max(program.plan.height, LINE)}];"
    for key, height in program.heights.items():
        yield f"    element {members[key]}[{height}{' * THREADS' if key in shared else ''}];"
    yield "} arenas;"
    yield ""
    yield from c_comment(
        f"Tiles of memories of up to {LARGEST_ON_STACK} elements are variables, which compilers keep in"
    )
    yield from c_comment("registers; with -DPLANNED they lie at their addresses, as all others do.")
    yield "#ifdef PLANNED"
    yield "#define TILE(name, first, rows, address) element(*name) rows = (element(*) rows)address"
    yield "#else"
    yield "#define TILE(name, first, rows, address) element name first rows"
    yield "#endif"
    yield ""


def _shared(program: NetworkProgram) -> set[ArenaKey]:
    """The arenas that threads have parts of."""
    found: set[ArenaKey] = set()
    for group in program.programs:
        own = {array for loop in threads_of(group) for array in buffers_of(loop.body)}
        found |= {key for key, one in group.addresses.items() if own & set(one.offsets)}
    return found


# ---- run -------------------------------------------------------------------------------------------------------------


def _copied(program: NetworkProgram) -> dict[tuple[tuple[int, ...], ...], str]:
    """The functions that put zeros around a tensor, by made extents, zeros before, and all extents."""
    kinds = dict.fromkeys(
        (one.made, one.before, one.shape)
        for call in program.calls
        for one in call.inputs
        if isinstance(one, Reading) and not one.is_read_in_place
    )
    return {kind: f"padded{number}" for number, kind in enumerate(kinds)}


def _copy_lines(program: NetworkProgram) -> Iterator[str]:
    for (made, before, extents), function in _copied(program).items():
        shape, wide = (" x ".join(map(str, each)) or "1" for each in (made, extents))
        yield from c_comment(f"{shape} as {wide}, with zeros around and without what is not read")
        yield f"static APART void {function}(const element *restrict from, element *restrict to)"
        yield "{"
        yield f"    for (int64_t at = 0; at < {math.prod(extents)}; at++)"
        yield "        to[at] = 0;"
        indent = "    "
        source, target = [], []
        for axis, (size, low, wide_size) in enumerate(zip(made, before, extents, strict=True)):
            taken = min(size, wide_size - low)
            yield f"{indent}for (int64_t i{axis} = 0; i{axis} < {taken}; i{axis}++)"
            indent += "    "
            source.append(_term(f"i{axis}", 0, math.prod(made[axis + 1 :])))
            target.append(_term(f"i{axis}", low, math.prod(extents[axis + 1 :])))
        yield f"{indent}to[{' + '.join(target) or '0'}] = from[{' + '.join(source) or '0'}];"
        yield "}"
        yield ""


def _term(name: str, shift: int, stride: int) -> str:
    place = f"({name} + {shift})" if shift else name
    return place if stride == 1 else f"{place} * {stride}"


def _on_chip(one: Staying, members: Mapping[ArenaKey, str]) -> str:
    """Where something begins that stays on chip."""
    return f"arena->{members[one.arena]} + {one.offset}"


def _weight(one: Weight, program: NetworkProgram, members: Mapping[ArenaKey, str]) -> str:
    """Where the words of a parameter begin."""
    loaded = program.loaded.get(one.name)
    return f"weights + {one.offset}" if loaded is None else _on_chip(loaded, members)


def _load_lines(program: NetworkProgram) -> Iterator[str]:
    """The function that brings weights to where they lie all the time, if there are such."""
    if not program.loaded:
        yield "#define LOAD(weights, arena) ((void)0)"
        yield ""
        return
    members = _members(program)
    yield from c_comment(
        "Brings the weights on chip that lie there all the time: once for an arena, before its first run."
    )
    yield "void load(const element *weights, arenas *arena)"
    yield "{"
    for weight in program.weights:
        place = program.loaded.get(weight.name)
        if place is not None:
            there = _on_chip(place, members)
            yield from c_comment(weight.name, "    ")
            yield f"    memcpy({there}, weights + {weight.offset}, {weight.words} * sizeof(element));"
    yield "}"
    yield "#define LOAD(weights, arena) load(weights, arena)"
    yield ""


def _run_lines(program: NetworkProgram) -> Iterator[str]:
    memory, members, copies = _outermost(program), _members(program), _copied(program)
    yield ("void run(const element *const inputs[], const element *weights, element *const outputs[], arenas *arena)")
    yield "{"
    yield "    (void)weights;"
    yield "    (void)arena;"

    def place(key: str) -> str:
        if key in program.inputs:
            return f"inputs[{program.inputs.index(key)}]"
        if key in program.outputs:
            return f"outputs[{program.outputs.index(key)}]"
        if key in program.staying:
            return _on_chip(program.staying[key], members)
        return f"arena->{memory} + {program.offset(key)}"

    yield "    BEGIN(0);"
    for number, call in enumerate(program.steps):
        if isinstance(call, ApartCall):
            yield from c_comment(call.key, "    ")
            yield from apart_calls(program, call, place)
            yield f"    DONE({number});"
            continue
        yield from c_comment(f"group {call.number}: {' + '.join(op.name for op in call.cascade)}", "    ")
        given = []
        for one in call.inputs:
            if isinstance(one, Weight):
                given.append(_weight(one, program, members))
            elif one.is_read_in_place:
                given.append(place(one.key))
            else:
                there = f"arena->{memory} + {program.offset(padded_buffer(call.number, one.key))}"
                yield f"    {copies[one.made, one.before, one.shape]}({place(one.key)}, {there});"
                given.append(there)
        given += [place(key) for key in call.outputs]
        given += [f"weights + {w.offset}" for done in call.finished.values() for w in done.parameters]
        needs_scratch = scratch_height(call.program, program.arch)
        scratch = f"arena->{memory} + {program.offset(scratch_buffer(call.number))}" if needs_scratch else "NULL"
        yield f"    group{call.program.number}({', '.join([*given, 'arena', scratch])});"
        yield f"    DONE({number});"
    yield "}"
