"""Operators that no mapping has, as C functions: a declaration of what a user links."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .....workloads.graph import Computed
from ...c.text import c_comment
from ..groups.extern import extern_name, is_plain
from ..groups.files import NetworkElement
from ..groups.program import NetworkProgram, computed_of


def declaration(computed: Computed) -> str:
    """The function's type: operands and results as rows of elements."""
    given = [f"const element *in{number}" for number in range(len(computed.operands))]
    made = [f"element *out{number}" for number in range(len(computed.results))]
    return f"void {extern_name(computed)}({', '.join([*given, *made])})"


def declaration_lines(computed: Computed) -> Iterator[str]:
    """The declaration, and what its operands and results are."""
    yield from c_comment(f"{', '.join(computed.operators)} {computed.name}, which is to be linked")
    for what, tensors in (("in", computed.operands), ("out", computed.results)):
        for number, tensor in enumerate(tensors):
            shape = " x ".join(map(str, tensor.shape)) or "1"
            yield from c_comment(f"    {what}{number}: {tensor.name}, {tensor.type} {shape}")
    yield f"{declaration(computed)};"


def call_lines(computed: Computed, names: list[str], to: str) -> Iterator[str]:
    """A call with rows of these names, and one row of all results."""
    first = 0
    made = []
    for result in computed.results:
        made.append(f"{to} + {first}" if first else to)
        first += math.prod(result.shape)
    yield f"    {extern_name(computed)}({', '.join([*names, *made])});"


def extern_stub(program: NetworkProgram, element: NetworkElement) -> str:
    """A C file with every function that a program leaves to link, each with a body that stops; empty without such."""
    missing = [one for one in computed_of(program) if not is_plain(one)]
    lines = [
        *c_comment(f"What the program of the network {program.network} leaves to link: write the bodies, and"),
        *c_comment("    cc -O3 network.c network_extern_stub.c -lm -o network"),
        *("", "#include <stdio.h>", "#include <stdlib.h>", "", f"typedef {element} element;", ""),
    ]
    for one in missing:
        lines += [*declaration_lines(one), declaration(one), "{"]
        names = [f"in{number}" for number in range(len(one.operands))]
        names += [f"out{number}" for number in range(len(one.results))]
        lines += [f"    (void){name};" for name in names]
        lines += [f'    fputs("{extern_name(one)} is not written yet\\n", stderr);', "    exit(EXIT_FAILURE);", "}", ""]
    return "\n".join(lines) if missing else ""
