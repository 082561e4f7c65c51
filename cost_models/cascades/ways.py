"""The boundaries of a fused mapping: those of each operation's way through the tree, each counted once.

A node above a split may be on several ways. The boundary that fills it belongs to the operation that writes it, if it
holds an intermediate, and to the first that reads it otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from ...arch import Architecture
from ...ir import LoopNest, Mapping, MappingError, Node, Operation, OperationPath, Place, Renews
from ..boundaries import Boundary, chains_of, check_chain, check_hierarchy
from ..cost import check_axes
from .asks import check_asks, readers_of, widest
from .tensor_layouts import check_lines
from .windows import Made, windows_of


@dataclass(frozen=True)
class Borrowed:
    """A boundary into a node that an operation shares with another one, which asks the node for more.

    path, boundary  of the other operation, by which it is counted
    own             the same boundary in the operation's own nest
    """

    path: OperationPath
    boundary: Boundary
    own: Boundary


@dataclass(frozen=True)
class Way:
    """An operation's way through a tree, and the boundaries that are counted for it.

    boundaries  of its own nest
    borrowed    those into nodes that it shares with another operation, which asks them for more
    made        of the dimensions that its consumers read through windows, what its visits make
    """

    path: OperationPath
    boundaries: tuple[Boundary, ...]
    borrowed: tuple[Borrowed, ...] = ()
    made: dict[str, Made] = field(default_factory=dict)

    @property
    def operation(self) -> Operation:
        return self.path.operation

    @property
    def mapping(self) -> Mapping:
        return self.path.mapping

    def place(self, position: int) -> Place:
        """Where in the tree an item of the way stands."""
        return self.path.places[position]


def ways_of(fused: Mapping, arch: Architecture) -> dict[str, Way]:
    """The way of every operation, in the order in which they are done.

    Raises MappingError when a node or loop stands where the architecture has no place for it, and for what cannot be
    counted yet.
    """
    _check_supported(fused, arch)
    filled: set[tuple[str, Place]] = set()
    windows = windows_of(fused, arch)
    ways = {}
    for name, path in fused.paths.items():
        # All nodes on a way stand where the hierarchy has them; `must` is met by any node on it.
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
        mine: list[Boundary] = []
        borrowed: list[Borrowed] = []
        for boundary in chains_of(path.mapping, arch):
            if boundary.inner is None:
                mine.append(boundary)
                continue
            place = path.places[boundary.inner_position]
            if (boundary.tensor.name, place) in filled:
                continue
            filled.add((boundary.tensor.name, place))
            other = path if boundary.tensor.is_output else _widest(fused, place, arch)
            if other is path:
                mine.append(boundary)
            else:
                borrowed.append(Borrowed(other, _boundary_into(other, place, boundary.tensor.name, arch), boundary))
        ways[name] = Way(path, tuple(mine), tuple(borrowed), windows[name])
    return ways


def _widest(fused: Mapping, place: Place, arch: Architecture) -> OperationPath:
    node = fused.item(place)
    assert isinstance(node, Node)
    return widest(readers_of(fused, place), node, place, arch.footprint)


def _boundary_into(path: OperationPath, place: Place, tensor: str, arch: Architecture) -> Boundary:
    position = path.places.index(place)
    every = chains_of(path.mapping, arch)
    return next(b for b in every if b.inner_position == position and b.tensor.name == tensor)


def _check_supported(fused: Mapping, arch: Architecture) -> None:
    if arch.fills and fused.tree.branches:
        _check_fills(fused, arch)
    check_lines(fused, arch)
    for address, tree in fused.tree.walk():
        for position, item in enumerate(tree.items):
            if isinstance(item, Renews) and not any(
                (address, position) in path.places and path.operation.output.name == item.tensor and path.windows
                for path in fused.paths.values()
            ):
                hint = f"write '{Node(item.memory, item.tensor)}'"
                raise MappingError(f"'{item}', and no rows of {item.tensor} are read by two visits", hint=hint)
    check_asks(fused, arch)


def _check_fills(fused: Mapping, arch: Architecture) -> None:
    """MappingError for trees of which it is not known how long their branches fill and empty."""
    if arch.overlap == "across_operations":
        message = f"with 'overlap: across_operations' no operation waits for another: {arch.what_fills} says otherwise"
        raise MappingError(message, where=arch.name, hint="leave one of them out")
    for path in fused.paths.values():
        if any(loop.is_spatial and loop.trips > 1 for loop in path.shared_loops):
            message = "it shares an array with others, and the time of first tiles is not counted there yet"
            raise MappingError(message, where=path.operation.name, hint="use 'latency: steady'")


def fillers_of(ways: dict[str, Way]) -> dict[Place, tuple[str, int]]:
    """For every node that is filled, the operation that fills it, and the node's position on the way of that one."""
    found = {}
    for name, way in ways.items():
        for boundary in way.boundaries:
            if boundary.inner is not None:
                found[way.place(boundary.inner_position)] = name, boundary.inner_position
        for borrowed in way.borrowed:
            position = borrowed.boundary.inner_position
            found[borrowed.path.places[position]] = borrowed.path.operation.name, position
    return found


def without_transfers(way: Way, arch: Architecture, stays: Collection[str]) -> Way:
    """A way but for what passes between the outermost memory and the next one of tensors that are there already, or
    are left there."""
    outermost = arch.memories[0].name
    kept = tuple(_but_those_outside(way.boundaries, outermost, stays))
    borrowed = tuple(b for b in way.borrowed if b.own.tensor.name not in stays or b.own.outer.name != outermost)
    return replace(way, boundaries=kept, borrowed=borrowed)


def left_boundaries(mapping: Mapping, arch: Architecture, stays: Collection[str]) -> Iterator[Boundary]:
    """The boundaries of a mapping but for those that words of tensors that stay do not pass."""
    return _but_those_outside(chains_of(mapping, arch), arch.memories[0].name, stays)


def _but_those_outside(boundaries: Iterable[Boundary], outermost: str, stays: Collection[str]) -> Iterator[Boundary]:
    return (b for b in boundaries if b.tensor.name not in stays or b.outer.name != outermost)


def home_of(mapping: Mapping, tensor: str, stays: Collection[str]) -> int:
    """The position of a tensor's outermost node; of one that stays, of the node where it does, the second one."""
    return mapping.nest.node_positions(tensor)[tensor in stays]
