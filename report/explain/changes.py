"""Changes of the machine that may help a layer, and which of them help most for what they add.

A change is one field of the architecture: a memory or a port, twice or four times as large; an axis of an array, or the
rate of the MACs, doubled; something that is absent, added (multicast, spatial reduction, transfers that overlap, a way
past a memory, room for a tensor). Everything else stays as it is, energies per access too.

    cost   = log2(factor), in doublings; 1 for something that is added
    gain   = log2(least objective on the machine as it is / least objective on the changed one), in halvings
    order  : gain / cost, largest first; of equals, the smaller change

So a doubling stands before a quadrupling of the same field, unless the latter gains more than twice as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log2
from typing import TypeAlias

from ...arch import Architecture, Fanout, Memory
from ...arch.units import bits_per_cycle
from ...cost_models.cost import capacity_parts
from ...ir import Problem
from ..units import count, plural, significant, size

_FACTORS = (4, 2)
"""Of memories and ports, the larger one first: where it gains nothing, no smaller one does."""

_DIGITS = 6
"""Of scores: what differs less is equal."""

LEAST_GAIN = 1e-6
"""Gains below this share are rounding."""


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
    for port, key in (("", "shared"), ("read", "read"), ("write", "write")):
        bits = getattr(memory, f"{key}_bits_per_cycle")
        if bits is None:
            continue
        field = f"{memory.name}.bandwidth" + (f".{port}" if port else "")
        for factor in _FACTORS:
            each = f"{significant(bits * factor / 8)} B/cycle"
            yield Change(
                field=field,
                setting=f"{field}={_exact_bandwidth(bits * factor, arch.clock_hz)}",
                text=f"{memory.name}{f' {port}' if port else ''} port {_times(factor)} as wide, {each}",
                adds=f"{significant(instances * bits * (factor - 1) / 8)} B/cycle of {memory.name}",
                cost=log2(factor),
                arch=_with(arch, memory, {f"{key}_bits_per_cycle": bits * factor}),
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


@dataclass(frozen=True)
class Tried:
    """What a change came to.

    value    the least objective on the changed machine
    proven   whether it is known to be the least
    gain     value on the machine as it is / value; above 1 where it helps
    reason   why there is no value: no mapping, or not searched
    """

    change: Change
    value: float | None
    proven: bool
    gain: float
    reason: str = ""

    @property
    def score(self) -> float:
        """Halvings of the objective for each doubling that the change costs."""
        return log2(self.gain) / self.change.cost if self.gain not in (0.0, inf) else self.gain

    @property
    def helps(self) -> bool:
        return self.gain > 1 + LEAST_GAIN


Searched: TypeAlias = "tuple[float, bool] | str"
"""The least objective on a machine and whether it is proven; or why there is none."""


def try_changes(changes: Iterable[Change], present: float, search: Callable[[Change], Searched]) -> tuple[Tried, ...]:
    """Search on every changed machine, and order what comes of it, best first.

    present  the least objective on the machine as it is

    A smaller factor of a field is not searched where the larger one gains nothing: on a larger memory, or a faster
    port, every mapping costs at most as much.
    """
    tried: list[Tried] = []
    useless: set[str] = set()
    for change in changes:
        if change.field in useless:
            continue
        found = _tried(change, present, search(change))
        tried.append(found)
        if not found.helps and found.proven:
            useless.add(change.field)
    return tuple(sorted(tried, key=_order))


def _order(tried: Tried) -> tuple[float, float]:
    """What gains most for its cost first, then the smaller change; what gains nothing in the order of the machine."""
    return (-round(tried.score, _DIGITS), tried.change.cost) if tried.helps else (0.0, 0.0)


def _tried(change: Change, present: float, found: Searched) -> Tried:
    if isinstance(found, str):
        return Tried(change, None, False, 1.0, found)
    value, proven = found
    gain = present / value if value else (1.0 if not present else inf)
    return Tried(change, value, proven, gain)


def best_changes(tried: Sequence[Tried], most: int | None = None) -> tuple[Tried, ...]:
    """Those that help, best first, each field once; at most so many."""
    found: dict[str, Tried] = {}
    for one in tried:
        if one.helps:
            found.setdefault(one.change.field, one)
    return tuple(found.values())[:most]


def change_sentence(tried: Tried, objective: str) -> str:
    """What a change gains, and what it adds."""
    change = tried.change
    less = 1 - 1 / tried.gain if tried.gain else 0.0
    proof = "proven" if tried.proven else "not proven"
    return f"{change.text}: {objective} {100 * less:.1f}% lower ({proof}); adds {change.adds}."


def useless_text(tried: Sequence[Tried]) -> str:
    """Fields whose changes gain nothing."""
    helped = {one.change.field for one in best_changes(tried)}
    names = list(dict.fromkeys(one.change.field for one in tried if one.change.field not in helped))
    return f"No gain from {count(len(names))} other changes: {', '.join(names)}." if names else ""
