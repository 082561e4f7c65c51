"""The shares of dense traffic against walks over every access, with masks of the operands in hand."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from generators import memory, random_architecture, random_mapping, tensor
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, Memory
from tilewright.cost_models import count_words, evaluate
from tilewright.cost_models.sparse.cost import evaluate_sparse
from tilewright.cost_models.sparse.densities import Density, Structured, Uniform
from tilewright.cost_models.sparse.recount import random_masks
from tilewright.cost_models.sparse.shares import SparseMapping
from tilewright.cost_models.sparse.walk import walk, walk_operations
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, TilewrightError

MASKS = 500
ERRORS = 5.0
"""Standard errors that a mean over the masks may be off: one figure in 1.7 million by chance, and seeds are fixed."""
RARE = 1e-3
"""Of the words, what may be off where an event is so rare that no mask shows it."""


def problem_of(m: int, n: int, k: int) -> Problem:
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    return Problem("gemm", (("M", m), ("N", n), ("K", k)), tensors)


def saving_machine(rng: random.Random) -> Architecture:
    """A random machine that gates and skips at random, and keeps nothing of a tile that moves."""
    arch = random_architecture(rng, memories=rng.randint(1, 2))
    levels: list[Memory | Fanout] = []
    for level in arch.levels:
        if isinstance(level, Memory):
            changes: dict[str, object] = {"halo": "none"}
            for key in ("gates", "skips"):
                on = {"input": ("weight",), "weight": ("input",), "output": ("input", "weight")}
                changes[key] = {role: roles for role, roles in on.items() if rng.random() < 0.3}
            changes["formats"] = {role: ("bitmask",) for role in ("input", "weight") if rng.random() < 0.5}
            level = level.model_copy(update=changes)
        levels.append(level)
    mac = Mac(
        energy_pj=1.0,
        gates=tuple(role for role in ("input", "weight") if rng.random() < 0.3),
        skips=tuple(role for role in ("input", "weight") if rng.random() < 0.3),
    )
    return arch.model_copy(update={"levels": tuple(levels), "mac": mac})


def random_case(seed: int) -> tuple[SparseMapping, random.Random]:
    rng = random.Random(seed)
    while True:
        ragged = rng.random() < 0.5
        problem = problem_of(*(rng.choice([1, 2, 3, 4, 5]) for _ in range(2)), rng.choice([4, 7 if ragged else 8]))
        arch = saving_machine(rng)
        mapping = random_mapping(rng, problem, arch, ragged=ragged)
        weights = rng.choice([Uniform(0.3), Structured(2, 4, 0), Structured(1, 4, 0)])
        densities: dict[str, Density] = {"W": weights, "I": Uniform(rng.choice([0.2, 0.5, 1.0]))}
        sparse = SparseMapping(mapping, arch, densities)
        try:
            _ = (
                sparse.operations,
                [sparse.share(t, i) for t in problem.tensors for i in range(len(sparse.chains[t.name]))],
            )
        except MappingError:
            continue
        return sparse, rng


@pytest.mark.parametrize("seeds", blocks(24, 8), ids=str)
def test_means_over_masks(seeds: range) -> None:
    for seed in seeds:
        check_means(*random_case(seed))


def check_means(sparse: SparseMapping, rng: random.Random) -> None:
    draw = np.random.default_rng(rng.randrange(2**32))
    masks = {
        name: random_masks(density, sparse.shape(sparse.mapping.problem.tensor(name)), MASKS, draw)
        for name, density in sparse.densities.items()
    }
    found = {
        (name, index, key): getattr(walked, key)
        for (name, index), walked in walk(sparse, masks).items()
        for key in ("moved", "gated", "moved_nonzero", "gated_nonzero")
    }
    operations = zip(("done", "gated", "skipped"), walk_operations(sparse, masks), strict=True)
    found |= {("MAC", 0, key): count for key, count in operations}
    counts = count_words(sparse.mapping, sparse.arch)
    for (name, index, key), figures in found.items():
        if name == "MAC":
            expected, dense = getattr(sparse.operations, key), sparse.mapping.problem.macs
        else:
            which = sparse.mapping.problem.tensor(name)
            share = sparse.share(which, index)
            accesses = counts.total[sparse.chains[name][index].outer.name, name]
            dense = accesses.writes - accesses.fills if which.is_output else accesses.reads
            expected = dense * (share.gated if key.startswith("gated") else share.moved)
            expected *= sparse.density(which) if key.endswith("nonzero") else 1.0
        if key.endswith("nonzero") and sparse.positions.ragged and isinstance(sparse.densities.get(name), Structured):
            continue  # the words of a padded block are nonzero more often than others, and pass as often as they do
        error = ERRORS * np.std(figures) / math.sqrt(MASKS)
        assert abs(np.mean(figures) - expected) <= max(error, RARE * dense), (name, index, key)


def two_levels(**changes: object) -> Architecture:
    levels = (
        memory("DRAM", shared_bits_per_cycle=64.0, formats={"weight": ("blocks",)}),
        memory("buffer", size_bits=8 * 4096, shared_bits_per_cycle=64.0, formats={"weight": ("blocks",)}),
        Fanout(name="array", axes=(ArrayAxis(size=4),)),
    )
    mac = Mac(energy_pj=1.0, skips=("weight",), structure=(2, 4))
    return Architecture(name="tiny", clock_hz=1e9, word_bits=8, levels=levels, mac=mac).model_copy(update=changes)


def plain_mapping(m: int = 8, n: int = 4, k: int = 16) -> Mapping:
    """Inputs pass once, weights once for each half of the rows."""
    nodes = [Node(name, which) for name in ("DRAM", "buffer") for which in "IWO"]
    loops = [Loop("M", 2), *nodes[3:], Loop("M", m // 2), Loop("N", n), Loop("K", k // 4), Loop("K", 4, Axis("array"))]
    return Mapping(problem_of(m, n, k), LoopNest((*nodes[:3], *loops)))


def test_two_of_four_by_hand() -> None:
    cost = evaluate_sparse(plain_mapping(), two_levels(), {"W": Structured(2, 4, 0)})
    traffic = {(t.memory, t.tensor): t for t in cost.traffic}
    assert cost.zeros is not None
    assert (cost.zeros.operations.done, cost.zeros.operations.skipped) == (256, 256)
    assert cost.compute_cycles == 64
    # The weights, 64 words, stay: they pass once, half of them, with two bits each.
    weights = traffic["buffer", "W"]
    assert weights.zeros is not None
    assert (weights.tile_words, weights.zeros.stored_words, weights.zeros.stored_metadata_bits) == (64, 32, 64)
    passed = traffic["DRAM", "W"]
    assert passed.zeros is not None
    assert (passed.reads, passed.zeros.metadata_bits) == (32, 64)
    assert weights.writes == 32
    # Inputs are dense: all words pass.
    assert traffic["DRAM", "I"].reads == 128
    assert cost.memories[1].occupied_bits == 8 * (4 * 16 + 32 + 4 * 4) + 64


def test_without_densities_nothing_changes() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        arch = random_architecture(rng)
        mapping = random_mapping(rng, problem_of(4, 2, 6), arch, ragged=False)
        cost = evaluate_sparse(mapping, arch, {})
        dense = evaluate(mapping, arch)
        assert (cost.energy_pj, cost.latency_cycles) == pytest.approx((dense.energy_pj, dense.latency_cycles))
        assert [(t.reads, t.writes) for t in cost.traffic] == [(t.reads, t.writes) for t in dense.traffic]
        assert cost.limited_by == dense.limited_by


@pytest.mark.parametrize(
    ("density", "share"),
    [
        (Structured(2, 4, 0), 0.5),
        (Structured(1, 4, 0), 0.5),
        (Structured(1, 2, 0), 0.5),
        (Structured(4, 8, 0), 1.0),
        (Structured(3, 4, 0), 1.0),
        (Uniform(0.25), 1.0),
    ],
)
def test_a_structured_unit_skips_its_structure_alone(density: Density, share: float) -> None:
    levels = tuple(
        level.model_copy(update={"formats": {}}) if isinstance(level, Memory) else level
        for level in two_levels().levels
    )
    cost = evaluate_sparse(plain_mapping(), two_levels(levels=levels), {"W": density})
    assert cost.compute_cycles == 128 * share


def test_a_memory_must_hold_the_fullest_tile() -> None:
    levels = list(two_levels().levels)
    levels[1] = levels[1].model_copy(update={"size_bits": 8 * (4 * 16 + 32 + 16) + 63})
    with pytest.raises(MappingError, match="buffer"):
        evaluate_sparse(plain_mapping(), two_levels(levels=tuple(levels)), {"W": Structured(2, 4, 0)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"latency": "with_fill"}, "latency: with_fill"), ({"levels": "hop"}, "array.hop")],
)
def test_what_is_not_known_is_refused(changes: dict[str, object], message: str) -> None:
    if changes.get("levels") == "hop":
        *rest, fanout = two_levels().levels
        changes = {"levels": (*rest, fanout.model_copy(update={"hop_pj_per_bit": 1.0}))}
    with pytest.raises(TilewrightError, match=message):
        evaluate_sparse(plain_mapping(), two_levels(**changes), {"W": Structured(2, 4, 0)})


def test_ragged_tiles_of_blocks_that_decide_are_refused() -> None:
    nodes = [Node("DRAM", which) for which in "IWO"]
    nest = LoopNest((*nodes, Loop("K", 3), *(Node("buffer", which) for which in "IWO"), Loop("M", 8), Loop("K", 3)))
    mapping = Mapping(problem_of(8, 1, 8), nest)
    assert evaluate_sparse(mapping, two_levels(), {"W": Structured(2, 4, 0)}).zeros is not None
    levels = list(two_levels().levels)
    levels[0] = levels[0].model_copy(update={"skips": {"input": ("weight",)}})
    with pytest.raises(MappingError, match="ragged"):
        evaluate_sparse(mapping, two_levels(levels=tuple(levels)), {"W": Structured(2, 4, 0)})
