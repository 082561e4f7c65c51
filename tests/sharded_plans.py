"""Plans for several devices without a search: splits at random, and tensors brought where they are needed by shortest
paths."""

from __future__ import annotations

import random
from collections.abc import Callable

from tilewright.arch.system import System
from tilewright.cost_models import parse_objective
from tilewright.cost_models.collectives import ReshardingSteps
from tilewright.ir.sharding import PARTIAL, REPLICATED, Sharding, Split
from tilewright.mapper.certificate import Certificate
from tilewright.mapper.sharding import (
    DeviceMemory,
    DeviceWork,
    Resharding,
    ShardedAnswer,
    ShardingQuestion,
    ShardingSpace,
)
from tilewright.workloads.graph import NetworkGraph

Way = tuple[Resharding, ...]


class PlanInOrder:
    """Operations one after the other, each with a split; what they need is made when it is asked for."""

    def __init__(self, graph: NetworkGraph, system: System, choose: Callable[[str, tuple[Split, ...]], Split]) -> None:
        self.graph, self.system = graph, system
        self.space, self.moves = ShardingSpace(graph, system), ReshardingSteps(system)
        self.held: dict[str, list[Sharding]] = {}
        self.steps: list[DeviceWork | Resharding] = []
        for name in self.space.names:
            self._do(name, choose)
        for name in self.space.names:
            if name not in self.space.readers:
                whole = tuple(REPLICATED if one == PARTIAL else one for one in self.held[name][0])
                way = self._way(name, whole)
                assert way is not None
                self._go(name, way)

    def _do(self, name: str, choose: Callable[[str, tuple[Split, ...]], Split]) -> None:
        reads = self.space.reads(name)
        open_ones = list(self.space.splits(name))
        while True:
            split = choose(name, tuple(open_ones))
            open_ones.remove(split)
            wanted = [(tensor, self.space.needed(name, split, number)) for number, tensor in enumerate(reads)]
            for tensor, sharding in wanted:
                if self.space.is_free(tensor) and PARTIAL not in sharding:
                    self.held.setdefault(tensor, []).append(sharding)
            ways = [(tensor, self._way(tensor, sharding)) for tensor, sharding in wanted]
            if all(way is not None for _, way in ways):
                break
        for tensor, way in ways:
            self._go(tensor, way or ())
        self.steps.append(DeviceWork(name, split, 0.0, 0.0, None))
        self.held[name] = [self.space.made(name, split)]

    def _go(self, tensor: str, way: Way) -> None:
        for step in way:
            if step.after not in self.held[tensor]:
                self.steps.append(step)
                self.held[tensor].append(step.after)

    def _way(self, tensor: str, wanted: Sharding) -> Way | None:
        """A shortest way to a sharding from one of those in which a tensor is held; None: there is none."""
        seen: dict[Sharding, Way] = dict.fromkeys(self.held.get(tensor, ()), ())
        fresh = list(seen)
        while wanted not in seen and fresh:
            later = []
            for sharding in fresh:
                for axis, placement in [(i, one) for i in range(len(wanted)) for one in (wanted[i], REPLICATED)]:
                    after = (*sharding[:axis], placement, *sharding[axis + 1 :])
                    if after in seen:
                        continue
                    words, bits = self.space.words(tensor), self.space.bits(tensor)
                    step = self.moves.step(words, bits, sharding, placement, axis)
                    if step is not None:
                        name = self.system.axes[axis].name
                        cost = (step.phase, step.seconds, step.energy_pj)
                        way = (*seen[sharding], Resharding(tensor, step.move, name, sharding, after, *cost))
                        seen[after] = way
                        later.append(after)
            fresh = later
        return seen.get(wanted)

    @property
    def answer(self) -> ShardedAnswer:
        """Of which only the plan is meant."""
        question = ShardingQuestion(self.graph, self.system, parse_objective("latency"), "divisors")
        shardings = {name: tuple(held) for name, held in self.held.items()}
        nothing = Certificate("latency", "divisors", 0.0, 0.0, None, 0, 0, {}, 0.0)
        return ShardedAnswer(question, tuple(self.steps), shardings, nothing, DeviceMemory(0, 0, 0, None))


def random_plan(rng: random.Random, graph: NetworkGraph, system: System) -> ShardedAnswer:
    """Every operation with any split."""
    return PlanInOrder(graph, system, lambda _, splits: rng.choice(splits)).answer
