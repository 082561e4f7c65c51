"""The operations of a cascade one after the other, as C99; those of an iteration step by step."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir import Cascade
from ....ir.iteration import components, iterative_dims
from .direct import direct_lines, lying


def generations_of(cascade: Cascade, tensor: str) -> int:
    """How many generations of a tensor lie one after the other, the one before the first step included; 1: it has
    none."""
    producer = cascade.producers.get(tensor)
    if producer is None or not producer.iterates:
        return 1
    return producer.problem.sizes[producer.iterates] + 1


def cascade_lines(cascade: Cascade) -> Iterator[str]:
    """A function for each operation, and `direct(array)`, which computes all tensors, in their order in the cascade."""
    number = {name: i for i, name in enumerate(cascade.tensors)}
    steps = {name: generations_of(cascade, name) - 1 for name in number if generations_of(cascade, name) > 1}
    calls: list[str] = []
    for together in components(cascade.operations):
        iterates = any(operation.iterates for operation in together)
        dims = iterative_dims(together) if iterates else {}
        indent = "    "
        if iterates:
            size = together[0].problem.sizes[dims[together[0].name]]
            calls.append(f"    for (int64_t step = 0; step < {size}; step++) {{")
            indent += "    "
        for operation in together:
            function = f"direct{cascade.operations.index(operation)}"
            layout = {tensor.name: lying(cascade, operation, tensor.name) for tensor in operation.problem.tensors}
            yield from direct_lines(function, operation, layout, dims.get(operation.name), steps)
            tensors = (*operation.problem.operands, operation.output)
            given = [*(f"array[{number[tensor.name]}]" for tensor in tensors), *(["step"] if iterates else [])]
            calls.append(f"{indent}{function}({', '.join(given)});")
        if iterates:
            calls.append("    }")
    yield "static void direct(element *const array[])"
    yield "{"
    yield from calls
    yield "}"
    yield ""
