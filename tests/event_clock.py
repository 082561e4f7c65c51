"""An event-driven clock for small mappings: it runs transfers one after the other on the ports that they need, and uses
no formula.

The simulator's walk gives the order of what happens; this module gives it time. Every transfer of a tile, every operand
that the MACs fetch, every step of the MACs and every update is a *job*. A job waits for what it needs:

- the tile further out that it reads from, or the sums that are still to be added to the tile that it takes away;
- a free slot: a node has two, so that a tile arrives while the one before it is in use (one slot, if the memory does
  not overlap compute); the MACs have two for operands, and two for results;
- its ports: the read port of the outer memory and the write port of the inner one, or those that carry both directions.

and then takes, of every port, bits of its busiest instance / bits per cycle. It is done when the slowest of its ports
is. Of jobs that could start, the one that the walk comes to first starts first, and nothing that has started is
interrupted. All instances of a memory run in lockstep. A transfer of a memory that does not overlap compute keeps the
MACs waiting.

Where hops along an array take time, the last results are as much later as they pass hops; and so are those before each
refill of a memory that does not overlap, for which the MACs wait.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tilewright.arch import Architecture
from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.counts import Accesses
from tilewright.cost_models.filling import empties_array
from tilewright.cost_models.layouts import refuse_lines
from tilewright.cost_models.ports import access_bits, ports_of
from tilewright.cost_models.simulator import Coordinates, Walk
from tilewright.ir import Mapping

MACS = "MACs"
"""The resource that computes, beside the ports."""

Resource = tuple[str, str] | str
"""A memory and the name of its port, or what computes."""


@dataclass
class Job:
    """Something that takes time.

    number   in the order of the walk
    cycles   that it takes of every resource
    after    jobs that must be done before it starts
    """

    number: int
    cycles: dict[Resource, float]
    after: list[Job] = field(default_factory=list)

    def __lt__(self, other: Job) -> bool:
        return self.number < other.number


@dataclass
class _Slots:
    """The tiles that have passed through a node.

    arrived   per tile, the job that brought it
    users     per tile, the jobs that read it, or add to it
    left      per tile, the job that took it away; None for an operand
    """

    arrived: list[Job] = field(default_factory=list)
    users: list[list[Job]] = field(default_factory=list)
    left: list[Job | None] = field(default_factory=list)


class _TimedWalk(Walk):
    """A walk that notes its jobs."""

    def __init__(self, mapping: Mapping, arch: Architecture) -> None:
        super().__init__(mapping, arch)
        self.jobs: list[Job] = []
        self.nodes: dict[int, _Slots] = defaultdict(_Slots)
        self.memory_at = {b.inner_position: b.inner for b in self.boundaries if b.inner is not None}
        self.taken_away: dict[tuple[int, object], Job] = {}
        self.macs: list[Job] = []
        self.fetches: list[Job] = []
        self.updates: list[Job] = []

    # ---- what the walk does, and the job that it is -----------------------------------------------------------

    def step(self, time: dict[int, int]) -> None:
        self.fetches = []
        results = len(self.updates)
        super().step(time)
        working = 1 / self.arch.mac.per_cycle + self._emptied()
        mac = self._job({MACS: working}, [*self.fetches, *self.macs[-1:]])
        if results > 1:
            mac.after.append(self.updates[results - 2])
        for update in self.updates[results:]:
            update.number = len(self.jobs)
            update.after.append(mac)
            self.jobs.append(update)
        self.macs.append(mac)

    def fill(self, boundary: Boundary, time: dict[int, int]) -> None:
        if not self.is_served(boundary):
            return
        with self._noted(boundary) as cycles:
            super().fill(boundary, time)
        self._arrive_at(boundary, self._job(cycles, self._held_outside(boundary)))

    def admit(self, boundary: Boundary, time: dict[int, int]) -> None:
        holder = self.holders[boundary.inner_position]
        if holder.tile:
            return super().admit(boundary, time)
        with self._noted(boundary) as cycles:
            super().admit(boundary, time)
        job = self._job(cycles, self._held_outside(boundary))
        earlier = self.taken_away.get((boundary.inner_position, self._tiles_at(boundary)))
        job.after += [earlier] if earlier else []
        return self._arrive_at(boundary, job)

    def drain(self, boundary: Boundary, leaving: list[Coordinates]) -> None:
        tiles, slots = self._tiles_at(boundary), self.nodes[boundary.inner_position]
        with self._noted(boundary) as cycles:
            super().drain(boundary, leaving)
        job = self._job(cycles, [*self._held_outside(boundary), slots.arrived[-1], *slots.users[-1]])
        slots.left[-1] = job
        self.taken_away[boundary.inner_position, tiles] = job
        self._use_outside(boundary, job)

    def compute(self, boundary: Boundary, time: dict[int, int]) -> None:
        with self._noted(boundary) as cycles:
            super().compute(boundary, time)
        if boundary.tensor.is_output:  # takes its number, and its place in the order, once the step has its MACs
            job = Job(-1, cycles, [*self._held_outside(boundary), *self.updates[-1:]])
            self.updates.append(job)
        else:
            job = self._job(cycles, [*self._held_outside(boundary), *self.macs[-2:-1]])
            self.fetches.append(job)
        self._use_outside(boundary, job)

    def finish(self) -> None:
        """The last results pass through the arrays."""
        self.macs[-1].cycles[MACS] += self.arch.filling_cycles

    # ---- parts -------------------------------------------------------------------------------------------------

    def _emptied(self) -> float:
        """Cycles for which the MACs have waited until arrays were empty, before they were refilled for this step."""
        served = (b for b in self.boundaries if empties_array(b, self.arch) and self.is_served(b))
        again = (self.arch.filling_between(b.outer.name, b.inner.name) for b in served if b.inner is not None)
        return 0.0 if self.starts_branch() else sum(again)

    def _job(self, cycles: dict[Resource, float], after: list[Job]) -> Job:
        job = Job(len(self.jobs), cycles, after)
        self.jobs.append(job)
        return job

    def _tiles_at(self, boundary: Boundary) -> object:
        return frozenset(self.holders[boundary.inner_position].tile.items())

    def _held_outside(self, boundary: Boundary) -> list[Job]:
        """The job that brought what the outer memory holds; nothing for the outermost one, which has it all along."""
        return self.nodes[boundary.outer_position].arrived[-1:]

    def _use_outside(self, boundary: Boundary, job: Job) -> None:
        slots = self.nodes[boundary.outer_position]
        if slots.users:
            slots.users[-1].append(job)

    def _arrive_at(self, boundary: Boundary, job: Job) -> None:
        """A tile takes a slot, once what was in it is no longer in use."""
        slots, memory = self.nodes[boundary.inner_position], self.memory_at[boundary.inner_position]
        before = len(slots.arrived) - (2 if memory.overlaps else 1)
        if before >= 0:
            left = slots.left[before]
            job.after += [left] if left else slots.users[before]
        job.after += slots.arrived[-1:]
        slots.arrived.append(job)
        slots.users.append([])
        slots.left.append(None)
        self._use_outside(boundary, job)

    @contextmanager
    def _noted(self, boundary: Boundary) -> Iterator[dict[Resource, float]]:
        """Cycles of every port for the words that are counted meanwhile, by the busiest instance of each memory."""
        memories = [boundary.outer, *([boundary.inner] if boundary.inner else [])]
        names = {memory.name for memory in memories}
        before = self._accesses(names, boundary.tensor.name)
        cycles: dict[Resource, float] = {}
        yield cycles
        after = self._accesses(names, boundary.tensor.name)
        for memory in memories:
            moved = [_difference(a, before.get(key)) for key, a in after.items() if key[0] == memory.name]
            bits = [access_bits(self.arch, boundary.tensor, accesses) for accesses in moved]
            taken: dict[Resource, float] = {}
            for port in ports_of(memory):
                if most := max((port.cycles(boundary.tensor.role, b.read, b.write) for b in bits), default=0.0):
                    taken[memory.name, port.name] = most
            cycles.update(taken)
            if not memory.overlaps:
                cycles[MACS] = cycles.get(MACS, 0.0) + max(taken.values(), default=0.0)

    def _accesses(self, memories: set[str], tensor: str) -> dict[tuple[str, Coordinates], Accesses]:
        return {
            (name, place): replace(accesses)
            for (name, t, place), accesses in self.instance_accesses.items()
            if t == tensor and name in memories
        }


def _difference(after: Accesses, before: Accesses | None) -> Accesses:
    earlier = vars(before or Accesses())
    return Accesses(**{name: words - earlier[name] for name, words in vars(after).items()})


def clocked_cycles(mapping: Mapping, arch: Architecture) -> float:
    """Cycles from the first transfer to the last one, of a small mapping.

    Raises MappingError when a node or loop stands where the architecture has no place for it, and TilewrightError for
    memories with lines.
    """
    refuse_lines(arch, "clocks", "time the mapping on the machine without the line of that memory")
    walk = _TimedWalk(mapping, arch)
    walk.run()
    walk.finish()
    return _Clock(walk.jobs).run()


class _Clock:
    """Jobs in time.

    missing  per job, how many it still waits for; `then`: the jobs that wait for it
    free     per resource, the time from which on it is free
    ready    jobs that wait for nothing but their resources, the first of the walk first
    events   times at which a resource is free or a job done, soonest first
    """

    def __init__(self, jobs: list[Job]) -> None:
        self.now = 0.0
        self.missing = [0] * len(jobs)
        self.then: list[list[Job]] = [[] for _ in jobs]
        self.free: dict[Resource, float] = defaultdict(float)
        self.events: list[tuple[float, int, Job | None]] = []
        self.ties = itertools.count()
        self.started = 0
        for job in jobs:
            before = {other.number for other in job.after}
            self.missing[job.number] = len(before)
            for number in before:
                self.then[number].append(job)
        self.ready: list[Job] = []
        for job in [job for job in jobs if not self.missing[job.number]]:
            self._wake(job)

    def run(self) -> float:
        """The time at which the last job is done."""
        while self.ready or self.events:
            self._start_all_that_can()
            self.now = self.events[0][0]
            while self.events and self.events[0][0] == self.now:
                done = heapq.heappop(self.events)[2]
                if done:
                    self._finish(done)
        assert self.started == len(self.missing), "a job waits for itself"
        return self.now

    def _wake(self, job: Job) -> None:
        """A job waits for nothing any more but its resources; one that takes no time is done at once."""
        if any(job.cycles.values()):
            heapq.heappush(self.ready, job)
        else:
            self.started += 1
            self._finish(job)

    def _finish(self, done: Job) -> None:
        awake = []
        for job in self.then[done.number]:
            self.missing[job.number] -= 1
            awake += [] if self.missing[job.number] else [job]
        for job in awake:
            self._wake(job)

    def _start_all_that_can(self) -> None:
        waiting = []
        while self.ready:
            job = heapq.heappop(self.ready)
            if any(self.free[resource] > self.now for resource in job.cycles):
                waiting.append(job)
                continue
            self.started += 1
            for resource, cycles in job.cycles.items():
                self.free[resource] = self.now + cycles
                self._note(self.free[resource], None)
            self._note(self.now + max(job.cycles.values()), job)
        self.ready = waiting

    def _note(self, time: float, done: Job | None) -> None:
        heapq.heappush(self.events, (time, next(self.ties), done))
