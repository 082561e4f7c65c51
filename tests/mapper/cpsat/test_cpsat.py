from __future__ import annotations

import random
from fractions import Fraction

import pytest

import brute_force
from generators import memory, random_architecture, random_problem, with_extras
from longer import blocks
from tilewright.arch import Architecture, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import OBJECTIVES, Objective, evaluate
from tilewright.ir import InfeasibleError, Problem, TilewrightError
from tilewright.mapper.cpsat import search_cpsat
from tilewright.mapper.cpsat.costs import common_unit, fraction_of
from tilewright.mapper.cpsat.orders import order_classes
from tilewright.mapper.cpsat.product import least_product, mapping_of
from tilewright.mapper.cpsat.solver import Solver
from tilewright.mapper.exact.search import search_exact
from tilewright.workloads import conv2d, gemm

SEEDS = 64
LONG_SEARCHES = {10, 12, 14, 16, 17, 25, 33, 35, 37, 41, 58}
"""Seeds for which a search takes longer than for all the others together."""
BLOCK = 8
MOST_MAPPINGS = 400
"""Mappings that brute force tries per pair at most."""


def random_layer(rng: random.Random) -> Problem:
    """A layer far too large for brute force, with few enough prime factors to be quick."""
    kind = rng.randrange(5)
    if kind == 0:
        return gemm(*(rng.choice([8, 16, 31, 32, 50, 64, 81, 96, 128, 256]) for _ in "MNK"))
    if kind == 1:
        return gemm(rng.choice([121, 169, 289]), rng.choice([32, 210, 343]), rng.choice([36, 64, 100]))
    if kind == 2:  # grouped: one dimension moves every tensor
        return conv2d(
            K=2 * rng.choice([2, 8]), C=2 * rng.choice([2, 9]), P=rng.choice([7, 49]), Q=1, R=1, S=1, groups=2
        )
    stride, dilation = rng.randint(1, 3), rng.randint(1, 2)
    P, R = rng.choice([(8, 3), (14, 5), (16, 2), (27, 3)])
    if kind == 3:
        return conv2d(K=rng.choice([4, 32]), C=rng.choice([3, 8]), P=P, Q=1, R=R, S=1, stride=stride, dilation=dilation)
    return conv2d(K=rng.choice([4, 6]), C=rng.choice([2, 3]), P=P, Q=4, R=R, S=2, stride=stride, dilation=dilation)


def random_machine(rng: random.Random) -> Architecture:
    """A random machine of at most three memories, with every switch that the model knows."""
    arch = random_architecture(rng, memories=rng.randint(1, 2), capacity=rng.choice([16, 200, 2000]))
    levels: list[Memory | Fanout] = [arch.levels[0]]
    for level in arch.levels[1:]:
        levels.append(switched(rng, level) if isinstance(level, Memory) else level)
    changes = {
        "levels": tuple(levels),
        "partial_sum_bits": rng.choice([None, 8, 24]),
        "inner_drain_read": rng.random() < 0.7,
        "first_read_elision": rng.random() < 0.8,
    }
    arch = arch.model_copy(update=changes)
    own = random.Random(arch.cost_text)  # what else is drawn stays as it is
    return arch if own.random() < 0.7 else filled(own, arch)


def filled(rng: random.Random, arch: Architecture) -> Architecture:
    """The machine whose arrays take time to fill, once."""
    arch = with_extras(rng, arch, "arrays")
    every = (
        level if isinstance(level, Fanout) else level.model_copy(update={"overlaps": True}) for level in arch.levels
    )
    return arch.model_copy(update={"levels": tuple(every)})


def switched(rng: random.Random, level: Memory) -> Memory:
    keeps = Keeps(
        **{role: rng.choice(["must", "may", "may", "may", "never"]) for role in ("input", "weight", "output")}
    )
    changes: dict[str, object] = {
        "keeps": keeps,
        "halo": rng.choice(["none", "innermost"]),
        "double_buffered": rng.random() < 0.3,
        "overlaps": rng.random() < 0.7,
        "read_energy_pj": rng.choice([0.3, 1.0, 2.75]),
    }
    if rng.random() < 0.3:
        changes["partition_bits"] = {rng.choice(["input", "weight", "output"]): 8 * rng.choice([8, 64])}
    return level.model_copy(update=changes)


def searched(problem: Problem, arch: Architecture, objective: Objective) -> float:
    try:
        _, _, certificate = search_exact(problem, arch, objective, "perfect")
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    return certificate.value


def modelled(problem: Problem, arch: Architecture, objective: Objective) -> float:
    try:
        mapping, cost, bound = search_cpsat(problem, arch, objective)
    except InfeasibleError:
        return float("inf")
    assert evaluate(mapping, arch) == cost
    assert bound == cost.objective(objective)
    return bound


# ---- optima ------------------------------------------------------------------------------------------------


def test_every_loop_above_a_node_charges_it_where_the_machine_says_so() -> None:
    levels = (memory("DRAM", read_energy_pj=10.0, write_energy_pj=10.0), memory("RF", size_bits=48))
    arch = Architecture(
        name="at node", clock_hz=1e9, word_bits=8, reuse="at_node", levels=levels, mac=Mac(energy_pj=0.0)
    )
    assert modelled(gemm(4, 3, 1), arch, "energy") == searched(gemm(4, 3, 1), arch, "energy") == 366
    for seed in range(12):
        rng = random.Random(seed)
        problem, machine = random_layer(rng), random_machine(rng).model_copy(update={"reuse": "at_node"})
        if seed not in LONG_SEARCHES:
            found = modelled(problem, machine, "energy")
            assert found == pytest.approx(searched(problem, machine, "energy"), rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.parametrize("seeds", blocks(SEEDS, BLOCK))
def test_optimum_of_the_exact_search(seeds: range) -> None:
    """Two ways to prove an optimum that share no code."""
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch, objective = random_layer(rng), random_machine(rng), OBJECTIVES[seed % 3]
        if seed not in LONG_SEARCHES:
            expected = searched(problem, arch, objective)
            assert modelled(problem, arch, objective) == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.some(4)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("problem", "arch"),
    [
        (gemm(64, 64, 64), "three_level"),
        (gemm(96, 512, 32), "tpu_v1"),
        (gemm(125, 70, 44), "eyeriss"),
        (conv2d(K=32, C=16, P=28, Q=1, R=3, S=1, stride=2), "eyeriss"),
        (conv2d(K=16, C=16, P=14, Q=14, R=1, S=1), "tpu_v1"),
    ],
)
def test_library_machines(problem: Problem, arch: str, objective: Objective) -> None:
    machine = load_arch(arch)
    expected = searched(problem, machine, objective)
    assert modelled(problem, machine, objective) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seeds", blocks(60, 15))
def test_optimum_of_brute_force(seeds: range) -> None:
    """Small pairs, where capacities bind and every order of every loop is tried."""
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng, 4), random_machine(rng)
        if brute_force.count(problem, arch, False, MOST_MAPPINGS) < MOST_MAPPINGS:
            expected = brute_force.best(problem, arch, False, OBJECTIVES)
            found = {objective: modelled(problem, arch, objective) for objective in OBJECTIVES}
            assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.some(2)
@pytest.mark.parametrize("most", [1, 50, 10**6])
@pytest.mark.parametrize("problem", [gemm(12, 20, 6), conv2d(K=4, C=2, P=9, Q=1, R=3, S=1)])
def test_products_too_large_for_the_solver(problem: Problem, most: int) -> None:
    """Coarse products find the same optimum, however coarse they are."""
    arch = load_arch("three_level")
    solver = Solver(problem, arch)
    found = least_product(solver, most)
    unit = solver.costs.energy.unit * solver.costs.latency.unit
    assert found.proven
    assert found.value == found.bound
    assert float(found.value * unit) == pytest.approx(searched(problem, arch, "edp"), rel=1e-12)
    assert found.values is not None
    assert evaluate(mapping_of(solver.loops, found.values), arch).edp == pytest.approx(float(found.value * unit))


def test_layer_whose_product_has_more_than_64_bits() -> None:
    problem, arch = gemm(4096, 4096, 1024), load_arch("tpu_v1")
    _, cost, bound = search_cpsat(problem, arch, "edp")
    assert bound == cost.edp == pytest.approx(searched(problem, arch, "edp"), rel=1e-9)


# ---- time limit, and what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_out_of_time_there_is_a_mapping_and_an_honest_bound(objective: Objective) -> None:
    problem, arch = gemm(100, 70, 50), load_arch("three_level")
    mapping, cost, bound = search_cpsat(problem, arch, objective, time_limit=0.0)
    assert evaluate(mapping, arch) == cost
    assert bound <= searched(problem, arch, objective) <= cost.objective(objective)


def test_nothing_fits() -> None:
    levels = (memory("DRAM"), memory("buffer", size_bits=16))
    arch = Architecture(name="small", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    for objective in OBJECTIVES:
        with pytest.raises(InfeasibleError, match="needs 3 B, capacity is 2 B"):
            search_cpsat(gemm(4, 4, 4), arch, objective)


def test_nothing_to_loop_over() -> None:
    assert modelled(gemm(1, 1, 1), load_arch("three_level"), "edp") == searched(
        gemm(1, 1, 1), load_arch("three_level"), "edp"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tiling": "ragged"}, "tiling is 'ragged', and the CP-SAT model is of perfect tilings"),
        ({"objective": "area"}, "unknown name 'area'"),
        ({"objective": "ed2p"}, "the objective is ed2p, and the CP-SAT model minimizes energy, latency or edp"),
    ],
)
def test_options_that_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        search_cpsat(gemm(4, 4, 4), load_arch("three_level"), **options)  # type: ignore[arg-type]


def test_without_the_solver_the_hint_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.ir.errors.find_spec", lambda name: None)
    with pytest.raises(TilewrightError, match=r"ortools is not installed\nhint: pip install 'tilewright\[cpsat\]'"):
        search_cpsat(gemm(4, 4, 4), load_arch("three_level"))


def with_halo(halo: str) -> Architecture:
    levels = (memory("DRAM"), memory("buffer", halo=halo, size_bits=512))
    return Architecture(name="one buffer", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def test_exact_halos_are_refused_where_tiles_overlap() -> None:
    with pytest.raises(TilewrightError, match="buffer has 'halo: exact', and tiles of I"):
        search_cpsat(conv2d(K=2, C=2, P=8, Q=1, R=3, S=1), with_halo("exact"))
    for problem in (gemm(8, 9, 10), conv2d(K=2, C=2, P=8, Q=1, R=1, S=1, stride=2)):
        assert modelled(problem, with_halo("exact"), "energy") == searched(problem, with_halo("exact"), "energy")


def test_windows_with_too_many_tilings_are_refused() -> None:
    with pytest.raises(TilewrightError, match=r"P, R can be tiled in [\d,]+ ways"):
        search_cpsat(conv2d(K=2, C=2, P=2**9, Q=1, R=2**6, S=1), load_arch("three_level"))


def test_figures_beyond_60_bits_are_refused() -> None:
    with pytest.raises(TilewrightError, match="the solver's numbers end at"):
        search_cpsat(gemm(10**6, 10**6, 10**6), load_arch("three_level"), "energy")


# ---- parts -------------------------------------------------------------------------------------------------


def test_decimal_figures_are_simple_fractions() -> None:
    assert fraction_of(0.1) == Fraction(1, 10)
    assert fraction_of(34e9 * 8 / 700e6) == Fraction(2720, 7)
    assert all(float(fraction_of(x)) == x for x in (1e-30, 2.0**0.5, 1e300, 0.0, 1 / 3))
    assert common_unit([Fraction(3, 4), Fraction(-5, 6), Fraction(0)]) == Fraction(1, 12)
    assert common_unit([]) == 1


def test_order_classes_of_a_convolution() -> None:
    """One tensor's loops innermost each; where inputs move first, each dimension that moves them is a case."""
    problem = conv2d(K=8, C=8, P=8, Q=8, R=3, S=3)
    classes = order_classes(problem)
    free = [{name for dims in each.free for name in dims} for each in classes]
    assert {frozenset(f) for f in free} == {frozenset("K"), frozenset("PQ"), frozenset("CRS")}
    assert {each.mover for each in classes} == {(dim, None, None) for dim in "CPQRS"}
