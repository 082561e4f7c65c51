"""The order of operations with the least peak of live bytes: exact on graphs of some sixty operations.

What has been done is a set of operations that has with each one all that come before it (an *ideal*). Which tensors are
live then depends on the set alone, so of all orders that lead to a set one with the least peak is enough: a shortest
path over sets, where the length of a path is its largest step. Sets are opened by rising peaks, so the first one that
holds everything is proven. An operation that adds nothing to what is live, and fits below the peak so far, is done at
once: no order gains by waiting with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...ir import MemoryPlanError
from ..kernel.best_first import BestFirst
from ..kernel.incumbents import BestAnswers
from ..kernel.remembered import remembered
from ..kernel.states import Closed, OpenState
from ..means import UNLIMITED, Means


@dataclass(frozen=True)
class TensorStep:
    """An operation: it needs its operands and results at once; what nobody reads later is gone after it.

    name     of the operation
    reads    tensors, that other steps make or that are there from the beginning
    writes   tensors
    scratch  bytes that it needs beside them while it runs
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    scratch: int = 0


@dataclass(frozen=True)
class StepOrder:
    """An order of operations.

    names        operations, in their order
    peak         most bytes that are live during one
    lower_bound  bytes that any order needs, proven
    """

    names: tuple[str, ...]
    peak: int
    lower_bound: int

    @property
    def proven(self) -> bool:
        """Whether no order has a lower peak."""
        return self.peak == self.lower_bound


def live_during(steps: Sequence[TensorStep], sizes: Mapping[str, int], kept: Sequence[str] = ()) -> list[int]:
    """Bytes that are live during each step, in the order given. Tensors that no step writes are live from the
    beginning, those in `kept` until the end.

    Raises MemoryPlanError for a tensor without a size, and one that is read before it is written.
    """
    graph = _StepGraph(steps, sizes, kept)
    done, found = 0, list[int]()
    for i, step in enumerate(steps):
        if graph.before[i] & ~done:
            late = next(steps[j].name for j in range(len(steps)) if (graph.before[i] & ~done) >> j & 1)
            raise MemoryPlanError(f"it reads what {late} writes only later", where=step.name)
        found.append(graph.during(done, i))
        done |= 1 << i
    return found


def least_peak_order(
    steps: Sequence[TensorStep], sizes: Mapping[str, int], kept: Sequence[str] = (), means: Means = UNLIMITED
) -> StepOrder:
    """The order with the least peak; when the means run out, the best one known and the bound that is proven by then.

    sizes  bytes of every tensor
    kept   tensors that stay to the end, as outputs do

    Raises MemoryPlanError as `live_during` does.
    """
    given = max(live_during(steps, sizes, kept), default=0)
    graph = _StepGraph(steps, sizes, kept)
    start, peak, path = graph.free_steps(0, graph.live(0))
    best = BestAnswers[tuple[int, ...]](ceiling=given + 1)
    known = _KnownSets(graph, given, {start: peak}, {start: (-1, path)})
    search = BestFirst(best, [_DoneSteps(peak, start, known)])
    # A set that is remembered takes about 400 bytes.
    search.run(lambda: means.expired or 400 * len(known.peaks) > means.memory_limit)
    order = next(iter(best), tuple(range(len(steps))))
    peak = int(best.value) if len(best) else given
    return StepOrder(tuple(steps[i].name for i in order), peak, int(min(search.bound, peak)))


@dataclass
class _KnownSets:
    """Sets of steps that have been reached: the least peak on the way, the set before, and the steps between.

    most  peaks above it are not wanted
    """

    graph: _StepGraph
    most: int
    peaks: dict[int, int]
    came: dict[int, tuple[int, tuple[int, ...]]]

    def is_lower(self, done: int, peak: int) -> bool:
        """Whether a set is reached with a lower peak than before; then that is known."""
        if peak >= self.peaks.get(done, self.most + 1):
            return False
        self.peaks[done] = peak
        return True

    def path(self, done: int) -> tuple[int, ...]:
        """The steps that lead to a set."""
        parts: list[tuple[int, ...]] = []
        while done >= 0:
            done, path = self.came[done]
            parts.append(path)
        return tuple(i for path in reversed(parts) for i in path)


@dataclass
class _DoneSteps(OpenState[tuple[int, ...]]):
    """A set of steps that are done: of equal peaks the largest set goes on."""

    bound: float
    done: int
    known: _KnownSets

    def __post_init__(self) -> None:
        self.depth = self.done.bit_count()

    def advance(self) -> Iterator[_DoneSteps | Closed[tuple[int, ...]]]:
        known, graph, peak = self.known, self.known.graph, int(self.bound)
        if peak > known.peaks[self.done]:
            return
        if self.done == graph.everything:
            yield Closed(peak, known.path(self.done))
            return
        for i in graph.ready(self.done):
            after = max(peak, graph.during(self.done, i))
            following, reached, more = graph.free_steps(self.done | 1 << i, after)
            if known.is_lower(following, reached):
                known.came[following] = self.done, (i, *more)
                yield _DoneSteps(reached, following, known)


class _StepGraph:
    """Steps as bits: who comes before whom, which tensors end when."""

    def __init__(self, steps: Sequence[TensorStep], sizes: Mapping[str, int], kept: Sequence[str]) -> None:
        self.steps = steps
        self.everything = (1 << len(steps)) - 1
        makers: dict[str, int] = {}
        readers: dict[str, int] = {}
        for i, step in enumerate(steps):
            for name in step.writes:
                if name in makers:
                    raise MemoryPlanError(f"{name} is written twice", where=step.name)
                makers[name] = i
            for name in step.reads:
                readers[name] = readers.get(name, 0) | 1 << i
        for name in {*makers, *readers}:
            if name not in sizes:
                raise MemoryPlanError(f"no size of tensor {name}", hint="sizes has bytes for every tensor")
        self.before = [sum(1 << j for j in {makers[n] for n in step.reads if n in makers}) for step in steps]
        # (bytes, who writes it or 0, all who read it; all bits: it stays)
        self.tensors = [
            (
                sizes[name],
                1 << makers[name] if name in makers else 0,
                -1 if name in kept else readers.get(name, 0),
            )
            for name in {*makers, *readers}
        ]

    @remembered
    def live(self, done: int) -> int:
        """Bytes that are live between steps: written, or there from the beginning, and to be read or kept."""
        return sum(size for size, maker, readers in self.tensors if maker & ~done == 0 and readers & ~done)

    def during(self, done: int, i: int) -> int:
        """Bytes that are live while a step runs: those before it, its results, its scratch."""
        results = sum(size for size, maker, _ in self.tensors if maker == 1 << i)
        return self.live(done) + results + self.steps[i].scratch

    def ready(self, done: int) -> list[int]:
        """Steps that can be next."""
        return [i for i, before in enumerate(self.before) if not done >> i & 1 and not before & ~done]

    def free_steps(self, done: int, peak: int) -> tuple[int, int, tuple[int, ...]]:
        """Steps that raise neither what is live nor the peak, all done at once: the set then, its peak, the steps."""
        path: list[int] = []
        while True:
            free = (
                i
                for i in self.ready(done)
                if self.during(done, i) <= peak and self.live(done | 1 << i) <= self.live(done)
            )
            i = next(free, None)
            if i is None:
                return done, peak, tuple(path)
            path.append(i)
            done |= 1 << i
