"""Source text of a branch: the loops and nodes of an operation, what is done at its points, and passes where some are
asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ....ir import Cascade, Loop, MappingError, Operation
from ..parts.names import DEEPEST, comment, printable
from ..parts.steps import Step
from .contraction import Factor, contraction
from .passes import pass_ends, pass_repeats
from .points import constant, point_text
from .schedule import Contracted, ProgramText, bare, place_of


def unbounded_operands(cascade: Cascade, operation: Operation) -> set[str]:
    """Operands that are maxima, or begin with some number: beyond ragged edges they may be infinite, and no zero."""
    made = (cascade.producers.get(tensor.name) for tensor in operation.problem.operands)
    return {one.output.name for one in made if one is not None and (one.reduction == "max" or one.iterates)}


class Leaf:
    """The text of one branch: the loops and nodes of an operation, the transfers there, and its points inside.

    unbounded  operands that beyond ragged edges may be infinite, and no zero
    """

    def __init__(
        self, schedule: ProgramText, operation: Operation, indent: str = "", unbounded: Collection[str] = ()
    ) -> None:
        self.schedule, self.plan, self.problem = schedule, schedule.plan, schedule.problem
        self.operation, self.unbounded = operation, unbounded
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
        """Statements, and the expression of what is combined with the output; the last factors are masks."""
        if self.operation.contracts:
            operands = zip(self.problem.operands, factors, strict=False)
            bounded = [self._bounded(factor) for t, factor in operands if t.name in self.unbounded]
            kept = [f for t, f in zip(self.problem.operands, factors, strict=False) if t.name not in self.unbounded]
            ones = factors[len(self.problem.operands) :]
            statements, value = contraction([*kept, *bounded, *ones], target.axes, trips)
            number = constant(self.operation)
            return statements, value if number == 1 else f"{number!r} * ({value})"
        return self._pointwise(factors, target, trips)

    def _bounded(self, factor: Factor) -> Factor:
        return Factor(f"np.nan_to_num({factor.text}, neginf=0, posinf=0)", factor.axes)

    def _pointwise(self, factors: list[Factor], target: Factor, trips: list[int]) -> tuple[list[str], str]:
        """The expression over all labels; what lies beyond an edge counts nothing, and the labels that the output has
        not are reduced. The generation before of what is iterated is where the next one goes."""
        count, output = len(trips), target.axes
        aligned = [f"aligned({f.text}, {f.axes!r}, {count})" for f in (*factors, target)]
        operands = len(self.problem.operands)
        names = [tensor.name for tensor in self.problem.operands]
        arrays = dict(zip(names, aligned[:operands], strict=True)) | {self.problem.output.name: aligned.pop()}
        text = point_text(self.operation.expression, arrays)
        statements = [f"points = np.broadcast_to({text}, {tuple(trips)})"]
        if len(factors) > operands:
            inside = " * ".join(aligned[operands:])
            statements.append(f"points = np.where(({inside}) > 0, points, {self.schedule.identity})")
        summed = tuple(axis for axis in range(count) if axis not in output)
        value = f"points.{self.schedule.reduction}(axis={summed})" if summed else "points"
        kept = [axis for axis in range(count) if axis in output]
        order = tuple(kept.index(axis) for axis in output)
        return statements, value if order == tuple(sorted(order)) else f"{value}.transpose({order})"

    # ---- loops ---------------------------------------------------------------------------------------------

    def _flush(self) -> list[str]:
        """Lines of the loops that are pending; what follows is inside them."""
        lines = []
        for group in self._blocks(self.pending):
            ranges = [self.schedule.range_of(step) for step in group]
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
