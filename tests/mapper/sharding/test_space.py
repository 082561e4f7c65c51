"""What a split needs and makes, against the words that the points of every device touch, one by one."""

from __future__ import annotations

import itertools
import random
from math import prod

import pytest
from sharded_words import blocks_of, devices, words_of

import tilewright as tw
from longer import seeds
from tilewright.arch.system import System, load_system, parse_system
from tilewright.ir.sharding import PARTIAL, SPREAD
from tilewright.mapper.sharding import ShardingSpace
from tilewright.workloads import conv2d, einsum
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source


def system_of(*sizes: int) -> System:
    axes = [f"  - {{name: a{i}, kind: ring, size: {n}, bandwidth: 25 GB/s}}" for i, n in enumerate(sizes)]
    return parse_system("\n".join(["system: some", "device: h100", "fabric:", *axes]))


def read_in_another_order(chance: random.Random) -> tuple[NetworkGraph, dict[str, int], tuple[str, ...]]:
    """An operation that reads one tensor with its dimensions in some order, and writes in another."""
    sizes = {dim: chance.choice([1, 2, 3, 4, 6]) for dim in "mgd"}
    order = chance.sample("mgd", 3)
    problem = einsum("mgd,dn->mgn", sizes={**sizes, "n": chance.choice([2, 5])})
    writes = tuple(chance.sample("mgn", 3))
    maker = Occurrence("given", "outside", sources=(Source("x"),), shape=(prod(sizes.values()),))
    reader = Occurrence("reader", "layer", (Source("given", tuple(order)),), problem=problem, writes=writes)
    return NetworkGraph("some", (maker, reader)), {d.upper(): n for d, n in sizes.items()}, tuple(order)


@pytest.mark.parametrize("seed", seeds(60))
def test_of_orders(seed: int) -> None:
    """Every device needs exactly the words that its points read, and makes exactly those that they write; dimensions
    that are summed make addends."""
    chance = random.Random(seed)
    graph, sizes, order = read_in_another_order(chance)
    mesh = [(3,), (2, 2), (2, 3), (4, 2)][seed % 4]
    space = ShardingSpace(graph, system_of(*mesh))
    problem = graph.by_name["reader"].problem
    assert problem is not None
    every = problem.sizes
    for split in space.splits("reader"):
        for device in devices(mesh):
            blocks = blocks_of(every, split, device, mesh)
            read, wrote = set(), set()
            for point in itertools.product(*blocks.values()):
                at = dict(zip(blocks, point, strict=True))
                read.add(position([d.upper() for d in order], every, at))
                wrote.add(position([d.upper() for d in graph.by_name["reader"].writes or ()], every, at))
            if read:
                needed, made = space.needed("reader", split, 0), space.made("reader", split)
                assert words_of(needed, device, prod(sizes.values())) == read
                assert words_of(made, device, space.words("reader")) == wrote
                summed = [axis for axis, dim in enumerate(split) if dim == "D"]
                assert [axis for axis, one in enumerate(made) if one == PARTIAL] == summed


def position(order: list[str], sizes: dict[str, int], at: dict[str, int]) -> int:
    found = 0
    for dim in order:
        found = found * sizes[dim] + at[dim]
    return found


@pytest.mark.parametrize("seed", seeds(40))
def test_of_windows(seed: int) -> None:
    """A device needs the rows from the first to the last that its windows read, as far as they are there."""
    chance = random.Random(seed)
    size, taps, stride, pad = chance.randint(5, 12), chance.choice([1, 3]), chance.choice([1, 2]), chance.choice([0, 1])
    pad = pad if taps > 1 else 0
    many = (size + 2 * pad - taps) // stride + 1
    problem = conv2d(N=1, K=2, C=2, P=many, Q=1, R=taps, S=1, stride=stride)
    graph = NetworkGraph(
        "some",
        (
            Occurrence("given", "outside", sources=(Source("x"),), shape=(1, 2, size, 1)),
            Occurrence("conv", "layer", (Source("given", pads=(("p", pad),)),), problem=problem),
        ),
    )
    (devices_along,) = mesh = (chance.choice([2, 3]),)
    space = ShardingSpace(graph, system_of(*mesh))
    if many < devices_along:
        return
    assert ("P",) in space.splits("conv")
    for place in range(devices_along):
        points = blocks_of(problem.sizes, ("P",), (place,), mesh)["P"]
        rows = {stride * p + r - pad for p in points for r in range(taps)}
        wanted = {row for row in range(size) if rows and min(rows) <= row <= max(rows)}
        found = {word % size for word in words_of(space.needed("conv", ("P",), 0), (place,), 2 * size)}
        assert wanted <= found
        if len(points) * devices_along == many:
            assert wanted == found


def test_of_views_and_caches() -> None:
    """A cache of a prefill is what is written into it; in a decode, and by experts, rows are others."""
    prefill = ShardingSpace(graph_of("mixtral_8x7b", "prefill", seq=256, layers=1), load_system("h100x8"))
    assert prefill.row("block.0.k_cache") == "block.0.k_proj"
    assert prefill.made("block.0.dealt", ("a",)) == (SPREAD,)
    assert prefill.parallelism("block.0.gate_proj", ("B",)) == ("expert",)
    decode = ShardingSpace(graph_of("mixtral_8x7b", "decode", seq=256, layers=1), load_system("h100x8"))
    assert decode.row("block.0.k_cache") == "block.0.k_cache"
    assert decode.made("block.0.k_cache", ("C",)) == decode.needed("block.0.k_cache", ("C",), 0)
    assert decode.needed("block.0.qk", ("G",), 1) == decode.made("block.0.k_cache", ("C",))


def graph_of(name: str, phase: str, **dims: int) -> NetworkGraph:
    graph = tw.load_network(name, phase=phase, dims=dims).wiring
    assert graph is not None
    return graph


def test_called_as_in_the_field() -> None:
    """Heads and features are tensor parallelism, blocks of whole sequences data, others sequence."""
    space = ShardingSpace(graph_of("llama3_8b", "prefill", seq=1024, layers=1), load_system("h100x8"))
    called = {dim: space.parallelism("block.0.qk", (dim,)) for dim in "GQKD"}
    assert called == {"G": ("tensor",), "Q": ("sequence",), "K": ("sequence",), "D": ("tensor",)}
    assert space.parallelism("block.0.o_proj", ("M",)) == ("sequence",)
    assert space.parallelism("block.0.norm2", (None,)) == ("",)
