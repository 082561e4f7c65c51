"""What `verify` says of the means of zeros: that they are right, where they are, and which are off."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilewright as tw
from generators import memory
from tilewright.arch import Architecture, Keeps, Mac
from tilewright.cost_models.sparse import densities_of, with_densities
from tilewright.cost_models.sparse import recount as module
from tilewright.cost_models.sparse.recount import recount
from tilewright.cost_models.sparse.shares import Share, SparseMapping
from tilewright.ir import LoopNest, Mapping


def test_structure_is_counted_to_the_word() -> None:
    found = tw.search(tw.gemm(8, 8, 16), "sparse_tensor_core", density={"W": "2:4"})
    seen = recount(found.mapping, found.arch)
    assert seen
    assert "25 means over 200 masks" in seen.message
    assert seen.message.endswith("25 of them the same")


def test_units_that_skip_fewer_words_than_are_zero_are_not_walked() -> None:
    """Units of 2:4 skip half of all operations, of weights of 1:4 as well: masks, with three zeros of four, differ."""
    seen = tw.search(tw.gemm(8, 8, 8), "sparse_tensor_core", density={"W": "1:4"}).verify()
    assert seen, seen.message
    assert seen.zeros is not None
    assert "not walked: operations" in seen.zeros.message


def test_operations_of_padded_blocks_are_walked() -> None:
    found = tw.search(tw.gemm(8, 8, 7), "sparse_tensor_core", density={"W": "2:4"})
    seen = recount(found.mapping, found.arch)
    assert seen, seen.message
    assert "operations" not in seen.message


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("arch", "layer", "density"),
    [
        ("scnn_like", tw.gemm(8, 4, 16), {"W": 0.35, "A": 0.4}),
        ("eyeriss_v2_like", tw.conv2d(K=4, C=4, P=3, Q=4, R=3, S=3), {"W": 0.35, "I": 0.45}),
        ("scnn_like", tw.gemm(6, 4, 8), {"W": np.tri(8, 4), "A": 0.4}),
    ],
)
def test_means_of_library_machines(arch: str, layer: tw.Problem, density: dict[str, object]) -> None:
    verified = tw.search(layer, arch, density=density).verify()
    assert verified, verified.message
    assert verified.zeros is not None
    assert verified.zeros.figures > 10
    assert "standard errors" in verified.message


@pytest.mark.long
def test_wrong_means_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tw.search(tw.gemm(8, 8, 16), "scnn_like", density={"W": 0.35, "A": 0.4})
    share = SparseMapping.share
    monkeypatch.setattr(SparseMapping, "share", lambda *of: Share(0.9 * share(*of).moved))
    verified = found.verify()
    assert not verified
    assert "over the masks" in verified.message


def gating_weights(halo: str, **changes: object) -> Architecture:
    """A buffer for inputs and outputs, below a memory that gates inputs which meet no weight."""
    outer = memory("DRAM", shared_bits_per_cycle=64.0, gates={"input": ("weight",)})
    buffer = memory("buffer", keeps=Keeps(input="must", weight="never", output="must"), halo=halo)
    return Architecture(
        name="gating", clock_hz=1e9, word_bits=8, levels=(outer, buffer), mac=Mac(energy_pj=1.0)
    ).model_copy(update=changes)


def mapping_of(problem: tw.Problem, density: dict[str, str], nest: str) -> Mapping:
    return Mapping(with_densities(problem, density), LoopNest.parse(nest))


def test_what_is_rare_is_looked_at_again() -> None:
    """Inputs meet six weights, and all are zero in one of 924 masks: that 200 masks do not show it says nothing."""
    nest = """
        DRAM keeps A W O
        for K in 2
          buffer keeps A O
          for N in 3
            for K in 2"""
    mapping = mapping_of(tw.gemm(1, 3, 4), {"A": "0.5", "W": "0.5"}, nest)
    for seed in range(5):
        seen = recount(mapping, gating_weights("none"), seed)
        assert seen, seen.message


def test_an_exact_halo_keeps_words_over_loops_that_do_not_move_them() -> None:
    """With `reuse: at_node` too: an input is brought once for the weights that it meets over all three columns."""
    nest = """
        DRAM keeps A W O
        for K in 4
          for N in 3
            buffer keeps A O"""
    mapping = mapping_of(tw.gemm(1, 3, 4), {"W": "0.5"}, nest)
    arch = gating_weights("exact", reuse="at_node")
    sparse = SparseMapping(mapping, arch, densities_of(mapping.problem))
    inputs = mapping.problem.tensor("A")
    no_weight = math.comb(9, 6) / math.comb(12, 6)
    assert sparse.share(inputs, 0).moved == pytest.approx(1.0 - no_weight)
    seen = recount(mapping, arch)
    assert seen, seen.message


def test_large_problems_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tw.search(tw.gemm(8, 8, 16), "sparse_tensor_core", density={"W": "2:4"})
    monkeypatch.setattr(module, "MOST_OPERATIONS", 1000)
    seen = recount(found.mapping, found.arch)
    assert seen
    assert not seen.figures
    assert "not walked" in seen.message
