"""The space of a plan for several devices: how each operation may be split, and the shardings that follow from it.

A dimension lies in a tensor's row of words with a stride; its blocks are a `Deal` of that row, whoever reads or makes
it. So tensors need no common axes: equal deals are equal shardings.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from ...arch.system import System
from ...ir import ProblemError
from ...ir.sharding import PARTIAL, REPLICATED, SPREAD, Deal, Placement, Sharding, Split
from ...workloads.graph import NetworkGraph, Occurrence, Source
from ...workloads.graph.atoms import ReaderAxis, aligned
from ...workloads.graph.joining import Member, members_of
from ...workloads.graph.occurrences import OUTSIDE
from ..kernel.remembered import remembered

_LETTERS = "ABCDEFGH"


@dataclass(frozen=True)
class RowStride:
    """How a dimension lies in a tensor's row.

    step       words from one point of it to the next
    period     words after which it begins again
    low, high  words before and behind those of a block that it takes (windows)
    """

    step: int
    period: int
    low: int = 0
    high: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether nothing is read around a block."""
        return self.low == self.high == 0


Lies = tuple[tuple[str, RowStride], ...]
"""By dimension, how it lies in one tensor."""


@dataclass(frozen=True)
class OperationRows:
    """An operation as its splits see it; equal ones have equal splits and shardings.

    dims     that may be dealt, and their points
    sources  for each tensor that it reads, how they lie there
    output   how they lie in what it makes
    words    of each tensor that it reads, and of what it makes
    spread   dimensions of which the words of the output are not known to lie in an order
    linear   whether it may take addends, and hand addends on
    """

    dims: tuple[tuple[str, int], ...]
    sources: tuple[Lies, ...]
    output: Lies
    words: tuple[int, ...]
    spread: frozenset[str] = frozenset()
    linear: bool = False


class ShardingSpace:
    """Of a network on a system: which operations there are, their splits, and the shardings that these ask for.

    names      of operations, in the network's order; tensors are called by who makes their row
    """

    def __init__(self, graph: NetworkGraph, system: System) -> None:
        self.graph, self.system = graph, system
        self.sizes = tuple(axis.size for axis in system.axes)
        self.names = tuple(o.name for o in graph if not self.is_free(o.name) and self.row(o.name) == o.name)

    # ---- tensors -------------------------------------------------------------------------------------------------

    @remembered
    def row(self, name: str) -> str:
        """Who makes the words that are read under a name: a view or a cache of as many words passes them on."""
        occurrence = self.graph.by_name.get(name)
        if occurrence is None or occurrence.role is None or len(occurrence.sources) != 1:
            return name
        source = occurrence.sources[0].name
        shape, own = self.graph.shape(source), self.graph.shape(name)
        return self.row(source) if shape is not None and own is not None and prod(shape) == prod(own) else name

    def is_free(self, name: str) -> bool:
        """Whether a tensor comes from outside of the network: it may lie in all shardings that it is read in."""
        occurrence = self.graph.by_name.get(self.row(name))
        return occurrence is None or (occurrence.kind == OUTSIDE and not occurrence.reads)

    def reads(self, name: str) -> tuple[str, ...]:
        """The tensors that an operation reads, by who makes their rows; those of `needed`, in the same order."""
        return tuple(self.row(read) for read in self.graph.by_name[name].reads)

    @cached_property
    def readers(self) -> Mapping[str, tuple[tuple[str, int], ...]]:
        """By tensor, the operations that read it, each with the number of the read."""
        found: dict[str, list[tuple[str, int]]] = {}
        for name in self.names:
            for number, read in enumerate(self.reads(name)):
                found.setdefault(read, []).append((name, number))
        return {name: tuple(readers) for name, readers in found.items()}

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The tensors that the network hands out: none of them ends as addends."""
        meaning = self.graph.meaning
        stated = {self.row(name) for name in meaning.outputs} if meaning is not None else set()
        return tuple(name for name in self.names if name in stated or name not in self.readers)

    def words(self, name: str) -> int:
        """Of a tensor that an operation makes. Raises ProblemError where its shape is not known."""
        shape = self.graph.shape(name)
        if shape is None:
            raise ProblemError(f"the shape of what {name} makes is not known", where=self.graph.network)
        return prod(shape)

    @remembered
    def bits(self, name: str) -> int:
        """Of a word of a tensor."""
        occurrence = self.graph.by_name.get(name)
        found = self.graph.widths.get(name)
        if found is None and occurrence is not None and occurrence.problem is not None:
            found = occurrence.problem.output.bits
        if found is None and occurrence is not None and occurrence.problem is None and occurrence.sources:
            found = self.bits(self.row(occurrence.sources[0].name))
        return found or self.system.device.word_bits

    # ---- splits --------------------------------------------------------------------------------------------------

    def splits(self, name: str) -> tuple[Split, ...]:
        """All splits of an operation, the one that divides nothing first."""
        return _splits(self.rows(name), self.sizes)

    def needed(self, name: str, split: Split, read: int) -> Sharding:
        """The sharding in which an operation with that split needs a tensor that it reads."""
        lies = self.rows(name).sources
        return self._sharding(name, split, dict(lies[read]) if read < len(lies) else {}, is_output=False)

    def made(self, name: str, split: Split) -> Sharding:
        """The sharding in which it makes its output."""
        return self._sharding(name, split, dict(self.rows(name).output), is_output=True)

    def _sharding(self, name: str, split: Split, lies: Mapping[str, RowStride], *, is_output: bool) -> Sharding:
        rows = self.rows(name)
        left = dict(rows.dims)
        dealt: set[str] = set()
        found: list[Placement] = []
        for dim, parts in reversed(list(zip(split, self.sizes, strict=True))):
            if dim is None or dim == PARTIAL:
                found.append(REPLICATED if dim is None else PARTIAL)
                continue
            points, left[dim] = left[dim], -(-left[dim] // parts)
            if is_output and dim in rows.spread:
                found.append(SPREAD)
            elif dim not in lies:
                found.append(PARTIAL if is_output else REPLICATED)
            else:
                lie = lies[dim]
                period = points * lie.step if dim in dealt else lie.period
                found.append(Deal(period, left[dim] * lie.step, lie.low, lie.high))
            dealt.add(dim)
        return tuple(reversed(found))

    # ---- what the field calls it -----------------------------------------------------------------------------------

    def parallelism(self, name: str, split: Split) -> tuple[str, ...]:
        """By axis what a split is called: "tensor", "expert", "sequence", "data", "spatial", or "" for none."""
        points = dict(self.rows(name).dims)
        sizes = zip(split, self.sizes, strict=True)
        return tuple(self._called(name, dim, -(-points[dim] // n)) if dim in points else "" for dim, n in sizes)

    def _called(self, name: str, dim: str, block: int) -> str:
        """Dimensions of weights, or of features, are tensor parallelism; of rows of features data parallelism, where
        blocks are of whole sequences, else sequence parallelism."""
        occurrence, rows = self.graph.by_name[name], self.rows(name)
        if occurrence.role == "cache" and dim == "B":
            return "sequence"
        operands = occurrence.problem.operands if occurrence.problem is not None else ()
        if any(dim in weight.dims for weight in operands[len(occurrence.sources) :]):
            is_common = all(dim in dict(lies) for lies in (*rows.sources, rows.output))
            return "expert" if is_common and all(lie.is_plain for _, lie in rows.sources[0]) else "tensor"
        tensors = [*zip(rows.sources, self.reads(name), strict=False), (rows.output, name)]
        found = [(lie, read) for lies, read in tensors for other, lie in lies if other == dim]
        for lie, read in found:
            shape = self.graph.shape(read) or ()
            if len(shape) == 2:
                if lie.period <= shape[1]:
                    return "tensor"
                is_part = shape[0] % self._tokens == 0 and lie.step * block % (self._tokens * shape[1])
                return "sequence" if is_part else "data"
            if read in self.names and read != name:
                points = dict(self.rows(read).dims)
                made = (
                    other for other, same in self.rows(read).output if same.period == lie.period and other in points
                )
                if called := next((self._called(read, other, block) for other in made), ""):
                    return called
        return "data" if found and found[-1][0].period == rows.words[-1] else "spatial"

    @cached_property
    def _tokens(self) -> int:
        """Positions of a sequence: those that an operation of two tensors has in the rows of the first one alone."""
        found = [1]
        for one in self.graph:
            shape = self.graph.shape(self.row(one.sources[0].name)) if len(one.sources) == 2 else None
            if one.problem is not None and len(one.problem.operands) == 2 and shape is not None and len(shape) == 2:
                other = one.problem.operands[1].dims
                lies = self.rows(one.name).sources[0]
                found += [one.problem.sizes[d] for d, lie in lies if d not in other and lie.period > shape[1]]
        return max(found)

    # ---- how dimensions lie --------------------------------------------------------------------------------------

    @remembered
    def rows(self, name: str) -> OperationRows:
        """How an operation's dimensions lie in what it reads and makes."""
        occurrence = self.graph.by_name[name]
        if occurrence.times > 1 or (occurrence.kind == OUTSIDE and occurrence.role is None):
            return OperationRows((), ((),) * len(occurrence.reads), (), (0,) * (len(occurrence.reads) + 1))
        return self._view(occurrence) if occurrence.kind == OUTSIDE else self._operation(occurrence)

    def _operation(self, occurrence: Occurrence) -> OperationRows:
        members = members_of(self.graph, occurrence, "parts")
        sizes = dict(members[-1].sizes)
        if occurrence.multiplies:
            operands = members[0].operation.problem.operands
            taps = {dim for tensor in operands for rank in tensor.ranks for dim, _ in rank[1:]}
            allowed = [dim for dim in sizes if dim not in taps]
        else:  # what it reduces is not dealt
            allowed = [dim for dim in sizes if all(dim in member.writes for member in members)]
        sources, words = [], []
        for source in occurrence.sources:
            lies: dict[str, RowStride] = {}
            for member in members:
                for read in member.reads:
                    if read.key == source.name:
                        found = self._lies(occurrence, source, member, read.axes)
                        allowed = [dim for dim in allowed if dim not in found or found[dim] is not None]
                        lies |= {dim: lie for dim, lie in found.items() if lie is not None}
            sources.append(tuple(sorted(lies.items())))
            shape = self.graph.shape(source.name)
            words.append(0 if shape is None else prod(shape))
        output, step = {}, 1
        for dim in reversed(members[-1].writes):
            output[dim] = RowStride(step, step * sizes[dim])
            step *= sizes[dim]
        dims = tuple((dim, sizes[dim]) for dim in allowed if sizes[dim] > 1)
        linear = occurrence.kind == "add" and all(map(self._may_be_addends, occurrence.reads))
        return OperationRows(dims, tuple(sources), tuple(output.items()), (*words, step), linear=linear)

    def _lies(
        self, occurrence: Occurrence, source: Source, member: Member, axes: Sequence[ReaderAxis]
    ) -> dict[str, RowStride | None]:
        """By dimension how it lies in what is read; None: in parts, or not so that blocks of it can be told."""
        sizes, cuts = member.sizes, _cuts(axes, member.sizes)
        dims = {dim for axis in axes for dim, _ in axis.rank}
        shape = self.graph.shape(source.name)
        atoms = [axis.extent(sizes) - 2 * axis.before for axis in axes] if shape is None else list(shape)
        try:
            terms = aligned(atoms, axes, sizes, cuts, occurrence.name)
        except ProblemError:
            return dict.fromkeys(dims)
        windows = {axis.rank[0][0]: axis for axis in axes if axis.window}
        found: dict[str, RowStride | None] = dict.fromkeys(dims)
        strides: dict[str, set[int]] = {}
        words = 1
        for size, here in zip(reversed(atoms), reversed(terms), strict=True):
            for (dim, low), coefficient in here:
                strides.setdefault(dim, set()).add(
                    coefficient * words if dim in windows else coefficient * words // low
                )
                if dim in windows:
                    axis = windows[dim]
                    reach = 1 + sum(step * (sizes[tap] - 1) for tap, step in axis.rank[1:])
                    step = axis.rank[0][1]
                    found[dim] = RowStride(
                        step * words, size * words, axis.before * words, (reach - step - axis.before) * words
                    )
            words *= size
        for dim, steps in strides.items():
            if dim not in windows and len(steps) == 1 and dim not in {t for a in windows.values() for t, _ in a.rank}:
                (step,) = steps
                found[dim] = RowStride(step, step * sizes[dim])
        return found

    def _may_be_addends(self, name: str) -> bool:
        """Whether devices may hold addends of what is read: it is made here, and nothing is done to its words."""
        meaning, row = self.graph.meaning, self.row(name)
        return row in self.names and (meaning is None or row not in meaning.finishes)

    def _view(self, occurrence: Occurrence) -> OperationRows:
        """What is made without words being moved, in a row of its own: the fastest axis of both rows is dealt alike
        (others may be as long by chance), of a cache of batches the slowest one too. By an axis of what is read, words
        are spread."""
        shapes = [self.graph.shape(source.name) or () for source in occurrence.sources]
        shape = self.graph.shape(occurrence.name) or ()
        first = shapes[0] if shapes else ()
        output, words = {}, 1
        for letter, size in reversed(list(zip(_LETTERS, shape, strict=False))):
            output[letter] = RowStride(words, words * size)
            words *= size
        sources: list[Lies] = []
        spread: dict[str, int] = {}
        for number, read in enumerate(shapes):
            lies: dict[str, RowStride] = {}
            if shape and read and shape[-1] == read[-1]:
                lies[_LETTERS[len(shape) - 1]] = RowStride(1, read[-1])
            if occurrence.role == "cache" and len(shape) > 2 and read and prod(read) % shape[0] == 0:
                lies["A"] = RowStride(prod(read) // shape[0], prod(read))
            if occurrence.role == "view" and read and (number == 0 or read[0] == first[0]) and read[0] > 1:
                lies["a"] = RowStride(prod(read) // read[0], prod(read))
                spread["a"] = read[0]
            sources.append(tuple(lies.items()))
        common = set(dict(sources[0])) if sources else set()
        own = [(letter, size) for letter, size in zip(_LETTERS, shape, strict=False) if size > 1]
        if occurrence.role == "view":
            own = [(letter, size) for letter, size in own if letter in common]
        sources += [()] * len(occurrence.follows)
        sizes = (*(prod(read) for read in shapes), *(0 for _ in occurrence.follows), words)
        is_linear = len(occurrence.reads) == 1 and self._may_be_addends(occurrence.reads[0])
        return OperationRows(
            (*own, *spread.items()), tuple(sources), tuple(output.items()), sizes, frozenset(spread), is_linear
        )


def _cuts(axes: Sequence[ReaderAxis], sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Strides at which parts of dimensions begin that do not lie together."""
    found: dict[str, set[int]] = {}
    for axis in axes:
        if axis.part:
            found.setdefault(axis.rank[0][0], {1}).update(axis.part)
    return {dim: tuple(sorted(lows - {sizes[dim]})) for dim, lows in found.items()}


@lru_cache(1024)
def _splits(rows: OperationRows, sizes: tuple[int, ...]) -> tuple[Split, ...]:
    points = dict(rows.dims)
    choices: list[list[str | None]] = []
    for size in sizes:
        dims = [dim for dim, number in rows.dims if number >= size] if size > 1 else []
        choices.append([None, *([PARTIAL] if rows.linear and size > 1 else []), *dims])
    return tuple(
        split for split in itertools.product(*choices) if all(_is_dealt(rows, points, split, sizes, d) for d in points)
    )


def _is_dealt(rows: OperationRows, points: Mapping[str, int], split: Split, sizes: Sequence[int], dim: str) -> bool:
    """Whether a dimension can be dealt along the axes of a split that it stands on: no oftener than it has points;
    along two axes not where it has windows, and only where blocks of the outer one are equal or it lies slowest."""
    parts = [size for own, size in zip(split, sizes, strict=True) if own == dim][::-1]
    if len(parts) < 2 or prod(parts) > points[dim]:
        return prod(parts) <= points[dim]
    tensors = zip((*rows.sources, rows.output), rows.words, strict=True)
    lies = [(lie, words) for own, words in tensors for other, lie in own if other == dim]
    if not all(lie.is_plain for lie, _ in lies):
        return False
    block = points[dim]
    for number in parts[:-1]:
        if block % -(-block // number) and not all(lie.period == words for lie, words in lies):
            return False
        block = -(-block // number)
    return True
