"""Shardings as pages write them."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.ir.sharding import PARTIAL, REPLICATED, SPREAD, Deal, Sharding
from tilewright.mapper.sharding import sharding_text
from tilewright.workloads.graph import NetworkGraph, Occurrence, Source

GRAPH = NetworkGraph(
    "one",
    (Occurrence("x", "outside", shape=(4, 64)), Occurrence("up", "layer", (Source("x"),), problem=tw.gemm(4, 128, 64))),
)


@pytest.mark.parametrize(
    ("sharding", "text"),
    [
        ((REPLICATED, REPLICATED), "up[m, n]"),
        ((Deal(512, 256), REPLICATED), "up[m:x, n]"),
        ((Deal(64, 32), Deal(128, 64)), "up[m, n:y+x]"),
        ((Deal(32, 16), REPLICATED), "up[m, n%32:x]"),
        ((PARTIAL, Deal(128, 64)), "up[m, n:y]{x}"),
        ((SPREAD, REPLICATED), "up[m, n] spread by x"),
    ],
)
def test_ranks_with_the_axes_that_deal_them(sharding: Sharding, text: str) -> None:
    assert sharding_text(GRAPH, "up", sharding, ("x", "y")) == text
