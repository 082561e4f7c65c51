"""What an explanation says of lines and banks."""

from __future__ import annotations

import tilewright as tw
from tilewright.arch import load_arch
from tilewright.report.explain.page import explanation_page, line_sentences
from tilewright.report.parts.text import plain_text

LAYER = tw.conv2d(K=32, C=16, P=14, Q=14, R=3, S=3)
FIELDS = {"DRAM.line": "64 B", "GLB.line": "16 B", "GLB.banks": "8"}


def test_lines_that_are_not_full_and_what_they_cost() -> None:
    arch = load_arch("eyeriss", FIELDS)
    found = tw.search(LAYER, arch, tiling="perfect", layout="row-major")
    first, *rest = line_sentences(found.mapping, found.arch, found.cost)
    weights = next(t for t in found.cost.traffic if (t.memory, t.tensor) == ("DRAM", "W"))
    assert weights.lines is not None
    full = weights.reads * 16 / (weights.lines.supplied * 512)
    assert first.startswith(f"W in DRAM lies KCRS: {weights.lines.supplied} lines pass, {full:.1%} full")
    text = "\n".join(rest)
    assert "keeps a bank of GLB busy for" in text
    assert "Lines all full, this mapping takes" in text
    assert "All column-major, this mapping takes" in text
    page = plain_text(explanation_page(tw.explain(found.mapping, found.arch, changes=False)), width=200)
    assert first in " ".join(page.split())


def test_machines_without_lines_have_nothing_to_say() -> None:
    found = tw.search(tw.gemm(4, 4, 4), "three_level", tiling="perfect")
    assert line_sentences(found.mapping, found.arch, found.cost) == []
