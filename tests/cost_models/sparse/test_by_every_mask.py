"""Costs of operands with zeros against an oracle that walks every setting of the loops with every mask in hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sparse_oracle import Oracle, block_masks, uniform_masks

from generators import memory, random_mapping, tensor
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models.sparse import densities_of, evaluate_sparse, with_densities
from tilewright.ir import Mapping, MappingError, Problem

MAY = Keeps(input="may", weight="may", output="may")
FORMATS = ("uncompressed", "bitmask", "coordinate", "runs", "csr")
ON = {"input": ("weight",), "weight": ("input",)}


def random_problem(rng: random.Random, ragged: bool) -> Problem:
    """A product, two of them, or a convolution with windows that overlap by more than a word."""
    if rng.random() < 0.35:
        ranks = [{"P": rng.choice([1, 2]), "R": 1}, "C"]
        rng.shuffle(ranks)
        tensors = (tensor("I", "input", *ranks), tensor("W", "weight", "C", "R", "K"), tensor("O", "output", "P", "K"))
        return Problem("conv", (("P", rng.choice([2, 3])), ("R", 3), ("C", rng.choice([1, 2])), ("K", 2)), tensors)
    sizes = (
        ("M", rng.choice([1, 2, 3])),
        ("N", rng.choice([1, 2, 3])),
        ("K", rng.choice([3, 4, 5] if ragged else [4])),
    )
    if rng.random() < 0.2:
        sizes = (("B", 2), *sizes)
    batch = ("B",) * (len(sizes) - 3)
    tensors = (
        tensor("I", "input", *batch, *rng.choice([("M", "K"), ("K", "M")])),
        tensor("W", "weight", *rng.choice([("K", "N"), ("N", "K")])),
        tensor("O", "output", *batch, "M", "N"),
    )
    return Problem("gemm", sizes, tensors)


def random_machine(rng: random.Random, windows: bool) -> Architecture:
    """Up to three memories, each with any formats and savings; instances do not share windows."""
    levels: list[Memory | Fanout] = []
    for i in range(rng.randint(1, 3)):
        fields: dict[str, object] = {"keeps": MAY, "halo": "none", "read_bits_per_cycle": 8.0} if i else {}
        for key in ("gates", "skips"):
            fields[key] = {role: roles for role, roles in ON.items() if rng.random() < 0.35}
        kinds = (*FORMATS, "blocks")
        fields["formats"] = {role: (rng.choice(kinds),) for role in ON if rng.random() < 0.7}
        levels.append(memory(f"L{i}", rng, **(fields if i else fields | {"shared_bits_per_cycle": 16.0})))
    if rng.random() < 0.6:
        shares = {"multicast": not windows and rng.random() < 0.7, "spatial_reduction": rng.random() < 0.7}
        fanout = Fanout(name="array", axes=(ArrayAxis(size=rng.choice([2, 3])),), **shares)
        levels.insert(rng.randint(1, len(levels)), fanout)
    roles = ("input", "weight")
    mac = Mac(
        energy_pj=2.0,
        skips=tuple(role for role in roles if rng.random() < 0.4),
        gates=tuple(role for role in roles if rng.random() < 0.4),
    )
    return Architecture(name="random", clock_hz=1e9, word_bits=8, partial_sum_bits=16, levels=tuple(levels), mac=mac)


def random_masks(
    rng: random.Random, problem: Problem, shape: tuple[int, ...], name: str
) -> tuple[object, np.ndarray, int]:
    """A density of an operand, all its masks, and the length of its blocks."""
    which, words = problem.tensor(name), int(np.prod(shape))
    plain = [(place, rank[0][0]) for place, rank in enumerate(which.ranks) if len(rank) == 1 and rank[0][1] == 1]
    drawn = 1.0 if any(len(rank) > 1 for rank in which.ranks) else rng.random()
    if drawn < 0.3 and plain:
        place, dim = rng.choice(plain)
        kept, block = rng.choice([(1, 2), (2, 3), (1, 3), (2, 4)])
        return f"{kept}:{block}@{dim}", block_masks(shape, kept, block, place), block
    if drawn < 0.45:
        array = np.random.default_rng(rng.randrange(1000)).random(shape) < 0.5
        array.flat[0] = True
        return array, array.reshape(1, -1), 0
    fraction = rng.choice([0.2, 0.35, 0.6])
    return fraction, uniform_masks(words, fraction), 0


def random_case(seed: int) -> tuple[Mapping, Architecture, Oracle, dict[str, int]]:
    rng = random.Random(seed)
    while True:
        ragged = rng.random() < 0.4
        problem = random_problem(rng, ragged)
        arch = random_machine(rng, windows="R" in problem.sizes)
        mapping = random_mapping(rng, problem, arch, ragged=ragged)
        drawn = {}
        for which in problem.operands:
            shape = Oracle(mapping, arch, {}).shape(which)
            if rng.random() < 0.85:
                drawn[which.name] = random_masks(rng, problem, shape, which.name)
        if sum(not isinstance(density, float) for density, _, _ in drawn.values()) > 1:
            continue  # where both depend on the place, products are no means over all places (docs/sparse.md)
        if not drawn or any(masks.size > 40_000 for _, masks, _ in drawn.values()):
            continue
        with_zeros = with_densities(problem, {name: density for name, (density, _, _) in drawn.items()})
        mapping = Mapping(with_zeros, mapping.nest)
        try:
            evaluate_sparse(mapping, arch, densities_of(with_zeros))
        except MappingError:
            continue  # what ragged tiles of blocks or arrays decide is not known
        blocks_of = {name: block for name, (_, _, block) in drawn.items()}
        return mapping, arch, Oracle(mapping, arch, {name: masks for name, (_, masks, _) in drawn.items()}), blocks_of


def format_of(holder: Memory, role: str, block: int) -> str:
    """How a memory holds an operand: `blocks` are for N:M alone."""
    (kind,) = holder.formats.get(role, ("uncompressed",))
    return "uncompressed" if kind == "blocks" and not block else kind


@pytest.mark.parametrize("seeds", blocks(48, 12), ids=str)
def test_costs_are_means_over_every_mask(seeds: range) -> None:
    for seed in seeds:
        check(seed)


def check(seed: int) -> None:
    mapping, arch, oracle, blocks_of = random_case(seed)
    cost = evaluate_sparse(mapping, arch, densities_of(mapping.problem))
    assert cost.zeros is not None
    found = {(t.memory, t.tensor): t for t in cost.traffic}
    assert [cost.zeros.operations.done, cost.zeros.operations.gated, cost.zeros.operations.skipped] == pytest.approx(
        oracle.operations(), abs=1e-9
    ), seed
    occupied = {m.name: 0 for m in arch.memories}
    for t in cost.traffic:
        if t.tensor == "O":
            width = arch.width_bits if t.memory == "L0" else arch.partial_width_bits  # what is finished leaves to L0
            occupied[t.memory] += t.tile_words * width(mapping.problem.tensor("O"))
    for which in mapping.problem.operands:
        crossings, before = oracle.crossings(which), None
        for place, (_, holder) in enumerate(oracle.chains[which.name]):
            block = blocks_of.get(which.name, 0)
            kind = format_of(holder, which.role, block) if which.name in oracle.masks else "uncompressed"
            stored, metadata, most = oracle.held(which, place, kind, block)
            occupied[holder.name] += most
            traffic, own, words = (
                found[holder.name, which.name],
                crossings[place],
                found[holder.name, which.name].tile_words,
            )
            written, gated_writes = (before.filled, before.gated_filled) if before else (0.0, 0.0)
            per_word = (stored * 8 + metadata) / words
            energy = (own.moved * holder.read_energy_pj + written * holder.write_energy_pj) * per_word
            assert traffic.zeros is not None
            seen = [traffic.reads, traffic.writes, traffic.zeros.gated, traffic.zeros.metadata_bits]
            seen += [traffic.zeros.stored_words, traffic.zeros.stored_metadata_bits, traffic.energy_pj]
            share = stored / words
            expected = [own.moved * share, written * share, (own.gated + gated_writes) * share]
            expected += [(own.moved + written) * metadata / words, stored, metadata, energy / holder.access_bits]
            assert seen == pytest.approx(expected, abs=1e-9), (seed, holder.name, which.name)
            before = own
    for use in cost.memories:
        assert use.occupied_bits == occupied[use.name], (seed, use.name)
