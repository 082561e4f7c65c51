"""The search over the lattice of tiles, against brute force and against the exact search."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import brute_force
import tilewright as tw
from generators import memory, random_architecture, random_problem, with_extras
from longer import blocks, seeds
from tilewright.arch import Architecture, Fanout, Halo, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import OBJECTIVES, evaluate, parse_objective
from tilewright.ir import InfeasibleError, Problem, TilewrightError
from tilewright.mapper.kernel.tolerance import is_better
from tilewright.mapper.lattice import LatticeSearch
from tilewright.mapper.means import Means
from tilewright.workloads import conv2d, gemm

MOST_MAPPINGS = 600
"""Mappings that brute force tries per pair at most."""

EVERY_OBJECTIVE = (*OBJECTIVES, "ed2p", "max(energy, 3 * latency)")


def random_machine(rng: random.Random, halos: tuple[Halo, ...]) -> Architecture:
    """A random machine with every switch that the search knows."""
    arch = random_architecture(rng, memories=rng.randint(1, 2), capacity=rng.choice([16, 64, 200, 2000]))
    levels: list[Memory | Fanout] = [arch.levels[0]]
    levels += [switched(rng, level, halos) if isinstance(level, Memory) else level for level in arch.levels[1:]]
    changes = {
        "levels": tuple(levels),
        "partial_sum_bits": rng.choice([None, 8, 24]),
        "reuse": "across_levels",
        "footprint": "exact",
        "latency": "steady",
        "first_read_elision": True,
        "inner_drain_read": True,
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


def switched(rng: random.Random, level: Memory, halos: tuple[Halo, ...]) -> Memory:
    keeps = Keeps(
        **{role: rng.choice(["must", "may", "may", "may", "never"]) for role in ("input", "weight", "output")}
    )
    changes: dict[str, Any] = {
        "keeps": keeps,
        "halo": rng.choice(halos),
        "double_buffered": rng.random() < 0.3,
        "overlaps": rng.random() < 0.7,
        "read_energy_pj": rng.choice([0.3, 1.0, 2.75]),
    }
    if rng.random() < 0.3:
        changes["partition_bits"] = {rng.choice(["input", "weight", "output"]): 8 * rng.choice([8, 64])}
    return level.model_copy(update=changes)


def searched(problem: Problem, arch: Architecture, objective: str) -> float:
    """The value of the best mapping, proven, as the cost model has it."""
    search = LatticeSearch(problem, arch, parse_objective(objective), Means())
    try:
        found = search.run()
    except InfeasibleError:
        return math.inf
    assert search.bound == found.value
    assert evaluate(found.mapping, arch).objective(objective) == found.value
    return found.value


# ---- optima ------------------------------------------------------------------------------------------------


def small_pair(rng: random.Random, halos: tuple[Halo, ...]) -> tuple[Problem, Architecture]:
    """A problem and a machine with few mappings."""
    while True:
        problem, arch = random_problem(rng, 4), random_machine(rng, halos)
        if 1 < brute_force.count(problem, arch, False, MOST_MAPPINGS) < MOST_MAPPINGS:
            return problem, arch


@pytest.mark.parametrize("halos", [("none", "innermost"), ("exact",), ("none", "innermost", "exact")])
@pytest.mark.parametrize("numbers", blocks(80, 8))
def test_optimum_of_brute_force(numbers: range, halos: tuple[Halo, ...]) -> None:
    """Small pairs, where capacities bind and every order of every loop is tried."""
    for seed in numbers:
        problem, arch = small_pair(random.Random(seed), halos)
        expected = brute_force.best(problem, arch, False, EVERY_OBJECTIVE)
        found = {objective: searched(problem, arch, objective) for objective in EVERY_OBJECTIVE}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.parametrize("seed", seeds(80))
def test_optimum_of_the_exact_search(seed: int) -> None:
    """Machines of up to four memories with arrays inside each other, too large for brute force."""
    rng = random.Random(seed)
    arch = random_architecture(rng, memories=rng.randint(2, 3), capacity=rng.choice([64, 400]))
    levels = (switched(rng, one, ("none", "innermost")) if isinstance(one, Memory) else one for one in arch.levels[1:])
    plain = {"reuse": "across_levels", "footprint": "exact", "latency": "steady"}
    arch = arch.model_copy(update={"levels": (arch.levels[0], *levels), **plain})
    arch = arch.model_copy(update={"first_read_elision": True, "inner_drain_read": True})
    problem, objective = random_problem(rng, 7), OBJECTIVES[seed % 3]
    try:
        expected = tw.search(problem, arch, objective, tiling="perfect").certificate
    except InfeasibleError:
        assert searched(problem, arch, objective) == math.inf
        return
    assert expected.proven
    assert searched(problem, arch, objective) == pytest.approx(expected.value, rel=1e-9, abs=0)


QUESTIONS = (
    ("resnet50:conv1", "eyeriss"),
    ("resnet50:layer1.0.conv2", "three_level"),
    ("resnet50:layer2.0.conv2", "gemmini"),
    ("resnet50:layer3.x.conv2", "nvdla_small"),
    ("mobilenet_v2:b3.dw", "tpu_v1"),
    ("bert_base:qk", "cpu"),
    ("bert_base:ff1", "simba"),
)


@pytest.mark.some(4)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("layer", "arch"), QUESTIONS)
def test_questions_of_the_library(layer: str, arch: str, objective: str) -> None:
    expected = tw.search(layer, arch, objective, tiling="perfect")
    found = tw.search(layer, arch, objective, strategy="lattice")
    assert found.certificate.proven
    assert found.certificate.value == pytest.approx(expected.certificate.value, rel=1e-9)
    assert found.certificate.space_size == expected.certificate.space_size


def with_halo(halo: Halo, size: int = 512) -> Architecture:
    levels = (memory("DRAM", read_energy_pj=20.0), memory("buffer", halo=halo, size_bits=size))
    return Architecture(name="one buffer", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def test_overlaps_kept_at_every_move_cost_less() -> None:
    problem = conv2d(K=1, C=1, P=3, Q=3, R=2, S=3, stride=(1, 2), dilation=2)
    halos: tuple[Halo, ...] = ("none", "innermost", "exact")
    values = [searched(problem, with_halo(halo, 64), "energy") for halo in halos]
    assert values[0] > values[1] > values[2]


def test_nothing_to_loop_over() -> None:
    found = searched(gemm(1, 1, 1), load_arch("three_level"), "edp")
    assert found == tw.search(gemm(1, 1, 1), "three_level", "edp").certificate.value


# ---- means -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_out_of_time_there_is_a_mapping_and_an_honest_bound(objective: str) -> None:
    layer = "resnet50:layer1.0.conv2"
    cut = tw.search(layer, "diannao", objective, strategy="lattice", time_limit=0.0)
    whole = tw.search(layer, "diannao", objective, strategy="lattice").certificate
    assert evaluate(cut.mapping, cut.arch) == cut.cost
    assert cut.certificate.lower_bound <= whole.value * (1 + 1e-9)
    assert not is_better(cut.certificate.value, whole.value)


def test_within_little_memory_there_is_a_mapping_and_an_honest_bound() -> None:
    asked = (gemm(360, 360, 360), "simba", "energy")
    cut = tw.search(*asked, strategy="lattice", memory_limit="1 MiB").certificate
    whole = tw.search(*asked, strategy="lattice").certificate
    assert whole.proven
    assert cut.lower_bound <= whole.value * (1 + 1e-9)
    assert not is_better(cut.value, whole.value)


def interrupted_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> LatticeSearch:
    """A search that is interrupted at a look at its means."""
    looks = iter(range(steps))

    def check(_: Means) -> None:
        if next(looks, None) is None:
            raise KeyboardInterrupt

    asked = (tw.load_layer("resnet50:layer1.0.conv2"), load_arch("simba"), parse_objective("energy"))
    search = LatticeSearch(*asked, Means())
    with monkeypatch.context() as patched:
        patched.setattr(Means, "check", check)
        search.run()
    return search


@pytest.mark.parametrize("steps", [0, 5, 40, 100])
def test_an_interrupt_leaves_the_best_so_far(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = searched(tw.load_layer("resnet50:layer1.0.conv2"), load_arch("simba"), "energy")
    search = interrupted_after(steps, monkeypatch)
    assert search.interrupted
    assert search.bound <= whole * (1 + 1e-9)
    assert not is_better(search.best.value, whole)


def test_nothing_fits() -> None:
    with pytest.raises(InfeasibleError, match="needs 3 B, capacity is 2 B"):
        tw.search(gemm(4, 4, 4), with_halo("none", 16), strategy="lattice")


# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"latency": "with_fill"}, "latency: with_fill"),
        ({"footprint": "box"}, "footprint: box"),
        ({"reuse": "at_node"}, "reuse: at_node"),
        ({"first_read_elision": False}, "first_read_elision: false"),
        ({"inner_drain_read": False}, "inner_drain_read: false"),
        ({"leakage_pj_per_cycle": 1.0}, "leakage"),
    ],
)
def test_machines_that_are_refused(changes: dict[str, object], named: str) -> None:
    arch = load_arch("three_level").model_copy(update=changes)
    with pytest.raises(TilewrightError, match=f"it does not know {named}, which three_level has") as caught:
        tw.search(gemm(4, 4, 4), arch, strategy="lattice")
    assert caught.value.hint == 'take "exact"'


@pytest.mark.parametrize("objective", ["latency,energy", "energy where latency <= 20000"])
def test_objectives_that_are_refused(objective: str) -> None:
    with pytest.raises(TilewrightError, match="it knows formulas without limits only"):
        tw.search(gemm(4, 4, 4), "three_level", objective, strategy="lattice")


def test_ragged_tilings_are_refused() -> None:
    with pytest.raises(TilewrightError, match="perfect tilings of the even space only"):
        tw.search(gemm(4, 4, 4), "three_level", tiling="ragged", strategy="lattice")


def test_more_prime_factors_than_a_number_has_room_for_are_refused() -> None:
    names = [f"D{i}" for i in range(32)]
    ranks = tuple(((name, 1),) for name in names)
    tensors = (tw.ir.Tensor("A", ranks, "input"), tw.ir.Tensor("O", ranks[:1], "output"))
    problem = Problem("many", tuple((name, 2) for name in names), tensors)
    with pytest.raises(TilewrightError, match="more prime factors"):
        LatticeSearch(problem, load_arch("three_level"), parse_objective("energy"), Means()).run()
