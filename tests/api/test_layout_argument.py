"""`layout` of `tw.search` and `tw.evaluate`."""

from __future__ import annotations

import pytest

import tilewright as tw

MACHINE = {"DRAM.line": "16 B"}


def test_the_best_layout_is_found_and_stated() -> None:
    layer, arch = tw.conv2d(K=8, C=8, P=4, Q=4, R=3, S=3), tw.load_arch("eyeriss", MACHINE)
    best = tw.search(layer, arch, tiling="perfect", layout="any")
    assert best.certificate.proven
    assert best.arch.memories[0].layouts["O"] != "any"
    assert tw.evaluate(best.mapping, best.arch) == best.cost
    worse = tw.search(layer, arch, tiling="perfect", layout={"all": "row-major", "O": "NHWC"})
    assert worse.cost.edp >= best.cost.edp
    assert tw.evaluate(worse.mapping, arch, layout="any").edp <= worse.cost.edp


@pytest.mark.parametrize(
    ("layout", "found"),
    [
        (3, "the layout is 3"),
        ({"O": 3}, "a layout is 3"),
        ({"O": "NHXC"}, "no rank X"),
        ({"Z": "any"}, "unknown tensor"),
    ],
)
def test_wrong_layouts_are_named(layout: object, found: str) -> None:
    layer, arch = tw.conv2d(K=8, C=8, P=4, Q=4, R=3, S=3), tw.load_arch("eyeriss", MACHINE)
    with pytest.raises(tw.TilewrightError, match=found):
        tw.search(layer, arch, layout=layout)  # type: ignore[call-overload]
