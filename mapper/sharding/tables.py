"""Sums of costs over splits: of every operation what devices do, of every tensor what it costs to bring it to readers.

*Relaxed*, the readers of a tensor share every step by weights that add up to one, and each takes its own shortest path:
never more than the least tree, which holds a path for each of them. So a tensor is a table for each of its readers, by
the splits of two operations, and the least sum of all tables is a bound on all plans. The weights follow the trees of
the choice that attains it. Where a gap stays, one table by the splits of all readers holds the trees themselves.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt

from ...cost_models.collectives import ReshardingSteps
from ...ir.sharding import PARTIAL, SPREAD, Split
from ..layout_plan.elimination import CostTerm, least_sum
from ..pareto.weights import Weights
from .space import ShardingSpace
from .tensors import Floats, TensorShardings

Numbers = npt.NDArray[np.int64]

Choice = Mapping[str, int]
"""By operation, the number of its split."""

_HANDED_OUT = " handed out"
"""Behind the name of a tensor that the network hands out, what stands for its reader: any whole words will do."""

MOST_TREES = 20_000
"""Trees of one table, at most."""


@dataclass(eq=False)
class TensorKind:
    """Tensors that are alike: made and read by operations that are.

    shardings  of them
    made       by the maker's split, the number of a sharding
    needed     of each reader, by its split
    shares     of each reader, of every step; of a step they add up to one
    is_exact   whether it has one table of trees
    """

    shardings: TensorShardings
    made: Numbers
    needed: tuple[Numbers, ...]
    shares: Floats = field(init=False)
    is_exact: bool = False

    def __post_init__(self) -> None:
        self.shares = np.full((len(self.needed), len(self.shardings.edges)), 1 / max(1, len(self.needed)))
        self._tables: list[Floats] | None = None

    @property
    def tables(self) -> list[Floats]:
        """For each reader, by the splits of maker and reader; a single one by those of all where it is exact."""
        if self._tables is None:
            self._tables = [self._trees()] if self.is_exact else list(map(self._paths, range(len(self.needed))))
        return self._tables

    def _paths(self, reader: int) -> Floats:
        shardings = self.shardings
        starts, at = np.unique(self.made, return_inverse=True)
        values = shardings.values * self.shares[reader] if len(self.needed) > 1 else shardings.values
        return shardings.distances(values, list(starts))[np.ix_(at, self.needed[reader])]

    def _trees(self) -> Floats:
        distinct = [np.unique(own, return_inverse=True) for own in (self.made, *self.needed)]
        found = np.empty([len(states) for states, _ in distinct])
        for at in itertools.product(*(range(len(states)) for states, _ in distinct)):
            start, *ends = (int(states[i]) for i, (states, _) in zip(at, distinct, strict=True))
            found[at] = self.shardings.tree(start, frozenset(ends))[0]
        return found[np.ix_(*(at for _, at in distinct))]

    @property
    def trees(self) -> int:
        """How many an exact table has."""
        return math.prod(len(np.unique(own)) for own in (self.made, *self.needed))

    def make_exact(self) -> None:
        """Hold trees from now on."""
        self.is_exact, self._tables = True, None

    def follow(self, choices: Iterable[tuple[int, Sequence[int]]], part: float) -> None:
        """Move a part of the shares of each step to the readers that the trees of some choices (of the maker, and of
        the readers) lead to by it."""
        wanted: dict[int, Floats] = {}
        for maker, readers in choices:
            start, ends = int(self.made[maker]), [int(own[i]) for own, i in zip(self.needed, readers, strict=True)]
            edges = self.shardings.tree(start, frozenset(ends))[1]
            for edge, users in self.shardings.users(start, ends, edges).items():
                wanted.setdefault(edge, np.zeros(len(self.needed)))[users] += 1 / len(users)
        for edge, users_of in wanted.items():
            self.shares[:, edge] += part * (users_of / users_of.sum() - self.shares[:, edge])
        self._tables = None


class PlanTables:
    """All tables of one network on a system.

    space    splits of operations
    splits   by operation, those that may be chosen
    kinds    of tensors that something is read of
    """

    def __init__(
        self, space: ShardingSpace, steps: ReshardingSteps, weights: Weights, fixed: Mapping[str, Split]
    ) -> None:
        self.space, self._fixed = space, fixed
        self.splits = {name: (fixed[name],) if name in fixed else space.splits(name) for name in space.names}
        self.values = {name: len(splits) for name, splits in self.splits.items()}
        self.readers = {name: space.readers.get(name, ()) for name in space.names}
        for name in space.outputs:
            self.readers[name] = (*self.readers[name], (f"{name}{_HANDED_OUT}", 0))
        self._known: dict[object, TensorKind] = {}
        self.kind_of = {name: self._kind(name, steps, weights) for name in space.names if self.readers[name]}
        self.kinds = list({id(kind): kind for kind in self.kind_of.values()}.values())
        self._tensors: dict[int, list[str]] = defaultdict(list)
        for name, kind in self.kind_of.items():
            self._tensors[id(kind)].append(name)
        self._unary: dict[bytes, Floats] = {}

    def _kind(self, name: str, steps: ReshardingSteps, weights: Weights) -> TensorKind:
        space, readers = self.space, self.readers[name]
        of_readers = tuple(
            (space.rows(reader), read, self._fixed.get(reader)) if reader in self.splits else None
            for reader, read in readers
        )
        key = space.words(name), space.bits(name), space.rows(name), self._fixed.get(name), of_readers
        if key not in self._known:
            made = [space.made(name, split) for split in self.splits[name]]
            every_made = (space.made(name, split) for split in space.splits(name))  # a given one may make addends alone
            whole = [one for one in every_made if not {PARTIAL, SPREAD} & set(one)]
            needed = [
                [space.needed(reader, s, read) for s in self.splits[reader]] if reader in self.splits else whole
                for reader, read in readers
            ]
            every = itertools.chain(*needed)
            found = TensorShardings(space.words(name), space.bits(name), made, every, steps, weights)
            number = found.number
            of_splits = tuple(np.array([number[one] for one in own]) for own in needed)
            self._known[key] = TensorKind(found, np.array([number[one] for one in made]), of_splits)
        for (reader, _), own in zip(readers, self._known[key].needed, strict=True):
            self.values[reader] = len(own)
        return self._known[key]

    def terms(self, costs: Mapping[str, Floats]) -> list[CostTerm]:
        """All tables, with costs of devices by operation and split."""
        found = []
        for name, own in costs.items():
            found.append(CostTerm((name,), self._unary.setdefault(own.tobytes(), own)))
        for name, kind in self.kind_of.items():
            readers = [reader for reader, _ in self.readers[name]]
            if kind.is_exact:
                found.append(_term((name, *readers), kind.tables[0]))
            else:
                found += [_term((name, reader), table) for reader, table in zip(readers, kind.tables, strict=True)]
        return found

    def least(self, costs: Mapping[str, Floats]) -> tuple[float, Choice]:
        """The least sum of all tables, and a choice that has it."""
        return least_sum(self.terms(costs), self.values)

    def moves(self, name: str, choice: Choice) -> tuple[float, tuple[int, ...]]:
        """What a choice costs for a tensor: the value of its tree, and the steps of that."""
        kind = self.kind_of.get(name)
        return (0.0, ()) if kind is None else kind.shardings.tree(*self._ends(name, kind, choice))

    def choice_of(self, splits: Mapping[str, Split]) -> dict[str, int] | None:
        """Splits of all operations as a choice; None where one may not be chosen. What is handed out lies as it is
        cheapest beside nothing else that is read of it."""
        if any(split not in self.splits[name] for name, split in splits.items()):
            return None
        found = {name: self.splits[name].index(split) for name, split in splits.items()}
        for name in self.space.outputs:
            kind = self.kind_of[name]
            apart = kind.shardings.exact[kind.made[found[name]], kind.needed[-1]]
            found[self.readers[name][-1][0]] = int(np.argmin(apart))
        return found

    def moved(self, choice: Choice) -> float:
        """What it costs for all tensors."""
        return math.fsum(self.moves(name, choice)[0] for name in self.kind_of)

    def _ends(self, name: str, kind: TensorKind, choice: Choice) -> tuple[int, frozenset[int]]:
        ends = (own[choice[reader]] for own, (reader, _) in zip(kind.needed, self.readers[name], strict=True))
        return int(kind.made[choice[name]]), frozenset(map(int, ends))

    def relaxed(self, name: str, choice: Choice) -> float:
        """What the tables have for a tensor in a choice."""
        kind = self.kind_of[name]
        readers = [choice[reader] for reader, _ in self.readers[name]]
        if kind.is_exact:
            return float(kind.tables[0][(choice[name], *readers)])
        return sum(float(table[choice[name], i]) for table, i in zip(kind.tables, readers, strict=True))

    def gaps(self, choice: Choice) -> dict[str, float]:
        """By tensor, how much more its tree costs than the tables have."""
        return {name: self.moves(name, choice)[0] - self.relaxed(name, choice) for name in self.kind_of}

    def follow(self, choice: Choice, part: float, is_open: Callable[[TensorKind], bool]) -> None:
        """Let weights follow the trees of a choice."""
        for kind in self.kinds:
            if len(kind.needed) > 1 and not kind.is_exact and is_open(kind):
                tensors = self._tensors[id(kind)]
                kind.follow([(choice[name], [choice[r] for r, _ in self.readers[name]]) for name in tensors], part)


def _term(variables: Sequence[str], table: Floats) -> CostTerm:
    """With every variable once: an operation may read a tensor twice."""
    own = tuple(dict.fromkeys(variables))
    if len(own) == len(variables):
        return CostTerm(own, table)
    letters = {name: ascii_lowercase[number] for number, name in enumerate(own)}
    diagonal = f"{''.join(letters[name] for name in variables)}->{''.join(letters.values())}"
    return CostTerm(own, np.einsum(diagonal, table))
