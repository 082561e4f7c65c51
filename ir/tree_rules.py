"""The rules of a tree that hold on every machine, in the order in which `Mapping` checks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .cascade import Cascade
from .errors import MappingError, did_you_mean
from .nest import Loop, Node
from .operation import Operation, plain_rank
from .tree import Address, Place, Tree, loop_of


class CascadeTree(NamedTuple):
    """A cascade together with a tree of it, as the rules take them."""

    cascade: Cascade
    tree: Tree


Windows = Mapping[str, frozenset[str]]
"""By operation, dimensions of its output that consumers read through windows."""


def check_leaves(asked: CascadeTree) -> None:
    """Check that every operation has one leaf, and that none is done before an operation that it reads from."""
    names = [tree.operation for _, tree in asked.tree.walk() if not tree.branches]
    known = [operation.name for operation in asked.cascade]
    for name in names:
        if name not in known:
            message = f"branch {name}, but no operation has that name" if name else "a leaf without an operation"
            raise MappingError(message, hint=did_you_mean(name, known))
        if names.count(name) > 1:
            raise MappingError(f"operation {name} has {names.count(name)} branches, expected one")
    for name in known:
        if name not in names:
            raise MappingError(f"operation {name} has no branch", hint=f"add a line 'branch {name}'")
    for operation in asked.cascade:
        for tensor in operation.problem.operands:
            if tensor.name in asked.cascade.producers:
                _check_turn(asked.cascade, names, operation, tensor.name)


def _check_turn(cascade: Cascade, names: list[str], operation: Operation, tensor: str) -> None:
    """Check that an operation comes after the producers of what it reads; or before them where it reads the generation
    before."""
    producer = cascade.producers[tensor].name
    comes_first = names.index(operation.name) < names.index(producer)
    if operation.reads_before(tensor) and not comes_first:
        message = f"{operation.name} reads {operation.access(tensor)}, and {producer} before it writes the next "
        message += "generation in its place"
        raise MappingError(message, hint=f"put the branch of {operation.name} first")
    if comes_first and not operation.reads_before(tensor):
        message = f"{operation.name} reads {tensor} before {producer} writes it"
        raise MappingError(message, hint=f"put the branch of {producer} first")


def check_nodes(asked: CascadeTree) -> None:
    """Check that nodes hold tensors that operations below them use, and that no memory has two nodes of a tensor on a
    path."""
    for address, tree in asked.tree.walk():
        below = [leaf.operation for _, leaf in tree.walk() if not leaf.branches]
        used = {t.name for name in below for t in asked.cascade.operation(name).problem.tensors}
        for item in tree.items:
            if not isinstance(item, Node):
                continue
            if item.tensor not in asked.cascade.tensors:
                hint = did_you_mean(item.tensor, asked.cascade.tensors)
                raise MappingError(f"{item.memory} keeps unknown tensor {item.tensor!r}", hint=hint)
            if item.tensor not in used:
                shown = ", ".join(below)
                raise MappingError(f"{item.memory} keeps {item.tensor}, which no operation below uses ({shown})")
            on_path = [node for _, node in asked.tree.above(address) if isinstance(node, Node)]
            if sum((node.memory, node.tensor) == (item.memory, item.tensor) for node in on_path) > 1:
                raise MappingError(f"{item.memory} keeps {item.tensor} twice on one path")


def exchange_place(asked: CascadeTree, tensor: str, consumer: Operation) -> Place:
    """The innermost node of an intermediate above the split at which producer and consumer part."""
    producer = asked.cascade.producers[tensor].name
    places = asked.tree.nodes_above(tensor, asked.tree.split_of(producer, consumer.name))
    if not places:
        raise MappingError(
            f"no memory keeps {tensor} above the split at which {producer} and {consumer.name} part",
            hint=f"add a line such as 'DRAM keeps {tensor}' above the branches of {producer} and {consumer.name}",
        )
    return places[-1]


def check_outer_nodes(asked: CascadeTree, tensor: str, read: set[Place]) -> None:
    """An intermediate leaves the node at which it is exchanged only for consumers that read it further out.

    read  where consumers read it
    """
    consumers = [operation.name for operation in asked.cascade.consumers[tensor]]
    outermost = asked.tree.nodes_above(tensor, asked.tree.leaves()[asked.cascade.producers[tensor].name])[0]
    if outermost not in read and not _keeps_generations(asked, tensor, outermost):
        item = asked.tree.item(outermost)
        inner = " and ".join(sorted({str(asked.tree.item(place)) for place in read}))
        message = f"'{item}' has no reader: {', '.join(consumers)} read it where '{inner}' stands"
        raise MappingError(message, hint=f"leave '{item}' out: {tensor} need not go there")


def _keeps_generations(asked: CascadeTree, tensor: str, outermost: Place) -> bool:
    """Whether generations of a tensor return from its outermost node: the next node inwards stands below the loop that
    steps between them."""
    producer = asked.cascade.producers[tensor]
    above = asked.tree.above(asked.tree.leaves()[producer.name])
    inner = next(place for place in asked.tree.nodes_above(tensor, above[-1][0][0]) if place > outermost)
    return any(outermost < place < inner for place, _ in steps_of(above, producer.name, producer.iterates))


def steps_of(items: list[tuple[Place, Loop | Node]], operation: str, dim: str | None) -> Iterator[tuple[Place, Loop]]:
    """Return the loops of more than one trip over a dimension of an operation."""
    for place, item in items:
        if isinstance(item, Loop) and item.trips > 1 and loop_of(item, operation).dim == dim:
            yield place, item


def check_shared_loops(asked: CascadeTree, address: Address) -> None:
    """Check that a loop above a split is a single dimension of every operation below it."""
    below = [asked.cascade.operation(leaf.operation) for _, leaf in asked.tree.at(address).walk() if not leaf.branches]
    for item in asked.tree.at(address).items:
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
        _check_one_dimension(asked, item, below, dims)


def _check_one_dimension(asked: CascadeTree, item: Loop, below: list[Operation], dims: dict[str, str]) -> None:
    """The dimensions that share a loop are joined by ranks of tensors, directly or by way of each other."""
    joined = {(below[0].name, dims[below[0].name])}
    ranks: set[tuple[str, int]] = set()
    for _ in below:
        for operation in below:
            own = _ranks_of(asked, operation, dims[operation.name])
            if (operation.name, dims[operation.name]) in joined or own & ranks:
                joined.add((operation.name, dims[operation.name]))
                ranks |= own
    apart = [operation.name for operation in below if (operation.name, dims[operation.name]) not in joined]
    if apart:
        message = f"'{item}' is over {dims[apart[0]]} in {apart[0]} and over {dims[below[0].name]} in {below[0].name}, "
        message += "and no tensor that they use below it has both as the same rank"
        raise MappingError(message, hint="only loops over one rank of a common tensor can be shared")


def _ranks_of(asked: CascadeTree, operation: Operation, dim: str) -> set[tuple[str, int]]:
    """The tensors' ranks that a dimension indexes alone, or, of an intermediate, with others; -1 is the rank of
    generations."""
    inside = asked.cascade.intermediates
    return {(one.tensor, -1) for one in operation.generations if one.dim == dim} | {
        (tensor.name, i)
        for tensor in operation.problem.tensors
        for i, rank in enumerate(tensor.ranks)
        if rank == ((dim, 1),) or (tensor.name in inside and dim in {name for name, _ in rank})
    }


def windowed_dims(asked: CascadeTree, producer: Operation, windows: Windows) -> Iterator[str]:
    """Dimensions of an output that shared loops step over and consumers read through windows.

    In every visit a consumer finds finished what it reads: all loops above the split cut the intermediate for both.
    Where they do not cut it equally, the consumer reads through a window, and so does all that depends on it."""
    tensor = producer.output.name
    for consumer in asked.cascade.consumers[tensor]:
        for _, item in asked.tree.above(asked.tree.split_of(producer.name, consumer.name)):
            if not isinstance(item, Loop) or item.trips == 1:
                continue
            made, read = (loop_of(item, operation.name).dim for operation in (producer, consumer))
            if made == producer.iterates:
                continue  # `check_iterations`
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
            if not plain or read in windows.get(consumer.name, ()):  # of who reads the generation before, not yet known
                yield made


def check_sizes(asked: CascadeTree, place: Place, windows: Windows) -> None:
    """Check that the dimensions that share a loop have equal sizes, except where windows make them longer."""
    item = asked.tree.item(place)
    assert isinstance(item, Loop)
    below = [leaf.operation for _, leaf in asked.tree.at(place[0]).walk() if not leaf.branches]
    dims = {name: loop_of(item, name).dim for name in below}
    plain = {name: dim for name, dim in dims.items() if dim not in windows[name]}
    if len({asked.cascade.operation(name).problem.sizes[dim] for name, dim in plain.items()}) > 1:
        shown = ", ".join(f"{dim} of {name}" for name, dim in plain.items())
        raise MappingError(f"'{item}' is shared by dimensions of different sizes: {shown}")


def check_iterations(asked: CascadeTree) -> None:
    """Check that an iterative dimension steps one at a time, in temporal loops that all users of its generations
    share."""
    for producer in asked.cascade:
        made = producer.generation(producer.output.name)
        if made is None:
            continue
        for operation in (producer, *asked.cascade.consumers[made.tensor]):
            # The loops over an operation's iterative dimension stand above a split, and are no arrays.
            tensor = made.tensor
            leaf, generation = asked.tree.leaves()[operation.name], operation.generation(tensor)
            assert generation is not None
            for place, item in steps_of(asked.tree.above(leaf), operation.name, generation.dim):
                if item.is_spatial or place[0] == leaf:
                    where = "on an array" if item.is_spatial else f"in the branch of {operation.name}"
                    message = f"'{item}' stands {where}, and {operation.name} uses {operation.access(tensor)}: "
                    message += f"{generation.dim} steps in order, as a loop in time above a split"
                    hint = f"put it above a split of {producer.name} and all who read its generations"
                    raise MappingError(message, hint=hint)
        for consumer in asked.cascade.consumers[made.tensor]:
            _check_steps_together(asked, producer, consumer)


def _check_steps_together(asked: CascadeTree, producer: Operation, consumer: Operation) -> None:
    """Check that a reader of generations steps with the operation that makes them, and that a reader of the last comes
    after all steps."""
    tensor, dim = producer.output.name, producer.iterates
    read = consumer.generation(tensor)
    assert read is not None
    above = asked.tree.above(asked.tree.split_of(producer.name, consumer.name))
    own = {place for place, _ in steps_of(asked.tree.above(asked.tree.leaves()[producer.name]), producer.name, dim)}
    common = {place for place, _ in steps_of(above, producer.name, dim)}
    if read.dim is None and common:
        item = asked.tree.item(min(common))
        message = f"'{item}' stands above {consumer.name}, which reads {consumer.access(tensor)}, the last generation"
        raise MappingError(message, hint=f"put the branch of {consumer.name} outside the loop over {dim}")
    theirs = {place for place, _ in steps_of(above, consumer.name, read.dim)}
    if read.dim is not None and not own == common == theirs:
        message = f"{consumer.name} reads {consumer.access(tensor)}, and does not step over {read.dim} together with "
        message += producer.name
        hint = f"put the whole loop over {dim} above a split of {producer.name} and {consumer.name}"
        raise MappingError(message, hint=hint)
