"""Iterations of a cascade: operations that write the next generation of what they, or others, have read.

R[m,i+1] = max(R[m,i], L[m,i]) start -inf: R has one generation after the other, and i is *iterative*: its steps are
done in order. Others read the generation before a step (R[m,i]), the one after it (R[m,i+1]), or the last (R[m,-1]).

A cycle of operations is an iteration if it is closed step by step: what one of them reads of another one is of the same
step, or of the one before. A cycle through something that is known only after all steps is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .errors import ProblemError
from .operation import Operation, plain_rank


def check_generations(operations: Sequence[Operation], where: str) -> None:
    """ProblemError where the users of a tensor do not agree on what its generations are."""
    producers = {operation.output.name: operation for operation in operations}
    for operation in operations:
        for tensor in operation.problem.operands:
            producer, read = producers.get(tensor.name), operation.generation(tensor.name)
            made = None if producer is None else producer.generation(tensor.name)
            if made is None and read is not None:
                message = f"{operation.name} reads {operation.access(tensor.name)}, and no operation writes its next "
                raise ProblemError(message + "generation from the one before", where=where, hint=_HINT)
            if made is None or producer is None:
                continue
            if read is None or read.axis != made.axis:
                message = f"{operation.name} reads {operation.access(tensor.name)}, and {producer.name} writes "
                message += producer.access(tensor.name)
                raise ProblemError(message, where=where, hint=_HINT)
            _check_steps(producer, operation, where)


_HINT = "R[m,i] is the generation before step i, R[m,i+1] the one after it, and R[m,-1] the last"


def _check_steps(producer: Operation, reader: Operation, where: str) -> None:
    """An operation that reads generations has as many steps as there are."""
    read, made = (operation.generation(producer.output.name) for operation in (reader, producer))
    assert read is not None
    assert made is not None
    assert made.dim is not None
    if read.dim is None:
        return
    sizes = producer.problem.sizes[made.dim], reader.problem.sizes[read.dim]
    if sizes[0] != sizes[1]:
        message = f"{producer.name} makes {sizes[0]} generations of {made.tensor}, and {reader.name} reads {sizes[1]}"
        raise ProblemError(message, where=where, hint="correct the sizes: both step together")


# ---- cycles ------------------------------------------------------------------------------------------------


def components(operations: Sequence[Operation]) -> list[tuple[Operation, ...]]:
    """The operations in an order in which all that they read is there, those of a cycle together."""
    needs = {operation.name: _needed(operations, operation) for operation in operations}
    found: list[tuple[Operation, ...]] = []
    open_ones = list(operations)
    while open_ones:
        names = {operation.name for operation in open_ones}
        first = next(op for op in open_ones if all(op.name in needs[other] for other in needs[op.name] & names))
        together = tuple(op for op in open_ones if op is first or op.name in needs[first.name])
        found.append(together)
        open_ones = [op for op in open_ones if op not in together]
    return found


def _needed(operations: Sequence[Operation], operation: Operation) -> set[str]:
    """Return the operations that an operation depends on, directly or through others; on a cycle that includes
    itself."""
    producers = {op.output.name: op for op in operations}
    found: set[str] = {operation.name} if operation.iterates else set()
    waiting = [operation]
    while waiting:
        for tensor in waiting.pop().problem.operands:
            producer = producers.get(tensor.name)
            if producer is not None and producer.name not in found:
                found.add(producer.name)
                waiting.append(producer)
    return found


def check_feedback(operations: Sequence[Operation], where: str) -> None:
    """ProblemError for a cycle of operations that is not closed step by step."""
    for together in components(operations):
        if len(together) > 1:
            dims = iterative_dims(together)
            for producer, consumer in _edges(together):
                if not _is_in_step(producer, consumer, dims):
                    names = ", ".join(operation.name for operation in together)
                    message = (
                        f"{consumer.name} reads {consumer.access(producer.output.name)}, which is known only after all "
                    )
                    message += f"steps, and {producer.name} needs it before: a cycle of {names} that is no iteration"
                    raise ProblemError(message, where=where, hint=_HINT)


def iterative_dims(together: Sequence[Operation]) -> dict[str, str]:
    """Return, for operations that step together, the dimension of each that counts the steps, where it has such a
    dimension."""
    dims = {operation.name: operation.iterates for operation in together if operation.iterates}
    for _ in together:
        for producer, consumer in _edges(together):
            read = consumer.generation(producer.output.name)
            if read is not None:
                if read.dim is not None:
                    dims.setdefault(consumer.name, read.dim)
                continue
            for one, other in ((producer, consumer), (consumer, producer)):
                rank = plain_rank(one, producer.output.name, dims[one.name]) if one.name in dims else None
                if rank is not None:
                    terms = other.problem.tensor(producer.output.name).ranks[rank]
                    if len(terms) == 1 and terms[0][1] == 1:
                        dims.setdefault(other.name, terms[0][0])
    return dims


def _edges(together: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Who reads from whom."""
    producers = {operation.output.name: operation for operation in together}
    for consumer in together:
        for tensor in consumer.problem.operands:
            if tensor.name in producers:
                yield producers[tensor.name], consumer


def _is_in_step(producer: Operation, consumer: Operation, dims: dict[str, str]) -> bool:
    """Whether a reader needs no more than the steps up to its own."""
    tensor = producer.output.name
    read = consumer.generation(tensor)
    if read is not None:
        return read.dim is not None and dims.get(consumer.name) == read.dim
    if producer.name not in dims or consumer.name not in dims:
        return False
    rank = plain_rank(producer, tensor, dims[producer.name])
    return rank is not None and consumer.problem.tensor(tensor).ranks[rank] == ((dims[consumer.name], 1),)
