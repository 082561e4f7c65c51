"""C99 source text of what is done between groups: moves of data, arithmetic of tensors, reductions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .....workloads.graph import NORMALIZING, ApartOperation, ApartRead
from ...c.direct import number_text, point_text
from ...c.text import c_comment
from ..groups.extern import is_plain
from ..words.kinds import ApartKinds
from ..words.stored import ELEMENT, WordType
from .extern import call_lines, declaration_lines
from .places import along, sum_of, tables_of, times
from .plain import plain_lines
from .reduced import normalization, reduction


def apart_function(function: str, operation: ApartOperation, kinds: ApartKinds | None = None) -> Iterator[str]:
    """A function of what an operation reads, in order, and of its output.

    kinds  how words are stored, if not as elements
    """
    names = [read.name for read in operation.reads]
    stored = dict(zip(names, kinds.reads if kinds is not None else [ELEMENT] * len(names), strict=True))
    made = kinds.made if kinds is not None else ELEMENT
    given = [f"const {stored[name].pointed} *restrict {name}" for name in names]
    shape = " x ".join(map(str, operation.shape)) or "1"
    if operation.computed is not None and not is_plain(operation.computed):
        yield from declaration_lines(operation.computed)
        yield ""
    yield from c_comment(f"{shape}, {operation.how}")
    yield f"static APART void {function}({', '.join([*given, f'{made.pointed} *restrict to'])})"
    yield "{"
    words = math.prod(operation.shape)
    if operation.how == "move":
        if sum(math.prod(map(len, read.positions)) for read in operation.reads) < words:
            yield f"    for (int64_t at = 0; at < {words}; at++)"
            yield f"        to[at] = {made.written(number_text(operation.fill))};"
        for read in operation.reads:  # a block each: their tables have the same names
            yield "    {"
            word = made.written(stored[read.name].read_whole(f"{read.name}[{{{read.name}}}]"))
            yield from (f"    {line}" for line in _nest((read,), f"to[{{to}}] = {word};"))
            yield "    }"
    elif operation.how == "words":
        assert operation.expression is not None
        texts = {name: stored[name].read(f"{name}[{{{name}}}]") for name in names}
        yield from _nest(operation.reads, f"to[{{to}}] = {made.written(point_text(operation.expression, texts))};")
    elif operation.computed is not None and is_plain(operation.computed):
        yield from plain_lines(operation.computed, names, "to")
    elif operation.computed is not None:
        yield from call_lines(operation.computed, names, "to")
    elif operation.how == "gather":
        yield from _gather(operation, stored, made)
    elif operation.how in NORMALIZING:
        yield from normalization(operation, stored[names[0]])
        yield from _worked_on(operation, stored)
    else:
        yield from reduction(operation, stored[names[0]], made)
    yield "}"
    yield ""


def _worked_on(operation: ApartOperation, stored: Mapping[str, WordType]) -> Iterator[str]:
    """What is done with the words that a normalization has left: scales and biases."""
    first, others = operation.reads[0], operation.reads[1:]
    if others:
        assert operation.expression is not None
        names = {first.name: "to[{to}]", **{r.name: stored[r.name].read(f"{r.name}[{{{r.name}}}]") for r in others}}
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


def _gather(operation: ApartOperation, stored: Mapping[str, WordType], made: WordType) -> Iterator[str]:
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
    yield f"{indent}int64_t i{axis} = (int64_t){stored['A1'].read(f'A1[{word}]')};"
    yield f"{indent}i{axis} += i{axis} < 0 ? {count} : 0;"
    yield f"{indent}i{axis} = i{axis} < 0 ? 0 : i{axis} < {count} ? i{axis} : {count - 1};"
    source = sum_of([along(each[:, 0], f"A0_{k}", f"i{k}") for k, each in enumerate(rows.offsets)])
    taken = made.written(stored["A0"].read_whole(f"A0[{source}]"))
    yield f"{indent}to[{sum_of(out)}] = {taken};"
    for _ in loops:
        indent = indent[4:]
        yield f"{indent}}}"
