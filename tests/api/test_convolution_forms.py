"""`tw.search_im2col`: both forms of a convolution in Python."""

from __future__ import annotations

import pytest

import tilewright as tw


def test_both_forms_and_the_better_one() -> None:
    layer, arch = tw.conv2d(K=4, C=4, P=4, Q=4, R=3, S=3), tw.load_arch("three_level", {"DRAM.line": "16 B"})
    forms = tw.search_im2col(layer, arch, tiling="perfect", layout="any")
    assert forms.image_words, forms.lowered_words == (4 * 6 * 6, 4 * 4 * 4 * 3 * 3)
    assert forms.direct.cost == tw.search(layer, arch, tiling="perfect", layout="any").cost
    product = forms.product.cost
    energy, cycles = product.energy_pj + forms.lowering_pj, product.latency_cycles + forms.lowering_cycles
    assert forms.value == pytest.approx(energy * cycles)
    assert forms.better is forms.direct
    assert not forms.wins
    assert forms.proven
    assert str(forms).startswith("direct, proven: as a product with lowering it costs")
    assert forms.product.verify().words_agree


def test_what_is_no_convolution_is_refused() -> None:
    with pytest.raises(tw.TilewrightError, match="only what reads one operand in windows"):
        tw.search_im2col(tw.gemm(4, 4, 4), "three_level")
