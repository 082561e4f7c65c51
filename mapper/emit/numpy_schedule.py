"""Source text of `run`: the buffers of a mapping, and its loops with the transfers between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...arch import Architecture
from ...ir import Loop, Mapping, MappingError, Rank, Tensor
from .contraction import Factor, contraction
from .direct import operand_shapes
from .names import Names, comment, printable, quoted
from .numpy_plan import Buffer, Plan, Step

DEEPEST = 20
"""Python allows as many blocks inside each other; in nests with more loops, neighbouring ones share one."""
LOCALS = (
    "operands",
    "kind",
    "output_kind",
    "macs",
    "left",
    "right",
    "result",
    "moved",
    "np",
    "itertools",
    "as_strided",
    "direct",
    "run",
)


class Schedule:
    """Names for everything in `run`, and the text of its parts."""

    def __init__(self, mapping: Mapping, arch: Architecture, taken: Sequence[str] = ()) -> None:
        self.plan = Plan.of(mapping, arch)
        self.problem = mapping.problem
        self.arch = arch
        names = Names((*taken, *LOCALS))
        self.loop = self._loop_names(names)
        self.buffer = {p: names.unique(f"{b.memory}_{b.tensor.name}") for p, b in self.plan.buffers.items()}
        inner = [p for p, b in self.plan.buffers.items() if b.boundary]
        self.outside = {p: names.unique(f"{self.buffer[p]}_outside") for p in inner}
        self.meter = {p: names.unique(f"{self.buffer[p]}_meter") for p in inner}
        self.drain = {p: names.unique(f"drain_{self.buffer[p]}") for p in inner}
        self.mac = {t: names.unique(f"mac_{t}") for t in self.plan.innermost}
        self.mask = {dim: names.unique(f"valid_{dim}") for dim in self.plan.masked()}
        self.mask_tiles = {dim: names.unique(f"mac_valid_{dim}") for dim in self.plan.masked()}

    def _loop_names(self, names: Names) -> dict[Step, str]:
        count = dict.fromkeys(self.problem.dim_names, 0)
        found = {}
        for step in self.plan.python_loops:
            found[step] = names.unique(f"{step.dim}{count[step.dim]}")
            count[step.dim] += 1
        return found

    # ---- where things are ----------------------------------------------------------------------------------

    def start(self, dim: str, position: int) -> str:
        """First index of a dimension, for instance 0, inside the loops above a position."""
        found = [name for step, name in self.loop.items() if step.dim == dim and step.position < position]
        return found[-1] if found else "0"

    def starts(self, dims: Sequence[str], position: int) -> str:
        """The starts of some dimensions as a tuple expression."""
        return _tuple([self.start(dim, position) for dim in dims])

    def index(self, tensor: Tensor, buffer: Buffer, position: int) -> str:
        """Where a tile begins in a buffer that holds a larger one, per tensor axis, as a tuple expression."""
        return _tuple([self._first(rank, buffer, position) for rank in tensor.ranks])

    def _first(self, rank: Rank, buffer: Buffer, position: int) -> str:
        terms = []
        for dim, coefficient in rank:
            start = self.start(dim, position)
            base = self.start(dim, buffer.position) if buffer.boundary else "0"
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

    # ---- buffers -------------------------------------------------------------------------------------------

    def buffer_lines(self) -> Iterator[str]:
        """One array per node; the outermost nodes hold whole tensors."""
        shapes = operand_shapes(self.problem)
        for position, buffer in self.plan.buffers.items():
            tensor, name = buffer.tensor, self.buffer[position]
            yield from comment(f"{buffer.memory} keeps {tensor}: {_extent(buffer)}")
            if buffer.boundary or tensor.is_output:
                yield f"{name} = np.zeros({buffer.shape}, kind)"
            else:
                key = quoted(tensor.name)
                yield f"{name} = padded(operands[{key}], {shapes[tensor.name]}, {buffer.shape}, kind)"
        for dim, name in self.mask.items():
            yield from comment(f"ones up to the end of {dim}, which no operand's zeros mark")
            yield f"{name} = (np.arange({self.plan.nominal[dim]}) < {self.problem.sizes[dim]}).astype(kind)"

    def view_lines(self) -> Iterator[str]:
        """One view per transfer: the tiles of the outer buffer that the inner one takes turns with."""
        for position, name in self.outside.items():
            buffer = self.plan.buffers[position]
            outer, tensor = self.outer(buffer), buffer.tensor
            steps = [s for s in self.between(buffer) if s.dim in tensor.dims or not tensor.is_output]
            spread = ", ".join(_spread(tensor, s.dim, s.trips, s.tile) for s in steps)
            source = self.buffer[outer.position]
            yield f"{name} = tiles({source}, {len(outer.spatial)}, [{spread}], {buffer.tile})"
        for tensor_name, name in self.mac.items():
            buffer = self.plan.innermost[tensor_name]
            labels = [self.plan.labels[axis] for axis in self._mac_axes(buffer)[len(buffer.spatial) :]]
            spread = ", ".join(_spread(buffer.tensor, x.dim, x.trips, x.tile) for x in labels)
            yield f"{name} = tiles({self.buffer[buffer.position]}, {len(buffer.spatial)}, [{spread}], ())"
        for dim, name in self.mask_tiles.items():
            spread = ", ".join(f"({label.trips}, 0, {label.tile})" for label in self.plan.labels if label.dim == dim)
            yield f"{name} = tiles({self.mask[dim]}, 0, [{spread}], ())"

    def _mac_axes(self, buffer: Buffer) -> tuple[int, ...]:
        """Labels of the axes of the MACs' view of a buffer: its instances, then what moves its tensor below."""
        of_loop = {label.position: i for i, label in enumerate(self.plan.labels) if label.position >= 0}
        instances = [of_loop[s.position] for s in buffer.spatial]
        inner = [
            i for i, label in enumerate(self.plan.labels) if label.dim in buffer.tensor.dims and i not in instances
        ]
        return (*instances, *inner)

    # ---- transfers -----------------------------------------------------------------------------------------

    def drain_lines(self) -> Iterator[str]:
        """A function per buffer of partial sums, which sends them outwards."""
        for position, name in self.drain.items():
            buffer = self.plan.buffers[position]
            if not buffer.tensor.is_output:
                continue
            outer, meter = self.outer(buffer), self.meter[position]
            axes = self._summed(buffer)
            value = self.buffer[position] + (f".sum(axis={axes})" if axes else "")
            yield ""
            yield f"def {name}() -> None:"
            yield from comment(f"{buffer.memory} -> {outer.memory}", "    ")
            yield f"    if {meter}.leave():"
            yield f"        {self.outside[position]}[{meter}.at] += {value}"

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
            self._outside_innermost(tensor, position),
        ]
        yield f"if {self.meter[position]}.fill({', '.join(arguments)}):"
        index = self.index(tensor, self.outer(buffer), position)
        yield f"    {self.buffer[position]}[...] = {self.outside[position]}[{_bare(index)}]"

    def _exchange_sums(self, buffer: Buffer) -> Iterator[str]:
        position, tensor = buffer.position, buffer.tensor
        place = self.starts(place_of(tensor), position)
        meter, name, outside = self.meter[position], self.buffer[position], self.outside[position]
        yield f"if {meter}.moves({place}, {self._outside_innermost(tensor, position)}):"
        for inner in reversed([p for p, b in self.plan.buffers.items() if b.tensor.is_output and p >= position]):
            yield f"    {self.drain[inner]}()"
        others = self.starts(self.others(tensor, position), position)
        index = self.index(tensor, self.outer(buffer), position)
        yield f"    returns = {meter}.enter({place}, {others}, at={index})"
        yield f"    {name}[...] = 0"
        yield "    if returns:"
        axes = self._summed(buffer)
        first = ", ".join("0" if i in axes else ":" for i in range(max(axes, default=-1) + 1)) or "..."
        yield f"        {name}[{first}] = {outside}[{meter}.at]"
        yield f"        {outside}[{meter}.at] = 0"

    def others(self, tensor: Tensor, position: int) -> tuple[str, ...]:
        """Dimensions that do not move the tensor, but have instances that may be idle."""
        spread = {s.dim for s in self.plan.spatial if s.position < position}
        return tuple(dim for dim in self.problem.dim_names if dim in spread and dim not in tensor.dims)

    def _outside_innermost(self, tensor: Tensor, position: int) -> str:
        """Where the loops outside the innermost moving one stand; where one that leaves the tensor as it is stands
        inside that and still makes the tile be transferred again (`reuse: at_node`), all loops."""
        serving = [s for s in self.loop if s.position < position and self.arch.loop_moves(s.dim, tensor)]
        if not serving:
            return "()"
        limit = serving[-1].position if serving[-1].dim in tensor.dims else position
        found = [self.start(dim, limit) for dim in self.problem.dim_names]
        return _tuple([name for name in found if name != "0"])

    def mac_lines(self) -> Iterator[str]:
        """The innermost tile: one contraction over it and all instances."""
        end = len(self.mapping_items)
        factors = []
        for tensor in self.problem.operands:
            buffer = self.plan.innermost[tensor.name]
            index = self.index(tensor, buffer, end)
            factors.append(Factor(f"{self.mac[tensor.name]}[{_bare(index)}]", self._mac_axes(buffer)))
        for dim, name in self.mask_tiles.items():
            axes = tuple(i for i, label in enumerate(self.plan.labels) if label.dim == dim)
            factors.append(Factor(f"{name}[{self.start(dim, end)}]", axes))
        output = self.problem.output
        buffer = self.plan.innermost[output.name]
        trips = [label.trips for label in self.plan.labels]
        statements, value = contraction(factors, self._mac_axes(buffer), trips)
        index = self.index(output, buffer, end)
        yield f"macs.step({self.starts(self.edges, end)}, {self.starts(place_of(output), end)})"
        yield from statements
        yield f"{self.mac[output.name]}[{_bare(index)}] += {value}"

    @property
    def mapping_items(self) -> tuple[object, ...]:
        return self.plan.mapping.nest.items

    @property
    def edges(self) -> tuple[str, ...]:
        """Dimensions that may end within the innermost tile."""
        return tuple(dim for dim in self.problem.dim_names if self.plan.is_ragged(dim))

    # ---- loops ---------------------------------------------------------------------------------------------

    def loop_lines(self) -> Iterator[str]:
        """The nest: loops, the transfers at every node, and the contraction in the middle."""
        python = {step.position: step for step in self.plan.python_loops}
        indent = ""
        pending: list[Step] = []
        for position, item in enumerate(self.mapping_items):
            if position > self.plan.last_node:
                break
            if isinstance(item, Loop):
                if position in python:
                    pending.append(python[position])
                elif item.trips > 1:
                    text = f"{item}" if item.is_spatial else f"{item}: moves nothing from here on, so it is done below"
                    pending_lines, indent = self._loops(pending, indent)
                    yield from pending_lines
                    pending = []
                    yield from comment(text, indent)
                continue
            pending_lines, indent = self._loops(pending, indent)
            yield from pending_lines
            pending = []
            yield from comment(str(item), indent)
            for line in self.arrive_lines(self.plan.buffers[position]):
                yield indent + line
        yield from comment("all MACs: " + (self._inner_text() or "one step"), indent)
        for line in self.mac_lines():
            yield indent + line

    def _loops(self, steps: list[Step], indent: str) -> tuple[list[str], str]:
        """Lines of some neighbouring loops, and the indentation inside them."""
        lines = []
        for group in self._blocks(steps):
            ranges = [self._range(step) for step in group]
            names = ", ".join(self.loop[step] for step in group)
            texts = "; ".join(f"for {step.dim} in {step.trips}" for step in group)
            source = ranges[0] if len(group) == 1 else f"itertools.product({', '.join(ranges)})"
            lines.append(f"{indent}for {names} in {source}:  # {printable(texts)}")
            indent += "    "
        return lines, indent

    def _blocks(self, steps: list[Step]) -> list[list[Step]]:
        """Loops that share one `for`: each its own, or as many as may be where the nest is too deep for Python."""
        if len(self.loop) <= DEEPEST:
            return [[step] for step in steps]
        blocks: list[list[Step]] = []
        for step in steps:
            if blocks and step.dim not in {s.dim for s in blocks[-1]}:
                blocks[-1].append(step)
            else:
                blocks.append([step])
        return blocks

    def _range(self, step: Step) -> str:
        """Starts of the tiles of one loop: from the start of the tile outside, to its end or that of the dimension."""
        first = self.start(step.dim, step.position)
        size = self.problem.sizes[step.dim]
        if first == "0":
            return f"range(0, {min(step.extent, size)}, {step.tile})"
        end = f"{first} + {step.extent}"
        if self.plan.is_ragged(step.dim):
            end = f"min({end}, {size})"
        return f"range({first}, {end}, {step.tile})"

    def _inner_text(self) -> str:
        parallel = [s for s in self.plan.spatial if s.position > self.plan.last_node]
        ordered = sorted((*parallel, *self.plan.inner_time), key=lambda s: s.position)
        return "; ".join(f"{'parallel' if s.spatial else 'for'} {s.dim} in {s.trips}" for s in ordered)

    def check_depth(self, lines: Sequence[str]) -> None:
        """Raises MappingError when the loops are more than Python can nest."""
        depth = sum(line.lstrip().startswith("for ") for line in lines)
        if depth > DEEPEST:
            raise MappingError(
                f"a program for {len(self.loop)} temporal loops with nodes between them cannot be written: "
                f"Python nests {DEEPEST} at most, and these need {depth}",
                hint="join neighbouring loops over the same dimension",
            )


def place_of(tensor: Tensor) -> tuple[str, ...]:
    """Dimensions of a tensor, axis by axis."""
    return tuple(dim for rank in tensor.ranks for dim, _ in rank)


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _bare(text: str) -> str:
    """A tuple expression as an index: without the parentheses where it may."""
    return text if text == "()" else text[1:-1].rstrip(",")


def _spread(tensor: Tensor, dim: str, trips: int, tile: int) -> str:
    for axis, rank in enumerate(tensor.ranks):
        for name, coefficient in rank:
            if name == dim:
                return f"({trips}, {axis}, {coefficient * tile})"
    return f"({trips}, None, 0)"


def _extent(buffer: Buffer) -> str:
    tile = " x ".join(map(str, buffer.tile)) or "1"
    instances = " x ".join(str(s.trips) for s in buffer.spatial)
    return f"{tile} words in each of {instances} instances" if instances else f"{tile} words"
