"""Earlier versions of mapping.json, brought up to the present one before they are read.

    1   of a layer: {problem, nest} in the place of {cascade, tree}
    2   of a cascade, without iterations
    3   with them; a certificate may be about a part of the space, and says so as a constraint
    4   of a cascade, as the next one
    5   {read_cycles, write_cycles} of a memory in the place of its {ports}

plan.json of networks has versions of its own: what the earlier ones leave out has defaults (`network_plans.py`).
"""

from __future__ import annotations

import re
from typing import Any

from ...ir import MappingError

_OF_A_LAYER = 1
_WITH_PARTS = (2, 3)

_OLD_PART = re.compile(
    r"(no shared loops along windows|tiles of shared loops, and all below them, divide): .* ([0-9.e+-]+) % better .*"
)
"""Up to version 3, a constraint that says of which trees the bound is, and how much better others may be."""


def as_now(members: dict[str, Any], now: int, where: str) -> dict[str, Any]:
    """The members of a document of an earlier version, as the present one has them.

    where  what messages call it

    Raises MappingError for a document of a layer that has the keys of later versions.
    """
    version = members["schema_version"]
    if version == _OF_A_LAYER:
        for key in ("cascade", "tree"):
            if key in members:
                raise MappingError("unknown key", where=f"{where}: {key}")
        members = _with_tree(members)
    elif isinstance(members.get("summary"), dict):
        members = members | {"summary": {"limited_by": None} | members["summary"]}
    if version in _WITH_PARTS:
        members = _with_whole_bound(members)
    if isinstance(members.get("cost"), dict):
        members = members | {"cost": _with_ports(members["cost"], _names_of_ports(members.get("architecture")))}
    return members | {"schema_version": now}


def place_in(version: int, place: str) -> str:
    """A place in a document of the present version, as an earlier one calls it."""
    if version != _OF_A_LAYER:
        return place
    for mine, theirs in (("cascade.operations[0].problem", "problem"), ("cascade", "problem"), ("tree.items", "nest")):
        place = place.replace(f": {mine}", f": {theirs}")
    return place.replace(": tree", ": nest")


def _with_tree(members: dict[str, Any]) -> dict[str, Any]:
    """A layer as a cascade of one operation, and its nest as a tree with one leaf."""
    rest = {key: value for key, value in members.items() if key not in ("problem", "nest")}
    if isinstance(rest.get("summary"), dict):
        rest["summary"] = rest["summary"] | {"saves": None}
    if "problem" in members:
        problem = members["problem"]
        operation = {"problem": problem, "expression": _product_of(problem), "reduction": "sum"}
        name = problem.get("name") if isinstance(problem, dict) else ""
        rest["cascade"] = {"name": name, "operations": [operation]}
    if "nest" in members:
        rest["tree"] = {"items": members["nest"]}
    return rest


def _product_of(problem: Any) -> str:
    """The expression of a layer; of one that is malformed, none: its reader says what is wrong."""
    try:
        return " * ".join(tensor["name"] for tensor in problem["tensors"] if tensor["role"] != "output")
    except (KeyError, TypeError):
        return ""


def _with_whole_bound(members: dict[str, Any]) -> dict[str, Any]:
    """Bounds of the whole space: no higher than what the constraints say, which is rounded to two digits."""
    proof = members.get("certificate")
    told = proof.get("constraints") if isinstance(proof, dict) else None
    if not isinstance(proof, dict) or not isinstance(told, list):
        return members
    found = [_OLD_PART.fullmatch(line) for line in told if isinstance(line, str)]
    less = max((1.06 * float(one[2]) / 100 for one in found if one is not None), default=0.0)
    if less and isinstance(proof.get("value"), float) and isinstance(proof.get("lower_bound"), float):
        least = max(0.0, min(proof["lower_bound"], proof["value"] * (1 - less)))
        members = members | {"certificate": proof | {"lower_bound": least}}
    return members


def _names_of_ports(arch: Any) -> dict[str, tuple[str, ...]]:
    """By memory of a machine, its bounded ports; of one that is malformed, none: its reader says what is wrong."""
    found = {}
    for level in arch.get("levels", ()) if isinstance(arch, dict) else ():
        if isinstance(level, dict) and isinstance(level.get("name"), str):
            banks = bool(level.get("banks"))
            given = [name for name in ("read", "write") if level.get(f"{name}_bits_per_cycle")]
            if given:
                found[level["name"]] = ("read", "write") if banks else tuple(given)
            elif banks or level.get("shared_bits_per_cycle"):
                found[level["name"]] = ("both",)
    return found


def _with_ports(cost: dict[str, Any], ports: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """A cost, and those of its operations, with the cycles of every port of a memory."""
    memories, operations = cost.get("memories"), cost.get("operations")
    if isinstance(memories, list):
        cost = cost | {"memories": [_with_ports_of(use, ports) if isinstance(use, dict) else use for use in memories]}
    if isinstance(operations, dict):
        parts = {
            name: _with_ports(part, ports) if isinstance(part, dict) else part for name, part in operations.items()
        }
        cost = cost | {"operations": parts}
    return cost


def _with_ports_of(use: dict[str, Any], ports: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    if "read_cycles" not in use and "write_cycles" not in use:
        return use
    cycles = {
        "read": use.get("read_cycles", 0.0),
        "write": use.get("write_cycles", 0.0),
        "both": use.get("cycles", 0.0),
    }
    rest = {key: value for key, value in use.items() if key not in ("read_cycles", "write_cycles")}
    named = ports.get(use["name"], ()) if isinstance(use.get("name"), str) else ()
    return rest | {"ports": [{"name": name, "cycles": cycles[name]} for name in named]}
