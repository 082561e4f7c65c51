"""The cost of random trees, as their documents say it and as `tilewright evaluate` counts it."""

from __future__ import annotations

import random
from functools import cache

import pytest
from cascade_walker import Walker
from trees import KINDS, random_cascade, random_tree
from walked_costs import costs
from window_trees import random_windows

import tilewright as tw
from generators import random_architecture, with_extras
from longer import blocks
from tilewright.arch import Architecture
from tilewright.arch.spec import Op
from tilewright.cost_models.least_cost import least_cost_of_cascade
from tilewright.ir import Mapping

ITERATED = ("running maximum", "running sum, corrected", "fed back")
MOST = 100
"""Points of a cascade that is walked."""


@cache
def random_case(seed: int) -> tuple[Mapping, Architecture]:
    """A random tree and its machine; every other one is read through windows along shared loops."""
    rng = random.Random(seed)
    while True:
        arch = _with_switches(rng, random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node"))
        if seed % 2:
            fused = random_windows(rng, arch)
        else:
            kind = rng.choice([kind for kind in KINDS if kind not in ITERATED])
            fused = random_tree(rng, random_cascade(rng, largest=rng.choice([2, 3, 4]), kind=kind), arch)
        if fused.cascade.macs <= MOST:
            return fused, arch


def _with_switches(rng: random.Random, arch: Architecture) -> Architecture:
    """The machine with random switches and figures of docs/cost-model.md."""
    extras = [extra for extra in ("leakage", "block", "ports", "serial", "widths") if rng.random() < 0.4]
    arch = with_extras(rng, arch, *extras)
    ops = {"exp": Op(energy_pj=7.0, per_cycle=0.25), "max": Op(energy_pj=0.25), "add": Op(energy_pj=3.0, per_cycle=2.0)}
    inner = [
        level.model_copy(update={"double_buffered": True}) if level.kind == "memory" and rng.random() < 0.3 else level
        for level in arch.levels[1:]
    ]
    return arch.model_copy(
        update={
            "levels": (arch.levels[0], *inner),
            "inner_drain_read": rng.random() < 0.7,
            "first_read_elision": rng.random() < 0.8,
            "overlap": "across_operations" if rng.random() < 0.3 else "within_operations",
            "mac": arch.mac.model_copy(update={"ops": ops if rng.random() < 0.5 else {}}),
        }
    )


@pytest.mark.parametrize("seeds", blocks(200, 50))
def test_costs_are_those_of_the_documents(seeds: range) -> None:
    """Words, bits in use, energy and latency; in a branch, in all, and through windows."""
    for seed in seeds:
        fused, arch = random_case(seed)
        found, walker = tw.evaluate(fused, arch), Walker(fused, arch)
        expected, told = costs(walker), f"seed {seed}\n{fused.cascade}\n{fused}"
        for name, cost in found.operations.items():
            words = {(t.memory, t.tensor): (t.reads, t.writes) for t in cost.traffic if t.reads or t.writes}
            assert words == walker.words_moved(name), f"words of {name}, {told}"
            assert cost.steps == walker.steps[name], f"steps of {name}, {told}"
            assert cost.energy_pj == pytest.approx(expected.energies[name], rel=1e-9), f"energy of {name}, {told}"
            assert cost.latency_cycles == pytest.approx(expected.latencies[name], rel=1e-9), f"cycles of {name}, {told}"
            inner = [tile for tile in found.occupancy[name] if tile.memory != arch.memories[0].name]
            room = {(tile.memory, tile.tensor, tile.bits) for tile in inner}
            assert room == expected.tiles[name], f"room of {name}, {told}"
        assert found.energy_pj == pytest.approx(expected.energy, rel=1e-9), f"energy, {told}"
        least = least_cost_of_cascade(fused.cascade, arch)
        assert 0 < least.energy_pj <= expected.energy * (1 + 1e-9), told
        assert 0 < least.latency_cycles <= found.latency_cycles * (1 + 1e-9), told
        assert found.latency_cycles == pytest.approx(expected.latency, rel=1e-9), f"cycles, {told}"
