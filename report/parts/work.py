"""What is mapped, as pages show it: the operations of a problem or a cascade, their sizes, and their tensors."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from rich.table import Table

from ...arch import Architecture
from ...ir import Problem, Work
from ...ir.units import count, plural
from .text import columns


def work_rows(work: Work) -> list[tuple[str, str]]:
    """Its name, its operations, its sizes; and the forms that a cascade has."""
    if isinstance(work, Problem):
        operands = " * ".join(str(tensor) for tensor in work.operands)
        sizes = " ".join(f"{name}={size}" for name, size in work.dims)
        told = (f"{work.output} += {operands}", sizes, plural(work.macs, "MAC"))
        return [("Layer", work.name), *(("", line) for line in told)]
    form = [("Form", work.form)] if work.form else []
    if work.others:
        names = "; ".join(one.form for one in work.forms)
        form = [("Forms", f"{len(work.forms)}: {names}"), ("First", work.form)]
    lines = (*str(work).splitlines(), plural(work.macs, "point"))
    return [("Cascade", work.name), *form, *(("", line) for line in lines)]


def padding_rows(work: Work, arch: Architecture) -> list[tuple[str, str]]:
    """How many words of padded tensors are stored, on a machine that neither stores nor moves zeros of padding."""
    if not isinstance(work, Problem):
        return []
    from ...cost_models.cost import tensor_tile_words
    from ...cost_models.padding import counted

    rows = []
    for tensor in counted(work, arch).tensors:
        if tensor.stored:
            stored, every = (tensor_tile_words(t, work.sizes) for t in (tensor, replace(tensor, stored=())))
            rows.append(
                ("Padding", f"zeros around {tensor.name} are not moved: {count(stored)} words of {count(every)}")
            )
    return rows


def tensor_table(work: Work) -> Table:
    """Every tensor, with its words and its shape: of a layer its role, of a cascade who writes and reads it."""
    if isinstance(work, Problem):
        table = columns(("tensor", "role"), ("words", "shape"))
        for tensor in work.tensors:
            _add(table, (str(tensor), tensor.role), work.extents(tensor.name))
        return table
    table = columns(("tensor", "written by", "read by"), ("words", "shape"))
    for name in work.tensors:
        writer = work.producers[name].name if name in work.producers else "-"
        readers = " ".join(operation.name for operation in work.consumers[name]) or "-"
        _add(table, (name, writer, readers), work.extents(name))
    return table


def _add(table: Table, texts: tuple[str, ...], shape: tuple[int, ...]) -> None:
    table.add_row(*texts, count(prod(shape)), " x ".join(map(str, shape)) or "1")
