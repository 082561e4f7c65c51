"""`tw.roofline`, rows of networks where layers are asked for, and keywords that nobody knows."""

from __future__ import annotations

import pytest

import tilewright as tw


def test_layers_under_the_roofs_of_a_machine() -> None:
    alexnet = tw.load_network("alexnet")
    found = tw.roofline(alexnet.layers[-2:], "eyeriss", tiling="perfect")
    assert [dot.name for dot in found.chart.dots] == ["alexnet:fc7", "alexnet:fc8"]
    assert all(result.certificate.proven for result in found.results)
    assert all(dot.attained <= dot.limit * (1 + 1e-9) for dot in found.chart.dots)
    shown = found._repr_html_() or ""
    assert "fc7" in shown
    assert found.figure()._repr_svg_().startswith("<?xml")  # type: ignore[attr-defined]
    with pytest.raises(tw.TilewrightError, match="has no memory 'GBL'"):
        tw.roofline("alexnet:fc8", "eyeriss", memory="GBL")


def test_rows_of_a_network_are_layers() -> None:
    rows = tw.load_network("alexnet").layers[-2:]
    many = tw.search_many(rows, "eyeriss", tiling="perfect", workers=1, cache=False)
    assert [one.problem for one in many] == [row.problem for row in rows]
    assert tw.search(rows[-1], "eyeriss", tiling="perfect").cost == many[-1].cost  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: tw.search("alexnet:fc8", "eyeriss", objektive="edp"), "did you mean 'objective'?"),
        (lambda: tw.compare(["alexnet"], arch=["eyeriss"]), "did you mean 'archs'?"),
        (lambda: tw.gemm(m=8, N=8, K=8), "did you mean 'M'?"),
        (lambda: tw.evaluate("mapping.json", densty={}), "did you mean 'density'?"),
    ],
)
def test_a_keyword_that_is_not_known_has_a_hint(call, hint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
        call()
    assert str(caught.value).endswith(hint)


def test_what_is_in_the_libraries() -> None:
    assert {"free", "weight-stationary"} <= set(tw.list_dataflows())
    with pytest.raises(tw.InfeasibleError, match="no mapping keeps the limit"):
        tw.search(tw.gemm(M=64, N=64, K=64), "eyeriss", "latency where energy <= 3 uJ", tiling="perfect")
