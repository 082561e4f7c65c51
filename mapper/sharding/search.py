"""The best plan of a network on several devices: the splits of its operations, and how tensors pass between them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...cost_models import LATENCY
from ...cost_models.collectives import ReshardingSteps
from ...ir import InfeasibleError, TilewrightError, UndecidedError
from ...ir.sharding import Sharding, Split
from ...ir.units import size
from ..certificate import Certificate
from ..fusing import answer_below
from ..kernel.best_first import BestFirst
from ..kernel.incumbents import BestAnswers
from ..kernel.states import Closed, OpenState
from ..kernel.tolerance import or_value, reaches
from ..means import UNLIMITED, Means, OutOfMeans, one_call
from ..progress import NETWORK, SearchProgress, answering
from ..segmentation import GroupSolvers
from ..segmentation.searching import OneAfterTheOther
from .devices import DeviceCosts
from .dividing import likeness
from .memory import DeviceRoom
from .question import ComparedPlan, DeviceWork, Resharding, ShardedAnswer, ShardingQuestion
from .tables import MOST_TREES, Choice, PlanTables
from .tensors import Floats
from .usual import ONE_DEVICE, UsualPlan, usual_plans

SPACE = (
    "every split of every operation, a dimension or none along each axis; every set of shardings that is made of it",
    "steps along one axis, to a placement that the tensor has somewhere, or replicated",
    "operations one after the other, each through the outermost memory",
    "not in it: different splits of one operation on different devices, uneven blocks by choice, softmax and norms"
    " along what they reduce, taps of windows, a device that does two operations at once, fused operations, collectives"
    " beside work, weights stored dealt and gathered before use",
)
"""What a plan is chosen from, in words."""

ROUNDS, ROUNDS_A_PRICE = 40, 6
"""Rounds in which weights follow a choice, at most, before something is decided, or another price is set."""


PRICES, MIXED = 16, 40
"""Prices of room that are tried, and choices between two of them, at most."""


def shard(question: ShardingQuestion, solvers: GroupSolvers | None = None) -> ShardedAnswer:
    """The best splits of a network's operations on a system, and what lies between them.

    solvers  search what devices do, or know where to look up what was found; None: this process

    Ctrl-C ends it with the best plan of what is known by then.

    Raises TilewrightError for objectives that do not add up, or that ask for energies that nobody states; for splits
    that are given and that an operation does not have; InfeasibleError where nothing fits, UndecidedError where that is
    not known in time.
    """
    check_energies(question)
    with (
        one_call(question.total_s, question.limits.memory_bytes) as means,
        answering(lambda: SearchProgress(doing="looking at splits", objective=question.objective.name), NETWORK),
    ):
        costs = DeviceCosts(question, solvers or OneAfterTheOther(answer_below), means)
        room = DeviceRoom(question.graph, question.system)
        room.check()
        search = PlanSearch(question, costs, means, room)
        return replace(search.run(), compared=tuple(search.compared()), searched=costs.searched)


def check_energies(question: ShardingQuestion) -> None:
    """TilewrightError where energies count, and nobody states that of a hop."""
    missing = [axis.name for axis in question.system.axes if axis.size > 1 and axis.hop_pj_per_bit is None]
    if missing and question.objective.name != "latency":
        message = f"the energy of a hop along {', '.join(missing)} is not stated, which {question.objective.name} needs"
        hint = "write hop: 10 pJ/bit in the system's file, or minimize latency"
        raise TilewrightError(message, where=f"system {question.system.name}", hint=hint)


class PlanSearch:
    """One search.

    costs   of devices, as far as they are known
    tables  of everything that a choice of splits costs
    room    on the devices, which searches about one network and system share
    best    choice that is known
    """

    def __init__(
        self, question: ShardingQuestion, costs: DeviceCosts, means: Means = UNLIMITED, room: DeviceRoom | None = None
    ) -> None:
        self.question, self.costs, self.means = question, costs, means
        self.started = time.perf_counter()
        self.room = room or DeviceRoom(question.graph, question.system)
        self.space = self.room.space
        self._check_fixed()
        steps = ReshardingSteps(question.system)
        self.tables = PlanTables(self.space, steps, self.costs.weights, question.fixed)
        self.is_given = len(question.fixed) == len(self.space.names)
        self.limit = None
        if self.room.size is not None and not self.is_given:
            self.limit = RoomPrice(self.room, self.tables.splits)
        self.best: BestAnswers[dict[str, int]] = BestAnswers()
        self.priced = 0
        self.interrupted = False

    def _check_fixed(self) -> None:
        for name, split in self.question.fixed.items():
            if split not in self.space.splits(name):
                raise TilewrightError(f"{name} has no split {split}", where="fixed splits")

    def run(self) -> ShardedAnswer:
        """The best plan, and what is proven of it."""
        search = BestFirst(self.best, [OpenPlan(0.0, self, {})], self.means)
        try:
            search.run()
        except OutOfMeans:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.costs.drop()
        if not reaches(search.bound, self.best.value):
            self._know_something()
        if not len(self.best):
            raise self._nothing_found(search.bound)
        return self._answer(search.bound)

    # ---- costs -----------------------------------------------------------------------------------------------

    def bounds(self, within: Mapping[str, frozenset[int]]) -> dict[str, Floats]:
        """By operation and split, what devices cost at least; infinite for splits that are not looked at."""
        known: dict[object, Floats] = {}
        found = {}
        for name, splits in self.tables.splits.items():
            key = self.costs.alike(name), splits
            if key not in known:
                known[key] = np.array([self.costs.cost(name, split).bound for split in splits])
            found[name] = known[key]
            if name in within:
                mask = np.full(len(splits), np.inf)
                mask[list(within[name])] = 0.0
                found[name] = found[name] + mask
        return found

    def split(self, name: str, choice: Choice) -> Split:
        """Of an operation in a choice."""
        return self.tables.splits[name][choice[name]]

    def value(self, choice: Choice) -> float:
        """What a choice costs, by the best mappings that are known."""
        self.priced += 1
        devices = (self.costs.cost(name, self.split(name, choice)).value for name in self.space.names)
        return math.fsum(devices) + self.tables.moved(choice)

    def find_out(self, choice: Choice, left: float) -> bool:
        """Search what is open of a choice, where it may cost so much more than its bounds; whether anything was."""
        wanted = []
        for name in self.space.names:
            split = self.split(name, choice)
            cost = self.costs.cost(name, split)
            if self.costs.is_open(name, split, cost.bound + left):
                wanted.append((name, split, cost.bound + left, cost.bound))
        wanted.sort(key=lambda one: -one[3])
        if wanted:
            self.costs.ask([one[:3] for one in wanted])
        return bool(wanted)

    def _know_something(self) -> None:
        """Plans of mappings made without a search, where time is up: by bounds, and as people would choose."""
        usual = () if self.is_given else self._usual
        every = [self.tables.choice_of(plan.splits) for plan in usual if plan.splits]
        for choice in [self.tables.least(self.bounds({}))[1], *every]:
            for name in self.space.names if choice else ():
                self.costs.know(name, self.split(name, choice or {}))
            self.offer(choice or {})

    def offer(self, choice: Choice) -> None:
        """Keep a choice that fits, if it is the best."""
        value = self.value(choice) if choice else math.inf
        if value < self.best.cutoff and self.fits(choice):
            self.best.offer(Closed(value, dict(choice)))

    def _nothing_found(self, bound: float) -> TilewrightError:
        name = self.question.graph.network
        if math.isinf(bound):
            return InfeasibleError(f"no plan of {name} on {self.question.system.name} fits")
        told = "was found in time" if self.limit is None else "that fits into a device's memory was found"
        return UndecidedError(f"no plan of {name} on {self.question.system.name} {told}")

    # ---- answers ---------------------------------------------------------------------------------------------

    def _answer(self, bound: float) -> ShardedAnswer:
        (choice,) = self.best
        value = self.best.value
        steps, shardings = self.laid_out(choice)
        least = or_value(min(bound, value), value)
        unit = self.question.system.device.clock_hz if self.question.objective == LATENCY else 1.0  # cycles in a second
        certificate = Certificate(
            self.question.objective.name,
            self.question.tiling,
            unit * value,
            unit * value if least == value else unit * least,
            math.prod(map(len, self.tables.splits.values())),
            0,
            self.priced,
            {},
            time.perf_counter() - self.started,
            self.question.space,
            SPACE,
            interrupted=self.interrupted or self.costs.interrupted,
        )
        memory = self.room.of_plan(steps, self._splits(choice), shardings)
        return ShardedAnswer(self.question, tuple(steps), shardings, certificate, memory, searched=self.costs.searched)

    def laid_out(self, choice: Choice) -> tuple[list[DeviceWork | Resharding], dict[str, tuple[Sharding, ...]]]:
        """The steps of a choice, and the shardings of every tensor."""
        steps: list[DeviceWork | Resharding] = []
        shardings: dict[str, tuple[Sharding, ...]] = {}
        for name in self.space.names:
            split = self.split(name, choice)
            work = self.costs.work(name, split)
            steps.append(replace(work, parallelism=self.space.parallelism(name, split)))
            made = [self.space.made(name, split)]
            for one in self._steps(name, choice):
                steps.append(one)
                made.append(one.after)
            shardings[name] = tuple(made)
        for name, readers in self.space.readers.items():
            if name not in shardings:  # from outside: it lies as it is read
                needed = (self.space.needed(r, self.split(r, choice), read) for r, read in readers)
                shardings[name] = tuple(dict.fromkeys(needed))
        return steps, shardings

    def _splits(self, choice: Choice) -> dict[str, Split]:
        return {name: self.split(name, choice) for name in self.space.names}

    def fits(self, choice: Choice) -> bool:
        """Whether the memory of a device holds what a choice keeps there."""
        if self.limit is None:
            return True
        steps, shardings = self.laid_out(choice)
        return self.room.of_plan(steps, self._splits(choice), shardings).used <= self.limit.size

    @cached_property
    def _usual(self) -> tuple[UsualPlan, ...]:
        return usual_plans(self.space)

    def compared(self) -> Iterator[ComparedPlan]:
        """Plans that people would choose, priced as every plan is."""
        for plan in self._usual:
            if not plan.splits:
                yield ComparedPlan(plan.name, None, None, plan.why)
                continue
            try:
                asked = replace(self.question, fixed=plan.splits)
                found = PlanSearch(asked, self.costs, self.means, self.room).run()
            except (InfeasibleError, UndecidedError) as error:
                yield ComparedPlan(plan.name, None, None, error.message)
                continue
            if found.memory.size is not None and found.memory.used > found.memory.size:
                told = f"takes {size(8 * found.memory.used)} of each device, which has {size(8 * found.memory.size)}"
                yield ComparedPlan(plan.name, None, None, told)
                continue
            energy = found.energy_pj
            if energy is not None and plan.name == ONE_DEVICE:  # the others do the same
                energy /= self.question.system.devices
            yield ComparedPlan(plan.name, found.seconds, energy, plan.why)

    def _steps(self, name: str, choice: Choice) -> Iterator[Resharding]:
        kind = self.tables.kind_of.get(name)
        edges = self.tables.moves(name, choice)[1]
        for one in kind.shardings.steps(edges) if kind else ():
            cost = one.cost
            axis = self.question.system.axes[one.axis].name
            yield Resharding(name, cost.move, axis, one.before, one.after, cost.phase, cost.seconds, cost.energy_pj)


class RoomPrice:
    """A price of the room that weights take in the memory of a device, where that has a size: a Lagrange multiplier.

    Plans that fit leave for weights what caches and live tensors do not take at least, so no plan that fits costs less
    than the least sum with the price, less the price of that room.
    """

    def __init__(self, room: DeviceRoom, splits: Mapping[str, tuple[Split, ...]]) -> None:
        assert room.size is not None
        least = room.least()
        self.size, self._left = room.size, room.size - least.cache - least.live
        known: dict[object, Floats] = {}
        self._bytes: dict[str, Floats] = {}
        for name, own in splits.items():
            key = likeness(room.graph, room.graph.by_name[name]), own
            if key not in known:
                known[key] = np.array([float(room.weights(name, split)) for split in own])
            self._bytes[name] = known[key]
        self.price, self._low, self._high, self._tried = 0.0, 0.0, math.inf, 0
        self._found: dict[bool, Choice] = {}

    def added(self, costs: Mapping[str, Floats]) -> dict[str, Floats]:
        """Costs with the price of weights."""
        return {name: own + self.price * self._bytes[name] for name, own in costs.items()}

    @property
    def spared(self) -> float:
        """The price of all the room that there is for weights."""
        return self.price * self._left

    def mixed(self, fits: Callable[[Choice], bool]) -> list[Choice]:
        """Choices that fit, between one that does and one that does not: the first one's splits for the first
        operations of the network, as few as fit, and some more, the other one's for the rest."""
        roomy, full = self._found.get(True, {}), self._found.get(False, {})
        names, low, high = list(self._bytes), 0, len(self._bytes)
        if not roomy or not full:
            return [roomy] if roomy else []
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(_first(roomy, full, names[:middle])) else (middle + 1, high)
        return [_first(roomy, full, names[:end]) for end in range(low, min(low + MIXED, len(names)) + 1)]

    def learn(self, fits: bool, value: float, choice: Choice) -> bool:
        """Set another price, higher where what was found does not fit; whether that is worth it."""
        self._tried += 1
        self._found[fits] = choice
        self._low, self._high = (self._low, self.price) if fits else (self.price, self._high)
        if math.isinf(self._high):
            self.price = 2 * self.price or value / self.size
        else:
            self.price = (self._low + self._high) / 2
        return self._tried <= PRICES


def _first(one: Choice, other: Choice, names: Iterable[str]) -> Choice:
    """One choice for some operations, another for the rest."""
    return {**other, **{name: one[name] for name in names}}


@dataclass(eq=False)
class OpenPlan(OpenState[dict[str, int]]):
    """All plans, or those whose operations have some splits.

    within  by operation, the numbers of these
    """

    bound: float
    search: PlanSearch
    within: Mapping[str, frozenset[int]]
    depth: float = 0.0
    nbytes: int = 0
    group: object | None = None
    rule: str = ""
    _rounds: int = field(default=0, init=False)

    def advance(self) -> Iterator[OpenState[dict[str, int]] | Closed[dict[str, int]]]:
        """A closer bound by costs that are found out, or by weights that follow; else something is decided."""
        search, tables = self.search, self.search.tables
        costs, limit = search.bounds(self.within), search.limit
        bound, choice = tables.least(costs if limit is None else limit.added(costs))
        self.bound = max(self.bound, bound - (0.0 if limit is None else limit.spared))
        if math.isinf(bound):
            return
        gaps = tables.gaps(choice)
        price = math.fsum(float(own[choice[name]]) for name, own in costs.items()) + tables.moved(choice)
        fits = search.fits(choice)
        search.offer(choice)
        if self.bound >= search.best.cutoff:
            return
        left = max(0.0, search.best.value - self.bound)
        if search.find_out(choice, left):
            yield self
            return
        if fits and reaches(self.bound, price):  # what is left is what searches of devices have left open
            yield Closed(self.bound)
            return
        self._rounds += 1
        is_priced = limit is not None and (limit.price or not fits)
        opened = {id(tables.kind_of[name]) for name, gap in gaps.items() if gap > 1e-9 * price}
        if opened and self._rounds <= (ROUNDS_A_PRICE if is_priced else ROUNDS):
            tables.follow(choice, max(0.1, 1 / self._rounds), lambda kind: id(kind) in opened)
            yield self
            return
        widest = max(gaps, key=lambda name: gaps[name])
        kind = tables.kind_of[widest]
        if opened and not kind.is_exact and kind.trees <= MOST_TREES:
            kind.make_exact()
            yield self
            return
        if limit is not None and is_priced:  # a price of room has no plan of its own for every room
            self._rounds = 0
            if limit.learn(fits, price, choice):
                yield self
                return
            for mixed in limit.mixed(search.fits):
                search.offer(mixed)
            yield Closed(self.bound)
            return
        yield from self._decided(widest, choice)

    def _decided(self, name: str, choice: Choice) -> Iterator[OpenState[dict[str, int]] | Closed[dict[str, int]]]:
        """Whether the maker, or the first reader for which that is open, has the sharding of a choice."""
        tables = self.search.tables
        kind = tables.kind_of[name]
        for operation, own in zip(
            (name, *(reader for reader, _ in tables.readers[name])), (kind.made, *kind.needed), strict=True
        ):
            among = self.within.get(operation, frozenset(range(tables.values[operation])))
            same = frozenset(i for i in among if own[i] == own[choice[operation]])
            if same != among:
                for part in (same, among - same):
                    yield OpenPlan(self.bound, self.search, {**self.within, operation: part}, self.depth + 1)
                return
        yield Closed(self.bound)  # nothing is left to decide that would close it
