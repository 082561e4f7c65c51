from __future__ import annotations

import itertools
import math

import pytest

from generators import memory
from tilewright.arch import Architecture, Mac, load_arch
from tilewright.ir import Problem
from tilewright.mapper.space.chain_tables import count_chains
from tilewright.mapper.space.size import SPACES, Space, space_size
from tilewright.mapper.space.textbook import rule_of_thumb, textbook_estimate
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import conv2d, gemm, load_layer


def memories(count: int) -> Architecture:
    levels = tuple(memory(name) for name in ("DRAM", "L1", "L2", "L3")[:count])
    return Architecture(name="memories", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def factor_into(size: int, places: int) -> int:
    """Ordered factorizations by the closed form: product over prime powers p^a of C(a + places - 1, places - 1)."""
    ways, prime = 1, 2
    while size > 1:
        power = 0
        while size % prime == 0:
            size, power = size // prime, power + 1
        ways *= math.comb(power + places - 1, places - 1)
        prime += 1
    return ways


def test_figures_of_the_rule_of_thumb() -> None:
    assert rule_of_thumb(choices=4, components=5, loops=1, spatial_loops=0, memories=3) == 4**15 == 1_073_741_824
    assert rule_of_thumb(choices=1, components=1, loops=7, spatial_loops=0, memories=3) == 128_024_064_000
    assert rule_of_thumb(choices=1, components=1, loops=6, spatial_loops=3, memories=1) == math.factorial(6) * 120
    assert rule_of_thumb(choices=1, components=1, loops=7, spatial_loops=0, memories=1) == 5040
    assert math.perm(6, 3) == 120, "three of six loops on arrays, in order"


def test_loop_orders_of_a_deep_nest() -> None:
    """7 loops of one memory: 5040 orders, each a mapping of its own; listed, where there are fewer."""
    sizes = {"N": 2, "K": 2, "C": 2, "P": 2, "Q": 2, "R": 2, "S": 2}
    assert space_size(conv2d(**sizes), memories(1), "perfect").total == 5040
    three = gemm(2, 2, 2)
    orders = set(itertools.permutations(three.dim_names))
    assert space_size(three, memories(1), "perfect").total == len(orders) == 6


def test_timeloop_on_four_levels() -> None:
    """(7!)^4 x (2^4)^3 = 2.64e18, before co-factor sets."""
    layer = conv2d(K=64, C=64, P=56, Q=56, R=3, S=3, N=1)
    layer = Problem("7 dimensions", (("N", 1), *((d, s) for d, s in layer.dims if d != "N")), layer.tensors)
    estimate = textbook_estimate(layer, load_arch("three_level"))
    assert len(layer.dims) == 7
    assert estimate.permutations * estimate.bypasses == 5040**4 * 4096
    assert f"{estimate.permutations * estimate.bypasses:.2e}" == "2.64e+18"
    assert estimate.cofactors == math.comb(9, 3) ** 2 * (math.comb(6, 3) * 4) ** 2 * 4**2
    assert estimate.timeloop == estimate.permutations * estimate.bypasses * estimate.cofactors


@pytest.mark.parametrize(("size", "places", "ways"), [(64, 4, 84), (56, 3, 30), (224, 4, 224), (30030, 3, 729)])
def test_ordered_factorizations(size: int, places: int, ways: int) -> None:
    assert count_chains(size, places, "perfect") == factor_into(size, places) == ways


@pytest.mark.parametrize(("size", "places"), [(1, 3), (13, 1), (13, 2), (48, 5)])
def test_chains_of_ragged_tiles(size: int, places: int) -> None:
    def listed(left: int, places: int) -> int:
        if places == 0:
            return int(left == 1)
        return sum(listed(-(-left // trips), places - 1) for trips in range(1, left + 1))

    assert count_chains(size, places, "ragged") == listed(size, places)


@pytest.mark.parametrize("tiling", TILINGS)
def test_cofactors_are_the_exact_tilings_without_arrays(tiling: Tiling) -> None:
    """Three dimensions of 64 over four levels: 84^3 in divisors."""
    size = space_size(gemm(64, 64, 64), memories(4), tiling)
    assert size.tilings == textbook_estimate(gemm(64, 64, 64), memories(4), tiling).cofactors
    assert tiling == "ragged" or size.tilings == 592_704


@pytest.mark.some(2)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("tiling", TILINGS)
def test_the_exact_count_is_smaller(tiling: Tiling, space: Space) -> None:
    for layer in (load_layer("resnet50:conv1"), load_layer("resnet50:layer1.0.conv2")):
        for arch in map(load_arch, ("three_level", "eyeriss")):
            estimate = textbook_estimate(layer, arch, tiling)
            total = space_size(layer, arch, tiling, space).total
            assert total < estimate.timeloop
            assert total < estimate.rule_of_thumb
