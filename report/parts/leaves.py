"""The operations of a mapping, each as an ordinary nest with its machine and its cost.

A nest is a tree with one leaf: what a page, a picture or an explanation says of a leaf is said by the same code for a
layer and for every operation of a cascade.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ...arch import Architecture
from ...cost_models import Cost
from ...cost_models.cascades import FusedCost, lines_of_tree
from ...cost_models.cascades.tensor_layouts import machine_for
from ...cost_models.cost import lines_of
from ...cost_models.layouts import LineCounts
from ...ir import FusedMapping, Mapping

AnyMapping: TypeAlias = Mapping | FusedMapping
AnyCost: TypeAlias = Cost | FusedCost


@dataclass(frozen=True)
class OperationNest:
    """One operation of a mapping.

    name     of the operation
    mapping  its way through the tree: an ordinary nest
    arch     the machine as this operation sees it
    cost     of this operation
    """

    name: str
    mapping: Mapping
    arch: Architecture
    cost: Cost


def leaves_of(mapping: AnyMapping, arch: Architecture, cost: AnyCost) -> tuple[OperationNest, ...]:
    """The operations of a mapping that costs `cost`, in the order in which they are done."""
    if isinstance(mapping, Mapping):
        assert isinstance(cost, Cost)
        return (OperationNest(mapping.problem.name, mapping, arch, cost),)
    costs, cascade = parts_of(cost), mapping.cascade
    return tuple(
        OperationNest(name, path.mapping, machine_for(arch, cascade, path.operation), costs[name])
        for name, path in mapping.paths.items()
    )


def parts_of(cost: AnyCost) -> dict[str, Cost]:
    """What each operation costs, in the order in which they are done; of a layer it has no name."""
    return {"": cost} if isinstance(cost, Cost) else cost.operations


def leaf_lines(mapping: AnyMapping, arch: Architecture) -> Iterator[LineCounts]:
    """The lines that pass memories with lines, for each operation in the order in which they are done."""
    if isinstance(mapping, Mapping):
        yield lines_of(mapping, arch)
    else:
        yield from lines_of_tree(mapping, arch).values()
