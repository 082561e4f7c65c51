"""Every machine of the library is searched on three layers: proven, and the stored result costs the same."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.arch import Architecture
from tilewright.ir import Problem

LAYERS = {
    "3x3": tw.conv2d(K=2, C=2, P=3, Q=2, R=3, S=3),
    "depthwise": tw.conv2d(K=4, C=4, P=6, Q=1, R=3, S=1, groups=4),
    "gemm": tw.gemm(M=8, N=3, K=6),
}


@pytest.mark.some(8)
@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("arch", tw.list_archs())
def test_a_proven_mapping_that_can_be_stored(arch: str, layer: Problem) -> None:
    found = tw.search(layer, arch)
    assert found.certificate.proven
    assert found.cost.macs == layer.macs
    assert 0 < found.cost.utilization <= 1
    assert tw.evaluate(found.emit("json")) == found.cost


def test_the_order_of_buffers_side_by_side_means_nothing_in_the_uneven_space() -> None:
    small = {"SB.size": "256 B", "NBin.size": "64 B", "NBout.size": "64 B", "NFU": "2x2", "NFU2_registers.size": "4 B"}
    arch = tw.load_arch("diannao", set=small)
    dram, *buffers = arch.levels[:4]
    assert [buffer.name for buffer in buffers] == ["SB", "NBout", "NBin"]
    turned = Architecture.model_validate(
        arch.model_dump() | {"levels": (dram, *reversed(buffers), *arch.levels[4:])}, from_attributes=True
    )
    layer = tw.conv2d(K=4, C=4, P=4, Q=4, R=3, S=3)
    one, two = (tw.search(layer, machine, "energy", space="uneven") for machine in (arch, turned))
    assert one.certificate.proven
    assert two.certificate.proven
    assert one.cost.energy_pj == pytest.approx(two.cost.energy_pj)
    assert tw.search(layer, turned, "energy").cost.energy_pj > two.cost.energy_pj
