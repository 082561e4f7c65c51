"""Pages of a system of several devices, and of a collective on one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from math import prod
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from ...arch.system import MeshAxis, System, axes_named
from ...cost_models.collectives import SWITCH, Collective, Phase, collective_of, same_bandwidth
from ...ir import units
from ...ir.units import count, energy, percent, plural, rate, seconds, significant
from ..parts.text import columns, pairs, section

_SHOWN = {"1 kB": 10**3, "1 MB": 10**6, "1 GB": 10**9}
"""Tensors whose all-reduce the page of a system shows."""
_BITS = 8


def system_page(system: System) -> Group:
    """A system: its devices, the axes of its mesh beside the memory of a device, and all-reduces over all of it."""
    device, memory = system.device, system.device.memories[0]
    rows = [("System", system.name)] + ([("", system.description)] if system.description else [])
    rows += [("", "set " + ", ".join(f"{k}={v}" for k, v in system.settings.items()))] if system.settings else []
    changed = ", with " + ", ".join(f"{k}={v}" for k, v in device.settings.items()) if device.settings else ""
    rows += [("Devices", f"{count(system.devices)} of {device.name}{changed}")]
    rows += [("Bisection", f"{rate(system.bisection)} in one direction")] if system.bisection else []
    rows += [("Source", system.source)] if system.source else []
    numbers = ("size", "a link", "out of a device", "both ways", "memory / out", "hop", "pJ/bit")
    table = columns(("axis", "kind"), numbers)
    own = _memory_rate(system)
    holds = "" if memory.holds_bits is None else units.size(memory.holds_bits)
    table.add_row(memory.name, "memory", holds, "", rate(own) if own else "-", "", "", "", "")
    for axis in system.axes:
        out = axis.bytes_per_second / prod(a.size for a in system.within(axis) if axis.shared)
        table.add_row(
            axis.name,
            _kind(axis),
            str(axis.size),
            rate(axis.bandwidth) + (f" x {axis.links}" if axis.links > 1 else ""),
            rate(out),
            rate(2 * out),
            significant(own / out) if own and out else "-",
            seconds(axis.latency) if axis.latency else "-",
            "-" if axis.hop_pj_per_bit is None else significant(axis.hop_pj_per_bit),
        )
    parts: list[RenderableType] = [pairs(rows), section("Fabric", table)]
    if system.devices > 1:
        parts.append(section("All-reduce over all devices", _by_size(system)))
    return Group(*parts)


def _memory_rate(system: System) -> float | None:
    """Bytes per second of the outermost memory of a device, if it has one port."""
    per_cycle = system.device.memories[0].shared_bits_per_cycle
    return None if per_cycle is None else per_cycle * system.device.clock_hz / _BITS


def _kind(axis: MeshAxis) -> str:
    adds = ", adds" if axis.reduces else ""
    return axis.kind + adds + (", shared" if axis.shared else "") + (", multicast" if axis.multicast else "")


def _by_size(system: System) -> Table:
    table = columns(("size",), ("in order", "together", "bound", "of the tensor"))
    axes = axes_named(system, None)
    for name, size in _SHOWN.items():
        found, together = (collective_of(system, "all-reduce", size, axes, way) for way in (False, True))
        both = seconds(together.time) if len(axes) > 1 else "-"
        table.add_row(name, seconds(found.time), both, seconds(found.bound), rate(size / found.time))
    return table


def collective_page(found: Collective, step: float | None = None) -> Group:
    """A collective: time, energy and bounds, every phase, bytes by link, and other fabrics of the same bandwidth.

    step  seconds of work of every device beside it: what the exposed collective leaves of the speedup
    """
    system = found.system
    axes = [axis for axis in system.axes if axis.name in found.axes]
    devices = prod(axis.size for axis in axes)
    rows = [
        ("Collective", f"{found.operation} of {count(found.size)} B"),
        ("System", f"{system.name}, {count(devices)} devices along {', '.join(found.axes)}"),
        ("Time", f"{seconds(found.time)}, {plural(found.hops, 'hop')}; {rate(found.size / found.time)} of the tensor"),
        ("Energy", _energy(found)),
        ("Moved", f"{count(found.moved)} B over all links"),
        ("Proof", _proof(found)),
    ]
    if step is not None:
        rows += _beside(found.time, step, devices)
    parts: list[RenderableType] = [pairs(rows), section("Phases", _phases(found)), section("Links", _links(found))]
    if len(axes) == 1:
        title = f"The same {rate(axes[0].bytes_per_second)} out of a device"
        parts.append(section(title, _others(found, axes[0], step)))
    return Group(*parts)


def _energy(found: Collective) -> str:
    if found.energy_pj is None:
        axes = ", ".join(found.missing)
        return f'not known: nobody states the energy of a hop of {axes} (--set "{found.missing[0]}.hop=1 pJ/bit")'
    return energy(found.energy_pj)


def _proof(found: Collective) -> str:
    if found.is_best:
        return "no schedule over these axes takes less: the bounds are met"
    if len(found.axes) > 1:
        times = significant(found.time / found.bound)
        return f"no schedule over these axes takes less than {seconds(found.bound)}; this one takes {times} times that"
    phase = found.phases[0]
    least = f"{plural(phase.bound_hops, 'hop')} and {count(phase.bound_bytes)} B a link"
    return f"the best of the listed schedules; none takes less than {least}"


def _beside(time: float, step: float, devices: int) -> list[tuple[str, str]]:
    """Speedup of devices that each work for a step and then wait, and the limit that Amdahl's law puts to more."""
    waits = f"{seconds(step)} of work, then {seconds(time)} ({percent(time, step)} of it)"
    limit = f"at most {significant((step + time) / time)} times one device (Amdahl)"
    return [
        ("Step", f"{waits}: {_speedup(time, step, devices)} of {devices} devices"),
        ("", f"{percent(time, step + time)} of the time: {limit}"),
    ]


def _speedup(time: float, step: float, devices: int) -> str:
    return significant(devices * step / (step + time))


def _phases(found: Collective) -> Table:
    shares = any(phase.lines > 1 for phase in found.phases)
    numbers = (*(["lines a port"] if shares else []), "B a line", "B a link", "at least", "hops", "at least", "time")
    table = columns(("", "phase", "axis", "schedule"), numbers)
    for number, stage in enumerate(found.stages, 1):
        for phase in stage:
            figures = [phase.size, phase.bytes, phase.bound_bytes, phase.hops, phase.bound_hops]
            figures = [phase.lines, *figures] if shares else figures
            names = (str(number), phase.operation, phase.axis, phase.schedule)
            table.add_row(*names, *map(count, figures), seconds(phase.time))
    return table


def _links(found: Collective) -> Table:
    """Links of a line or a port, those of the same load together."""
    table = columns(("axis", "links"), ("how many", "B each"))
    for axis, links in found.bytes_by_link.items():
        size = 1 + max(device for link in links for device in link)
        kinds = Counter((_ends(link, size), moved) for link, moved in links.items())
        for (ends, moved), number in sorted(kinds.items()):
            table.add_row(axis, ends, count(number), count(moved))
    return table


def _ends(link: tuple[int, int], size: int) -> str:
    source, to = link
    if SWITCH in link:
        return "to the switch" if to == SWITCH else "from the switch"
    ahead = (to - source) % size
    return "upwards" if ahead == 1 else "downwards" if ahead == size - 1 else "across"


def _others(found: Collective, axis: MeshAxis, step: float | None) -> Table:
    """What the same bytes out of every device take by fabrics of other kinds, and by one stream."""
    table = columns(("as",), ("a link", "time", *(["speedup"] if step is not None else [])))
    stream = found.size / axis.bytes_per_second
    rows = [("one stream, one way", axis.bytes_per_second, stream)]
    for name, other in same_bandwidth(axis).items():
        changed = replace(found.system, axes=tuple(other if one == axis else one for one in found.system.axes))
        rows.append((name, other.bandwidth, collective_of(changed, found.operation, found.size, [other]).time))
    for name, link, time in rows:
        table.add_row(name, rate(link), seconds(time), *([_speedup(time, step, axis.size)] if step is not None else []))
    return table


def system_document(system: System) -> dict[str, Any]:
    """A system for programs, in bytes and seconds."""
    from ...run.documents.parts import part_of

    axes = [asdict(axis) for axis in system.axes]
    return {
        "system": system.name,
        "description": system.description,
        "source": system.source,
        "devices": system.devices,
        "bisection_bytes_per_s": system.bisection,
        "axes": [_with_units(axis, {"bandwidth": "bandwidth_bytes_per_s", "latency": "latency_s"}) for axis in axes],
        "device": part_of(system.device),
    }


def _with_units(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Values by names that say their units."""
    return {names.get(key, key): value for key, value in values.items()}


def collective_document(found: Collective) -> dict[str, Any]:
    """A collective for programs, with every link: its ends, and bytes."""
    return {
        "operation": found.operation,
        "size_bytes": found.size,
        "system": found.system.name,
        "axes": list(found.axes),
        "time_s": found.time,
        "bound_s": found.bound,
        "is_best": found.is_best,
        "hops": found.hops,
        "moved_bytes": found.moved,
        "energy_pj": found.energy_pj,
        "missing_energies": list(found.missing),
        "stages": [[_phase_document(phase) for phase in stage] for stage in found.stages],
    }


def _phase_document(phase: Phase) -> dict[str, Any]:
    names = {"size": "size_bytes", "bytes": "bytes_a_link", "moved": "moved_bytes", "time": "time_s"}
    known = _with_units(asdict(phase), names)
    links = [{"from": source, "to": to, "bytes": moved} for (source, to), moved in phase.bytes_by_link.items()]
    return known | {"is_best": phase.is_best, "bytes_by_link": links}
