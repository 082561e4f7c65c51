"""Accelergy's tables in an architecture: energies and leakage of an ERT, areas of an ART, by the names of levels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...arch import load_arch
from ...arch.document import Field, read_document, read_text
from ...ir import ArchitectureError, did_you_mean
from ..timeloop.accelergy import COMPUTE, FILL, READ, UPDATE, Actions, areas, energies, energy_of, unread_actions
from .machine import ImportedMachine

_WHAT = "an ERT or an ART of Accelergy"
_TABLES = ("ERT", "ART", "ERT_summary", "ART_summary")


def with_tables(
    arch: str | os.PathLike[str], paths: Iterable[str | os.PathLike[str]], settings: Mapping[str, str] | None = None
) -> ImportedMachine:
    """An architecture with the figures that tables have for its levels, and for its MAC.

    arch      a machine of the library by name, or the path of an architecture file
    paths     of files with an ERT, an ART, or both, in full or as summaries
    settings  fields to set before; what the tables have wins

    The component that computes is the MAC; other components are those of the levels of their names. Energies are of an
    access of the level's width. Raises ArchitectureError for tables that have nothing of the architecture.
    """
    machine = load_arch(arch, dict(settings or {}))
    notes: list[str] = []
    energy, area = _read(paths, notes)
    levels = [memory.name for memory in machine.memories]
    chosen: dict[str, str] = {}
    for name in dict.fromkeys([*energy, *area]):
        actions = energy.get(name, {})
        if unread := unread_actions(actions):
            notes.append(f"actions of {name} are left out: {', '.join(unread)}")
        if name in levels:
            chosen |= _memory(name, actions, area.get(name), notes)
        elif energy_of(actions, COMPUTE) or name.lower() == "mac":
            compute = energy_of(actions, COMPUTE)
            chosen |= {"mac.energy": f"{compute[1]!r} pJ"} if compute is not None else {}
            chosen |= {"mac.leakage": f"{actions['leak']!r} pJ/cycle"} if actions.get("leak") else {}
            chosen |= {"mac.area": f"{area[name]!r} mm2"} if area.get(name) else {}
        else:
            notes.append(f"{name} is left out: no memory has this name")
    if not chosen:
        known = list(dict.fromkeys([*energy, *area]))
        message = f"found {', '.join(known) or 'nothing'} in the tables, expected one of {', '.join(levels)}"
        raise ArchitectureError(message, where=machine.name, hint=did_you_mean(known[0] if known else "", levels))
    found = load_arch(arch, dict(settings or {}) | chosen)
    return ImportedMachine(found.model_copy(update={"settings": dict(settings or {})}), tuple(notes))


def _memory(name: str, actions: Actions, area: float | None, notes: list[str]) -> dict[str, str]:
    energies_of = {kind: energy_of(actions, names) for kind, names in (("read", READ), ("write", FILL))}
    update = energy_of(actions, UPDATE)
    written = energies_of["write"] = energies_of["write"] or update
    if written is not None and update is not None and update[1] != written[1]:
        notes.append(f"{update[0]} of {name} is left out: it costs as {written[0]} here")
    chosen = {f"{name}.{kind}": f"{found[1]!r} pJ" for kind, found in energies_of.items() if found is not None}
    chosen |= {f"{name}.leakage": f"{actions['leak']!r} pJ/cycle"} if actions.get("leak") else {}
    return chosen | ({f"{name}.area": f"{area!r} mm2"} if area else {})


def _read(paths: Iterable[str | os.PathLike[str]], notes: list[str]) -> tuple[dict[str, Actions], dict[str, float]]:
    energy: dict[str, Actions] = {}
    area: dict[str, float] = {}
    for path in paths:
        name = os.fspath(path)
        top = read_document(read_text(Path(path), name, _WHAT), name, _WHAT, "start with 'ERT:' or 'ART:'")
        parts: Mapping[str, Field] = top.members({}, _TABLES)
        for key, part in parts.items():
            if key.startswith("ERT"):
                energy |= energies(part, notes)
            else:
                area |= areas(part)
    return energy, area
