"""Why MACs idle: the utilization as a product of three shares, and what lowers each.

    utilization = instances in use / all instances            axes of arrays that are not full
                x MACs / (steps x instances in use)            ragged edges, at which some of those in use have no work
                x compute cycles / latency                     waiting for a port, or for the first tiles

The second share is a product over dimensions: how much of the blocks that a dimension is dealt out in is filled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...arch import Architecture, ArrayAxis
from ...cost_models import Cost
from ...ir import Axis, Digit, Mapping, Problem, digits_by_dimension
from ...ir.units import percent, significant
from .latency import LatencyBound

_FULL = 1 - 1e-9


@dataclass(frozen=True)
class AxisShare:
    """One axis of an array.

    used     instances along it that the mapping runs
    loops    what runs along it
    fullest  the most instances that loops which divide their dimensions could run along it, were it alone
    """

    axis: str
    size: int
    used: int
    loops: tuple[str, ...]
    fullest: int


@dataclass(frozen=True)
class RaggedDim:
    """A dimension that is dealt out over instances in blocks that it does not fill; `share` of them is filled."""

    dim: str
    size: int
    share: float


@dataclass(frozen=True)
class Utilization:
    """The three shares and their product, the axes, and the dimensions with a ragged edge in space."""

    utilization: float
    in_use: float
    full_steps: float
    computing: float
    axes: tuple[AxisShare, ...]
    ragged: tuple[RaggedDim, ...]


def utilization_of(mapping: Mapping, arch: Architecture, cost: Cost) -> Utilization:
    """The shares of a mapping that costs `cost`."""
    axes = tuple(
        _axis_use(mapping, Axis(fanout.name, index), axis)
        for fanout in arch.fanouts
        for index, axis in enumerate(fanout.axes)
    )
    used = math.prod(axis.used for axis in axes)
    digits = digits_by_dimension(mapping.problem, mapping.nest)
    ragged = [RaggedDim(dim, size, _filled(digits[dim], size)) for dim, size in mapping.problem.dims]
    return Utilization(
        utilization=cost.utilization,
        in_use=used / arch.mac_instances,
        full_steps=math.prod(dim.share for dim in ragged),
        computing=cost.compute_cycles / cost.latency_cycles,
        axes=axes,
        ragged=tuple(dim for dim in ragged if dim.share < _FULL),
    )


def _axis_use(mapping: Mapping, axis: Axis, machine: ArrayAxis) -> AxisShare:
    loops = [loop for loop in mapping.nest.loops if loop.axis == axis and loop.trips > 1]
    return AxisShare(
        axis=str(axis),
        size=machine.size,
        used=math.prod(loop.trips for loop in loops),
        loops=tuple(f"{loop.dim} in {loop.trips}" for loop in loops),
        fullest=_fullest(mapping.problem, machine),
    )


def _fullest(problem: Problem, axis: ArrayAxis) -> int:
    """The largest product of divisors, one of each dimension that the axis allows, that is not beyond its size."""
    allowed = [size for dim, size in problem.dims if axis.allows(problem, dim)]
    products = {1}
    for size in allowed:
        divisors = [d for d in range(1, min(size, axis.size) + 1) if size % d == 0]
        products = {p * d for p, d in itertools.product(products, divisors) if p * d <= axis.size}
    return max(products)


def _filled(digits: Sequence[Digit], size: int) -> float:
    """Elements of a dimension, by the places that its instances have for them in all steps."""
    spatial = math.prod(d.trips for d in digits if d.spatial)
    return size / (spatial * _steps(digits, size))


def _steps(digits: Sequence[Digit], left: int) -> int:
    """Settings of a dimension's temporal loops in which the first instances, those of spatial values 0, have work."""
    if not digits:
        return 1
    first, rest = digits[0], digits[1:]
    if first.spatial:
        return _steps(rest, min(left, first.tile))
    whole, over = divmod(left, first.tile)
    return whole * _steps(rest, first.tile) + (_steps(rest, over) if over else 0)


def utilization_sentences(utilization: Utilization, latency: LatencyBound) -> Iterator[str]:
    """How busy the MACs are; and, where they are not, why."""
    if utilization.utilization > _FULL:
        yield "All MACs are busy all the time: utilization 100%."
        return
    shares = (utilization.in_use, utilization.full_steps, utilization.computing)
    product = " x ".join(percent(share, 1) for share in shares)
    yield (
        f"Utilization is {percent(utilization.utilization, 1)} = {product}: "
        "instances in use x full steps x time spent computing."
    )
    for axis in utilization.axes:
        if axis.used < axis.size:
            yield _axis_sentence(axis)
    for dim in utilization.ragged:
        lost = percent(1 - dim.share, 1)
        yield f"{dim.dim}={dim.size} does not fill the blocks that it is dealt out in: {lost} of them is empty."
    if utilization.computing < _FULL:
        binding = latency.binding
        reasons = [f"waiting for the port of {binding.name}"] if binding.memory else []
        reasons += [
            f"while {limit.name} moves words" for limit in latency.limits if not limit.overlaps and limit.cycles
        ]
        reasons += ["for the first tiles and the last ones"] if latency.fill_cycles else []
        reasons += ["while arrays fill"] if latency.array_cycles else []
        waits = " and ".join(reasons) or significant(latency.cycles)
        yield f"MACs stand still for {percent(1 - utilization.computing, 1)} of the time, {waits}."


def _axis_sentence(axis: AxisShare) -> str:
    runs = ", ".join(axis.loops) or "nothing is spread over it"
    head = f"{axis.axis} uses {axis.used} of {axis.size} ({runs})"
    if axis.fullest == axis.size:
        return f"{head}; loops that divide their dimensions could fill it."
    if axis.fullest > axis.used:
        return f"{head}; loops that divide their dimensions could use {axis.fullest}, ragged ones perhaps more."
    return f"{head}, the most for loops that divide their dimensions."
