"""Mappings that other tools found, counted by us and by them."""

from __future__ import annotations

import pytest

from peers import PeerCase, accelforge_cases, timeloop_cases
from tilewright.cost_models import evaluate

CASES = [*accelforge_cases(), *timeloop_cases()]

STAYS_ACROSS_LEVELS = {
    "H3 gemm4096 edp",
    "H3 gemm4096 energy",
    "simbaN gemm256x128x512 energy",
    "simbaN conv3x3_c64k64p56 energy",
    "eyerissN dw3x3_c192p28 energy",
}
"""By our rule a tile stays over loops, above an array or another node, that leave it as it is."""

SHARED_HALO = {
    "eyerissN dw3x3_c192p28 energy",
    "simbaN conv3x3_c64k64p56 energy",
    "simple3 res_3x3 hybrid edp",
    "simple3 res_3x3 random_pruned edp",
    "simple3 res_3x3 random_pruned energy",
    "eyeriss168 res_3x3 random_pruned edp",
}
"""Input tiles of neighbours on an array overlap: there the overlap is read for each of them, here once."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.objective}")
def test_energy_and_latency(case: PeerCase) -> None:
    """Equal, but where neighbours share a read of what they both want."""
    cost = evaluate(case.mapping, case.arch)
    energy, latency = cost.energy_pj / case.energy_pj, cost.latency_cycles / case.latency_cycles
    if f"{case.name} {case.objective}" in SHARED_HALO:
        assert 0.9 < energy < 0.999
        assert 0.8 < latency < 1 + 1e-8
    else:
        assert (energy, latency) == pytest.approx((1, 1), rel=1e-8)


@pytest.mark.parametrize("case", accelforge_cases(), ids=lambda case: f"{case.name} {case.objective}")
def test_reuse_across_levels(case: PeerCase) -> None:
    """By our own rule the same mappings cost less where a tile may stay below an array, and else the same."""
    at_node = evaluate(case.mapping, case.arch)
    across = evaluate(case.mapping, case.arch.model_copy(update={"reuse": "across_levels"}))
    stays = f"{case.name} {case.objective}" in STAYS_ACROSS_LEVELS
    assert (across.energy_pj < at_node.energy_pj * (1 - 1e-8)) == stays
    assert across.latency_cycles <= at_node.latency_cycles


def test_halos_are_shared_on_arrays_only() -> None:
    windows = {f"{c.name} {c.objective}": c for c in CASES if "res_3x3" in c.name or "3x3_" in c.name}
    assert windows.keys() > SHARED_HALO
    for name in SHARED_HALO:
        sliding = {loop.dim for loop in windows[name].mapping.nest.loops if loop.is_spatial} & {"P", "Q"}
        assert sliding, name
