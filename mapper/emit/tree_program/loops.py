"""Source text of the loops of a tree: transfers at every node, visits of branches, and what is done at the points."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir import Address, MappingError, Node, Operation, Place, Tree
from ..names import comment
from ..numpy_program.contraction import Factor, contraction
from ..numpy_program.loops import DEEPEST, LoopText
from ..numpy_program.schedule import ProgramText
from .points import constant, point_text
from .schedules import Schedules


class TreeLoops:
    """The text of the tree."""

    def __init__(self, schedules: Schedules) -> None:
        self.schedules = schedules
        self.fused = schedules.fused

    def lines(self) -> list[str]:
        """Raises MappingError when the loops are more than Python can nest."""
        found = list(self._tree(self.fused.tree, (), ""))
        depth = max(len(line) - len(line.lstrip()) for line in found) // 4
        if depth > DEEPEST:
            message = f"a program of {depth} nested blocks cannot be written: Python nests {DEEPEST} at most"
            raise MappingError(message, hint="join neighbouring loops over the same dimension")
        return found

    def _tree(self, tree: Tree, address: Address, indent: str) -> Iterator[str]:
        places = [(address, i) for i, item in enumerate(tree.items) if isinstance(item, Node)]
        if address:
            yield from (f"{indent}{line}" for line in self._forget_lines(places))
        inside = indent
        if tree.branches:
            for i, item in enumerate(tree.items):
                if isinstance(item, Node):
                    yield from comment(str(item), inside)
                    yield from (f"{inside}{line}" for line in self._node_lines((address, i)))
                elif (address, i) in self.schedules.loop:
                    yield f"{inside}for {self.schedules.loop[address, i]} in {self._range((address, i))}:  " + "".join(
                        comment(str(item))
                    )
                    inside += "    "
                else:
                    yield from comment(str(item), inside)
            for number, branch in enumerate(tree.branches):
                yield from comment(f"branch {branch.operation}".rstrip(), inside)
                yield from self._tree(branch, (*address, number), inside)
        else:
            schedule, operation = self.schedules.of[tree.operation], self.fused.cascade.operation(tree.operation)
            yield from Leaf(schedule, operation, indent, self._unbounded(operation)).lines()
        yield from (f"{indent}{line}" for line in self._drain_lines(places))

    def _range(self, place: Place) -> str:
        """The starts of a shared loop's steps; they are the same for every operation below it."""
        name, path = next((name, path) for name, path in self.fused.paths.items() if place in path.places)
        schedule = self.schedules.of[name]
        step = next(step for step in schedule.loop if step.position == path.places.index(place))
        return LoopText(schedule).range_of(step)

    def _node_lines(self, place: Place) -> Iterator[str]:
        if place in self.schedules.filler:
            name, position = self.schedules.filler[place]
            schedule = self.schedules.of[name]
            yield from schedule.arrive_lines(schedule.plan.buffers[position])
            return
        home = self._home(place)
        if home is not None:
            schedule, position = home
            if not schedule.plan.buffers[position].whole:
                yield f"{schedule.buffer[position]}[...] = {schedule.identity}"

    def _home(self, place: Place) -> tuple[ProgramText, int] | None:
        """The schedule whose output has its outermost node there."""
        for name, way in self.schedules.ways.items():
            position = way.mapping.nest.node_positions(way.operation.output.name)[0]
            if way.place(position) == place:
                return self.schedules.of[name], position
        return None

    def _forget_lines(self, places: list[Place]) -> Iterator[str]:
        for place in places:
            if place in self.schedules.filler:
                name, position = self.schedules.filler[place]
                yield f"{self.schedules.of[name].meter[position]}.forget()"

    def _drain_lines(self, places: list[Place]) -> Iterator[str]:
        """Partial sums that a visit leaves behind go outwards, innermost first."""
        for place in reversed(places):
            if place in self.schedules.filler:
                name, position = self.schedules.filler[place]
                schedule = self.schedules.of[name]
                if schedule.plan.buffers[position].tensor.is_output:
                    yield f"{schedule.drain[position]}()"

    def _unbounded(self, operation: Operation) -> set[str]:
        """Operands that are maxima: beyond ragged edges they are infinite, and no zero."""
        producers = self.fused.cascade.producers
        names = {tensor.name for tensor in operation.problem.operands}
        return {name for name in names if name in producers and producers[name].reduction == "max"}


class Leaf(LoopText):
    """The text of one branch: the loops and nodes of an operation, and its points inside."""

    def __init__(self, schedule: ProgramText, operation: Operation, indent: str, unbounded: set[str]) -> None:
        super().__init__(schedule, indent)
        self.operation = operation
        self.unbounded = unbounded

    def _value(self, factors: list[Factor], output: tuple[int, ...], trips: list[int]) -> tuple[list[str], str]:
        if self.operation.multiplies:
            operands = zip(self.problem.operands, factors, strict=False)
            bounded = [self._bounded(factor) for t, factor in operands if t.name in self.unbounded]
            kept = [f for t, f in zip(self.problem.operands, factors, strict=False) if t.name not in self.unbounded]
            ones = factors[len(self.problem.operands) :]
            statements, value = contraction([*kept, *bounded, *ones], output, trips)
            number = constant(self.operation)
            return statements, value if number == 1 else f"{number!r} * ({value})"
        return self._pointwise(factors, output, trips)

    def _bounded(self, factor: Factor) -> Factor:
        return Factor(f"np.nan_to_num({factor.text}, neginf=0)", factor.axes)

    def _pointwise(self, factors: list[Factor], output: tuple[int, ...], trips: list[int]) -> tuple[list[str], str]:
        """The expression over all labels; what lies beyond an edge counts nothing, and the labels that the output has
        not are reduced."""
        count = len(trips)
        aligned = [f"aligned({f.text}, {f.axes!r}, {count})" for f in factors]
        operands = len(self.problem.operands)
        names = [tensor.name for tensor in self.problem.operands]
        text = point_text(self.operation.expression, dict(zip(names, aligned[:operands], strict=True)))
        statements = [f"points = np.broadcast_to({text}, {tuple(trips)})"]
        if len(factors) > operands:
            inside = " * ".join(aligned[operands:])
            statements.append(f"points = np.where(({inside}) > 0, points, {self.schedule.identity})")
        summed = tuple(axis for axis in range(count) if axis not in output)
        value = f"points.{self.schedule.reduction}(axis={summed})" if summed else "points"
        kept = [axis for axis in range(count) if axis in output]
        order = tuple(kept.index(axis) for axis in output)
        return statements, value if order == tuple(sorted(order)) else f"{value}.transpose({order})"
