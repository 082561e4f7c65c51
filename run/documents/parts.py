"""The parts that documents of mappings are made of: machines, problems, loops and nodes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PositiveInt, WithJsonSchema

from ...arch import Architecture, Fanout, Memory
from ...cost_models.sparse import densities_of
from ...ir import Axis, Loop, Node, Problem, ProblemError, Role, Tensor, TilewrightError
from ...ir.limits import LARGEST_COUNT
from .files import Strict

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

    kind   "loop"
    dim    name of the dimension
    trips  how many steps
    axis   whose instances take a step each; null: they are taken in time
    """

    kind: Literal["loop"] = "loop"
    dim: str
    trips: Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
    axis: AxisPart | None = None


class NodePart(Strict):
    """From here inwards, a memory holds the tile of a tensor that the loops further in touch.

    kind    "node"
    memory, tensor  their names
    """

    kind: Literal["node"] = "node"
    memory: str
    tensor: str


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


class ArchitecturePart(Architecture):
    """The whole specification of the machine, in base units."""

    # As the specification; but its levels are told apart by `kind`, for errors that speak of one of them only.

    levels: tuple[Annotated[Memory | Fanout, Field(discriminator="kind")], ...]


PART_MODELS = (ProblemPart, TensorPart, LoopPart, NodePart, AxisPart)
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
    tensors = tuple(
        TensorPart(name=t.name, role=t.role, ranks=t.ranks, bits=t.bits, partial_bits=t.partial_bits, density=t.density)
        for t in problem.tensors
    )
    return ProblemPart(name=problem.name, dims=problem.dims, tensors=tensors)


def plain(document: BaseModel) -> Any:
    """A document in Python's lists and dicts; without lines, banks and zeros, where there are none."""
    return _without_none(document.model_dump(mode="json"))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(part) for key, part in value.items() if key not in _RARE or part is not None}
    return [_without_none(part) for part in value] if isinstance(value, list) else value


_RARE = ("lines", "bank_cycles", "zeros", "density")


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


def item_part(item: Loop | Node) -> LoopPart | NodePart:
    """A loop or a node as it stands in a document."""
    if isinstance(item, Node):
        return NodePart(memory=item.memory, tensor=item.tensor)
    if item.axis is None:
        return LoopPart(dim=item.dim, trips=item.trips)
    axis = AxisPart.model_validate({"fanout": item.axis.fanout, "index": item.axis.index})
    return LoopPart(dim=item.dim, trips=item.trips, axis=axis)


def item_of(part: LoopPart | NodePart) -> Loop | Node:
    """The loop or the node."""
    if isinstance(part, NodePart):
        return Node(part.memory, part.tensor)
    return Loop(part.dim, part.trips, Axis(part.axis.fanout, part.axis.index) if part.axis else None)
