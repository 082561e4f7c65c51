"""The page of a cascade: its operations and its tensors."""

from __future__ import annotations

from math import prod
from typing import Any

from rich.console import Group

from ...ir import Cascade
from ...ir.units import count, plural
from ..parts.text import columns, pairs, section


def cascade_page(cascade: Cascade) -> Group:
    """The page of a cascade: its operations, and its tensors in words."""
    table = columns(("tensor", "written by", "read by"), ("words", "shape"))
    for tensor in cascade.tensors:
        extents = cascade.extents(tensor)
        writer = cascade.producers[tensor].name if tensor in cascade.producers else "-"
        readers = " ".join(operation.name for operation in cascade.consumers[tensor]) or "-"
        table.add_row(tensor, writer, readers, count(prod(extents)), " x ".join(map(str, extents)) or "1")
    return Group(pairs(cascade_rows(cascade)), section("Tensors", table))


def cascade_document(cascade: Cascade) -> dict[str, Any]:
    """The same for programs: what its YAML file says."""
    *operations, _ = str(cascade).splitlines()
    sizes = dict(pair for operation in cascade for pair in operation.problem.dims)
    return {
        "name": cascade.name,
        "operations": operations,
        "sizes": {dim.lower(): size for dim, size in sizes.items()},
        "points": cascade.macs,
    }


def cascade_rows(cascade: Cascade) -> list[tuple[str, str]]:
    """The cascade: its name, its operations, its sizes."""
    *operations, sizes = str(cascade).splitlines()
    form = [("Form", cascade.form)] if cascade.form else []
    if cascade.others:
        form = [
            ("Forms", f"{len(cascade.forms)}: {'; '.join(one.form for one in cascade.forms)}"),
            ("First", cascade.form),
        ]
    rows = [("", line) for line in (*operations, sizes, plural(cascade.macs, "point"))]
    return [("Cascade", cascade.name), *form, *rows]
