"""The operations of a mapping, each as an ordinary nest with its machine and its cost.

A nest is a tree with one leaf: what a page, a picture or an explanation says of a leaf is said by the same code for a
layer and for every operation of a cascade.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...arch import Architecture
from ...cost_models import Cost
from ...cost_models.cascades import lines_of_tree
from ...cost_models.cascades.tensor_layouts import machine_for
from ...cost_models.cost import lines_of
from ...cost_models.layouts import LineCounts
from ...ir import Mapping


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


def leaves_of(mapping: Mapping, arch: Architecture, cost: Cost) -> tuple[OperationNest, ...]:
    """The operations of a mapping that costs `cost`, in the order in which they are done."""
    if not mapping.is_of_cascade:
        return (OperationNest(mapping.problem.name, mapping, arch, cost),)
    return tuple(
        OperationNest(name, path.mapping, machine_for(arch, mapping.cascade, path.operation), cost.operations[name])
        for name, path in mapping.paths.items()
    )


def leaf_lines(mapping: Mapping, arch: Architecture) -> Iterator[LineCounts]:
    """The lines that pass memories with lines, for each operation in the order in which they are done."""
    if mapping.is_of_cascade:
        yield from lines_of_tree(mapping, arch).values()
    else:
        yield lines_of(mapping, arch)
