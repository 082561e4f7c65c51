"""What devices have of a divided operation, against its points dealt one by one."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

import tilewright as tw
from longer import seeds
from tilewright.arch.system import MeshAxis
from tilewright.ir import ceil_div
from tilewright.mapper.sharding.dividing import dims_of, divided, divided_sizes
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source, operation_groups


def axes_of(*sizes: int) -> tuple[MeshAxis, ...]:
    return tuple(MeshAxis(f"a{number}", "ring", size, 1e9) for number, size in enumerate(sizes))


@pytest.mark.parametrize("seed", seeds(100))
def test_blocks_tile_the_whole(seed: int) -> None:
    """Every point is dealt to one device, or to all along axes that deal nothing; each device has as many positions of
    every dimension as some problem says, and as many devices have it."""
    rng = random.Random(seed)
    dims = tuple((dim, rng.randint(1, 9)) for dim in "MNK"[: rng.randint(1, 3)])
    axes = axes_of(*(rng.randint(1, 4) for _ in range(rng.randint(1, 3))))
    split = tuple(rng.choice([None, *(dim for dim, _ in dims)]) for _ in axes)
    held: dict[tuple[int, ...], dict[str, set[int]]] = {}
    for point in itertools.product(*(range(size) for _, size in dims)):
        place: list[range] = [range(axis.size) for axis in axes]
        for number, (dim, size) in enumerate(dims):
            left, position = size, point[number]
            for at in reversed([at for at, own in enumerate(split) if own == dim]):
                left = ceil_div(left, axes[at].size)
                place[at] = range(position // left, position // left + 1)
                position %= left
        for device in itertools.product(*place):
            own = held.setdefault(device, {dim: set() for dim, _ in dims})
            for (dim, _), position in zip(dims, point, strict=True):
                own[dim].add(position)
    sizes = Counter(tuple((dim, len(positions)) for dim, positions in own.items()) for own in held.values())
    found = divided_sizes(dims, split, axes)
    assert {tuple(one.items()): devices for one, devices in found} == sizes
    assert all(max(one[dim] for one, _ in found) == found[0][0][dim] for dim, _ in dims)


@pytest.mark.parametrize("network", ["llama3_8b_decode_block", "mobilenet_v2", "resnet18"])
def test_operations_that_are_not_divided_are_groups(network: str) -> None:
    """They have the dimensions and tensors of the groups that a network has on one device."""
    graph = tw.load_network(network).wiring
    assert graph is not None
    for group in operation_groups(graph, 1):
        occurrence = graph.by_name[group.names[0]]
        (whole,) = divided(graph, occurrence, (None,), axes_of(4))
        assert whole.devices == 4
        assert whole.moved == group.moved
        if group.cascade is not None:
            assert whole.cascade is not None
            assert [tuple(one.problem.sizes.values()) for one in whole.cascade] == [
                tuple(one.problem.sizes.values()) for one in group.cascade
            ]


def test_windows_take_what_they_read() -> None:
    """Of 10 rows of an image whose windows step by 2, devices with 3 and with 1 of 7 positions read 7 and 3 rows, zeros
    around the image included; so does a pooling, which is an operation between layers."""
    problem = tw.conv2d(N=1, K=2, C=2, P=7, Q=7, R=3, S=3, stride=2)
    layer = Occurrence("conv", "layer", (Source("image", None, (("p", 2),)),), problem=problem)
    pool = Occurrence("pool", "maxpool", (Source("image"),), window=((3, 3), (2, 2), (2, 2)))
    graph = NetworkGraph("images", (Occurrence("image", "outside", shape=(1, 2, 12, 12)), layer, pool))
    for occurrence in (layer, pool):
        assert dict(dims_of(graph, occurrence))["P"] == 7
        largest, last = divided(graph, occurrence, ("P",), axes_of(3))
        assert (largest.devices, last.devices) == (2, 1)
        assert largest.cascade is not None
        assert last.cascade is not None
        assert 7 in largest.cascade.operations[0].problem.extents("x")
        assert 3 in last.cascade.operations[0].problem.extents("x")


def test_widths_and_repetitions_stay() -> None:
    """The words of what is read and made are as wide as the graph says, under the names of divided operations."""
    problem = tw.gemm(M=8, N=8, K=8)
    layer = Occurrence("up", "layer", (Source("x.before"),), problem=problem)
    graph = NetworkGraph(
        "wide", (Occurrence("x.before", "outside", shape=(8, 8)), layer), widths={"x.before": 32, "up": 8}
    )
    (part,) = divided(graph, layer, ("M",), axes_of(2))
    assert part.cascade is not None
    widths = {tensor.name: tensor.bits for tensor in part.cascade.operations[0].problem.tensors}
    assert (widths["x"], widths["work"]) == (32, 8)
