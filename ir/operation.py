"""One operation of a cascade: what is done at a point, how points are combined, and what is read and written.

An operation that *iterates* writes a tensor of generations: R[m,i+1] = max(R[m,i], L[m,i]). In its problem that tensor
has no rank for i: a node of it holds one generation, and the next one takes its place, as the sum so far takes the
place of the sum before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from .errors import ProblemError, checked
from .expression import Call, Expression, Operand, factors_of, is_product, product, tensors_read, unbracketed, written
from .problem import Pad, Problem, Rank, Tensor, axis_texts

Reduction = Literal["sum", "max"]
"""How the points that belong to one word of the output are combined; without one, there is one point for each."""

StartValue = int | float
"""What a tensor of generations holds before the first step."""

MULTIPLY_ACCUMULATE = "mac"
"""The kind of operations that are sums of products."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Which generation of a tensor an operation uses.

    tensor  its name
    axis    where the index of generations is written, from 0: 1 in R[m,i+1]
    dim     the operation's iterative dimension, which counts them; None: the last one, after all steps, as in R[m,-1]
    after   whether it is the one that a step makes, R[m,i+1], and not the one before it, R[m,i]
    """

    tensor: str
    axis: int
    dim: str | None
    after: bool

    @property
    def index(self) -> str:
        """The index as it is written."""
        if self.dim is None:
            return "-1"
        return f"{self.dim.lower()}+1" if self.after else self.dim.lower()


@dataclass(frozen=True)
class Operation:
    """One operation of a cascade.

    problem     its dimensions, sizes and projections; its name is the operation's
    expression  what is done at a point
    reduction   how points of one word are combined; None: every word has one point
    pads        per padded tensor, the zeros before and after each of its ranks. Position x of a rank is read by the
                points whose sum of dimensions is x + the zeros before it
    generations of its output, where it iterates, and of each operand that another operation iterates. An operation that
                iterates reads the generation before: it is no operand, as a sum so far is none
    start       what a word of its output is before the first step, where it iterates

    Raises ProblemError where the expression reads other tensors than the problem has, for a reduction of nothing, and
    for an iteration without a start value.
    """

    problem: Problem
    expression: Expression
    reduction: Reduction | None = None
    pads: tuple[tuple[str, tuple[Pad, ...]], ...] = ()
    generations: tuple[Generation, ...] = ()
    start: StartValue | None = None

    def __post_init__(self) -> None:
        self._check_generations()
        read, operands = set(tensors_read(self.expression)), {t.name for t in self.problem.operands}
        read -= {self.output.name} if self.iterates else set()
        if read != operands:
            different = ", ".join(sorted(read ^ operands))
            raise ProblemError(f"expression and projections differ in {different}", where=self.name)
        missing = ", ".join(dim for dim in self.reduced_dims if dim != self.iterates)
        if self.reduction is None and missing:
            hint = "write += for their sum, or max= for their maximum"
            raise ProblemError(f"the left side has not {missing}, expected all dimensions", where=self.name, hint=hint)
        if not self.contracts and any(t.role != "input" for t in self.problem.operands):
            raise ProblemError("an operand has another role than input, and nothing is multiplied", where=self.name)
        for name, pads in self.pads:
            tensor = self.problem.tensor(name)
            if tensor.is_output or len(pads) != len(tensor.ranks) or any(zeros < 0 for pad in pads for zeros in pad):
                raise ProblemError(f"pad of {name}, expected two numbers of 0 or more for each rank", where=self.name)

    def _check_generations(self) -> None:
        names = {tensor.name for tensor in self.problem.tensors}
        for one in self.generations:
            if one.tensor not in names or (one.dim is not None and one.dim not in self.problem.sizes):
                raise ProblemError(f"a generation of {one.tensor} along {one.dim}, which it has not", where=self.name)
        made = self.generation(self.output.name)
        if made is None:
            if self.start is not None:
                raise ProblemError(f"a start value, and {self.output.name} has no generations", where=self.name)
            return
        before, after = (self._written_as(self.output, replace(made, after=after)) for after in (False, True))
        if made.dim is None or not made.after or made.dim in self.output.dims:
            raise ProblemError(f"writes {self._written_as(self.output, made)}, expected index + 1", where=self.name)
        if self.reduction is not None:
            sign = {"sum": "+=", "max": "max="}[self.reduction]
            hint = f"write '=', and {before} on the right side"
            raise ProblemError(f"{after} {sign} ..., expected '='", where=self.name, hint=hint)
        if self.output.name not in tensors_read(self.expression):
            hint = f"read {before} on the right side; generations that do not depend on each other are no iteration"
            raise ProblemError(f"{after} does not read {before}", where=self.name, hint=hint)
        if self.start is None:
            hint = f"end the line with 'start 0', or with another number that {self.output.name} begins with"
            raise ProblemError(f"{after} has no start value", where=self.name, hint=hint)

    @property
    def name(self) -> str:
        """The name of the operation in trees."""
        return self.problem.name

    @property
    def output(self) -> Tensor:
        """The tensor that it writes."""
        return self.problem.output

    @cached_property
    def reduced_dims(self) -> tuple[str, ...]:
        """Dimensions that the output has not."""
        return tuple(dim for dim in self.problem.dim_names if dim not in self.output.dims)

    @property
    def iterates(self) -> str | None:
        """The dimension that counts the generations of its output, if there are any."""
        made = self.generation(self.output.name)
        return None if made is None else made.dim

    def generation(self, tensor: str) -> Generation | None:
        """The generation of a tensor that it writes, or reads; None where the tensor has none."""
        return next((one for one in self.generations if one.tensor == tensor), None)

    def reads_before(self, tensor: str) -> bool:
        """Whether it reads the generation before a step, and so is done before the operation that makes the next."""
        one = self.generation(tensor)
        return one is not None and one.dim is not None and not one.after

    @classmethod
    def of(cls, problem: Problem) -> Operation:
        """The sum of products that a problem stands for outside a cascade; ProblemError for what is no problem."""
        checked(problem, Problem, "the problem of an operation", "a Problem", ProblemError)
        return cls(problem, product(Operand(tensor.name) for tensor in problem.operands), "sum")

    @cached_property
    def is_layer(self) -> bool:
        """Whether it is the sum of products that its problem stands for, and nothing more."""
        factors = product(Operand(tensor.name) for tensor in self.problem.operands)
        plain = self.reduction == "sum" and not self.pads and not self.generations
        return plain and self.expression == factors

    @property
    def multiplies(self) -> bool:
        """Whether it is a sum of products of two tensors or more."""
        return self.reduction == "sum" and is_product(self.expression)

    @property
    def contracts(self) -> bool:
        """Whether it is a sum of products of one tensor or more, as every operation outside a cascade is."""
        return self.reduction == "sum" and factors_of(self.expression) is not None

    @property
    def kind(self) -> str:
        """The kind of its points, which decides their cost: `mac`, or the outermost function (`exp`, `max`, `add`,
        ...); a bare tensor that is reduced has the kind of its reduction, `add` or `max`, else `copy`."""
        if self.multiplies:
            return MULTIPLY_ACCUMULATE
        if isinstance(self.expression, Call):
            return self.expression.function
        return {"sum": "add", "max": "max", None: "copy"}[self.reduction]

    def pad(self, tensor: str, rank: int) -> Pad:
        """Zeros before and after a rank of a tensor that it reads."""
        if not self.pads:
            return 0, 0
        return dict(self.pads).get(tensor, ((0, 0),) * (rank + 1))[rank]

    def __str__(self) -> str:
        sign = {"sum": "+=", "max": "max=", None: "="}[self.reduction]
        text = f"{self.access(self.output.name)} {sign} {unbracketed(self._written(self.expression))}"
        for tensor, pads in self.pads:
            text += f" pad {tensor}[{', '.join(f'{lo}:{hi}' for lo, hi in pads)}]"
        text += "" if self.start is None else f" start {self.start!r}"
        return text if self.name == self.output.name else f"{self.name}: {text}"

    def access(self, tensor: str) -> str:
        """A tensor that it writes, or reads, with the projection: "K[n, e]"."""
        return self._written_as(self.problem.tensor(tensor), self.generation(tensor))

    def _written_as(self, tensor: Tensor, generation: Generation | None) -> str:
        axes = axis_texts(tensor)
        if generation is not None:
            axes.insert(generation.axis, generation.index)
        return f"{tensor.name}[{', '.join(axes)}]"

    def _written(self, expression: Expression) -> str:
        """The expression with the projections of its tensors."""
        if isinstance(expression, Operand):
            made = self.generation(self.output.name)
            if made is not None and expression.tensor == made.tensor:
                return self._written_as(self.output, replace(made, after=False))
            return self.access(expression.tensor)
        if isinstance(expression, Call):
            return written(expression.function, [self._written(argument) for argument in expression.arguments])
        return str(expression)


def plain_rank(operation: Operation, tensor: str, dim: str) -> int | None:
    """The rank of a tensor that a dimension indexes alone, if there is one."""
    ranks = operation.problem.tensor(tensor).ranks
    return next((i for i, rank in enumerate(ranks) if rank == ((dim, 1),)), None)


def last_position(problem: Problem, rank: Rank) -> int:
    """The largest sum that a rank reaches."""
    return sum(coefficient * (problem.sizes[dim] - 1) for dim, coefficient in rank)
