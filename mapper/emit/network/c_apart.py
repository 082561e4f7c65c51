"""C99 source text of what is done between groups: moves of data, arithmetic of tensors, reductions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....workloads.graph import ApartOperation, ApartRead
from ..c_direct import number_text, point_text
from ..c_text import c_comment
from .steps import steps_along

Index = np.ndarray[Any, np.dtype[np.int64]]


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
    else:
        yield from _reduction(operation)
    yield "}"
    yield ""


def _nest(reads: Sequence[ApartRead], action: str) -> Iterator[str]:
    """Loops over the output's words that all these tensors are read for."""
    if len({read.extents for read in reads}) > 1:  # one has a table of all words: then all have
        reads = [flattened(read) for read in reads]
    first, indent = reads[0], "    "
    texts: dict[str, list[str]] = {"to": [], **{read.name: [] for read in reads}}
    yield from _tables(reads)
    for axis, extent in enumerate(first.extents):
        stride = math.prod(first.extents[axis + 1 :])
        texts["to"].append(_along(first.positions[axis] * stride, f"at{axis}", f"i{axis}"))
        for read in reads:
            texts[read.name].append(_along(read.offsets[axis][:, 0], f"{read.name}_{axis}", f"i{axis}"))
        if extent > 1:
            yield f"{indent}for (int64_t i{axis} = 0; i{axis} < {len(first.positions[axis])}; i{axis}++)"
            indent += "    "
    yield indent + action.format(**{name: _sum(terms) for name, terms in texts.items()})


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


def _tables(reads: Sequence[ApartRead]) -> Iterator[str]:
    """Where words lie that follow no stride."""
    first = reads[0]
    for axis in range(len(first.extents)):
        places = first.positions[axis] * math.prod(first.extents[axis + 1 :])
        tables = {f"at{axis}": places, **{f"{read.name}_{axis}": read.offsets[axis] for read in reads}}
        for name, values in tables.items():
            if steps_along(values) is None:
                numbers = ", ".join(map(str, values.ravel()))
                yield f"    static const int64_t {name}[{values.size}] = {{{numbers}}};"


def _along(values: Index, table: str, index: str) -> str:
    steps = steps_along(values)
    if steps is None:
        return f"{table}[{index}]"
    return _sum([_times(index, steps[1]), str(steps[0]) if steps[0] else ""])


def _times(index: str, step: int) -> str:
    return "" if step == 0 else index if step == 1 else f"{index} * {step}"


def _sum(terms: Sequence[str]) -> str:
    return " + ".join(term for term in terms if term) or "0"


def _gather(operation: ApartOperation) -> Iterator[str]:
    """Loops over the words that name rows, and over all that lies in a row, before its axis and behind it."""
    rows, chosen = operation.reads
    yield from _tables((rows,))
    yield from _tables((chosen,))
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
        out.append(_times(index, math.prod(operation.shape[place + 1 :])))
    word = _sum([_along(each[:, 0], f"A1_{k}", f"j{k}") for k, each in enumerate(chosen.offsets)])
    yield f"{indent}int64_t i{axis} = (int64_t)A1[{word}];"
    yield f"{indent}i{axis} += i{axis} < 0 ? {count} : 0;"
    yield f"{indent}i{axis} = i{axis} < 0 ? 0 : i{axis} < {count} ? i{axis} : {count - 1};"
    source = _sum([_along(each[:, 0], f"A0_{k}", f"i{k}") for k, each in enumerate(rows.offsets)])
    yield f"{indent}to[{_sum(out)}] = A0[{source}];"
    for _ in loops:
        indent = indent[4:]
        yield f"{indent}}}"


def _factor_tables(operation: ApartOperation) -> Iterator[str]:
    """Factors of what is taken, of the axes where they are not all one."""
    for axis, each in enumerate(operation.factors):
        if (each != 1).any():
            numbers = ", ".join(map(repr, each.ravel().tolist()))
            yield f"    static const double factor{axis}[{each.size}] = {{{numbers}}};"


def _factor(operation: ApartOperation) -> str:
    """What a word that is taken is multiplied with."""
    axes = [axis for axis, each in enumerate(operation.factors) if (each != 1).any()]
    names = [f"factor{axis}[i{axis} * {operation.factors[axis].shape[1]} + k{axis}]" for axis in axes]
    return "".join(f" * (element){name}" for name in names)


def _reduction(operation: ApartOperation) -> Iterator[str]:
    """Loops over the output, in them over what is taken for each word."""
    (read,) = operation.reads
    indent, inner = "    ", []
    yield from _tables(operation.reads)
    yield from _factor_tables(operation)
    checks, places, out = [], [], []
    for axis, each in enumerate(read.offsets):
        size, taken = each.shape
        out.append(_times(f"i{axis}", math.prod(read.extents[axis + 1 :])))
        yield f"{indent}for (int64_t i{axis} = 0; i{axis} < {size}; i{axis}++) {{"
        indent += "    "
        inner.append((f"k{axis}", taken))
        steps = steps_along(each)
        if steps is None:
            place = f"{read.name}_{axis}[i{axis} * {taken} + k{axis}]"
            checks += [f"{place} < 0"] if (each < 0).any() else []
        else:
            start = str(steps[0]) if steps[0] else ""
            place = _sum([_times(f"i{axis}", steps[1]), _times(f"k{axis}", steps[2]), start])
        places.append("" if place == "0" else place)
    yield f"{indent}element found = {'LOWEST' if operation.how == 'max' else '0'};"
    yield f"{indent}int64_t taken = 0;"
    deep = indent
    for name, taken in inner:
        yield f"{deep}for (int64_t {name} = 0; {name} < {taken}; {name}++) {{"
        deep += "    "
    if checks:
        yield f"{deep}if ({' || '.join(checks)})"
        yield f"{deep}    continue;"
    word = f"{read.name}[{_sum(places)}]{_factor(operation)}"
    yield f"{deep}found = larger(found, {word});" if operation.how == "max" else f"{deep}found += {word};"
    yield f"{deep}taken++;"
    for _ in inner:
        deep = deep[4:]
        yield f"{deep}}}"
    result = "found / (element)taken" if operation.how == "mean" else "found"
    scale = f" * {operation.scale!r}" if operation.scale != 1 else ""
    yield f"{indent}(void)taken;"
    yield f"{indent}to[{_sum(out)}] = {result}{scale};"
    for _ in read.offsets:
        indent = indent[4:]
        yield f"{indent}}}"
