"""The schedule of a mapping, as a numpy program executes it.

Loops fall in three kinds: temporal loops that stay Python loops, spatial loops, which are axes of the buffers below
them, and the loops of the innermost tile, which are axes of one contraction.

    for k0 in ...             temporal, above a node
        # GLB keeps I         a buffer, filled here
        (parallel ...)        an axis of the buffers below
        for c1 in ...
            # spad keeps I W O
            (for r, s)        axes of the contraction

A large layer has too many steps for Python. Its program has passes (`passes.py`): all that is inside some of the
Python loops is a contraction too, on the buffers outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ....arch import Architecture
from ....cost_models.boundaries import Boundary
from ....ir import Loop, Mapping, Problem, Tensor
from ..parts.steps import Step, span


@dataclass(frozen=True)
class Label:
    """An axis of the contraction: one spatial loop above a node, or neighbouring digits of a dimension below all."""

    dim: str
    trips: int
    tile: int
    position: int


@dataclass(frozen=True)
class Core:
    """What is inside the first `depth` Python loops, as one contraction.

    position  of the first item of the nest that it has in it, but for nodes that nothing moves
    buffers   of each tensor, the one that it works on: the innermost of those outside
    labels    its axes
    """

    depth: int
    position: int
    buffers: dict[str, Buffer]
    labels: tuple[Label, ...]

    def axes(self, buffer: Buffer) -> tuple[int, ...]:
        """Labels of the axes of its view of a buffer: the buffer's instances, then what moves its tensor below."""
        of_loop = {label.position: i for i, label in enumerate(self.labels) if label.position >= 0}
        instances = [of_loop[s.position] for s in buffer.spatial]
        dims = buffer.tensor.dims
        inner = [i for i, label in enumerate(self.labels) if label.dim in dims and i not in instances]
        return (*instances, *inner)

    @property
    def points(self) -> int:
        """Of the operation, in one contraction."""
        return math.prod(label.trips for label in self.labels)

    @property
    def elements(self) -> list[int]:
        """Of its view of each buffer."""
        trips = [label.trips for label in self.labels]
        return [math.prod(trips[axis] for axis in self.axes(buffer)) for buffer in self.buffers.values()]


@dataclass(frozen=True)
class Buffer:
    """What the instances of one storage node hold.

    boundary  towards the next node outwards; None for the outermost node
    below     elements of each dimension that one instance's tile spans, ragged edges included
    spatial   loops above the node: one axis of the buffer each
    whole     whether it holds the whole tensor, and not the tile below the node
    """

    tensor: Tensor
    memory: str
    position: int
    boundary: Boundary | None
    below: dict[str, int]
    spatial: tuple[Step, ...]
    whole: bool = False

    @property
    def tile(self) -> tuple[int, ...]:
        """Extent per tensor axis; a sum of dimensions spans its whole range."""
        return tuple(span(rank, self.below) for rank in self.tensor.ranks)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*(step.trips for step in self.spatial), *self.tile)


@dataclass(frozen=True)
class NestPlan:
    """A mapping, sorted into what each part of the program needs.

    shared      position in the nest above which loops are shared with other operations, and stay Python loops
    exchanges   positions of outermost nodes that hold the tile of an intermediate
    edges       whether the ends of all dimensions are marked: other operations read what lies beyond
    """

    mapping: Mapping
    arch: Architecture
    steps: tuple[Step, ...]
    boundaries: tuple[Boundary, ...]
    shared: int = 0
    exchanges: frozenset[int] = frozenset()
    edges: bool = False

    @property
    def problem(self) -> Problem:
        return self.mapping.problem

    @cached_property
    def nominal(self) -> dict[str, int]:
        """Elements per dimension when the ragged last tile is counted as a whole one."""
        return self.extents(self.steps)

    def extents(self, steps: Iterable[Step]) -> dict[str, int]:
        """Elements per dimension that some loops cover together."""
        found = dict.fromkeys(self.problem.dim_names, 1)
        for step in steps:
            found[step.dim] *= step.trips
        return found

    @cached_property
    def last_node(self) -> int:
        return max(b.outer_position for b in self.boundaries)

    @cached_property
    def python_loops(self) -> tuple[Step, ...]:
        """Temporal loops above the innermost node, but for those just above that move no tile of the nodes below.

        Such a loop makes nothing move, so the nodes may as well be filled before it, and it joins the contraction:
        unless the machine transfers tiles again at its steps (`reuse: at_node`).
        """
        last = max(self.last_node, self.shared)
        above = {s.position: s for s in self.steps if not s.spatial and s.position < last}
        kept = dict(above)
        moving: set[str] = set()
        items = self.mapping.nest.items
        for position in range(self.last_node, self.shared - 1, -1):
            item = items[position]
            if not isinstance(item, Loop):
                tensor = self.problem.tensor(item.tensor)
                moving |= {dim for dim in self.problem.dim_names if self.arch.loop_moves(dim, tensor)}
            elif position in above:
                if item.dim in moving:
                    break
                del kept[position]
        return tuple(kept.values())

    @property
    def steps_at_most(self) -> int:
        """Trips of the Python loops; fewer run where ragged edges cut some of them short."""
        return math.prod(step.trips for step in self.python_loops)

    @cached_property
    def spatial(self) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if s.spatial)

    @cached_property
    def inner_time(self) -> tuple[Step, ...]:
        """Temporal loops that are part of the contraction."""
        python = set(self.python_loops)
        return tuple(s for s in self.steps if not s.spatial and s not in python)

    @cached_property
    def buffers(self) -> dict[int, Buffer]:
        """By position of the node, outermost first."""
        inner = {b.inner_position: b for b in self.boundaries}
        found = {b.outer_position: self._buffer(b, inner.get(b.outer_position)) for b in self.boundaries}
        return dict(sorted(found.items()))

    def _buffer(self, below: Boundary, above: Boundary | None) -> Buffer:
        """The outermost node holds the whole tensor, wherever it stands, but where operations exchange their tiles."""
        position = below.outer_position
        whole = above is None and position not in self.exchanges
        return Buffer(
            tensor=below.tensor,
            memory=below.outer.name,
            position=position,
            boundary=above,
            below=self.extents(s for s in self.steps if whole or s.position > position),
            spatial=tuple(s for s in self.spatial if s.position < position),
            whole=whole,
        )

    def core(self, depth: int) -> Core:
        """What is inside the first `depth` Python loops; inside all of them, the innermost tile."""
        inside = self.python_loops[depth:]
        position = inside[0].position if inside else len(self.mapping.nest.items)
        buffers: dict[str, Buffer] = {}
        for buffer in self.buffers.values():
            if buffer.boundary is None or buffer.position < position:
                buffers[buffer.tensor.name] = buffer
        return Core(depth, position, buffers, self._labels(self.python_loops[:depth], buffers))

    def _labels(self, outside: tuple[Step, ...], buffers: dict[str, Buffer]) -> tuple[Label, ...]:
        last_node = max(buffer.position for buffer in buffers.values())
        found: list[Label] = []
        for step in sorted(self.steps, key=lambda s: (self.problem.dim_names.index(s.dim), -s.tile)):
            if step in outside:
                continue
            above_node = step.spatial and step.position < last_node
            label = Label(step.dim, step.trips, step.tile, step.position if above_node else -1)
            last = found[-1] if found else None
            if last and last.position == label.position == -1 and last.dim == step.dim and last.tile == step.extent:
                found[-1] = Label(step.dim, last.trips * step.trips, step.tile, -1)
            else:
                found.append(label)
        return tuple(found)

    def is_ragged(self, dim: str) -> bool:
        return self.nominal[dim] > self.problem.sizes[dim]

    def masked(self) -> tuple[str, ...]:
        """Dimensions whose end no operand's zeros mark, or that move no operand: they need an operand of ones."""
        plain = {rank[0][0] for t in self.problem.operands for rank in t.ranks if len(rank) == 1}
        any_rank = {dim for t in self.problem.operands for dim in t.dims}
        output = self.problem.output.dims
        return tuple(
            dim
            for dim in self.problem.dim_names
            if (dim not in any_rank and self.nominal[dim] > 1)
            or (self.is_ragged(dim) and (self.edges or (dim not in plain and dim not in output)))
        )

    def reductions(self) -> int:
        """Products that are summed in one output element."""
        return math.prod(n for dim, n in self.problem.dims if dim not in self.problem.output.dims)
