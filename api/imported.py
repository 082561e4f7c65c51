"""Timeloop's files without a mapping, as files of ours: an architecture, a network of one layer, constraints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .arch.writer import architecture_text
from .ir.errors import on_one_line
from .mapper.timeloop import Parts
from .workloads.rows import NetworkRow, network_text, row_of

LAYER = "layer"
"""The name of an imported problem in its network file."""


def timeloop_files(parts: Parts, names: Sequence[str]) -> dict[str, str]:
    """File name -> text, for what there is; what was left out or changed is a comment in the first of them.

    names  of the files that were read

    Raises ProblemError for a problem that no row of a network file makes.
    """
    source = f"imported from {', '.join(names)}, Timeloop v0.4"
    found: dict[str, str] = {}
    row = row_of(parts.problem, LAYER) if parts.problem is not None else NetworkRow("", {}, {})
    if parts.problem is not None:
        renamed = [f"{theirs} is {ours}" for theirs, ours in (row.dims | row.tensors).items() if theirs != ours]
        found["network.yaml"] = "".join(_comments([source, ", ".join(renamed)])) + network_text(row, "imported")
    if parts.arch is not None:
        found["machine.yaml"] = architecture_text(parts.arch.model_copy(update={"source": source}))
    if parts.constraints:
        found["constraints.yaml"] = _constraints_text(parts.constraints, row, source)
    noted = next((name for name in ("machine.yaml", "network.yaml") if name in found), None)
    if noted is not None:
        found[noted] = "".join(_comments(parts.notes)) + found[noted]
    return found


def _comments(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"# {on_one_line(line)}\n" for line in lines if line)


def _constraints_text(constraints: Mapping[str, Any], row: NetworkRow, source: str) -> str:
    import yaml

    memories = {name: _memory(each, row) for name, each in constraints.get("memories", {}).items()}
    fanouts = {
        name: {axis: {"trips": _trips(each["trips"], row)} for axis, each in axes.items()}
        for name, axes in constraints.get("fanouts", {}).items()
    }
    rest = {"memories": memories, "fanouts": fanouts, "utilization": constraints.get("utilization")}
    # A layer without a problem's dimension has one trip of it; names of no problem may be misread, and must exist.
    names = sorted({*_dims({"memories": memories, "fanouts": fanouts})}) if row.text else []
    alone = "" if row.text else "no file has the problem: dimensions and data spaces have the names of these files"
    document = {"name": "imported", "source": source, "optional": names, **rest}
    document = {key: value for key, value in document.items() if value}
    text = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=110)
    return "".join(_comments([alone])) + str(text)


def _memory(asked: Mapping[str, Any], row: NetworkRow) -> dict[str, Any]:
    """With our names of dimensions and tensors."""
    found: dict[str, Any] = {}
    if "keep" in asked:
        found["keep"] = {row.tensors.get(space, space): word for space, word in asked["keep"].items()}
    if "temporal" in asked:
        found["temporal"] = _trips(asked["temporal"], row)
    if "order" in asked:
        found["order"] = [row.dims.get(dim, dim) for dim in asked["order"]]
    return found


def _trips(trips: Mapping[str, Any], row: NetworkRow) -> dict[str, Any]:
    return {row.dims.get(dim, dim): span for dim, span in trips.items()}


def _dims(constraints: Mapping[str, Any]) -> Iterator[str]:
    """All dimensions that are named: a layer may lack them."""
    for memory in constraints["memories"].values():
        yield from (dim for dim in (*memory.get("temporal", {}), *memory.get("order", ())) if _is_name(dim))
    for axes in constraints["fanouts"].values():
        yield from (dim for axis in axes.values() for dim in axis["trips"] if _is_name(dim))


def _is_name(word: str) -> bool:
    return word != "others" and re.fullmatch(r"\w+\(.*\)", word) is None
