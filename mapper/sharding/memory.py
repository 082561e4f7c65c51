"""What lies in the outermost memory of a device: weights, caches, and tensors that are alive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import prod

from ...arch.system import System
from ...cost_models.collectives import most_words
from ...ir import InfeasibleError, Tensor
from ...ir.sharding import Sharding, Split
from ...ir.units import size
from ...workloads.graph import NetworkGraph, Occurrence
from .dividing import blocks_of, dims_of, divided_sizes, likeness
from .question import DeviceMemory, DeviceWork, Resharding
from .space import ShardingSpace

_BYTE = 8
_MOST_TIMES = 1024
"""Times as many devices, at most, that are tried for a model that does not fit."""

State = tuple[str, Sharding]
"""A tensor, by who makes it, as it is held."""


def weights_of_operation(occurrence: Occurrence) -> tuple[Tensor, ...]:
    """The parameters of a layer: what it does not read from others; of one that reads in other ways, what has the role
    of weights."""
    if occurrence.problem is None:
        return ()
    operands = occurrence.problem.operands
    if occurrence.follows:
        return tuple(tensor for tensor in operands if tensor.role == "weight")
    return operands[len(occurrence.sources) :]


class DeviceRoom:
    """What takes room on the devices of a system, for one network."""

    def __init__(self, graph: NetworkGraph, system: System) -> None:
        self.graph, self.system = graph, system
        self.space = ShardingSpace(graph, system)
        self.sizes = tuple(axis.size for axis in system.axes)
        holds = system.device.memories[0].holds_bits
        self.size = None if holds is None else holds // _BYTE

    def weights(self, name: str, split: Split) -> int:
        """Bytes of the parameters of an operation on the fullest device: dealt as the dimensions that they have, those
        of all experts."""
        occurrence = self.graph.by_name[name]
        sizes, _ = divided_sizes(dims_of(self.graph, occurrence), split, self.system.axes)[0]
        bits = 0
        for tensor in weights_of_operation(occurrence):
            own = {dim: sizes[dim] for dim in tensor.dims}
            if occurrence.experts:
                dealing = [n for n, dim in zip(self.sizes, split, strict=True) if dim == "B" and "B" in sizes]
                own["B"] = max(blocks_of(occurrence.experts, dealing[::-1]))
            bits += prod(own.values()) * self.system.device.width_bits(tensor)
        return -(-occurrence.times * bits // _BYTE)

    def held(self, state: State) -> int:
        """Bytes of a tensor on the fullest device."""
        name, sharding = state
        return -(-most_words(self._words(name), sharding, self.sizes) * self.space.bits(name) // _BYTE)

    def _words(self, name: str) -> int:
        """Of a tensor; of one from outside whose shape nobody states, those that its first reader reads."""
        shape = self.graph.shape(name)
        if shape is not None:
            return prod(shape)
        for occurrence in self.graph:
            for number, source in enumerate(occurrence.sources):
                if source.name == name and occurrence.problem is not None:
                    return prod(occurrence.problem.extents(occurrence.problem.operands[number].name))
        return 0

    def of_plan(
        self,
        steps: Sequence[DeviceWork | Resharding],
        splits: Mapping[str, Split],
        shardings: Mapping[str, Sequence[Sharding]],
    ) -> DeviceMemory:
        """What lies there at most over the steps of a plan.

        shardings  by who makes it, all those that a tensor is held in
        """
        weights = sum(self.weights(name, split) for name, split in splits.items())
        caches = dict(self._caches(shardings))
        times = self._alive(steps, splits)
        change = [0] * (len(steps) + 1)
        for state, (first, last) in times.items():
            if state not in caches:
                change[first] += self.held(state)
                change[last + 1] -= self.held(state)
        return DeviceMemory(weights, sum(caches.values()), max(accumulate(change), default=0), self.size)

    def crossing(self, steps: Sequence[DeviceWork | Resharding], splits: Mapping[str, Split]) -> list[int]:
        """Before every step, bytes on the fullest device of what earlier steps made and this one or later ones read:
        what passes to other devices where they go on."""
        change = [0] * (len(steps) + 2)
        for state, (first, last) in self._alive(steps, splits).items():
            if state[0] in self.space.readers and not self.space.is_free(state[0]):
                change[first + 1] += self.held(state)
                change[last + 1] -= self.held(state)
        return list(accumulate(change))[: len(steps)]

    def _caches(self, shardings: Mapping[str, Sequence[Sharding]]) -> list[tuple[State, int]]:
        """Every cache as it is kept: in the smallest of the shardings that it is held in."""
        found = []
        for occurrence in self.graph:
            if occurrence.role == "cache":
                row = self.space.row(occurrence.name)
                states = [(row, sharding) for sharding in shardings.get(row, ())]
                found += [(state, self.held(state)) for state in [min(states, key=self.held)] if states]
        return found

    def _alive(
        self, steps: Sequence[DeviceWork | Resharding], splits: Mapping[str, Split]
    ) -> dict[State, tuple[int, int]]:
        """The first and the last step at which every tensor is held in every sharding; what is cut out of one lies in
        that. What nobody reads stays until the end, what comes from outside is there from the start."""
        last_step = len(steps) - 1
        parts: dict[State, State] = {}
        times: dict[State, tuple[int, int]] = {}

        def use(state: State, step: int, first: int = 0) -> None:
            state = parts.get(state, state)
            begin, end = times.get(state, (first, step))
            times[state] = min(begin, step), max(end, step)

        for number, step in enumerate(steps):
            if isinstance(step, Resharding):
                before, after = (step.tensor, step.before), (step.tensor, step.after)
                use(before, number)
                if step.phase is None:
                    parts[after] = parts.get(before, before)
                else:
                    use(after, number, number)
                continue
            split = splits[step.name]
            made = (step.name, self.space.made(step.name, split))
            use(made, number, number)
            if step.name not in self.space.readers:
                use(made, last_step, number)
            for read, name in enumerate(self.space.reads(step.name)):
                needed = (name, self.space.needed(step.name, split, read))
                if self.space.is_free(name) or parts.get(needed, needed) in times:
                    use(needed, number)
        return times

    def least(self) -> DeviceMemory:
        """What no plan has less of: of every operation the split that takes least, each on its own."""
        weights = cache = live = 0
        known: dict[object, tuple[int, int]] = {}
        cached = {self.space.row(one.name) for one in self.graph if one.role == "cache"}
        for name in self.space.names:
            occurrence, reads = self.graph.by_name[name], self.space.reads(name)
            alike = likeness(self.graph, occurrence), self.space.rows(name), *(one in cached for one in (name, *reads))
            if alike not in known:
                splits = self.space.splits(name)
                least = min(self._at_work(name, split, cached) for split in splits) if occurrence.role is None else 0
                known[alike] = min(self.weights(name, split) for split in splits), least
            weights, live = weights + known[alike][0], max(live, known[alike][1])
        for occurrence in self.graph:
            if occurrence.role == "cache":
                row = self.space.row(occurrence.name)
                states = [(row, self.space.made(row, split)) for split in self.space.splits(row)]
                states += [
                    (row, self.space.needed(reader, split, read))
                    for reader, read in self.space.readers.get(row, ())
                    for split in self.space.splits(reader)
                ]
                cache += min(map(self.held, states))
        return DeviceMemory(weights, cache, live, self.size)

    def _at_work(self, name: str, split: Split, cached: set[str]) -> int:
        """Bytes of what an operation reads that is in no cache, and of what it makes."""
        states = {(name, self.space.made(name, split))}
        states |= {(read, self.space.needed(name, split, i)) for i, read in enumerate(self.space.reads(name))}
        return sum(self.held(state) for state in states if state[0] not in cached)

    def check(self) -> None:
        """InfeasibleError where no plan fits into the memory of a device: what lies there at least, and how many
        devices would do."""
        least = self.least()
        if self.size is None or least.used <= self.size:
            return
        outer, times = self.system.axes[-1], 2
        enough = None
        while enough is None and times <= _MOST_TIMES:
            larger = replace(self.system, axes=(*self.system.axes[:-1], replace(outer, size=times * outer.size)))
            if DeviceRoom(self.graph, larger).least().used <= self.size:
                enough = times * outer.size
            times *= 2
        memory = self.system.device.memories[0].name
        parts = {"weights": least.weights, "caches": least.cache, "tensors of one operation": least.live}
        told = ", ".join(f"{what} {size(_BYTE * part)}" for what, part in parts.items() if part)
        message = (
            f"{self.graph.network} takes {size(_BYTE * least.used)} of each device at least, in any sharding "
            f"({told}); {memory} of {self.system.device.name} has {size(_BYTE * self.size)}"
        )
        hint = "no number of devices would do" if enough is None else f"--set {outer.name}.size={enough} may do"
        raise InfeasibleError(message, where=self.system.name, hint=hint)
