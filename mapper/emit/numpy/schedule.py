"""Source text of `run`: the buffers of a mapping, their views, and the transfers between them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Mapping as Mapping_
from dataclasses import dataclass, field

from ....ir import Rank, StartValue, Tensor
from ..parts.names import FreshNames, comment
from ..parts.steps import Step
from .plan import Buffer, Core, NestPlan

LOCALS = (
    "operands",
    "kind",
    "output_kind",
    "left",
    "right",
    "result",
    "moved",
    "counted",
    "counted_here",
    "every_step",
    "here",
    "parameters",
    "points",
    "returns",
    "step",
    "tensors",
    "np",
    "itertools",
    "as_strided",
    "direct",
    "run",
)


@dataclass(frozen=True)
class Contracted:
    """A contraction with its names: of itself, of its view of each tensor's buffer, and of its masks by dimension."""

    name: str
    core: Core
    views: dict[str, str]
    masks: dict[str, str]


@dataclass(frozen=True)
class PartOfTree:
    """An operation's way through a tree.

    plan     of the way
    names    of the whole program
    shared   names that loops and nodes have that are not the operation's alone, by position
    maximum  whether words are combined by their maximum, and not by their sum
    start    what words are before the first step, where each step puts the next generation in their place
    filled   positions of the nodes whose words are counted here; None: all but the outermost
    """

    plan: NestPlan
    names: FreshNames
    shared: Mapping_[int, str] = field(default_factory=dict)
    maximum: bool = False
    filled: frozenset[int] | None = None
    start: StartValue | None = None

    @property
    def combining(self) -> tuple[str, str]:
        """What words begin with, and how others are combined with them; "last" takes their place."""
        if self.start is not None:
            return value_text(self.start), "last"
        return ("-np.inf", "max") if self.maximum else ("0", "sum")


class ProgramText:
    """Names for everything that one operation has in `run`, and the text of its parts.

    part    what it is of
    depths  of its passes
    """

    def __init__(self, part: PartOfTree, depths: Collection[int] = ()) -> None:
        self.plan, names, shared = part.plan, part.names, part.shared
        self.problem = part.plan.problem
        self.arch = part.plan.arch
        self.identity, self.reduction = part.combining
        self.macs = names.unique(f"macs_{self.problem.name}")
        self.loop = self._loop_names(names, shared)
        self.buffer = {
            p: shared.get(p) or names.unique(f"{b.memory}_{b.tensor.name}") for p, b in self.plan.buffers.items()
        }
        inner = [p for p, b in self.plan.buffers.items() if b.boundary and (part.filled is None or p in part.filled)]
        self.outside = {p: names.unique(f"{self.buffer[p]}_outside") for p in inner}
        self.meter = {p: names.unique(f"{self.buffer[p]}_meter") for p in inner}
        self.drain = {p: names.unique(f"drain_{self.buffer[p]}") for p in inner}
        self.mask = {dim: names.unique(f"valid_{dim}") for dim in self.plan.masked()}
        self.mac = self._at("mac", self.plan.core(len(self.plan.python_loops)), names)
        self.passes = [self._at(f"pass{i}", self.plan.core(depth), names) for i, depth in enumerate(sorted(depths), 1)]

    def _at(self, what: str, core: Core, names: FreshNames) -> Contracted:
        views = {tensor: names.unique(f"{what}_{tensor}") for tensor in core.buffers}
        masks = {dim: names.unique(f"{what}_valid_{dim}") for dim in self.mask}
        return Contracted(names.unique(what), core, views, masks)

    def _loop_names(self, names: FreshNames, shared: Mapping_[int, str]) -> dict[Step, str]:
        count = dict.fromkeys(self.problem.dim_names, 0)
        found = {}
        for step in self.plan.python_loops:
            found[step] = shared.get(step.position) or names.unique(f"{step.dim}{count[step.dim]}")
            count[step.dim] += 1
        return found

    # ---- where things are ----------------------------------------------------------------------------------

    def start(self, dim: str, position: int) -> str:
        """First index of a dimension, for instance 0, inside the loops above a position."""
        found = [name for step, name in self.loop.items() if step.dim == dim and step.position < position]
        return found[-1] if found else "0"

    def starts(self, dims: Sequence[str], position: int) -> str:
        """The starts of some dimensions as a tuple expression."""
        return tuple_text([self.start(dim, position) for dim in dims])

    def index(self, tensor: Tensor, buffer: Buffer, position: int) -> str:
        """Where a tile begins in a buffer that holds a larger one, per tensor axis, as a tuple expression."""
        return tuple_text([self._first(rank, buffer, position) for rank in tensor.ranks])

    def _first(self, rank: Rank, buffer: Buffer, position: int) -> str:
        terms = []
        for dim, coefficient in rank:
            start = self.start(dim, position)
            base = self.start(dim, buffer.position) if not buffer.whole else "0"
            if start == base:
                continue
            shift = start if base == "0" else f"{start} - {base}"
            if coefficient > 1:
                shift = f"{coefficient} * ({shift})" if " " in shift else f"{coefficient} * {shift}"
            terms.append(shift)
        return " + ".join(terms) or "0"

    def outer(self, buffer: Buffer) -> Buffer:
        """The next buffer outwards."""
        assert buffer.boundary is not None
        return self.plan.buffers[buffer.boundary.outer_position]

    def between(self, buffer: Buffer) -> tuple[Step, ...]:
        """Spatial loops between a buffer and the next one outwards."""
        outer = self.outer(buffer)
        return tuple(s for s in buffer.spatial if s.position > outer.position)

    def range_of(self, step: Step) -> str:
        """Return the Python range over the starts of a loop's tiles: from the start of the tile outside to its end, or
        to that of the dimension."""
        first = self.start(step.dim, step.position)
        size = self.problem.sizes[step.dim]
        if first == "0":
            return f"range(0, {min(step.extent, size)}, {step.tile})"
        end = f"{first} + {step.extent}"
        if self.plan.is_ragged(step.dim):
            end = f"min({end}, {size})"
        return f"range({first}, {end}, {step.tile})"

    # ---- buffers -------------------------------------------------------------------------------------------

    def mask_lines(self) -> Iterator[str]:
        """One array per dimension whose end no operand marks."""
        for dim, name in self.mask.items():
            yield from comment(f"ones up to the end of {dim}, which no operand's zeros mark")
            yield f"{name} = (np.arange({self.plan.nominal[dim]}) < {self.problem.sizes[dim]}).astype(kind)"

    def view_lines(self) -> Iterator[str]:
        """The masks, one view per transfer, and of what is contracted."""
        yield from self.mask_lines()
        yield from self.outside_lines()
        for contracted in (*self.passes, self.mac):
            yield from self._contracted_views(contracted)

    def outside_lines(self) -> Iterator[str]:
        """One view per transfer: the tiles of the outer buffer that the inner one takes turns with."""
        for position, name in self.outside.items():
            buffer = self.plan.buffers[position]
            outer, tensor = self.outer(buffer), buffer.tensor
            steps = [s for s in self.between(buffer) if s.dim in tensor.dims or not tensor.is_output]
            spread = ", ".join(_spread(tensor, s.dim, s.trips, s.tile) for s in steps)
            source = self.buffer[outer.position]
            yield f"{name} = tiles({source}, {len(outer.spatial)}, [{spread}], {buffer.tile})"

    def _contracted_views(self, contracted: Contracted) -> Iterator[str]:
        core = contracted.core
        for tensor_name, name in contracted.views.items():
            buffer = core.buffers[tensor_name]
            labels = [core.labels[axis] for axis in core.axes(buffer)[len(buffer.spatial) :]]
            spread = ", ".join(_spread(buffer.tensor, x.dim, x.trips, x.tile) for x in labels)
            yield f"{name} = tiles({self.buffer[buffer.position]}, {len(buffer.spatial)}, [{spread}], ())"
        for dim, name in contracted.masks.items():
            spread = ", ".join(f"({label.trips}, 0, {label.tile})" for label in core.labels if label.dim == dim)
            yield f"{name} = tiles({self.mask[dim]}, 0, [{spread}], ())"

    # ---- transfers -----------------------------------------------------------------------------------------

    def drain_lines(self) -> Iterator[str]:
        """A function per buffer of partial sums, which sends them outwards."""
        for position, name in self.drain.items():
            buffer = self.plan.buffers[position]
            if not buffer.tensor.is_output:
                continue
            outer, meter = self.outer(buffer), self.meter[position]
            yield ""
            yield f"def {name}() -> None:"
            yield from comment(f"{buffer.memory} -> {outer.memory}", "    ")
            yield f"    if {meter}.leave():"
            yield f"        {self.sums_leave(buffer)}"

    def sums_leave(self, buffer: Buffer) -> str:
        """The statement that adds the sums of a buffer to those in the outer one."""
        axes = self._summed(buffer)
        value = self.buffer[buffer.position] + (f".{self.reduction}(axis={axes})" if axes else "")
        return self.combined(f"{self.outside[buffer.position]}[{self.meter[buffer.position]}.at]", value)

    def combined(self, target: str, value: str) -> str:
        """The statement that combines some words with those that are there."""
        if self.reduction == "last":
            return f"{target} = {value}"
        return f"{target} += {value}" if self.reduction == "sum" else f"{target} = np.maximum({target}, {value})"

    def _summed(self, buffer: Buffer) -> tuple[int, ...]:
        """Axes of instances that deliver to the same place."""
        between = self.between(buffer)
        return tuple(i for i, s in enumerate(buffer.spatial) if s in between and s.dim not in buffer.tensor.dims)

    def arrive_lines(self, buffer: Buffer) -> Iterator[str]:
        """What happens at a node: its tile is exchanged when it changes."""
        if buffer.boundary is None:
            return
        if buffer.tensor.is_output:
            yield from self._exchange_sums(buffer)
            return
        position, tensor = buffer.position, buffer.tensor
        arguments = [
            self.starts(place_of(tensor), position),
            self.starts(self.others(tensor, position), position),
            self.outside_innermost(tensor, position),
        ]
        yield f"if {self.meter[position]}.fill({', '.join(arguments)}):"
        index = self.index(tensor, self.outer(buffer), position)
        yield f"    {self.buffer[position]}[...] = {self.outside[position]}[{bare(index)}]"

    def _exchange_sums(self, buffer: Buffer) -> Iterator[str]:
        position, tensor = buffer.position, buffer.tensor
        place = self.starts(place_of(tensor), position)
        meter, name, outside = self.meter[position], self.buffer[position], self.outside[position]
        index = self.index(tensor, self.outer(buffer), position)
        yield f"if {meter}.moves({place}, {self.outside_innermost(tensor, position)}, at={index}):"
        for inner in reversed([p for p, b in self.plan.buffers.items() if b.tensor.is_output and p >= position]):
            yield f"    {self.drain[inner]}()"
        others = self.starts(self.others(tensor, position), position)
        yield f"    returns = {meter}.enter({place}, {others}, at={index})"
        yield f"    {name}[...] = {self.identity}"
        yield "    if returns:"
        axes = self._summed(buffer)
        first = ", ".join("0" if i in axes else ":" for i in range(max(axes, default=-1) + 1)) or "..."
        yield f"        {name}[{first}] = {outside}[{meter}.at]"
        yield f"        {outside}[{meter}.at] = {self.identity}"

    def others(self, tensor: Tensor, position: int) -> tuple[str, ...]:
        """Dimensions that do not move the tensor, but have instances that may be idle."""
        spread = {s.dim for s in self.plan.spatial if s.position < position}
        return tuple(dim for dim in self.problem.dim_names if dim in spread and dim not in tensor.dims)

    def outside_innermost(self, tensor: Tensor, position: int, within: int | None = None) -> str:
        """Where the loops outside the innermost moving one stand; where one that leaves the tensor as it is stands
        inside that and still makes the tile be transferred again (`reuse: at_node`), all loops.

        within  a position: as the loops stand when those from there on begin
        """
        serving = [s for s in self.loop if s.position < position and self.arch.loop_moves(s.dim, tensor)]
        if not serving:
            return "()"
        limit = serving[-1].position if serving[-1].dim in tensor.dims else position
        dims = [dim for dim in self.problem.dim_names if self.start(dim, limit) != "0"]
        return self.starts(dims, limit if within is None else min(limit, within))

    @property
    def edges(self) -> tuple[str, ...]:
        """Dimensions that may end within the innermost tile."""
        return tuple(dim for dim in self.problem.dim_names if self.plan.is_ragged(dim))


def value_text(value: StartValue) -> str:
    """A number, as numpy writes it."""
    return repr(value) if math.isfinite(value) else "-np.inf" if value < 0 else "np.inf"


def place_of(tensor: Tensor) -> tuple[str, ...]:
    """Dimensions of a tensor, axis by axis."""
    return tuple(dim for rank in tensor.ranks for dim, _ in rank)


def tuple_text(parts: Sequence[str]) -> str:
    """A tuple expression."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def bare(text: str) -> str:
    """A tuple expression as an index: without the parentheses where it may."""
    return text if text == "()" else text[1:-1].rstrip(",")


def _spread(tensor: Tensor, dim: str, trips: int, tile: int) -> str:
    for axis, rank in enumerate(tensor.ranks):
        for name, coefficient in rank:
            if name == dim:
                return f"({trips}, {axis}, {coefficient * tile})"
    return f"({trips}, None, 0)"
