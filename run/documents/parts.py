"""The parts that documents of mappings are made of: machines, operations, trees of loops and nodes."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, WithJsonSchema

from ...arch import Architecture, Fanout, Memory
from ...cost_models.sparse import densities_of
from ...ir import (
    Axis,
    Cascade,
    Generation,
    Loop,
    MappingError,
    Node,
    Operation,
    Problem,
    ProblemError,
    Reduction,
    Renews,
    Role,
    SharedLoop,
    StartValue,
    Tensor,
    TilewrightError,
    Tree,
)
from ...ir.expression import unbracketed
from ...ir.limits import LARGEST_COUNT, check_countable
from ...workloads import read_expression
from .files import Strict

_DEEPEST = 50
"""Splits inside each other, as in the text form of a tree."""

Size = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
"""A size or a coefficient; `Problem` says it better when one is not positive."""


class AxisPart(Strict):
    """One axis of an array.

    fanout  its name
    index   0 is x, 1 is y
    """

    fanout: str
    index: Literal[0, 1]


class LoopPart(Strict):
    """Steps along a dimension, one after the other, or side by side on an axis.

    kind     "loop"
    dim      name of the dimension
    trips    how many steps
    axis     whose instances take a step each; null: they are taken in time
    renamed  above a split, a list of [operation, dimension], where operations call the dimension otherwise
    """

    kind: Literal["loop"] = "loop"
    dim: str
    trips: Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
    axis: AxisPart | None = None
    renamed: tuple[tuple[str, str], ...] = ()


class NodePart(Strict):
    """From here inwards, a memory holds the tile of a tensor that the loops further in touch.

    kind    "node"
    memory, tensor  their names
    renews  whether it keeps no rows that the next visit reads again
    """

    kind: Literal["node"] = "node"
    memory: str
    tensor: str
    renews: bool = False


class TensorPart(Strict):
    """A tensor, and which of its elements each point of the dimensions touches.

    name   of the tensor
    role   what the architecture calls it
    ranks  its axes; each a list of [dimension, coefficient], of which it is the sum
    bits   of a word; null: as wide as the architecture's
    partial_bits  of a partial sum, of outputs only; null: as wide as the architecture's
    density  where its nonzero words are, as a text (docs/sparse.md), of operands only; null, or missing: anywhere
    """

    name: str
    role: Role
    ranks: tuple[tuple[tuple[str, Size], ...], ...]
    bits: PositiveInt | None = None
    partial_bits: PositiveInt | None = None
    density: str | None = None


class ProblemPart(Strict):
    """A layer: its output is, at every point of the dimensions, the sum of the products of its operands.

    name     of the layer
    dims     a list of [dimension, size]
    tensors  operands first, the output last
    """

    name: str
    dims: tuple[tuple[str, Size], ...]
    tensors: tuple[TensorPart, ...]


class GenerationPart(Strict):
    """Which generation of a tensor an operation writes or reads.

    tensor  its name
    axis    where the index of generations is written
    dim     the dimension that counts them; null: the last one is read
    after   whether it is the one that a step makes, and not the one before it
    """

    tensor: str
    axis: NonNegativeInt
    dim: str | None
    after: bool


class OperationPart(Strict):
    """One operation.

    problem     its dimensions and tensors
    expression  what is done at a point, such as "A * B" or "exp(S - L)"
    reduction   how the points of one word of the output are combined; null: each word has one point
    pads        a list of [tensor, [[zeros before, zeros after], one pair for each of its ranks]]
    generations of the tensors that are iterated, which generation is written or read
    start       of an operation that iterates, what its output is before the first step: a number, "inf" or "-inf"
    """

    problem: ProblemPart
    expression: str
    reduction: Reduction | None = None
    pads: tuple[tuple[str, tuple[tuple[NonNegativeInt, NonNegativeInt], ...]], ...] = ()
    generations: tuple[GenerationPart, ...] = ()
    start: int | float | Literal["inf", "-inf"] | None = None


class CascadePart(Strict):
    """Operations in the order in which they can be done; an equal tensor name is one tensor.

    name        of the whole
    operations  in order
    form        which way to compute it this is, where there are several
    """

    name: str
    operations: tuple[OperationPart, ...]
    form: str = ""


class TreePart(Strict):
    """Loops and nodes, and the branches below them, done one after the other at every step.

    items      loops and storage nodes, outermost first
    branches   trees below the split; none in a leaf
    operation  what a leaf does
    """

    items: tuple[Annotated[LoopPart | NodePart, Field(discriminator="kind")], ...]
    branches: tuple[TreePart, ...] = ()
    operation: str = ""


class ArchitecturePart(Architecture):
    """The whole specification of the machine, in base units."""

    # As the specification; but its levels are told apart by `kind`, for errors that speak of one of them only.

    levels: tuple[Annotated[Memory | Fanout, Field(discriminator="kind")], ...]


PART_MODELS = (
    *(CascadePart, OperationPart, GenerationPart, ProblemPart, TensorPart),
    *(TreePart, LoopPart, NodePart, AxisPart),
)
"""What has keys of its own; the keys of machines are those of `Architecture`."""


def architecture_part(arch: Architecture) -> ArchitecturePart:
    """A machine as it stands in a document."""
    return ArchitecturePart.model_validate(_fields_of(arch))


def architecture_of(part: ArchitecturePart) -> Architecture:
    """The machine."""
    return Architecture.model_validate(_fields_of(part))


def _fields_of(arch: Architecture) -> dict[str, Any]:
    return {name: getattr(arch, name) for name in Architecture.model_fields}


def problem_part(problem: Problem) -> ProblemPart:
    """A problem as it stands in a document."""
    return ProblemPart.model_validate(problem, from_attributes=True)


def plain(document: BaseModel) -> Any:
    """A document in Python's lists and dicts; without what few have, where there is none."""
    return _without_rare(document.model_dump(mode="json"))


def _without_rare(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_rare(part)
            for key, part in value.items()
            if key not in _RARE or not (part is None or part is False or part in ([], ""))
        }
    return [_without_rare(part) for part in value] if isinstance(value, list) else value


_RARE = (
    *("lines", "bank_cycles", "zeros", "density"),
    *("form", "pads", "generations", "start", "renamed", "renews", "unfused", "forms"),
)


def part_of(found: Architecture | Problem) -> Any:
    """An architecture or a problem as it stands in mapping.json, in Python's lists and dicts."""
    part = architecture_part(found) if isinstance(found, Architecture) else problem_part(found)
    return plain(part)


def problem_of(part: ProblemPart) -> Problem:
    """The problem; ProblemError where it makes no sense."""
    tensors = tuple(Tensor(t.name, t.ranks, t.role, t.bits, t.partial_bits, t.density) for t in part.tensors)
    found = Problem(part.name, part.dims, tensors)
    try:
        densities_of(found)
    except TilewrightError as error:
        raise ProblemError(error.message, where=error.where, hint=error.hint) from None
    return found


def layer_part(problem: Problem) -> CascadePart:
    """A layer as it stands in a document: a cascade of one operation, the sum of the products of its operands."""
    part, expression = problem_part(problem), _product_text(problem)
    operation = OperationPart(problem=part, expression=expression, reduction="sum", pads=problem.pads)
    return CascadePart(name=problem.name, operations=(operation,))


def layer_of(part: CascadePart, where: str) -> Problem:
    """The problem of a layer; MappingError where it makes no sense, or where it is none."""
    place = f"{where}: cascade.operations"
    if len(part.operations) != 1:
        raise MappingError(f"found {len(part.operations)} operations with the cost of one", where=place)
    (operation,) = part.operations
    try:
        problem = problem_of(operation.problem)
        check_countable(problem)
    except ProblemError as error:
        raise MappingError(error.message, where=f"{place}[0].problem: {error.where}", hint=error.hint) from None
    expected = _product_text(problem)
    if operation.expression != expected or operation.reduction != "sum" or operation.generations:
        raise MappingError(f"found another operation than the sum of {expected}", where=f"{place}[0]")
    try:
        return replace(problem, pads=operation.pads)
    except ProblemError as error:
        raise MappingError(error.message, where=f"{place}[0].pads: {error.where}", hint=error.hint) from None


def _product_text(problem: Problem) -> str:
    return " * ".join(tensor.name for tensor in problem.operands)


def cascade_part(cascade: Cascade) -> CascadePart:
    """A cascade as it stands in a document."""
    operations = tuple(
        OperationPart(
            problem=problem_part(operation.problem),
            expression=unbracketed(str(operation.expression)),
            reduction=operation.reduction,
            pads=operation.pads,
            generations=tuple(GenerationPart(**asdict(one)) for one in operation.generations),
            start=_start_part(operation.start),
        )
        for operation in cascade
    )
    return CascadePart(name=cascade.name, operations=operations, form=cascade.form)


def _start_part(start: StartValue | None) -> StartValue | Literal["inf", "-inf"] | None:
    """A start value; JSON has no infinite numbers."""
    if start is None or isfinite(start):
        return start
    return "inf" if start > 0 else "-inf"


def cascade_of(part: CascadePart, where: str) -> Cascade:
    """The cascade; MappingError where it makes no sense. `where` is what messages call the document."""
    place = f"{where}: cascade"
    try:
        operations = []
        for i, one in enumerate(part.operations):
            place = f"{where}: cascade.operations[{i}]"
            problem = problem_of(one.problem)
            check_countable(problem)
            operations.append(
                Operation(
                    problem=problem,
                    expression=read_expression(one.expression, f"{place}.expression"),
                    reduction=one.reduction,
                    pads=one.pads,
                    generations=tuple(Generation(**dict(made)) for made in one.generations),
                    start=float(one.start) if isinstance(one.start, str) else one.start,
                )
            )
        place = f"{where}: cascade"
        return Cascade(part.name, tuple(operations), part.form)
    except ProblemError as error:
        inner = error.where or ""
        at = inner if inner.startswith(place) else f"{place}: {inner}" if inner else place
        raise MappingError(error.message, where=at, hint=error.hint) from None


def tree_part(tree: Tree) -> TreePart:
    """A tree as it stands in a document."""
    items = tuple(map(_item_part, tree.items))
    return TreePart(items=items, branches=tuple(map(tree_part, tree.branches)), operation=tree.operation)


def _item_part(item: Loop | Node) -> LoopPart | NodePart:
    if isinstance(item, Node):
        return NodePart(memory=item.memory, tensor=item.tensor, renews=isinstance(item, Renews))
    return LoopPart.model_validate(item, from_attributes=True)


def tree_of(part: TreePart, depth: int = 0) -> Tree:
    """The tree; MappingError where it has more splits inside each other than a text may have."""
    if depth > _DEEPEST:
        raise MappingError(f"splits inside more than {_DEEPEST} others")
    branches = tuple(tree_of(branch, depth + 1) for branch in part.branches)
    return Tree(tuple(map(item_of, part.items)), branches, part.operation)


def item_of(part: LoopPart | NodePart) -> Loop | Node:
    """The loop or the node."""
    if isinstance(part, NodePart):
        return Renews(part.memory, part.tensor) if part.renews else Node(part.memory, part.tensor)
    axis = Axis(part.axis.fanout, part.axis.index) if part.axis else None
    if part.renamed:
        return SharedLoop(part.dim, part.trips, axis, renamed=part.renamed)
    return Loop(part.dim, part.trips, axis)
