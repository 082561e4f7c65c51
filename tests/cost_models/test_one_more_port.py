"""Ports of one role, and a kind of port that these tests alone know: all that counts cycles asks `ports_of`, and sees
them."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf
from typing import Any

import pytest
from event_clock import clocked_cycles

import brute_force
import longer
from cascade_cases import Case, random_case
from generators import random_architecture, random_mapping, random_problem, with_extras
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, Memory
from tilewright.arch import ports as kinds
from tilewright.arch.spec import PerCycle
from tilewright.cost_models import LATENCY, cost_of, count_words, ports, roofline
from tilewright.ir import InfeasibleError, Problem
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.cascades.tables.tables import supports
from tilewright.mapper.cpsat import search_cpsat
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.question import Question
from tilewright.workloads import cascade


class WithBus(Memory):
    """A memory whose words all pass a bus, whatever ports it has besides."""

    bus_bits_per_cycle: PerCycle | None = None


PORTS = ("read", "write", "bus")
Ports = Callable[[Architecture, random.Random], Architecture]
NONE: dict[str, Any] = dict.fromkeys(("shared_bits_per_cycle", "read_bits_per_cycle", "write_bits_per_cycle"))


@pytest.fixture(autouse=True)
def _one_more_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = kinds.PortKind("bus", True, True, "bus_bits_per_cycle")
    monkeypatch.setattr(kinds, "PORT_KINDS", (*kinds.PORT_KINDS, bus))


def with_buses(arch: Architecture, rng: random.Random | None = None) -> Architecture:
    """The machine whose shared ports are called buses; or with a bus in every memory beside ports for reads and for
    writes, each of which may be the slowest."""
    levels: list[Memory | Fanout] = []
    for level in arch.levels:
        if isinstance(level, Memory):
            fields = {name: getattr(level, name) for name in Memory.model_fields}
            if rng is None:
                fields |= {"bus_bits_per_cycle": level.shared_bits_per_cycle, "shared_bits_per_cycle": None}
            else:
                fields |= NONE | {f"{name}_bits_per_cycle": float(rng.choice([8, 12, 16])) for name in PORTS}
            level = WithBus.model_validate(fields)
        levels.append(level)
    return arch.model_copy(update={"levels": tuple(levels)})


def with_roles(arch: Architecture, rng: random.Random) -> Architecture:
    """The machine with ports of some roles in every memory beside those that it has."""
    return with_extras(rng, arch, "roles")


def of_memories(arch: Architecture, **changes: Any) -> Architecture:
    """The machine with other memories."""
    levels = (one.model_copy(update=changes) if isinstance(one, Memory) else one for one in arch.levels)
    return arch.model_copy(update={"levels": tuple(levels)})


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_the_cost_model_the_roofline_and_the_clock_see_it(seed: int) -> None:
    rng = random.Random(seed)
    problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), *["serial", "fill"] * (seed % 2))
    mapping, bus = random_mapping(rng, problem, arch), with_buses(arch)
    one, other = (cost_of(mapping, machine, count_words(mapping, machine)) for machine in (arch, bus))
    assert (other.latency_cycles, other.limited_by) == (one.latency_cycles, one.limited_by)
    assert [roof.reachable for roof in roofline(other, bus).roofs] == [r.reachable for r in roofline(one, arch).roofs]
    assert clocked_cycles(mapping, bus) == clocked_cycles(mapping, arch)

    both = with_buses(arch, rng)
    cost = cost_of(mapping, both, count_words(mapping, both))
    for use, memory in zip(cost.memories, both.memories, strict=True):
        read, write, all_words = (port.cycles for port in use.ports)
        rates = dict(zip(PORTS, (port.bits_per_cycle for port in ports.ports_of(memory)), strict=True))
        assert all_words * rates["bus"] == pytest.approx(read * rates["read"] + write * rates["write"])
        assert use.cycles == max(read, write, all_words)
    assert clocked_cycles(mapping, both) >= max(use.cycles for use in cost.memories) * (1 - 1e-9)
    assert {roof.port for roof in roofline(cost, both).roofs} == set(PORTS)


def searched(problem: Problem, arch: Architecture, strategy: str) -> float:
    """The least latency that a strategy proves; infinite where nothing fits."""
    try:
        if strategy == "cpsat":
            _, cost, bound = search_cpsat(problem, arch, LATENCY)
            assert bound == pytest.approx(cost.latency_cycles)
            return cost.latency_cycles
        _, cost, certificate = search_exact(problem, arch, LATENCY)
    except InfeasibleError:
        return inf
    assert certificate.proven
    return cost.latency_cycles


def question(seed: int, ports: Ports = with_buses) -> tuple[Problem, Architecture]:
    """An operation that brute force can try, on a machine that every search knows, with other ports."""
    rng = random.Random(seed)
    known = {"reuse": "across_levels", "footprint": "exact", "latency": "steady"}
    while True:
        problem, arch = random_problem(rng), random_architecture(rng, memories=rng.randint(1, 2), capacity=200)
        arch = of_memories(arch.model_copy(update=known), halo="none")
        if brute_force.count(problem, arch, False, 600) < 600:
            return problem, ports(arch, rng)


@pytest.mark.parametrize("ports", [with_buses, with_roles])
@pytest.mark.parametrize("seed", longer.seeds(30))
def test_every_search_of_one_operation_sees_it(seed: int, ports: Ports) -> None:
    problem, arch = question(seed, ports)
    (least,) = brute_force.best(problem, arch, False, (LATENCY,)).values()
    for strategy in ("exact", "cpsat"):
        assert searched(problem, arch, strategy) == pytest.approx(least), strategy


def test_it_is_what_some_searches_wait_for() -> None:
    faster = []
    for seed in range(8):
        problem, arch = question(seed)
        faster.append(searched(problem, of_memories(arch, bus_bits_per_cycle=None), "exact"))
        assert faster[-1] <= searched(problem, arch, "exact")
    assert faster != [searched(*question(seed), "exact") for seed in range(8)]


def least_of_trees(case: Case, arch: Architecture) -> float:
    asked = Question(case.cascade, arch, LATENCY, case.tiling, case.space, fuse=case.fuse)
    try:
        return search_cascade(asked).cost.latency_cycles
    except InfeasibleError:
        return inf


@pytest.mark.some(4)
@pytest.mark.parametrize("ports", [with_buses, with_roles])
@pytest.mark.parametrize("seed", longer.seeds(40))
def test_the_search_of_trees_sees_it(seed: int, ports: Ports) -> None:
    case = random_case(seed)
    if case.arch.partial_sum_bits is not None:
        pytest.skip("the search knows a gap here")
    both = ports(case.arch, random.Random(seed))
    best = Case(case.kind, case.cascade, both, case.tiling, case.space, case.fuse).trees.best()
    least = best["latency"].value if best else inf
    assert least_of_trees(case, both) == pytest.approx(least)
    assert least_of_trees(case, with_buses(case.arch)) == pytest.approx(least_of_trees(case, case.arch))


@pytest.mark.long
def test_tables_of_branches_see_it() -> None:
    bounds = {"read_bits_per_cycle": 12.0, "write_bits_per_cycle": 16.0, "bus_bits_per_cycle": 8.0}
    far = WithBus(name="DRAM", access_bits=8, read_energy_pj=8.0, write_energy_pj=8.0, **bounds)
    near = far.model_copy(update={"name": "GLB", "size_bits": 96})
    array = Fanout(name="array", axes=(ArrayAxis(size=2),))
    inside = near.model_copy(update={"name": "RF", "size_bits": 32})
    machine = Architecture(
        name="tables",
        clock_hz=1e9,
        word_bits=8,
        mac=Mac(energy_pj=1.0),
        levels=(far, near, array, inside),
        reuse="at_node",
    )
    chained = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=2, n=2, k=1, p=2)
    assert supports(chained, machine, "uneven", "perfect") is None
    case = Case("chained", chained, machine, "perfect", "uneven", "all")
    best = case.trees.best()
    assert best is not None
    assert least_of_trees(case, machine) == pytest.approx(best["latency"].value)
