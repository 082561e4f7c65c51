"""Accelergy's tables: energies by component and action (ERT), areas by component (ART), in full or as summaries.

Energies are in pJ, areas in square micrometres. Components are paths such as `System.DRAM[1..1]`; their last name is
the one that architectures call them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...arch.document import Field

Actions = Mapping[str, float]

_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?")
_SQUARE_MICROMETRES = 1e-6  # in square millimetres
_NO_BEARING = ("primitive_estimations", "primitive_estimation(s)")


def energies(ert: Field) -> dict[str, Actions]:
    """Component -> action -> pJ. Raises ArchitectureError with the place of what cannot be understood."""
    found: dict[str, Actions] = {}
    for row in _rows(ert):
        members = row.members({"name": "a name", "actions": "a list of actions"}, _NO_BEARING)
        actions = {}
        for action in members["actions"].elements("a list of actions"):
            given = action.members({"name": "a name such as read", "energy": "an energy in pJ"}, ("arguments",))
            actions[given["name"].text()] = number(given["energy"])
        found[_name(members["name"])] = actions
    return found


def areas(art: Field) -> dict[str, float]:
    """Component -> square millimetres. Raises ArchitectureError with the place of what cannot be understood."""
    found: dict[str, float] = {}
    for row in _rows(art):
        members = row.members({"name": "a name", "area": "an area in square micrometres"}, _NO_BEARING)
        found[_name(members["name"])] = number(members["area"]) * _SQUARE_MICROMETRES
    return found


def number(field: Field) -> float:
    """A plain number of 0 or more."""
    text = field.text("a number")
    if not _NUMBER.fullmatch(text):
        raise field.error(f"found {text!r}, expected a number")
    return float(text)


def _rows(table: Field) -> Iterator[Field]:
    members = table.members({}, ("version", "tables", "table_summary"))
    rows = members.get("tables") or members.get("table_summary")
    if rows is None:
        raise table.error("missing, expected a list of components", key="tables")
    yield from rows.elements("a list of components")


def _name(field: Field) -> str:
    return field.text().split("[")[0].split(".")[-1]
