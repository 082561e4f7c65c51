"""Trees that need no search: every operation on its own, mapped without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ....arch import Architecture
from ....cost_models import Objective, evaluate
from ....cost_models.cascades.tensor_layouts import machine_for
from ....ir import Cascade, Loop, MappingError, Node, Operation, Tree
from ....ir import Mapping as OneMapping
from ...exact.simplest import simplest_mapping, unsearched_mappings
from ..terms.parts import FoundPart


def unsearched_trees(
    cascade: Cascade, arch: Architecture, objective: Objective, stays: Iterable[tuple[str, str]]
) -> Iterator[FoundPart]:
    """A good one, and that which takes the least room; intermediates pass through the outermost memory. What they cost
    the cost model says.

    stays  (tensor, memory) of those that lie on chip
    """
    homes, stored = dict(stays), frozenset(cascade.intermediates)

    def tree(mappings: Iterable[OneMapping]) -> FoundPart:
        pairs = zip(cascade, mappings, strict=True)
        branches = tuple(Tree(tuple(_items(one, arch, homes)), (), operation.name) for operation, one in pairs)
        return FoundPart(0.0, 0.0, branches[0] if len(branches) == 1 else Tree((), branches), stored)

    yield tree(_best(cascade, operation, arch, objective) for operation in cascade)
    yield tree(simplest_mapping(operation.problem, arch) for operation in cascade)


def _best(cascade: Cascade, operation: Operation, arch: Architecture, objective: Objective) -> OneMapping:
    """Of the mappings of one operation on its own that need no search, the best."""
    machine, found = machine_for(arch, cascade, operation), list[tuple[float, int, OneMapping]]()
    for number, mapping in enumerate(unsearched_mappings(operation.problem, machine)):
        try:
            found.append((evaluate(mapping, machine).objective(objective), number, mapping))
        except MappingError:
            continue
    return min(found)[2] if found else simplest_mapping(operation.problem, arch)


def _items(mapping: OneMapping, arch: Architecture, homes: Mapping[str, str]) -> Iterator[Loop | Node]:
    """What a mapping has below the memories in which tensors lie."""
    depth = {memory.name: i for i, memory in enumerate(arch.memories)}
    for item in mapping.nest.items:
        if isinstance(item, Loop) or depth[item.memory] > depth[homes.get(item.tensor, arch.memories[0].name)]:
            yield item
