from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tilewright.mapper.exact.tiles import lattice as lattices
from tilewright.mapper.exact.tiles.lattice import Lattice
from tilewright.mapper.tilings import TILINGS, Tiling, factors

SIZES = [(1,), (36,), (12, 7), (4, 9, 6), (13, 2, 8)]


@pytest.mark.parametrize("tiling", TILINGS)
def test_one_cell_per_tile_the_largest_first(tiling: Tiling) -> None:
    lattice = Lattice((12, 7), tiling, (True, False))
    assert [sorted(axis.tolist()) for axis in lattice.tiles] == {
        "perfect": [[1, 2, 3, 4, 6, 12], [1, 7]],
        "ragged": [[1, 2, 3, 4, 6, 12], [1, 2, 3, 4, 5, 6, 7]],
    }[tiling]
    assert lattice.shape == tuple(len(axis) for axis in lattice.tiles)
    assert [axis.tolist() for axis in lattice.least] == [axis.tolist() for axis in lattice.tiles]
    assert [int(axis[0]) for axis in lattice.tiles] == [12, 7]


@pytest.mark.parametrize("most_listed", [0, 2**20])
@pytest.mark.parametrize("size", [1, 2, 13, 24])
def test_place_of_a_tile(size: int, most_listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tile stands where the largest tile inside it does that makes as many pieces, listed or looked up."""
    monkeypatch.setattr(lattices, "MOST_LISTED", most_listed)
    lattice = Lattice((size,), "ragged", (True,))
    assert lattice.cell(np.array([[size], [1]])).tolist() == [0, lattice.shape[0] - 1]
    for tile in range(1, size + 1):
        stands_for = int(lattice.least[0][lattice.places[0][tile]])
        assert stands_for <= tile
        assert -(-size // stands_for) == -(-size // tile)


def follows(tiling: Tiling, tile: int, later: int) -> bool:
    return later % tile == 0 if tiling == "perfect" else later >= tile


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("sizes", SIZES)
def test_least_around_every_tile(sizes: tuple[int, ...], tiling: Tiling) -> None:
    """The least over all tiles around one, looked at one by one."""
    rng = np.random.default_rng(sum(sizes))
    lattice = Lattice(sizes, tiling, (True,) * len(sizes))
    table = rng.integers(0, 1000, (2, *lattice.shape)).astype(np.float64)
    table[rng.random(table.shape) < 0.2] = np.inf
    before = table.copy()
    cells = list(np.ndindex(*lattice.shape))
    tiles = {cell: [int(axis[i]) for axis, i in zip(lattice.least, cell, strict=True)] for cell in cells}
    for count in range(len(sizes) + 1):
        for dims in itertools.combinations(range(len(sizes)), count):
            found = lattice.around(table, dims)
            for cell in cells:
                around = [
                    c
                    for c in cells
                    if all(
                        follows(tiling, a, b) if d in dims else a == b
                        for d, (a, b) in enumerate(zip(tiles[cell], tiles[c], strict=True))
                    )
                ]
                for column in range(2):
                    assert found[(column, *cell)] == min(table[(column, *c)] for c in around)
    assert np.array_equal(table, before)


# ---- shared cells ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 10, 40, 300])
@pytest.mark.parametrize("sizes", [(97,), (60, 50), (30, 7, 41)])
def test_neighbours_share_cells(sizes: tuple[int, ...], most: int) -> None:
    lattice = Lattice(sizes, "ragged", (True,) * len(sizes), most)
    assert math.prod(lattice.shape) <= most or max(lattice.shape) <= 4
    for d, size in enumerate(sizes):
        places = lattice.places[d].tolist()
        assert places[size] == 0, "the whole dimension has a cell"
        wholes = [t for t in range(1, size + 1) if places[t] == 0]
        assert {-(-size // t) for t in wholes} == {1}, "of its own"
        assert places[1:] == sorted(places[1:], reverse=True)
        assert set(places) == set(range(lattice.shape[d]))
        for cell in range(lattice.shape[d]):
            assert int(lattice.least[d][cell]) == min(t for t in range(1, size + 1) if places[t] == cell)


@pytest.mark.parametrize("most", [10, 40, 10**6])
def test_least_in_cells_is_below_every_tile(most: int) -> None:
    """Of a table with one value for every listed tile, a cell has the least; around it, nothing larger is left out."""
    rng, sizes = np.random.default_rng(most), (19, 23)
    lattice = Lattice(sizes, "ragged", (True, True), most)
    listed = [sorted(factors(size, "ragged", True), reverse=True) for size in sizes]
    assert [axis.tolist() for axis in lattice.tiles] == listed
    values = rng.random([len(axis) for axis in listed])
    cells = lattice.least_in_cells(values, [0, 1])
    assert cells.shape == lattice.shape
    around = lattice.around(cells[None], [0, 1])[0]
    for (i, first), (j, second) in itertools.product(*(enumerate(axis) for axis in listed)):
        cell = lattice.cell(np.array([[first, second]]))
        assert cells.ravel()[cell] <= values[i, j]
        assert around.ravel()[cell] <= values[: i + 1, : j + 1].min()
    assert set(cells.ravel()) <= set(values.ravel())


def test_values_along_dimensions_in_any_order() -> None:
    lattice = Lattice((2, 3, 5), "perfect", (True,) * 3)
    values = np.arange(4).reshape(2, 2)
    shaped = lattice.along([2, 0], values)
    assert shaped.shape == (2, 1, 2)
    assert all(shaped[i, 0, j] == values[j, i] for i in range(2) for j in range(2))


@pytest.mark.parametrize("most_cells", [2_000, 20_000, 200_000])
def test_a_coarse_lattice_uses_its_cells(most_cells: int) -> None:
    """As many as it may have, about; the whole dimension has one of its own."""
    lattice = Lattice((128, 128, 28, 28, 3), "ragged", (True,) * 5, most_cells)
    assert most_cells / 3 < math.prod(lattice.shape) <= most_cells
    for tiles, cells in zip(lattice.tiles, lattice.cells, strict=True):
        assert (np.diff(cells) >= 0).all()
        assert tiles[cells == 0].tolist() == [tiles.max()]


def test_cells_end_at_powers_of_two() -> None:
    """So an array of four instances takes the tiles of a cell to one cell, where tiles of every size are told apart."""
    lattice = Lattice((4096, 16384), "ragged", (True, True), 500)
    for places, count in zip(lattice.places, lattice.shape, strict=True):
        assert all(places[2**power] != places[2**power + 1] for power in range(6))
        for cell in range(count):
            covered = 4 * np.flatnonzero(places == cell)
            assert len(set(places[covered[(covered > 0) & (covered <= 128)]].tolist())) <= 1


@pytest.mark.parametrize("tiling", TILINGS)
def test_least_within_every_tile(tiling: Tiling) -> None:
    lattice = Lattice((12, 7, 4), tiling, (True,) * 3)
    table = np.random.default_rng(3).integers(0, 1000, lattice.shape).astype(np.float64)
    found = lattice.within(table)
    for cell in np.ndindex(*lattice.shape):
        inside = [
            table[other]
            for other in np.ndindex(*lattice.shape)
            if all(axis[i] <= axis[j] for axis, i, j in zip(lattice.least, other, cell, strict=True))
        ]
        assert found[cell] == min(inside)
