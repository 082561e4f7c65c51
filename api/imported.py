"""Timeloop's files without a mapping, as files of ours: an architecture, a network of one layer, constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .arch.writer import architecture_text
from .mapper.timeloop import Parts
from .workloads.rows import network_text

LAYER = "layer"
"""The name of an imported problem in its network file."""


def timeloop_files(parts: Parts, names: Sequence[str]) -> dict[str, str]:
    """File name -> text, for what there is.

    names  of the files that were read

    Raises ProblemError for a problem that no row of a network file makes.
    """
    source = f"imported from {', '.join(names)}, Timeloop v0.4"
    found: dict[str, str] = {}
    dims: Mapping[str, str] = {}
    if parts.problem is not None:
        text, dims = network_text(parts.problem, "imported", LAYER)
        renamed = ", ".join(f"{theirs} is {ours}" for theirs, ours in dims.items() if theirs != ours)
        found["network.yaml"] = f"# {source}\n" + (f"# {renamed}\n" if renamed else "") + text
    if parts.arch is not None:
        found["machine.yaml"] = architecture_text(parts.arch.model_copy(update={"source": source}))
    if parts.constraints:
        found["constraints.yaml"] = _constraints_text(parts.constraints, dims, source)
    return found


def _constraints_text(constraints: Mapping[str, Any], dims: Mapping[str, str], source: str) -> str:
    import yaml

    names = sorted({dims.get(dim, dim) for dim in _dims(constraints)})
    optional = {"optional": names} if names else {}
    document = {"name": "imported", "source": source, **optional, **_renamed(constraints, dims)}
    return str(yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=110))


def _dims(constraints: Mapping[str, Any]) -> set[str]:
    """All dimensions that are named."""
    memories = constraints.get("memories", {}).values()
    axes = [axis for fanout in constraints.get("fanouts", {}).values() for axis in fanout.values()]
    found = {dim for memory in memories for dim in (*memory.get("temporal", {}), *memory.get("order", ()))}
    return found | {dim for axis in axes for dim in axis["trips"]}


def _renamed(value: Any, dims: Mapping[str, str]) -> Any:
    """With other names of dimensions, as keys of trips and in orders; names of levels are never those of dimensions."""
    if isinstance(value, dict):
        return {dims.get(key, key): _renamed(member, dims) for key, member in value.items()}
    if isinstance(value, list):
        return [dims.get(element, element) for element in value]
    return value
