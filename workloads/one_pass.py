"""Attention in one pass: of a softmax between two products, the cascade that takes the keys in blocks.

In two passes a whole row of scores has to be there before its maximum is known. In one pass there are a running
maximum, a running sum and a running output; with each block of keys the sum and the output so far are corrected by
exp(maximum before - maximum after), and the last output is divided by the last sum (FlashAttention; FuseMax, Nayak et
al., MICRO 2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from ..ir import Call, Cascade, Expression, Generation, Operand, Operation, Problem, Rank, Tensor, plain_rank


@dataclass(frozen=True)
class Attention:
    """A softmax between two products, by its operations.

    scores, after         the products
    top, exp, total, div  maximum, exponential of the difference, sum, division
    """

    scores: Operation
    top: Operation
    exp: Operation
    total: Operation
    div: Operation
    after: Operation

    @property
    def keys(self) -> str:
        """The dimension of the maximum over which it is taken."""
        (dim,) = self.top.reduced_dims
        return dim

    @property
    def length(self) -> int:
        """How many keys there are."""
        return self.top.problem.sizes[self.keys]


def attentions(cascade: Cascade) -> Iterator[Attention]:
    """All softmaxes of a cascade whose scores and whose weights nothing else reads."""
    for top in cascade:
        if top.reduction == "max" and isinstance(top.expression, Operand) and len(top.reduced_dims) == 1:
            found = _around(cascade, top)
            if found is not None and not any(one.pads for one in vars(found).values()):
                yield found


def _around(cascade: Cascade, top: Operation) -> Attention | None:
    """The operations around a maximum, if they are those of a softmax between two products."""
    (scored,) = top.problem.operands
    scores = cascade.producers.get(scored.name)
    exp, div = _only(cascade, scored.name, top), None
    if exp is not None and exp.expression == Call("exp", (Call("sub", (Operand(scored.name), Operand(_output(top)))),)):
        readers = cascade.consumers[_output(exp)]
        total = next(
            (one for one in readers if one.expression == Operand(_output(exp)) and one.reduction == "sum"), None
        )
        div = None if total is None else _only(cascade, _output(exp), total)
    if scores is None or exp is None or div is None or total is None or not scores.multiplies:
        return None
    weights = Call("div", (Operand(_output(exp)), Operand(_output(total))))
    alone = [cascade.consumers[_output(one)] for one in (top, total, div)]
    if div.expression != weights or [len(one) for one in alone] != [1, 1, 1] or not alone[2][0].multiplies:
        return None
    found = Attention(scores, top, exp, total, div, alone[2][0])
    return found if _reduces_keys(found) else None


def _only(cascade: Cascade, tensor: str, other: Operation) -> Operation | None:
    """The one reader of a tensor besides another one."""
    readers = [one for one in cascade.consumers[tensor] if one is not other]
    return readers[0] if len(readers) == 1 else None


def _output(operation: Operation) -> str:
    return operation.output.name


def _reduces_keys(one: Attention) -> bool:
    """Whether all of them see the keys as one rank alone, and the second product sums over them."""
    dims = [_dim_of(one, operation) for operation in (one.scores, one.exp, one.total, one.div, one.after)]
    return None not in dims and dims[-1] in one.after.reduced_dims and dims[0] in one.scores.output.dims


def _dim_of(one: Attention, operation: Operation) -> str | None:
    """What an operation calls the keys."""
    rank = plain_rank(one.top, _output(one.scores), one.keys)
    if operation is one.after:
        made = _dim_of(one, one.div)
        tensor = _output(one.div)
        rank = None if made is None else plain_rank(one.div, tensor, made)
    elif operation in (one.total, one.div):
        made = _dim_of(one, one.exp)
        tensor = _output(one.exp)
        rank = None if made is None else plain_rank(one.exp, tensor, made)
    else:
        tensor = _output(one.scores)
    if rank is None:
        return None
    terms = operation.problem.tensor(tensor).ranks[rank]
    return terms[0][0] if len(terms) == 1 and terms[0][1] == 1 else None


# ---- the cascade -----------------------------------------------------------------------------------------------------


def in_one_pass(cascade: Cascade, one: Attention) -> tuple[Cascade, ...]:
    """The cascade with the keys in blocks: a form for every size of which there are two or more, smaller ones first."""
    sizes = [n for n in range(1, one.length) if one.length % n == 0]
    return tuple(_Blocks(cascade, one, size).cascade() for size in sizes)


class _Blocks:
    """One size of blocks.

    size  keys of a block
    """

    def __init__(self, cascade: Cascade, one: Attention, size: int) -> None:
        self.whole, self.one, self.size = cascade, one, size
        self.steps = one.length // size
        known = {dim for operation in cascade for dim in operation.problem.dim_names}
        self.block, self.within = (_fresh(letter, known) for letter in ("I", "J"))
        names = set(cascade.tensors)
        base, after = _output(one.div), _output(one.after)
        self.scale, self.running, self.sums = (_fresh(f"{base}_{what}", names) for what in ("scale", "top", "all"))
        self.part, self.output = (_fresh(f"{after}_{what}", names) for what in ("block", "all"))

    def cascade(self) -> Cascade:
        """The whole."""
        one = self.one
        instead = {
            one.scores.name: [self._cut(one.scores)],
            one.top.name: [self._cut(one.top, self.block), self._correction(), self._maximum()],
            one.exp.name: [self._exponential()],
            one.total.name: [self._cut(one.total, self.block)],
            one.div.name: [],
            one.after.name: [self._product(), self._sum(), self._corrected(), self._divided()],
        }
        found = [each for operation in self.whole for each in instead.get(operation.name, [operation])]
        return Cascade(self.whole.name, tuple(found), f"one pass, {self.size} at a time")

    def _cut(self, operation: Operation, more: str | None = None) -> Operation:
        """An operation with its keys in blocks.

        more  a dimension that its output gets besides
        """
        dim = self.one.keys if operation is self.one.top else _dim_of(self.one, operation)
        assert dim is not None
        dims: list[tuple[str, int]] = []
        for name, size in operation.problem.dims:
            dims += [(self.block, self.steps), (self.within, self.size)] if name == dim else [(name, size)]
        tensors = []
        for tensor in operation.problem.tensors:
            ranks = [each for rank in tensor.ranks for each in self._ranks(tensor.name, rank, dim)]
            tensors.append(replace(tensor, ranks=(*ranks, *([((more, 1),)] if more and tensor.is_output else []))))
        return replace(operation, problem=Problem(operation.name, tuple(dims), tuple(tensors)))

    def _ranks(self, tensor: str, rank: Rank, dim: str) -> list[Rank]:
        """A rank, where keys are cut: two ranks, if all who see it cut it, else one sum."""
        if dim not in {name for name, _ in rank}:
            return [rank]
        producer, readers = self.whole.producers.get(tensor), self.whole.consumers[tensor]
        inside = {one.name for one in vars(self.one).values()}
        if rank == ((dim, 1),) and {one.name for one in (*readers, *([producer] if producer else []))} <= inside:
            return [((self.block, 1),), ((self.within, 1),)]
        terms: list[tuple[str, int]] = []
        for name, c in rank:
            terms += [(self.block, c * self.size), (self.within, c)] if name == dim else [(name, c)]
        return [tuple(terms)]

    # ---- operations that there are not in two passes -------------------------------------------------------------

    def _rows(self) -> tuple[tuple[tuple[str, int], ...], tuple[Rank, ...]]:
        """Dimensions and ranks of the maximum of every row."""
        top = self.one.top
        return tuple(pair for pair in top.problem.dims if pair[0] in top.output.dims), top.output.ranks

    def _by_row(self, name: str, output: str, reads: dict[str, bool], expression: Expression) -> Operation:
        """An operation for every row and step; reads: by tensor, whether it has a word for each step."""
        dims, ranks = self._rows()
        every = (*ranks, ((self.block, 1),))
        tensors = [Tensor(tensor, every if stepped else ranks, "input") for tensor, stepped in reads.items()]
        iterates = output in (self.running, self.sums)
        tensors.append(Tensor(output, ranks if iterates else every, "output"))
        named = [tensor for tensor, stepped in reads.items() if not stepped]
        generations = [Generation(tensor, len(ranks), self.block, after=False) for tensor in named]
        start: float | None = None
        if iterates:
            generations.append(Generation(output, len(ranks), self.block, after=True))
            start = float("-inf") if output == self.running else 0
        problem = Problem(name, (*dims, (self.block, self.steps)), tuple(tensors))
        return Operation(problem, expression, generations=tuple(generations), start=start)

    def _maximum(self) -> Operation:
        now = Call("max", (Operand(self.running), Operand(_output(self.one.top))))
        return self._by_row(f"{self.one.div.name}.top", self.running, {_output(self.one.top): True}, now)

    def _correction(self) -> Operation:
        now = Call("max", (Operand(self.running), Operand(_output(self.one.top))))
        change = Call("exp", (Call("sub", (Operand(self.running), now)),))
        reads = {self.running: False, _output(self.one.top): True}
        return self._by_row(f"{self.one.div.name}.scale", self.scale, reads, change)

    def _sum(self) -> Operation:
        kept = Call("mul", (Operand(self.sums), Operand(self.scale)))
        more = Call("add", (kept, Operand(_output(self.one.total))))
        reads = {self.scale: True, _output(self.one.total): True}
        return self._by_row(f"{self.one.div.name}.all", self.sums, reads, more)

    def _exponential(self) -> Operation:
        """The exponential by the running maximum."""
        cut, top = self._cut(self.one.exp), _output(self.one.top)
        tensors = tuple(replace(t, name=self.running) if t.name == top else t for t in cut.problem.tensors)
        generation = Generation(self.running, len(cut.problem.tensor(top).ranks), self.block, after=True)
        problem = Problem(cut.name, cut.problem.dims, tensors)
        expression = _renamed(cut.expression, {top: self.running})
        return replace(cut, problem=problem, expression=expression, generations=(generation,))

    def _product(self) -> Operation:
        """The second product of one block, by exponentials that nothing has divided yet."""
        cut, read = self._cut(self.one.after, self.block), _output(self.one.div)
        renaming = {read: _output(self.one.exp), _output(self.one.after): self.part}
        tensors = tuple(replace(t, name=renaming.get(t.name, t.name)) for t in cut.problem.tensors)
        name = f"{self.one.after.name}.block"
        problem = Problem(name, cut.problem.dims, tensors)
        return replace(cut, problem=problem, expression=_renamed(cut.expression, renaming))

    def _row_ranks(self) -> tuple[Rank, ...]:
        """The ranks of a row's maximum, as the second product calls them."""
        div, after, weights = self.one.div, self.one.after, _output(self.one.div)
        found = []
        for rank in div.problem.tensor(_output(self.one.total)).ranks:
            ((dim, _),) = rank
            made = plain_rank(div, weights, dim)
            assert made is not None
            found.append(after.problem.tensor(weights).ranks[made])
        return tuple(found)

    def _corrected(self) -> Operation:
        """The output so far, and that of one block."""
        after, every = self.one.after, ((self.block, 1),)
        output = after.output.ranks
        kept = Call("mul", (Operand(self.output), Operand(self.scale)))
        tensors = (
            Tensor(self.scale, (*self._row_ranks(), every), "input"),
            Tensor(self.part, (*output, every), "input", after.output.bits),
            Tensor(self.output, output, "output", after.output.bits),
        )
        dims = (*self._output_dims(), (self.block, self.steps))
        problem = Problem(f"{after.name}.all", dims, tensors)
        generation = Generation(self.output, len(output), self.block, after=True)
        expression = Call("add", (kept, Operand(self.part)))
        return Operation(problem, expression, generations=(generation,), start=0)

    def _divided(self) -> Operation:
        """The output, once the last block has been added."""
        after, rows = self.one.after, self._row_ranks()
        output = after.output.ranks
        tensors = (
            Tensor(self.output, output, "input", after.output.bits),
            Tensor(self.sums, rows, "input"),
            after.output,
        )
        last = tuple(
            Generation(tensor, len(ranks), None, after=True)
            for tensor, ranks in ((self.output, output), (self.sums, rows))
        )
        expression = Call("div", (Operand(self.output), Operand(self.sums)))
        return Operation(Problem(after.name, self._output_dims(), tensors), expression, generations=last)

    def _output_dims(self) -> tuple[tuple[str, int], ...]:
        after = self.one.after
        return tuple(pair for pair in after.problem.dims if pair[0] in after.output.dims)


def _fresh(wanted: str, known: set[str]) -> str:
    found = next(name for name in (f"{wanted}{n or ''}" for n in count()) if name not in known)
    known.add(found)
    return found


def _renamed(expression: Expression, names: dict[str, str]) -> Expression:
    if isinstance(expression, Operand):
        return Operand(names.get(expression.tensor, expression.tensor))
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_renamed(part, names) for part in expression.arguments))
    return expression
