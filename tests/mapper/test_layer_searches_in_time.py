"""What layers cost with layouts where there is no time left to search them."""

from __future__ import annotations

import math

import pytest

import tilewright as tw
from tilewright.cost_models import ENERGY
from tilewright.cost_models.layouts.choices import with_layouts
from tilewright.mapper.layout_plan import ExactSearches, exact_searches
from tilewright.mapper.means import DEFAULT_MEMORY_LIMIT


def never(*_: object, **__: object) -> None:
    raise AssertionError("a search was begun")


def test_no_search_is_begun_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search of a plan whose time was up took a moment more, of which there are many in a network."""
    layer, plain = tw.gemm(8, 6, 10), tw.load_arch("three_level", {"DRAM.line": "64 B"})
    machines = [with_layouts(plain, layer, {"O": text}) for text in ("row-major", "column-major")]
    search = ExactSearches("perfect", "even", None, DEFAULT_MEMORY_LIMIT)
    with monkeypatch.context() as patched:
        patched.setattr(exact_searches, "search_exact", never)
        simplest = search(layer, machines[0], ENERGY, 0.0)
    best = search(layer, machines[0], ENERGY, math.inf)
    assert best.bound == best.value < simplest.value < math.inf
    assert simplest.bound == 0.0
    monkeypatch.setattr(exact_searches, "search_exact", never)
    assert search(layer, machines[0], ENERGY, 0.0).value == best.value
    assert best.value <= search(layer, machines[1], ENERGY, 0.0).value < simplest.value


def test_a_search_that_was_cut_short_is_no_worse_than_what_is_known() -> None:
    layer, arch = tw.load_layer("resnet18:layer1.0.conv1"), tw.load_arch("three_level", {"DRAM.line": "64 B"})
    search = ExactSearches("perfect", "even", None, DEFAULT_MEMORY_LIMIT)
    best = search(layer, arch, ENERGY, math.inf)
    again = search(layer, arch, ENERGY, 1e-9)
    assert again.value == best.value
    assert again.bound <= best.value
