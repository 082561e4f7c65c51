"""Branches by tables: against every mapping of tiny branches, and against the cost model of trees."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator

import pytest

import brute_force
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import ENERGY, evaluate, parse_objective
from tilewright.cost_models.cascades import taken_bits, visit_cost
from tilewright.ir import Cascade, Loop, LoopNest, Mapping, MappingError, Node, Problem, Tree
from tilewright.mapper.cascades.tables.tables import TableBranches, supports
from tilewright.mapper.cascades.terms.branch import BranchMapping, BranchQuestion
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.pareto.weights import ENERGY_ALONE, LATENCY_ALONE, AtLeast, OpenRegion, Weights
from tilewright.workloads import cascade

OPERATIONS = (
    ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"],
    ["T[m] += A[m,k] * B[m]", "O[m,n] = T[m] * C[n]"],
    ["T[m,n] = A[m,n] - B[n]", "O[n] max= T[m,n]"],
    ["T[m,n] += A[m,k] * B[k,n] * C[n]", "O[m] += T[m,n]"],
    ["T[b,m] += A[b,m,k] * B[b,k]", "O[m,b] = exp(T[b,m])"],
)
FEWEST_MAPPINGS, MOST_MAPPINGS = 20, 600
"""Mappings of one branch that brute force tries; now and then fewer, where hardly anything fits."""

CASES = 24
"""Random branches, and as many for the other tests."""


def _memory(rng: random.Random, name: str, **given: object) -> Memory:
    ports: list[dict[str, float]] = [
        {},
        {"shared_bits_per_cycle": rng.choice([4.0, 8.0, 32.0])},
        {"read_bits_per_cycle": rng.choice([4.0, 32.0]), "write_bits_per_cycle": rng.choice([4.0, 16.0])},
        {"write_bits_per_cycle": rng.choice([4.0, 16.0])},
    ]
    made: dict[str, object] = {
        "name": name,
        "access_bits": rng.choice([8, 16]),
        "read_energy_pj": rng.choice([0.5, 1, 3, 7]),
        "write_energy_pj": rng.choice([0.5, 1, 3, 9]),
        "overlaps": rng.random() < 0.8,
        **rng.choice(ports),
        **given,
    }
    return Memory.model_validate(made)


def _keeps(rng: random.Random) -> Keeps:
    if rng.random() < 0.5:
        return Keeps()
    return Keeps.model_validate(
        {role: rng.choice(["must", "may", "may", "never"]) for role in ("input", "weight", "output")}
    )


def _fanout(rng: random.Random, name: str) -> Fanout:
    axes = tuple(ArrayAxis(size=rng.choice([2, 3, 4]), reduce=rng.random() < 0.8) for _ in range(rng.choice([1, 2])))
    return Fanout(name=name, axes=axes, multicast=rng.random() < 0.7, spatial_reduction=rng.random() < 0.7)


def _machine(rng: random.Random, kind: int) -> Architecture:
    """Two memories outside the arrays; then nothing, an array, one with registers, with two of them, or two arrays."""
    far = rng.choice([20, 100, 200])
    levels: list[Memory | Fanout] = [_memory(rng, "DRAM", read_energy_pj=far, write_energy_pj=far)]
    size, doubled = rng.choice([64, 128, 400]), rng.random() < 0.2
    levels.append(_memory(rng, "GLB", size_bits=size, keeps=_keeps(rng), double_buffered=doubled))
    if kind >= 1:
        levels.append(_fanout(rng, "array"))
    if kind >= 2:
        size, doubled = rng.choice([32, 64, 128, None]), rng.random() < 0.2
        levels.append(_memory(rng, "RF", size_bits=size, keeps=_keeps(rng), double_buffered=doubled))
    if kind == 3:
        parts = rng.choice([{}, {"output": 16}])
        levels.append(_memory(rng, "regs", size_bits=rng.choice([16, 32]), keeps=_keeps(rng), partition_bits=parts))
    if kind == 4:
        levels += [_fanout(rng, "lanes"), _memory(rng, "regs", size_bits=rng.choice([16, 32, 64]), keeps=_keeps(rng))]
    return Architecture(
        name="machine",
        clock_hz=1e9,
        word_bits=8,
        partial_sum_bits=rng.choice([None, None, 16]),
        inner_drain_read=rng.random() < 0.8,
        first_read_elision=rng.random() < 0.8,
        reuse="at_node" if kind else rng.choice(["at_node", "across_levels"]),
        levels=tuple(levels),
        mac=Mac(energy_pj=0.5, per_cycle=rng.choice([1, 2])),
        leakage_pj_per_cycle=rng.choice([0.0, 0.0, 3.0]),
    )


def _case(rng: random.Random, kind: int, sizes: tuple[int, ...]) -> tuple[Cascade, Architecture, BranchQuestion]:
    operations = rng.choice(OPERATIONS)
    letters = sorted(
        {letter for text in operations for letter in re.sub(r"[A-Z]|exp|max", "", text) if letter.isalpha()}
    )
    whole = cascade(operations, **{letter: rng.choice(sizes) for letter in sorted(letters)})
    arch = _machine(rng, kind)
    operation = rng.choice(whole.operations)
    dims = operation.problem.dims
    tile = tuple((dim, rng.choice([n for n in range(1, size + 1) if size % n == 0])) for dim, size in dims)
    homes = tuple((t.name, rng.choice(["DRAM", "GLB"])) for t in operation.problem.tensors)
    size = next(m.size_bits or 0 for m in arch.memories if m.name == "GLB")
    room = (("GLB", "", min(size, rng.choice([8, 16, 32, 64, 100, 200, 400]))),)
    busy = rng.choice([(), (("GLB", "input", 16.0, 8.0),), (("DRAM", "output", 40.0, 3.5),)])
    return whole, arch, BranchQuestion(operation.name, tile, homes, room, rng.choice([1, 1, 2, 3]), busy)


def _all_of(whole: Cascade, arch: Architecture, question: BranchQuestion) -> Iterator[tuple[Mapping, int]]:
    """All mappings of a branch, with the bits that their own nodes take of GLB."""
    operation, homes = whole.operation(question.operation), dict(question.homes)
    problem = Problem(operation.name, question.sizes, operation.problem.tensors)
    glb = arch.level("GLB")
    assert isinstance(glb, Memory)
    free = glb.model_copy(update={"keeps": Keeps(input="may", weight="may", output="may"), "size_bits": None})
    machine = arch.model_copy(update={"levels": (arch.levels[0], free, *arch.levels[2:])})
    top = tuple(Node(homes[t.name], t.name) for t in problem.tensors)
    for mapping in brute_force.uneven_mappings(problem, machine, "perfect"):
        items = mapping.nest.items[len(top) :]
        own = {item.tensor for item in items if isinstance(item, Node) and item.memory == "GLB"}
        keeps = {t.name: "never" if homes[t.name] == "GLB" else glb.keeps[t.role] for t in problem.tensors}
        if all((name in own) == (keep == "must") for name, keep in keeps.items() if keep != "may"):
            yield Mapping(problem, LoopNest((*top, *items)))


def _costs(whole: Cascade, arch: Architecture, question: BranchQuestion) -> list[tuple[float, float]] | None:
    """Energy and latency of all mappings that fit; None if there are too few or too many to try."""
    operation = whole.operation(question.operation)
    glb = arch.levels[1].model_copy(update={"size_bits": question.room[0][2]})
    levels = (arch.levels[0], glb, *arch.levels[2:])
    machine = arch.model_copy(update={"levels": levels, "mac": arch.mac.of(operation.kind)})
    busy = {memory: {role: (read, written)} for memory, role, read, written in question.busy}
    mappings = list(itertools.islice(_all_of(whole, arch, question), MOST_MAPPINGS + 1))
    if not FEWEST_MAPPINGS <= len(mappings) <= MOST_MAPPINGS:
        return None
    found = []
    for mapping in mappings:
        try:
            cost = visit_cost(mapping, machine, question.again, busy)
        except MappingError:
            continue
        found.append((cost.energy_pj, cost.latency_cycles))
    return found


def _is_as_said(whole: Cascade, arch: Architecture, question: BranchQuestion, found: BranchMapping) -> bool:
    """Whether a mapping costs, and takes, what it is said to."""
    operation, homes = whole.operation(question.operation), dict(question.homes)
    problem = Problem(operation.name, question.sizes, operation.problem.tensors)
    top = tuple(Node(homes[t.name], t.name) for t in problem.tensors)
    mapping = Mapping(problem, LoopNest((*top, *found.items)))
    machine = arch.model_copy(update={"mac": arch.mac.of(operation.kind)})
    busy = {memory: {role: (read, written)} for memory, role, read, written in question.busy}
    cost = visit_cost(mapping, machine, question.again, busy)
    taken = tuple((t.memory, t.role, t.bits) for t in taken_bits(mapping, machine) if t.memory == "GLB")
    exactly = arch.reuse == "at_node" or not arch.total_leakage_pj_per_cycle
    return (
        taken == found.used
        and (_close(cost.energy_pj, found.energy_pj) or not exactly)
        and (_close(cost.latency_cycles, found.latency_cycles) or arch.reuse == "across_levels")
    )


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("seeds", blocks(CASES, 4))
def test_no_mapping_of_a_branch_is_better(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        costs = None
        while costs is None:
            whole, arch, question = _case(rng, seed % 5, (1, 2, 3, 4, 6) if seed % 5 < 2 else (1, 2, 2, 3))
            costs = _costs(whole, arch, question)
        assert supports(whole, arch, "uneven", "perfect") is None
        tables, timed = TableBranches(whole, arch), TableBranches(whole, arch, timed=True)
        assert timed.bound(question, ENERGY_ALONE) == tables.bound(question, ENERGY_ALONE)
        for weights in (ENERGY_ALONE, LATENCY_ALONE, Weights(1.0, rng.choice([0.1, 1.0, 10.0]))):
            best = tables.least(question, weights).mapping
            assert (best is None) == (not costs)
            least = min((weights.of(*cost) for cost in costs), default=math.inf)
            assert best is None or _close(weights.of(best.energy_pj, best.latency_cycles), least)
            assert best is None or _is_as_said(whole, arch, question, best)
            assert _close(tables.bound(question, weights), least) or not costs
            assert tables.least(question, weights, least * (1 - 1e-6)).mapping is None
        everywhere = OpenRegion(Weights(1.0, 1.0), AtLeast(math.inf, math.inf, math.inf))
        front = [(m.energy_pj, m.latency_cycles) for m in tables.front(question, everywhere)]
        for energy, latency in costs:
            assert any(e <= energy * (1 + 1e-9) and c <= latency * (1 + 1e-9) for e, c in front)
        for one in front:
            assert any(_close(one[0], energy) and _close(one[1], latency) for energy, latency in costs)


def _tree(shared: list[tuple[str, int]], branches: dict[str, BranchMapping]) -> Tree:
    """Two products, with their intermediate in GLB below shared loops."""
    items: list[Loop | Node] = [Node("DRAM", tensor) for tensor in "ABCO"]
    items += [Loop(dim, trips) for dim, trips in shared]
    items.append(Node("GLB", "T"))
    return Tree(tuple(items), tuple(Tree(mapping.items, (), name) for name, mapping in branches.items()))


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(8))
def test_a_tree_of_the_mappings_costs_what_they_cost(seed: int) -> None:
    """N adds to O: its tile comes back in all but the first of the visits over N."""
    rng = random.Random(seed)
    m, n, k, p = (rng.choice([4, 8, 12]) for _ in range(4))
    whole = cascade(OPERATIONS[0], m=m, n=n, k=k, p=p)
    arch = _machine(rng, 2 + seed % 3)
    keep_all = {"keeps": Keeps(), "size_bits": 6_000, "double_buffered": False}
    registers = {"keeps": Keeps(), "size_bits": 96, "double_buffered": False}
    levels = [
        level.model_copy(update={"GLB": keep_all, "RF": registers, "regs": registers}.get(level.name, {}))
        for level in arch.levels
    ]
    arch = arch.model_copy(update={"levels": tuple(levels), "leakage_pj_per_cycle": 0.0, "partial_sum_bits": None})
    tables = TableBranches(whole, arch)
    shared = [("M", rng.choice([1, 2, 4])), ("N", rng.choice([1, 2, 4]))]
    rng.shuffle(shared)
    trips = dict(shared)
    room = (("GLB", "", 6_000 - 8 * (m // trips["M"]) * (n // trips["N"])),)
    weights = rng.choice([ENERGY_ALONE, LATENCY_ALONE, Weights(1.0, 10.0)])
    branches = {}
    for name, again in (("T", 1), ("O", trips["N"])):
        problem = whole.operation(name).problem
        sizes = tuple((dim, size // trips.get(dim, 1)) for dim, size in problem.dims)
        homes = tuple((t.name, "GLB" if t.name == "T" else "DRAM") for t in problem.tensors)
        best = tables.least(BranchQuestion(name, sizes, homes, room, again), weights).mapping
        assert best is not None
        branches[name] = best
    cost = evaluate(Mapping(whole, _tree(shared, branches)), arch)
    visits = trips["M"] * trips["N"]
    assert _close(cost.energy_pj, visits * sum(b.energy_pj for b in branches.values()))
    assert _close(cost.latency_cycles, visits * sum(b.latency_cycles for b in branches.values()))


@pytest.mark.parametrize("seed", range(6))
def test_a_whole_operation_is_searched_alike(seed: int) -> None:
    rng = random.Random(seed)
    whole = cascade(OPERATIONS[0], **{letter: rng.choice([8, 12, 16]) for letter in "mnkp"})
    arch = _machine(rng, (0, 2)[seed % 2])
    operation = whole.operation("T")
    homes = tuple((t.name, "DRAM") for t in operation.problem.tensors)
    size = next(m.size_bits or 0 for m in arch.memories if m.name == "GLB")
    question = BranchQuestion("T", operation.problem.dims, homes, (("GLB", "", size),))
    tables = TableBranches(whole, arch)
    for weights, objective in ((ENERGY_ALONE, ENERGY), (LATENCY_ALONE, parse_objective("latency"))):
        best = tables.least(question, weights).mapping
        *_, certificate = search_exact(operation.problem, arch, objective, "perfect", "uneven")
        assert best is not None
        assert _close(weights.of(best.energy_pj, best.latency_cycles), certificate.value)


def test_equal_operations_share_tables() -> None:
    whole = cascade(OPERATIONS[0], m=8, n=8, k=8, p=8)
    arch = _machine(random.Random(1), 2)
    tables = TableBranches(whole, arch)
    for operation in whole.operations:
        homes = tuple((t.name, "GLB") for t in operation.problem.tensors)
        for trips in (1, 2, 4):
            sizes = tuple((dim, size // trips if dim == "M" else size) for dim, size in operation.problem.dims)
            tables.bound(BranchQuestion(operation.name, sizes, homes, (("GLB", "", 64),)), LATENCY_ALONE)
    assert tables.searches == 1


def test_what_tables_cannot_answer_is_said() -> None:
    whole = cascade(OPERATIONS[0], m=8, n=8, k=8, p=8)
    arch = _machine(random.Random(1), 2)
    dram, glb, array, registers = arch.levels
    assert isinstance(glb, Memory)

    def refused(**changes: object) -> str:
        return supports(whole, arch.model_copy(update=changes), "uneven", "perfect") or ""

    assert "even space" in (supports(whole, arch, "even", "perfect") or "")
    assert "ragged" in (supports(whole, arch, "uneven", "ragged") or "")
    assert "reuse" in refused(reuse="across_levels")
    assert "fill" in refused(latency="with_fill")
    assert "3 memories" in refused(levels=(dram, glb, glb.model_copy(update={"name": "L1"}), array, registers))
    assert "1 memories" in refused(levels=(dram, array, registers))
    parts = glb.model_copy(update={"partition_bits": {"output": 8}})
    assert "private parts" in refused(levels=(dram, parts, array, registers))
    window = cascade(["T[m] += A[m] * b[m]", "O[p] += T[p+r] * w[r]"], m=6, p=4, r=3)
    assert "window" in (supports(window, arch, "uneven", "perfect") or "")
