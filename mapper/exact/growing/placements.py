"""Placements, decided tensor by tensor, lazily: which memories keep each tensor.

A placement costs at least what its boundaries cost if every word passes them once, under any arrays. That is a sum over
boundaries, and so over tensors and over memories from the inside out; what is not decided yet costs the least that any
decision would, column by column. So a placement in which little is decided has a bound already, and only those are
decided further whose bound is among the lowest: machines on which hundreds of thousands of placements are allowed need
only few of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....cost_models.padding import words_at_macs
from ..question.hierarchy import MAC, MemoryBoundary
from ..rows import Floats
from .context import SearchContext


@dataclass(frozen=True, eq=False)
class OpenPlacement:
    """A placement that is decided for the first few tensors, and perhaps in part for the last of them.

    chains  per tensor, the memories that keep it, from the inside out
    costs   (columns,) of the boundaries between them
    sharp   whether the bound takes the arrays into account that the machine has
    """

    chains: tuple[tuple[int, ...], ...]
    costs: Floats
    sharp: bool = False

    nbytes = 500

    @property
    def depth(self) -> float:
        """Return how far it is decided: less than anything in which arrays are."""
        return sum(map(len, self.chains)) / 1_000 - 1


class Placements:
    """Placements decides step by step which memories keep each tensor."""

    def __init__(self, context: SearchContext) -> None:
        self.context = context
        self.hierarchy = context.hierarchy
        self.tensors = range(len(self.hierarchy.problem.tensors))
        instances = math.prod(fanout.instances for fanout in self.hierarchy.fanouts)
        self._least_steps = float(max(1, -(-self.hierarchy.problem.macs // instances)))
        self._least: dict[tuple[int, int], Floats] = {}

    def root(self) -> OpenPlacement:
        """Return the placement in which nothing is decided."""
        costs = np.zeros((self.context.costs.cost_columns.count, 1))
        macs = self.hierarchy.problem.macs * self.hierarchy.arch.mac.energy_pj
        self.context.costs.cost_columns.book_energy(costs, macs)
        return OpenPlacement((), costs[:, 0])

    def is_complete(self, choice: OpenPlacement) -> bool:
        """Tell whether the memories of all tensors are decided."""
        return len(choice.chains) == len(self.tensors) and self._is_ended(choice.chains)

    def bound(self, choice: OpenPlacement) -> float:
        """Bound all mappings of a placement."""
        return float(self._bounds([choice])[0])

    def further(self, choice: OpenPlacement) -> Iterator[tuple[float, OpenPlacement]]:
        """Yield all ways to go on, with their bounds: the memories of as many tensors as there is room for, or the next
        memory of one tensor."""
        grown = self._by_tensors(choice) or self._by_memory(choice)
        complete = [self.is_complete(each) for each in grown]
        allowed = [
            each
            for each, ended in zip(grown, complete, strict=True)
            if not ended or self.context.limits.allows(each.chains)
        ]
        yield from zip(self._bounds(allowed).tolist(), allowed, strict=True)

    def _by_tensors(self, choice: OpenPlacement) -> list[OpenPlacement]:
        """Decide the chains of the next few tensors; return nothing if those of one tensor are too many."""
        if choice.chains and not self._is_ended(choice.chains):
            return []
        grown = [choice]
        for tensor in self.tensors[len(choice.chains) :]:
            count = self._chains(tensor)
            if len(grown) * count > self.context.effort.some:
                break
            chains = list(self._all_chains(tensor, MAC))
            costs = [self._chain_costs(tensor, chain) for chain in chains]
            grown = [
                OpenPlacement((*each.chains, chain), each.costs + cost)
                for each in grown
                for chain, cost in zip(chains, costs, strict=True)
            ]
        return [] if grown == [choice] else grown

    def _by_memory(self, choice: OpenPlacement) -> list[OpenPlacement]:
        """Decide the next memory of one tensor."""
        chains = choice.chains
        begun = bool(chains) and not self._is_ended(chains)
        before, chain = (chains[:-1], chains[-1]) if begun else (chains, ())
        tensor, inner = len(before), chain[-1] if chain else MAC
        return [
            OpenPlacement((*before, (*chain, outer)), choice.costs + self._once(MemoryBoundary(tensor, inner, outer)))
            for outer in self._next(tensor, inner)
        ]

    def _bounds(self, choices: Sequence[OpenPlacement]) -> Floats:
        """(choices,) bounds."""
        if not choices:
            return np.zeros(0)
        costs = np.stack([each.costs + self._undecided(each.chains) for each in choices], axis=1)
        return self.context.value(costs, np.full(len(choices), self._least_steps))

    def _undecided(self, chains: tuple[tuple[int, ...], ...]) -> Floats:
        """Bound (columns,) what is not decided."""
        found = sum((self._least_from(t, MAC) for t in self.tensors[len(chains) :]), np.zeros(1))
        if chains and not self._is_ended(chains):
            found = found + self._least_from(len(chains) - 1, chains[-1][-1])
        return found

    # ---- chains of one tensor ------------------------------------------------------------------------------

    def _is_ended(self, chains: Sequence[tuple[int, ...]]) -> bool:
        """Tell whether the chain of the last tensor has reached its home."""
        return bool(chains[-1]) and chains[-1][-1] == self.hierarchy.home(len(chains) - 1)

    def _next(self, tensor: int, inner: int) -> Iterator[int]:
        """Return the memories that may keep a tensor next outside a memory."""
        for outer in range(inner + 1, len(self.hierarchy.memories)):
            keep = self._keep(tensor, outer)
            if keep != "never":
                yield outer
            if keep == "must":
                return

    def _keep(self, tensor: int, memory: int) -> str:
        """Whether a memory must, may or never keep a tensor, by the architecture and by constraints."""
        asked = self.context.limits.keep(memory, tensor)
        own = self.hierarchy.keeps(memory, tensor)
        if asked is None:
            return own
        return {True: "must", False: "never"}[asked] if own == "may" else own

    def _chains(self, tensor: int) -> int:
        """Count the chains of a tensor."""
        return int(2 ** sum(self._keep(tensor, m) == "may" for m in range(len(self.hierarchy.memories))))

    def _all_chains(self, tensor: int, inner: int) -> Iterator[tuple[int, ...]]:
        for outer in self._next(tensor, inner):
            if outer == self.hierarchy.home(tensor):
                yield (outer,)
            else:
                yield from ((outer, *rest) for rest in self._all_chains(tensor, outer))

    def _chain_costs(self, tensor: int, chain: Sequence[int]) -> Floats:
        pairs = itertools.pairwise((MAC, *chain))
        return sum((self._once(MemoryBoundary(tensor, *pair)) for pair in pairs), np.zeros(1))

    def _least_from(self, tensor: int, inner: int) -> Floats:
        """Bound (columns,) the boundaries of a tensor outside a memory, whichever they are."""
        if inner == self.hierarchy.home(tensor):
            return np.zeros(1)
        if (tensor, inner) not in self._least:
            self.context.means.check()
            ways = [
                self._once(MemoryBoundary(tensor, inner, outer)) + self._least_from(tensor, outer)
                for outer in self._next(tensor, inner)
            ]
            self._least[tensor, inner] = np.min(ways, axis=0)
        return self._least[tensor, inner]

    def _once(self, boundary: MemoryBoundary) -> Floats:
        """Bound (columns,) a boundary under any arrays: at the MACs, every operation takes or gives a word; elsewhere
        every word passes once."""
        boundaries = self.context.bounds.any_boundaries
        if boundary.inner != MAC:
            return boundaries.once(boundary)
        problem = self.hierarchy.problem
        words = np.array([float(words_at_macs(problem, problem.tensors[boundary.tensor]))])
        return boundaries.book(boundary, 0, words).reshape(-1)
