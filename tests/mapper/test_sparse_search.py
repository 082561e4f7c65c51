"""The search for operands with zeros against all mappings, one by one, each with its sparse cost."""

from __future__ import annotations

import math
import random

import pytest

from brute_force import all_mappings
from generators import memory, random_mapping, tensor
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import evaluate, parse_objective
from tilewright.cost_models.sparse import Density, Structured, Uniform, evaluate_sparse
from tilewright.ir import InfeasibleError, Mapping, MappingError, Problem, TilewrightError, UndecidedError
from tilewright.mapper.question import Question
from tilewright.mapper.sparse_search import search_sparse, stand_in

MAY = Keeps(input="may", weight="may", output="may")


def problem_of(m: int, n: int, k: int) -> Problem:
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    return Problem("gemm", (("M", m), ("N", n), ("K", k)), tensors)


def random_question(seed: int) -> tuple[Question, dict[str, Density]]:
    rng = random.Random(seed)
    problem = problem_of(*rng.choice([(1, 1), (1, 2), (2, 1), (1, 2), (2, 1), (2, 2)]), 4)
    weights: Density = rng.choice([Structured(2, 4, 0), Structured(1, 4, 0), Uniform(0.25), Uniform(0.5)])
    kind = "blocks" if isinstance(weights, Structured) and rng.random() < 0.7 else "bitmask"
    formats: dict[str, str] = {"weight": kind} | ({"input": "bitmask"} if rng.random() < 0.5 else {})
    levels: list[Memory | Fanout] = [
        memory("DRAM", rng, shared_bits_per_cycle=rng.choice([8.0, 32.0]), formats=formats)
    ]
    size = 8 * rng.choice([8, 16, 24, 64])
    levels.append(memory("L1", rng, keeps=MAY, size_bits=size, read_bits_per_cycle=16.0, formats=formats))
    if rng.random() < 0.1:
        levels.insert(rng.randint(1, 2), Fanout(name="array", axes=(ArrayAxis(size=2),)))
    skips = tuple(role for role in ("input", "weight") if rng.random() < 0.5)
    structure = (2, 4) if rng.random() < 0.3 else None
    mac = Mac(energy_pj=rng.choice([0.5, 3.0]), skips=skips, gates=("input",) * rng.randint(0, 1), structure=structure)
    arch = Architecture(name="random", clock_hz=1e9, word_bits=8, partial_sum_bits=16, levels=tuple(levels), mac=mac)
    objective = parse_objective(rng.choice(["energy", "latency", "edp"]))
    densities = {"W": weights} | ({"I": Uniform(0.5)} if rng.random() < 0.5 else {})
    return Question(problem, arch, objective, "perfect"), densities


def best_of_all(question: Question, densities: dict[str, Density]) -> float:
    best = math.inf
    for mapping in all_mappings(question.problem, question.arch, ragged=False):
        try:
            cost = evaluate_sparse(mapping, question.arch, densities)
        except MappingError:
            continue
        best = min(best, question.objective.value(cost.energy_pj, cost.latency_cycles))
    return best


@pytest.mark.parametrize("seeds", blocks(60, 20), ids=str)
def test_no_mapping_is_better(seeds: range) -> None:
    decided, infeasible = 0, []
    for seed in seeds:
        question, densities = random_question(seed)
        best = best_of_all(question, densities)
        try:
            answer = search_sparse(question, densities)
        except UndecidedError:
            continue
        except InfeasibleError:
            infeasible.append(best)
            continue
        decided += 1
        assert answer.certificate.proven
        found = question.objective.value(answer.cost.energy_pj, answer.cost.latency_cycles)
        assert found == pytest.approx(best, rel=1e-9), seed
        assert answer.certificate.value == pytest.approx(best, rel=1e-9), seed
    assert decided >= len(seeds) / 2
    assert all(best == math.inf for best in infeasible)


@pytest.mark.parametrize("seed", range(20))
def test_the_stand_in_costs_the_same(seed: int) -> None:
    """Mapping by mapping, wherever the sparse one fits."""
    question, densities = random_question(seed)
    problem, arch = stand_in(question.problem, question.arch, densities)
    for other in range(20):
        mapping = random_mapping(random.Random(other), question.problem, question.arch, ragged=False)
        try:
            sparse = evaluate_sparse(mapping, question.arch, densities)
        except MappingError:
            continue
        dense = evaluate(Mapping(problem, mapping.nest), arch)
        assert (sparse.energy_pj, sparse.latency_cycles) == pytest.approx((dense.energy_pj, dense.latency_cycles))


def test_two_of_four_on_a_sparse_tensor_core() -> None:
    objective = parse_objective("latency,energy")
    question = Question(problem_of(512, 512, 512), load_arch("sparse_tensor_core"), objective, "perfect")
    answer = search_sparse(question, {"W": Structured(2, 4, 0)})
    assert answer.certificate.proven
    assert answer.cost.compute_cycles == answer.cost.dense.compute_cycles / 2
    assert answer.cost.operations.skipped == 512**3 / 2


@pytest.mark.parametrize(
    ("changes", "density", "message"),
    [
        ({"skips": {"input": ("weight",)}}, Structured(2, 4, 0), "L1.skip: what skip saves depends on tiles"),
        ({"formats": {"weight": "csr"}}, Structured(2, 4, 0), "found DRAM blocks, L1 csr"),
        ({"formats": {}}, Structured(2, 4, 0), "found DRAM blocks, L1 uncompressed"),
        ({"formats": {"weight": "blocks"}}, Uniform(0.5), "blocks of N:M, or bitmasks"),
    ],
)
def test_what_has_no_stand_in(changes: dict[str, object], density: Density, message: str) -> None:
    levels = (memory("DRAM", formats={"weight": "blocks"}), memory("L1", keeps=MAY, size_bits=8 * 64, **changes))
    arch = Architecture(name="tiny", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    question = Question(problem_of(4, 4, 4), arch, parse_objective("energy"), "perfect")
    with pytest.raises(TilewrightError, match=message):
        search_sparse(question, {"W": density})


def test_ragged_tilings_are_refused() -> None:
    question = Question(problem_of(4, 4, 4), load_arch("sparse_tensor_core"), parse_objective("energy"), "ragged")
    with pytest.raises(TilewrightError, match="ragged"):
        search_sparse(question, {"W": Structured(2, 4, 0)})
