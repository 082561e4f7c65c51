"""Bounds of shared loops in the room that nodes leave to branches: beside the best trees with these loops."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import ENERGY
from tilewright.ir import Cascade
from tilewright.mapper.cascades.objectives.weighted_sums import WeightedSums
from tilewright.mapper.cascades.tables.tables import TableBranches
from tilewright.mapper.cascades.tree_search import TreeSearch
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

OPERATIONS = (
    ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"],
    ["T[m,n] += A[m,k] * B[k,n]", "O[n] max= T[m,n]"],
    ["T[m,n] += A[m,k] * B[k,n]", "U[m,p] += T[m,n] * C[n,p]", "O[m,q] += U[m,p] * D[p,q]"],
    ["G[m,n] += X[m,k] * A[k,n]", "U[m,n] += X[m,k] * B[k,n]", "O[m,p] += G[m,n] * U[m,n] * D[n,p]"],
    ["S[m,n] += Q[m,k] * K[n,k]", "P[m,n] = exp(S[m,n])", "O[m,p] += P[m,n] * V[n,p]"],
)
WEIGHTS = (ENERGY_ALONE, Weights(1.0, 10.0), LATENCY_ALONE)
MOST = 5
"""Choices of loops of one cascade."""


def machine(rng: random.Random) -> Architecture:
    """Little room on the chip, and perhaps an array with registers inside."""
    keep = rng.choice(["must", "may", "{input: may, weight: must, output: may}"])
    ports = [rng.choice(["", f", bandwidth: {rng.choice([4, 32])} bit/cycle"]) for _ in range(2)]
    glb = rng.choice([64, 128, 400])
    arch = f"""
name: small
clock: 1 GHz
word: 8 bit
reuse: at_node
inner_drain_read: {rng.choice(["true", "false"])}
leakage: {rng.choice([0, 3])} mW
levels:
  - {{memory: DRAM, access: 8 bit, read: 100 pJ, write: 90 pJ{ports[0]}}}
  - {{memory: GLB, size: {glb} bit, access: 8 bit, read: {rng.choice([3, 7])} pJ, write: 5 pJ{ports[1]}, keep: {keep}}}
"""
    if rng.random() < 0.4:
        arch += "  - {fanout: array, x: 2, y: 2}\n"
        arch += "  - {memory: RF, size: 32 bit, access: 8 bit, read: 1 pJ, write: 1 pJ, keep: may}\n"
    return parse_arch(arch + "mac: {energy: 0.5 pJ}\n", "small")


def random_cascade(rng: random.Random) -> Cascade:
    operations = rng.choice(OPERATIONS)
    used = (letter for letter in "mnkpq" if any(letter in one for one in operations))
    return cascade(operations, {letter: rng.choice([2, 3, 4, 4, 6]) for letter in used})


def searched(whole: Cascade, arch: Architecture, weights: Weights) -> TreeSearch:
    sums = WeightedSums(Question(whole, arch, ENERGY, "perfect", "uneven"), Means())
    assert isinstance(sums.solver, TableBranches)
    return sums.tree_search(weights)


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_aside_by_closer_bounds_is_no_better(seed: int) -> None:
    rng = random.Random(seed)
    whole, arch = random_cascade(rng), machine(rng)
    names = [operation.name for operation in whole]
    search, without = (searched(whole, arch, WEIGHTS[seed % 3]) for _ in range(2))
    without.loops = replace(without.loops, rooms=None)
    assert math.isclose(search.whole(names).bound, without.whole(names).bound, rel_tol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_fused_is_found_without_a_search_over_trees(seed: int) -> None:
    rng = random.Random(seed)
    whole = random_cascade(rng)
    sums = WeightedSums(Question(whole, machine(rng), ENERGY, "perfect", "uneven"), Means())
    weights, names = WEIGHTS[seed % 3], [operation.name for operation in whole]
    best = sums.tree_search(weights, fuse="none").whole(names)
    apart = sums.tree_search(weights).apart(names)
    assert apart is not None
    assert math.isclose(weights.of(apart.energy_pj, apart.latency_cycles), best.bound, rel_tol=1e-9)
    counted = sums.evaluated(apart)
    assert counted is not None
    assert math.isclose(counted.energy, apart.energy_pj, rel_tol=1e-9)
    assert math.isclose(counted.latency, apart.latency_cycles, rel_tol=1e-9)
