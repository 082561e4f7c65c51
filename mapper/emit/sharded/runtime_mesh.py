"""The part of an emitted program for several devices that runs the plan, and checks it."""

from __future__ import annotations

import itertools
import math
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....ir.sharding import PARTIAL, REPLICATED
from .runtime_links import Line, Link, exchanged, gathered, scattered, summed
from .runtime_words import RowRuns, Sharding, Words, part_of, words_at
from .runtime_work import Blocks, NamedWork, OperandRead, block_of, box, done

# ---- devices ---------------------------------------------------------------------------------------------------------


class LinkedAxis(NamedTuple):
    """An axis of the mesh: how its devices are linked, bytes per second of a link, seconds of a hop, parallel links,
    whether its switch adds, whether all devices of the axes within it have one port together, and whether the same
    words for several of these pass that port once."""

    name: str
    kind: str
    size: int
    bandwidth: float
    latency: float = 0.0
    links: int = 1
    reduces: bool = False
    shared: bool = False
    multicast: bool = False


class TensorRow(NamedTuple):
    """A tensor: its words, and bits of each."""

    words: int
    bits: int

    @property
    def bytes(self) -> int:
        return self.bits // 8


class LinkFigures(NamedTuple):
    """What passes links in a step, as the plan has it: by which schedule, seconds, hops, bytes over all links of the
    system, and bytes of every link of the slowest line (or port)."""

    schedule: str
    seconds: float
    hops: int
    moved: int
    links: dict[Link, int]


class RowsView(NamedTuple):
    """Rows of a tensor under another name: some of them, oftener or in another order, beside rows that were there
    before.

    source  whose rows they are
    row     words of each
    rows    for each of its own rows which one of the source; -1: one that was there before
    """

    source: str
    row: int
    rows: np.ndarray

    def made(self, own: np.ndarray, before: np.ndarray, read: np.ndarray) -> np.ndarray:
        """Words at some places of it, of those that were there before, and of a row of words that were read."""
        source = self.rows[own // self.row] * self.row + own % self.row
        return np.where(source < 0, before, read[np.maximum(source, 0)])


def newest(lots: int, rows: int, new: int) -> np.ndarray:
    """The last rows of each lot of a cache are new."""
    found = np.full((lots, rows), -1)
    found[:, rows - new :] = np.arange(lots * new).reshape(lots, new)
    return found.reshape(-1)


def last_of(lots: int, rows: int) -> np.ndarray:
    """The last row of each lot."""
    return np.arange(lots) * rows + rows - 1


def by_expert(rows: int, choices: int, experts: int) -> np.ndarray:
    """Rows dealt to experts in turn, each as often as it chooses one: those of the first expert first."""
    return np.argsort(np.arange(rows * choices) % experts, kind="stable") // choices


def from_experts(rows: int, choices: int, experts: int) -> np.ndarray:
    """Rows as they were before they were dealt to experts."""
    return np.argsort(np.argsort(np.arange(rows * choices) % experts, kind="stable"), kind="stable")


class GiveStep(NamedTuple):
    """A tensor from outside lies in a sharding."""

    tensor: str
    after: Sharding


class WorkStep(NamedTuple):
    """All devices do their blocks of an operation. What they read is in one sharding each, by its name."""

    name: str
    split: tuple[str | None, ...]
    reads: dict[str, Sharding]
    after: Sharding


class MoveStep(NamedTuple):
    """A tensor is brought from one sharding to another along an axis."""

    tensor: str
    move: str
    axis: int
    before: Sharding
    after: Sharding
    passed: LinkFigures | None = None


PlanStep = GiveStep | WorkStep | MoveStep


class DealtNetwork(NamedTuple):
    """What is computed, and where.

    largest  magnitude of the whole numbers that are drawn; 0: fractions
    """

    axes: tuple[LinkedAxis, ...]
    tensors: dict[str, TensorRow]
    works: dict[str, NamedWork | RowsView]
    outputs: dict[str, Sharding]
    largest: int


class PortMoves(NamedTuple):
    """What has passed the links of a line, or of all lines through one port: seconds, hops, bytes of every link."""

    seconds: float
    hops: int
    links: Counter[Link]


class StepMoves(NamedTuple):
    """What has passed links in a step, by line or port."""

    step: MoveStep
    ports: list[PortMoves]

    @property
    def moved(self) -> int:
        return sum(sum(port.links.values()) for port in self.ports)

    @property
    def slowest(self) -> list[PortMoves]:
        """All that take longest."""
        most = max((port.seconds for port in self.ports), default=0)
        return [port for port in self.ports if port.seconds == most]

    def wrong(self) -> Iterator[str]:
        """What differs from the plan."""
        plan, slowest = self.step.passed or LinkFigures("", 0, 0, 0, {}), self.slowest
        if self.moved != plan.moved:
            yield f"{self.moved:,} B over all links, the plan has {plan.moved:,}"
        elif slowest and not any((port.hops, +port.links) == (plan.hops, +Counter(plan.links)) for port in slowest):
            found, promised = (dict(sorted((+Counter(links)).items())) for links in (slowest[0].links, plan.links))
            yield f"{slowest[0].hops} hops, bytes by link {found}; the plan has {plan.hops} hops and {promised}"
        elif slowest and not math.isclose(slowest[0].seconds, plan.seconds, rel_tol=1e-9):
            yield f"{slowest[0].seconds} s, the plan has {plan.seconds}"


class Devices:
    """All devices of the mesh, and what each of them holds: an array for every tensor and sharding. Devices with the
    same words share one, after these were compared.

    places   of devices along the axes, the innermost first
    held     arrays of all devices, by tensor and sharding
    counted  what has passed links, step by step
    wrong    what is not as it should be
    """

    def __init__(self, network: DealtNetwork, seed: int) -> None:
        self.network, self.seed = network, seed
        sizes = [range(axis.size) for axis in network.axes]
        self.places = [place[::-1] for place in itertools.product(*sizes[::-1])]
        self.numbers = {place: number for number, place in enumerate(self.places)}
        self.held: dict[tuple[str, Sharding], list[np.ndarray]] = {}
        self.counted: list[StepMoves] = []
        self.wrong: list[str] = []

    def take(self, step: PlanStep) -> None:
        """One step of the plan."""
        if isinstance(step, GiveStep):
            self.give(step)
        elif isinstance(step, WorkStep):
            work = self.network.works[step.name]
            if isinstance(work, RowsView):
                self.view(step, work)
            else:
                self.do(step, work)
        else:
            self.reshard(step)

    def keep(self, tensor: str, sharding: Sharding, arrays: list[np.ndarray]) -> None:
        """Every device holds an array. Those of the same words (or of the same addend) have to be equal."""
        first: dict[Any, np.ndarray] = {}
        for number, (place, array) in enumerate(zip(self.places, arrays, strict=True)):
            addend = tuple(at for at, placement in zip(place, sharding, strict=True) if placement == PARTIAL)
            same = first.setdefault((words_at(sharding, place), addend), array)
            if same is not array and not np.array_equal(same, array, equal_nan=True):
                self.wrong.append(f"{tensor}: device {place} has other words than one with the same block")
            arrays[number] = same
        self.held[tensor, sharding] = arrays

    # ---- work ------------------------------------------------------------------------------------------------

    def give(self, step: GiveStep) -> None:
        row, words = drawn(self.network, step.tensor, self.seed), self.network.tensors[step.tensor].words
        known: dict[Words, np.ndarray] = {}
        for place in self.places:
            wanted = words_at(step.after, place)
            known.setdefault(wanted, part_of(words, row, (), wanted))
        self.keep(step.tensor, step.after, [known[words_at(step.after, place)] for place in self.places])

    def view(self, step: WorkStep, view: RowsView) -> None:
        """Every device finds the words of a view among those that it holds."""
        sharding, arrays = step.reads[view.source], []
        words, read = self.network.tensors[step.name].words, self.network.tensors[view.source].words
        before = drawn(self.network, step.name, self.seed) if (view.rows < 0).any() else np.zeros(words)
        for number, place in enumerate(self.places):
            there, wanted = words_at(sharding, place), words_at(step.after, place)
            row = np.full(read, np.nan)
            row[part_of(read, np.arange(read), (), there)] = self.held[view.source, sharding][number]
            own = part_of(words, np.arange(words), (), wanted)
            first = all(at == 0 for at, placement in zip(place, step.after, strict=True) if placement == PARTIAL)
            arrays.append(view.made(own, before[own] * first, row))
        self.keep(step.name, step.after, arrays)

    def do(self, step: WorkStep, work: NamedWork) -> None:
        arrays, parameters = [], Parameters(self.network, step.name, self.seed)
        known: dict[Any, np.ndarray] = {}
        for number, place in enumerate(self.places):
            blocks = self.blocks(work, step.split, place)
            given = {source: self.held[source, sharding][number] for source, sharding in step.reads.items()}
            held = {source: words_at(sharding, place) for source, sharding in step.reads.items()}
            key = tuple(blocks.items()), *(id(array) for array in given.values())
            if key not in known:  # devices that do the same to the same words
                known[key] = done(work, blocks, partial(self.read, parameters, given, held))
            words = self.network.tensors[step.name].words
            arrays.append(part_of(words, known[key], work.made(blocks), words_at(step.after, place)))
        self.keep(step.name, step.after, arrays)

    def read(
        self,
        parameters: Parameters,
        given: Mapping[str, np.ndarray],
        held: Mapping[str, Words],
        operand: OperandRead,
        blocks: Blocks,
    ) -> np.ndarray:
        """What a block reads of the arrays that its device holds."""
        if not operand.source:
            return parameters.read(operand, blocks)
        shape = [behind - first for first, behind in (axis.there(blocks) for axis in operand.axes)]
        words = self.network.tensors[operand.source].words
        return part_of(words, given[operand.source], held[operand.source], operand.words(blocks)).reshape(shape)

    def blocks(self, work: NamedWork, split: tuple[str | None, ...], place: tuple[int, ...]) -> Blocks:
        """What the device at a place does."""
        along = list(zip(split, self.network.axes, place, strict=True))[::-1]
        return {
            dim: block_of(size, [(axis.size, at) for own, axis, at in along if own == dim])
            for dim, size in work.dims.items()
        }

    # ---- moving ----------------------------------------------------------------------------------------------

    def lines(self, along: int) -> Iterator[list[tuple[int, ...]]]:
        """The lines of an axis: places of their devices."""
        for place in self.places:
            if place[along] == 0:
                yield [(*place[:along], i, *place[along + 1 :]) for i in range(self.network.axes[along].size)]

    def reshard(self, step: MoveStep) -> None:
        have, arrays = self.held[step.tensor, step.before], [np.empty(0)] * len(self.places)
        tensor, axis = self.network.tensors[step.tensor], self.network.axes[step.axis]
        ports: dict[Any, list[list[Line]]] = defaultdict(list)
        for line in self.lines(step.axis):
            numbers = [self.numbers[place] for place in line]
            made, moved = self.along(step, line, [have[number] for number in numbers])
            for number, array in zip(numbers, made, strict=True):
                arrays[number] = array
            inner = range(step.axis if axis.shared else 0)
            copies = [line[0][i] for i in inner if step.before[i] == REPLICATED]
            if not (axis.multicast and any(copies)):
                ports[tuple(-1 if i in inner else at for i, at in enumerate(line[0]))].append(moved)
        self.keep(step.tensor, step.after, arrays)
        found = []
        for lines in ports.values():
            seconds, hops, links = 0.0, 0, Counter[Link]()
            for phase in zip(*lines, strict=True):
                words = sum((one.links for one in phase), Counter[Link]())
                most = max(one.hops for one in phase)
                parallel = -(-max(words.values(), default=0) // axis.links)
                seconds += most * axis.latency + tensor.bytes * parallel / axis.bandwidth
                hops += most
                links += Counter({link: tensor.bytes * moved for link, moved in words.items()})
            found.append(PortMoves(seconds, hops, links))
        self.counted.append(StepMoves(step, found))
        self.wrong += [f"{step.tensor}: {step.move} along {axis.name}: {text}" for text in self.counted[-1].wrong()]

    def along(
        self, step: MoveStep, line: list[tuple[int, ...]], have: list[np.ndarray]
    ) -> tuple[list[np.ndarray], list[Line]]:
        """What the devices of a line have after a step, and what has moved, phase by phase."""
        axis, n = self.network.axes[step.axis], len(line)
        before, after = ([words_at(sharding, place) for place in line] for sharding in (step.before, step.after))
        own = [words_at(step.before, place, alone=step.axis) for place in line]
        row = RowRuns(self.network.tensors[step.tensor].words, [*before, *after, *own])
        held, wanted, blocks = ([row.runs(words) for words in sets] for sets in (before, after, own))
        if step.move == "slice":
            return [row.taken(have[j], held[j], wanted[j]) for j in range(n)], []
        if step.move == "all-reduce":
            assert step.passed is not None
            return summed(axis.kind, have, step.passed.schedule, axis.reduces)
        if step.move == "reduce-scatter":
            parts = [[row.taken(have[i], held[i], wanted[j]) for j in range(n)] for i in range(n)]
            sums, moved = scattered(axis.kind, parts, axis.reduces)
            return sums, [moved]
        if step.move == "all-gather":
            every, moved = gathered(axis.kind, [row.taken(have[i], held[i], blocks[i]) for i in range(n)], axis.reduces)
            return [row.joined(wanted[j], list(zip(blocks, every[j], strict=True))) for j in range(n)], [moved]
        runs = [[blocks[i] & held[i] & wanted[j] & ~held[j] for j in range(n)] for i in range(n)]
        parts = [[row.taken(have[i], held[i], runs[i][j]) for j in range(n)] for i in range(n)]
        got, moved = exchanged(axis.kind, parts)
        made = []
        for j in range(n):
            kept = held[j] & wanted[j]
            mine = kept, row.taken(have[j], held[j], kept)
            made.append(row.joined(wanted[j], [mine, *((runs[i][j], got[j][i]) for i in range(n) if i != j)]))
        return made, [moved]

    def whole(self, tensor: str, sharding: Sharding) -> np.ndarray:
        """All words of a tensor, wherever they lie."""
        arrays = {
            words_at(sharding, place): array
            for place, array in zip(self.places, self.held[tensor, sharding], strict=True)
        }
        row = RowRuns(self.network.tensors[tensor].words, arrays)
        return row.joined(row.runs(()), [(row.runs(words), array) for words, array in arrays.items()])


def drawn(network: DealtNetwork, tensor: str, seed: int) -> np.ndarray:
    """Words of a tensor from outside."""
    return numbers(network, tensor, seed, network.tensors[tensor].words, 1)


class Parameters:
    """Parameters of an operation, drawn as they are read: numbers that are small enough for sums to be about as large
    as what is summed."""

    def __init__(self, network: DealtNetwork, name: str, seed: int) -> None:
        self.network, self.name, self.seed = network, name, seed
        self.known: dict[str, np.ndarray] = {}

    def read(self, operand: OperandRead, blocks: Blocks) -> np.ndarray:
        if operand.name not in self.known:
            work = self.network.works[self.name]
            assert isinstance(work, NamedWork)
            dims = {dim for axis in operand.axes for dim in axis.terms} - set(work.writes)
            words, terms = math.prod(axis.size for axis in operand.axes), math.prod(work.dims[dim] for dim in dims)
            name = f"{self.name}: {operand.name}"
            self.known[operand.name] = numbers(self.network, name, self.seed, words, terms)
        return box(self.known[operand.name], operand.axes, blocks)


def numbers(network: DealtNetwork, name: str, seed: int, words: int, terms: int) -> np.ndarray:
    """Random numbers of a name."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if network.largest:
        return rng.integers(-network.largest, network.largest + 1, words).astype(float)
    found = rng.uniform(-1, 1, words)
    found *= np.sqrt((3 if terms > 1 else 1) / terms)
    return found


def read_whole(
    parameters: Parameters, rows: Mapping[str, np.ndarray], operand: OperandRead, blocks: Blocks
) -> np.ndarray:
    """What a block reads of whole rows."""
    return box(rows[operand.source], operand.axes, blocks) if operand.source else parameters.read(operand, blocks)


def sources_of(work: NamedWork | RowsView) -> list[str]:
    """The tensors that it reads."""
    return [work.source] if isinstance(work, RowsView) else [operand.source for operand in work.outer()]


def at_once(network: DealtNetwork, seed: int) -> dict[str, np.ndarray]:
    """The outputs of the network on one device."""
    rows: dict[str, np.ndarray] = {}
    last = {source: name for name, work in network.works.items() for source in sources_of(work)}
    for name, work in network.works.items():
        for source in sources_of(work):
            if source not in rows:
                rows[source] = drawn(network, source, seed)
        if isinstance(work, RowsView):
            words = network.tensors[name].words
            before = drawn(network, name, seed) if (work.rows < 0).any() else np.zeros(words)
            rows[name] = work.made(np.arange(words), before, rows[work.source])
        else:
            read = partial(read_whole, Parameters(network, name, seed), rows)
            rows[name] = done(work, {dim: (0, size) for dim, size in work.dims.items()}, read)
        for source in [source for source, reader in last.items() if reader == name]:
            if source not in network.outputs:
                rows.pop(source)
    return {name: rows[name] for name in network.outputs}


class Checked(NamedTuple):
    """What came of a run: what is wrong, what passed links, and how far every output is from that of the network done
    at once, as a part of the largest word."""

    wrong: list[str]
    counted: list[StepMoves]
    apart: dict[str, float]
    seconds: tuple[float, float]


def checked(network: DealtNetwork, plan: list[PlanStep], tolerance: float, seed: int = 0) -> Checked:
    """Run a plan, and compare outputs and bytes."""
    begun = time.perf_counter()
    devices = Devices(network, seed)
    last: dict[tuple[str, Sharding], int] = {}
    for number, step in enumerate(plan):
        if isinstance(step, WorkStep):
            last |= dict.fromkeys(step.reads.items(), number)
        elif isinstance(step, MoveStep):
            last[step.tensor, step.before] = number
    for number, step in enumerate(plan):
        devices.take(step)
        for key in [key for key, end in last.items() if end == number and key not in network.outputs.items()]:
            devices.held.pop(key)
    found = {name: devices.whole(name, sharding) for name, sharding in network.outputs.items()}
    devices.held.clear()
    ran = time.perf_counter()
    wrong, apart = devices.wrong, {}
    for name, expected in at_once(network, seed).items():
        largest = float(np.abs(expected).max(initial=0))
        difference = float(np.abs(found[name] - expected).max(initial=0))
        apart[name] = difference / (largest or 1)
        if not apart[name] <= tolerance:  # what is no number is wrong, too
            wrong.append(
                f"{name}: differs by {difference:.3g} from the network done at once, the largest is {largest:.3g}"
            )
    return Checked(wrong, devices.counted, apart, (ran - begun, time.perf_counter() - ran))


def table(found: Checked, network: DealtNetwork) -> list[str]:
    """What came of a run, for people: bytes of the busiest link in every step, and what is wrong."""
    heads = ("tensor", "step", "axis", "hops", "busiest link", "plan", "all links", "plan")
    rows: list[tuple[str, ...]] = [heads]
    for one in found.counted:
        step, plan = one.step, one.step.passed
        if plan is not None:
            busiest = max((moved for port in one.ports for moved in port.links.values()), default=0)
            hops = max(port.hops for port in one.ports)
            counts = (hops, busiest, max(plan.links.values(), default=0), one.moved, plan.moved)
            rows.append((step.tensor, step.move, network.axes[step.axis].name, *(f"{count:,}" for count in counts)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    lines = [
        "  ".join(
            text.ljust(w) if i < 3 else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines += [f"{name}: apart by {apart:.1e} of the largest word" for name, apart in found.apart.items() if apart]
    lines += [f"FAILED: {text}" for text in found.wrong]
    lines.append(f"{found.seconds[0]:.1f} s on all devices, {found.seconds[1]:.1f} s at once")
    if not found.wrong:
        how = "but for rounding those" if any(found.apart.values()) else "those"
        lines.append(f"OK: outputs are {how} of the network at once, bytes by link of {len(rows) - 1} steps the plan's")
    return lines
