"""Changes of the machine that may help a layer.

A change is one field of the architecture: a memory or a port, twice or four times as large; an axis of an array, or the
rate of the MACs, doubled; something that is absent, added (multicast, spatial reduction, transfers that overlap, a way
past a memory, room for a tensor). Everything else stays as it is, energies per access too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log2

from ...arch import Architecture, Fanout, Memory
from ...arch.ports import stated_ports
from ...arch.units import bits_per_cycle
from ...cost_models.cost import capacity_parts
from ...ir import Problem
from ...ir.units import plural, significant, size

_FACTORS = (4, 2)
"""Of memories and ports, the larger one first: where it gains nothing, no smaller one does."""


@dataclass(frozen=True)
class Change:
    """One change of a machine.

    field    what is changed, as `--set` calls it: GLB.size, DRAM.bandwidth, array.x
    setting  the whole `--set` argument
    text     in words
    adds     what it adds to the chip, all instances together
    cost     in doublings
    arch     the machine that comes of it
    """

    field: str
    setting: str
    text: str
    adds: str
    cost: float
    arch: Architecture


def changes_of(arch: Architecture, problem: Problem) -> tuple[Change, ...]:
    """All changes that are looked at, in the order of the machine's levels; of one field, larger factors first."""
    found: list[Change] = []
    for level in arch.levels:
        found += _memory_changes(arch, level, problem) if isinstance(level, Memory) else _fanout_changes(arch, level)
    rate = arch.mac.per_cycle * 2
    changed = arch.model_copy(update={"mac": arch.mac.model_copy(update={"per_cycle": rate})})
    adds = f"{significant(arch.mac_instances * arch.mac.per_cycle)} MACs per cycle"
    return (*found, Change("mac.per_cycle", f"mac.per_cycle={rate:g}", "MACs at twice the rate", adds, 1.0, changed))


def _memory_changes(arch: Architecture, memory: Memory, problem: Problem) -> Iterator[Change]:
    yield from _sizes(arch, memory, problem)
    yield from _bandwidths(arch, memory)
    name = memory.name
    if not memory.overlaps:
        update = {"overlaps": True, "double_buffered": True}
        value = f"true, {name}.double_buffered=true"
        text = f"{name} with two buffers, so that its transfers overlap"
        yield _added(arch, memory, f"{name}.overlaps", value, text, update, f"a second buffer in {name}")
    slides = any(len(rank) > 1 for tensor in problem.operands for rank in tensor.ranks)
    if memory.halo == "none" and slides and memory is not arch.memories[0]:
        text = f"{name} keeps what it holds of a tile that slides"
        yield _added(arch, memory, f"{name}.halo", "innermost", text, {"halo": "innermost"}, f"addressing in {name}")
    if memory is not arch.memories[0]:
        yield from _placements(arch, memory, problem)


def _sizes(arch: Architecture, memory: Memory, problem: Problem) -> Iterator[Change]:
    roles = {tensor.role for tensor in problem.tensors if memory.keeps[tensor.role] != "never"}
    instances = arch.instances(memory.name)
    for part in capacity_parts(memory):
        if not part.roles & roles:
            continue
        private = next((role for role in memory.partition_bits if role in part.roles), None)
        field = f"{memory.name}.size" + (f".{private or 'shared'}" if memory.partition_bits else "")
        what = f"{memory.name}'s part for {private}s" if private else memory.name
        for factor in _FACTORS:
            bits = part.bits * factor
            update: dict[str, object] = {"size_bits": bits}
            if private:
                update = {"partition_bits": {**memory.partition_bits, private: bits}}
            yield Change(
                field=field,
                setting=f"{field}={_exact_size(bits)}",
                text=f"{what} {_times(factor)} as large, {size(bits)}",
                adds=f"{size(instances * (bits - part.bits))} of {memory.name}",
                cost=log2(factor),
                arch=_with(arch, memory, update),
            )


def _bandwidths(arch: Architecture, memory: Memory) -> Iterator[Change]:
    instances = arch.instances(memory.name)
    for kind, bits in stated_ports(memory):
        if bits is None:
            continue
        port = kind.key
        field = f"{memory.name}.bandwidth" + (f".{port}" if port else "")
        for factor in _FACTORS:
            each = f"{significant(bits * factor / 8)} B/cycle"
            yield Change(
                field=field,
                setting=f"{field}={_exact_bandwidth(bits * factor, arch.clock_hz)}",
                text=f"{memory.name}{f' {port}' if port else ''} port {_times(factor)} as wide, {each}",
                adds=f"{significant(instances * bits * (factor - 1) / 8)} B/cycle of {memory.name}",
                cost=log2(factor),
                arch=_with(arch, memory, {kind.rate: bits * factor}),
            )


def _placements(arch: Architecture, memory: Memory, problem: Problem) -> Iterator[Change]:
    """A way past a memory for what it must keep, and room in it for what it must not."""
    name = memory.name
    for role in sorted({tensor.role for tensor in problem.tensors}):
        keep = memory.keeps[role]
        if keep == "may" or (keep == "never" and not _has_room(memory, role)):
            continue
        tensors = " and ".join(tensor.name for tensor in problem.tensors if tensor.role == role)
        text = f"{tensors} may pass by {name}" if keep == "must" else f"{name} may keep {tensors}"
        update = {"keeps": memory.keeps.model_copy(update={role: "may"})}
        adds = f"a way {'past' if keep == 'must' else 'into'} {name}"
        yield _added(arch, memory, f"{name}.keep.{role}", "may", text, update, adds)


def _has_room(memory: Memory, role: str) -> bool:
    """Whether there is a part of the memory that words of this role would go to."""
    return memory.size_bits is not None or role in memory.partition_bits


def _fanout_changes(arch: Architecture, fanout: Fanout) -> Iterator[Change]:
    for index, axis in enumerate(fanout.axes):
        name = f"{fanout.name}.{'xy'[index]}"
        wider = tuple(a.model_copy(update={"size": a.size * 2}) if i == index else a for i, a in enumerate(fanout.axes))
        yield Change(
            field=name,
            setting=f"{name}={axis.size * 2}",
            text=f"{name} twice as long, {axis.size * 2}",
            adds=f"{plural(arch.mac_instances, 'MAC unit')} and all that is inside {fanout.name}",
            cost=1.0,
            arch=_with(arch, fanout, {"axes": wider}),
        )
    for key, text in (("multicast", "multicasts"), ("spatial_reduction", "adds up partial sums")):
        if not getattr(fanout, key):
            field, adds = f"{fanout.name}.{key}", f"what this takes in {fanout.name}"
            yield _added(arch, fanout, field, "true", f"{fanout.name} {text}", {key: True}, adds)


def _added(
    arch: Architecture,
    level: Memory | Fanout,
    field: str,
    value: str,
    text: str,
    update: Mapping[str, object],
    adds: str,
) -> Change:
    return Change(field, f"{field}={value}", text, adds, 1.0, _with(arch, level, update))


def _with(arch: Architecture, level: Memory | Fanout, update: Mapping[str, object]) -> Architecture:
    changed = level.model_copy(update=update)
    return arch.model_copy(update={"levels": tuple(changed if old is level else old for old in arch.levels)})


def _times(factor: int) -> str:
    return {2: "twice", 4: "four times"}[factor]


def _exact_size(bits: int) -> str:
    """A size that reads back as so many bits."""
    text = size(bits).replace(",", "")
    return text if bits % 8 == 0 and _short(bits) else f"{bits} bit"


def _exact_bandwidth(bits: float, clock_hz: float) -> str:
    """A bandwidth, per cycle or per second, that reads back as so many bits per cycle."""
    for text in (f"{bits / 8:.6g} B/cycle", f"{bits / 8 * clock_hz / 1e9:.6g} GB/s"):
        if "e" not in text and bits_per_cycle(text, clock_hz=clock_hz) == bits:
            return text
    return f"{bits / 8!r} B/cycle"


def _short(bits: int) -> bool:
    """Whether `size` rounds nothing away."""
    value = bits / 8
    while value >= 1024:
        value /= 1024
    return value == round(value, 3) and value < 1000
