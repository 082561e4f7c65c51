"""Energy, latency and occupancy of a mapping, from its word counts.

energy  = sum over memories of (bits read x pJ/bit read + bits written x pJ/bit written) + MACs x pJ/MAC
          + hops x pJ/bit on the way through arrays (hops.py) + leakage of all instances x latency
latency = max(compute cycles, port cycles of every overlapping memory) + port cycles of the others
          + cycles for which arrays fill (filling.py)
cycles of a port = bits through it at the busiest instance / bits per cycle, or those of the banks that it waits for
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace

from ..arch import Architecture, Footprint, Memory
from ..ir import Mapping, MappingError, Node, Place, Role, Tensor, TilewrightError
from ..ir.display import ShownCost
from .closed_form import count_words
from .counts import Accesses, AccessTable, Counts
from .fill import COMPUTE, idle_cycles, waiting_cycles
from .filling import filling_cycles
from .layouts import LineCounts, Lines, LineTable, count_lines, has_lines
from .objective import ObjectiveLike, parse_objective
from .padding import counted_mapping
from .ports import AccessBits, Port, PortUse, access_bits, longest, ports_of, run_cycles, uses_of_ports
from .sets import distinct_sums
from .zeros import TensorZeros, Zeros

NO_LINES = LineCounts()


@dataclass(frozen=True)
class TensorTraffic:
    """The traffic of one tensor at one memory, over all instances.

    memory, tensor  their names
    tile_words    words of its tile in one instance (0: not kept)
    reads, writes words
    energy_pj     of these reads and writes
    lines         that they touch, where the memory has lines
    zeros         what is left of them, where operands have zeros: all figures are means then
    bank_cycles   for which the busiest bank of the busiest instance has something to do, where the memory has banks
    """

    memory: str
    tensor: str
    tile_words: int
    reads: int | float
    writes: int | float
    energy_pj: float
    lines: Lines | None = None
    zeros: TensorZeros | None = None
    bank_cycles: Lines | None = None


@dataclass(frozen=True)
class MemoryUse:
    """The use of one memory level: occupied bits, cycles and energy.

    name            of the memory
    instances       how many there are, at work or not
    occupied_bits   bits in use in one instance, both copies if double buffered
    capacity_bits   bits of one instance; None is unbounded
    cycles          cycles that the busiest port of the busiest instance needs for its words
    overlaps        whether they pass during the computation; if not, they add to the latency
    energy_pj       of all reads and writes, without leakage
    read_bits, write_bits      through the ports of all instances, over the whole run
    ports           how long each bounded port of the busiest instance is busy with its words
    """

    name: str
    instances: int
    occupied_bits: int
    capacity_bits: int | None
    cycles: float
    overlaps: bool
    energy_pj: float
    read_bits: int | float = 0
    write_bits: int | float = 0
    ports: tuple[PortUse, ...] = ()


@dataclass(frozen=True)
class NetworkUse:
    """The hops of one tensor through a fanout whose hops cost energy.

    fanout, tensor  their names
    hops       words x links
    energy_pj  of these hops
    """

    fanout: str
    tensor: str
    hops: float
    energy_pj: float


@dataclass(frozen=True)
class Held:
    """The tile of one node, in one instance of its memory, while some operation works.

    place           of the node in the tree
    memory, tensor  its names
    words           of the tile
    bits            that it takes, with all copies
    role            whose part of the memory it takes, where the memory has parts
    is_shared       whether the node stands above a split
    is_intermediate whether branches below exchange it there
    """

    place: Place
    memory: str
    tensor: str
    words: int
    bits: int
    role: Role
    is_shared: bool
    is_intermediate: bool


Occupancy = dict[str, tuple[Held, ...]]
"""By operation, what is held while it works, outermost nodes first."""


@dataclass(frozen=True)
class Cost(ShownCost):
    """The cost of a mapping on an architecture: energy, latency, and where they arise.

    macs               multiply-accumulates of the layer
    mac_energy_pj      of all of them
    steps              time steps in which at least one MAC works
    compute_cycles     steps / MACs per cycle and instance
    energy_pj          of the whole run: MACs, memories, hops and leakage
    latency_cycles     the whole run; `latency_s` in seconds
    clock_hz           of the architecture
    memories           use of each memory level, outermost first
    traffic            words moved, by memory and tensor
    utilization        MACs / (MAC instances x MACs per cycle x latency)
    limited_by         what the latency waits for: "compute" or a memory's name
    leakage_pj         of all instances over the whole run
    networks           fanouts whose hops cost energy, tensor by tensor
    fill_cycles        of the latency, what the first tiles in and the last ones out add to it
    array_cycles       of the latency, what arrays take to fill with work and to drain, hop by hop
    zeros              what those of operands save, where these have a density: all figures are means then
    operations         of a cascade, the part of each by name, in the order in which they are done
    occupancy          of a cascade, by operation, the tiles that are held while it works

    The figures of a cascade are those of all its operations together: words and energy add up, memories are occupied
    where most is held, each point counts once in `macs`, whether it is done again or not, and `limited_by` is "", for
    every operation waits for something of its own.
    """

    macs: int
    mac_energy_pj: float
    steps: int
    compute_cycles: float
    energy_pj: float
    latency_cycles: float
    utilization: float
    limited_by: str
    clock_hz: float
    memories: tuple[MemoryUse, ...]
    traffic: tuple[TensorTraffic, ...]
    leakage_pj: float = 0.0
    networks: tuple[NetworkUse, ...] = ()
    fill_cycles: float = 0.0
    array_cycles: float = 0.0
    zeros: Zeros | None = None
    operations: dict[str, Cost] = field(default_factory=dict, hash=False)
    occupancy: Occupancy = field(default_factory=dict, hash=False)

    def renamed(self, operations: MappingABC[str, str], tensors: MappingABC[str, str]) -> Cost:
        """The cost of the same tree of a cascade whose operations and tensors have other names."""
        return replace(
            self,
            traffic=tuple(replace(one, tensor=tensors[one.tensor]) for one in self.traffic),
            networks=tuple(replace(one, tensor=tensors[one.tensor]) for one in self.networks),
            operations={operations[name]: one.renamed(operations, tensors) for name, one in self.operations.items()},
            occupancy={
                operations[name]: tuple(replace(tile, tensor=tensors[tile.tensor]) for tile in tiles)
                for name, tiles in self.occupancy.items()
            },
        )

    def on(self, arch: Architecture) -> Cost:
        """The cost on a machine whose memories have other sizes, and differ in nothing else."""
        sizes = {memory.name: capacity_bits(memory) for memory in arch.memories}
        return replace(
            self,
            memories=tuple(replace(one, capacity_bits=sizes[one.name]) for one in self.memories),
            operations={name: one.on(arch) for name, one in self.operations.items()},
        )

    @property
    def parts(self) -> dict[str, Cost]:
        """What each operation costs, in the order in which they are done; where there is but one, it has no name."""
        return self.operations or {"": self}

    def objective(self, objective: ObjectiveLike) -> float:
        """The figure that a search minimizes: pJ, cycles, pJ x cycles, or what a formula makes of pJ and cycles.

        Raises TilewrightError for an unknown objective, and for a lexicographic one: it has no single value.
        """
        return parse_objective(objective).value(self.energy_pj, self.latency_cycles)


def evaluate_nest(mapping: Mapping, arch: Architecture) -> Cost:
    """The cost of a mapping of one operation, by the closed forms.

    Raises MappingError when the mapping does not fit: a node or loop in the wrong place, an array axis that is too
    short, a dimension that the axis does not allow, tiles larger than a memory; and TilewrightError for operands with
    zeros, which `evaluate_open` knows.
    """
    mapping = counted_mapping(mapping, arch)
    if mapping.problem.has_zeros:
        raise TilewrightError("zeros are not known here", where=mapping.problem.name, hint="leave the densities out")
    lines = lines_of(mapping, arch)
    check_fit(mapping, arch, lines)
    return cost_of(mapping, arch, count_words(mapping, arch), lines=lines)


def lines_of(mapping: Mapping, arch: Architecture) -> LineCounts:
    """Lines that pass the ports of memories that have lines: those of no memory, where none has."""
    return count_lines(mapping, arch, held_width_bits) if has_lines(arch) else NO_LINES


def cost_of(
    mapping: Mapping,
    arch: Architecture,
    counts: Counts,
    points: int | None = None,
    lines: LineCounts = NO_LINES,
) -> Cost:
    """The cost of a mapping whose words are already counted.

    points  multiply-accumulates that are done; by default those of the problem
    lines   that pass memories which have lines
    """
    tensors = {t.name: t for t in mapping.problem.tensors}
    tiles = tile_words(mapping, arch.footprint)
    traffic = tuple(
        TensorTraffic(
            memory=memory.name,
            tensor=tensor.name,
            tile_words=tiles.get((memory.name, tensor.name), 0),
            reads=accesses.reads,
            writes=accesses.writes,
            energy_pj=_energy_pj(arch, memory, tensor, accesses, counts.in_use[memory.name, tensor.name], lines.total),
            lines=lines.total.get((memory.name, tensor.name)),
            bank_cycles=lines.banks.get((memory.name, tensor.name)),
        )
        for memory in arch.memories
        for tensor in mapping.problem.tensors
        if (accesses := counts.total.get((memory.name, tensor.name))) is not None
    )
    memories = tuple(_memory_use(arch, memory, counts, tensors, traffic, tiles, lines) for memory in arch.memories)
    macs = mapping.problem.macs if points is None else points
    mac_energy = macs * arch.mac.energy_pj
    compute_cycles = counts.steps / arch.mac.per_cycle
    busy = {COMPUTE: compute_cycles} | {m.name: m.cycles for m in memories}
    filling = filling_cycles(counts, arch)
    steady = latency = _run_cycles(busy, memories) + filling
    if arch.latency == "with_fill":
        idle = idle_cycles(arch, tensors, counts.first_tiles, lines.first)
        uses = zip(memories, arch.memories, strict=True)
        busy |= {use.name: waiting_cycles(memory, use.ports, idle[use.name]) for use, memory in uses if use.overlaps}
        busy[COMPUTE] += idle[COMPUTE][0]
        latency = _run_cycles(busy, memories) + filling
    networks = _networks(arch, tensors, counts)
    leakage = arch.total_leakage_pj_per_cycle * latency
    return Cost(
        macs=macs,
        mac_energy_pj=mac_energy,
        steps=counts.steps,
        compute_cycles=compute_cycles,
        energy_pj=mac_energy + sum(m.energy_pj for m in memories) + sum(n.energy_pj for n in networks) + leakage,
        latency_cycles=latency,
        utilization=macs / (arch.mac_instances * arch.mac.per_cycle * latency),
        limited_by=max(busy, key=busy.__getitem__),
        clock_hz=arch.clock_hz,
        memories=memories,
        traffic=traffic,
        leakage_pj=leakage,
        networks=networks,
        fill_cycles=latency - steady,
        array_cycles=filling,
    )


def _run_cycles(busy: MappingABC[str, float], memories: Sequence[MemoryUse]) -> float:
    return float(run_cycles(busy[COMPUTE], [(m.overlaps, busy[m.name]) for m in memories]))


def _networks(arch: Architecture, tensors: dict[str, Tensor], counts: Counts) -> tuple[NetworkUse, ...]:
    """Partial sums are on their way at their full width, finished or not."""
    found = []
    for fanout in arch.fanouts:
        for tensor in tensors.values():
            hops = counts.hops.get((fanout.name, tensor.name))
            if hops is not None:
                energy = hops * arch.partial_width_bits(tensor) * fanout.hop_pj_per_bit
                found.append(NetworkUse(fanout.name, tensor.name, hops, energy))
    return tuple(found)


def tile_words(mapping: Mapping, footprint: Footprint) -> dict[tuple[str, str], int]:
    """Return the words of the tile that one instance holds, by memory and tensor."""
    words = {}
    tile = dict.fromkeys(mapping.problem.dim_names, 1)
    for item in reversed(mapping.nest.items):
        if isinstance(item, Node):
            words[item.memory, item.tensor] = tensor_tile_words(mapping.problem.tensor(item.tensor), tile, footprint)
        else:
            tile[item.dim] = min(mapping.problem.sizes[item.dim], tile[item.dim] * item.trips)
    return words


def tensor_tile_words(tensor: Tensor, tile: MappingABC[str, int], footprint: Footprint = "exact") -> int:
    """Distinct words of a tensor that a tile touches, or its box, given the tile's elements per dimension; along a
    padded rank no more than are stored."""
    words = 1
    for rank, stored in tensor.stored_ranks:
        along = distinct_sums(tuple(c for _, c in rank), tuple(tile[dim] for dim, _ in rank), footprint)
        words *= along if stored is None else min(along, stored.most(gaps=footprint == "box"))
    return words


def _memory_use(
    arch: Architecture,
    memory: Memory,
    counts: Counts,
    tensors: dict[str, Tensor],
    traffic: tuple[TensorTraffic, ...],
    tiles: dict[tuple[str, str], int],
    lines: LineCounts,
) -> MemoryUse:
    busiest = _bits_through(arch, memory, tensors, counts.busiest, lines.busiest)
    every = _bits_through(arch, memory, tensors, counts.total, lines.total)
    uses = zip(ports_of(memory), uses_of_ports(memory, busiest, every), strict=True)
    banks = [(tensors[tensor].role, cycles) for (name, tensor), cycles in lines.banks.items() if name == memory.name]
    ports = tuple(_with_banks(port, use, banks) for port, use in uses)
    own = [(tensors[tensor], words) for (name, tensor), words in tiles.items() if name == memory.name]
    held = sum(held_bits(arch, memory, tensor, words, lines) for tensor, words in own)
    return memory_use(arch, memory, held, traffic, every, ports)


def memory_use(
    arch: Architecture,
    memory: Memory,
    held: int,
    traffic: Iterable[TensorTraffic],
    every: MappingABC[Role, tuple[float, float]],
    ports: tuple[PortUse, ...],
) -> MemoryUse:
    """What a memory does and holds.

    held   bits, once
    every  bits that are read and written, by role
    """
    return MemoryUse(
        name=memory.name,
        instances=arch.instances(memory.name),
        occupied_bits=(2 if memory.double_buffered else 1) * held,
        capacity_bits=capacity_bits(memory),
        cycles=longest(ports),
        overlaps=memory.overlaps,
        energy_pj=sum(t.energy_pj for t in traffic if t.memory == memory.name),
        read_bits=sum(read for read, _ in every.values()),
        write_bits=sum(written for _, written in every.values()),
        ports=ports,
    )


def _with_banks(port: Port, use: PortUse, banks: Iterable[tuple[Role, Lines]]) -> PortUse:
    """How long a port is busy that waits for banks.

    banks  cycles for which each tensor, of a role, keeps its busiest bank busy; they take turns only where banks do,
           since other tensors may lie in other banks: `ports_of` bounds what all banks do together
    """
    waits = [port.carried(role, each.supplied + each.drained, each.collected + each.filled) for role, each in banks]
    return replace(use, cycles=max([use.cycles, *map(float, waits)]))


def _bits_through(
    arch: Architecture, memory: Memory, tensors: dict[str, Tensor], table: AccessTable, lines: LineTable
) -> dict[Role, tuple[float, float]]:
    """Return the bits that are read and written of one memory, by role."""
    found: dict[Role, tuple[float, float]] = {}
    for (name, tensor), accesses in table.items():
        if name == memory.name:
            bits, role = _bits(arch, memory, tensors[tensor], accesses, lines), tensors[tensor].role
            read, written = found.get(role, (0, 0))
            found[role] = read + bits.read, written + bits.write
    return found


def _bits(arch: Architecture, memory: Memory, tensor: Tensor, accesses: Accesses, lines: LineTable) -> AccessBits:
    """Bits of a tensor's words, or of the whole lines that they lie in."""
    if memory.line_bits is not None:
        return lines[memory.name, tensor.name].bits(memory.line_bits)
    return access_bits(arch, tensor, accesses)


def _energy_pj(
    arch: Architecture, memory: Memory, tensor: Tensor, accesses: Accesses, instances: int, lines: LineTable
) -> float:
    bits = _bits(arch, memory, tensor, accesses, lines)
    if memory.block_bits:
        bits = bits.in_blocks(memory.block_bits, instances)
    per_access = memory.access_bits
    return bits.read / per_access * memory.read_energy_pj + bits.write / per_access * memory.write_energy_pj


def held_width_bits(arch: Architecture, memory: Memory, tensor: Tensor) -> int:
    """Width of a word while a memory holds it: partial sums everywhere but in the outermost memory."""
    return arch.width_bits(tensor) if memory is arch.memories[0] else arch.partial_width_bits(tensor)


def held_bits(arch: Architecture, memory: Memory, tensor: Tensor, words: int, lines: LineCounts) -> int:
    """Bits that a tile of so many words takes in a memory; of a memory with lines, those of whole lines."""
    if memory.line_bits is not None and (held := lines.held.get((memory.name, tensor.name))) is not None:
        return held * memory.line_bits
    return words * held_width_bits(arch, memory, tensor)


def capacity_bits(memory: Memory) -> int | None:
    """Bits of one instance; None is unbounded."""
    return sum(part.bits for part in capacity_parts(memory)) or None


@dataclass(frozen=True)
class Part:
    """A capacity of one memory instance, and the roles that share it."""

    memory: Memory
    roles: frozenset[str]
    bits: int


def capacity_parts(memory: Memory) -> tuple[Part, ...]:
    """Return the bounded parts of a memory: each private partition, and the shared rest; none where the memory is
    unbounded."""
    parts = [Part(memory, frozenset([role]), bits) for role, bits in memory.partition_bits.items()]
    if memory.size_bits is not None:
        shared = frozenset(("input", "weight", "output")) - frozenset(memory.partition_bits)
        parts.append(Part(memory, shared, memory.size_bits))
    return tuple(parts)


def largest_tile_bits(memory: Memory, tensor: Tensor) -> float:
    """The bits that a tile of a tensor may have in a memory; infinitely many, where it is unbounded."""
    copies = 2 if memory.double_buffered else 1
    return min((part.bits / copies for part in capacity_parts(memory) if tensor.role in part.roles), default=math.inf)


def check_fit(mapping: Mapping, arch: Architecture, lines: LineCounts = NO_LINES) -> None:
    """Tiles fit their memories and spatial loops their axes; MappingError says what does not, and by how much."""
    check_axes(mapping, arch)
    tiles = tile_words(mapping, arch.footprint)
    check_capacity(
        mapping,
        arch,
        {
            (memory.name, tensor.name): held_bits(arch, memory, tensor, tiles[memory.name, tensor.name], lines)
            for memory in arch.memories
            for tensor in mapping.problem.tensors
            if (memory.name, tensor.name) in tiles
        },
    )


def check_capacity(mapping: Mapping, arch: Architecture, held: MappingABC[tuple[str, str], int]) -> None:
    """Tiles of so many bits, by memory and tensor, fit their memories."""
    for memory in arch.memories:
        copies = 2 if memory.double_buffered else 1
        for part in capacity_parts(memory):
            bits = {
                t.name: copies * held[memory.name, t.name]
                for t in mapping.problem.tensors
                if t.role in part.roles and (memory.name, t.name) in held
            }
            needed = sum(bits.values())
            if needed > part.bits:
                largest = max(bits, key=bits.__getitem__)
                raise MappingError(
                    f"tiles of {', '.join(bits)} need {needed / 8:,.10g} B, capacity is {part.bits / 8:,.10g} B",
                    where=memory.name,
                    hint=f"{largest} takes {bits[largest] / 8:,.10g} B: tile it smaller, or keep it further out",
                )


def check_axes(mapping: Mapping, arch: Architecture) -> None:
    """Spatial loops fit their axes, and run over dimensions that these allow; MappingError says which do not."""
    for fanout in arch.fanouts:
        for index, axis in enumerate(fanout.axes):
            used = 1
            for loop in mapping.nest.loops:
                if loop.axis is None or (loop.axis.fanout, loop.axis.index) != (fanout.name, index):
                    continue
                used *= loop.trips
                if loop.trips > 1 and not axis.allows(mapping.problem, loop.dim):
                    raise MappingError(f"{loop.axis} does not allow dimension {loop.dim}", where=fanout.name)
            if used > axis.size:
                name = f"{fanout.name}.{'xy'[index]}"
                raise MappingError(f"parallel loops over {name} need {used} instances, it has {axis.size}")
