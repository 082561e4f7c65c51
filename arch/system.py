"""Systems: several devices of one kind and the axes that their links form, read from YAML with the units written out.

    system: two_nodes
    device: h100                                # or {arch: h100, set: {HBM.bandwidth: 3 TB/s}}
    fabric:                                     # innermost, the fastest, first
      - {name: node, kind: switch, size: 8, bandwidth: 450 GB/s, latency: 500 ns, reduces: true}
      - {name: cluster, kind: switch, size: 2, bandwidth: 400 Gbit/s, shared: true, hop: 10 pJ/bit}

`kind` is ring, line, full (a link for each ordered pair) or switch (a port up and a port down for each device).
`bandwidth` is of one link and direction, or of a port; `{both: 600 GB/s}` is halved. docs/chips.md has every key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Literal, TypeAlias, cast

from ..inputs import checks
from ..ir import ArchitectureError, did_you_mean
from ..ir.display import Shown
from .document import LEVEL_NAME, Field, is_path, read_document, read_text
from .loader import load_arch
from .parts import flag
from .settings import Setting, put, shown_settings
from .spec import Architecture
from .units import bytes_per_second, number_text, pj_per_bit, seconds, shown

_LIBRARY = Path(__file__).parent / "systems"
_A_FILE = "a system file"

FabricKind: TypeAlias = Literal["ring", "line", "full", "switch"]
KINDS: tuple[FabricKind, ...] = ("ring", "line", "full", "switch")
MOST_DEVICES = 1024
"""Along one axis: every link is counted apart, and `full` has as many as pairs of devices."""

_TOP = {
    "system": "a name such as h100x8",
    "device": "an architecture such as h100, or {arch: h100, set: {HBM.bandwidth: 3 TB/s}}",
    "fabric": "a list of axes, the innermost first",
}
_AXIS = {
    "name": "a name such as node",
    "kind": "ring, line, full or switch",
    "size": f"the number of devices along it, 1 to {MOST_DEVICES:,}",
    "bandwidth": "a bandwidth of one link and direction such as 25 GB/s",
}
_AXIS_OPTIONAL = ("latency", "hop", "links", "reduces", "shared", "multicast")


@dataclass(frozen=True)
class MeshAxis:
    """One axis of the mesh of devices.

    name       what paths and pages call it
    kind       how devices along it are linked
    size       devices along it
    bandwidth  of one link in one direction, of a port for a switch [byte/s]
    latency    of a hop [s]; a way through a switch has two
    hop_pj_per_bit  energy of a hop; None if nobody states it
    links      that are parallel
    reduces    whether the switch adds, and multicasts
    shared     whether all devices of the axes within it have one port together
    multicast  whether the same words for several of these pass that port once
    """

    name: str
    kind: FabricKind
    size: int
    bandwidth: float
    latency: float = 0.0
    hop_pj_per_bit: float | None = None
    links: int = 1
    reduces: bool = False
    shared: bool = False
    multicast: bool = False

    @property
    def neighbours(self) -> int:
        """Links out of a device, parallel ones counted once; of a line, of one that is not at its end."""
        most = {"ring": 2, "line": 2, "full": self.size - 1, "switch": 1}[self.kind]
        return min(most, self.size - 1)

    @property
    def bytes_per_second(self) -> float:
        """What all links out of a device, or all ports of those that share one, carry in one direction."""
        return self.neighbours * self.links * self.bandwidth

    @property
    def diameter(self) -> int:
        """Hops to the farthest device."""
        hops = {"ring": self.size // 2, "line": self.size - 1, "full": 1, "switch": 2}
        return hops[self.kind] if self.size > 1 else 0

    @property
    def halved(self) -> int:
        """Links in one direction between two halves of its devices."""
        half, rest = self.size // 2, self.size - self.size // 2
        return self.links * {"ring": min(2, self.size - 1), "line": 1, "full": half * rest, "switch": half}[self.kind]


@dataclass(frozen=True)
class System(Shown):
    """Several devices of one kind, and how they are linked.

    name      that it is loaded by
    device    what each of them is
    axes      of the mesh, the innermost first
    description, source  texts for people
    settings  fields that were set from outside
    """

    name: str
    device: Architecture
    axes: tuple[MeshAxis, ...]
    description: str = ""
    source: str = ""
    settings: Mapping[str, str] | None = None

    @property
    def devices(self) -> int:
        """How many there are."""
        return prod(axis.size for axis in self.axes)

    def within(self, axis: MeshAxis) -> tuple[MeshAxis, ...]:
        """The axes inside one."""
        return self.axes[: self.axes.index(axis)]

    @property
    def bisection(self) -> float:
        """Bytes per second in one direction between two halves of the devices, cut where the least pass."""

        def across(axis: MeshAxis) -> float:
            lines = self.devices // axis.size // (prod(a.size for a in self.within(axis)) if axis.shared else 1)
            return lines * axis.halved * axis.bandwidth

        return min((across(axis) for axis in self.axes if axis.size > 1), default=0.0)


SystemLike: TypeAlias = System | str | os.PathLike[str]
"""A system, its name in the library, or the path of its file."""


def list_systems() -> tuple[str, ...]:
    """Names of the systems of the library, in alphabetical order."""
    return tuple(sorted(path.stem for path in _LIBRARY.glob("*.yaml")))


def load_system(name_or_path: str | os.PathLike[str], set: Mapping[str, Setting] | None = None) -> System:
    """A system of the library by its name, or a system file by its path.

    name_or_path  a text is a path when it ends in .yaml or .yml, holds a path separator, or names an existing file
    set  fields to set before the file is checked, such as {"node.size": 4, "device.HBM.bandwidth": "2 TB/s"}

    Raises ArchitectureError when there is no such system, file or field, or when the file cannot be understood.
    """
    return parse_system(*system_file(name_or_path), set)


def system_file(name_or_path: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a system's file, and how messages call it. Raises ArchitectureError where there is none."""
    name = checks.path(name_or_path, "the system", "a name of the library or the path of a file", ArchitectureError)
    known = list_systems()
    if isinstance(name_or_path, str) and name in known:
        return read_text(_LIBRARY / f"{name}.yaml", f"systems/{name}.yaml", _A_FILE), f"systems/{name}.yaml"
    if isinstance(name_or_path, str) and not is_path(name):
        message = f"no system is named {shown(name)}, expected a library name or a path that ends in .yaml"
        raise ArchitectureError(message, hint=did_you_mean(name, known))
    text = read_text(Path(name), name, _A_FILE)
    if re.search("^levels:", text, re.MULTILINE):
        hint = f"a system file names it as `device: {name}`"
        raise ArchitectureError(f"this is an architecture, expected {_A_FILE}", where=name, hint=hint)
    return text, name


def parse_system(text: str, where: str = "<text>", set: Mapping[str, Setting] | None = None) -> System:
    """The system that a YAML text describes; `where` is how messages call the text, `set` as for `load_system`.

    Raises ArchitectureError with `where:line: field.path` when the text cannot be understood.
    """
    chosen = checks.mapping({} if set is None else set, "set", 'a dict such as {"node.size": 4}', ArchitectureError)
    for key in chosen:
        checks.text(key, "a field in set", "a path such as node.size", ArchitectureError)
    document = read_document(text, where, _A_FILE, "start with 'system:', 'device:' and 'fabric:'")
    of_device: dict[str, Setting] = {}
    for path, value in chosen.items():
        if path.startswith("device."):
            of_device[path.removeprefix("device.")] = value
        else:
            document = _with_setting(document, path, value)
    top = document.members(_TOP, ("description", "source"))
    fields = top["fabric"].elements(_TOP["fabric"])
    axes = tuple(_axis(field, innermost=i == 0) for i, field in enumerate(fields))
    for i, (field, axis) in enumerate(zip(fields, axes, strict=True)):
        if axis.name in [other.name for other in axes[:i]]:
            raise field.error(f"a second axis is named {axis.name!r}, expected another name", key="name")
    texts = {key: top[key].text() for key in ("description", "source") if key in top}
    name, device = top["system"].text(_TOP["system"]), _device(top["device"], of_device)
    return System(name, device, axes, settings=shown_settings(chosen), **texts)


def _with_setting(document: Field, path: str, value: Setting) -> Field:
    """The document with a field of an axis set, before anything is checked."""
    place = f"set {shown(path)[1:-1]}"
    members = document.value if isinstance(document.value, Mapping) else {}
    fabric = members["fabric"].value if "fabric" in members else ()
    names: list[object] = []
    for axis in fabric if isinstance(fabric, tuple) else ():
        names.append(axis.value["name"].value if isinstance(axis.value, Mapping) and "name" in axis.value else None)
    name, _, key = path.partition(".")
    if name not in names or not key:
        known = [f"{one}.{key}" for one in names for key in ("size", "bandwidth", *_AXIS_OPTIONAL)]
        message = f"there is no field {shown(path)}, expected an axis and its key, or device. and a field of that"
        raise ArchitectureError(message, where=place, hint=did_you_mean(path, known))
    return put(document, ("fabric", names.index(name), *key.split(".")), value, place, "")


def _device(field: Field, chosen: Mapping[str, Setting]) -> Architecture:
    """The architecture of a device; what is wrong with it is an error at its place in the file."""
    is_name = isinstance(field.value, str)
    members = {"arch": field} if is_name else field.members({"arch": "an architecture such as h100"}, ("set",))
    own = members["set"].mapping("a mapping such as {HBM.bandwidth: 3 TB/s}") if "set" in members else {}
    settings = {**{path: value.text("a value") for path, value in own.items()}, **chosen}
    try:
        return load_arch(members["arch"].text(_TOP["device"]), settings)
    except ArchitectureError as error:
        raise error.located(field.where) from None


def _axis(field: Field, *, innermost: bool) -> MeshAxis:
    members = field.members(_AXIS, _AXIS_OPTIONAL)
    name = members["name"].text(_AXIS["name"])
    if not LEVEL_NAME.fullmatch(name) or name == "device":
        raise members["name"].error(f"found {shown(name)}, expected a name of letters, digits, '_' and '-'")
    kind = cast(FabricKind, members["kind"].choice(KINDS))
    size = members["size"].whole(_AXIS["size"])
    if size > MOST_DEVICES:
        raise members["size"].error(f"found {size:,}, expected {_AXIS['size']}")
    switches = {key: flag(members, key, False) for key in ("reduces", "shared", "multicast")}
    if switches["reduces"] and kind != "switch":
        raise members["reduces"].error(f"a {kind} has no switch that could add, expected kind: switch")
    if switches["shared"] and innermost:
        raise members["shared"].error("no axis lies within the innermost one, expected shared: true further out")
    if switches["multicast"] and not switches["shared"]:
        raise members["multicast"].error("nothing shares a port of this axis, expected shared: true beside it")
    latency, hop, links = (members.get(key) for key in ("latency", "hop", "links"))
    return MeshAxis(
        name,
        kind,
        size,
        _bandwidth(members["bandwidth"], kind),
        latency=latency.quantity(seconds, "a time such as 500 ns") if latency else 0.0,
        hop_pj_per_bit=hop.quantity(pj_per_bit, "an energy such as 1.3 pJ/bit") if hop else None,
        links=links.whole("a number of parallel links") if links else 1,
        **switches,
    )


def _bandwidth(field: Field, kind: FabricKind) -> float:
    """Of one direction; a figure for both is halved."""
    read = partial(Field.quantity, parse=bytes_per_second, expected=_AXIS["bandwidth"])
    if isinstance(field.value, str):
        return read(field)
    both = field.members({"both": "a bandwidth of both directions together such as 900 GB/s"})["both"]
    half = read(both) / 2
    if kind == "switch":
        hint = f"write bandwidth: {number_text(half / 1e9)} GB/s"
        raise both.error("a port of a switch is one direction, expected its own bandwidth", hint=hint)
    return half


def axes_named(system: System, names: Sequence[str] | None) -> tuple[MeshAxis, ...]:
    """The axes of these names, the innermost first; without names all that have several devices.

    Raises ArchitectureError for names that there are not, and where there is nobody to talk to.
    """
    known = {axis.name: axis for axis in system.axes}
    if names is not None and not names:
        raise ArchitectureError(f"no axis is named, expected one of {', '.join(known)}", where="axes")
    for name in names or ():
        if name not in known:
            message = f"{system.name} has no axis {shown(str(name))}, expected one of {', '.join(known)}"
            raise ArchitectureError(message, where="axes", hint=did_you_mean(name, known))
        if known[name].size == 1:
            raise ArchitectureError(f"the axis {name} has one device, so nothing moves along it", where="axes")
    chosen = tuple(axis for axis in system.axes if axis.size > 1 and (names is None or axis.name in names))
    if not chosen:
        raise ArchitectureError(f"{system.name} has one device, so nothing moves in it", where="axes")
    return chosen
