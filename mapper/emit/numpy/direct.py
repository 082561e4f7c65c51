"""Source text of operations, one after the other and without a schedule: what `run` is compared with."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator
from dataclasses import replace

from ....ir import Cascade, Generation, Operation, Problem, ProblemError, Rank, Tensor
from ....ir.iteration import components, iterative_dims
from ..parts.exactness import LARGEST
from ..parts.names import FreshNames, comment, quoted
from ..parts.trees import layer_of
from .finishes import Finishes, finish_name
from .points import constant, point_text
from .schedule import value_text


def cascade_lines(cascade: Cascade, taken: list[str], finishes: Finishes) -> Iterator[str]:
    """A function for each operation, and `direct(operands, parameters)`, which gives all tensors that operations
    write."""
    names = FreshNames(taken)
    functions = {operation.name: names.unique(f"direct_{operation.name}") for operation in cascade}
    rounds = [_Round(together, functions) for together in components(cascade.operations)]
    for one in rounds:
        for operation in one.together:
            yield from comment(str(operation))
            yield from _function(operation, one.problem(operation), functions[operation.name], taken)
            yield from ("", "")
    yield "def direct(operands: Arrays, parameters: Arrays | None = None) -> Arrays:"
    yield '    """All tensors that the operations write, each whole before the next; iterations step by step."""'
    given = "words" if layer_of(cascade) is not None else "words.astype(float)"
    yield f"    tensors = {{name: {given} for name, words in operands.items()}}"
    for one in rounds:
        yield from (f"    {line}" for line in one.lines(cascade))
        for name in (operation.output.name for operation in one.together if operation.output.name in finishes):
            function = finish_name(finishes, name)
            yield f"    tensors[{quoted(name)}] = finished(tensors[{quoted(name)}], {function}, parameters)"
    for operation in cascade:
        if operation.iterates:
            name, made = quoted(operation.output.name), operation.generation(operation.output.name)
            yield f"    tensors[{name}] = tensors[{name}].take(-1, axis={made.axis if made else 0})"
    yield "    return tensors"


class _Round:
    """Operations that are computed together: one, or those of an iteration, step by step.

    together   the operations, in order
    functions  names of their functions
    steps      of an iteration; None where the operation is computed whole
    """

    def __init__(self, together: tuple[Operation, ...], functions: dict[str, str]) -> None:
        self.together, self.functions = together, functions
        self.dims = iterative_dims(together)
        first = together[0]
        self.steps = first.problem.sizes[self.dims[first.name]] if self._iterates else None

    @property
    def _iterates(self) -> bool:
        return any(operation.iterates for operation in self.together)

    def problem(self, operation: Operation) -> Problem:
        """What is computed at once: generations are ranks of their tensors, and of an iteration there is one step."""
        problem = operation.problem
        tensors = tuple(_with_generations(t, operation.generation(t.name)) for t in problem.tensors)
        step = self.dims[operation.name] if self._iterates else None
        dims = tuple((dim, 1 if dim == step else size) for dim, size in problem.dims)
        return Problem(problem.name, dims, tensors)

    def lines(self, cascade: Cascade) -> Iterator[str]:
        """The statements that compute them."""
        if self.steps is None:
            (operation,) = self.together
            yield f"tensors[{quoted(operation.output.name)}] = {self._call(operation, cascade)}"
            return
        for operation in self.together:
            shape = list(cascade.extents(operation.output.name))
            made = operation.generation(operation.output.name)
            if made is not None:
                shape.insert(made.axis, self.steps + 1)
            start = "0" if operation.start is None else value_text(operation.start)
            yield f"tensors[{quoted(operation.output.name)}] = np.full({tuple(shape)}, {start}, float)"
        yield f"for step in range({self.steps}):"
        for operation in self.together:
            made = operation.generation(operation.output.name)
            output = _with_generations(operation.output, made)
            at = self._at_step(operation, output, 1 if made else 0)
            yield f"    tensors[{quoted(output.name)}][{at}] = {self._call(operation, cascade)}"

    def _call(self, operation: Operation, cascade: Cascade) -> str:
        operands = _read_by(operation, self.problem(operation))
        arguments = ", ".join(f"{quoted(t.name)}: {self._read(operation, t, cascade)}" for t in operands)
        return f"{self.functions[operation.name]}({{{arguments}}})"

    def _read(self, operation: Operation, tensor: Tensor, cascade: Cascade) -> str:
        """A tensor as far as an operation reads it, with the zeros around it; in an iteration, what a step reads."""
        text = f"tensors[{quoted(tensor.name)}]"
        made, own = operation.generation(tensor.name), tensor.name == operation.output.name
        if made is not None and (made.dim is None or self.steps is None):
            before = "-1" if made.dim is None else "1:" if made.after else ":-1"
            text += f"[{', '.join([':'] * made.axis + [before])}]"
        if not tensor.ranks:
            return text
        sizes = dict(operation.problem.dims)
        shape = tuple(1 + sum(c * (sizes[dim] - 1) for dim, c in rank) for rank in tensor.ranks)
        if tensor.name not in cascade.producers or cascade.producers[tensor.name] not in self.together:
            pads = [(0, 0) if own else operation.pad(tensor.name, i) for i in range(len(shape))]
            if any(map(any, pads)) or shape != cascade.extents(tensor.name):
                text = f"surrounded({text}, {pads}, {shape})"
        if self.steps is None:
            return text
        return f"{text}[{self._at_step(operation, tensor, 1 if made and made.after and not own else 0)}]"

    def _at_step(self, operation: Operation, tensor: Tensor, later: int) -> str:
        """The index of what a step reads or writes of a tensor.

        later  1 for the generation after the step
        """
        sizes, step = dict(operation.problem.dims), self.dims[operation.name]
        parts = []
        for rank in tensor.ranks:
            own = next((c for dim, c in rank if dim == step), 0)
            length = 1 + sum(c * (sizes[dim] - 1) for dim, c in rank if dim != step)
            first = "step" if own == 1 else f"{own} * step"
            if rank == ((step, 1),):
                parts.append(f"step + {later} : step + {later + 1}" if later else "step : step + 1")
            else:
                parts.append(f"{first} : {first} + {length}" if own else ":")
        return ", ".join(parts) or "..."


def _read_by(operation: Operation, problem: Problem) -> tuple[Tensor, ...]:
    """What an operation reads; the generation before of its output too, where it iterates."""
    return problem.tensors if operation.iterates else problem.operands


def _with_generations(tensor: Tensor, generation: Generation | None) -> Tensor:
    """A tensor whose generations, but for the last, are a rank."""
    if generation is None or generation.dim is None:
        return tensor
    ranks = (*tensor.ranks[: generation.axis], ((generation.dim, 1),), *tensor.ranks[generation.axis :])
    return replace(tensor, ranks=ranks)


def _function(operation: Operation, problem: Problem, name: str, taken: list[str]) -> Iterator[str]:
    if operation.contracts:
        yield from _sum_lines(problem, name, constant(operation), FreshNames(taken))
        return
    axis = {dim: i for i, dim in enumerate(problem.dim_names)}
    sizes = tuple(size for _, size in problem.dims)
    arrays = {}
    yield f"def {name}(operands: dict[str, np.ndarray]) -> np.ndarray:"
    yield '    """At every point, and then what is reduced."""'
    for number, tensor in enumerate(_read_by(operation, problem)):
        ranks = [[(axis[dim], coefficient) for dim, coefficient in rank] for rank in tensor.ranks]
        arrays[tensor.name] = f"read{number}"
        yield f"    read{number} = gathered(operands[{quoted(tensor.name)}], {ranks}, {sizes})"
    text = point_text(operation.expression, arrays)
    output = problem.output
    reduced = tuple(axis[dim] for dim in problem.dim_names if dim not in output.dims)
    kept = [axis[dim] for dim in problem.dim_names if dim in output.dims]
    order = tuple(kept.index(axis[dim]) for ((dim, _),) in output.ranks)
    method = {"sum": "sum", "max": "max", None: "sum"}[operation.reduction]
    value = f"({text}).{method}(axis={reduced})" if reduced else f"np.asarray({text})"
    yield f"    return {value}.transpose({order})"


def _sum_lines(problem: Problem, function: str, constant: float, names: FreshNames) -> Iterator[str]:
    """A function of operands: loops over all but one dimension of each sum, and one einsum over the rest."""
    looped = {dim: names.unique(dim) for dim in _looped(problem)}
    letters = _letters(problem, looped)
    operands = {t.name: names.unique(t.name) for t in problem.operands}
    products = math.prod(n for dim, n in problem.dims if dim not in problem.output.dims)
    largest = LARGEST ** len(problem.operands) * products
    kind = "np.float64" if largest < 2**53 else "np.result_type(np.int64, *operands.values())"
    if largest < 2**24:
        kind = 'np.float32 if np.result_type(*operands.values()).kind == "i" else np.float64'
    yield f"def {function}(operands: dict[str, np.ndarray]) -> np.ndarray:"
    yield '    """The sums without a schedule."""'
    yield f"    kind = {kind}  # holds every sum of the check's whole numbers exactly"
    yield from (f"    {operands[t.name]} = operands[{quoted(t.name)}].astype(kind)" for t in problem.operands)
    yield f"    result = np.zeros({tuple(problem.sizes[r[0][0]] for r in problem.output.ranks)}, kind)"
    indent = "    "
    if looped:
        ranges = ", ".join(f"range({problem.sizes[dim]})" for dim in looped)
        yield f"    for {', '.join(looped.values())}{',' * (len(looped) == 1)} in itertools.product({ranges}):"
        indent += "    "
    factors = [(_spelled(t, letters), operands[t.name] + _window(problem, t, looped)) for t in problem.operands]
    covered = {dim for t in problem.operands for dim in t.dims}
    factors += [(letters[d], f"np.ones({n}, kind)") for d, n in problem.dims if d not in covered and d in letters]
    spec = ",".join(spelled for spelled, _ in factors) + "->" + _spelled(problem.output, letters)
    arrays = ", ".join(text for _, text in factors)
    target = _window(problem, problem.output, looped) or "[()]"
    yield f'{indent}result{target} += np.einsum("{spec}", {arrays}, optimize=True)'
    yield "    return result" if constant == 1 else f"    return {constant!r} * result"


def _looped(problem: Problem) -> list[str]:
    """Of every tensor axis that is a sum, all dimensions but the largest."""
    found: set[str] = set()
    for tensor in problem.operands:
        for rank in tensor.ranks:
            largest = max((dim for dim, _ in rank), key=problem.sizes.__getitem__, default=None)
            found |= {dim for dim, _ in rank if dim != largest}
    return [dim for dim in problem.dim_names if dim in found]


def _letters(problem: Problem, looped: dict[str, str]) -> dict[str, str]:
    kept = [dim for dim in problem.dim_names if dim not in looped]
    if len(kept) > len(string.ascii_letters):
        raise ProblemError(f"a program for {len(kept)} dimensions cannot be written; numpy names at most 52")
    return dict(zip(kept, string.ascii_letters, strict=False))


def _spelled(tensor: Tensor, letters: dict[str, str]) -> str:
    return "".join(letters[dim] for rank in tensor.ranks for dim, _ in rank if dim in letters)


def _window(problem: Problem, tensor: Tensor, looped: dict[str, str]) -> str:
    """The index that leaves the dimensions of the einsum: strided slices, shifted by the looped dimensions."""
    parts = [_slice(problem, rank, looped) for rank in tensor.ranks]
    return f"[{', '.join(parts)}]" if parts else ""


def _slice(problem: Problem, rank: Rank, looped: dict[str, str]) -> str:
    shift = " + ".join(looped[dim] if c == 1 else f"{c} * {looped[dim]}" for dim, c in rank if dim in looped)
    kept = [(dim, c) for dim, c in rank if dim not in looped]
    if not kept:
        return shift or "0"
    ((dim, coefficient),) = kept
    stride = f":{coefficient}" if coefficient > 1 else ""
    if not shift:
        return f":{stride}"
    length = coefficient * (problem.sizes[dim] - 1) + 1
    return f"{shift} : {shift} + {length}{stride}"
