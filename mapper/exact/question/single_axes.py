"""Fanouts with hops as the search sees them: an axis each, so that how far words travel follows from its instances.

Without hops, which axis a dimension is spread over says nothing, and the search decides only how many instances there
are along each dimension. A fanout of two axes whose hops cost energy is searched as one along y, and inside it one
along x, and put together again afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from ....arch import Architecture, Fanout, Memory
from ....ir import Axis, ConstraintError, Loop, LoopNest, Mapping, Node
from ...constraints import Constraints

_SUFFIX = (".x", ".y")  # no name in a file holds a dot


def with_single_axes(arch: Architecture) -> Architecture:
    """The architecture with two fanouts for each that has two axes, and hops."""
    levels: list[Memory | Fanout] = []
    for level in arch.levels:
        if isinstance(level, Fanout) and _is_split(level):
            for index in (1, 0):
                name = level.name + _SUFFIX[index]
                levels.append(level.model_copy(update={"name": name, "axes": (level.axes[index],)}))
        else:
            levels.append(level)
    return arch.model_copy(update={"levels": tuple(levels)})


def on_single_axes(constraints: Constraints, arch: Architecture) -> Constraints:
    """The constraints in terms of `with_single_axes(arch)`.

    Raises ConstraintError where a share of both axes together is asked for, which says nothing about each of them.
    """
    split = {fanout.name for fanout in arch.fanouts if _is_split(fanout)}
    for name in constraints.utilization:
        if name in split:
            raise ConstraintError(
                "a least utilization of an array with two axes and hops is not searched for",
                where=name,
                hint="ask for the least trips on each axis, or leave out the hops",
            )
    spatial = {
        ((fanout + _SUFFIX[index], 0, dim) if fanout in split else (fanout, index, dim)): span
        for (fanout, index, dim), span in constraints.spatial.items()
    }
    return replace(constraints, spatial=spatial)


def on_both_axes(mapping: Mapping) -> Mapping:
    """A mapping on single axes as one on the fanouts that they belong to."""
    items: list[Loop | Node] = []
    for item in mapping.nest.items:
        if isinstance(item, Loop) and item.axis is not None and item.axis.fanout.endswith(_SUFFIX):
            name, index = item.axis.fanout[:-2], _SUFFIX.index(item.axis.fanout[-2:])
            items.append(replace(item, axis=Axis(name, index)))
        else:
            items.append(item)
    return Mapping(mapping.problem, LoopNest(tuple(items)))


def _is_split(fanout: Fanout) -> bool:
    return len(fanout.axes) > 1 and fanout.hop_pj_per_bit > 0
