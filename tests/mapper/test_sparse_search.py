"""The search for operands with zeros against all mappings, and all formats, one by one, each with its mean cost."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

import brute_force
from brute_force import all_mappings
from generators import memory, tensor
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models.sparse import DensityLike, densities_of, evaluate_sparse, with_densities
from tilewright.ir import InfeasibleError, MappingError, Problem
from tilewright.mapper.exact.question.zero_rules import ZeroRules
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.space import Space
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import load_layer

MAY = Keeps(input="may", weight="may", output="may")
ROLES = ("input", "weight")
MOST_MAPPINGS = 400
"""Mappings that the oracle tries per case at most, once for every choice of formats."""


def problem_of(m: int, n: int, k: int) -> Problem:
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    return Problem("gemm", (("M", m), ("N", n), ("K", k)), tensors)


def window(rng: random.Random) -> Problem:
    """A convolution along one axis."""
    tensors = (
        tensor("I", "input", "C", {"P": 1, "R": 1}),
        tensor("W", "weight", "C", "R"),
        tensor("O", "output", "P"),
    )
    return Problem("conv", (("P", rng.choice([2, 3])), ("R", 2), ("C", 2)), tensors)


def random_density(rng: random.Random, shape: tuple[int, ...], structured: bool) -> DensityLike:
    kinds = ["uniform", "uniform", "measured"] + ["blocks", "blocks", "band"] * structured
    match rng.choice(kinds):
        case "blocks":
            return rng.choice(["2:4@K", "1:4@K", "1:2@K", "1:3@K"])
        case "band":
            return "band:1"
        case "measured":
            found = np.random.default_rng(rng.randrange(1000)).random(shape) < 0.5
            found.flat[0] = True
            return found
    return rng.choice([0.25, 0.5, 0.7])


def random_zeros(rng: random.Random, problem: Problem, style: str) -> Problem:
    given: dict[str, DensityLike] = {}
    for which in problem.operands:
        if rng.random() < 0.7:
            windows = any(len(rank) > 1 for rank in which.ranks)
            shape = tuple(sum(problem.sizes[dim] for dim, _ in rank) - len(rank) + 1 for rank in which.ranks)
            alike = windows or style == "known"
            given[which.name] = rng.choice([0.3, 0.6]) if alike else random_density(rng, shape, "N" in problem.sizes)
    return with_densities(problem, given or {problem.operands[0].name: 0.5})


ON = {"input": ("weight",), "weight": ("input",), "output": ("input", "weight")}


def random_formats(rng: random.Random, style: str, is_open: bool) -> dict[str, tuple[str, ...]]:
    kinds = ["uncompressed", "bitmask", "blocks"]
    kinds += ["coordinate", "runs", "csr"] if style != "constant" else []
    return {
        role: tuple(rng.sample(kinds, rng.randint(2, 3)) if is_open else [rng.choice(kinds)])
        for role in ROLES
        if rng.random() < 0.6
    }


def random_memories(rng: random.Random, style: str, is_open: bool) -> list[Memory]:
    """Up to three memories, outermost first; those of the style "known" skip from the inside out to some one."""
    count, found = rng.randint(1, 3), []
    until = {role: rng.randint(0, count) for role in ON}
    for i in range(count):
        size = 8 * rng.choice([6, 12, 24, 64])
        fields: dict[str, object] = {"keeps": MAY, "size_bits": size, "read_bits_per_cycle": 16.0}
        if i == 0:
            fields = {"shared_bits_per_cycle": rng.choice([8.0, 32.0])}
        for key in ("gates", "skips") if style == "open" else ():
            fields[key] = {role: roles for role, roles in ON.items() if rng.random() < 0.25}
        if style == "known":
            fields["skips"] = {role: roles for role, roles in ON.items() if count - i <= until[role]}
        name = "DRAM" if i == 0 else f"L{i}"
        found.append(memory(name, rng, formats=random_formats(rng, style, is_open), halo="innermost", **fields))
    return found


def one_saver(seed: int, most: int = MOST_MAPPINGS) -> tuple[Problem, Architecture, bool]:
    """The same, where all memories keep everything, and of each operand one alone may leave out accesses: the innermost
    one, of which no instances share accesses, or the one outside it."""
    rng = random.Random(seed)
    while True:
        ragged = seed % 3 == 2
        sizes = [rng.choice([1, 2, 3]), rng.choice([1, 2, 3]), rng.choice([3, 4, 5] if ragged else [3, 4, 6])]
        problem = window(rng) if rng.random() < 0.3 else problem_of(*sizes)
        problem = with_densities(problem, {"I": rng.choice([0.3, 0.6]), "W": rng.choice([0.3, 0.6])})
        count = rng.randint(2, 3)
        saver = {role: count - rng.randint(1, 2) for role in ON if rng.random() < 0.5}
        kinds = {role: rng.choice(["gates", "skips"]) for role in ON}
        levels: list[Memory | Fanout] = []
        for i in range(count):
            size = 8 * rng.choice([12, 24, 64])
            fields: dict[str, object] = {"size_bits": size, "read_bits_per_cycle": rng.choice([8.0, 32.0])}
            if i == 0:
                fields = {"shared_bits_per_cycle": rng.choice([8.0, 32.0])}
            for kind in ("gates", "skips"):
                fields[kind] = {r: ON[r] for r, place in saver.items() if place == i and kinds[r] == kind}
            fields["formats"] = random_formats(rng, "constant", False)
            levels.append(memory("DRAM" if i == 0 else f"L{i}", rng, halo="innermost", **fields))
        if rng.random() < 0.5:
            shares = {"multicast": rng.random() < 0.7, "spatial_reduction": rng.random() < 0.7}
            levels.insert(rng.randint(1, len(levels)), Fanout(name="array", axes=(ArrayAxis(size=2),), **shares))
        mac = Mac(
            energy_pj=rng.choice([0.5, 9.0]),
            skips=tuple(role for role in ROLES if rng.random() < 0.4),
            gates=tuple(role for role in ROLES if rng.random() < 0.2),
        )
        arch = Architecture(
            name="random", clock_hz=1e9, word_bits=8, partial_sum_bits=16, levels=tuple(levels), mac=mac
        )
        if 10 < brute_force.count(problem, arch, ragged, most) < most:
            return problem, arch, ragged


def random_question(seed: int, most: int = MOST_MAPPINGS) -> tuple[Problem, Architecture, bool]:
    """A problem with zeros, a machine, and whether tiles may be ragged, with few mappings."""
    rng = random.Random(seed)
    style: str = ("open", "known", "open", "constant")[seed % 4]
    while True:
        ragged = style != "known" and rng.random() < 0.35
        sizes = [rng.choice([1, 2, 3]), rng.choice([1, 2, 3]), rng.choice([3, 4, 5] if ragged else [3, 4, 6])]
        problem = random_zeros(rng, window(rng) if rng.random() < 0.2 else problem_of(*sizes), style)
        levels: list[Memory | Fanout] = [*random_memories(rng, style, seed % 8 == 0)]
        if rng.random() < 0.4:
            shares = {"multicast": rng.random() < 0.7, "spatial_reduction": rng.random() < 0.7}
            levels.insert(rng.randint(1, len(levels)), Fanout(name="array", axes=(ArrayAxis(size=2),), **shares))
        mac = Mac(
            energy_pj=rng.choice([0.5, 3.0]),
            skips=ROLES if style == "known" else tuple(role for role in ROLES if rng.random() < 0.5),
            gates=tuple(role for role in ROLES if rng.random() < 0.3),
            structure=(2, 4) if style == "constant" and rng.random() < 0.3 else None,
        )
        arch = Architecture(
            name="random", clock_hz=1e9, word_bits=8, partial_sum_bits=16, levels=tuple(levels), mac=mac
        )
        if 10 < brute_force.count(problem, arch, ragged, most) < most:
            return problem, arch, ragged


def machines(problem: Problem, arch: Architecture) -> Iterator[Architecture]:
    """The machine with every choice of formats; of several, what is for N:M is for no other density."""
    structured = {which.role for which in problem.operands if re.fullmatch("[0-9]+:[0-9]+@.*", which.density or "")}
    places = [(i, role) for i, level in enumerate(arch.levels) if isinstance(level, Memory) for role in level.formats]
    options = []
    for i, role in places:
        kinds = arch.levels[i].formats[role]  # type: ignore[union-attr]
        options.append([kind for kind in kinds if kind != "blocks" or role in structured] or ["uncompressed"])
    for chosen in itertools.product(*options):
        levels = list(arch.levels)
        for (i, role), kind in zip(places, chosen, strict=True):
            levels[i] = levels[i].model_copy(update={"formats": {**levels[i].formats, role: (kind,)}})  # type: ignore[union-attr]
        yield arch.model_copy(update={"levels": tuple(levels)})


OBJECTIVES = ("energy", "latency", "edp")


def best_of_all(problem: Problem, arch: Architecture, ragged: bool, space: Space) -> dict[str, float]:
    best, densities = dict.fromkeys(OBJECTIVES, math.inf), densities_of(problem)
    every = [*machines(problem, arch)]
    mappings = all_mappings(problem, arch, ragged)
    if space == "uneven":
        mappings = brute_force.uneven_mappings(problem, arch, "ragged" if ragged else "perfect")
    for mapping in mappings:
        for machine in every:
            try:
                cost = evaluate_sparse(mapping, machine, densities)
            except MappingError:
                continue
            best = {each: min(value, cost.objective(each)) for each, value in best.items()}
    return best


def check(problem: Problem, arch: Architecture, ragged: bool, space: Space, seed: int) -> None:
    expected = best_of_all(problem, arch, ragged, space)
    tiling: Tiling = "ragged" if ragged else "perfect"
    for objective, best in expected.items():
        try:
            _, cost, certificate = search_exact(problem, arch, objective, tiling, space)
        except InfeasibleError:
            assert best == math.inf, (seed, objective)
            continue
        assert certificate.proven
        assert cost.objective(objective) == certificate.value
        assert certificate.value == pytest.approx(best, rel=1e-9), (seed, objective)


@pytest.mark.parametrize("seeds", blocks(24, 6), ids=str)
def test_no_mapping_is_better(seeds: range) -> None:
    for seed in seeds:
        problem, arch, ragged = random_question(seed)
        check(problem, arch, ragged, "even", seed)


@pytest.mark.parametrize("seeds", blocks(9, 3), ids=str)
def test_no_mapping_is_better_with_one_saver(seeds: range) -> None:
    for seed in seeds:
        problem, arch, ragged = one_saver(seed)
        check(problem, arch, ragged, "even", seed)


def test_what_one_saver_leaves_further_in_is_counted_before_mappings_are() -> None:
    """Thousands of complete rows looked alike, and each was evaluated, which took a hundred times as long."""
    arch = load_arch("eyeriss", {"GLB.gate": {"input": ["weight"]}})
    problem = with_densities(load_layer("alexnet:conv3"), {"W": 0.35, "I": 0.45})
    certificate = search_exact(problem, arch, "edp", "perfect")[2]
    assert certificate.proven
    assert certificate.evaluated <= 4


def test_accesses_that_meet_single_words_leave_all_rules_in_force() -> None:
    problem = with_densities(load_layer("alexnet:conv3"), {"W": 0.35, "I": 0.45})
    for key in ("spad.skip", "spad.gate"):
        rules = ZeroRules(problem, load_arch("eyeriss", {key: {"weight": ["input"]}}), "ragged")
        assert not rules.trips_count
    assert ZeroRules(problem, load_arch("eyeriss", {"GLB.skip": {"input": ["weight"]}}), "ragged").trips_count


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(8, 4), ids=str)
def test_no_uneven_mapping_is_better(seeds: range) -> None:
    for seed in seeds:
        problem, arch, ragged = random_question(seed, 120)
        if brute_force.count_uneven(problem, arch, "ragged" if ragged else "perfect", 600) < 600:
            check(problem, arch, ragged, "uneven", seed)


def test_gated_words_take_bits_by_the_tile() -> None:
    """What a memory gates costs no energy, and so no bits that its tile decides: these were charged once, and a mapping
    taken as proven that costs more than the best one."""
    fields: dict[str, object] = {
        "size_bits": 1600,
        "keeps": MAY,
        "read_energy_pj": 3.0,
        "write_energy_pj": 9.0,
        "formats": {"input": ("runs",), "weight": ("coordinate",)},
        "gates": {"input": ("weight",), "weight": ("input",)},
    }
    coordinates = {"input": ("coordinate",), "weight": ("coordinate",)}
    outer = memory(
        "DRAM", shared_bits_per_cycle=64.0, read_energy_pj=9.0, write_energy_pj=3.0, halo="none", formats=coordinates
    )
    levels = (outer, memory("L1", halo="none", **fields))
    arch = Architecture(
        name="gating", clock_hz=1e9, word_bits=8, partial_sum_bits=16, levels=levels, mac=Mac(energy_pj=0.5)
    )
    check(with_densities(problem_of(3, 3, 4), {"I": 0.5, "W": 0.25}), arch, False, "even", 0)
