"""Memories that keep all of a halo: their search begins where memories that keep less of it end."""

from __future__ import annotations

import pytest
from clocks import ticking

import tilewright as tw
from tilewright.mapper.exact.search import search_exact


def test_a_cut_search_is_no_worse_than_with_less_of_the_halo_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without such a beginning it had 20 times as much, and no proof, after as many looks at the clock."""
    layer = tw.conv2d(K=256, C=256, P=14, Q=14, R=3, S=3)
    less = search_exact(layer, tw.load_arch("three_level"), "energy")[2]
    arch = tw.load_arch("three_level", set={"GLB.halo": "exact", "RF.halo": "exact"})
    ticking(monkeypatch)
    found = search_exact(layer, arch, "energy", time_limit=20.0)[2]
    assert less.proven
    assert found.lower_bound <= found.value <= less.value
