"""`estimate:` in architecture files: figures that a memory or the MAC leaves out, from published tables.

    - memory: GLB
      size: 108 KiB
      access: 64 bit
      estimate: {kind: sram, node: 28 nm, ports: 1}       # read, write, leakage and area, as far as they are not given
    - memory: spad
      size: 24 B
      access: 16 bit
      read: 1 pJ
      write: 1 pJ
      estimate: {kind: registers, node: 65 nm, only: area}                    # or only: [leakage, area]
    - memory: DRAM
      access: 64 bit
      estimate: {kind: dram, type: LPDDR4}
    mac: {estimate: {format: int8, sum: int32, node: 28 nm}}                  # sum is int32 or fp32, if not given

A memory in parts may say the kind of each: `kind: {input: registers, weight: sram, output: registers}`.
What is given stays as it is; `read: estimate`, in the file or from outside, asks for the estimate of a figure whatever
`only` says. `arch/estimates` has the tables and their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

from ..ir import ArchitectureError, Role
from ..ir.problem import ROLES
from .document import Field
from .estimates import DRAM_KINDS, FORMATS, Figures, dram, mac, registers, sram
from .spec import ESTIMATES, Memory
from .units import length_nm, size_bits

_FIGURES: Final = ("read", "write", "leakage", "area")
_MAC_FIGURES: Final = ("energy", "leakage", "area")
_A_NODE = "a technology such as 28 nm"
_KINDS: dict[str, tuple[str, ...]] = {
    "sram": ("node", "ports"),
    "registers": ("node",),
    "dram": ("type",),
}
_FLOATS = tuple(name for name in FORMATS if not name.startswith("int"))
_INTEGERS = tuple(name for name in FORMATS if name.startswith("int"))


@dataclass(frozen=True)
class Estimate:
    """Figures for what a part leaves out.

    figures  of one instance
    names    of the figures that the part takes from them
    """

    figures: Figures
    names: tuple[str, ...]

    def pj(self, name: str) -> float:
        """The energy of a read, of a write, or of a MAC."""
        return self.figures.write_pj if name == "write" else self.figures.read_pj

    def idle(self, clock_hz: float) -> dict[str, float]:
        """Leakage and area, as the specification has them."""
        found = {}
        if "leakage" in self.names:
            found["leakage_pj_per_cycle"] = self.figures.leakage_mw * 1e9 / clock_hz  # 1 mW is 1e9 pJ/s
        if "area" in self.names:
            found["area_mm2"] = self.figures.area_mm2
        return found


def wants(members: Mapping[str, Field], figure: str) -> bool:
    """Whether a part leaves a figure to its estimate: by leaving it out, or by saying `estimate` there."""
    if "estimate" not in members:
        return False
    if figure in members:
        return members[figure].value == "estimate"
    inner = members["estimate"].mapping("a mapping such as {kind: sram, node: 28 nm}")
    return "only" not in inner or figure in _only(inner["only"], (*_FIGURES, "energy"))


def given(members: Mapping[str, Field]) -> dict[str, Field]:
    """The members but for the figures that are left to the estimate."""
    return {key: member for key, member in members.items() if not wants(members, key)}


def memory_estimate(members: Mapping[str, Field], memory: Memory) -> Estimate:
    """The estimate of a memory whose other fields are read already.

    Raises ArchitectureError with the place for what the tables do not have.
    """
    field = members["estimate"]
    inner = field.members({"kind": "sram, registers or dram"}, ("node", "width", "ports", "type", "only"))
    kinds = _kinds(inner["kind"], memory)
    allowed = {key for kind in kinds.values() for key in _KINDS[kind]} | {"width", "only"}
    for key in ("node", "ports", "type"):
        if key in inner and key not in allowed:
            what = " and ".join(dict.fromkeys(kinds.values()))
            raise inner[key].error(f"{what} has no {key}, expected one of {', '.join(sorted(allowed))}")
    width = inner["width"].quantity(size_bits, "a width such as 64 bit") if "width" in inner else memory.access_bits
    names = tuple(figure for figure in _FIGURES if wants(members, figure))
    if "dram" not in kinds.values() and not memory.size_bits and not memory.partition_bits:
        if set(names) & {"read", "write"}:
            raise field.error(f"{memory.name} is unbounded, and so is its estimate", hint="kind: dram, or give a size")
        return Estimate(Figures(0.0, 0.0), ())
    if "dram" in kinds.values():
        if "type" not in inner:
            raise field.error(f"missing, expected one of {', '.join(DRAM_KINDS)}", key="type")
        found = dram(inner["type"].choice(tuple(DRAM_KINDS)), width)
        names = tuple(name for name in names if name in ("read", "write"))  # it is not on the chip
    else:
        found = _of_parts(field, memory, kinds, width, inner, names)
    per_access = memory.access_bits / width
    return Estimate(found.times(per_access, 1.0, 1.0).rounded(), names)


def mac_estimate(members: Mapping[str, Field]) -> Estimate:
    """The estimate of a MAC unit. Raises ArchitectureError with the place for what the tables do not have."""
    field = members["estimate"]
    inner = field.members({"format": f"one of {', '.join(FORMATS)}", "node": _A_NODE}, ("sum", "only"))
    operands = inner["format"].choice(tuple(FORMATS))
    sums = _FLOATS if operands in _FLOATS else _INTEGERS
    total = inner["sum"].choice(sums) if "sum" in inner else sums[-1]
    node = inner["node"].quantity(length_nm, _A_NODE)
    names = tuple(figure for figure in _MAC_FIGURES if wants(members, figure))
    return Estimate(_located(inner["node"], partial(mac, operands, total, node)).rounded(), names)


def _kinds(field: Field, memory: Memory) -> dict[str, str]:
    """The kind of every part of a memory; one that is whole is a part called `shared`. Where parts are set from
    outside, those that the file has no kind for are SRAMs."""
    parts = [*memory.partition_bits, *(["shared"] if memory.size_bits or not memory.partition_bits else [])]
    if isinstance(field.value, str):
        return dict.fromkeys(parts, field.choice(tuple(_KINDS)))
    members = field.members({}, (*ROLES, "shared"))
    chosen = {part: member.choice(("sram", "registers")) for part, member in members.items()}
    return {part: chosen.get(part, "sram") for part in parts}


def _of_parts(
    field: Field,
    memory: Memory,
    kinds: Mapping[str, str],
    width: int,
    inner: Mapping[str, Field],
    names: tuple[str, ...],
) -> Figures:
    """Of SRAMs and register files. A memory in parts is several: their areas and leakages add up, and an access has the
    energy of none of them in particular."""
    if "node" not in inner:
        raise field.error(f"missing, expected {_A_NODE}", key="node")
    node = inner["node"].quantity(length_nm, _A_NODE)
    ports = inner["ports"].whole("a number of ports such as 1") if "ports" in inner else 1
    if len(kinds) > 1 and set(names) & {"read", "write"}:
        hint = "give both, and 'only: [leakage, area]' in the estimate; or make a memory of each part"
        raise field.error(f"{memory.name} is in parts, which have no one energy of a read and of a write", hint=hint)

    def part(name: str, kind: str) -> Figures:
        size = memory.partition_bits.get(cast(Role, name)) or memory.size_bits or 0
        return sram(size, width, node, ports) if kind == "sram" else registers(size, width, node)

    found = [_located(field, partial(part, name, kind)) for name, kind in kinds.items()]
    leakage, area = sum(one.leakage_mw for one in found), sum(one.area_mm2 for one in found)
    return Figures(found[0].read_pj, found[0].write_pj, leakage, area)


def _only(field: Field, figures: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(field.value, str):
        return (field.choice(figures),)
    expected = f"a list of {', '.join(figures)}"
    return tuple(element.choice(figures) for element in field.elements(expected))


def _located(field: Field, estimate: Callable[[], Figures]) -> Figures:
    try:
        return estimate()
    except ArchitectureError as error:
        raise error.located(field.where) from None


def estimated_text(parts: Mapping[str, tuple[str, ...]]) -> str:
    """What is estimated in a machine, in words; nothing if nothing is.

    parts  memory or MAC -> its estimated figures
    """
    by_figure: dict[str, list[str]] = {}
    for part, names in parts.items():
        for name in names:
            by_figure.setdefault(name, []).append(part)
    words = [f"{figure} of {_list(found)}" for figure, found in by_figure.items()]
    return f"{ESTIMATES}{'; '.join(words)}" if words else ""


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
