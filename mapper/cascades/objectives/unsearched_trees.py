"""Trees that need no search: every operation on its own, in its simplest mapping; iterating operations below a loop
over their steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ....arch import Architecture
from ....cost_models import Objective, evaluate
from ....cost_models.cascades.tensor_layouts import machine_for
from ....ir import Cascade, Loop, MappingError, Node, Operation, Problem, Tree
from ....ir import Mapping as OneMapping
from ...simplest import simplest_mapping, unsearched_mappings
from ..space.shared_loops import loop_item
from ..terms.parts import FoundPart
from ..terms.sharing import LoopAbove, SharedDim, shared_dims


def unsearched_trees(
    cascade: Cascade, arch: Architecture, objective: Objective, stays: Iterable[tuple[str, str]]
) -> Iterator[FoundPart]:
    """A good one, and that which takes the least room; intermediates pass through the outermost memory. What they cost
    the cost model says, and whether generations may be used so.

    stays  (tensor, memory) of those that lie on chip
    """
    homes, stored, groups = dict(stays), frozenset(cascade.intermediates), _groups(cascade)
    if groups is None:
        return

    def tree(mapped: Callable[[Operation, Problem], OneMapping]) -> FoundPart:
        parts: list[Tree] = []
        for names, dims in groups:
            loops, branches = tuple(loop_item(_whole(cascade, dim, names), names) for dim in dims), list[Tree]()
            for operation in map(cascade.operation, names):
                visited = _visited(operation.problem, {dim.of(operation.name) for dim in dims})
                branches.append(Tree(tuple(_items(mapped(operation, visited), arch, homes)), (), operation.name))
            parts += [Tree(loops, tuple(branches))] if loops else branches
        return FoundPart(0.0, 0.0, parts[0] if len(parts) == 1 else Tree((), tuple(parts)), stored)

    yield tree(lambda operation, visited: _best(cascade, operation, visited, arch, objective))
    yield tree(lambda _, visited: simplest_mapping(visited, arch))


Group = tuple[list[str], list[SharedDim]]
"""Operations that are neighbours, and what they step over together."""


def _groups(cascade: Cascade) -> list[Group] | None:
    """All operations in order: those that step over generations together, and each of the others alone; None where no
    loop steps over all of those."""
    groups = [[operation.name] for operation in cascade]
    iterating = [one for one in cascade if one.iterates]
    for made in iterating:
        span = _span(cascade, groups, made)
        if span is None:
            return None
        groups[slice(*span)] = [_joined(groups[slice(*span)])]
    found = list[Group]()
    for names in groups:
        inside = [made for made in iterating if made.name in names]
        dims = {_dim_of(cascade, names, made): None for made in inside}
        found.append((names, [dim for dim in dims if dim is not None]))
        if None in dims:
            return None
    return found


def _span(cascade: Cascade, groups: Sequence[list[str]], made: Operation) -> tuple[int, int] | None:
    """The fewest neighbours, two at least, that can step together over the generations that one of them makes: with all
    who use these, and without those who read the last one."""
    users, late = {made.name}, set[str]()
    for consumer in cascade.consumers[made.output.name]:
        read = consumer.generation(made.output.name)
        (late if read is not None and read.dim is None else users).add(consumer.name)
    places = [place for place, names in enumerate(groups) if users & set(names)]
    starts, ends = range(places[0] + 1), range(places[-1] + 1, len(groups) + 1)
    for start, end in sorted(itertools.product(starts, ends), key=lambda span: span[1] - span[0]):
        names = _joined(groups[start:end])
        if len(names) > 1 and not late & set(names) and _dim_of(cascade, names, made) is not None:
            return start, end
    return None


def _dim_of(cascade: Cascade, names: Sequence[str], made: Operation) -> SharedDim | None:
    """What some operations step over together where one of them makes generations."""
    return next((dim for dim in shared_dims(cascade, names) if dim.of(made.name) == made.iterates), None)


def _joined(groups: Iterable[list[str]]) -> list[str]:
    return [name for names in groups for name in names]


def _whole(cascade: Cascade, dim: SharedDim, names: Sequence[str]) -> LoopAbove:
    """The loop that makes every step."""
    return LoopAbove(dim, cascade.operation(names[0]).problem.sizes[dim.of(names[0])])


def _visited(problem: Problem, stepped: Container[str]) -> Problem:
    """What one step has to do."""
    return replace(problem, dims=tuple((dim, 1 if dim in stepped else size) for dim, size in problem.dims))


def _best(
    cascade: Cascade, operation: Operation, visited: Problem, arch: Architecture, objective: Objective
) -> OneMapping:
    """Of the mappings of one operation on its own that need no search, the best."""
    machine, found = machine_for(arch, cascade, operation), list[tuple[float, int, OneMapping]]()
    for number, mapping in enumerate(unsearched_mappings(visited, machine)):
        try:
            found.append((evaluate(mapping, machine).objective(objective), number, mapping))
        except MappingError:
            continue
    return min(found)[2] if found else simplest_mapping(visited, arch)


def _items(mapping: OneMapping, arch: Architecture, homes: Mapping[str, str]) -> Iterator[Loop | Node]:
    """What a mapping has below the memories in which tensors lie."""
    depth = {memory.name: i for i, memory in enumerate(arch.memories)}
    for item in mapping.nest.items:
        if isinstance(item, Loop) or depth[item.memory] > depth[homes.get(item.tensor, arch.memories[0].name)]:
            yield item
