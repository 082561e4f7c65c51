"""A mapping, its problem and its architecture as Timeloop v0.4 input: one YAML text with the three parts and an ERT.

`mapper/timeloop/` reads it back. Timeloop counts by rules of its own (docs/other-tools.md); what the files cannot say
at all is a MappingError that names it:

    uneven mappings, ragged tiles, two loops of one dimension at one level
    memories whose transfers do not overlap
    arrays without multicast or spatial reduction; several MACs per cycle
    tensors of different widths in one memory
    names with other characters than letters, digits, - and _
    energies of hops, leakage, the time of the first and last tiles (`latency: with_fill`), that of hops through arrays

A memory with a private part for each tensor becomes a memory for each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....arch import Architecture, Fanout, Memory
from ....arch.ports import bounded_kinds
from ....arch.units import shown
from ....cost_models.padding import refuse_free_padding
from ....ir import Loop, Mapping, MappingError, Node, Tensor
from ...timeloop.architecture import spatial_name

_FILES = "Timeloop's files"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_+-]*")


@dataclass(frozen=True)
class _Store:
    """A memory as Timeloop sees it: the tensors that may be in it, and those that the mapping keeps there."""

    name: str
    memory: Memory
    tensors: tuple[Tensor, ...]
    kept: frozenset[str]
    size_bits: int | None


def emit_timeloop(mapping: Mapping, arch: Architecture) -> str:
    """The text. Raises MappingError for what Timeloop's files cannot say."""
    _refuse(mapping, arch)
    stores = {level.name: _stores(level, mapping) for level in arch.levels if isinstance(level, Memory)}
    directives = list(_directives(mapping, arch, stores))
    lines = [
        "# Timeloop v0.4: architecture, energy reference table, problem and mapping",
        "architecture:",
        "  version: 0.4",
        "  nodes:",
        "  - !Container",
        "    name: system",
        f"    attributes: {{technology: none, global_cycle_seconds: {1 / arch.clock_hz!r}}}",
        *(line for level in arch.levels for line in _nodes(level, stores, mapping, arch)),
        "  - !Component",
        "    name: MAC",
        "    class: intmac",
        f"    attributes: {{datawidth: {arch.word_bits}}}",
        *_ert(arch, stores),
        *_problem(mapping),
        "mapping:",
        *directives,
    ]
    slow = [f"{f.name}.{'xy'[i]}" for f in arch.fanouts for i, axis in enumerate(f.axes) if axis.latency_cycles]
    if slow:
        hint = " ".join(["leave it out with", *(f'--set "{axis}.latency=0 cycles"' for axis in slow)])
        raise MappingError(f"the latency of a hop along {slow[0]} is not in them", where=_FILES, hint=hint)
    return "\n".join(lines) + "\n"


def _refuse(mapping: Mapping, arch: Architecture) -> None:
    refuse_free_padding(mapping.problem, arch, _FILES)
    if mapping.problem.has_zeros:
        raise MappingError("densities and formats are not written into them", where=_FILES)
    names = (*(level.name for level in arch.levels), *mapping.problem.dim_names)
    for name in (*names, *(tensor.name for tensor in mapping.problem.tensors)):
        if not _NAME.fullmatch(name):
            hint = "rename it: letters, digits, - and _"
            raise MappingError(f"they cannot hold the name {shown(name)}", where=_FILES, hint=hint)
    _refuse_memories(arch)
    _refuse_arrays(arch)
    for dim, size in mapping.problem.dims:
        covered = math.prod(loop.trips for loop in mapping.nest.loops if loop.dim == dim)
        if covered != size:
            message = f"the last tile of {dim} is ragged: its loops cover {covered} of {size}"
            raise MappingError(message, where=_FILES, hint="search with --tiling perfect, or --to timeloop")


def _refuse_memories(arch: Architecture) -> None:
    for memory in arch.memories:
        if memory.block_bits not in (None, memory.access_bits):
            raise MappingError(f"{memory.name} has blocks of another width than its accesses", where=_FILES)
        if memory.line_bits is not None:
            raise MappingError(f"{memory.name} has lines, which are counted otherwise there", where=_FILES)
        if any(kind.role for kind, _ in bounded_kinds(memory)):
            raise MappingError(f"{memory.name} has ports of one role each", where=_FILES)
        if not memory.overlaps:
            raise MappingError(f"{memory.name} does not overlap its transfers with compute", where=_FILES)


def _refuse_arrays(arch: Architecture) -> None:
    for fanout in arch.fanouts:
        if not (fanout.multicast and fanout.spatial_reduction):
            raise MappingError(f"{fanout.name} does not share words, or does not sum on the way out", where=_FILES)
        if fanout.hop_pj_per_bit:
            raise MappingError(f"the hops of {fanout.name} have an energy", where=_FILES)
    if arch.total_leakage_pj_per_cycle or arch.latency != "steady":
        raise MappingError("leakage, and the time of the first and last tiles, are not in them", where=_FILES)
    if arch.mac.per_cycle != 1:
        raise MappingError(f"a MAC unit does {arch.mac.per_cycle:g} operations in a cycle, expected 1", where=_FILES)


def _stores(memory: Memory, mapping: Mapping) -> list[_Store]:
    """The memory, or one for each private part."""
    tensors = mapping.problem.tensors
    kept = frozenset(n.tensor for n in mapping.nest.nodes if n.memory == memory.name)
    apart = [t for t in tensors if t.role in memory.partition_bits]
    together = tuple(t for t in tensors if t not in apart)
    found = [
        _Store(f"{memory.name}_{t.name}", memory, (t,), kept & {t.name}, memory.partition_bits[t.role]) for t in apart
    ]
    if together and (memory.size_bits is not None or not apart):
        found.append(_Store(memory.name, memory, together, kept & {t.name for t in together}, memory.size_bits))
    return found


# ---- architecture ------------------------------------------------------------------------------------------------


def _nodes(
    level: Memory | Fanout, stores: dict[str, list[_Store]], mapping: Mapping, arch: Architecture
) -> Iterator[str]:
    if isinstance(level, Fanout):
        sizes = [f"mesh{'XY'[i]}: {axis.size}" for i, axis in enumerate(level.axes)]
        yield from ("  - !Container", f"    name: {level.name}", f"    spatial: {{{', '.join(sizes)}}}")
        return
    for store in stores[level.name]:
        bits = _width(store, arch, mapping)
        words = ", ".join(f"{key}: {value}" for key, value in _attributes(store, bits).items())
        yield from ("  - !Component", f"    name: {store.name}", "    class: storage", f"    attributes: {{{words}}}")


def _width(store: _Store, arch: Architecture, mapping: Mapping) -> int:
    """Bits of a word in a memory: one width for all that the mapping keeps there."""
    kept = [mapping.problem.tensor(name) for name in sorted(store.kept)]
    for tensor in kept:
        if arch.partial_width_bits(tensor) != arch.width_bits(tensor):
            raise MappingError(f"partial sums of {tensor.name} are wider than its finished words", where=_FILES)
    widths = {t.name: arch.width_bits(t) for t in kept}
    if len(set(widths.values())) > 1:
        shown = ", ".join(f"{name} {bits} bit" for name, bits in widths.items())
        raise MappingError(f"{store.name} holds words of different widths: {shown}", where=_FILES)
    return next(iter(widths.values()), arch.word_bits)


def _attributes(store: _Store, bits: int) -> dict[str, object]:
    memory = store.memory
    found: dict[str, object] = {"width": memory.access_bits, "datawidth": bits}
    if memory.access_bits % bits:
        message = f"an access of {memory.access_bits} bit is no whole number of words of {bits} bit"
        raise MappingError(message, where=f"{_FILES}: {store.name}")
    if store.size_bits is not None:
        depth, rest = divmod(store.size_bits, memory.access_bits)
        if rest:
            message = f"its size of {store.size_bits} bit is no whole number of accesses of {memory.access_bits} bit"
            raise MappingError(message, where=f"{_FILES}: {store.name}")
        found["depth"] = depth
    for port in ("read", "write", "shared"):
        if bandwidth := getattr(memory, f"{port}_bits_per_cycle"):
            value = bandwidth / bits
            found[f"{port}_bandwidth"] = str(int(value)) if value == int(value) else repr(value)
    if memory.double_buffered:
        found["multiple_buffering"] = 2
    return found


def _ert(arch: Architecture, stores: dict[str, list[_Store]]) -> Iterator[str]:
    """Energies per access in pJ; fills and updates are writes."""
    yield from ("ERT:", "  version: 0.4", "  tables:")
    for memory in arch.memories:
        for store in stores[memory.name]:
            read, write = memory.read_energy_pj, memory.write_energy_pj
            yield from _table(store.name, {"read": read, "write": write, "update": write})
    yield from _table("MAC", {"compute": arch.mac.energy_pj})


def _table(name: str, energies: dict[str, float]) -> Iterator[str]:
    yield from (f"  - name: system.{name}[1..1]", "    actions:")
    yield from (f"    - {{name: {action}, arguments: {{}}, energy: {pj!r}}}" for action, pj in energies.items())


# ---- problem -----------------------------------------------------------------------------------------------------


def _problem(mapping: Mapping) -> Iterator[str]:
    problem = mapping.problem
    steps = {_coefficient(dim): c for t in problem.tensors for rank in t.ranks for dim, c in rank if c > 1}
    yield from ("problem:", "  version: 0.4", "  shape:", f"    name: {_plain(problem.name)}")
    yield f"    dimensions: [{', '.join(problem.dim_names)}]"
    if steps:
        yield "    coefficients:"
        yield from (f"    - {{name: {name}, default: {step}}}" for name, step in steps.items())
    yield "    data_spaces:"
    for tensor in problem.tensors:
        ranks = ", ".join(f"[{', '.join(_term(dim, c) for dim, c in rank)}]" for rank in tensor.ranks)
        yield f"    - name: {tensor.name}"
        yield f"      projection: [{ranks}]"
        if tensor.is_output:
            yield "      read_write: True"
    sizes = {**problem.sizes, **steps}
    yield f"  instance: {{{', '.join(f'{name}: {size}' for name, size in sizes.items())}}}"


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name)


def _coefficient(dim: str) -> str:
    return f"{dim}step"


def _term(dim: str, coefficient: int) -> str:
    return f"[{dim}]" if coefficient == 1 else f"[{dim}, {_coefficient(dim)}]"


# ---- mapping -----------------------------------------------------------------------------------------------------


def _directives(mapping: Mapping, arch: Architecture, stores: dict[str, list[_Store]]) -> Iterator[str]:
    temporal, spatial = _by_level(mapping, arch)
    tensors = [t.name for t in mapping.problem.tensors]
    for level in arch.levels:
        if isinstance(level, Fanout):
            yield from _spatial(level, spatial.get(level.name, []), mapping)
            continue
        for store in stores[level.name]:
            keep = [name for name in tensors if name in store.kept]
            bypass = [name for name in tensors if name not in store.kept]
            yield f"- {{target: {store.name}, type: bypass, keep: [{', '.join(keep)}], bypass: [{', '.join(bypass)}]}}"
            loops = temporal.get(level.name, []) if store is stores[level.name][-1] else []
            yield from _factors(store.name, "temporal", loops, mapping)


def _by_level(mapping: Mapping, arch: Architecture) -> tuple[dict[str, list[Loop]], dict[str, list[Loop]]]:
    """The loops below each memory's nodes, and those of each fanout; MappingError for nests that are not even."""
    temporal: dict[str, list[Loop]] = {memory.name: [] for memory in arch.memories}
    spatial: dict[str, list[Loop]] = {fanout.name: [] for fanout in arch.fanouts}
    unused = set(temporal) - {node.memory for node in mapping.nest.nodes}
    at = arch.memories[0].name
    for item in mapping.nest:
        if isinstance(item, Loop) and item.trips == 1:
            continue
        if isinstance(item, Loop) and item.axis is None:
            at = _home(item, at, unused, temporal, arch)
            temporal[at].append(item)
            continue
        inward = item.memory if isinstance(item, Node) else item.axis.fanout if item.axis else at
        if arch.depth[inward] < arch.depth[at] or (isinstance(item, Node) and temporal[inward]):
            raise MappingError(f"the mapping is uneven: '{item}' stands inside loops below {at}", where=_FILES)
        at = inward
        if isinstance(item, Loop):
            spatial[at].append(item)
    return temporal, spatial


def _home(loop: Loop, at: str, unused: set[str], temporal: dict[str, list[Loop]], arch: Architecture) -> str:
    """The memory whose loop this is: the one above it, or one directly below that keeps nothing, if there has to be
    another."""
    for level in arch.levels[arch.depth[at] :]:
        fits = isinstance(level, Memory) and all(loop.dim != other.dim for other in temporal[level.name])
        if fits and (level.name == at or level.name in unused):
            return level.name
        if level.name != at and level.name not in unused:
            break
    if isinstance(arch.level(at), Fanout):
        raise MappingError(f"'{loop}' stands between {at} and the next memory", where=_FILES)
    raise MappingError(f"two loops over {loop.dim} stand at {at}, expected one", where=_FILES)


def _spatial(fanout: Fanout, loops: list[Loop], mapping: Mapping) -> Iterator[str]:
    """The permutation is split: what comes first runs along x."""
    x = [loop for loop in loops if loop.axis and loop.axis.index == 0]
    y = [loop for loop in loops if loop.axis and loop.axis.index == 1]
    for dim in dict.fromkeys(loop.dim for loop in x if loop.dim in {other.dim for other in y}):
        on_x, on_y = (math.prod(loop.trips for loop in axis if loop.dim == dim) for axis in (x, y))
        message = f"{dim} is spread over both axes of {fanout.name}, {on_x} x {on_y}; they have one factor for it"
        one_less = f"{fanout.name}.{'x' if on_x < on_y else 'y'}.trips.{dim}=1"
        raise MappingError(message, where=_FILES, hint=f'search with --constraint "{one_less}"')
    yield from _factors(spatial_name(fanout.name), "spatial", [*y, *x], mapping, len(x))


def _factors(target: str, kind: str, loops: list[Loop], mapping: Mapping, split: int | None = None) -> Iterator[str]:
    """Loops outermost first; a permutation names dimensions innermost first, and the split counts from there."""
    trips: dict[str, int] = {}
    for loop in loops:
        if loop.dim in trips:
            message = f"two loops over {loop.dim} stand at {target}, expected one"
            raise MappingError(message, where=_FILES)
        trips[loop.dim] = loop.trips
    order = [*reversed(trips), *(dim for dim in mapping.problem.dim_names if dim not in trips)]
    factors = ", ".join(f"{dim}={trips.get(dim, 1)}" for dim in mapping.problem.dim_names)
    yield f"- target: {target}"
    yield f"  type: {kind}"
    yield f"  factors: [{factors}]"
    yield f"  permutation: [{', '.join(order)}]"
    if split is not None:
        yield f"  split: {split}"
