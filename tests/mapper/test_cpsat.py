from __future__ import annotations

import random

import pytest

from generators import memory, random_architecture, tensor
from tilewright.arch import Architecture, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import OBJECTIVES, Cost, Objective, evaluate
from tilewright.ir import InfeasibleError, Problem, TilewrightError
from tilewright.mapper.cpsat import search_cpsat
from tilewright.mapper.search import search_exact
from tilewright.workloads import conv2d, gemm

SEEDS = 96
BLOCK = 8


def random_layer(rng: random.Random) -> Problem:
    """A layer far too large for brute force, with few enough prime factors to be quick."""
    kind = rng.randrange(5)
    if kind == 0:
        return gemm(*(rng.choice([8, 16, 31, 32, 50, 64, 81, 96, 128, 256]) for _ in "MNK"))
    if kind == 1:
        return gemm(rng.choice([121, 169, 289]), rng.choice([32, 210, 343]), rng.choice([36, 64, 100]))
    if kind == 2:  # grouped: one dimension moves every tensor
        return conv2d(K=2 * rng.choice([2, 8]), C=2 * rng.choice([2, 9]), P=rng.choice([7, 49]), Q=1, R=1, S=1, groups=2)
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
    }
    return arch.model_copy(update=changes)


def switched(rng: random.Random, level: Memory) -> Memory:
    keeps = Keeps(**{role: rng.choice(["must", "may", "may", "never"]) for role in ("input", "weight", "output")})
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
