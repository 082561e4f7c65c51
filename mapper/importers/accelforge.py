"""AccelForge's architectures: nodes from the outside in, figures in joules, bits, square metres and seconds.

    size: 1024*1024*8                               bits; inf is unbounded
    actions: [{name: read, energy: 7.03e-12, throughput: 8 * 614e9, bits_per_action: 64}]
    tensors: {keep: input | output, may_keep: All}
    spatial: [{name: X, fanout: 14, reuse: weight}]

Energies must be stated: those that AccelForge computes from a `component_class` are not in the file. Expressions may
calculate with numbers; what refers to a workload has no equal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from ...arch.document import Field, read_document, read_text
from ...arch.expression import Number, evaluate
from ...ir import ArchitectureError
from ...ir.problem import ROLES
from .machine import ImportedMachine, checked

TAGS = ("!Memory", "!Compute", "!Container", "!Toll", "!Fork", "!Hierarchical", "!Array", "!Network")
_WHAT = "an architecture of AccelForge"
_NODE = ("name", "size", "leak_power", "area", "tensors", "actions", "spatial", "total_latency", "enabled",
         "component_class", "extra_attributes_for_component_model", "energy_scale", "n_parallel_instances")  # fmt: skip
_ACTION = ("energy", "throughput", "bits_per_action", "latency")
_TENSORS = ("keep", "may_keep", "back", "tile_shape", "force_memory_hierarchy_order", "no_refetch_from_above")
_WORD = re.compile(r"(\w+)\.bits_per_value(?: if \1 else [0-9]+)?")
_AXIS = ("name", "reuse", "may_reuse", "min_usage", "power_gateable")


def read_accelforge(path: str | os.PathLike[str], word_bits: int = 8) -> ImportedMachine:
    """The machine in an architecture file.

    word_bits  width of operands, which AccelForge's workloads state, and its architectures do not

    Raises ArchitectureError, with file, line and field, for what cannot be read or has no equal here.
    """
    name = os.fspath(path)
    text = read_text(Path(path), name, _WHAT)
    if re.search(r"\{[{%]", text):
        raise ArchitectureError("this is a template, expected plain YAML", where=name, hint="fill in its {{...}} first")
    top = read_document(text, name, _WHAT, "start with 'arch:'", TAGS)
    arch = top.mapping("an architecture with 'arch:'")
    if "arch" not in arch:
        raise top.error("missing, expected nodes from the outside in", key="arch")
    members = arch["arch"].members({"nodes": "a list of !Memory, !Container and !Compute"},
                                   ("extra_attributes_for_all_component_models", "variables", "name"))  # fmt: skip
    nodes = members["nodes"].elements("a list of !Memory, !Container and !Compute")
    notes = [f"the file states no width of words: {word_bits} bit is assumed"]
    compute, clock = _compute(nodes, notes)
    levels = _levels(nodes, compute, clock, word_bits, notes)
    built = checked(
        lambda: Architecture(
            name=Path(path).stem,
            source=f"imported from {Path(path).name}, {_WHAT}",
            clock_hz=clock,
            word_bits=word_bits,
            reuse="at_node",
            levels=tuple(levels),
            mac=_mac(compute, clock),
        ),
        name,
    )
    notes.append("AccelForge's rule of reuse is set, reuse: at_node; docs/other-tools.md has it")
    return ImportedMachine(built, tuple(notes))


def _compute(nodes: tuple[Field, ...], notes: list[str]) -> tuple[Field, float]:
    """The last compute unit, and its throughput, which is the clock."""
    units = [node for node in nodes if node.tag == "!Compute"]
    if not units:
        raise nodes[-1].error("expected a compute unit, !Compute, below all memories")
    notes += [f"{_name(unit)} is left out: it is a second compute unit" for unit in units[:-1]]
    action = _actions(units[-1]).get("compute")
    if action is None:
        raise units[-1].error("missing, expected the action compute with its energy", key="actions")
    clock = _figure(action, "throughput")
    if clock is None:
        notes.append("the compute unit states no throughput: a clock of 1 GHz is assumed")
    return units[-1], float(clock or 1e9)


def _levels(
    nodes: tuple[Field, ...], compute: Field, clock: float, word_bits: int, notes: list[str]
) -> list[Memory | Fanout]:
    levels: list[Memory | Fanout] = []
    for node in nodes:
        if node.tag == "!Compute" and node is not compute:
            continue
        if node.tag not in ("!Memory", "!Container", "!Compute"):
            raise node.error(f"{node.tag or 'a node without a tag'} has no equal here, expected !Memory, !Container")
        members = node.members({"name": "a name such as GlobalBuffer"}, _NODE[1:])
        if "spatial" in members:
            levels += _arrays(_name(node), members["spatial"])
        if node.tag == "!Memory":
            levels.append(_memory(node, members, clock, word_bits, notes, outermost=not levels))
    return levels


def _arrays(name: str, field: Field) -> list[Fanout]:
    axes, shares = [], True
    for element in field.elements("a list of axes such as {name: X, fanout: 14}"):
        members = element.members({"fanout": "a number of instances"}, _AXIS)
        reuse = members["reuse"].text() if "reuse" in members else None
        if reuse is not None and reuse not in ROLES:
            raise members["reuse"].error(f"found {reuse!r}, expected input, weight or output")
        shares &= "may_reuse" not in members or members["may_reuse"].text() != "Nothing"
        axes.append(ArrayAxis(size=members["fanout"].whole("a number of instances"), reuse=reuse))
    pairs = [axes[i : i + 2] for i in range(0, len(axes), 2)]
    names = [f"{name}_array" if len(pairs) == 1 else f"{name}_array{i + 1}" for i in range(len(pairs))]
    return [
        Fanout(name=each, axes=tuple(pair), multicast=shares, spatial_reduction=shares)
        for each, pair in zip(names, pairs, strict=True)
    ]


def _memory(
    node: Field, members: Mapping[str, Field], clock: float, word_bits: int, notes: list[str], *, outermost: bool
) -> Memory:
    actions = _actions(node)
    found: dict[str, Any] = {}
    widths = {}
    for kind in ("read", "write"):
        energy = _figure(actions[kind], "energy") if kind in actions else None
        if kind not in actions and "component_class" in members and members["component_class"].text() == "Dummy":
            actions[kind], energy = {}, 0.0
        if energy is None:
            hint = "add an energy in joules to its actions; AccelForge computes it from the component class"
            raise node.error(f"{_name(node)} states no energy of a {kind}", hint=hint)
        widths[kind] = int(_figure(actions[kind], "bits_per_action") or 1)
        found[kind] = float(energy * 10**12)
        throughput = _figure(actions[kind], "throughput")
        found[f"{kind}_bits"] = float(throughput * widths[kind]) / clock if throughput is not None else None
    size = None if outermost or "size" not in members else _size(members["size"], word_bits, notes)
    return checked(
        lambda: Memory(
            name=_name(node),
            size_bits=int(size) if size is not None else None,
            access_bits=widths["read"],
            read_energy_pj=found["read"],
            write_energy_pj=found["write"] * widths["read"] / widths["write"],
            keeps=Keeps() if outermost else _keeps(members.get("tensors")),
            **_ports(found, members, _name(node), notes),
            **_idle(members, clock),
        ),
        node.where,
    )


def _size(field: Field, word_bits: int, notes: list[str]) -> Number | None:
    """Bits; None is unbounded. A width that the workload states is a word."""
    if _WORD.fullmatch(field.text("a number of bits")):
        notes.append(f"{field.path} is the width of a tensor, and here a word")
        return Fraction(word_bits)
    return _value(field)


def _ports(found: Mapping[str, Any], members: Mapping[str, Field], name: str, notes: list[str]) -> dict[str, float]:
    """One port for both directions, whose times add up, unless the file takes the larger one of them."""
    read, write = found["read_bits"], found["write_bits"]
    apart = "total_latency" in members and members["total_latency"].text().startswith("max(")
    if not apart and read is not None and read == write:
        return {"shared_bits_per_cycle": read}
    if not apart and read is not None and write is not None:
        notes.append(f"reads and writes of {name} share its time at different rates; here each has a port")
    given = {"read_bits_per_cycle": read, "write_bits_per_cycle": write}
    return {key: bits for key, bits in given.items() if bits is not None}


def _keeps(field: Field | None) -> Keeps:
    """`keep` is must, `may_keep` is may, all else never; what refers to other nodes leaves a choice."""
    members = (
        field.members({}, ("keep", "may_keep", "back", "tile_shape", "force_memory_hierarchy_order")) if field else {}
    )
    kept: dict[str, str] = dict.fromkeys(ROLES, "never")
    for key, word in (("may_keep", "may"), ("keep", "must")):
        for term in re.split(r"[|,]", members[key].text()) if key in members else ():
            name = term.strip()
            if name in ROLES:
                kept[name] = word
            elif name == "All":
                kept |= dict.fromkeys(ROLES, word)
            elif name != "Nothing":
                kept |= {role: "may" for role in ROLES if kept[role] == "never"}
    return Keeps(**kept)


def _mac(node: Field, clock: float) -> Mac:
    energy = _figure(_actions(node)["compute"], "energy")
    if energy is None:
        raise node.error(f"{_name(node)} states no energy of compute", hint="add it in joules")
    return Mac(energy_pj=float(energy * 10**12), **_idle(node.mapping("a node"), clock))


def _idle(members: Mapping[str, Field], clock: float) -> dict[str, float]:
    leak = _value(members["leak_power"]) if "leak_power" in members else None
    area = _value(members["area"]) if "area" in members else None
    return {"leakage_pj_per_cycle": float((leak or 0) * 10**12) / clock, "area_mm2": float((area or 0) * 10**6)}


def _actions(node: Field) -> dict[str, Mapping[str, Field]]:
    members = node.mapping("a node")
    found = {}
    for action in members["actions"].elements("a list of actions") if "actions" in members else ():
        given = action.members({"name": "a name such as read"}, _ACTION)
        found[given["name"].text()] = given
    return found


def _figure(action: Mapping[str, Field], key: str) -> Number | None:
    return _value(action[key]) if key in action else None


def _value(field: Field) -> Number | None:
    """A number, or a calculation with numbers; None is without a limit."""
    text = field.text("a number")
    if text in ("inf", "1 / inf"):
        return None
    value = field.quantity(lambda given: evaluate(given, lambda _: None), "a number")
    if any(value.powers) or value.number < 0:
        raise field.error(f"found {value.text!r}, expected a number of 0 or more")
    return value.number


def _name(node: Field) -> str:
    expected = "a name such as GlobalBuffer"
    name = node.mapping("a node").get("name")
    if name is None:
        raise node.error(f"missing, expected {expected}", key="name")
    return name.text(expected)
