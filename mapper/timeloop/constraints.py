"""`constraints:` of the nodes of an architecture of Timeloop v0.4, as a constraints file of ours says them.

    dataspace: {keep: [Inputs], bypass: [Weights]}              keep: {input: must, weight: never}
    temporal: {factors: [N=1, C<=4], permutation: [R, S]}       temporal: {N: 1, C: {max: 4}}, order: [S, R]
    spatial: {factors: [P=1], permutation: [N, C], split: 1}    x: {trips: {P: 1}}, y: {trips: {P: 1, N: 1}}

Dimensions have Timeloop's names. A permutation there lists all dimensions, innermost first; ours, outermost first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...arch import Architecture, Fanout
from ...arch.document import Field
from ...ir import Role
from .architecture import flat_nodes, spatial_name

_FACTOR = re.compile(r"([A-Za-z_]\w*)\s*(=|<=|==)?\s*([0-9]{1,15})")
_TEMPORAL = ("factors", "permutation", "factors_only", "permutation_only", "no_reuse")
_SPATIAL = ("factors", "permutation", "split", "no_reuse", "no_link_transfer", "no_multicast_no_reduction")
_ROLES: dict[str, Role] = {"inputs": "input", "input": "input", "weights": "weight", "weight": "weight",
                           "outputs": "output", "output": "output", "psums": "output"}  # fmt: skip


def read_constraints(part: Field, arch: Architecture) -> dict[str, Any]:
    """What the nodes of an architecture ask for: `memories` and `fanouts` of a constraints file; empty if nothing.

    Raises ArchitectureError with the place of what has no equal.
    """
    memories: dict[str, Any] = {}
    fanouts: dict[str, Any] = {}
    for node in flat_nodes(part.mapping("an architecture")["nodes"]):
        members = node.mapping("a node")
        if "constraints" not in members:
            continue
        name = members["name"].text()
        asked = members["constraints"].members({}, ("dataspace", "temporal", "spatial"))
        memory = _memory(asked)
        if memory and name in arch.depth and name != arch.memories[0].name:
            memories[name] = memory
        if "spatial" in asked and spatial_name(name) in arch.depth:
            fanouts[spatial_name(name)] = _fanout(asked["spatial"], arch.level(spatial_name(name)))
    parts = {"memories": memories, "fanouts": {name: axes for name, axes in fanouts.items() if axes}}
    return {key: found for key, found in parts.items() if found}


def _memory(asked: Mapping[str, Field]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "dataspace" in asked:
        members = asked["dataspace"].members({}, ("keep", "bypass"))
        keep = dict.fromkeys(_roles(members.get("keep")), "must")
        keep |= dict.fromkeys(_roles(members.get("bypass")), "never")
        if "keep" in members and "bypass" not in members:
            others: tuple[Role, ...] = ("input", "weight", "output")
            keep |= {role: "never" for role in others if role not in keep}
        found["keep"] = keep
    if "temporal" in asked:
        members = asked["temporal"].members({}, _TEMPORAL)
        factors = _factors(members)
        found |= {"temporal": factors} if factors else {}
        moving = [dim for dim in _names(members.get("permutation")) if factors.get(dim) != 1]
        found |= {"order": list(reversed(moving))} if len(moving) > 1 else {}
    return found


def _fanout(field: Field, level: object) -> dict[str, Any]:
    """Trips on each axis; with a split, dimensions of the permutation up to it run along x and the others along y."""
    members = field.members({}, _SPATIAL)
    factors, order = _factors(members), _names(members.get("permutation"))
    axes: dict[str, dict[str, Any]] = {"x": dict(factors), "y": dict(factors)}
    if "split" in members and order:
        split = int(members["split"].text("a number of dimensions"))
        axes["y"] |= dict.fromkeys(order[:split], 1)
        axes["x"] |= dict.fromkeys(order[split:], 1)
    sizes = {"xy"[i]: axis.size for i, axis in enumerate(level.axes)} if isinstance(level, Fanout) else {}
    return {axis: {"trips": trips} for axis, trips in axes.items() if trips and sizes.get(axis, 1) > 1}


def _factors(members: Mapping[str, Field]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in _texts(members.get("factors")):
        match = _FACTOR.fullmatch(text.strip())
        if match is None:
            raise members["factors"].error(f"found {text!r}, expected a dimension and its factor, such as K=4 or K<=4")
        if int(match[3]):  # 0 leaves the factor to the tool
            found[match[1]] = {"max": int(match[3])} if match[2] == "<=" else int(match[3])
    return found


def _roles(field: Field | None) -> Iterator[Role]:
    for text in _texts(field):
        role = _ROLES.get(text.strip().lower())
        if role is None and field is not None:
            raise field.error(f"{text!r} has no role here, expected Inputs, Weights or Outputs")
        if role is not None:
            yield role


def _names(field: Field | None) -> list[str]:
    return [text.strip() for text in _texts(field)]


def _texts(field: Field | None) -> list[str]:
    if field is None or field.value == "":
        return []
    if isinstance(field.value, tuple):
        return [element.text("a name") for element in field.value]
    text = field.text("names")
    return re.split(r"[,\s]+", text) if re.search(r"[,\s]", text) or "=" in text else list(text)
