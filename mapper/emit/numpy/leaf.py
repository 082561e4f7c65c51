"""Source text of one branch: the loops and nodes of an operation, and what is done at its points."""

from __future__ import annotations

from ....ir import Cascade, Operation
from .contraction import Factor, contraction
from .loops import LoopText
from .points import constant, point_text
from .schedule import ProgramText


def unbounded_operands(cascade: Cascade, operation: Operation) -> set[str]:
    """Operands that are maxima, or begin with some number: beyond ragged edges they may be infinite, and no zero."""
    made = (cascade.producers.get(tensor.name) for tensor in operation.problem.operands)
    return {one.output.name for one in made if one is not None and (one.reduction == "max" or one.iterates)}


class Leaf(LoopText):
    """The text of one branch: the loops and nodes of an operation, and its points inside."""

    def __init__(self, schedule: ProgramText, operation: Operation, indent: str, unbounded: set[str]) -> None:
        super().__init__(schedule, indent)
        self.operation = operation
        self.unbounded = unbounded

    def _value(self, factors: list[Factor], target: Factor, trips: list[int]) -> tuple[list[str], str]:
        if self.operation.multiplies:
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
