"""AccelForge's architectures: nodes from the outside in, figures in joules, bits, square metres and seconds.

    size: 1024*1024*8                               bits; inf is unbounded
    actions: [{name: read, energy: 7.03e-12, throughput: 8 * 614e9, bits_per_action: 64}]
    total_latency: sum(a.n_calls for a in actions) / 32 / 200e6
    component_class: SmartBufferSRAM                estimated from our tables, where a figure is left out
    tensors: {keep: input | output, may_keep: All}
    spatial: [{name: X, fanout: 14, reuse: weight}]

Expressions may calculate with numbers; what refers to a workload has no equal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ...arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from ...arch.document import Field, read_document, read_text
from ...arch.estimate_fields import estimated_text
from ...ir import ArchitectureError
from ...ir.problem import ROLES
from .accelforge_figures import ATTRIBUTES, AccelForgeFile, Component
from .machine import ImportedMachine, checked

TAGS = ("!Memory", "!Compute", "!Container", "!Fanout", "!Toll", "!Fork", "!Hierarchical", "!Array", "!Network")
_WHAT = "an architecture of AccelForge"
_NODE = ("name", "size", "leak_power", "area", "tensors", "actions", "spatial", "total_latency", "enabled",
         "component_class", ATTRIBUTES, "n_parallel_instances", "energy_scale", "area_scale", "leak_power_scale",
         "throughput_scale", "bits_per_value", "bits_per_value_scale", "separate_read_write_ports")  # fmt: skip
_TENSORS = ("keep", "may_keep", "back", "tile_shape", "force_memory_hierarchy_order", "no_refetch_from_above")
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
    attributes = "extra_attributes_for_all_component_models"
    members = arch["arch"].members({"nodes": "a list of !Memory, !Container and !Compute"},
                                   (attributes, "variables", "name"))  # fmt: skip
    nodes = members["nodes"].elements("a list of !Memory, !Container and !Compute")
    shared = members[attributes].mapping("a mapping such as {tech_node: 65e-9}") if attributes in members else {}
    file = AccelForgeFile(word_bits, shared, [f"the file states no width of words: {word_bits} bit is assumed"])
    compute, clock = _compute(nodes, file)
    levels = _levels(nodes, compute, clock, file)
    mac = _mac(compute, clock)
    source = f"imported from {Path(path).name}, {_WHAT}"
    built = checked(
        lambda: Architecture(
            name=Path(path).stem,
            source="; ".join(filter(None, [source, estimated_text(file.estimated)])),
            clock_hz=clock,
            word_bits=word_bits,
            reuse="at_node",
            levels=tuple(levels),
            mac=mac,
        ),
        name,
    )
    file.notes.append("AccelForge's rule of reuse is set, reuse: at_node; docs/other-tools.md has it")
    return ImportedMachine(built, tuple(file.notes))


def _compute(nodes: tuple[Field, ...], file: AccelForgeFile) -> tuple[Component, float]:
    """The last compute unit, and its throughput, which is the clock."""
    units = [node for node in nodes if node.tag == "!Compute"]
    if not units:
        raise nodes[-1].error("expected a compute unit, !Compute, below all memories")
    file.notes.extend(f"{_name(unit)} is left out: it is a second compute unit" for unit in units[:-1])
    found = Component("MAC", units[-1], _members(units[-1]), file)
    if "compute" not in found.actions and "component_class" not in found.members:
        raise units[-1].error("missing, expected the action compute with its energy", key="actions")
    clock = found.rate("compute")
    if clock is None:
        file.notes.append("the compute unit states no throughput: a clock of 1 GHz is assumed")
    return found, float(clock or 1e9)


def _levels(nodes: tuple[Field, ...], compute: Component, clock: float, file: AccelForgeFile) -> list[Memory | Fanout]:
    levels: list[Memory | Fanout] = []
    for node in nodes:
        if node.tag == "!Compute" and node is not compute.node:
            continue
        if node.tag not in ("!Memory", "!Container", "!Fanout", "!Compute"):
            raise node.error(f"{node.tag or 'a node without a tag'} has no equal here, expected !Memory, !Container")
        members = _members(node)
        if "spatial" in members:
            levels += _arrays(_name(node), members["spatial"])
        if node.tag == "!Memory":
            levels.append(_memory(Component(_name(node), node, members, file), clock, outermost=not levels))
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


def _memory(found: Component, clock: float, *, outermost: bool) -> Memory:
    width, written = found.width_bits("read"), found.width_bits("write")
    read, write = found.energy_pj("read"), found.energy_pj("write")
    found.note(("read", "write"))
    rates = {kind: found.rate(kind) for kind in ("read", "write")}
    bits = {
        kind: None if rate is None else float(rate * found.width_bits(kind)) / clock for kind, rate in rates.items()
    }
    return checked(
        lambda: Memory(
            name=found.part,
            size_bits=None if outermost else found.size_bits,
            access_bits=width,
            read_energy_pj=read,
            write_energy_pj=write * width / written,
            keeps=Keeps() if outermost else _keeps(found.members.get("tensors")),
            **_ports(bits["read"], bits["write"], found),
            **found.idle(clock),
        ),
        found.node.where,
    )


def _ports(read: float | None, write: float | None, found: Component) -> dict[str, float]:
    """One port for both directions, whose times add up, unless the file says that they do not.

    read, write  bits in a cycle; None is no limit
    """
    if not found.ports_apart and read is not None and read == write:
        return {"shared_bits_per_cycle": read}
    if not found.ports_apart and read is not None and write is not None:
        found.file.notes.append(
            f"reads and writes of {found.part} share its time at different rates; here each has a port"
        )
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


def _mac(found: Component, clock: float) -> Mac:
    energy = found.energy_pj("compute")
    found.note(("compute",))
    return Mac(energy_pj=energy, **found.idle(clock))


def _members(node: Field) -> Mapping[str, Field]:
    return node.members({"name": "a name such as GlobalBuffer"}, _NODE[1:])


def _name(node: Field) -> str:
    expected = "a name such as GlobalBuffer"
    name = node.mapping("a node").get("name")
    if name is None:
        raise node.error(f"missing, expected {expected}", key="name")
    return name.text(expected)
