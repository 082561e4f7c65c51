"""What a mapping costs where operands have zeros: expected words, metadata, energy, cycles; and whether it fits.

The dense counts of the mapping (`closed_form.py`) times the shares that are left (`shares.py`), plus metadata
(`formats.py`), which moves with the words of a tile in proportion. A memory has to hold the fullest tile that there can
be, and its metadata: nothing is left to luck. docs/sparse.md has it in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace

from ...arch import Architecture, Memory
from ...arch.spec import SparseFormat
from ...ir import Mapping, Problem, Role, Tensor
from ..closed_form import count_words
from ..cost import (
    Cost,
    MemoryUse,
    TensorTraffic,
    check_axes,
    check_capacity,
    cost_of,
    held_width_bits,
    memory_use,
)
from ..counts import Accesses, Counts
from ..ports import access_bits, run_cycles, uses_of_ports
from ..zeros import TensorZeros, Zeros
from .densities import Density, Shape
from .formats import metadata_bits, possible_formats
from .parsing import densities_of
from .savings import box
from .shares import Share, SparseMapping


@dataclass(frozen=True)
class _Bits:
    """Bits through a memory's ports for one tensor: those that cost energy, and those that take time."""

    reads: float
    writes: float
    gated_reads: float
    gated_writes: float

    @property
    def read(self) -> float:
        return self.reads + self.gated_reads

    @property
    def written(self) -> float:
        return self.writes + self.gated_writes

    def energy_pj(self, memory: Memory) -> float:
        read, write = memory.read_energy_pj, memory.write_energy_pj
        return self.reads / memory.access_bits * read + self.writes / memory.access_bits * write


@dataclass(frozen=True)
class HeldTile:
    """The tile of a tensor in a memory: shares of its words that are moved, further in and from further out."""

    memory: Memory
    tensor: Tensor
    words: int
    stored: float
    metadata: float
    most_bits: int
    format: str
    inwards: Share
    outwards: Share


def evaluate_sparse(mapping: Mapping, arch: Architecture, densities: MappingABC[str, Density]) -> Cost:
    """The cost of a mapping whose operands have zeros, a mean over all masks; of formats that a memory may have, the
    first counts.

    densities  of operands, by tensor; the others are dense

    Raises MappingError when the mapping does not fit, the fullest tiles included, and TilewrightError for what zeros
    are not known to.
    """
    sparse = SparseMapping(mapping, arch, densities)
    check_axes(mapping, arch)
    held = held_tiles(sparse)
    check_capacity(mapping, arch, {key: tile.most_bits for key, tile in held.items()})
    counts = count_words(mapping, arch)
    dense = cost_of(mapping, arch, counts)
    bits = {key: _bits(sparse, tile, counts.total[key]) for key, tile in held.items()}
    traffic = tuple(_traffic(tile, counts.total[key], bits[key]) for key, tile in held.items())
    memories = tuple(_memory(sparse, memory, held, counts, traffic) for memory in arch.memories)
    operations = sparse.operations
    compute = dense.compute_cycles * (1.0 - operations.skipped / mapping.problem.macs)
    waiting = [(m.overlaps, u.cycles) for m, u in zip(arch.memories, memories, strict=True)]
    latency = float(run_cycles(compute, waiting)) + dense.array_cycles
    busy = {"compute": compute} | {use.name: use.cycles for use in memories}
    mac_energy = operations.done * arch.mac.energy_pj
    leakage = arch.total_leakage_pj_per_cycle * latency
    return replace(
        dense,
        mac_energy_pj=mac_energy,
        compute_cycles=compute,
        energy_pj=mac_energy + sum(use.energy_pj for use in memories) + leakage,
        latency_cycles=latency,
        utilization=operations.done / (arch.mac_instances * arch.mac.per_cycle * latency),
        limited_by=max(busy, key=busy.__getitem__),
        memories=memories,
        traffic=traffic,
        leakage_pj=leakage,
        zeros=Zeros(operations, dense.energy_pj, dense.latency_cycles),
    )


def _by_role(bits: Iterable[tuple[Role, _Bits]]) -> dict[Role, tuple[float, float]]:
    """Bits that are read and written, by role."""
    found: dict[Role, tuple[float, float]] = {}
    for role, each in bits:
        read, written = found.get(role, (0.0, 0.0))
        found[role] = read + each.read, written + each.written
    return found


def held_tiles(sparse: SparseMapping) -> dict[tuple[str, str], HeldTile]:
    """All tiles, by memory and tensor, outermost memory first."""
    found = {}
    for tensor in sparse.mapping.problem.tensors:
        for index, boundary in enumerate(sparse.chains[tensor.name]):
            memory = boundary.outer
            kind = sparse.format(memory, tensor)
            words, stored, metadata, most_bits = tile_bits(sparse, memory, tensor, boundary.outer_position, kind)
            found[memory.name, tensor.name] = HeldTile(
                memory=memory,
                tensor=tensor,
                words=words,
                stored=stored,
                metadata=metadata,
                most_bits=most_bits,
                format=kind,
                inwards=sparse.share(tensor, index),
                outwards=sparse.share(tensor, index - 1, given=True) if index and not tensor.is_output else Share(),
            )
    order = [memory.name for memory in sparse.arch.memories]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0][0])))


def tile_bits(
    sparse: SparseMapping, memory: Memory, tensor: Tensor, position: int, kind: SparseFormat
) -> tuple[int, float, float, int]:
    """The words of a node's tile; of them, in a format, the words that are held and the bits of their metadata, both on
    average; and the bits of the fullest tile."""
    tile = sparse.tile(tensor, position)
    words, width = math.prod(tile), held_width_bits(sparse.arch, memory, tensor)
    if kind == "uncompressed":
        return words, float(words), 0.0, words * width
    density, shape = sparse.densities[tensor.name], sparse.shape(tensor)
    most_bits = fullest_bits(kind, density, tile, shape, width)
    return words, sparse.density(tensor) * words, metadata_bits(kind, density, tile, shape), most_bits


def smallest_bits(problem: Problem, arch: Architecture, memory: Memory, tensor: Tensor) -> dict[SparseFormat, int]:
    """The bits of the fullest tile of one word, in each format that a memory may hold a tensor in; all tiles with that
    word take as many at least."""
    width, density = held_width_bits(arch, memory, tensor), densities_of(problem).get(tensor.name)
    if density is None:
        return {"uncompressed": width}
    tile, shape = (1,) * len(tensor.ranks), box(tensor, problem.sizes, arch.footprint)
    return {kind: fullest_bits(kind, density, tile, shape, width) for kind in possible_formats(memory, tensor, density)}


def fullest_bits(kind: SparseFormat, density: Density, tile: Shape, shape: Shape, width: int) -> int:
    """The bits of the fullest tile of a tensor, in words of so many bits, with its metadata."""
    if kind == "uncompressed":
        return math.prod(tile) * width
    return density.words(tile, shape).most * width + math.ceil(metadata_bits(kind, density, tile, shape, at_most=True))


def _bits(sparse: SparseMapping, tile: HeldTile, accesses: Accesses) -> _Bits:
    if tile.tensor.is_output:
        dense = access_bits(sparse.arch, tile.tensor, accesses)
        moved, gated = tile.inwards.moved, tile.inwards.gated
        return _Bits(
            reads=dense.supplied * moved + dense.drained,
            writes=dense.collected * moved + dense.filled,
            gated_reads=dense.supplied * gated,
            gated_writes=dense.collected * gated,
        )
    per_word = (tile.stored * sparse.arch.width_bits(tile.tensor) + tile.metadata) / tile.words
    return _Bits(
        reads=accesses.reads * tile.inwards.moved * per_word,
        writes=accesses.writes * tile.outwards.moved * per_word,
        gated_reads=accesses.reads * tile.inwards.gated * per_word,
        gated_writes=accesses.writes * tile.outwards.gated * per_word,
    )


def _traffic(tile: HeldTile, accesses: Accesses, bits: _Bits) -> TensorTraffic:
    """Of outputs, only what passes to and from the MAC may be left out."""
    share = tile.stored / tile.words
    inside, outside = tile.inwards, tile.outwards
    if tile.tensor.is_output:
        supplied, collected = accesses.reads - accesses.drains, accesses.writes - accesses.fills
        reads = supplied * inside.moved + accesses.drains
        writes = collected * inside.moved + accesses.fills
        gated = (supplied + collected) * inside.gated
        left = float(supplied + collected + accesses.drains + accesses.fills)
    else:
        reads, writes = accesses.reads * inside.moved * share, accesses.writes * outside.moved * share
        gated = (accesses.reads * inside.gated + accesses.writes * outside.gated) * share
        left = (accesses.reads + accesses.writes) * share
    moved = accesses.reads * inside.moved + accesses.writes * outside.moved
    return TensorTraffic(
        memory=tile.memory.name,
        tensor=tile.tensor.name,
        tile_words=tile.words,
        reads=reads,
        writes=writes,
        energy_pj=bits.energy_pj(tile.memory),
        zeros=TensorZeros(
            format=tile.format,
            stored_words=tile.stored,
            stored_metadata_bits=tile.metadata,
            gated=gated,
            skipped=max(0.0, left - reads - writes - gated),
            metadata_bits=moved * tile.metadata / tile.words,
        ),
    )


def _memory(
    sparse: SparseMapping,
    memory: Memory,
    held: MappingABC[tuple[str, str], HeldTile],
    counts: Counts,
    traffic: tuple[TensorTraffic, ...],
) -> MemoryUse:
    tiles = [(key, tile) for key, tile in held.items() if key[0] == memory.name]
    every, busiest = (
        _by_role((tile.tensor.role, _bits(sparse, tile, table[key])) for key, tile in tiles)
        for table in (counts.total, counts.busiest)
    )
    ports = uses_of_ports(memory, busiest, every)
    return memory_use(sparse.arch, memory, sum(tile.most_bits for _, tile in tiles), traffic, every, ports)
