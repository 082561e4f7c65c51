"""The boundaries of a fused mapping: those of each operation's way through the tree, each counted once.

A node above a split may be on several ways. The boundary that fills it belongs to the operation that writes it, if it
holds an intermediate, and to the first that reads it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...arch import Architecture
from ...ir import FusedMapping, Loop, LoopNest, Mapping, MappingError, Node, Operation, Path, Place, Renews
from ..boundaries import Boundary, chains_of, check_chain, check_hierarchy
from ..cost import check_axes


@dataclass(frozen=True)
class Way:
    """An operation's way through a tree, and the boundaries that are counted for it."""

    path: Path
    boundaries: tuple[Boundary, ...]

    @property
    def operation(self) -> Operation:
        return self.path.operation

    @property
    def mapping(self) -> Mapping:
        return self.path.mapping

    def place(self, position: int) -> Place:
        """Where in the tree an item of the way stands."""
        return self.path.places[position]


def ways_of(fused: FusedMapping, arch: Architecture) -> dict[str, Way]:
    """The way of every operation, in the order in which they are done.

    Raises MappingError when a node or loop stands where the architecture has no place for it, and for what cannot be
    counted yet.
    """
    _check_supported(fused, arch)
    filled: set[tuple[str, Place]] = set()
    ways = {}
    for name, path in fused.paths.items():
        _check_placement(fused, path, arch)
        mine = []
        for boundary in chains_of(path.mapping, arch):
            if boundary.inner is not None:
                node = boundary.tensor.name, path.places[boundary.inner_position]
                if node in filled:
                    continue
                filled.add(node)
            mine.append(boundary)
        ways[name] = Way(path, tuple(mine))
    return ways


def _check_placement(fused: FusedMapping, path: Path, arch: Architecture) -> None:
    """All nodes on a way stand where the hierarchy has them; `must` is met by any node on it."""
    items = tuple(item for _, item in fused.above(fused.leaves[path.operation.name]))
    nest = LoopNest(items)
    try:
        check_hierarchy(nest, arch)
        for tensor in path.operation.problem.tensors:
            inside = tensor.name in fused.cascade.intermediates
            check_chain(nest, tensor, arch, arch.memories[1:] if inside else arch.memories)
        check_axes(path.mapping, arch)
    except MappingError as error:
        raise error.located(path.operation.name) from None


# ---- what is not counted yet -------------------------------------------------------------------------------


def _check_supported(fused: FusedMapping, arch: Architecture) -> None:
    if arch.latency == "with_fill" and fused.tree.branches:
        hint = "use 'latency: steady'"
        raise MappingError("cascades are not counted with 'latency: with_fill' yet", where=arch.name, hint=hint)
    for operation in fused.cascade:
        if any(any(zeros) for _, pads in operation.pads for zeros in pads):
            raise MappingError("zeros around an intermediate or input are not counted yet", where=operation.name)
    for address, tree in fused.tree.walk():
        for position, item in enumerate(tree.items):
            if isinstance(item, Renews):
                raise MappingError(f"'{item}': windows between operations are not counted yet")
            if isinstance(item, Node):
                _check_readers((address, position), item, fused)
    for tensor in fused.cascade.intermediates:
        for consumer in fused.cascade.consumers[tensor]:
            _check_covers(fused, tensor, consumer)


def _check_readers(place: Place, node: Node, fused: FusedMapping) -> None:
    """Operations that have a node in common ask it for the same tile."""
    below = [path for path in fused.paths.values() if place in path.places]
    producer = fused.cascade.producers.get(node.tensor)
    readers = [path for path in below if path.operation is not producer]
    tiles = {path.operation.name: _tile(path, node.tensor, place) for path in readers}
    if len(set(tiles.values())) > 1:
        raise MappingError(
            f"'{node}' stands above {', '.join(tiles)}, which ask it for different tiles of {node.tensor}: "
            "not counted yet",
            hint=f"give each of them a node of its own in {node.memory}",
        )


def _tile(path: Path, tensor: str, place: Place) -> tuple[frozenset[tuple[int, int, tuple[Place, ...]]], ...]:
    """Per rank, each dimension's coefficient, size and loops above a node: equal ones ask for equal tiles."""
    position = path.places.index(place)
    above = [
        (path.places[i], item)
        for i, item in enumerate(path.mapping.nest.items[:position])
        if isinstance(item, Loop) and item.trips > 1
    ]
    problem = path.operation.problem
    return tuple(
        frozenset(
            (coefficient, problem.sizes[dim], tuple(at for at, loop in above if loop.dim == dim))
            for dim, coefficient in rank
            if problem.sizes[dim] > 1
        )
        for rank in problem.tensor(tensor).ranks
    )


def _check_covers(fused: FusedMapping, tensor: str, consumer: Operation) -> None:
    """A consumer reads every position of an intermediate."""
    extents = fused.cascade.extents(tensor)
    for rank, extent in zip(consumer.problem.tensor(tensor).ranks, extents, strict=True):
        if len(_sums(tuple((c, consumer.problem.sizes[dim]) for dim, c in rank))) != extent:
            message = f"{consumer.name} reads some positions of {tensor} only: not counted yet"
            raise MappingError(message, where=fused.cascade.name)


def _sums(terms: Iterable[tuple[int, int]]) -> set[int]:
    sums = {0}
    for coefficient, size in terms:
        sums = {first + coefficient * i for first in sums for i in range(size)}
    return sums
