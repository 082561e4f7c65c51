"""Source text of a cascade's operations, one after the other and without a schedule: what `run` is compared with."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir import Cascade, Operation
from ..direct import direct_lines, operand_shapes
from ..names import FreshNames, comment, quoted
from .finishes import Finishes, finish_name
from .points import constant, point_text


def cascade_lines(cascade: Cascade, taken: list[str], finishes: Finishes) -> Iterator[str]:
    """A function for each operation, and `direct(operands, parameters)`, which gives all tensors that operations
    write."""
    names = FreshNames(taken)
    functions = {operation.name: names.unique(f"direct_{operation.name}") for operation in cascade}
    for operation in cascade:
        yield from comment(str(operation))
        yield from _function(operation, functions[operation.name], taken)
        yield from ("", "")
    yield "def direct(operands: Arrays, parameters: Arrays | None = None) -> Arrays:"
    yield '    """All tensors that the operations write, each computed whole before the next."""'
    yield "    tensors = dict(operands)"
    for operation in cascade:
        arguments = ", ".join(f"{quoted(t.name)}: {_read(operation, t.name)}" for t in operation.problem.operands)
        name = operation.output.name
        yield f"    tensors[{quoted(name)}] = {functions[operation.name]}({{{arguments}}})"
        if name in finishes:
            function = finish_name(finishes, name)
            yield f"    tensors[{quoted(name)}] = finished(tensors[{quoted(name)}], {function}, parameters)"
    yield "    return tensors"


def _read(operation: Operation, tensor: str) -> str:
    """A tensor as far as an operation reads it, with the zeros around it."""
    shape = operand_shapes(operation.problem)[tensor]
    pads = [operation.pad(tensor, i) for i in range(len(shape))]
    return f"surrounded(tensors[{quoted(tensor)}], {pads}, {shape})" if shape else f"tensors[{quoted(tensor)}]"


def _function(operation: Operation, name: str, taken: list[str]) -> Iterator[str]:
    if operation.multiplies:
        lines = direct_lines(operation.problem, FreshNames((*taken, "operands", "kind", "result", "np", "itertools")))
        number = constant(operation)
        scaled = "result" if number == 1 else f"{number!r} * result"
        yield lines[0].replace("def direct(", f"def {name}(", 1)
        yield from (f"    return {scaled}" if line == "    return result" else line for line in lines[1:])
        return
    problem = operation.problem
    axis = {dim: i for i, dim in enumerate(problem.dim_names)}
    sizes = tuple(size for _, size in problem.dims)
    arrays = {}
    yield f"def {name}(operands: dict[str, np.ndarray]) -> np.ndarray:"
    yield '    """At every point, and then what is reduced."""'
    for number, tensor in enumerate(problem.operands):
        ranks = [[(axis[dim], coefficient) for dim, coefficient in rank] for rank in tensor.ranks]
        arrays[tensor.name] = f"read{number}"
        yield f"    read{number} = gathered(operands[{quoted(tensor.name)}], {ranks}, {sizes})"
    text = point_text(operation.expression, arrays)
    reduced = tuple(axis[dim] for dim in operation.reduced_dims)
    kept = [axis[dim] for dim in problem.dim_names if dim in operation.output.dims]
    order = tuple(kept.index(axis[dim]) for ((dim, _),) in operation.output.ranks)
    method = {"sum": "sum", "max": "max", None: "sum"}[operation.reduction]
    value = f"({text}).{method}(axis={reduced})" if reduced else f"np.asarray({text})"
    yield f"    return {value}.transpose({order})"
