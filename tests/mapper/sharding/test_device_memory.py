"""What lies in a device's memory, counted by other means: published parameters, words dealt one by one, by hand."""

from __future__ import annotations

import random

import pytest

import tilewright as tw
from longer import seeds
from tilewright.arch.system import MeshAxis, System
from tilewright.cost_models.collectives import most_words
from tilewright.ir import InfeasibleError
from tilewright.ir.sharding import PARTIAL, REPLICATED, Deal, Sharding
from tilewright.mapper.sharding import DeviceRoom, DeviceWork, Resharding
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("network", ["llama3_8b", "mixtral_8x7b"])
def test_weights_are_all_parameters(network: str, phase: str) -> None:
    """Not divided, every device has all; dealt by output features or experts, an eighth; so it is without tokens."""
    found = tw.load_network(network, phase=phase)
    assert found.wiring is not None
    room = DeviceRoom(found.wiring, tw.load_system("h100x8"))
    assert sum(room.weights(name, (None,)) for name in room.space.names) == 2 * found.weights
    assert room.weights("lm_head", ("N",)) == room.weights("lm_head", (None,)) // 8
    if network == "mixtral_8x7b" and phase == "prefill":
        assert room.weights("block.0.up_proj", ("B",)) == room.weights("block.0.up_proj", (None,)) // 8
    least = room.least()
    assert least.weights <= 2 * found.weights // 8 * 1.01
    assert least.cache == 2 * found.cached // 8


@pytest.mark.parametrize("seed", seeds(60))
def test_words_of_the_fullest_device(seed: int) -> None:
    """Deals of two dimensions, halos at the ends cut, against words dealt one by one."""
    rng = random.Random(seed)
    rows, columns = rng.randint(1, 9), rng.randint(1, 9)
    sizes = rng.randint(1, 4), rng.randint(1, 4)
    inner = Deal(columns, -(-columns // sizes[0]), rng.randint(0, 2), rng.randint(-1, 2))
    outer = Deal(rows * columns, -(-rows // sizes[1]) * columns)
    sharding: Sharding = rng.choice([(inner, outer), (REPLICATED, outer), (inner, PARTIAL)])
    held = [0] * (sizes[0] * sizes[1])
    for word in range(rows * columns):
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                inside = True
                for one, at in zip(sharding, (i, j), strict=True):
                    if isinstance(one, Deal):
                        x = word % one.period
                        inside &= at * one.block - one.low <= x < (at + 1) * one.block + one.high
                held[i * sizes[1] + j] += inside
    assert most_words(rows * columns, sharding, sizes) == max(held)


def test_tensors_live_from_their_makers_to_their_last_readers() -> None:
    """By hand: 8 x 8 words of 2 bytes on 2 devices; up makes h dealt, gathered for down; add reads x and down's sums,
    which are reduced before."""
    layers = (
        Occurrence("x", "outside", shape=(8, 8)),
        Occurrence("up", "layer", (Source("x"),), problem=tw.gemm(M=8, N=16, K=8)),
        Occurrence("down", "layer", (Source("up"),), problem=tw.gemm(M=8, N=8, K=16)),
        Occurrence("add", "add", (Source("down"), Source("x"))),
    )
    arch = tw.load_arch("h100", set={"HBM.size": "1 MiB"})
    system = System("two", arch, (MeshAxis("node", "ring", 2, 1e9),))
    room = DeviceRoom(NetworkGraph("mlp", layers), system)
    splits = {"up": ("N",), "down": ("K",), "add": (None,)}
    dealt, whole, sums = room.space.made("up", ("N",)), (REPLICATED,), (PARTIAL,)
    assert room.space.made("down", ("K",)) == sums

    def work(name: str) -> DeviceWork:
        return DeviceWork(name, splits[name], 0.0, 0.0, None)

    reduced = Resharding("down", "all-reduce", "node", sums, whole, object(), 0.0, 0.0)  # type: ignore[arg-type]
    shardings = {"up": (dealt,), "down": (sums, whole), "add": (whole,)}
    found = room.of_plan((work("up"), work("down"), reduced, work("add")), splits, shardings)
    tensor, half = 2 * 64, 2 * 8 * 16 // 2
    assert found.weights == 2 * (8 * 16 + 16 * 8) // 2
    assert found.live == max(tensor + half, tensor + half + tensor, 3 * tensor, 3 * tensor)
    assert (found.cache, found.size) == (0, 2**20)
    gathered = Resharding("up", "all-gather", "node", dealt, whole, object(), 0.0, 0.0)  # type: ignore[arg-type]
    splits["down"] = (None,)
    shardings = {"up": (dealt, whole), "down": (whole,), "add": (whole,)}
    found = room.of_plan((work("up"), gathered, work("down"), work("add")), splits, shardings)
    assert found.live == tensor + 2 * half + tensor
    cut = Resharding("up", "slice", "node", whole, dealt, None, 0.0, 0.0)
    splits |= {"up": (None,), "down": ("K",)}
    shardings = {"up": (whole, dealt), "down": (sums, whole), "add": (whole,)}
    found = room.of_plan((work("up"), cut, work("down"), reduced, work("add")), splits, shardings)
    assert found.live == tensor + 2 * half + tensor


def test_a_model_that_fits_in_no_sharding_is_told() -> None:
    """The least bytes of a device, what they are, its size, and how many devices would do."""
    graph = tw.load_network("llama3_8b_decode_block").wiring
    assert graph is not None
    system = tw.load_system("h100x8", set={"device.HBM.size": "50 MB"})
    expected = (
        r"takes 56 MiB of each device at least, in any sharding "
        r"\(weights 52 MiB, tensors of one operation 4\.002 MiB\); HBM of h100 has 47\.68 MiB"
    )
    with pytest.raises(InfeasibleError, match=expected) as refused:
        DeviceRoom(graph, system).check()
    assert refused.value.hint == "--set node.size=16 may do"
    DeviceRoom(graph, tw.load_system("h100x8")).check()
    DeviceRoom(graph, tw.load_system("h100x8", set={"device.HBM.size": "50 MB", "node.size": 16})).check()
