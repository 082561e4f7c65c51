"""What bounds the latency: compute or a port, how near the next one is, and what adds to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from ...arch import Architecture
from ...cost_models import Cost, roofline
from ...ir.units import count, percent, significant

COMPUTE = "compute"
_NEAR = 1.0005
"""Two limits are called equal below this factor."""


@dataclass(frozen=True)
class Limit:
    """Something that the latency waits for.

    name      "compute", or a memory and, where reads and writes have ports of their own, the direction
    cycles    that it is busy at the busiest instance
    overlaps  whether its cycles run beside the computation; else they add
    """

    name: str
    memory: str
    cycles: float
    overlaps: bool = True

    @property
    def place(self) -> str:
        """`compute`, or the memory."""
        return self.memory or COMPUTE


@dataclass(frozen=True)
class LatencyBound:
    """The limits of the latency, those that overlap first, longest first.

    fill_cycles  that the first tiles in and the last ones out add
    array_cycles that arrays take to fill with work, hop by hop
    waits_for    what is busy last, these included: "compute" or a memory
    """

    cycles: float
    fill_cycles: float
    array_cycles: float
    waits_for: str
    limits: tuple[Limit, ...]

    @property
    def binding(self) -> Limit:
        """The longest of those that overlap; what does not overlap adds to it."""
        return next(limit for limit in self.limits if limit.overlaps)

    @property
    def next(self) -> Limit | None:
        """The second longest of those that overlap."""
        beside = [limit for limit in self.limits if limit.overlaps and limit.cycles]
        return beside[1] if len(beside) > 1 else None


def latency_of(cost: Cost, arch: Architecture) -> LatencyBound:
    """What bounds the latency of a mapping that costs `cost`."""
    overlaps = {memory.name: memory.overlaps for memory in arch.memories}
    limits = [Limit(COMPUTE, "", cost.compute_cycles)]
    limits += [
        Limit(roof.name, roof.memory, cost.macs / roof.reachable, overlaps[roof.memory])
        for roof in roofline(cost, arch).roofs
        if isfinite(roof.reachable)
    ]
    limits = _one_of_those_that_add(limits)
    order = sorted(limits, key=lambda limit: (not limit.overlaps, -limit.cycles))
    return LatencyBound(cost.latency_cycles, cost.fill_cycles, cost.array_cycles, cost.limited_by, tuple(order))


def _one_of_those_that_add(limits: Sequence[Limit]) -> list[Limit]:
    """Of the two ports of a memory that does not overlap, only the slower one adds."""
    longest: dict[str, Limit] = {}
    for limit in limits:
        if not limit.overlaps and limit.cycles > longest.get(limit.memory, Limit("", "", -1.0)).cycles:
            longest[limit.memory] = limit
    return [limit for limit in limits if limit.overlaps or limit is longest[limit.memory]]


def latency_sentences(latency: LatencyBound) -> Iterator[str]:
    """What binds, what comes next and how near it is, then what adds."""
    binding, following = latency.binding, latency.next
    yield f"{_named(binding)} bounds the latency: {count(binding.cycles)} of {_cycles(latency.cycles)}."
    if following is None:
        yield "No other limit is stated: no port has a bandwidth."
    elif binding.cycles < following.cycles * _NEAR:
        yield f"{_named(following)} takes just as long: to gain, both have to become faster."
    else:
        factor = significant(binding.cycles / following.cycles, 3)
        yield (
            f"{_named(following)} comes next, with {_cycles(following.cycles)} "
            f"({percent(following.cycles, binding.cycles)} of that): made more than {factor} times as fast, "
            f"{_within(binding)} would wait for {_within(following)}."
        )
    for limit in latency.limits:
        if not limit.overlaps and limit.cycles:
            share = percent(limit.cycles, latency.cycles)
            yield f"{limit.name} does not overlap: its {_cycles(limit.cycles)} add, {share} of the latency."
    if latency.fill_cycles:
        share = percent(latency.fill_cycles, latency.cycles)
        last = f" The last to be done is {latency.waits_for}." if latency.waits_for != binding.place else ""
        yield f"The first tiles in and the last ones out add {_cycles(latency.fill_cycles)}, {share}.{last}"
    if latency.array_cycles:
        share = percent(latency.array_cycles, latency.cycles)
        yield f"Filling arrays takes {count(latency.array_cycles)} of {_cycles(latency.cycles)}, {share}."


def _named(limit: Limit) -> str:
    return "Compute" if limit.name == COMPUTE else f"The port of {limit.name}"


def _within(limit: Limit) -> str:
    return "compute" if limit.name == COMPUTE else f"the port of {limit.name}"


def _cycles(cycles: float) -> str:
    return f"{count(cycles)} {'cycle' if cycles == 1 else 'cycles'}"
