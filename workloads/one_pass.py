"""Attention in one pass: of a softmax between two products, the cascade that takes the keys in blocks.

In two passes a whole row of scores has to be there before its maximum is known. In one pass there are a running
maximum, a running sum and a running output; with each block of keys the sum and the output so far are corrected by
exp(maximum before - maximum after), and the last output is divided by the last sum (FlashAttention; FuseMax, Nayak et
al., MICRO 2024).
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import Call, Cascade, Expression, Generation, Operand, Operation, Problem, Rank, Tensor
from .attention import Attention, fresh, keys_in, output_dims, output_of, renamed, row_ranks


def in_one_pass(cascade: Cascade, one: Attention, size: int) -> Cascade:
    """The cascade with one softmax computed so, over blocks of so many keys."""
    return _Blocks(cascade, one, size).cascade()


class _Blocks:
    """One size of blocks.

    size  keys of a block
    """

    def __init__(self, cascade: Cascade, one: Attention, size: int) -> None:
        self.whole, self.one, self.size = cascade, one, size
        self.steps = one.length // size
        known = {dim for operation in cascade for dim in operation.problem.dim_names}
        self.block, self.within = (fresh(letter, known) for letter in ("I", "J"))
        names = set(cascade.tensors)
        base, after = output_of(one.div), output_of(one.after)
        self.scale, self.running, self.sums = (fresh(f"{base}_{what}", names) for what in ("scale", "top", "all"))
        self.part, self.output = (fresh(f"{after}_{what}", names) for what in ("block", "all"))

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
        return Cascade(self.whole.name, tuple(found))

    def _cut(self, operation: Operation, more: str | None = None) -> Operation:
        """An operation with its keys in blocks.

        more  a dimension that its output gets besides
        """
        dim = self.one.keys if operation is self.one.top else keys_in(self.one, operation)
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
        now = Call("max", (Operand(self.running), Operand(output_of(self.one.top))))
        return self._by_row(f"{self.one.div.name}.top", self.running, {output_of(self.one.top): True}, now)

    def _correction(self) -> Operation:
        now = Call("max", (Operand(self.running), Operand(output_of(self.one.top))))
        change = Call("exp", (Call("sub", (Operand(self.running), now)),))
        reads = {self.running: False, output_of(self.one.top): True}
        return self._by_row(f"{self.one.div.name}.scale", self.scale, reads, change)

    def _sum(self) -> Operation:
        kept = Call("mul", (Operand(self.sums), Operand(self.scale)))
        more = Call("add", (kept, Operand(output_of(self.one.total))))
        reads = {self.scale: True, output_of(self.one.total): True}
        return self._by_row(f"{self.one.div.name}.all", self.sums, reads, more)

    def _exponential(self) -> Operation:
        """The exponential by the running maximum."""
        cut, top = self._cut(self.one.exp), output_of(self.one.top)
        tensors = tuple(replace(t, name=self.running) if t.name == top else t for t in cut.problem.tensors)
        generation = Generation(self.running, len(cut.problem.tensor(top).ranks), self.block, after=True)
        problem = Problem(cut.name, cut.problem.dims, tensors)
        expression = renamed(cut.expression, {top: self.running})
        return replace(cut, problem=problem, expression=expression, generations=(generation,))

    def _product(self) -> Operation:
        """The second product of one block, by exponentials that nothing has divided yet."""
        cut, read = self._cut(self.one.after, self.block), output_of(self.one.div)
        renaming = {read: output_of(self.one.exp), output_of(self.one.after): self.part}
        tensors = tuple(replace(t, name=renaming.get(t.name, t.name)) for t in cut.problem.tensors)
        name = f"{self.one.after.name}.block"
        problem = Problem(name, cut.problem.dims, tensors)
        return replace(cut, problem=problem, expression=renamed(cut.expression, renaming))

    def _corrected(self) -> Operation:
        """The output so far, and that of one block."""
        after, every = self.one.after, ((self.block, 1),)
        output = after.output.ranks
        kept = Call("mul", (Operand(self.output), Operand(self.scale)))
        tensors = (
            Tensor(self.scale, (*row_ranks(self.one), every), "input"),
            Tensor(self.part, (*output, every), "input", after.output.bits),
            Tensor(self.output, output, "output", after.output.bits),
        )
        dims = (*output_dims(self.one), (self.block, self.steps))
        problem = Problem(f"{after.name}.all", dims, tensors)
        generation = Generation(self.output, len(output), self.block, after=True)
        expression = Call("add", (kept, Operand(self.part)))
        return Operation(problem, expression, generations=(generation,), start=0)

    def _divided(self) -> Operation:
        """The output, once the last block has been added."""
        after, rows = self.one.after, row_ranks(self.one)
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
        return Operation(Problem(after.name, output_dims(self.one), tensors), expression, generations=last)
