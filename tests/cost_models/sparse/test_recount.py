"""What `verify` says of the means of zeros: that they are right, where they are, and which are off."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.cost_models.sparse import recount as module
from tilewright.cost_models.sparse.recount import recount
from tilewright.cost_models.sparse.shares import Share, SparseMapping


def test_structure_is_counted_to_the_word() -> None:
    found = tw.search(tw.gemm(8, 8, 16), "sparse_tensor_core", density={"W": "2:4"})
    seen = recount(found.mapping, found.arch)
    assert seen
    assert "25 means over 200 masks" in seen.message
    assert seen.message.endswith("25 of them the same")


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


def test_wrong_means_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tw.search(tw.gemm(8, 8, 16), "scnn_like", density={"W": 0.35, "A": 0.4})
    share = SparseMapping.share
    monkeypatch.setattr(SparseMapping, "share", lambda *of: Share(0.9 * share(*of).moved))
    verified = found.verify()
    assert not verified
    assert "over the masks" in verified.message


def test_large_problems_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tw.search(tw.gemm(8, 8, 16), "sparse_tensor_core", density={"W": "2:4"})
    monkeypatch.setattr(module, "MOST_OPERATIONS", 1000)
    seen = recount(found.mapping, found.arch)
    assert seen
    assert not seen.figures
    assert "not walked" in seen.message
