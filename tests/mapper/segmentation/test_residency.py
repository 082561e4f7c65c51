"""What stays on chip between groups, against the search over trees of the whole network, against all ways to do small
networks, and as one tree that is counted and simulated."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from tree_simulator import simulate_tree

import longer
import tilewright as tw
from tilewright.arch import Architecture
from tilewright.cost_models import EDP, ENERGY, LATENCY, Objective, evaluate
from tilewright.cost_models.cascades.closed_form import count_tree
from tilewright.ir import Cascade, InfeasibleError, Mapping, Node, Tree, UndecidedError
from tilewright.mapper.answer import Answer
from tilewright.mapper.canonical import under_names_of
from tilewright.mapper.cascades import NothingBelow, search_cascade
from tilewright.mapper.fusing import answer_below
from tilewright.mapper.means import Means
from tilewright.mapper.progress import SearchProgress, watched
from tilewright.mapper.question import Question, TreeQuestion
from tilewright.mapper.segmentation import (
    NetworkAnswer,
    NetworkQuestion,
    OneAfterTheOther,
    segment,
)
from tilewright.mapper.segmentation.arenas import Arena, WorkingGroup, arenas_of_run
from tilewright.mapper.segmentation.residency import Residency
from tilewright.mapper.segmentation.states import StateGraph, TooManyStates, state_graph
from tilewright.mapper.segmentation.steps import NetworkSteps
from tilewright.report.networks.network_plan import network_plan_page
from tilewright.run.documents.network_plans import network_plan_of
from tilewright.workloads import load_network
from tilewright.workloads.graph import GraphReading, NetworkGraph, OperationGroup, bits_of, joined, operation_groups

FUSED = Path(__file__).parent.parent.parent / "golden" / "fused"

RESIDUAL = """
network: residual
layers:
  - {name: first, op: gemm, M: 4, N: 4, K: 4, weight: true}
  - {name: up, op: gemm, M: 4, N: 8, K: 4, weight: true}
  - {name: down, op: gemm, M: 4, N: 4, K: 8, weight: true}
  - {name: last, op: gemm, M: 4, N: 2, K: 4, weight: true}
graph:
  - first
  - up
  - down
  - {name: add, op: add, reads: [down, first]}
  - last
"""

DIAMOND = """
network: diamond
layers:
  - {name: first, op: gemm, M: 4, N: 4, K: 4, weight: true}
  - {name: left, op: gemm, M: 4, N: 4, K: 4, weight: true}
  - {name: wide, op: gemm, M: 4, N: 8, K: 4, weight: true}
  - {name: thin, op: gemm, M: 4, N: 4, K: 8, weight: true}
graph:
  - first
  - {name: left, reads: [first]}
  - {name: wide, reads: [first]}
  - {name: thin, reads: [wide]}
  - {name: add, op: add, reads: [left, thin]}
"""


@cache
def machine(size: str) -> Architecture:
    return tw.load_arch(FUSED / "F2.yaml", {"GLB.size": size})


def graph_of(folder: Path, text: str) -> NetworkGraph:
    path = folder / "network.yaml"
    path.write_text(text, encoding="utf-8")
    found = load_network(path).wiring
    assert found is not None
    return found


known: dict[str, Answer | NothingBelow] = {}


def solve_once(question: TreeQuestion) -> Answer | NothingBelow:
    """Each question about a group once, for all tests."""
    key = question.key
    if key not in known:
        known[key] = answer_below(question)
    return known[key]


def whole_tree(answer: NetworkAnswer) -> Mapping:
    """The network as one tree: at its root no loops, only the groups; what stays is a node above them, and of weights
    that lie on chip all the time also the one outside it."""
    graph, stays = answer.question.graph, {one.name.replace(".", "_"): one.memory for one in answer.staying}
    cascade = joined(graph, list(graph), "whole")
    outermost = answer.question.arch.memories[0].name
    branches, inside = [], set[str]()
    for one in answer.segments:
        assert one.answer is not None
        operations = tuple(cascade.operation(name) for name in one.names)
        part = Cascade("part", operations)
        mapping = under_names_of(one.answer.mapping, part)
        inside |= set(part.intermediates)
        tree, above = mapping.tree, {t.name for operation in part for t in operation.problem.tensors}
        items = list(tree.items)
        for tensor in above:
            for memory in (outermost, stays.get(tensor)):
                if memory is not None and (node := Node(memory, tensor)) in items:
                    items.remove(node)
        branches.append(Tree(tuple(items), tree.branches, tree.operation))
    kept = {one.name for one in answer.staying if not one.is_weight}
    assert not kept & inside
    root = [Node(outermost, t) for t in cascade.tensors if t not in kept | inside]
    root += [Node(memory, tensor) for tensor, memory in stays.items()]
    return Mapping(cascade, Tree(tuple(root), tuple(branches)))


@pytest.mark.some(1)
@pytest.mark.parametrize(("text", "size", "objective"), [(RESIDUAL, "56 B", ENERGY), (DIAMOND, "70 B", LATENCY)])
def test_single_operations_are_as_good_as_the_best_tree_without_loops(
    tmp_path: Path, text: str, size: str, objective: Objective
) -> None:
    graph = graph_of(tmp_path, text)
    answer = segment(NetworkQuestion(graph, machine(size), objective, "perfect", most=1))
    assert answer.certificate.proven
    assert answer.staying
    cascade = joined(graph, list(graph), "whole")
    tree = search_cascade(Question(cascade, machine(size), objective, "perfect", fuse="whole"))
    assert answer.certificate.value == pytest.approx(tree.certificate.value)
    assert answer.passing is not None
    assert answer.passing.value > answer.certificate.value


@pytest.mark.some(1)
@pytest.mark.parametrize(("text", "size", "most"), [(RESIDUAL, "48 B", 1), (RESIDUAL, "90 B", 3), (DIAMOND, "56 B", 2)])
def test_the_whole_is_one_tree_that_costs_the_sum(tmp_path: Path, text: str, size: str, most: int) -> None:
    graph = graph_of(tmp_path, text)
    answer = segment(NetworkQuestion(graph, machine(size), ENERGY, "perfect", most=most))
    assert answer.staying
    tree = whole_tree(answer)
    cost = evaluate(tree, machine(size))  # fits, too
    assert cost.energy_pj == pytest.approx(answer.energy_pj)
    assert cost.latency_cycles == pytest.approx(answer.latency_cycles)
    counted, simulated = count_tree(tree, machine(size)), simulate_tree(tree, machine(size))
    assert {name: one.total for name, one in counted.items()} == {name: one.total for name, one in simulated.items()}


def test_what_stays_lies_at_one_place_and_nothing_else_there(tmp_path: Path) -> None:
    answer = segment(NetworkQuestion(graph_of(tmp_path, RESIDUAL), machine("60 B"), ENERGY, "perfect", most=2))
    assert answer.staying
    for one in answer.staying:
        places = set()
        for number, group in enumerate(answer.segments[one.first : one.last + 1], one.first):
            arena = next(arena for arena in group.arenas if arena.memory == one.memory)
            own = group.answer.mapping.cascade if group.answer is not None else None
            assert own is not None
            name = one.name if one.name in own.tensors else f"{one.name} (stays)"
            buffer = arena.plan.buffers.by_name[name]
            assert (buffer.lower, buffer.upper) == (0, len(own.operations)), number
            assert buffer.size >= one.bits / 8
            places.add(arena.plan.offsets[name])
        assert len(places) == 1
    for group in answer.segments:
        for arena in group.arenas:
            arena.plan.check()
            assert arena.plan.fits
    for plan in answer.arenas.values():
        plan.check()
    lasting = answer.arenas["GLB", tuple(sorted({role for part in answer.segments[0].arenas for role in part.roles}))]
    moments = [0, *itertools.accumulate(len(group.answer.cost.occupancy) for group in answer.segments if group.answer)]
    for one in answer.staying:  # one tile, from the first group to the last
        buffer = lasting.buffers.by_name[f"{one.name} (stays)"]
        assert (buffer.lower, buffer.upper) == (moments[one.first], moments[one.last + 1])


def test_what_stays_has_room_for_the_sums_of_who_makes_it(tmp_path: Path) -> None:
    text = "network: two\nlayers:\n" + "".join(
        f"  - {{name: {name}, op: gemm, M: 2, N: 4, K: 4, weight: true}}\n" for name in "ab"
    )
    arch = machine("24 B").model_copy(update={"partial_sum_bits": 16})
    answer = segment(NetworkQuestion(graph_of(tmp_path, text + "graph: [a, b]\n"), arch, ENERGY, "perfect", most=1))
    assert [one.name for one in answer.staying] == ["a"]
    for segmented in answer.segments:
        assert segmented.answer is not None
        (arena,) = segmented.arenas
        for tiles in segmented.answer.cost.occupancy.values():
            held = {tile.tensor: tile.bits for tile in tiles if tile.memory == "GLB"}
            assert all(8 * arena.plan.buffers.by_name[name].size >= bits for name, bits in held.items())
    answer.arenas["GLB", tuple(sorted(arena.roles))].check()


# ---- all ways ----------------------------------------------------------------------------------------------------


class AllWays:
    """All groups in all orders, with everything between them on chip or not: what stays has room together with what a
    group takes."""

    def __init__(self, asked: NetworkQuestion) -> None:
        self.asked, self.reading = asked, GraphReading(asked.graph)
        self.groups = operation_groups(asked.graph, asked.most, runs_only=False)
        self.everything = (1 << len(self.reading.occurrences)) - 1
        self.known: dict[tuple[object, ...], float] = {}
        size = asked.arch.memories[1].size_bits
        assert size is not None
        self.size = size

    def bits(self, places: Iterable[int]) -> int:
        shapes = [self.asked.graph.shape(self.reading.occurrences[place].name) or () for place in places]
        return sum(8 * math.prod(shape) for shape in shapes)

    def cost(self, number: int, stays: frozenset[int], others: int) -> float:
        """What a group costs with some tensors on chip, others taking bits from it."""
        key = number, stays, others
        if key not in self.known:
            cascade, arch = self.groups[number].cascade, self.asked.arch
            assert cascade is not None
            left = arch.levels[1].model_copy(update={"size_bits": self.size - others})
            arch = arch.model_copy(update={"levels": (arch.levels[0], left, *arch.levels[2:])})
            names = (self.reading.occurrences[place].name for place in sorted(stays))
            named = tuple((self.groups[number].tensors[name], "GLB") for name in names)
            question = Question(cascade, arch, self.asked.objective, "perfect", stays=named)
            try:
                self.known[key] = search_cascade(question).certificate.value
            except InfeasibleError:
                self.known[key] = math.inf
        return self.known[key]

    def choices(self, number: int, done: int, live: frozenset[int]) -> Iterator[tuple[frozenset[int], int]]:
        """What a group has on chip of its own, and the bits of other tensors meanwhile: all choices."""
        group = self.groups[number]
        inside = sum(1 << place for place in group.places)
        needs = {i for place in group.places for i in bits_of(self.reading.before[place])} - set(group.places)
        if inside & done or any(not done >> place & 1 for place in needs):
            return
        made = [place for place in group.places if self.reading.readers[place] & ~inside]
        for left in itertools.chain.from_iterable(itertools.combinations(made, n) for n in range(len(made) + 1)):
            if self.bits(live) + self.bits(left) <= self.size:
                yield frozenset({*(live & needs), *left}), self.bits(live - needs)

    def least(self, done: int = 0, live: frozenset[int] = frozenset()) -> float:
        """What the rest costs."""
        if done == self.everything:
            return 0.0
        found = math.inf
        for number, group in enumerate(self.groups):
            for own, others in self.choices(number, done, live):
                after = done | sum(1 << place for place in group.places)
                still = frozenset(place for place in live | own if self.reading.readers[place] & ~after)
                rest = self.least(after, still)
                found = min(found, self.cost(number, own, others) + rest if rest < found else found)
        return found


CASES = [(DIAMOND, "52 B", 1), (RESIDUAL, "44 B", 1), (DIAMOND, "52 B", 2), (RESIDUAL, "44 B", 2)]


@pytest.mark.some(1)
@pytest.mark.parametrize(("text", "size", "most"), CASES[: 1 + longer.TIMES])
def test_no_other_way_is_better(tmp_path: Path, text: str, size: str, most: int) -> None:
    asked = NetworkQuestion(graph_of(tmp_path, text), machine(size), ENERGY, "perfect", most=most)
    answer = segment(asked)
    least = AllWays(asked).least()
    assert answer.certificate.lower_bound <= least * (1 + 1e-9)
    if answer.certificate.proven:  # there may be no addresses for what has room
        assert answer.certificate.value == pytest.approx(least)


def test_nothing_stays_where_that_is_asked_for(tmp_path: Path) -> None:
    asked = NetworkQuestion(graph_of(tmp_path, RESIDUAL), machine("90 B"), ENERGY, "perfect", most=2)
    answer, without = segment(asked), segment(replace(asked, stays=False))
    assert not without.staying
    assert answer.passing is not None
    assert without.certificate.proven
    assert answer.passing.value == pytest.approx(without.certificate.value)
    assert answer.certificate.value < without.certificate.value


def test_what_stays_saves_of_a_product_what_it_costs_less(tmp_path: Path) -> None:
    """It was compared with a weighted sum, and said to save nothing."""
    asked = NetworkQuestion(graph_of(tmp_path, RESIDUAL), machine("90 B"), EDP, "perfect", most=1)
    answer, without = segment(asked), segment(replace(asked, stays=False))
    assert answer.passing is not None
    assert answer.passing.value == pytest.approx(answer.passing.energy_pj * answer.passing.latency_cycles)
    assert answer.passing.lower_bound <= without.certificate.value <= answer.passing.value * (1 + 1e-9)
    assert answer.staying_saves == pytest.approx(1 - answer.certificate.value / answer.passing.value)
    assert answer.staying_saves > 0


def page_of(answer: NetworkAnswer) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(network_plan_page(answer))
    return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


@pytest.mark.some(1)
@pytest.mark.parametrize("objective", [ENERGY, EDP])
def test_that_nothing_stays_for_want_of_time_is_told(
    tmp_path: Path, objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is proven then is about fewer ways, and was said to be about all of them."""

    def few(
        reading: GraphReading, groups: Sequence[OperationGroup], residency: Residency, means: Means, most: int
    ) -> StateGraph:
        if residency.candidates:
            raise TooManyStates
        return state_graph(reading, groups, residency, means, most)

    asked = NetworkQuestion(graph_of(tmp_path, RESIDUAL), machine("44 B"), objective, "perfect", most=1)
    whole = segment(asked)
    assert whole.certificate.proven
    assert "or stays on chip" in page_of(whole)
    monkeypatch.setattr("tilewright.mapper.segmentation.steps.state_graph", few)
    answer = segment(asked)
    assert not answer.staying
    assert 0 < answer.certificate.lower_bound <= whole.certificate.value < answer.certificate.value
    assert answer.certificate.proven_among == ("plans in which nothing stays on chip",)
    assert "among plans in which nothing stays on chip" in page_of(answer)
    assert [part.among for part in network_plan_of(answer).parts] == ["plans in which nothing stays on chip"]
    assert segment(replace(asked, stays=False)).certificate.proven


def test_a_first_plan_keeps_tensors_on_chip(tmp_path: Path) -> None:
    """It costs less than each operation on its own does, before any group is searched."""

    def interrupt(_: TreeQuestion) -> Answer:
        raise KeyboardInterrupt

    asked = NetworkQuestion(graph_of(tmp_path, RESIDUAL), machine("400 B"), ENERGY, "perfect", most=1, total_s=600.0)
    told: list[SearchProgress] = []
    with watched(told.append):
        answer = segment(asked, OneAfterTheOther(interrupt))
    assert answer.searched == 0
    assert [one.name for one in answer.staying]
    values = [one.value for one in told]
    assert answer.certificate.value == pytest.approx(values[-1])
    assert values[-1] < values[0]


WINDOWS = """
network: windows
layers:
  - {name: first, op: conv, N: 1, K: 2, C: 1, P: 7, Q: 1, R: 1, S: 1}
  - {name: second, op: conv, N: 1, K: 2, C: 2, P: 5, Q: 1, R: 3, S: 1}
  - {name: third, op: conv, N: 1, K: 1, C: 2, P: 3, Q: 1, R: 3, S: 1}
graph: [first, second, third]
"""


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("text", "size", "most"),
    [(RESIDUAL, "44 B", 2), (DIAMOND, "60 B", 2), (WINDOWS, "24 B", 2), (WINDOWS, "24 B", 3), (WINDOWS, "80 B", 2)],
)
def test_what_is_known_of_plans_that_were_left_aside_is_below_them(
    tmp_path: Path, text: str, size: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what operations take near the arrays in any group, visits that are uneven along windows included, and by
    groups that cover the network, with tensors that cannot stay."""

    def few(
        reading: GraphReading, groups: Sequence[OperationGroup], residency: Residency, means: Means, most: int
    ) -> StateGraph:
        if residency.candidates:
            raise TooManyStates
        return state_graph(reading, groups, residency, means, most)

    asked = NetworkQuestion(graph_of(tmp_path, text), machine(size), ENERGY, "perfect", most=most)
    whole = segment(asked)
    assert whole.certificate.proven
    monkeypatch.setattr("tilewright.mapper.segmentation.steps.state_graph", few)
    answer = segment(asked)
    computed = {one.name: one.macs * asked.arch.mac.energy_pj for one in asked.graph}
    assert all(answer.least_pj[name] > energy for name, energy in computed.items() if energy)
    assert sum(answer.least_pj.values()) < answer.certificate.lower_bound <= whole.certificate.value
    assert answer.certificate.lower_bound > 0.97 * whole.certificate.value


def test_addresses_that_take_long_have_a_part_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They had five seconds whatever was left: a way without them was taken, with a gap and the time hardly begun."""

    def slow(groups: Sequence[WorkingGroup], arch: Architecture, means: Means) -> list[tuple[Arena, ...]]:
        if len(groups) > 1 and means.seconds_left < 10:
            raise UndecidedError("no addresses were found")
        return arenas_of_run(groups, arch, means)

    asked = NetworkQuestion(graph_of(tmp_path, RESIDUAL), machine("90 B"), ENERGY, "perfect", most=1)
    monkeypatch.setattr("tilewright.mapper.segmentation.segments.arenas_of_run", slow)
    answer = segment(replace(asked, total_s=600))
    assert answer.certificate.proven
    assert answer.staying
    assert not segment(replace(asked, total_s=60)).certificate.proven


@pytest.mark.long
def test_what_stays_takes_the_zeros_that_others_see_around_it() -> None:
    """conv4 of AlexNet reads conv3 with a zero on each side: its place is larger than what conv3 writes, also while
    conv3 writes it. With that known the best plan of the network has addresses, and so a proof."""
    graph, three_level = load_network("alexnet").wiring, tw.load_arch("three_level")
    assert graph is not None
    steps = NetworkSteps(NetworkQuestion(graph, three_level, ENERGY, "perfect", most=1))
    zeros = 384 * (15 * 15 - 13 * 13) * 8
    found = {
        edge.taken[0]
        for edge in steps.edges
        if edge.kind is not None and steps.groups[edge.step.group].names == ("conv3",)
        if [name for name, _ in edge.kind.stays] == ["conv3"]
    }
    assert min(found) == zeros
    answer = segment(NetworkQuestion(graph, three_level, ENERGY, "perfect", most=1))
    assert answer.certificate.proven
    assert answer.staying
