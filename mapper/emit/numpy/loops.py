"""Source text of the loops of a tree: transfers at every node above a split, and visits of branches."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir import Address, MappingError, Node, Place, Tree
from ..parts.names import DEEPEST, comment
from .finishes import Finishes, FinishText
from .leaf import Leaf, unbounded_operands
from .schedule import ProgramText
from .schedules import Schedules


class TreeLoops:
    """The text of the tree, and of what is done with complete words."""

    def __init__(self, schedules: Schedules, finishes: Finishes) -> None:
        self.schedules = schedules
        self.fused = schedules.fused
        self.finish = FinishText(schedules, finishes)

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
        if address and tree.operation not in self.schedules.uneven:
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
                yield from (f"{inside}{line}" for line in self.finish.lines((*address, number)))
        elif tree.operation in self.schedules.uneven:
            text, homes = self.schedules.uneven[tree.operation], self.schedules.homes(tree.operation)
            yield from (f"{indent}{line}" for line in text.visit_lines(homes, self.finish.name(text.output.name)))
            return
        else:
            schedule, operation = self.schedules.of[tree.operation], self.fused.cascade.operation(tree.operation)
            yield from Leaf(schedule, operation, indent, unbounded_operands(self.fused.cascade, operation)).lines()
        yield from (f"{indent}{line}" for line in self._drain_lines(places))

    def _range(self, place: Place) -> str:
        """The starts of a shared loop's steps; they are the same for every operation below it."""
        paths = ((name, self.fused.paths[name]) for name in self.schedules.of)
        name, path = next((name, path) for name, path in paths if place in path.places)
        schedule = self.schedules.of[name]
        step = next(step for step in schedule.loop if step.position == path.places.index(place))
        return schedule.range_of(step)

    def _node_lines(self, place: Place) -> Iterator[str]:
        if place in self.schedules.filler:
            schedule, position = self._filling(place)
            yield from schedule.arrive_lines(schedule.plan.buffers[position])
            return
        for text in self.schedules.uneven.values():
            if place == text.exchange:
                yield from text.renew_lines(self.schedules.arrays[place].name)
                return
        home = self._home(place)
        if home is not None:
            schedule, position = home
            if not schedule.plan.buffers[position].whole:
                yield f"{schedule.buffer[position]}[...] = {schedule.identity}"

    def _filling(self, place: Place) -> tuple[ProgramText, int]:
        """The schedule that fills a node, and the node's position in it."""
        name, position = self.schedules.filler[place]
        if name not in self.schedules.uneven:
            return self.schedules.of[name], position
        return next(schedule for schedule in self.schedules.above[name] if position in schedule.meter), position

    def _home(self, place: Place) -> tuple[ProgramText, int] | None:
        """The schedule whose output has its outermost node there."""
        for name in self.schedules.of:
            way = self.schedules.ways[name]
            position = self.schedules.home(way, way.operation.output.name)
            if way.place(position) == place:
                return self.schedules.of[name], position
        return None

    def _forget_lines(self, places: list[Place]) -> Iterator[str]:
        for place in places:
            if place in self.schedules.filler:
                schedule, position = self._filling(place)
                yield f"{schedule.meter[position]}.forget()"

    def _drain_lines(self, places: list[Place]) -> Iterator[str]:
        """Partial sums that a visit leaves behind go outwards, innermost first."""
        for place in reversed(places):
            if place in self.schedules.filler:
                schedule, position = self._filling(place)
                if schedule.plan.buffers[position].tensor.is_output:
                    yield f"{schedule.drain[position]}()"
