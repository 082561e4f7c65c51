"""Plans that have to fit into the memory of a device, against all plans that do."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.arch.system import MeshAxis, System
from tilewright.cost_models import LATENCY
from tilewright.ir import InfeasibleError
from tilewright.mapper.fusing import answer_below
from tilewright.mapper.question import Limits
from tilewright.mapper.segmentation import OneAfterTheOther
from tilewright.mapper.sharding import DeviceCosts, ShardingQuestion, ShardingSpace, shard
from tilewright.mapper.sharding.search import PlanSearch
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source


def asked(size: str) -> ShardingQuestion:
    """Two products on two devices, over links that are slow."""
    layers = (
        Occurrence("x", "outside", shape=(4, 64)),
        Occurrence("up", "layer", (Source("x"),), problem=tw.gemm(M=4, N=128, K=64)),
        Occurrence("down", "layer", (Source("up"),), problem=tw.gemm(M=4, N=64, K=128)),
    )
    arch = tw.load_arch("three_level", set={"DRAM.size": size})
    system = System("two", arch, (MeshAxis("node", "ring", 2, 1e9, latency=3e-7),))
    return ShardingQuestion(NetworkGraph("mlp", layers), system, LATENCY, "perfect")


def test_the_best_plan_that_fits() -> None:
    """What is proven is below the least of all plans that fit, and what is found is one of them."""
    question = asked("1 MiB")
    costs = DeviceCosts(question, OneAfterTheOther(answer_below), Limits().means())
    space = ShardingSpace(question.graph, question.system)
    plans = []
    for up, down in itertools.product(space.splits("up"), space.splits("down")):
        found = PlanSearch(replace(question, fixed={"up": up, "down": down}), costs).run()
        assert found.certificate.proven
        plans.append((found.certificate.value, found.memory.used))
    free, used = min(plans)
    assert used > min(bytes_of for _, bytes_of in plans)
    found = shard(asked(f"{used - 1} B"))
    least = min(value for value, bytes_of in plans if bytes_of < used)
    assert found.memory.used < used
    assert found.certificate.lower_bound <= least * (1 + 1e-9)
    assert found.certificate.value == pytest.approx(least)
    assert least > free
    with pytest.raises(InfeasibleError, match="at least"):
        shard(asked("4 KiB"))
