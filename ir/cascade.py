"""A cascade: operations in order, in which an equal tensor name is one tensor.

The field's word (TeAAL, FuseMax): T[m,n] += A[m,k] * B[k,n], then O[m,p] += T[m,n] * C[n,p]. T is an *intermediate*:
one operation writes it, later ones read it. Dimensions belong to their operation; what connects two operations is the
rank of a tensor, which both index, each by dimensions of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from .display import Shown
from .errors import ProblemError, checked, entry
from .iteration import check_feedback, check_generations
from .operation import Operation, last_position

MOST_OPERATIONS = 100
"""Of one cascade: fused mappings of more would be searched for ever, and none is larger than a few."""


@dataclass(frozen=True)
class Cascade(Shown):
    """Operations in an order in which they can be done.

    name        of the whole
    operations  two or more; every tensor that one of them reads is an input of the cascade, or written by one before it
    form        which way to compute it this is, where there are several: "i=8, j=32"
    others      other ways to compute the same, of which a search takes the best

    Raises ProblemError for equal names, two producers of one tensor, a cycle that is no iteration, operations that do
    not connect, ranks or sizes that disagree.
    """

    name: str
    operations: tuple[Operation, ...]
    form: str = ""
    others: tuple[Cascade, ...] = ()

    def __post_init__(self) -> None:
        checked(self.name, str, "the name of a cascade", "a text", ProblemError)
        if not checked(self.operations, tuple, "the operations of a cascade", "a tuple of Operations", ProblemError):
            raise ProblemError("no operations", where=self.name)
        if len(self.operations) > MOST_OPERATIONS:
            message = f"{len(self.operations):,} operations, expected {MOST_OPERATIONS} at most"
            hint = "give a part of it at a time; of a network, `tilewright compile` maps groups of operations"
            raise ProblemError(message, where=self.name, hint=hint)
        for operation in self.operations:
            checked(operation, Operation, "an operation of a cascade", "an Operation", ProblemError)
            if operation.problem.has_zeros:
                hint = "leave it out of the layer, or map its operations one by one"
                raise ProblemError("cascades know no densities yet", where=f"{operation.name}: density", hint=hint)
        _check_names(self)
        check_generations(self.operations, self.name)
        _check_order(self)
        check_feedback(self.operations, self.name)
        _check_connected(self)
        for tensor in self.tensors:
            _check_ranks(self, tensor)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def operation(self, name: str) -> Operation:
        """Return the operation of that name; ProblemError suggests the nearest name otherwise."""
        return entry(self._by_name, name, "operation", ProblemError, self.name)

    @property
    def forms(self) -> tuple[Cascade, ...]:
        """Return all forms in which the cascade can be computed, this form first, each as a cascade of a single
        form."""
        return (replace(self, others=()), *self.others) if self.others else (self,)

    @cached_property
    def _by_name(self) -> dict[str, Operation]:
        return {operation.name: operation for operation in self.operations}

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """The names of all tensors, each once, in the order in which operations meet them."""
        return tuple(dict.fromkeys(t.name for operation in self.operations for t in operation.problem.tensors))

    @cached_property
    def producers(self) -> dict[str, Operation]:
        """The operation that writes each tensor; inputs of the cascade have none."""
        return {operation.output.name: operation for operation in self.operations}

    @cached_property
    def consumers(self) -> dict[str, tuple[Operation, ...]]:
        """The operations that read each tensor, in order; outputs of the cascade have none."""
        return {
            tensor: tuple(op for op in self.operations if tensor in {t.name for t in op.problem.operands})
            for tensor in self.tensors
        }

    @cached_property
    def intermediates(self) -> tuple[str, ...]:
        """Return the tensors that one operation writes and later operations read."""
        return tuple(t for t in self.tensors if t in self.producers and self.consumers[t])

    @property
    def macs(self) -> int:
        """Points of all operations."""
        return sum(operation.problem.macs for operation in self.operations)

    @property
    def has_zeros(self) -> bool:
        """Whether some operand has a stated density: none has, cascades know no densities yet."""
        return False

    def extents(self, tensor: str) -> tuple[int, ...]:
        """Positions of every rank of a tensor: as its producer writes it, or up to the last that an operation reads."""
        readers = entry(self.consumers, tensor, "tensor", ProblemError, self.name)
        if tensor in self.producers:
            problem = self.producers[tensor].problem
            return tuple(problem.sizes[dim] for ((dim, _),) in problem.output.ranks)
        return tuple(max(reach) for reach in zip(*(_reach(op, tensor) for op in readers), strict=True))

    def __str__(self) -> str:
        sizes = dict(pair for operation in self.operations for pair in operation.problem.dims)
        return "\n".join([*map(str, self.operations), " ".join(f"{dim}={size}" for dim, size in sizes.items())])


def _reach(operation: Operation, tensor: str) -> tuple[int, ...]:
    """Positions of a tensor's ranks up to the last that an operation reads, without those of its pad."""
    ranks = operation.problem.tensor(tensor).ranks
    return tuple(
        last_position(operation.problem, rank) + 1 - sum(operation.pad(tensor, i)) for i, rank in enumerate(ranks)
    )


def _check_names(cascade: Cascade) -> None:
    outputs = [operation.output.name for operation in cascade]
    for name in outputs:
        if outputs.count(name) > 1:
            writers = [(str(i), op.name) for i, op in enumerate(cascade, 1) if op.output.name == name]
            places, called = zip(*writers, strict=True)
            who = " and ".join(called) if len(set(called)) > 1 else f"operations {' and '.join(places)}"
            hint = "give one of the two tensors another name"
            message = f"{name} is written by {who}, expected one producer"
            raise ProblemError(message, where=cascade.name, hint=hint)
    names = [operation.name for operation in cascade]
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(f"two operations are named {name}", where=cascade.name)
    sizes: dict[str, tuple[int, str]] = {}
    for operation in cascade:
        for dim, size in operation.problem.dims:
            known, first = sizes.setdefault(dim, (size, operation.name))
            if known != size:
                message = f"dimension {dim} has {known} elements in {first} and {size} in {operation.name}"
                raise ProblemError(message, where=cascade.name, hint="give one of the two another letter")


def _check_order(cascade: Cascade) -> None:
    done: set[str] = set()
    for operation in cascade:
        for tensor in operation.problem.operands:
            if operation.reads_before(tensor.name):
                _check_before(cascade, operation, tensor.name, done)
                continue
            if tensor.name in cascade.producers and tensor.name not in done:
                producer = cascade.producers[tensor.name]
                if _needs(cascade, producer, operation.output.name):
                    message = f"{operation.name} reads {tensor.name}, and {producer.name}, which writes it, needs "
                    message += f"{operation.output.name}: a cycle"
                    hint = "each operation may read only what others before it have written"
                    raise ProblemError(message, where=cascade.name, hint=hint)
                message = f"{operation.name} reads {tensor.name}, which {producer.name} writes after it"
                raise ProblemError(message, where=cascade.name, hint=f"put {producer.name} before {operation.name}")
        done.add(operation.output.name)


def _check_before(cascade: Cascade, operation: Operation, tensor: str, done: set[str]) -> None:
    """Check that the generation before a step is still there when it is read: the reader is done before the operation
    that makes the next."""
    if tensor in done:
        producer = cascade.producers[tensor].name
        message = (
            f"{operation.name} reads {operation.access(tensor)}, and {producer} before it writes the next generation "
        )
        message += "in its place"
        raise ProblemError(message, where=cascade.name, hint=f"put {operation.name} before {producer}")


def _needs(cascade: Cascade, operation: Operation, tensor: str) -> bool:
    """Whether an operation depends on a tensor, directly or through others."""
    found, waiting = set(), [operation]
    while waiting:
        for operand in waiting.pop().problem.operands:
            if operand.name == tensor:
                return True
            if operand.name in cascade.producers and operand.name not in found:
                found.add(operand.name)
                waiting.append(cascade.producers[operand.name])
    return False


def _check_connected(cascade: Cascade) -> None:
    reached = {t.name for t in cascade.operations[0].problem.tensors}
    for _ in cascade:
        for operation in cascade:
            names = {t.name for t in operation.problem.tensors}
            reached |= names if names & reached else set()
    for operation in cascade:
        if not {t.name for t in operation.problem.tensors} & reached:
            message = f"{operation.name} has no tensor in common with the operations before it"
            hint = "map it on its own, or give a tensor that both use the same name"
            raise ProblemError(message, where=cascade.name, hint=hint)


def _check_ranks(cascade: Cascade, tensor: str) -> None:
    """All operations index the ranks of a tensor in the same number, and none reads beyond what is there."""
    users = [op for op in cascade if tensor in {t.name for t in op.problem.tensors}]
    counts = {len(op.problem.tensor(tensor).ranks): op.name for op in users}
    if len(counts) > 1:
        shown = " and ".join(f"{count} in {name}" for count, name in counts.items())
        raise ProblemError(f"{tensor} has {shown} ranks, expected as many everywhere", where=cascade.name)
    extents = cascade.extents(tensor)
    hint = f"state the zeros around it, as in 'pad {tensor}[{', '.join('1:1' for _ in extents)}]', or correct the sizes"
    for operation in cascade.consumers[tensor]:
        for rank, (extent, reach) in enumerate(zip(extents, _reach(operation, tensor), strict=True)):
            where = f"{cascade.name}: {operation.name}"
            if reach > extent:
                writer = cascade.producers[tensor].name
                message = f"reads {reach} positions of rank {rank + 1} of {tensor}, and {writer} writes {extent}"
                raise ProblemError(message, where=where, hint=hint)
            plain = operation.problem.tensor(tensor).ranks[rank]
            if reach < extent and len(plain) == 1 and plain[0][1] == 1:
                source = cascade.producers.get(tensor)
                other = f"{source.name} writes {extent}" if source else f"another operation reads {extent}"
                message = f"reads {reach} positions of rank {rank + 1} of {tensor}, and {other}"
                raise ProblemError(message, where=where, hint="correct the sizes: a rank has one size")
