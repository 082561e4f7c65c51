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

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from ...arch.document import Field, read_document, read_text
from ...arch.estimate_fields import estimated_text
from ...ir import ArchitectureError, Role
from ...ir.problem import ROLES
from .accelforge_classes import READ
from .accelforge_figures import ATTRIBUTES, AccelForgeFile, Component, number, refuse_if_given
from .machine import ImportedMachine, checked

TAGS = ("!Memory", "!Compute", "!Container", "!Fanout", "!Toll", "!Fork", "!Hierarchical", "!Array", "!Network")
_WHAT = "an architecture of AccelForge"
_NODE = ("name", "size", "leak_power", "area", "tensors", "actions", "spatial", "total_latency", "enabled",
         "component_class", ATTRIBUTES, "n_parallel_instances", "energy_scale", "area_scale", "leak_power_scale",
         "throughput_scale", "latency_scale", "actions_scale", "bits_per_value", "bits_per_value_scale",
         "bits_per_action", "values_per_action", "separate_read_write_ports", "component_model",
         "component_modeling_log", "total_area", "total_leak_power", "skip_initial_output_write")  # fmt: skip
_SETS = ("keep", "may_keep", "back")
_MAPPING = ("tile_shape", "no_refetch_from_above", "no_resend_to_below", "tensor_order_options",
            "force_memory_hierarchy_order")  # fmt: skip
_AXIS = ("name", "reuse", "may_reuse", "min_usage", "power_gateable", "loop_bounds", "usage_scale")
_BESIDE = ("workload", "mapping", "mapper", "renames", "config", "model", "variables")
"""What a file may hold beside the architecture."""


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
    if isinstance(top.value, Mapping) and "arch" not in top.value:
        raise top.error("missing, expected nodes from the outside in", key="arch")
    arch = top.members({"arch": "nodes from the outside in"}, _BESIDE)
    attributes = "extra_attributes_for_all_component_models"
    members = arch["arch"].members({"nodes": "a list of !Memory, !Container and !Compute"},
                                   (attributes, "variables"))  # fmt: skip
    shared = members[attributes].mapping("a mapping such as {tech_node: 65e-9}") if attributes in members else {}
    variables = {
        name: value
        for part in (arch.get("variables"), members.get("variables"))
        if part is not None and part.value
        for name, value in part.mapping("variables by name").items()
    }
    file = AccelForgeFile(word_bits, shared, variables)
    file.notes.append(f"the file states no width of words: {word_bits} bit is assumed")
    file.notes.extend(f"{key} is left out: only the architecture is read" for key in _BESIDE[:-1] if key in arch)
    nodes = tuple(_enabled(_flat(members["nodes"]), file))
    if not nodes:
        raise members["nodes"].error("all nodes are disabled, expected a memory and a compute unit")
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
    if unread := [each for each in variables if len(re.findall(rf"\b{re.escape(each)}\b", text)) < 2]:
        file.notes.append(f"variables that nothing refers to are left out: {', '.join(unread)}")
    if unread := [key for key in shared if key not in READ]:
        file.notes.append(f"{', '.join(unread)} of all component models is left out: no part of the estimates")
    file.notes.append("AccelForge's rule of reuse is set, reuse: at_node; docs/other-tools.md has it")
    return ImportedMachine(built, tuple(file.notes))


def _flat(nodes: Field) -> Iterator[Field]:
    """Nodes from the outside in; hierarchies only group them."""
    for node in nodes.elements("a list of !Memory, !Container and !Compute"):
        if node.tag == "!Hierarchical":
            yield from _flat(node.members({"nodes": "a list of nodes"}, ("name",))["nodes"])
        else:
            yield node


def _enabled(nodes: Iterable[Field], file: AccelForgeFile) -> Iterator[Field]:
    """Those that are not disabled."""
    for node in nodes:
        if _said_of_enabled(node).lower() == "false":
            file.notes.append(f"{_name(node)} is left out: enabled is false")
        else:
            yield node


def _said_of_enabled(node: Field) -> str:
    given = node.value.get("enabled") if isinstance(node.value, Mapping) else None
    return given.text() if given is not None else "true"


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
        if (enabled := _said_of_enabled(node)).lower() != "true":
            file.notes.append(f"enabled of {_name(node)} depends on the workload ({enabled}); here it always is")
        if "spatial" in members:
            levels += _arrays(_name(node), members["spatial"], file)
        if node.tag == "!Memory":
            levels.append(_memory(Component(_name(node), node, members, file), clock, outermost=not levels))
    return levels


def _arrays(name: str, field: Field, file: AccelForgeFile) -> list[Fanout]:
    """Axes side by side, two to an array where they share alike and both or neither have to be full."""
    arrays: list[list[_SpatialAxis]] = []
    for element in field.elements("a list of axes such as {name: X, fanout: 14}"):
        axis = _axis(name, element, file)
        if arrays and len(arrays[-1]) == 1 and axis.beside(arrays[-1][0]):
            arrays[-1].append(axis)
        else:
            arrays.append([axis])
    names = [f"{name}_array" if len(arrays) == 1 else f"{name}_array{i + 1}" for i in range(len(arrays))]
    for each, axes in zip(names, arrays, strict=True):
        file.notes.append(f"{', '.join(f'{axis.name} is {each}.{xy}' for axis, xy in zip(axes, 'xy', strict=False))}")
        if least := axes[0].min_usage:
            words = f'search with --constraint "{each}.utilization>={least:g}"'
            fullest = "AccelForge takes the fullest mappings where none is so full"
            file.notes.append(f"min_usage of {name} is {least:g}: {words}; {fullest}")
    return [
        Fanout(name=each, axes=tuple(axis.spec for axis in axes), **axes[0].switches)
        for each, axes in zip(names, arrays, strict=True)
    ]


@dataclass(frozen=True)
class _SpatialAxis:
    """One dimension of an array as AccelForge states it.

    switches   what its instances share
    min_usage  the least share of them at work
    """

    name: str
    spec: ArrayAxis
    switches: Mapping[str, bool]
    min_usage: float

    def beside(self, other: _SpatialAxis) -> bool:
        """Whether one array of ours can have both."""
        return self.switches == other.switches and self.min_usage == other.min_usage in (0, 1)


def _axis(name: str, element: Field, file: AccelForgeFile) -> _SpatialAxis:
    members = element.members({"fanout": "a number of instances"}, _AXIS)
    reuse = members["reuse"].text() if "reuse" in members else None
    if reuse is not None and reuse not in ROLES:
        raise members["reuse"].error(f"found {reuse!r}, expected input, weight or output")
    label = members["name"].text() if "name" in members else "an axis"
    if "usage_scale" in members and number(members["usage_scale"], file.variables) != 1:
        raise members["usage_scale"].error("usage_scale has no equal here: an instance counts as one")
    for key in ("loop_bounds", "power_gateable"):
        if key in members and members[key].value not in ("", (), "false", "False"):
            what = "a constraint on mappings" if key == "loop_bounds" else "all instances leak here"
            file.notes.append(f"{key} of {label} of {name} is left out: {what}")
    least = number(members["min_usage"], file.variables) if "min_usage" in members else 0
    if least is None or least > 1:
        raise members["min_usage"].error("expected a share from 0 to 1")
    size = number(members["fanout"], file.variables)
    if size is None or size != int(size) or size < 1:
        raise members["fanout"].error(f"found {members['fanout'].text()!r}, expected a number of instances")
    switches = _shared_by(members["may_reuse"]) if "may_reuse" in members else {}
    return _SpatialAxis(label, ArrayAxis(size=int(size), reuse=reuse), switches, float(least))


def _shared_by(field: Field) -> dict[str, bool]:
    """The switches of an array whose instances may share these tensors."""
    shared = roles_of(field)
    unknown = [role for role, inside in shared.items() if inside is None]
    if unknown or shared["input"] != shared["weight"]:
        words = ", ".join(role for role, inside in shared.items() if inside) or "what the file does not say by role"
        raise field.error(f"may_reuse is {words}; here instances share all operands (All), or none (Nothing)")
    return {"multicast": bool(shared["input"]), "spatial_reduction": bool(shared["output"])}


def _memory(found: Component, clock: float, *, outermost: bool) -> Memory:
    width, written = found.width_bits("read"), found.width_bits("write")
    read, write = found.energy_pj("read"), found.energy_pj("write")
    found.note(("read", "write"))
    keeps = _keeps(found.members.get("tensors"), found.part, [] if outermost else found.file.notes)
    if outermost and (never := [role for role in ROLES if keeps[role] == "never"]):
        raise found.node.error(f"{found.part} is the outermost memory, which keeps all here, and has no {never[0]}")
    if outermost and found.size_bits is not None:
        found.file.notes.append(f"size of {found.part} is left out: the outermost memory is unbounded here")
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
            keeps=Keeps() if outermost else keeps,
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


def _keeps(field: Field | None, name: str, notes: list[str]) -> Keeps:
    """`keep` and `back` are must, `may_keep` is may, all else never; without the first and the last, all may be kept.
    What refers to other nodes or to a workload leaves a choice."""
    members = field.members({}, (*_SETS, *_MAPPING)) if field is not None and field.value else {}
    usual = {"force_memory_hierarchy_order": ("true",), "no_refetch_from_above": ("~all", "nothing")}
    left = [
        key
        for key in _MAPPING
        if key in members and str(members[key].value or "").lower() not in ("", *usual.get(key, ("~all", "nothing")))
    ]
    if left:
        notes.append(f"{', '.join(left)} of {name} is left out: a constraint on mappings")
    if not {"keep", "may_keep"} & set(members):
        members = {**members, "may_keep": Field("All", "", 0, "")}
    inside = {key: roles_of(members[key]) if key in members else dict.fromkeys(ROLES, False) for key in _SETS}
    kept: dict[str, str] = {}
    for role in ROLES:
        must = any(inside[key][role] for key in ("keep", "back"))
        never = all(inside[key][role] is False for key in _SETS)
        kept[role] = "must" if must else "never" if never else "may"
        if any(inside[key][role] is None for key in ("keep", "back")) and not must and not inside["may_keep"][role]:
            notes.append(f"tensors of {name} depend on more than the file says: {role} is left open")
    return Keeps(**kept)


def roles_of(field: Field) -> dict[Role, bool | None]:
    """Which roles are in a set expression, such as `~input | output`; None where that is not known."""
    text = field.text("a set of tensors such as input | output")
    try:
        node = ast.parse(text.replace(",", "|"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise field.error(f"found {text!r}, expected a set of tensors such as input | output") from None
    return {role: _inside(node, role) for role in ROLES}


def _inside(node: ast.expr, role: Role) -> bool | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        inner = _inside(node.operand, role)
        return None if inner is None else not inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub):
        one, other = _inside(node.left, role), _inside(node.right, role)
        if isinstance(node.op, ast.BitOr):
            return True if one or other else None if None in (one, other) else False
        if isinstance(node.op, ast.Sub) and other is not None:
            other = not other
        return False if one is False or other is False else None if None in (one, other) else True
    if not isinstance(node, ast.Name):
        return None
    known = {"All": True, "Nothing": False}
    return node.id == role if node.id in ROLES else known.get(node.id)


def _mac(found: Component, clock: float) -> Mac:
    energy = found.energy_pj("compute")
    found.note(("compute",))
    return Mac(energy_pj=energy, **found.idle(clock))


def _members(node: Field) -> Mapping[str, Field]:
    members = node.members({"name": "a name such as GlobalBuffer"}, _NODE[1:])
    refuse_if_given(members, "component_model", "state energies in joules, or a component_class")
    refuse_if_given(members, "values_per_action", "words of tensors have one width here")
    skips = members.get("skip_initial_output_write")
    if skips is not None and skips.text().lower() != "true":
        raise skips.error("skip_initial_output_write has no equal for one node: first_read_elision is the machine's")
    return members


def _name(node: Field) -> str:
    expected = "a name such as GlobalBuffer"
    name = node.mapping("a node").get("name")
    if name is None:
        raise node.error(f"missing, expected {expected}", key="name")
    return name.text(expected)
