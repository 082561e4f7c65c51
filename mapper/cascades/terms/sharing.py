"""The dimensions of several operations that may be one loop above their split (docs/cascades.md: *shared loops*).

A loop above the split of a producer and its consumer has to cut their intermediate for both, along the same rank; and
all dimensions that share it are joined by ranks of tensors that the operations have in common. A consumer that reads a
rank otherwise than its producer writes it, as p + r, 2p or with zeros around, sees it through a *window*
(`windowed.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ....cost_models.cascades.windows import Kept
from ....ir import Cascade, Operation, plain_rank


class Passage(NamedTuple):
    """The place where an intermediate that is read through a window passes, and the part of it kept from step to
    step."""

    tensor: str
    memory: str
    kept: Kept


@dataclass(frozen=True)
class SharedDim:
    """A dimension of every operation of an interval, over which one shared loop may step.

    dims    (operation, dimension) of each
    uneven  operations whose visits are not all alike: what they write is read through windows, by way of others perhaps
    """

    dims: tuple[tuple[str, str], ...]
    uneven: tuple[str, ...] = ()

    def of(self, operation: str) -> str:
        """Return the dimension of one of the operations."""
        return self._of[operation]

    @cached_property
    def _of(self) -> dict[str, str]:
        return dict(self.dims)


@dataclass(frozen=True)
class LoopAbove:
    """A loop above a split.

    dim     the dimension of every operation below
    trips   of it
    passes  for each uneven operation, where its output passes
    generations  (tensor, memory) of those that stand directly above it, and that it steps over
    tile    elements of a step, where the last one has fewer; None: trips divide the dimension
    """

    dim: SharedDim
    trips: int
    passes: tuple[Passage, ...] = ()
    generations: tuple[tuple[str, str], ...] = ()
    tile: int | None = None

    def tile_of(self, size: int) -> int:
        """Elements of a step, of a dimension of so many."""
        return size // self.trips if self.tile is None else self.tile


def shared_dims(cascade: Cascade, names: Sequence[str]) -> tuple[SharedDim, ...]:
    """Return all shared dimensions of these operations, in the order of the first operation's dimensions."""
    operations = [cascade.operation(name) for name in names]
    found = []
    for dims in _choices(cascade, operations, ()):
        uneven = _uneven(cascade, operations, dims)
        even = {op.problem.sizes[dim] for op, dim in zip(operations, dims, strict=True) if op.name not in uneven}
        if len(even) == 1 and even != {1}:
            found.append(SharedDim(tuple(zip(names, dims, strict=True)), uneven))
    return tuple(found)


def _choices(cascade: Cascade, operations: Sequence[Operation], chosen: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(chosen) == len(operations):
        if _joined(operations, chosen):
            yield chosen
        return
    operation = operations[len(chosen)]
    for dim, size in operation.problem.dims:
        if size > 1 and all(
            _fits(cascade, earlier, own, operation, dim) for earlier, own in zip(operations, chosen, strict=False)
        ):
            yield from _choices(cascade, operations, (*chosen, dim))


def _fits(cascade: Cascade, earlier: Operation, own: str, later: Operation, dim: str) -> bool:
    """Whether dimensions of two operations may be one loop, considering only the tensors that pass between the two."""
    for producer, made, consumer, read in ((earlier, own, later, dim), (later, dim, earlier, own)):
        tensor = producer.output.name
        if consumer in cascade.consumers[tensor]:
            generation = consumer.generation(tensor)
            if generation is not None and made == producer.iterates:
                if read != generation.dim:
                    return False
                continue
            rank = plain_rank(producer, tensor, made)
            if rank is None or read not in {name for name, _ in consumer.problem.tensor(tensor).ranks[rank]}:
                return False
    return True


def is_window(producer: Operation, made: str, consumer: Operation, read: str) -> bool:
    """Whether a consumer sees a rank otherwise than its producer writes it, where both step over it."""
    tensor = producer.output.name
    rank = plain_rank(producer, tensor, made)
    assert rank is not None
    sizes = producer.problem.sizes[made], consumer.problem.sizes[read]
    plain = consumer.problem.tensor(tensor).ranks[rank] == ((read, 1),)
    return not plain or sizes[0] != sizes[1] or consumer.pad(tensor, rank) != (0, 0)


def _uneven(cascade: Cascade, operations: Sequence[Operation], dims: Sequence[str]) -> tuple[str, ...]:
    """Return the operations whose output is read through windows."""
    own = {op.name: dim for op, dim in zip(operations, dims, strict=True)}
    found: list[str] = []
    for operation in reversed(operations):
        for consumer in cascade.consumers[operation.output.name]:
            if consumer.name in own and operation.name not in found and own[operation.name] != operation.iterates:
                windowed = is_window(operation, own[operation.name], consumer, own[consumer.name])
                if windowed or consumer.name in found:
                    found.append(operation.name)
    return tuple(reversed(found))


def _joined(operations: Sequence[Operation], dims: Sequence[str]) -> bool:
    """Whether all dimensions are joined by ranks of common tensors, directly or by way of each other."""
    written = {operation.output.name for operation in operations}
    ranks = [
        {
            (t.name, i)
            for t in operation.problem.tensors
            for i, rank in enumerate(t.ranks)
            if rank == ((dim, 1),) or (t.name in written and dim in {name for name, _ in rank})
        }
        | {(one.tensor, -1) for one in operation.generations if one.dim == dim}
        for operation, dim in zip(operations, dims, strict=True)
    ]
    joined, found = {0}, set(ranks[0])
    for _ in ranks:
        for i, own in enumerate(ranks):
            if own & found:
                joined.add(i)
                found |= own
    return len(joined) == len(ranks)
