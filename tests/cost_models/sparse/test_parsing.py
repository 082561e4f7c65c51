"""Densities as text, and the bits of formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generators import tensor
from tilewright.cost_models.sparse import (
    Banded,
    Density,
    Measured,
    Structured,
    Uniform,
    densities_of,
    density_text,
    parse_densities,
    with_densities,
)
from tilewright.cost_models.sparse.formats import metadata_bits
from tilewright.ir import Problem, TilewrightError

TENSORS = (tensor("I", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N"))
GEMM = Problem("gemm", (("M", 4), ("N", 6), ("K", 8)), TENSORS)


@pytest.mark.parametrize(
    ("text", "density"),
    [
        ("W=2:4", Structured(2, 4, 0)),
        ("W=1:4@N", Structured(1, 4, 1)),
        ("I=2:4", Structured(2, 4, 1)),
        ("I=0.35", Uniform(0.35)),
        ("W=band:3", Banded(3)),
    ],
)
def test_texts(text: str, density: Density) -> None:
    name = text[0]
    assert parse_densities([text], GEMM) == {name: density}
    written = density_text(density, GEMM.tensor(name))
    assert parse_densities({name: written}, GEMM) == {name: density}


def test_arrays(tmp_path: Path) -> None:
    values = np.eye(8, 6)
    np.save(tmp_path / "w.npy", values)
    for given in ({"W": values}, [f"W={tmp_path / 'w.npy'}"]):
        assert parse_densities(given, GEMM)["W"].words((8, 6), (8, 6)).mean == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("W=1.5", "expected more than 0 and 1 at most"),
        ("W=-0.5", "expected more than 0 and 1 at most"),
        ("W=nan", "expected a fraction"),
        ("W=35%", "write 35% as 0.35"),
        ("W=5:4", "found 5:4, expected N:M with N from 1 to M\nhint: 4:5 leaves 4 of every 5 neighbours"),
        ("W=2:4@M", "no rank 'M' of W"),
        ("O=0.5", "format cannot be written in order"),
        ("X=0.5", "no operand 'X'"),
        ("W", "expected TENSOR=DENSITY"),
        ("W=nowhere.npy", "cannot be read"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        parse_densities([text], GEMM)


def test_a_density_that_is_given_twice() -> None:
    with pytest.raises(TilewrightError, match="given twice"):
        parse_densities(["W=0.5", "W=2:4"], GEMM)


def test_an_array_of_another_shape() -> None:
    with pytest.raises(TilewrightError, match=r"shape \(6, 8\), expected \(8, 6\)"):
        parse_densities({"W": np.ones((6, 8))}, GEMM)


@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        ("bitmask", 64),
        ("coordinate", 32 * 6),
        ("runs", 32 * 6),  # up to 32 zeros before a word: 33 lengths
        ("csr", 9 * 6 + 32 * 3),  # 8 rows of 8; offsets from 0 to 32
        ("blocks", 32 * 2),
    ],
)
def test_metadata_of_two_of_four(kind: str, bits: int) -> None:
    assert metadata_bits(kind, Structured(2, 4, 0), (8, 8), (16, 16)) == bits  # type: ignore[arg-type]


def test_blocks_need_a_structure() -> None:
    with pytest.raises(TilewrightError, match="the format blocks is for N:M"):
        metadata_bits("blocks", Uniform(0.5), (8, 8), (16, 16))


def test_metadata_of_ragged_tiles_is_in_proportion() -> None:
    """Of blocks of one of three along five words, two are nonzero; a tile of four has four fifths of them."""
    assert metadata_bits("blocks", Structured(1, 3, 1), (1, 4), (1, 5)) == pytest.approx(2 * 2 * 4 / 5)


def test_densities_stay_with_their_problem() -> None:
    values = np.arange(48).reshape(8, 6) % 3 == 0
    problem = with_densities(GEMM, {"W": values, "I": "1:4"})
    assert [tensor.density for tensor in problem.tensors][::2] == ["1:4@K", None]
    measured = densities_of(problem)["W"]
    assert isinstance(measured, Measured)
    assert (measured.values == values).all()
    assert problem.dense == GEMM
    for text in ("mask:", "mask:!!", "mask:" + "A" * 8):
        with pytest.raises(TilewrightError, match="mask"):
            parse_densities({"W": text}, GEMM)


def test_something_is_left_to_compute() -> None:
    with pytest.raises(TilewrightError, match="all words of W are zero"):
        parse_densities({"W": np.zeros((8, 6))}, GEMM)
    assert parse_densities({"W": 1e-12}, GEMM)["W"].words((8, 6), (8, 6)).most == 1
