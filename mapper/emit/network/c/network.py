"""A compiled network as one self-contained C99 file: all groups, the same operations in plain loops, and a check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import get_args

from .....ir import MappingError
from .....ir.errors import shown
from ...c.nests import VECTORS
from ...c.runtime import BUFFERS, CHECK, CLOCKS, FUNCTIONS, HEAD, LEAST
from ...c.schedule import LARGEST_ON_STACK
from ...c.text import c_comment, c_names
from ...lowering.loop_program import RegisterTile, buffers_of, statements_of
from ...lowering.register_tiles import registers_of
from ..groups.addresses import ArenaKey, Staying
from ..groups.exact import is_rounded
from ..groups.extern import extern_name, is_plain
from ..groups.files import NetworkElement
from ..groups.program import (
    LINE,
    ApartCall,
    NetworkProgram,
    computed_of,
    padded_buffer,
    scratch_buffer,
    scratch_height,
    unfinished_buffer,
)
from ..groups.writable import not_exact
from ..words.operands import Reading, Weight
from ..words.stored import WordType
from .between import Between
from .check import constant_lines, network_direct_lines
from .group import CGroup, threads_of, tiles_shared
from .packed import PackedInputs
from .runtime import APART, KINDS, NARROW, NETWORK_MAIN, PRODUCTS, STEP_TIMES, WHOLE, WHOLE_FUNCTIONS

_INCLUDES = HEAD.replace("#include <stdlib.h>", "#include <stdlib.h>\n#include <string.h>")


def emit_c_network(program: NetworkProgram, element: NetworkElement = "double") -> str:
    """The text of a C99 file with `run(inputs, weights, outputs, arena)`, which executes the groups without allocating
    anything, `load(weights, arena)` where weights lie on chip all the time, and a `main` that checks it against the
    operations done one after the other.

    element  of all arrays

    Raises MappingError for floats where the network has words that are rounded to whole numbers: sums of these need 32
    bits.
    """
    if not isinstance(element, str) or element not in get_args(NetworkElement):
        raise MappingError(
            f"unknown kind of element {shown(element)}, expected {' or '.join(get_args(NetworkElement))}"
        )
    if element != "double" and (program.is_narrow or is_rounded(program)):
        raise not_exact(program.network, element)
    members, memory, between = _members(program), program.arch.memories[0].name, Between(program)
    head = [
        _header_lines(program),
        [_INCLUDES if element == "double" else _INCLUDES.replace("math.h", "tgmath.h"), f"typedef {element} element;"],
        [LEAST, FUNCTIONS],
    ]
    parts = [
        [APART, NARROW if program.is_narrow else "typedef element data;\n"],
        [f"#define STEPS {len(program.steps)}", STEP_TIMES],
        _arena_lines(program, members),
        *([[VECTORS.format(lanes=registers_of(program.arch).lanes)]] if _has_tiles(program) else []),
        *(CGroup(one, members, program.heights, memory).function_lines() for one in program.programs),
        _copy_lines(program),
        between.lines(is_check=False),
        _load_lines(program),
        _run_lines(program, between),
        [CHECK, BUFFERS, KINDS],
        c_comment("The same operations, one after the other: what the outputs of run() are compared with."),
        between.lines(is_check=True),
        network_direct_lines(program, between),
        constant_lines(program, element),
        [CLOCKS, NETWORK_MAIN],
    ]
    body = "\n".join(line for part in parts for line in part)
    whole = [WHOLE] if any(f"{name}(" in body for name in WHOLE_FUNCTIONS) else []
    products = [PRODUCTS] if "PRODUCTS(" in body else []
    return "\n".join([*(line for part in head for line in part), *whole, *products, body])


def c_network_header(program: NetworkProgram, element: NetworkElement) -> str:
    """The text of what other files include, C++ too, to call the functions of the C file."""
    data = "void" if program.is_narrow else element
    return "\n".join(
        [
            *_header_lines(program),
            *c_comment("Compile network.c with -DNO_MAIN beside your own files. An arena begins at a multiple of 64."),
            *("#ifndef NETWORK_H", "#define NETWORK_H", "#include <stdint.h>"),
            *("#ifdef __cplusplus", 'extern "C" {', "#endif"),
            "typedef struct arenas arenas;",
            "int64_t arena_bytes(void);",
            f"void load(const {data} *weights, arenas *arena);",
            f"void run(const {data} *const inputs[], const {data} *weights, {data} *const outputs[], arenas *arena);",
            *("#ifdef __cplusplus", "}", "#endif", "#endif", ""),
        ]
    )


# ---- what the file says of itself ------------------------------------------------------------------------------------


def _header_lines(program: NetworkProgram) -> Iterator[str]:
    yield from c_comment(f"The network {program.network} on {program.arch.name}, in C99. Written by tilewright.")
    functions = [extern_name(one) for one in computed_of(program) if not is_plain(one)]
    command = f"cc -O3 -march=native -fopenmp network.c{' network_extern_stub.c' if functions else ''} -lm -o network"
    yield from c_comment(f"    {command} && ./network [seed] [runs] [weights]")
    if functions:
        yield from c_comment("Functions that it leaves to link; write their bodies in network_extern_stub.c:")
        yield from (line for function in functions for line in c_comment(f"    {function}"))
    yield ""
    yield from c_comment(
        "run() executes it. Inputs and outputs are in this order, row by row; every thread needs an arena of its own."
    )
    yield from c_comment("load() brings weights to each arena before its first run; arena_bytes() is how large one is.")
    for what, keys in (("input", program.inputs), ("output", program.outputs)):
        for number, key in enumerate(keys):
            yield from c_comment(f"    {what} {number}: {key}, {program.words[key]} {_elements(program, key)}")


def _elements(program: NetworkProgram, key: str) -> str:
    return f"elements of type {program.kind(key).type}" if program.is_narrow else "elements"


def _members(program: NetworkProgram) -> dict[ArenaKey, str]:
    names = c_names()
    names.unique(_outermost(program))
    return {key: names.unique("_".join((key[0], *key[1]) if len(key[1]) == 1 else key[:1])) for key in program.heights}


def _outermost(program: NetworkProgram) -> str:
    return c_names().unique(program.arch.memories[0].name)


def _arena_lines(program: NetworkProgram, members: dict[ArenaKey, str]) -> Iterator[str]:
    """The struct of all memories, each as large as its plan is high."""
    unit = "unsigned char" if program.is_narrow else "element"
    what = "words have types of their own" if program.is_narrow else "an element is a word there"
    yield from c_comment(f"Every memory with what it holds at a moment, at the addresses of plan.json; {what}.")
    yield from c_comment("The outermost one holds what passes from group to group, but for what stays on chip.")
    shared = _shared(program)
    if any(threads_of(group) or tiles_shared(group) for group in program.programs):
        yield from c_comment(
            "Threads share the iterations of some loops over instances, and have a part of what is inside."
        )
        yield from (
            *("#ifndef _OPENMP", "#define THREADS 1", "#define THREAD 0"),
            *("#else", "#include <omp.h>", "#ifndef THREADS", "#define THREADS 8", "#endif"),
            *("#define THREAD omp_get_thread_num()", "#endif"),
        )
    yield "typedef struct arenas {"
    packed = PackedInputs(program)
    for name, size in packed.members:
        yield f"    {unit} {name}[{size}];"
    yield f"    {unit} {_outermost(program)}[{max(program.plan.height, LINE)}];"
    for key, height in program.heights.items():
        yield f"    {unit} {members[key]}[{height}{' * THREADS' if key in shared else ''}];"
    yield "} arenas;"
    yield ""
    units = "bytes" if program.is_narrow else "elements"
    yield from c_comment(
        f"Tiles of memories of up to {LARGEST_ON_STACK} {units} are variables, which compilers keep in"
    )
    yield from c_comment("registers; with -DPLANNED they lie at their addresses, as all others do.")
    yield "#ifdef PLANNED"
    given, at, own = ("type, ", "type##_anywhere", "type") if program.is_narrow else ("", "element", "element")
    yield f"#define TILE({given}name, first, rows, address) {at}(*name) rows = ({at}(*) rows)address"
    yield "#else"
    yield f"#define TILE({given}name, first, rows, address) {own} name first rows"
    yield "#endif"
    yield ""


def _shared(program: NetworkProgram) -> set[ArenaKey]:
    """The arenas that threads have parts of."""
    found: set[ArenaKey] = set()
    for group in program.programs:
        own = {array for loop in threads_of(group) for array in buffers_of(loop.body)}
        found |= {key for key, one in group.addresses.items() if own & set(one.offsets)}
    return found


def _has_tiles(program: NetworkProgram) -> bool:
    return any(isinstance(one, RegisterTile) for group in program.programs for one in statements_of(group.body))


# ---- run -------------------------------------------------------------------------------------------------------------


Copied = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], WordType]
"""Made extents of a tensor as it lies, zeros before, all extents, and how its words are stored."""


def _copy(one: Reading, program: NetworkProgram) -> Copied:
    order = program.orders.get(one.key, tuple(range(len(one.made))))
    made, before, shape = (tuple(each[axis] for axis in order) for each in (one.made, one.before, one.shape))
    return made, before, shape, program.kind(one.key)


def _copied(program: NetworkProgram) -> dict[Copied, str]:
    """The functions that put zeros around a tensor."""
    kinds = dict.fromkeys(
        _copy(one, program)
        for call in program.calls
        for one in call.inputs
        if isinstance(one, Reading) and not one.is_read_in_place
    )
    return {kind: f"padded{number}" for number, kind in enumerate(kinds)}


def _copy_lines(program: NetworkProgram) -> Iterator[str]:
    for (made, before, extents, stored), function in _copied(program).items():
        shape, wide = (" x ".join(map(str, each)) or "1" for each in (made, extents))
        yield from c_comment(f"{shape} as {wide}, with zeros around and without what is not read")
        yield f"static APART void {function}(const {stored.pointed} *restrict from, {stored.pointed} *restrict to)"
        yield "{"
        yield f"    for (int64_t at = 0; at < {math.prod(extents)}; at++)"
        yield f"        to[at] = {stored.bias};"
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


def _in_arena(member: str, offset: int, program: NetworkProgram) -> str:
    """Where something begins that lies in an arena: of any type, where that is one of bytes."""
    found = f"arena->{member} + {offset}"
    return f"(void *)({found})" if program.is_narrow else found


def _on_chip(one: Staying, program: NetworkProgram, members: Mapping[ArenaKey, str]) -> str:
    """Where something begins that stays on chip."""
    return _in_arena(members[one.arena], one.offset, program)


def _weight(one: Weight, program: NetworkProgram, members: Mapping[ArenaKey, str]) -> str:
    """Where the words of a parameter begin, for those who read it where it may be loaded."""
    loaded = program.loaded.get(one.name)
    return _in_file(one, program) if loaded is None else _on_chip(loaded, program, members)


def _in_file(one: Weight, program: NetworkProgram) -> str:
    """Where the words of a parameter begin among all."""
    return f"(const void *)((const char *)weights + {one.place})" if program.is_narrow else f"weights + {one.offset}"


def _load_lines(program: NetworkProgram) -> Iterator[str]:
    """The function that brings weights to where they lie all the time, and packs those that are read from copies."""
    packed = PackedInputs(program)
    yield from packed.function_lines()
    members = _members(program)
    yield from c_comment(
        "Brings weights to where, and in which order, groups read them: once for an arena, before its first run."
    )
    yield "void load(const data *weights, arenas *arena)"
    yield "{"
    yield "    (void)weights;"
    yield "    (void)arena;"
    yield from packed.load_lines(lambda one: _in_file(one, program))
    for weight in program.weights:
        place = program.loaded.get(weight.name)
        if place is not None:
            there, size = _on_chip(place, program, members), weight.stored_as.type
            yield from c_comment(weight.name, "    ")
            yield f"    memcpy({there}, {_in_file(weight, program)}, {weight.words} * sizeof({size}));"
    yield "}"
    yield ""
    yield "int64_t arena_bytes(void)"
    yield "{"
    yield "    return (int64_t)sizeof(arenas);"
    yield "}"
    yield ""


def _run_lines(program: NetworkProgram, between: Between) -> Iterator[str]:
    memory, members, copies, packed = _outermost(program), _members(program), _copied(program), PackedInputs(program)
    yield "void run(const data *const inputs[], const data *weights, data *const outputs[], arenas *arena)"
    yield "{"
    yield "    (void)weights;"
    yield "    (void)arena;"

    def place(key: str) -> str:
        if key in program.inputs:
            return f"inputs[{program.inputs.index(key)}]"
        if key in program.outputs:
            return f"outputs[{program.outputs.index(key)}]"
        if key in program.staying:
            return _on_chip(program.staying[key], program, members)
        return _in_arena(memory, program.offset(key), program)

    yield "    BEGIN(0);"
    for number, call in enumerate(program.steps):
        if isinstance(call, ApartCall):
            yield from c_comment(call.key, "    ")
            apart = call.kinds is not None and call.finished is not None
            unfinished = _in_arena(memory, program.offset(unfinished_buffer(call.key)), program) if apart else ""
            yield from between.calls(call, place, lambda one: _in_file(one, program), unfinished)
            yield f"    DONE({number});"
            continue
        yield from c_comment(f"group {call.number}: {' + '.join(op.name for op in call.cascade)}", "    ")
        given: list[str] = []
        for name, one in call.named_inputs:
            if isinstance(one, Weight):
                there = _weight(one, program, members)
            elif one.is_read_in_place:
                there = place(one.key)
            else:
                there = _in_arena(memory, program.offset(padded_buffer(call.number, one.key)), program)
                yield f"    {copies[_copy(one, program)]}({place(one.key)}, {there});"
            yield from packed.run_lines(call, name, there)
            given.append(packed.place(call, name, there))
        given += [place(key) for key in call.outputs]
        given += [_in_file(w, program) for done in call.finished.values() for w in done.parameters]
        needs_scratch = scratch_height(call.program, program.arch)
        scratch = f"arena->{memory} + {program.offset(scratch_buffer(call.number))}" if needs_scratch else "NULL"
        yield f"    group{call.program.number}({', '.join([*given, 'arena', scratch])});"
        yield f"    DONE({number});"
    yield "}"
