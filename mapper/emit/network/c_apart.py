"""C99 source text of what is done between groups: moves of data, arithmetic of tensors, reductions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ....workloads.graph import NORMALIZING, ApartOperation, ApartRead
from ..c_direct import number_text, point_text
from ..c_text import c_comment
from .c_places import along, sum_of, tables_of, times
from .c_reduced import normalization, reduction


def apart_function(function: str, operation: ApartOperation) -> Iterator[str]:
    """A function of what an operation reads, in order, and of its output."""
    given = [f"const element *restrict {read.name}" for read in operation.reads]
    shape = " x ".join(map(str, operation.shape)) or "1"
    yield from c_comment(f"{shape}, {operation.how}")
    yield f"static APART void {function}({', '.join([*given, 'element *restrict to'])})"
    yield "{"
    words = math.prod(operation.shape)
    if operation.how == "move":
        if sum(math.prod(map(len, read.positions)) for read in operation.reads) < words:
            yield f"    for (int64_t at = 0; at < {words}; at++)"
            yield f"        to[at] = {number_text(operation.fill)};"
        for read in operation.reads:  # a block each: their tables have the same names
            yield "    {"
            yield from (f"    {line}" for line in _nest((read,), f"to[{{to}}] = {read.name}[{{{read.name}}}];"))
            yield "    }"
    elif operation.how == "words":
        assert operation.expression is not None
        names = {read.name: f"{read.name}[{{{read.name}}}]" for read in operation.reads}
        yield from _nest(operation.reads, f"to[{{to}}] = {point_text(operation.expression, names)};")
    elif operation.how == "gather":
        yield from _gather(operation)
    elif operation.how in NORMALIZING:
        yield from normalization(operation)
        yield from _worked_on(operation)
    else:
        yield from reduction(operation)
    yield "}"
    yield ""


def _worked_on(operation: ApartOperation) -> Iterator[str]:
    """What is done with the words that a normalization has left: scales and biases."""
    first, others = operation.reads[0], operation.reads[1:]
    if others:
        assert operation.expression is not None
        names = {first.name: "to[{to}]", **{read.name: f"{read.name}[{{{read.name}}}]" for read in others}}
        yield "    {"
        yield from (f"    {line}" for line in _nest(others, f"to[{{to}}] = {point_text(operation.expression, names)};"))
        yield "    }"


def _nest(reads: Sequence[ApartRead], action: str) -> Iterator[str]:
    """Loops over the output's words that all these tensors are read for."""
    if len({read.extents for read in reads}) > 1:  # one has a table of all words: then all have
        reads = [flattened(read) for read in reads]
    first, indent = reads[0], "    "
    texts: dict[str, list[str]] = {"to": [], **{read.name: [] for read in reads}}
    yield from tables_of(reads)
    for axis, extent in enumerate(first.extents):
        stride = math.prod(first.extents[axis + 1 :])
        texts["to"].append(along(first.positions[axis] * stride, f"at{axis}", f"i{axis}"))
        for read in reads:
            texts[read.name].append(along(read.offsets[axis][:, 0], f"{read.name}_{axis}", f"i{axis}"))
        if extent > 1:
            yield f"{indent}for (int64_t i{axis} = 0; i{axis} < {len(first.positions[axis])}; i{axis}++)"
            indent += "    "
    yield indent + action.format(**{name: sum_of(terms) for name, terms in texts.items()})


def flattened(read: ApartRead) -> ApartRead:
    """The same with one axis."""
    if len(read.extents) == 1:
        return read
    words = np.arange(math.prod(read.extents)).reshape(read.extents)[np.ix_(*read.positions)]
    offsets = np.zeros((1,) * len(read.extents), np.int64)
    for axis, each in enumerate(read.offsets):
        offsets = offsets + each[:, 0].reshape([-1 if i == axis else 1 for i in range(len(read.extents))])
    flat = offsets.reshape(-1, 1)
    return ApartRead(read.name, read.source, read.value, (words.size,), (words.ravel(),), (flat,))


def _gather(operation: ApartOperation) -> Iterator[str]:
    """Loops over the words that name rows, and over all that lies in a row, before its axis and behind it."""
    rows, chosen = operation.reads
    yield from tables_of((rows,))
    yield from tables_of((chosen,))
    axis, count = operation.axis, rows.extents[operation.axis]
    indices = [f"i{k}" for k in range(len(rows.extents))]
    named = [f"j{k}" for k in range(len(chosen.extents))]
    loops = [
        *zip(indices[:axis], rows.extents[:axis], strict=True),
        *zip(named, chosen.extents, strict=True),
        *zip(indices[axis + 1 :], rows.extents[axis + 1 :], strict=True),
    ]
    indent, out = "    ", []
    for place, (index, extent) in enumerate(loops):
        yield f"{indent}for (int64_t {index} = 0; {index} < {extent}; {index}++) {{"
        indent += "    "
        out.append(times(index, math.prod(operation.shape[place + 1 :])))
    word = sum_of([along(each[:, 0], f"A1_{k}", f"j{k}") for k, each in enumerate(chosen.offsets)])
    yield f"{indent}int64_t i{axis} = (int64_t)A1[{word}];"
    yield f"{indent}i{axis} += i{axis} < 0 ? {count} : 0;"
    yield f"{indent}i{axis} = i{axis} < 0 ? 0 : i{axis} < {count} ? i{axis} : {count - 1};"
    source = sum_of([along(each[:, 0], f"A0_{k}", f"i{k}") for k, each in enumerate(rows.offsets)])
    yield f"{indent}to[{sum_of(out)}] = A0[{source}];"
    for _ in loops:
        indent = indent[4:]
        yield f"{indent}}}"
