"""Accelergy's tables: energies by component and action (ERT), areas by component (ART), in full or as summaries.

Energies are in pJ, areas in square micrometres. Components are paths such as `System.DRAM[1..1]`; their last name is
the one that architectures call them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from ...arch.document import Field

Actions = Mapping[str, float]

READ = ("random_read", "read")
FILL = ("random_fill", "random_write", "fill", "write")
UPDATE = ("random_update", "random_write", "update", "write")
COMPUTE = ("mac_random", "mult_random", "mac", "mult", "compute")
"""What Timeloop looks for in an ERT, the first that is there."""

_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?")
_VERSIONS = ("0.3", "0.4")
_NO_BEARING = ("primitive_estimations", "primitive_estimation(s)")
"""Who estimated a figure; summaries have it beside each."""


def energies(ert: Field, notes: list[str]) -> dict[str, Actions]:
    """Component -> action -> pJ. Raises ArchitectureError with the place of what cannot be understood."""
    found: dict[str, Actions] = {}
    for row in _rows(ert):
        members = row.members({"name": "a name", "actions": "a list of actions"}, _NO_BEARING)
        actions: dict[str, float] = {}
        several = False
        for action in members["actions"].elements("a list of actions") if members["actions"].value else ():
            given = action.members({"name": "a name such as read", "energy": "an energy in pJ"}, ("arguments",))
            name, energy = given["name"].text(), number(given["energy"])
            several |= actions.get(name, energy) != energy
            actions[name] = max(energy, actions.get(name, 0.0))
        component = _name(members["name"])
        if several:
            notes.append(
                f"an action of {component} has energies by its arguments; the greatest is taken, as Timeloop does"
            )
        found[component] = actions
    return found


def energy_of(actions: Actions, names: Iterable[str]) -> tuple[str, float] | None:
    """The first of these actions that there is, and its energy."""
    return next(((name, actions[name]) for name in names if name in actions), None)


def unread_actions(actions: Actions) -> list[str]:
    """Actions that no figure of ours is of."""
    return sorted({*actions} - {*READ, *FILL, *UPDATE, *COMPUTE, "leak"})


def areas(art: Field) -> dict[str, float]:
    """Component -> square millimetres. Raises ArchitectureError with the place of what cannot be understood."""
    found: dict[str, float] = {}
    for row in _rows(art):
        members = row.members({"name": "a name", "area": "an area in square micrometres"}, _NO_BEARING)
        found[_name(members["name"])] = number(members["area"]) * 1e-6
    return found


def number(field: Field) -> float:
    """A plain number of 0 or more."""
    text = field.text("a number")
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise field.error(f"found {text!r}, expected a number")
    return float(text)


def _rows(table: Field) -> Iterator[Field]:
    members = table.members({"version": "version: 0.4"}, ("tables", "table_summary"))
    version = members["version"].text("version: 0.4")
    if version not in _VERSIONS:
        message = f"this is version {version} of Accelergy's tables, expected {' or '.join(_VERSIONS)}"
        raise members["version"].error(message)
    rows = members.get("tables") or members.get("table_summary")
    if rows is None:
        raise table.error("missing, expected a list of components", key="tables")
    yield from rows.elements("a list of components")


def _name(field: Field) -> str:
    """The last name of a path, without the range of its instances."""
    return re.sub(r"\[[^\]]*\]", "", field.text()).split(".")[-1]
