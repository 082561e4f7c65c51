"""Every machine of the library is searched on three layers: proven, and the stored result costs the same."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.ir import Problem

LAYERS = {
    "3x3": tw.conv2d(K=16, C=8, P=4, Q=4, R=3, S=3),
    "depthwise": tw.conv2d(K=16, C=16, P=8, Q=8, R=3, S=3, groups=16),
    "gemm": tw.gemm(M=16, N=16, K=32),
}


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("arch", tw.list_archs())
def test_a_proven_mapping_that_can_be_stored(arch: str, layer: Problem) -> None:
    found = tw.search(layer, arch)
    assert found.certificate.proven
    assert found.cost.macs == layer.macs
    assert 0 < found.cost.utilization <= 1
    assert tw.evaluate(found.emit("json")) == found.cost
