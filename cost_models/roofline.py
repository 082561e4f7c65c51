"""The roofline of a mapping: MACs per byte moved at every memory, the rates that follow, and which roof binds.

    operational intensity = MACs / bytes through the port, all instances together         [MACs per byte]
    attainable rate       = min(peak, intensity x bandwidth of all instances)             [MACs per cycle]
    ridge                 = peak / bandwidth of all instances                             [MACs per byte]

as in S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009, with a roof for every level of the memory hierarchy. Their operations are FLOPs, two
per MAC. A machine's roof counts all of its instances; a mapping that leaves some idle has a lower one,

    reachable rate        = MACs / cycles of the port at the busiest instance,

and where all memories overlap, the rate of the mapping is the least of its reachable ones and that of its steps.
Where zeros let units skip MACs, these count as done, and units are as much faster as they have fewer to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ..arch import Architecture, Memory
from ..arch.ports import PortKind, stated_ports
from .cost import Cost, MemoryUse
from .ports import PortUse

_BYTE = 8


@dataclass(frozen=True)
class Roof:
    """A roof of the roofline: the bandwidth of one port of one memory level.

    port             "both": one port for both directions (or none is bounded), else the direction
    bytes_moved      through the port, over all instances and the whole run
    intensity        MACs per byte moved; infinite if nothing moves
    bytes_per_cycle  of all instances together; None is unbounded
    attainable       MACs per cycle that the machine allows at this intensity, at most its peak
    reachable        MACs per cycle that this port allows the mapping; infinite if it is unbounded or unused
    """

    memory: str
    port: str
    bytes_moved: float
    intensity: float
    bytes_per_cycle: float | None
    attainable: float
    reachable: float

    @property
    def name(self) -> str:
        """`DRAM`, or `GLB read` where a memory has a port for each direction."""
        return self.memory if self.port == "both" else f"{self.memory} {self.port}"


@dataclass(frozen=True)
class Roofline:
    """All roofs of a mapping; rates are MACs per cycle.

    peak      of all MAC units
    compute   what the mapping's time steps allow: units that idle lower it
    attained  MACs / latency
    roofs     outermost memory first
    """

    peak: float
    compute: float
    attained: float
    roofs: tuple[Roof, ...]

    @property
    def binding(self) -> Roof | None:
        """The roof that is lowest for this mapping; None if that is the computation."""
        lowest = min(self.roofs, key=lambda roof: roof.reachable, default=None)
        return lowest if lowest is not None and lowest.reachable < self.compute else None

    def ridge(self, roof: Roof) -> float:
        """The intensity, in MACs per byte, from which on a roof is flat; 0 where it is flat throughout."""
        return self.peak / roof.bytes_per_cycle if roof.bytes_per_cycle else 0.0


def roofline(cost: Cost, arch: Architecture) -> Roofline:
    """The roofline of a mapping that costs `cost` on `arch`."""
    peak = arch.mac_instances * arch.mac.per_cycle * (cost.steps / arch.mac.per_cycle / cost.compute_cycles)
    uses = {use.name: use for use in cost.memories}
    return Roofline(
        peak=peak,
        compute=cost.macs / cost.compute_cycles,
        attained=cost.macs / cost.latency_cycles,
        roofs=tuple(roof for memory in arch.memories for roof in _roofs(memory, uses[memory.name], cost.macs, peak)),
    )


def _roofs(memory: Memory, use: MemoryUse, macs: int, peak: float) -> list[Roof]:
    uses = {port.name: port for port in use.ports}
    return [
        _roof(kind, use, uses.get(kind.name, PortUse(kind.name, 0.0)), bits_per_cycle, macs, peak)
        for kind, bits_per_cycle in stated_ports(memory)
    ]


def _roof(port: PortKind, use: MemoryUse, own: PortUse, bits_per_cycle: float | None, macs: int, peak: float) -> Roof:
    every = port.reads * use.read_bits + port.writes * use.write_bits
    moved = (every if own.bits is None else own.bits) / _BYTE
    intensity = macs / moved if moved else inf
    bandwidth = None if bits_per_cycle is None else use.instances * bits_per_cycle / _BYTE
    return Roof(
        memory=use.name,
        port=port.name,
        bytes_moved=moved,
        intensity=intensity,
        bytes_per_cycle=bandwidth,
        attainable=peak if bandwidth is None or not moved else min(peak, intensity * bandwidth),
        reachable=macs / own.cycles if own.cycles else inf,
    )
