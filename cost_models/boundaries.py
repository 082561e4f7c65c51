"""The boundaries of a mapping: each pair of neighbouring holders of a tensor, from the outermost memory to the MAC.

A tensor's nodes, outermost first, and then the MAC, form a chain of holders. Every neighbouring pair is a
boundary: the outer holder is read for the inner one (operands, returning partial sums) and written by it
(partial sums). Both the simulator and the closed forms walk this list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..arch import Architecture, Fanout, Memory
from ..ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Tensor
from .padding import counted_mapping


@dataclass(frozen=True)
class Boundary:
    """A boundary of one tensor: the memory that supplies it, and the memory or MAC that receives it.

    outer           memory that is read and written
    outer_position  position of its node in the nest
    inner           memory that is filled and drained; None is the MAC, which holds nothing
    inner_position  position of its node; the length of the nest for the MAC
    multicast       positions of the spatial loops between them over which one read serves all instances
    reduced         positions of the spatial loops between them over which partial sums are summed on the way
    """

    tensor: Tensor
    outer: Memory
    outer_position: int
    inner: Memory | None
    inner_position: int
    multicast: frozenset[int]
    reduced: frozenset[int]


def boundaries_of(mapping: Mapping, arch: Architecture) -> tuple[Boundary, ...]:
    """All boundaries of a mapping, tensor by tensor, each chain from the outside in."""
    mapping = counted_mapping(mapping, arch)
    check_placement(mapping, arch)
    return tuple(chains_of(mapping, arch))


def chains_of(mapping: Mapping, arch: Architecture) -> Iterator[Boundary]:
    """The boundaries between the nodes that a nest has, wherever these stand."""
    for tensor in mapping.problem.tensors:
        positions = mapping.nest.node_positions(tensor.name)
        for outer, inner in zip(positions, (*positions[1:], len(mapping.nest)), strict=True):
            yield _boundary(mapping, arch, tensor, outer, inner)


def _boundary(mapping: Mapping, arch: Architecture, tensor: Tensor, outer: int, inner: int) -> Boundary:
    items = mapping.nest.items
    between = [
        (i, _fanout(arch, item.axis))
        for i, item in enumerate(items[outer:inner], outer)
        if isinstance(item, Loop) and item.axis is not None
    ]
    inner_node = items[inner] if inner < len(items) else None
    return Boundary(
        tensor=tensor,
        outer=_memory(arch, items[outer]),
        outer_position=outer,
        inner=_memory(arch, inner_node) if inner_node is not None else None,
        inner_position=inner,
        multicast=frozenset(i for i, fanout in between if fanout.multicast),
        reduced=frozenset(i for i, fanout in between if fanout.spatial_reduction),
    )


def _memory(arch: Architecture, item: Loop | Node) -> Memory:
    assert isinstance(item, Node)
    level = arch.level(item.memory)
    if not isinstance(level, Memory):
        raise MappingError(f"{item.memory} keeps {item.tensor}, but {item.memory} is a fanout, not a memory")
    return level


def _fanout(arch: Architecture, axis: Axis) -> Fanout:
    level = arch.level(axis.fanout)
    if not isinstance(level, Fanout):
        raise MappingError(f"a parallel loop runs on {axis.fanout}, which is a memory, not a fanout")
    if axis.index >= len(level.axes):
        raise MappingError(f"a parallel loop runs on {axis}, but {axis.fanout} has one axis")
    return level


def check_placement(mapping: Mapping, arch: Architecture) -> None:
    """Check that nodes and spatial loops stand where the hierarchy has them; MappingError names the first that does
    not."""
    check_hierarchy(mapping.nest, arch)
    for tensor in mapping.problem.tensors:
        check_chain(mapping.nest, tensor, arch, arch.memories)


def check_chain(nest: LoopNest, tensor: Tensor, arch: Architecture, memories: Iterable[Memory]) -> None:
    """Check that a tensor's nodes go from outer to inner memories that may keep it, and that each of `memories` that
    must keep it does."""
    depths = []
    for position in nest.node_positions(tensor.name):
        memory = _memory(arch, nest.items[position])
        depths.append(arch.depth[memory.name])
        if memory.keeps[tensor.role] == "never":
            raise MappingError(f"{memory.name} keeps {tensor.name}, but it must not keep {tensor.role} tensors")
    if depths != sorted(set(depths)):
        raise MappingError(f"the nodes of {tensor.name} do not go from outer to inner memories")
    outermost = arch.memories[0].name
    for memory in memories:
        if memory.keeps[tensor.role] == "must" and arch.depth[memory.name] not in depths:
            hint = f"the outermost memory, {outermost}, keeps every tensor" if memory.name == outermost else None
            raise MappingError(f"{memory.name} must keep {tensor.name}, and does not", hint=hint)


def check_hierarchy(nest: LoopNest, arch: Architecture) -> None:
    """Check that every fanout's loops come after all nodes of memories above it and before all nodes of memories below
    it."""
    deepest = -1
    deepest_name = ""
    for item in nest:
        level: Memory | Fanout
        if isinstance(item, Node):
            level = _memory(arch, item)
        elif item.axis is not None:
            level = _fanout(arch, item.axis)
        else:
            continue
        name, depth = level.name, arch.depth[level.name]
        crossed = arch.levels[min(depth, deepest) : max(depth, deepest) + 1] if depth < deepest else ()
        if any(isinstance(between, Fanout) for between in crossed):
            raise MappingError(f"{name} stands inside {deepest_name}, which is below it in the hierarchy")
        if depth > deepest:
            deepest, deepest_name = depth, name
