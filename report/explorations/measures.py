"""What designs are judged by: figures of which less is better, for fronts and for limits such as `area <= 4 mm2`.

    energy   pJ   of the network            latency  s      of the network
    area     mm2  of the chip               on_chip  bytes  of all memories but the outermost
    macs          MAC units

Those of the chip alone are known before anything is searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...arch import Architecture
from ...arch.units import area_mm2, energy_pj, seconds, shown, size_bits
from ...ir import ArchitectureError, TilewrightError, did_you_mean, units

_LIMIT = re.compile(r"\s*([\w-]+)\s*(<=|<|=<|≤)\s*(\S.*)")
_LIMIT_HINT = 'write --limit "area <= 4 mm2", "on_chip <= 512 KiB" or "latency <= 3 ms"'


@dataclass(frozen=True)
class Measure:
    """A figure of a design.

    name     in fronts and limits
    words    in sentences
    example  of a limit
    read     of a text with its unit
    show     the figure to people
    of_chip  of the architecture alone; None where the figure is one of the network
    """

    name: str
    words: str
    example: str
    read: Callable[[str], float]
    show: Callable[[float], str]
    of_chip: Callable[[Architecture], float] | None = None


@dataclass(frozen=True)
class Budget:
    """A budget for designs.

    measure    the figure that it is for
    bound      in the unit of the measure
    inclusive  whether a design may have as much as the bound
    text       as it was written
    """

    measure: Measure
    bound: float
    inclusive: bool
    text: str

    def allows(self, figure: float) -> bool:
        """Whether a figure is within it."""
        return figure <= self.bound if self.inclusive else figure < self.bound


def on_chip_bytes(arch: Architecture) -> float:
    """Bytes of all memories but the outermost, over all instances; unbounded ones count nothing."""
    bits = 0
    for memory in arch.memories[1:]:
        held = (memory.size_bits or 0) + sum(memory.partition_bits.values())
        bits += held * arch.instances(memory.name)
    return bits / 8


def parts_without_area(arch: Architecture) -> tuple[str, ...]:
    """Memories on the chip, and MAC, that state no area; the outermost memory counts as one beside the chip."""
    memories = [memory.name for memory in arch.memories[1:] if not memory.area_mm2]
    return (*memories, *(() if arch.mac.area_mm2 else ("MAC",)))


def _area(arch: Architecture) -> float:
    missing = parts_without_area(arch)
    if missing:
        hint = "add an area or an estimate to each (docs/scaling.md), or use on_chip"
        raise TilewrightError(f"{', '.join(missing)} state no area", where=arch.name, hint=hint)
    return arch.total_area_mm2


def _whole(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise ArchitectureError(f"found {shown(text)}, expected a whole number")
    return float(text)


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("energy", "energy", "30 mJ", energy_pj, units.energy),
        Measure("latency", "latency", "3 ms", seconds, units.seconds),
        Measure("area", "area", "4 mm2", area_mm2, lambda mm2: f"{units.significant(mm2)} mm2", _area),
        Measure(
            "on_chip",
            "on-chip bytes",
            "512 KiB",
            lambda text: size_bits(text) / 8,
            lambda found: units.size(found * 8),
            on_chip_bytes,
        ),
        Measure("macs", "MAC units", "1024", _whole, units.count, lambda arch: float(arch.mac_instances)),
    )
}
"""By name, in the order of the top of this module."""


def measure_named(name: str, where: str) -> Measure:
    """Raises TilewrightError, with the nearest known one, for an unknown name."""
    found = MEASURES.get(name.strip().replace("-", "_"))
    if found is None:
        hint = did_you_mean(name, MEASURES)
        raise TilewrightError(f"found {shown(name)}, expected one of {', '.join(MEASURES)}", where=where, hint=hint)
    return found


def front_measures(names: Sequence[str] | None, machines: Iterable[Architecture]) -> tuple[Measure, ...]:
    """What a front is over: the measures named; or else energy, latency, and the area of the chip, or on-chip bytes
    where a machine leaves the area of a part open.

    Raises TilewrightError for unknown names, one given twice, fewer than two, and for areas that are not stated.
    """
    machines = list(machines)
    if names is None:
        complete = not any(parts_without_area(machine) for machine in machines)
        return tuple(MEASURES[name] for name in ("energy", "latency", "area" if complete else "on_chip"))
    found = tuple(measure_named(name, "front") for name in names)
    if len(found) < 2 or len(set(found)) < len(found):
        message = f"found {', '.join(names) or 'nothing'}, expected two or more of {', '.join(MEASURES)}, each once"
        raise TilewrightError(message, where="front", hint="write energy,latency,area")
    for measure in found:
        if measure.of_chip is not None:
            for machine in machines:
                measure.of_chip(machine)
    return found


def parse_limit(text: str) -> Budget:
    """The limit that a text such as `area <= 4 mm2` describes. Raises TilewrightError for anything else."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise TilewrightError(f"found {shown(text)}, expected MEASURE <= VALUE", where="limit", hint=_LIMIT_HINT)
    measure = measure_named(match[1], "limit")
    try:
        bound = measure.read(match[3].strip())
    except ArchitectureError as error:
        hint = f"write {measure.name} <= {measure.example}"
        raise TilewrightError(error.message, where=f"limit {measure.name}", hint=hint) from None
    return Budget(
        measure, bound, match[2] != "<", f"{measure.name} {'<' if match[2] == '<' else '<='} {match[3].strip()}"
    )
