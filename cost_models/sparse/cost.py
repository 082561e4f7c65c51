"""What a mapping costs where operands have zeros: expected words, metadata, energy, cycles; and whether it fits.

The dense counts of the mapping (`closed_form.py`) times the shares that are left (`shares.py`), plus metadata
(`formats.py`), which moves with the words of a tile in proportion. A memory has to hold the fullest tile that there can
be, and its metadata: nothing is left to luck. docs/sparse.md has it in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass

from ...arch import Architecture, Memory
from ...ir import Mapping, Tensor
from ...ir.display import ShownCost
from ..closed_form import count_words
from ..cost import Cost, check_axes, check_capacity, cost_of, held_width_bits
from ..counts import Accesses, AccessTable
from ..ports import access_bits, direction_cycles, run_cycles
from .densities import Density
from .formats import metadata_bits
from .shares import Operations, Share, SparseMapping


@dataclass(frozen=True)
class SparseTraffic:
    """One tensor at one memory, over all instances; means over all masks.

    memory, tensor  their names
    format          how it is held there; empty: every word
    tile_words      words of its tile in one instance, zeros included
    tile_stored     words of them that are held
    tile_metadata_bits  that say where they are
    reads, writes   words that pass
    gated, skipped  words, read or written, that would pass but have no effect: without energy; without time as well
    metadata_bits   that pass with the words
    energy_pj       of reads and writes, metadata included
    """

    memory: str
    tensor: str
    format: str
    tile_words: int
    tile_stored: float
    tile_metadata_bits: float
    reads: float
    writes: float
    gated: float
    skipped: float
    metadata_bits: float
    energy_pj: float


@dataclass(frozen=True)
class SparseMemoryUse:
    """One memory level.

    name           of the memory
    occupied_bits  of the fullest tiles in one instance, metadata included
    capacity_bits  of one instance; None is unbounded
    cycles         that the busiest port of the busiest instance needs on average
    energy_pj      of all reads and writes
    """

    name: str
    occupied_bits: int
    capacity_bits: int | None
    cycles: float
    energy_pj: float


@dataclass(frozen=True)
class SparseCost(ShownCost):
    """What a mapping costs on an architecture, as a mean over all masks of the stated densities.

    dense           what the same mapping costs without zeros; its tiles may be too large for its memories
    operations      multiply-accumulates that are done, gated and skipped
    compute_cycles  of the steps that are not skipped, work spread evenly
    energy_pj, latency_cycles  of the whole run
    limited_by      what the latency waits for: "compute" or a memory's name
    memories, traffic  outermost memory first
    """

    dense: Cost
    operations: Operations
    compute_cycles: float
    energy_pj: float
    latency_cycles: float
    limited_by: str
    memories: tuple[SparseMemoryUse, ...]
    traffic: tuple[SparseTraffic, ...]

    @property
    def edp(self) -> float:
        """Energy-delay product, in pJ x cycles."""
        return self.energy_pj * self.latency_cycles


@dataclass(frozen=True)
class _Bits:
    """Bits through a memory's ports for one tensor: those that cost energy, and those that take time."""

    reads: float
    writes: float
    gated_reads: float
    gated_writes: float

    def energy_pj(self, memory: Memory) -> float:
        read, write = memory.read_energy_pj, memory.write_energy_pj
        return self.reads / memory.access_bits * read + self.writes / memory.access_bits * write


@dataclass(frozen=True)
class _Held:
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


def evaluate_sparse(mapping: Mapping, arch: Architecture, densities: MappingABC[str, Density]) -> SparseCost:
    """The cost of a mapping whose operands have zeros.

    densities  of operands, by tensor; the others are dense

    Raises MappingError when the mapping does not fit, the fullest tiles included, and TilewrightError for what zeros
    are not known to.
    """
    sparse = SparseMapping(mapping, arch, densities)
    check_axes(mapping, arch)
    held = _held_tiles(sparse)
    check_capacity(mapping, arch, {key: tile.most_bits for key, tile in held.items()})
    counts = count_words(mapping, arch)
    dense = cost_of(mapping, arch, counts)
    bits = {key: _bits(sparse, tile, counts.total[key]) for key, tile in held.items()}
    traffic = tuple(_traffic(tile, counts.total[key], bits[key]) for key, tile in held.items())
    memories = tuple(_memory(sparse, memory, held, counts.busiest, traffic) for memory in arch.memories)
    operations = sparse.operations
    compute = dense.compute_cycles * (1.0 - operations.skipped / mapping.problem.macs)
    latency = float(run_cycles(compute, [(m.overlaps, u.cycles) for m, u in zip(arch.memories, memories, strict=True)]))
    busy = {"compute": compute} | {use.name: use.cycles for use in memories}
    return SparseCost(
        dense=dense,
        operations=operations,
        compute_cycles=compute,
        energy_pj=operations.done * arch.mac.energy_pj
        + sum(use.energy_pj for use in memories)
        + arch.total_leakage_pj_per_cycle * latency,
        latency_cycles=latency,
        limited_by=max(busy, key=busy.__getitem__),
        memories=memories,
        traffic=traffic,
    )


def _held_tiles(sparse: SparseMapping) -> dict[tuple[str, str], _Held]:
    """All tiles, by memory and tensor, outermost memory first."""
    found = {}
    for tensor in sparse.mapping.problem.tensors:
        for index, boundary in enumerate(sparse.chains[tensor.name]):
            memory = boundary.outer
            tile = sparse.tile(tensor, boundary.outer_position)
            words = most = math.prod(tile)
            stored, metadata, most_metadata, name = float(words), 0.0, 0.0, ""
            if sparse.is_compressed(memory, tensor):
                name = memory.formats[tensor.role]
                density, shape = sparse.densities[tensor.name], sparse.shape(tensor)
                most = density.words(tile, shape).most
                stored = sparse.density(tensor) * words
                metadata = metadata_bits(name, density, tile, shape)
                most_metadata = metadata_bits(name, density, tile, shape, at_most=True)
            found[memory.name, tensor.name] = _Held(
                memory=memory,
                tensor=tensor,
                words=words,
                stored=stored,
                metadata=metadata,
                most_bits=most * held_width_bits(sparse.arch, memory, tensor) + math.ceil(most_metadata),
                format=name,
                inwards=sparse.share(tensor, index),
                outwards=sparse.share(tensor, index - 1) if index and not tensor.is_output else Share(),
            )
    order = [memory.name for memory in sparse.arch.memories]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0][0])))


def _bits(sparse: SparseMapping, tile: _Held, accesses: Accesses) -> _Bits:
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


def _traffic(tile: _Held, accesses: Accesses, bits: _Bits) -> SparseTraffic:
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
    return SparseTraffic(
        memory=tile.memory.name,
        tensor=tile.tensor.name,
        format=tile.format,
        tile_words=tile.words,
        tile_stored=tile.stored,
        tile_metadata_bits=tile.metadata,
        reads=reads,
        writes=writes,
        gated=gated,
        skipped=max(0.0, left - reads - writes - gated),
        metadata_bits=moved * tile.metadata / tile.words,
        energy_pj=bits.energy_pj(tile.memory),
    )


def _memory(
    sparse: SparseMapping,
    memory: Memory,
    held: MappingABC[tuple[str, str], _Held],
    busiest: AccessTable,
    traffic: tuple[SparseTraffic, ...],
) -> SparseMemoryUse:
    tiles = [(key, tile) for key, tile in held.items() if key[0] == memory.name]
    bits = [_bits(sparse, tile, busiest[key]) for key, tile in tiles]
    reads = sum(each.reads + each.gated_reads for each in bits)
    writes = sum(each.writes + each.gated_writes for each in bits)
    sizes = [*memory.partition_bits.values(), *([memory.size_bits] if memory.size_bits else [])]
    return SparseMemoryUse(
        name=memory.name,
        occupied_bits=(2 if memory.double_buffered else 1) * sum(tile.most_bits for _, tile in tiles),
        capacity_bits=sum(sizes) or None,
        cycles=max(direction_cycles(memory, reads, writes)),
        energy_pj=sum(each.energy_pj for each in traffic if each.memory == memory.name),
    )
