"""Searches whose rows are all grown to the end, to compare what comes of those that stand for others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from generators import memory, random_architecture, random_problem, windows_below_arrays
from paths import context_of
from tilewright.arch import Architecture, Mac
from tilewright.cost_models import ENERGY, evaluate
from tilewright.ir import Problem
from tilewright.ir.problem import ROLES
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.exact.arrays.array_choices import ArrayPlans
from tilewright.mapper.exact.arrays.fanouts import pass_fanout
from tilewright.mapper.exact.batch import Batch
from tilewright.mapper.exact.canonical import CanonicalForm, canonical_problem
from tilewright.mapper.exact.context import SearchContext
from tilewright.mapper.exact.finishing import Finishing
from tilewright.mapper.exact.found import BestFound
from tilewright.mapper.exact.loop_bands.dominance import comparable, standing_for, undominated
from tilewright.mapper.exact.loop_bands.loops import expand_loops
from tilewright.mapper.space import SPACES
from tilewright.mapper.tilings import TILINGS

ANY = float("inf")
MOST_BATCHES = 40
"""Batches of one search that are looked at."""
MOST_ROWS = 300
"""Rows of a batch that are grown, at most."""


@dataclass
class Watched:
    """The steps of searches that leave nothing aside but what other rows stand for."""

    problem: Problem
    arch: Architecture
    context: SearchContext
    reduction: CanonicalForm
    compared: list[tuple[Batch, np.ndarray]] = field(default_factory=list)
    seen: list[Batch] = field(default_factory=list)

    def undominated(self, context: SearchContext, batch: Batch) -> Batch:
        """What `dominance.undominated` does, and a note of it."""
        standing = standing_for(context, batch)
        if (standing >= 0).any():
            self.compared.append((batch, standing))
        return undominated(context, batch)

    def grown(self, batch: Batch) -> Iterator[Batch]:
        """What grows from a batch by the fanouts that come next, and a node group."""
        while self.context.hierarchy.at_fanout(batch.state):
            batch = pass_fanout(self.context, batch, ANY)
        if len(batch):
            yield from expand_loops(self.context, batch, ANY)

    def explore(self, rng: random.Random) -> None:
        """Grow some rows of some placements."""
        plans = ArrayPlans(self.context)
        placements = list(self.context.hierarchy.placements())
        queue = [plans.start(placement, ANY) for placement in rng.sample(placements, min(3, len(placements)))]
        for _ in range(MOST_BATCHES):
            queue = [batch for batch in queue if len(batch) and not batch.complete]
            if not queue:
                return
            batch = queue.pop(rng.randrange(len(queue)))
            rows = rng.sample(range(len(batch)), min(MOST_ROWS, len(batch)))
            grown = list(self.grown(batch.take(np.array(sorted(rows), dtype=np.int64))))
            self.seen += grown
            queue += grown

    def chosen(self, rng: random.Random) -> list[tuple[Batch, np.ndarray]]:
        """Some batches with rows left aside: where boundaries wait, whose costs depend on rows most, and others."""
        rng.shuffle(self.compared)
        waiting = [found for found in self.compared if found[0].state.waiting]
        others = [found for found in self.compared if not found[0].state.waiting and not found[0].complete]
        return [*waiting[:3], *others[:2]]

    def least(self, batch: Batch) -> tuple[float, float]:
        """The least energy and the least latency of all mappings that grow from a batch."""
        finishing = Finishing(self.context, BestFound(ENERGY, self.arch, 1), self.reduction, self.arch, Constraints())
        energy = latency = ANY
        open_batches = [batch]
        while open_batches:
            batch = open_batches.pop()
            if not batch.complete:
                open_batches += self.grown(batch)
                continue
            for row in range(len(batch)):
                for mapping in finishing.mappings(batch, row):
                    cost = evaluate(mapping, self.arch)
                    energy, latency = min(energy, cost.energy_pj), min(latency, cost.latency_cycles)
        return energy, latency


def random_pair(rng: random.Random) -> tuple[Problem, Architecture]:
    """Small enough to grow everything; some with windows that are charged below arrays, some that count fill times."""
    while True:
        if rng.random() < 0.5:
            problem, arch = windows_below_arrays(rng, 4)
        else:
            problem, arch = random_problem(rng, 4), random_architecture(rng, rng.randint(1, 2), capacity=24)
        if 4 <= problem.macs <= 72:
            filling = rng.random() < 0.2
            return problem, arch.model_copy(update={"latency": "with_fill"}) if filling else arch


def watched(rng: random.Random) -> Watched:
    """A search in which rows are compared at all."""
    while True:
        original, machine = random_pair(rng)
        tiling, space = rng.choice(TILINGS), rng.choice(SPACES)
        reduction = canonical_problem(original, machine, tiling)
        context = context_of(reduction.problem, reduction.arch, tiling, space)
        if comparable(context):
            return Watched(reduction.problem, reduction.arch, context, reduction)


def alternating(rng: random.Random) -> Watched:
    """Two small memories without an array between them: their nodes may alternate, and take room in both."""
    keeps = dict.fromkeys(ROLES, "may")
    while not 8 <= (problem := random_problem(rng, 4)).macs <= 64:
        pass
    inner = [
        memory(name, rng, keeps=keeps, size_bits=8 * rng.randint(4, most)) for name, most in (("L1", 20), ("L2", 12))
    ]
    arch = Architecture(
        name="alternating", clock_hz=1e9, word_bits=8, levels=(memory("DRAM", rng), *inner), mac=Mac(energy_pj=0.0)
    )
    tiling = rng.choice(TILINGS)
    reduction = canonical_problem(problem, arch, tiling)
    context = context_of(reduction.problem, reduction.arch, tiling, "uneven")
    return Watched(reduction.problem, reduction.arch, context, reduction)


def check_stands(search: Watched, aside: Batch, stands: Batch, seed: int) -> None:
    """Grown to the end, a row costs no more than the one that it stands for, in any objective."""
    least_aside, least = (search.least(row) for row in (aside, stands))
    assert all(s <= a * (1 + 1e-9) for s, a in zip(least, least_aside, strict=True)), (seed, least_aside, least)


def only(batch: Batch, row: int) -> Batch:
    """One row of a batch."""
    return batch.take(np.array([row]))
