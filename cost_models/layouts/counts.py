"""Lines that a mapping touches, in closed form: the same integers as the walk (`walk.py`), for problems of any size.

What passes a boundary at once is, rank by rank, the words that are wanted less those that are held already. A line is a
box as well: it is touched unless all of its words that are wanted are held, which is so if it is so along every rank.
So the sums of `closed_form.py` hold with lines in the place of words:

    lines = (prod over ranks of lines wanted) x (prod over other dimensions of places)
            - sum over loops l of (prod over ranks of lines all held at a move by l) x (prod of steps of the others)

Where a window begins matters now, up to the period after which lines look the same: places are counted by what is left
of them. Each factor is a list over the instances along its dimensions, so that the busiest one can be found.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce

import numpy as np

from ...arch import Architecture, Footprint, Memory
from ...ir import Mapping as LoopMapping
from ...ir import Problem, Rank, Tensor, TilewrightError
from ..boundaries import Boundary, boundaries_of
from ..closed_form import NOTHING, Group, Nest, dimension_moves, sliding_loops
from ..cost import held_width_bits
from ..moves import EVERY, FIRST, Place, Steps, kinds_of_move, placed_moves
from ..passing import sums_drained, sums_inwards
from ..sets import IntArray, Move, wanted_and_held
from .layout import Layout, shape_of
from .lines import LineRank
from .parsing import Layouts


@dataclass
class LineAccesses:
    """Lines of one tensor at one memory.

    reads, writes  each access to a line once
    """

    reads: int = 0
    writes: int = 0


LineTable = dict[tuple[str, str], LineAccesses]
"""Lines by (memory name, tensor name)."""


@dataclass
class LineCounts:
    """All lines that a mapping touches, of tensors with a layout.

    total    over all instances of each memory
    busiest  of the busiest instance of each memory, in each direction
    """

    total: LineTable = field(default_factory=dict)
    busiest: LineTable = field(default_factory=dict)


def line_room(arch: Architecture, memory: Memory, tensor: Tensor) -> int:
    """Words of a tensor that a line of a memory has room for.

    Raises TilewrightError if not even one fits.
    """
    width = held_width_bits(arch, memory, tensor)
    room = (memory.line_bits or 0) // width
    if not room:
        raise TilewrightError(
            f"a line of {memory.line_bits} bit is smaller than a word of {tensor.name}, {width} bit",
            where=f"{arch.name}: {memory.name}.line",
            hint=f"make it {width} bit at least",
        )
    return room


def lines_of(
    problem: Problem, arch: Architecture, memory: Memory, tensor: Tensor, layout: Layout
) -> tuple[LineRank, ...]:
    """How the lines of a memory divide the ranks of a tensor."""
    return layout.lines(shape_of(tensor, problem), line_room(arch, memory, tensor))


def count_lines(mapping: LoopMapping, arch: Architecture, layouts: Layouts) -> LineCounts:
    """Lines that every memory reads and writes, of the tensors that have a layout there; equal to `walk_lines`.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    nest, counts = Nest.of(mapping, arch), LineCounts()
    for boundary in boundaries_of(mapping, arch):
        ends = [(boundary.outer, boundary.outer_position)]
        ends += [(boundary.inner, boundary.inner_position)] if boundary.inner is not None else []
        for memory, position in ends:
            layout = layouts.get((memory.name, boundary.tensor.name))
            if layout is None:
                continue
            lines = lines_of(mapping.problem, arch, memory, boundary.tensor, layout)
            crossing = _Crossing(nest, boundary, lines, position)
            reads, writes = crossing.sums() if boundary.tensor.is_output else crossing.operand()
            key = memory.name, boundary.tensor.name
            _add(counts.total.setdefault(key, LineAccesses()), int(reads.sum()), int(writes.sum()))
            _add(counts.busiest.setdefault(key, LineAccesses()), int(reads.max()), int(writes.max()))
    return counts


def _add(accesses: LineAccesses, reads: int, writes: int) -> None:
    accesses.reads += reads
    accesses.writes += writes


@dataclass(frozen=True)
class _Crossing:
    """A boundary as one of its two memories sees it, whose node stands at `position`."""

    nest: Nest
    boundary: Boundary
    lines: tuple[LineRank, ...]
    position: int

    @property
    def is_outer(self) -> bool:
        return self.position == self.boundary.outer_position

    def operand(self) -> tuple[IntArray, IntArray]:
        """Lines read and written, by instance."""
        boundary = self.boundary
        halo = boundary.inner.halo if boundary.inner is not None else "none"
        passed = self._passed(halo, boundary.multicast if self.is_outer else NOTHING)
        nothing = np.zeros_like(passed)
        return (passed, nothing) if self.is_outer else (nothing, passed)

    def sums(self) -> tuple[IntArray, IntArray]:
        """Lines of partial sums read and written, by instance."""
        arch = self.nest.arch
        joined = self.boundary.reduced if self.is_outer else NOTHING
        passed, first = self._passed("none", joined), self._first(joined)
        if self.is_outer:
            return sums_inwards(arch, passed, first), passed
        return sums_drained(arch, passed), sums_inwards(arch, passed, first)

    @property
    def _steps(self) -> Steps:
        if self.boundary.inner is None:
            return EVERY
        return Steps(self.nest.innermost_serving(self.boundary.tensor, self.boundary.inner_position))

    def _passed(self, halo: str, joined: frozenset[int]) -> IntArray:
        factors = self._factors(self._steps, joined)
        passed = _product([wanted for wanted, _ in factors])
        for loop in sliding_loops(self.nest, self.boundary.tensor, halo, self._steps.last) if halo != "none" else ():
            passed = passed - _product([held for _, held in self._factors(Steps(loop, moving=True), joined)])
        return passed

    def _first(self, joined: frozenset[int]) -> IntArray:
        """Lines of tiles that are there for the first time: those of one setting of the loops that sum up."""
        ranks = [wanted for wanted, _ in self._rank_factors(self._steps, joined)]
        others = [counted for counted, _ in self._other_factors(FIRST, Group(self.position))]
        return _product(ranks + others)

    def _factors(self, steps: Steps, joined: frozenset[int]) -> list[tuple[IntArray, IntArray]]:
        group = Group(self.boundary.inner_position, joined)
        return self._rank_factors(steps, joined) + self._other_factors(steps, group)

    def _rank_factors(self, steps: Steps, joined: frozenset[int]) -> list[tuple[IntArray, IntArray]]:
        found = []
        for rank, lines in zip(self.boundary.tensor.ranks, self.lines, strict=True):
            pairs = []
            for only in self._instances([dim for dim, _ in rank]):
                group = Group(self.boundary.inner_position, joined, only)
                pairs.append(_along_rank(self.nest, rank, lines, steps, group))
            found.append(_columns(pairs))
        return found

    def _other_factors(self, steps: Steps, group: Group) -> list[tuple[IntArray, IntArray]]:
        found = []
        for dim in self.nest.problem.dim_names:
            if dim not in self.boundary.tensor.dims:
                counts = []
                for only in self._instances([dim]):
                    moves = dimension_moves(self.nest, dim, steps, group._replace(only=only))
                    counts.append(sum(kind.count for kind in kinds_of_move(*moves)))
                found.append(_columns([(count, count) for count in counts]))
        return found

    def _instances(self, dims: list[str]) -> Iterator[Place]:
        """Instances of the memory, as far as loops over some dimensions tell them apart."""
        loops = [i for i in self.nest.spatial if i < self.position and self.nest.loops[i].dim in dims]
        for values in itertools.product(*(range(self.nest.loops[i].trips) for i in loops)):
            yield frozenset(zip(loops, values, strict=True))


def _columns(pairs: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    wanted, held = np.array(pairs, dtype=np.int64).T
    return wanted, held


def _product(factors: list[IntArray]) -> IntArray:
    """Of every instance, which has a place in each factor."""
    return reduce(lambda product, factor: np.multiply.outer(product, factor).ravel(), factors, np.ones(1, np.int64))


def _along_rank(nest: Nest, rank: Rank, lines: LineRank, steps: Steps, group: Group) -> tuple[int, int]:
    """Lines along a rank that are wanted in some steps, and those whose wanted words are all held."""
    coefficients, period = tuple(c for _, c in rank), lines.period
    placed = []
    for dim, coefficient in rank:
        moves = placed_moves(*dimension_moves(nest, dim, steps, group))
        placed.append([(kind, _residues(starts, coefficient, period)) for kind, starts in moves])
    wanted = held = 0
    for chosen in itertools.product(*placed):
        moves_of = tuple(kind.moves for kind, _ in chosen)
        for residue, count in _sums([residues for _, residues in chosen], period).items():
            new, kept = _lines_moved(coefficients, moves_of, lines, residue, nest.arch.footprint)
            wanted += count * new
            held += count * kept
    return wanted, held


def _residues(starts: IntArray, coefficient: int, period: int) -> Mapping[int, int]:
    values, counts = np.unique(starts * coefficient % period, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _sums(residues: list[Mapping[int, int]], period: int) -> Mapping[int, int]:
    """How often each sum of one residue of each list occurs."""
    found = Counter({0: 1})
    for each in residues:
        more: Counter[int] = Counter()
        for (a, m), (b, n) in itertools.product(found.items(), each.items()):
            more[(a + b) % period] += m * n
        found = more
    return found


@lru_cache(maxsize=1 << 16)
def _lines_moved(
    coefficients: tuple[int, ...],
    instances: tuple[tuple[Move, ...], ...],
    lines: LineRank,
    first: int,
    footprint: Footprint,
) -> tuple[int, int]:
    """Lines that a group of instances wants along a rank, and those of them whose wanted words are all held.

    first  where the place stands that the instances' offsets count from
    """
    wanted, held = wanted_and_held(coefficients, instances, footprint)
    touched = np.unique(lines.numbers(first + np.flatnonzero(wanted)))
    needed = np.unique(lines.numbers(first + np.flatnonzero(wanted & ~held)))
    return len(touched), len(touched) - len(needed)
