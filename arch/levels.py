"""Levels of an architecture file, memories and fanouts, and its MAC."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from ..ir import Role
from ..ir.expression import OPERATION_KINDS
from ..ir.problem import ROLES
from .document import LEVEL_NAME, Field
from .estimate_fields import given, mac_estimate, memory_estimate, wants
from .keys import FanoutKeys, MacKeys, MemoryKeys, optional
from .parts import A_SIZE, AN_ENERGY, Scale, build, flag, plain_members
from .ports import PORT_KINDS
from .spec import SPARSE_FORMATS, ArrayAxis, Fanout, Halo, Keep, Keeps, Mac, Memory, Op
from .units import cycles, energy_pj, pj_per_bit

_AN_INSTANCE_COUNT = "a whole number of instances such as 16"

_MEMORY = {
    "memory": "a name such as DRAM",
    "access": "the width that the energies are for, such as 16 bit",
    "read": AN_ENERGY,
    "write": AN_ENERGY,
}
_MEMORY_OPTIONAL = optional(MemoryKeys, _MEMORY)
_BANKS = {"banks": "a number of banks such as 16", "bank_ports": "the lines that a bank moves in a cycle, such as 2"}
_FANOUT = {"fanout": "a name such as array"}
_FANOUT_OPTIONAL = optional(FanoutKeys, _FANOUT)


def level_of(field: Field, scale: Scale, *, outermost: bool) -> Memory | Fanout:
    """A memory or a fanout; `outermost` is the memory that keeps everything."""
    members = field.mapping("a memory or a fanout, such as '- memory: DRAM'")
    kinds = [kind for kind in ("memory", "fanout") if kind in members]
    if len(kinds) != 1:
        found = "both a memory and a fanout" if kinds else "neither a memory nor a fanout"
        raise field.error(f"this level is {found}, expected '- memory: NAME' or '- fanout: NAME'")
    if kinds == ["memory"]:
        return _memory(field, scale, outermost)
    if outermost:
        raise field.error("the outermost level is a fanout, expected a memory that keeps everything, such as DRAM")
    return _fanout(field, scale)


def _memory(field: Field, scale: Scale, outermost: bool) -> Memory:
    estimated = [key for key in ("read", "write") if wants(plain_members(field), key)]
    required = {key: what for key, what in _MEMORY.items() if key not in estimated}
    members = given(field.members(required, (*_MEMORY_OPTIONAL, *estimated)))
    keeps = _keeps(members["keep"]) if "keep" in members else Keeps()
    if outermost and "prefetch" in members:
        raise members["prefetch"].error("nothing comes to the outermost memory, expected the key of one further in")
    if "size" not in members and not outermost:
        raise field.error(f"missing, expected {A_SIZE}, a part for each tensor, or unbounded", key="size")
    energies = {key: members[key].quantity(energy_pj, AN_ENERGY) for key in ("read", "write") if key in members}
    memory = build(
        Memory,
        field,
        name=_level_name(members["memory"]),
        access_bits=scale.size(members["access"]),
        read_energy_pj=energies.get("read", 0.0),
        write_energy_pj=energies.get("write", 0.0),
        keeps=keeps,
        halo=cast(Halo, members["halo"].choice(("none", "innermost", "exact"))) if "halo" in members else "innermost",
        double_buffered=flag(members, "double_buffered", False),
        overlaps=flag(members, "overlaps", True),
        is_cache=flag(members, "cache", False),
        prefetch=members["prefetch"].choice(("none", "next")) if "prefetch" in members else "none",
        block_bits=scale.size(members["block"]) if "block" in members else None,
        line_bits=scale.size(members["line"]) if "line" in members else None,
        layouts=_layouts(members["layout"]) if "layout" in members else {},
        **{key: members[key].whole(expected) for key, expected in _BANKS.items() if key in members},
        formats=formats_of(members["compress"]) if "compress" in members else {},
        gates=savings_of(members["gate"]) if "gate" in members else {},
        skips=savings_of(members["skip"]) if "skip" in members else {},
        **scale.idle(members),
        **(_sizes(members["size"], keeps, scale, outermost) if "size" in members else {}),
        **(_ports(members["bandwidth"], scale) if "bandwidth" in members else {}),
    )
    return _with_estimates(memory, field, scale) if "estimate" in members else memory


def _with_estimates(memory: Memory, field: Field, scale: Scale) -> Memory:
    """The memory with the figures that it leaves to its estimate."""
    estimate = memory_estimate(plain_members(field), memory)
    energies = {f"{name}_energy_pj": estimate.pj(name) for name in ("read", "write") if name in estimate.names}
    scale.estimated[memory.name] = estimate.names
    return memory.model_copy(update={**energies, **estimate.idle(scale.clock_hz)})


def _fanout(field: Field, scale: Scale) -> Fanout:
    members = field.members(_FANOUT, _FANOUT_OPTIONAL)
    per_bit = partial(pj_per_bit, word_bits=scale.word_bits)
    if not members.keys() & {"x", "y"}:
        raise field.error(f"missing, expected {_AN_INSTANCE_COUNT}, along x, y or both", key="x")
    across = [ArrayAxis(size=1)] if "x" not in members else []
    return build(
        Fanout,
        field,
        name=_level_name(members["fanout"]),
        axes=across + [_axis(members[key], scale) for key in ("x", "y") if key in members],
        multicast=flag(members, "multicast", True),
        spatial_reduction=flag(members, "spatial_reduction", True),
        hop_pj_per_bit=members["hop"].quantity(per_bit, "an energy per size such as 0.06 pJ/bit")
        if "hop" in members
        else 0.0,
    )


def _level_name(field: Field) -> str:
    name = field.text("a name such as DRAM")
    if not LEVEL_NAME.fullmatch(name):
        raise field.error(f"found {name!r}, expected a name of letters, digits, '_' and '-', a letter first")
    return name


def refuse_second_name(level_fields: tuple[Field, ...]) -> None:
    """ArchitectureError at the second of two levels with one name."""
    first: dict[str, int] = {}
    for field in level_fields:
        members = field.mapping("a level")
        name = members["memory"] if "memory" in members else members["fanout"]
        text = name.text()
        if text in first:
            raise name.error(f"a second level is named {text!r}, the first is in line {first[text]}")
        first[text] = name.line


def _sizes(field: Field, keeps: Keeps, scale: Scale, outermost: bool) -> dict[str, Any]:
    """`size_bits` and `partition_bits`: one size for all tensors, or a part for each; of the outermost memory, what it
    holds."""
    if field.value == "unbounded":
        return {}
    if isinstance(field.value, str):
        return {"holds_bits" if outermost else "size_bits": _size(field, scale)}
    members = field.members({}, (*ROLES, "shared"))
    for role in ROLES:
        if keeps[role] == "never" and role in members:
            raise members[role].error(f"the {role} has a part here, and 'keep' says never; expected one of the two")
        if keeps[role] != "never" and role not in members and "shared" not in members:
            hint = f"add a part, 'shared: 64 B' for the tensors without one, or 'keep: {{{role}: never}}'"
            raise field.error(f"missing, expected {A_SIZE}, since this memory keeps the {role}", key=role, hint=hint)
    parts = {role: _size(members[role], scale) for role in ROLES if role in members}
    return {"partition_bits": parts, "size_bits": _size(members["shared"], scale) if "shared" in members else None}


def _size(field: Field, scale: Scale) -> int:
    """Bits of a memory or of a part of it, which has room for a word or a byte at least.

    (Machines that searches make may have less, where something fills a memory.)
    """
    bits, least = scale.size(field), min(scale.word_bits, 8)
    if bits < least:
        raise field.error(f"found {bits} bit, less than a word takes; expected {least} or more")
    return bits


def _ports(field: Field, scale: Scale) -> dict[str, float | None]:
    """Bandwidth of one shared port, or of separate ports, by direction or by role, in bits per cycle."""
    if isinstance(field.value, str):
        return {"shared_bits_per_cycle": scale.bandwidth(field)}
    rates = {kind.name: kind.rate for kind in PORT_KINDS if kind.name != "both"}
    return {rates[port]: scale.bandwidth(member) for port, member in field.members({}, tuple(rates)).items()}


def _keeps(field: Field) -> Keeps:
    options = ("must", "may", "never")
    if isinstance(field.value, str):
        same = cast(Keep, field.choice(options))
        return Keeps(input=same, weight=same, output=same)
    members = field.members({}, ROLES)
    return build(Keeps, field, **{role: member.choice(options) for role, member in members.items()})


def _layouts(field: Field) -> dict[str, str]:
    """The order of words in the lines of a memory: one text for all tensors, or by tensor or role."""
    expected = "a layout such as NHWC or row-major"
    if isinstance(field.value, str):
        return dict.fromkeys(ROLES, field.text(expected))
    return {key: member.text(expected) for key, member in field.mapping(f"{expected}, or one for each tensor").items()}


def _axis(field: Field, scale: Scale) -> ArrayAxis:
    if isinstance(field.value, str):
        return build(ArrayAxis, field, size=field.whole(_AN_INSTANCE_COUNT))
    members = field.members({"size": _AN_INSTANCE_COUNT}, ("dims", "reuse", "reduce", "latency"))
    return build(
        ArrayAxis,
        field,
        size=members["size"].whole(_AN_INSTANCE_COUNT),
        dims=_dims(members["dims"]) if "dims" in members else None,
        reuse=cast(Role, members["reuse"].choice(ROLES)) if "reuse" in members else None,
        reduce=flag(members, "reduce", True),
        latency_cycles=members["latency"].quantity(
            partial(cycles, clock_hz=scale.clock_hz), "a duration such as 1 cycle"
        )
        if "latency" in members
        else 0.0,
    )


def _dims(field: Field) -> tuple[str, ...]:
    expected = "a list of dimensions such as [P, Q]"
    dims: list[str] = []
    for element in field.elements(expected):
        dim = element.text("a dimension such as P")
        if dim in dims:
            raise element.error(f"dimension {dim!r} is given twice")
        dims.append(dim)
    return tuple(dims)


_MAC = {"energy": "an energy such as 1 pJ"}
_MAC_KEYS = optional(MacKeys, ())


def mac_of(field: Field, scale: Scale) -> Mac:
    """The MAC; what its estimate fills in is noted in `scale`."""
    estimated = wants(plain_members(field), "energy")
    required = {} if estimated else _MAC
    members = given(field.members(required, _MAC_KEYS))
    estimate = mac_estimate(plain_members(field)) if "estimate" in members else None
    energy = members["energy"].quantity(energy_pj, _MAC["energy"]) if "energy" in members else None
    idle = scale.idle(members)
    if estimate is not None:
        scale.estimated["MAC"] = estimate.names
        energy = estimate.pj("energy") if energy is None else energy
        idle |= estimate.idle(scale.clock_hz)
    ops = _ops(members["ops"]) if "ops" in members else {}
    zeros = {f"{key}s": roles_of(members[key]) for key in ("gate", "skip") if key in members}
    structure = structure_of(members["structure"]) if "structure" in members else None
    return build(
        Mac, field, energy_pj=energy, per_cycle=_per_cycle(members), **idle, ops=ops, **zeros, structure=structure
    )


def _ops(field: Field) -> dict[str, Op]:
    """What points cost that are no multiply-accumulates, by kind of function."""
    found = {}
    for kind, each in field.members({}, OPERATION_KINDS).items():
        members = each.members(_MAC, ("per_cycle",))
        energy = members["energy"].quantity(energy_pj, _MAC["energy"])
        found[kind] = build(Op, each, energy_pj=energy, per_cycle=_per_cycle(members))
    return found


def _per_cycle(members: Mapping[str, Field]) -> float:
    return members["per_cycle"].number("a positive number of MACs such as 1") if "per_cycle" in members else 1.0


def formats_of(field: Field) -> dict[str, tuple[str, ...]]:
    """How tensors with zeros may be held, by role: `{weight: csr}`, `{weight: [bitmask, csr]}`."""
    members = field.mapping("a mapping such as {weight: bitmask}")
    if "output" in members:
        raise members["output"].error(
            "outputs have no format: their words are not written in order, and come back",
            hint="give those of input and weight",
        )
    return {role: _kinds(member) for role, member in field.members({}, ("input", "weight")).items()}


def _kinds(member: Field) -> tuple[str, ...]:
    if isinstance(member.value, str):
        return (member.choice(SPARSE_FORMATS),)
    kinds = tuple(each.choice(SPARSE_FORMATS) for each in member.elements("a format, or a list such as [bitmask, csr]"))
    if len({*kinds}) < len(kinds):
        raise member.error("a format is given twice")
    return kinds


def savings_of(field: Field) -> dict[str, tuple[str, ...]]:
    """By role whose accesses are left out, the roles whose zeros decide it."""
    return {role: roles_of(member, excluded=role) for role, member in field.members({}, ROLES).items()}


def roles_of(field: Field, excluded: str = "") -> tuple[str, ...]:
    """Operands by role, one of which may be excluded."""
    roles = tuple(each.choice(("input", "weight")) for each in field.elements("a list such as [weight]"))
    if excluded in roles:
        raise field.error(f"{excluded} decides about itself, expected the other operand")
    return roles


def structure_of(field: Field) -> tuple[int, int]:
    """`2:4` is two of four."""
    kept, _, block = field.text("N:M such as 2:4").partition(":")
    if not (kept.isdecimal() and block.isdecimal() and len(kept + block) < 8 and 0 < int(kept) <= int(block)):
        raise field.error(f"found {field.found}, expected N:M with N from 1 to M, such as 2:4")
    return int(kept), int(block)
