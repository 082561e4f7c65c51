"""Source text of operations whose visits are not all alike, since their readers see what they write through windows.

Each number of positions that a visit may make is a function of its own: an ordinary schedule of so many positions, on
the part of the buffers above that this visit works on. What a visit makes, and where it lies, depends on the step of
the windowed loop alone: a table. A node below that loop is an array of what readers ask for in one step; rows that it
keeps move up in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ....arch import Architecture
from ....cost_models.boundaries import chains_of
from ....cost_models.cascades import Way, left_boundaries
from ....cost_models.cascades.closed_form import above_the_split
from ....cost_models.cascades.visits import visit_mapping, whole_mapping
from ....cost_models.cascades.windows import exchange_of, keeps_rows, table_of_visits
from ....ir import Loop, Mapping, Place, Tensor
from ..parts.names import FreshNames, comment, quoted
from ..parts.steps import operand_shapes, steps_of
from .leaf import Leaf, unbounded_operands
from .meters import meter_lines
from .plan import NestPlan
from .schedule import LOCALS, PartOfTree, ProgramText, tuple_text

Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _Names:
    """Of one uneven operation: its table of visits, what a visit makes, and what counts the words of nodes above it."""

    visits: str
    made: str
    above: str


class UnevenText:
    """The text of one operation with uneven visits.

    loops   names of the tree's loops in time above splits
    names   of the whole program
    stays   tensors that are on chip before the run, or are left there
    others  all such operations of the tree, by name
    """

    def __init__(
        self,
        fused: Mapping,
        ways: dict[str, Way],
        name: str,
        arch: Architecture,
        loops: dict[Place, str],
        names: FreshNames,
        stays: frozenset[str] = frozenset(),
    ) -> None:
        way = ways[name]
        self.fused, self.ways, self.way, self.arch, self.loops = fused, ways, way, arch, loops
        self.stays = stays
        self.operation, self.path = way.operation, way.path
        self.problem, self.output = way.operation.problem, way.operation.output
        self.others: dict[str, UnevenText] = {}
        self.names = _Names(*(names.unique(f"{what}_{name}") for what in ("visits", "made", "meters_above")))
        self.tables = {dim: names.unique(f"{name}_{dim}") for dim in way.made}
        self.firsts = {dim: names.unique(f"{name}_{dim}_first") for dim in self._shared}
        self.counts = {dim: names.unique(f"{name}_{dim}_count") for dim in self._shared}
        self.functions = {sizes: names.unique(f"visit_{name}") for sizes in self.kinds}
        self.exchange = exchange_of(fused, way.path)

    @cached_property
    def _shared(self) -> dict[str, list[Place]]:
        """Dimensions that shared loops step over, with their loops."""
        found: dict[str, list[Place]] = {}
        for position, item in enumerate(self.path.mapping.nest.items[: self.path.starts[-1]]):
            if isinstance(item, Loop) and item.trips > 1:
                found.setdefault(item.dim, []).append(self.path.places[position])
        return found

    @cached_property
    def kinds(self) -> list[Sizes]:
        """Positions of the shared dimensions that any visit works on."""
        every = []
        for dim in sorted(self._shared):
            if dim in self.way.made:
                numbers = {len(new) for new in self.way.made[dim].new}
            else:
                numbers = {self._tile(dim), self.problem.sizes[dim] % self._tile(dim)}
            every.append([(dim, number) for number in sorted(numbers - {0})])
        return list(itertools.product(*every))

    def _tile(self, dim: str) -> int:
        """Positions of a plain shared dimension in one visit."""
        own = self.path.mapping.nest.items[self.path.starts[-1] :]
        return math.prod(item.trips for item in own if isinstance(item, Loop) and item.dim == dim)

    # ---- functions -----------------------------------------------------------------------------------------

    def function_lines(self, taken: list[str]) -> Iterator[str]:
        """One function for each kind of visit, what counts its words, and the tables."""
        for sizes, name in self.functions.items():
            yield from self._function(dict(sizes), name, taken)
            yield from ("", "")
        pairs = ", ".join(f"{tuple(n for _, n in sizes)}: {name}" for sizes, name in self.functions.items())
        yield from comment(
            f"{self.operation.name}: by the positions that a visit makes along " + ", ".join(self.kind_dims)
        )
        yield f"{self.names.visits.upper()} = {{{pairs}}}"
        for dim, table in self.tables.items():
            yield from comment(
                f"{dim}: per step of its loop, the first position asked for, that is made, and how many are"
            )
            yield f"{table.upper()} = {self._rows(dim)}"

    @property
    def kind_dims(self) -> list[str]:
        """The dimensions that tell visits apart."""
        return sorted(self._shared)

    def _rows(self, dim: str) -> list[tuple[int, int, int]]:
        return table_of_visits(self.fused, self.operation, dim, {name: way.made for name, way in self.ways.items()})

    def _function(self, sizes: dict[str, int], name: str, taken: list[str]) -> Iterator[str]:
        mapping = visit_mapping(self.path, sizes)
        plan = NestPlan(mapping, self.arch, steps_of(mapping), tuple(chains_of(mapping, self.arch)), edges=True)
        schedule = ProgramText(PartOfTree(plan, FreshNames((*taken, *LOCALS)), maximum=self._is_maximum))
        meters = f"meters_{name}"
        yield from meter_lines(schedule, meters)
        yield from ("", "")
        yield f"def {name}(operands: dict[str, np.ndarray], counted: list[Any]) -> np.ndarray:"
        shown = ", ".join(f"{n} of {dim}" for dim, n in sizes.items())
        yield f'    """One visit of {self.operation.name} that makes {shown}."""'
        yield from (f"    {line}" if line else "" for line in self._body(schedule, meters))

    def _body(self, schedule: ProgramText, meters: str) -> Iterator[str]:
        buffers = schedule.plan.buffers
        output = next(b for b in buffers.values() if b.tensor.is_output and b.boundary is None)
        shapes = operand_shapes(schedule.problem)
        yield "kind = np.float64"
        for position, buffer in buffers.items():
            name = schedule.buffer[position]
            yield from comment(f"{buffer.memory} keeps {buffer.tensor}")
            if buffer.boundary or buffer.tensor.is_output:
                yield f"{name} = np.zeros({buffer.shape}, kind)"
            else:
                extents = shapes[buffer.tensor.name]
                given = f"operands[{quoted(buffer.tensor.name)}]"
                yield f"{name} = placed({given}, {extents}, {(0,) * len(extents)}, {buffer.shape}, kind)"
        if self._is_maximum:
            yield f"{schedule.buffer[output.position]}[...] = {schedule.identity}"
        yield from schedule.view_lines()
        names = (*schedule.meter.values(), schedule.macs)
        yield f"{', '.join(names)}{',' * (len(names) == 1)} = here = {meters}()"
        yield "counted.extend(here)"
        yield from schedule.drain_lines()
        yield ""
        yield from Leaf(schedule, self.operation, "", unbounded_operands(self.fused.cascade, self.operation)).lines()
        for position, buffer in reversed(buffers.items()):
            if buffer.tensor.is_output and buffer.boundary:
                yield f"{schedule.drain[position]}()"
        ends = ", ".join(f":{schedule.problem.sizes[rank[0][0]]}" for rank in self.output.ranks)
        yield f"return np.asarray({schedule.buffer[output.position]}[{ends or '...'}])"

    @property
    def _is_maximum(self) -> bool:
        return self.operation.reduction == "max"

    # ---- nodes above the split -----------------------------------------------------------------------------

    @cached_property
    def filled(self) -> dict[Place, tuple[str, int]]:
        """Nodes above the split that this operation alone fills: tensor and position."""
        return {self.way.place(b.inner_position): (b.tensor.name, b.inner_position) for b in above_the_split(self.way)}

    def plan_above(self, tensor: str) -> NestPlan:
        """What the nodes of a tensor above the split hold, and when they are filled."""
        mapping = whole_mapping(self.path, tensor)
        boundaries = tuple(left_boundaries(mapping, self.arch, self.stays))
        return NestPlan(mapping, self.arch, steps_of(mapping), boundaries, self.path.starts[-1])

    def schedule_above(self, tensor: str, views: dict[int, str], names: FreshNames) -> ProgramText:
        """The text that fills them; `views` are the names of their arrays, by position."""
        plan = self.plan_above(tensor)
        shared = {i: self.loops[place] for i, place in enumerate(self.path.places) if place in self.loops}
        mine = frozenset(position for name, position in self.filled.values() if name == tensor)
        return ProgramText(PartOfTree(plan, names, shared | views, self._is_maximum, mine))

    # ---- where things lie ----------------------------------------------------------------------------------

    def output_shape(self, origin: tuple[int, ...]) -> tuple[int, ...]:
        """The array of the node where the output passes to its readers."""
        readers = self.fused.cascade.consumers[self.output.name]
        found = []
        for i, ((dim, _),) in enumerate(self.output.ranks):
            if self.is_sliding(dim):
                found.append(self.way.made[dim].span)
                continue
            above = [place for place in self._shared.get(dim, ()) if place < self.exchange]
            tile = self._tile(dim) if above else self.problem.sizes[dim]
            found.append(origin[i] + tile + max(reader.pad(self.output.name, i)[1] for reader in readers))
        return tuple(found)

    def is_sliding(self, dim: str) -> bool:
        """Whether the exchange node holds what is asked for in one step of a windowed loop."""
        return dim in self.way.made and self.way.made[dim].place < self.exchange

    def renew_lines(self, array: str) -> Iterator[str]:
        """What happens at the exchange node when a loop above it steps: rows that are kept move up."""
        if not any(place < self.exchange for places in self._shared.values() for place in places):
            return
        kept = [d for d in self.way.made if self.is_sliding(d) and self._keeps(d)]
        if not kept:
            yield f"{array}[...] = 0"
            return
        (dim,) = kept
        axis = next(i for i, ((own, _),) in enumerate(self.output.ranks) if own == dim)
        yield f"moved_up({array}, {axis}, {self.tables[dim].upper()}, {self.step(dim)})"

    def _keeps(self, dim: str) -> bool:
        return keeps_rows(self.fused, self.arch, self.path, self.way.made[dim].place)

    def step(self, dim: str) -> str:
        """The number of the step that a windowed loop is at."""
        place = self.way.made[dim].place
        path = next(p for p in self.fused.paths.values() if place in p.places and not p.windows)
        position = path.places.index(place)
        loop = path.mapping.nest.items[position]
        assert isinstance(loop, Loop)
        inner = (item for item in path.mapping.nest.items[position + 1 :] if isinstance(item, Loop))
        tile = math.prod(item.trips for item in inner if item.dim == loop.dim)
        return f"{self.loops[place]} // {tile}" if tile > 1 else self.loops[place]

    def visit_lines(self, homes: dict[str, tuple[str, Place, tuple[int, ...]]], finish: str | None) -> Iterator[str]:
        """One visit, wherever the loops above stand.

        homes   by tensor: the array that it is in above the branch, its node, and where its first position lies in it
        finish  the function of what is done with the words that it makes, if anything
        """
        for dim in self._shared:
            if dim in self.tables:
                yield f"_, {self.firsts[dim]}, {self.counts[dim]} = {self.tables[dim].upper()}[{self.step(dim)}]"
            else:
                start = self._start(dim)
                yield f"{self.firsts[dim]} = {start}"
                yield f"{self.counts[dim]} = min({self._tile(dim)}, {self.problem.sizes[dim]} - {start})"
        counts = [self.counts[dim] for dim in self.kind_dims]
        yield f"if {' and '.join(f'{count} > 0' for count in counts)}:"
        parts = ", ".join(f"{quoted(t.name)}: {self._part(t, *homes[t.name])}" for t in self.problem.operands)
        key = f"({', '.join(counts)}{',' * (len(counts) == 1)})"
        yield f"    {self.names.made} = {self.names.visits.upper()}[{key}]({{{parts}}}, counted)"
        made = self.names.made
        if finish is not None:
            first = tuple_text([self.firsts.get(dim, "0") for ((dim, _),) in self.output.ranks])
            made = f"finished({made}, {finish}, parameters, {first})"
        yield f"    {self._part(self.output, *homes[self.output.name])} = {made}"

    def _start(self, dim: str, above: Place | None = None) -> str:
        """The first position of a plain shared dimension, by the loops above a node, or all of them."""
        found = [self.loops[place] for place in self._shared.get(dim, ()) if above is None or place < above]
        return found[-1] if found else "0"

    def _part(self, tensor: Tensor, array: str, place: Place, origin: tuple[int, ...]) -> str:
        """The part of an array that a visit works on."""
        slices = []
        for i, rank in enumerate(tensor.ranks):
            before = 0 if tensor.is_output else self.operation.pad(tensor.name, i)[0]
            terms = [_times(c, self.firsts.get(dim, "0")) for dim, c in rank]
            reach = [_times(c, f"({self._count(dim)} - 1)") for dim, c in rank]
            first = " + ".join([*(t for t in terms if t != "0"), *([f"-{before}"] if before else [])]) or "0"
            base = self._base(tensor, i, place, origin)
            begin = first if base == "0" else f"{first} - ({base})"
            slices.append(f"slice({begin}, {begin} + {' + '.join(reach)} + 1)" if rank else "slice(0, 1)")
        return f"{array}[{', '.join(slices) or '...'}]"

    def _count(self, dim: str) -> str:
        return self.counts.get(dim) or str(self.problem.sizes[dim])

    def _base(self, tensor: Tensor, rank: int, place: Place, origin: tuple[int, ...]) -> str:
        """The position of a tensor that lies first in the array of a node."""
        table = self._sliding_table(tensor, rank, place)
        if table is not None:
            return table
        terms = [_times(c, self._start(dim, place)) for dim, c in tensor.ranks[rank] if dim not in self.tables]
        terms = [term for term in terms if term != "0"]
        return " + ".join([*terms, *([f"-{origin[rank]}"] if origin[rank] else [])]) or "0"

    def _sliding_table(self, tensor: Tensor, rank: int, place: Place) -> str | None:
        """What readers ask for first in this step, where the array has just that."""
        producer = self.fused.cascade.producers.get(tensor.name)
        other = None if producer is None else self.others.get(producer.name)
        if other is None or place != other.exchange:
            return None
        ((dim, _),) = other.output.ranks[rank]
        return f"{other.tables[dim].upper()}[{other.step(dim)}][0]" if other.is_sliding(dim) else None


def _times(coefficient: int, value: str) -> str:
    if value == "0":
        return value
    return f"{coefficient} * {value}" if coefficient > 1 else value
