"""Source text of the loops of `run`, with a contraction in the middle, and passes where some are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....ir import Loop, MappingError
from ..parts.names import DEEPEST, comment, printable
from ..parts.steps import Step
from .contraction import Factor, contraction
from .passes import pass_ends, pass_repeats
from .schedule import Contracted, ProgramText, bare, place_of


class LoopText:
    """The text of the nest: loops, the transfers at every node, and contractions."""

    def __init__(self, schedule: ProgramText, indent: str = "") -> None:
        self.schedule, self.plan, self.problem = schedule, schedule.plan, schedule.problem
        self.items = self.plan.mapping.nest.items
        self.indent = indent
        self.pending: list[Step] = []

    def lines(self) -> list[str]:
        """Raises MappingError when the loops are more than Python can nest."""
        found = list(self._lines())
        self._check_depth(found)
        return found

    def _lines(self) -> Iterator[str]:
        python = {step.position: step for step in self.plan.python_loops}
        passes = {contracted.core.position: contracted for contracted in self.schedule.passes}
        ends: list[list[str]] = []
        for position, item in list(enumerate(self.items[: self.plan.last_node + 1]))[self.plan.shared :]:
            if position in passes:
                yield from self._flush()
                ends.append(self._indented(pass_ends(self.schedule, passes[position])))
                yield from self._begin_pass(passes[position])
            if position in python:
                self.pending.append(python[position])
            elif position in self.plan.buffers:
                yield from self._flush()
                yield from comment(str(item), self.indent)
                yield from self._indented(self.schedule.arrive_lines(self.plan.buffers[position]))
            elif isinstance(item, Loop) and item.trips > 1:
                yield from self._flush()
                text = f"{item}" if item.is_spatial else f"{item}: moves nothing from here on, so it is done below"
                yield from comment(text, self.indent)
        yield from self._flush()
        yield from comment("all MACs: " + (self._inner_text() or "one step"), self.indent)
        yield from self._indented(self._mac_lines())
        for lines in reversed(ends):
            yield from lines

    def _indented(self, lines: Iterator[str]) -> list[str]:
        return [self.indent + line for line in lines]

    # ---- contractions --------------------------------------------------------------------------------------

    def _mac_lines(self) -> Iterator[str]:
        """The innermost tile."""
        schedule, end = self.schedule, len(self.items)
        sums = schedule.starts(place_of(self.problem.output), end)
        yield f"{schedule.macs}.step({schedule.starts(schedule.edges, end)}, {sums})"
        yield from self._contraction_lines(schedule.mac)

    def _begin_pass(self, contracted: Contracted) -> Iterator[str]:
        yield from self._indented(pass_repeats(self.schedule, contracted))
        inside = "; ".join(
            f"for {step.dim} in {step.trips}" for step in self.plan.python_loops[contracted.core.depth :]
        )
        self.indent += "    "
        yield from comment(f"alike to a pass before it: all of {inside}", self.indent)
        yield from self._indented(self._contraction_lines(contracted))
        yield f"{self.indent[4:]}else:"

    def _contraction_lines(self, contracted: Contracted) -> Iterator[str]:
        """One contraction over all that is inside some loops, instances included."""
        schedule, core = self.schedule, contracted.core
        factors = []
        for tensor in self.problem.operands:
            buffer = core.buffers[tensor.name]
            index = schedule.index(tensor, buffer, core.position)
            factors.append(Factor(f"{contracted.views[tensor.name]}[{bare(index)}]", core.axes(buffer)))
        for dim, name in contracted.masks.items():
            axes = tuple(i for i, label in enumerate(core.labels) if label.dim == dim)
            factors.append(Factor(f"{name}[{schedule.start(dim, core.position)}]", axes))
        output = self.problem.output
        buffer = core.buffers[output.name]
        trips = [label.trips for label in core.labels]
        index = schedule.index(output, buffer, core.position)
        target = Factor(f"{contracted.views[output.name]}[{bare(index)}]", core.axes(buffer))
        statements, value = self._value(factors, target, trips)
        yield from statements
        yield schedule.combined(target.text, value)

    def _value(self, factors: list[Factor], target: Factor, trips: list[int]) -> tuple[list[str], str]:
        """Statements, and the expression of what is added to the output; the last factors are masks."""
        return contraction(factors, target.axes, trips)

    # ---- loops ---------------------------------------------------------------------------------------------

    def _flush(self) -> list[str]:
        """Lines of the loops that are pending; what follows is inside them."""
        lines = []
        for group in self._blocks(self.pending):
            ranges = [self.range_of(step) for step in group]
            names = ", ".join(self.schedule.loop[step] for step in group)
            texts = "; ".join(f"for {step.dim} in {step.trips}" for step in group)
            source = ranges[0] if len(group) == 1 else f"itertools.product({', '.join(ranges)})"
            lines.append(f"{self.indent}for {names} in {source}:  # {printable(texts)}")
            self.indent += "    "
        self.pending = []
        return lines

    def _blocks(self, steps: list[Step]) -> list[list[Step]]:
        """Loops that share one `for`: each its own, or as many as may be where the nest is too deep for Python."""
        if len(self.schedule.loop) <= DEEPEST:
            return [[step] for step in steps]
        blocks: list[list[Step]] = []
        for step in steps:
            if blocks and step.dim not in {s.dim for s in blocks[-1]}:
                blocks[-1].append(step)
            else:
                blocks.append([step])
        return blocks

    def range_of(self, step: Step) -> str:
        """Starts of the tiles of one loop: from the start of the tile outside, to its end or that of the dimension."""
        first = self.schedule.start(step.dim, step.position)
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

    def _check_depth(self, lines: Sequence[str]) -> None:
        depth = sum(line.lstrip().startswith("for ") for line in lines)
        if depth > DEEPEST:
            raise MappingError(
                f"a program for {len(self.schedule.loop)} temporal loops with nodes between them cannot be written: "
                f"Python nests {DEEPEST} at most, and these need {depth}",
                hint="join neighbouring loops over the same dimension",
            )
