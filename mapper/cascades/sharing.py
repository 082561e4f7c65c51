"""Which dimensions of several operations may be one loop above their split (DESIGN: *shared loops*).

A loop above the split of a producer and its consumer has to cut their intermediate for both, each along the same rank,
alone; and all dimensions that share it are joined by ranks of tensors that the operations have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...ir import Cascade, Operation, plain_rank


@dataclass(frozen=True)
class SharedDim:
    """One dimension of every operation of an interval, that one loop may step over.

    dims  (operation, dimension) of each
    """

    dims: tuple[tuple[str, str], ...]

    def of(self, operation: str) -> str:
        """The dimension of one of the operations."""
        return dict(self.dims)[operation]


@dataclass(frozen=True)
class LoopAbove:
    """A loop above a split.

    dim    the dimension of every operation below
    trips  of it
    """

    dim: SharedDim
    trips: int


def shared_dims(cascade: Cascade, names: Sequence[str]) -> tuple[SharedDim, ...]:
    """All that may be one loop above a split of these operations, in the order of the first one's dimensions."""
    operations = [cascade.operation(name) for name in names]
    return tuple(SharedDim(tuple(zip(names, dims, strict=True))) for dims in _choices(cascade, operations, ()))


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
    """Whether dimensions of two operations may be one loop, as far as what one of them writes for the other goes."""
    if earlier.problem.sizes[own] != later.problem.sizes[dim]:
        return False
    for producer, made, consumer, read in ((earlier, own, later, dim), (later, dim, earlier, own)):
        tensor = producer.output.name
        if consumer in cascade.consumers[tensor]:
            rank = plain_rank(producer, tensor, made)
            if rank is None or plain_rank(consumer, tensor, read) != rank or consumer.pad(tensor, rank) != (0, 0):
                return False
    return True


def _joined(operations: Sequence[Operation], dims: Sequence[str]) -> bool:
    """Whether all dimensions are joined by ranks of common tensors, directly or by way of each other."""
    ranks = [
        {(t.name, i) for t in operation.problem.tensors for i, rank in enumerate(t.ranks) if rank == ((dim, 1),)}
        for operation, dim in zip(operations, dims, strict=True)
    ]
    joined, found = {0}, set(ranks[0])
    for _ in ranks:
        for i, own in enumerate(ranks):
            if own & found:
                joined.add(i)
                found |= own
    return len(joined) == len(ranks)
