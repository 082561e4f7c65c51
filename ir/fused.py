"""A fused mapping: a cascade together with the tree that executes it, and the way of each operation through the tree.

The way of an operation is an ordinary nest: the loops above it, over its own dimensions, and the nodes of its own
tensors. A consumer's nodes of an intermediate begin at the *exchange* node, the innermost one above the split at which
its branch parts from the producer's; those further out are the producer's alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from .cascade import Cascade, Operation
from .errors import MappingError, did_you_mean
from .mapping import Mapping
from .nest import Loop, LoopNest, Node
from .problem import Problem
from .tree import Address, Place, Tree, loop_of


@dataclass(frozen=True)
class Path:
    """The way of one operation through a tree.

    operation  whose way it is
    mapping    its loops and nodes, outermost first: an ordinary mapping, but for where its branches begin. Along
               dimensions in `windows` its problem is as long as if every visit made a whole tile
    windows    dimensions of the output that a shared loop steps over and a consumer reads through a window (p + r):
               what a visit makes of them depends on what the node of the output still holds
    places     where in the tree each item of the nest stands
    starts     positions in the nest at which a tree on the way begins; the first is 0, the last that of the leaf
    """

    operation: Operation
    mapping: Mapping
    places: tuple[Place, ...]
    starts: tuple[int, ...]
    windows: frozenset[str] = frozenset()

    def start(self, position: int) -> int:
        """Where the branch begins that has the item at a position: what stands inside it lasts for one visit of it."""
        return max(start for start in self.starts if start <= position)

    @property
    def shared_loops(self) -> tuple[Loop, ...]:
        """Loops above the innermost split, as loops over dimensions of this operation."""
        items = self.mapping.nest.items[: self.starts[-1]]
        return tuple(item for item in items if isinstance(item, Loop))


@dataclass(frozen=True)
class FusedMapping:
    """A tree that executes every operation of its cascade.

    cascade, tree  what is executed, and how

    Raises MappingError where the tree breaks a rule that holds on every machine: an operation that is missing or done
    before what it reads, loops that its operations cannot share or that do not cover a dimension, an intermediate that
    its producer and a consumer have no node in common for, nodes that nothing uses.
    """

    cascade: Cascade
    tree: Tree
    _exchanges: dict[tuple[str, str], Place] = field(init=False, repr=False, compare=False, hash=False)
    _windows: dict[str, frozenset[str]] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_exchanges", {})
        object.__setattr__(self, "_windows", {})
        _check_leaves(self)
        _check_nodes(self)
        for tensor in self.cascade.intermediates:
            for consumer in self.cascade.consumers[tensor]:
                self._exchanges[tensor, consumer.name] = _exchange(self, tensor, consumer)
            _check_outer_nodes(self, tensor)
        for address, tree in self.tree.walk():
            if tree.branches:
                _check_shared_loops(self, address)
        _find_windows(self)
        for address, tree in self.tree.walk():
            for position, item in enumerate(tree.items if tree.branches else ()):
                if isinstance(item, Loop) and item.trips > 1:
                    _check_sizes(self, (address, position))
                    _check_tiles(self, (address, position))
        for path in self.paths.values():
            _check_reductions(path)

    @classmethod
    def parse(cls, cascade: Cascade, text: str) -> FusedMapping:
        """The fused mapping whose tree is written in a text (docs/cascades.md).

        Raises MappingError for a line that is not understood, and for a tree that breaks a rule.
        """
        return cls(cascade, Tree.parse(text, cascade.operations[0].name if len(cascade.operations) == 1 else ""))

    @cached_property
    def leaves(self) -> dict[str, Address]:
        """The address of every operation's leaf, in the order in which they are done."""
        return self.tree.leaves()

    @cached_property
    def paths(self) -> dict[str, Path]:
        """The way of every operation through the tree, in the order in which they are done."""
        return {name: _path(self, self.cascade.operation(name)) for name in self.leaves}

    def split_of(self, first: str, second: str) -> Address:
        """The tree at whose split the branches of two operations part."""
        one, other = self.leaves[first], self.leaves[second]
        depth = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
        return one[:depth]

    def windows(self, operation: str) -> frozenset[str]:
        """Dimensions of an operation's output that shared loops step over and consumers read through windows."""
        return self._windows[operation]

    def exchange(self, tensor: str, consumer: str) -> Place:
        """The node at which an intermediate passes from its producer to a consumer."""
        return self._exchanges[tensor, consumer]

    def item(self, place: Place) -> Loop | Node:
        """The item at a place of the tree."""
        address, position = place
        return self.tree.at(address).items[position]

    def above(self, address: Address, position: int | None = None) -> list[tuple[Place, Loop | Node]]:
        """All items from the root down to a position in a tree, by default to its end, with their places."""
        found: list[tuple[Place, Loop | Node]] = []
        for depth in range(len(address) + 1):
            tree = self.tree.at(address[:depth])
            last = position if depth == len(address) else None
            found += [((address[:depth], i), item) for i, item in enumerate(tree.items[:last])]
        return found

    def nodes_above(self, tensor: str, address: Address) -> list[Place]:
        """Places of a tensor's nodes from the root down to the end of a tree's items."""
        return [place for place, item in self.above(address) if isinstance(item, Node) and item.tensor == tensor]

    def __str__(self) -> str:
        return str(self.tree)


def plain_rank(operation: Operation, tensor: str, dim: str) -> int | None:
    """The rank of a tensor that a dimension indexes alone, if there is one."""
    ranks = operation.problem.tensor(tensor).ranks
    return next((i for i, rank in enumerate(ranks) if rank == ((dim, 1),)), None)


def _path(fused: FusedMapping, operation: Operation) -> Path:
    address = fused.leaves[operation.name]
    names = {t.name for t in operation.problem.tensors}
    taken: list[Loop | Node] = []
    places: list[Place] = []
    starts = [0]
    for place, item in fused.above(address):
        while len(place[0]) >= len(starts):
            starts.append(len(taken))
        if isinstance(item, Loop):
            taken.append(loop_of(item, operation.name))
        elif item.tensor in names and not _is_outside(fused, operation, item.tensor, place):
            taken.append(item)
        else:
            continue
        places.append(place)
    starts += [len(taken)] * (len(address) + 1 - len(starts))
    nest, windows = LoopNest(tuple(taken)), fused.windows(operation.name)
    sizes = {dim: prod(loop.trips for loop in nest.loops if loop.dim == dim) for dim in windows}
    problem = operation.problem
    if windows:
        dims = tuple((dim, sizes.get(dim, size)) for dim, size in problem.dims)
        problem = Problem(problem.name, dims, problem.tensors)
    try:
        mapping = Mapping(problem, nest)
    except MappingError as error:
        raise error.located(operation.name) from None
    return Path(operation, mapping, tuple(places), tuple(starts), windows)


def _is_outside(fused: FusedMapping, operation: Operation, tensor: str, place: Place) -> bool:
    """Whether a node is of an intermediate that this operation reads, and further out than where it reads it."""
    is_read = tensor in fused.cascade.producers and operation.output.name != tensor
    return is_read and place < fused.exchange(tensor, operation.name)


def _check_leaves(fused: FusedMapping) -> None:
    names = [tree.operation for _, tree in fused.tree.walk() if not tree.branches]
    known = [operation.name for operation in fused.cascade]
    for name in names:
        if name not in known:
            message = f"branch {name}, but no operation has that name" if name else "a leaf without an operation"
            raise MappingError(message, hint=did_you_mean(name, known))
        if names.count(name) > 1:
            raise MappingError(f"operation {name} has {names.count(name)} branches, expected one")
    for name in known:
        if name not in names:
            raise MappingError(f"operation {name} has no branch", hint=f"add a line 'branch {name}'")
    for operation in fused.cascade:
        for tensor in operation.problem.operands:
            producer = fused.cascade.producers.get(tensor.name)
            if producer and names.index(producer.name) > names.index(operation.name):
                message = f"{operation.name} reads {tensor.name} before {producer.name} writes it"
                raise MappingError(message, hint=f"put the branch of {producer.name} first")


def _check_nodes(fused: FusedMapping) -> None:
    for address, tree in fused.tree.walk():
        below = [leaf.operation for _, leaf in tree.walk() if not leaf.branches]
        used = {t.name for name in below for t in fused.cascade.operation(name).problem.tensors}
        for item in tree.items:
            if not isinstance(item, Node):
                continue
            if item.tensor not in fused.cascade.tensors:
                hint = did_you_mean(item.tensor, fused.cascade.tensors)
                raise MappingError(f"{item.memory} keeps unknown tensor {item.tensor!r}", hint=hint)
            if item.tensor not in used:
                shown = ", ".join(below)
                raise MappingError(f"{item.memory} keeps {item.tensor}, which no operation below uses ({shown})")
            on_path = [node for _, node in fused.above(address) if isinstance(node, Node)]
            if sum((node.memory, node.tensor) == (item.memory, item.tensor) for node in on_path) > 1:
                raise MappingError(f"{item.memory} keeps {item.tensor} twice on one path")


def _exchange(fused: FusedMapping, tensor: str, consumer: Operation) -> Place:
    producer = fused.cascade.producers[tensor].name
    places = fused.nodes_above(tensor, fused.split_of(producer, consumer.name))
    if not places:
        raise MappingError(
            f"no memory keeps {tensor} above the split at which {producer} and {consumer.name} part",
            hint=f"add a line such as 'DRAM keeps {tensor}' above the branches of {producer} and {consumer.name}",
        )
    return places[-1]


def _check_outer_nodes(fused: FusedMapping, tensor: str) -> None:
    """An intermediate leaves the node at which it is exchanged only for consumers that read it further out."""
    consumers = [operation.name for operation in fused.cascade.consumers[tensor]]
    read = {fused.exchange(tensor, consumer) for consumer in consumers}
    outermost = fused.nodes_above(tensor, fused.leaves[fused.cascade.producers[tensor].name])[0]
    if outermost not in read:
        item = fused.item(outermost)
        inner = " and ".join(sorted({str(fused.item(place)) for place in read}))
        message = f"'{item}' has no reader: {', '.join(consumers)} read it where '{inner}' stands"
        raise MappingError(message, hint=f"leave '{item}' out: {tensor} need not go there")


def _check_shared_loops(fused: FusedMapping, address: Address) -> None:
    """Every operation below a split has the loops above it as dimensions of its own, and they are one dimension."""
    below = [fused.cascade.operation(leaf.operation) for _, leaf in fused.tree.at(address).walk() if not leaf.branches]
    for item in fused.tree.at(address).items:
        if not isinstance(item, Loop) or item.trips == 1:
            continue
        dims = {operation.name: loop_of(item, operation.name).dim for operation in below}
        for operation in below:
            if dims[operation.name] not in operation.problem.sizes:
                raise MappingError(
                    f"'{item}' is shared by {', '.join(dims)}, and {operation.name} has no dimension "
                    f"{dims[operation.name]}: it would be computed again",
                    hint=f"put the loop into the branches that have it, or name the dimension of {operation.name} "
                    f"as in 'for {item.dim},{operation.name}.X in {item.trips}'",
                )
        _check_one_dimension(fused, item, below, dims)


def _check_one_dimension(fused: FusedMapping, item: Loop, below: list[Operation], dims: dict[str, str]) -> None:
    """The dimensions that share a loop are joined by ranks of tensors, directly or by way of each other."""
    joined = {(below[0].name, dims[below[0].name])}
    ranks: set[tuple[str, int]] = set()
    for _ in below:
        for operation in below:
            own = _ranks_of(fused, operation, dims[operation.name])
            if (operation.name, dims[operation.name]) in joined or own & ranks:
                joined.add((operation.name, dims[operation.name]))
                ranks |= own
    apart = [operation.name for operation in below if (operation.name, dims[operation.name]) not in joined]
    if apart:
        message = f"'{item}' is over {dims[apart[0]]} in {apart[0]} and over {dims[below[0].name]} in {below[0].name}, "
        message += "and no tensor that they use below it has both as the same rank"
        raise MappingError(message, hint="only loops over one rank of a common tensor can be shared")


def _ranks_of(fused: FusedMapping, operation: Operation, dim: str) -> set[tuple[str, int]]:
    """The tensors' ranks that a dimension indexes alone, or, of an intermediate, with others."""
    inside = fused.cascade.intermediates
    return {
        (tensor.name, i)
        for tensor in operation.problem.tensors
        for i, rank in enumerate(tensor.ranks)
        if rank == ((dim, 1),) or (tensor.name in inside and dim in {name for name, _ in rank})
    }


def _find_windows(fused: FusedMapping) -> None:
    """In every visit a consumer finds finished what it reads: all loops above the split cut the intermediate for both.

    Where they do not cut it equally, the consumer reads through a window, and so does all that depends on it."""
    for name in reversed(fused.leaves):
        producer = fused.cascade.operation(name)
        fused._windows[name] = frozenset(_windows_of(fused, producer))


def _windows_of(fused: FusedMapping, producer: Operation) -> Iterator[str]:
    tensor = producer.output.name
    for consumer in fused.cascade.consumers[tensor]:
        for _, item in fused.above(fused.split_of(producer.name, consumer.name)):
            if not isinstance(item, Loop) or item.trips == 1:
                continue
            made, read = (loop_of(item, operation.name).dim for operation in (producer, consumer))
            rank = plain_rank(producer, tensor, made)
            terms = () if rank is None else consumer.problem.tensor(tensor).ranks[rank]
            if rank is None or read not in {dim for dim, _ in terms}:
                raise MappingError(
                    f"'{item}' stands above the split of {producer.name} and {consumer.name}, and is not a loop "
                    f"over one rank of {tensor} for both: {consumer.name} would read what is not finished",
                    hint="move the loop into a branch",
                )
            sizes = producer.problem.sizes[made], consumer.problem.sizes[read]
            plain = terms == ((read, 1),) and sizes[0] == sizes[1] and consumer.pad(tensor, rank) == (0, 0)
            if not plain or read in fused.windows(consumer.name):
                yield made


def _check_sizes(fused: FusedMapping, place: Place) -> None:
    """The dimensions that share a loop have one size, but for those that windows make longer."""
    item = fused.item(place)
    assert isinstance(item, Loop)
    below = [leaf.operation for _, leaf in fused.tree.at(place[0]).walk() if not leaf.branches]
    dims = {name: loop_of(item, name).dim for name in below}
    plain = {name: dim for name, dim in dims.items() if dim not in fused.windows(name)}
    if len({fused.cascade.operation(name).problem.sizes[dim] for name, dim in plain.items()}) > 1:
        shown = ", ".join(f"{dim} of {name}" for name, dim in plain.items())
        raise MappingError(f"'{item}' is shared by dimensions of different sizes: {shown}")


def _check_tiles(fused: FusedMapping, place: Place) -> None:
    """A shared loop steps over as many positions in each operation below it."""
    tiles: dict[str, int] = {}
    shared = fused.item(place)
    assert isinstance(shared, Loop)
    below = [leaf.operation for _, leaf in fused.tree.at(place[0]).walk() if not leaf.branches]
    names = [name for name in below if loop_of(shared, name).dim not in fused.windows(name)]
    for name in names:
        path = fused.paths[name]
        position = path.places.index(place)
        loop = path.mapping.nest.items[position]
        assert isinstance(loop, Loop)
        tile = 1
        for inner in path.mapping.nest.items[position + 1 :]:
            if isinstance(inner, Loop) and inner.dim == loop.dim:
                tile *= inner.trips
        tiles[name] = tile
    if len(set(tiles.values())) > 1:
        shown = " and ".join(f"{tile} in {name}" for name, tile in tiles.items())
        raise MappingError(f"a step of '{fused.item(place)}' covers {shown} positions, expected as many")


def _check_reductions(path: Path) -> None:
    """Partial sums that go on from visit to visit have a node above the loop that adds to them."""
    output = path.operation.output
    first = path.mapping.nest.node_positions(output.name)[0]
    for position, item in enumerate(path.mapping.nest.items[: path.starts[-1]]):
        if isinstance(item, Loop) and item.trips > 1 and item.dim not in output.dims and position < first:
            raise MappingError(
                f"'{item}' adds to {output.name}, which no memory keeps above it",
                where=path.operation.name,
                hint=f"put a node of {output.name} above that loop, or the loop into the branch",
            )
