"""Costs of operands with zeros against an oracle that walks every setting of the loops with every mask in hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sparse_oracle import Crossing, Oracle, block_masks, uniform_masks

from generators import memory, random_mapping, tensor
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models.cost import TensorTraffic
from tilewright.cost_models.sparse import densities_of, evaluate_sparse, with_densities
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, Tensor

MAY = Keeps(input="may", weight="may", output="may")
FORMATS = ("uncompressed", "bitmask", "coordinate", "runs", "csr")
ON = {"input": ("weight",), "weight": ("input",)}
EITHER = (("input",), ("weight",), ("input", "weight"))


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
        port = rng.choice(["shared", "read", "write"]) if i else "shared"
        fields: dict[str, object] = {f"{port}_bits_per_cycle": rng.choice([4.0, 16.0]), "overlaps": rng.random() < 0.7}
        fields |= {"keeps": MAY, "halo": "none", "leakage_pj_per_cycle": rng.choice([0.0, 0.5])} if i else {}
        for key in ("gates", "skips"):
            saved = {role: roles for role, roles in ON.items() if rng.random() < 0.35}
            fields[key] = saved | ({"output": rng.choice(EITHER)} if rng.random() < 0.3 else {})
        kinds = (*FORMATS, "blocks")
        fields["formats"] = {role: (rng.choice(kinds),) for role in ON if rng.random() < 0.7}
        levels.append(memory(f"L{i}", rng, **fields))
    if rng.random() < 0.6:
        shares = {"multicast": not windows and rng.random() < 0.7, "spatial_reduction": rng.random() < 0.7}
        fanout = Fanout(name="array", axes=(ArrayAxis(size=rng.choice([2, 3])),), **shares)
        levels.insert(rng.randint(1, len(levels)), fanout)
    roles = ("input", "weight")
    mac = Mac(
        energy_pj=2.0,
        skips=tuple(role for role in roles if rng.random() < 0.4),
        gates=tuple(role for role in roles if rng.random() < 0.4),
        structure=rng.choice([None, None, (1, 2), (2, 4)]),
    )
    switches = {key: rng.random() < 0.8 for key in ("inner_drain_read", "first_read_elision")}
    switches["reuse"] = "at_node" if rng.random() < 0.2 else "across_levels"
    widths = {"word_bits": 8, "partial_sum_bits": 16}
    return Architecture(name="random", clock_hz=1e9, **widths, **switches, levels=tuple(levels), mac=mac)


def random_masks(
    rng: random.Random, problem: Problem, shape: tuple[int, ...], name: str
) -> tuple[object, np.ndarray, tuple[int, int, int] | None]:
    """A density of an operand, all its masks; and N, M and the rank of blocks."""
    which, words = problem.tensor(name), int(np.prod(shape))
    plain = [(place, rank[0][0]) for place, rank in enumerate(which.ranks) if len(rank) == 1 and rank[0][1] == 1]
    drawn = 1.0 if any(len(rank) > 1 for rank in which.ranks) else rng.random()
    if drawn < 0.3 and plain:
        place, dim = rng.choice(plain)
        kept, block = rng.choice([(1, 2), (2, 3), (1, 3), (2, 4)])
        return f"{kept}:{block}@{dim}", block_masks(shape, kept, block, place), (kept, block, place)
    if drawn < 0.45:
        array = np.random.default_rng(rng.randrange(1000)).random(shape) < 0.5
        array.flat[0] = True
        return array, array.reshape(1, -1), None
    fraction = rng.choice([0.2, 0.35, 0.6])
    return fraction, uniform_masks(words, fraction), None


def random_case(seed: int) -> tuple[Mapping, Architecture, Oracle]:
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
        blocks_of = {name: block for name, (_, _, block) in drawn.items() if block}
        return mapping, arch, Oracle(mapping, arch, {name: masks for name, (_, masks, _) in drawn.items()}, blocks_of)


@pytest.mark.parametrize("seeds", blocks(48, 12), ids=str)
def test_costs_are_means_over_every_mask(seeds: range) -> None:
    for seed in seeds:
        check(seed, *random_case(seed))


def test_instances_that_share_few_accesses_take_more_of_their_words() -> None:
    # N is 3 over two instances: the second tile of W has half the words, is empty more often, and goes to one of them.
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    problem = with_densities(Problem("gemm", (("M", 1), ("N", 3), ("K", 4)), tensors), {"W": "0.25"})
    outer = memory("L0", skips={"input": ("weight",)})
    array = Fanout(name="array", axes=(ArrayAxis(size=2),))
    levels = (outer, array, memory("L1", keeps=MAY, halo="none", shared_bits_per_cycle=4.0))
    arch = Architecture(name="two", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    in_time, over = (Loop("N", 2), Loop("K", 2)), Loop("N", 2, Axis("array", 0))
    nodes = [[Node(name, each.name) for each in tensors] for name in ("L0", "L1")]
    nest = LoopNest((*nodes[0], *in_time, over, *nodes[1], Loop("K", 2)))
    oracle = Oracle(Mapping(problem, nest), arch, {"W": uniform_masks(12, 0.25)})
    check(0, oracle.mapping, arch, oracle)
    crossing = oracle.crossings(problem.tensor("I"))[0]
    assert crossing.filled / crossing.given.total() > crossing.moved / crossing.served.total()


def test_units_skip_no_nonzero_word_of_a_padded_block() -> None:
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    problem = with_densities(Problem("gemm", (("M", 1), ("N", 1), ("K", 3)), tensors), {"W": "2:4@K"})
    mac = Mac(energy_pj=1.0, skips=("weight",), structure=(2, 4))
    arch = Architecture(name="one", clock_hz=1e9, word_bits=8, levels=(memory("L0"),), mac=mac)
    nest = LoopNest((*(Node("L0", each.name) for each in tensors), Loop("K", 3)))
    oracle = Oracle(Mapping(problem, nest), arch, {"W": block_masks((3, 1), 2, 4, 0)}, {"W": (2, 4, 0)})
    assert oracle.operations() == pytest.approx((2.0, 0.0, 1.0))
    check(0, oracle.mapping, arch, oracle)


def test_padded_blocks_count_as_means_where_a_memory_leaves_out_more_than_units() -> None:
    """Inputs are not read where the weight is zero: of four weights two, all of those that units of 2:4 would skip. By
    each place alone these are half of what the last block leaves out too, which has no zero."""
    tensors = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    problem = with_densities(Problem("gemm", (("M", 1), ("N", 1), ("K", 4)), tensors), {"W": "1:3@K"})
    mac = Mac(energy_pj=1.0, skips=("weight",), structure=(2, 4))
    levels = (memory("L0", skips={"input": ("weight",)}),)
    arch = Architecture(name="one", clock_hz=1e9, word_bits=8, levels=levels, mac=mac)
    nest = LoopNest((*(Node("L0", each.name) for each in tensors), Loop("K", 4)))
    oracle = Oracle(Mapping(problem, nest), arch, {"W": block_masks((4, 1), 1, 3, 0)}, {"W": (1, 3, 0)})
    assert oracle.operations() == pytest.approx((2.0, 0.0, 2.0))
    check(0, oracle.mapping, arch, oracle)


def check(seed: int, mapping: Mapping, arch: Architecture, oracle: Oracle) -> None:
    cost = evaluate_sparse(mapping, arch, densities_of(mapping.problem))
    assert cost.zeros is not None
    operations = cost.zeros.operations
    assert [operations.done, operations.gated, operations.skipped] == pytest.approx(oracle.operations(), abs=1e-9), seed
    occupied = {m.name: 0 for m in arch.memories}
    found = {(t.memory, t.tensor): t for t in cost.traffic}
    for which in mapping.problem.operands:
        for place, (_, holder) in enumerate(oracle.chains[which.name]):
            occupied[holder.name] += oracle.held(which, place)[-1]
            seen, expected = operand_figures(oracle, which, place, found[holder.name, which.name])
            assert seen == pytest.approx(expected, abs=1e-9), (seed, holder.name, which.name)
    for place, (_, holder) in enumerate(oracle.chains["O"]):
        traffic = found[holder.name, "O"]
        width = arch.width_bits if holder.name == "L0" else arch.partial_width_bits  # what is finished leaves to L0
        occupied[holder.name] += traffic.tile_words * width(mapping.problem.output)
        seen, expected = output_figures(oracle, place, traffic)
        assert seen == pytest.approx(expected, abs=1e-9), (seed, holder.name, "O")
    for use in cost.memories:
        assert use.occupied_bits == occupied[use.name], (seed, use.name)
    assert [cost.energy_pj, cost.latency_cycles] == pytest.approx(oracle.cost(), rel=1e-9), seed


def operand_figures(oracle: Oracle, which: Tensor, place: int, traffic: TensorTraffic) -> tuple[list[float], ...]:
    """Of an operand in one memory, what the cost model says and what is expected."""
    words, stored, metadata, _ = oracle.held(which, place)
    crossings, share = oracle.crossings(which), stored / words
    own, before = crossings[place], crossings[place - 1] if place else Crossing()
    assert traffic.zeros is not None
    seen = [traffic.reads, traffic.writes, traffic.zeros.gated, traffic.zeros.metadata_bits]
    expected = [own.moved * share, before.filled * share, (own.gated + before.gated_filled) * share]
    expected.append((own.moved + before.filled) * metadata / words)
    seen += [traffic.zeros.stored_words, traffic.zeros.stored_metadata_bits]
    return seen, [*expected, stored, metadata]


def output_figures(oracle: Oracle, place: int, traffic: TensorTraffic) -> tuple[list[float], ...]:
    """The same of the output."""
    sums, last = oracle.sums()[place], place + 1 == len(oracle.chains["O"])
    left, gated = oracle.saved_updates() if last else (0.0, 0.0)
    inside = sums.supplied.total(), sums.collected.total()
    assert traffic.zeros is not None
    seen = [traffic.reads, traffic.writes, traffic.zeros.gated, traffic.zeros.skipped]
    expected = [inside[0] * (1.0 - left) + sums.drained.total(), inside[1] * (1.0 - left) + sums.filled.total()]
    return seen, [*expected, sum(inside) * gated, sum(inside) * (left - gated)]
