"""What the graph of a network is made of: layers as often as they occur, and the operations between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Literal, NamedTuple, TypeAlias

from ...ir import Problem, ProblemError, did_you_mean
from .meaning import NetworkMeaning

LAYER = "layer"
"""The kind of occurrences that multiply: they have a problem."""

OUTSIDE = "outside"
"""The kind of what is made in a way that is no operation here: a lookup, a concatenation, a cache."""

OutsideRole: TypeAlias = Literal["cache", "view"]
"""What is made outside without words being moved: a cache, into which those write what it reads, and which keeps it
for later runs; a view, other words or another order of what it reads, which readers find where they lie."""

EPSILON = 1e-05
"""What norms add to a variance, unless stated."""

DimPart = str | tuple[str, int, int]
"""A dimension by its letter, or those of its positions that lie in a row: from a stride to another one."""


@dataclass(frozen=True)
class Source:
    """A tensor that an occurrence reads.

    name   of the occurrence that makes it; another name is a tensor from outside of the network
    order  the reader's dimensions, one for each of its ranks, in the order in which they lie in the tensor from the
           slowest to the fastest; None: as the reader has them. A dimension may lie there in parts
    pads   by letter of a dimension that the reader's windows begin at, the zeros before the first position
    """

    name: str
    order: tuple[DimPart, ...] | None = None
    pads: tuple[tuple[str, int], ...] = ()


class MovedWords(NamedTuple):
    """Words that what is made outside takes from the outermost memory, by who makes the tensor, and puts there."""

    read: tuple[tuple[str, int], ...]
    written: int


@dataclass(frozen=True)
class Occurrence:
    """A layer as it stands in a network, or an operation between layers.

    name     unique in the graph
    kind     "layer", "outside", or a name of BETWEEN ("add", "softmax", ...)
    sources  what it reads
    follows  what it reads as well, in a way that no cascade has: whatever its problem reads is an operand of its own
    times    how often it is done, each time with operands of its own, as the steps of a recurrent layer
    part_of  what makes one tensor of what it makes, and of what others like it do
    moves    of what is made outside, the words that it moves; None: of each tensor that it reads as many as it makes,
             at most, and as many as that are written
    experts  whose weights a layer has, of whom those that its problem counts as B have tokens; 0: it has its own alone
    role     of what is made outside, whether it is a cache or a view: then it moves no words
    problem  of a layer
    layer    of a layer, the name of its row
    local    its name inside its block
    entry    which entry of the table made it: of those that one block made, the first has their local names too
    writes   letters of the dimensions of its output, slowest first; None: as the problem has them
    shape    of what it makes, where that follows from nothing else
    window   of a pooling: size, stride and zeros before the first position, each (height, width)
    epsilon  what a norm adds to the variance
    """

    name: str
    kind: str
    sources: tuple[Source, ...] = ()
    follows: tuple[str, ...] = field(default=(), kw_only=True)
    times: int = field(default=1, kw_only=True)
    part_of: str = field(default="", kw_only=True)
    moves: MovedWords | None = field(default=None, kw_only=True)
    experts: int = field(default=0, kw_only=True)
    role: OutsideRole | None = field(default=None, kw_only=True)
    problem: Problem | None = None
    layer: str = ""
    local: str = ""
    entry: int = 0
    writes: tuple[str, ...] | None = None
    shape: tuple[int, ...] | None = None
    window: tuple[tuple[int, int], tuple[int, int], tuple[int, int]] | None = None
    epsilon: float = EPSILON

    @property
    def multiplies(self) -> bool:
        """Whether it is a layer."""
        return self.kind == LAYER

    @property
    def reads(self) -> tuple[str, ...]:
        """Who makes what it reads, or what that is called outside of the network."""
        return (*(source.name for source in self.sources), *self.follows)

    @property
    def is_apart(self) -> bool:
        """Whether nothing that it reads or makes stays on chip."""
        return self.kind == OUTSIDE or bool(self.follows) or self.times > 1

    @property
    def is_alone(self) -> bool:
        """Whether it is mapped on its own."""
        return self.is_apart or bool(self.part_of)

    @property
    def macs(self) -> int:
        """Multiply-accumulates, every time counted."""
        return self.times * self.problem.macs if self.multiplies and self.problem is not None else 0


@dataclass(frozen=True)
class NetworkGraph:
    """All occurrences of a network, each after those that it reads.

    meaning  what it computes beyond them, where that is stated
    widths   bits of the words of what is made, by who makes it, where a program stores them wider than they say
    is_assumed  whether it is a chain since the network does not say which layer reads which

    Raises ProblemError for names that are not unique.
    """

    network: str
    occurrences: tuple[Occurrence, ...]
    meaning: NetworkMeaning | None = field(default=None, compare=False, repr=False)
    widths: Mapping[str, int] = field(default_factory=dict, hash=False)
    is_assumed: bool = False

    def __post_init__(self) -> None:
        if len(self.by_name) != len(self.occurrences):
            names = [occurrence.name for occurrence in self.occurrences]
            twice = next(name for name in names if names.count(name) > 1)
            raise ProblemError(f"two entries of the graph are named {twice!r}", where=self.network)

    def __iter__(self) -> Iterator[Occurrence]:
        return iter(self.occurrences)

    @cached_property
    def by_name(self) -> Mapping[str, Occurrence]:
        """Every occurrence by its own name."""
        return {occurrence.name: occurrence for occurrence in self.occurrences}

    @cached_property
    def _known_as(self) -> Mapping[str, Occurrence]:
        """By all names: its own, and those that the first of several equal ones has from its row and its block."""
        found = dict(self.by_name)
        for occurrence in self.occurrences:
            if occurrence.layer:
                found.setdefault(occurrence.layer, occurrence)
        entries: dict[str, set[int]] = {}
        for occurrence in self.occurrences:
            entries.setdefault(occurrence.local, set()).add(occurrence.entry)
        for occurrence in self.occurrences:
            if occurrence.local and len(entries[occurrence.local]) == 1:
                found.setdefault(occurrence.local, occurrence)
        return found

    def knows(self, name: str) -> bool:
        """Whether something has that name."""
        return name in self._known_as

    def find(self, name: str) -> Occurrence:
        """The occurrence of that name: its own one, or that of a row or of an entry of a block, which stands for the
        first of them. ProblemError names the nearest one otherwise."""
        if name not in self._known_as:
            hint = did_you_mean(name, self._known_as)
            raise ProblemError(f"unknown layer {name!r}", where=f"network {self.network}", hint=hint)
        return self._known_as[name]

    def shown(self, occurrence: Occurrence) -> str:
        """The shortest name that means it."""
        short = occurrence.local
        return short if short and self._known_as.get(short) is occurrence else occurrence.name

    def between(self, first: Occurrence, last: Occurrence) -> list[Occurrence]:
        """All that lie on a way from one to the other, both included, in order; none, where no way leads there."""
        after = {first.name}
        for occurrence in self.occurrences:
            if any(name in after for name in occurrence.reads):
                after.add(occurrence.name)
        before = {last.name}
        for occurrence in reversed(self.occurrences):
            if occurrence.name in before:
                before |= set(occurrence.reads)
        return [o for o in self.occurrences if o.name in after & before] if last.name in after else []

    def shape(self, name: str) -> tuple[int, ...] | None:
        """The shape of what an occurrence makes, as far as it is known, from its slowest axis to its fastest."""
        return self._shapes.get(name)

    def moved(self, occurrence: Occurrence) -> MovedWords:
        """Words that pass the outermost memory for what is made outside; none for what comes from outside."""
        if occurrence.kind != OUTSIDE or occurrence.role is not None or occurrence.moves is not None:
            return occurrence.moves or MovedWords((), 0)
        shape, shapes = self.shape(occurrence.name), ((one.name, self.shape(one.name)) for one in occurrence.sources)
        made = 0 if shape is None else prod(shape)
        read = tuple((name, min(made, prod(own))) for name, own in shapes if own is not None)
        return MovedWords(read, min(made, sum(words for _, words in read)))

    @cached_property
    def _shapes(self) -> Mapping[str, tuple[int, ...] | None]:
        """By occurrence, each after those that it reads."""
        found: dict[str, tuple[int, ...] | None] = {}
        for occurrence in self.occurrences:
            found[occurrence.name] = _shape_of(occurrence, [found.get(source.name) for source in occurrence.sources])
        return found


def _shape_of(occurrence: Occurrence, read: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """The shape of what an occurrence makes of tensors of these shapes."""
    if occurrence.problem is not None and occurrence.shape is None:
        return tuple(occurrence.problem.sizes[dim] for dim in written_dims(occurrence))
    if occurrence.shape is not None:
        return occurrence.shape
    shape = next((shape for shape in read if shape is not None), None)
    if shape is None or occurrence.kind not in ("maxpool", "avgpool"):
        return shape
    if occurrence.window is None:
        return shape[:-2]
    size, stride, before = occurrence.window
    pooled = [(n + 2 * b - s) // t + 1 for n, s, t, b in zip(shape[-2:], size, stride, before, strict=True)]
    return (*shape[:-2], *pooled)


def written_dims(occurrence: Occurrence) -> tuple[str, ...]:
    """Dimensions of a layer's output, in the order in which they lie in it."""
    assert occurrence.problem is not None
    dims = [rank[0][0] for rank in occurrence.problem.output.ranks]
    return tuple(dims if occurrence.writes is None else sorted(dims, key=lambda d: _place(d, occurrence.writes or ())))


def _place(dim: str, order: tuple[str, ...]) -> int:
    return order.index(dim.lower())
