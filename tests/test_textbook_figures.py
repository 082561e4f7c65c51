"""Worked figures of texts on accelerators, from our model: traffic of small nests, tiles and use of systolic arrays.

Loop orders and counts of mappings are in `mapper/space/test_textbook.py`, intensities in
`cost_models/test_intensity.py`.
"""

from __future__ import annotations

import pytest

import tilewright as tw
from generators import memory
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac
from tilewright.ir import LoopNest, Mapping, ceil_div

# ---- a convolution of 16 filters of 3 x 3 over an 8 x 8 image ---------------------------------------------------

FILTERS = tw.conv2d(K=16, C=1, P=6, Q=6, R=3, S=3)
WEIGHTS_IN_PLACE = """
DRAM keeps I W O
for K in 16
  for R in 3
    for S in 3
      register keeps W
      for P in 6
        for Q in 6
"""
POSITIONS_FIRST = """
DRAM keeps I W O
for P in 6
  for Q in 6
    register keeps O
    for K in 16
      for R in 3
        for S in 3
"""
WINDOWS_IN_PLACE = """
DRAM keeps I W O
for K in 16
  for P in 6
    for Q in 6
      register keeps I O
      for R in 3
        for S in 3
"""


ONE_WINDOW_FOR_ALL = """
DRAM keeps I W O
for P in 6
  for Q in 6
    register keeps I O
    for K in 16
      for R in 3
        for S in 3
"""
IMAGE_IN_PLACE = """
DRAM keeps I W O
register keeps I
for K in 16
  for P in 6
    for Q in 6
      for R in 3
        for S in 3
"""


def words(nest: str, tensor: str) -> tuple[int, int]:
    """Words read and written at DRAM, beside registers that may keep anything and fetch whole tiles."""
    keeps = Keeps(input="may", weight="may", output="may")
    levels = (memory("DRAM"), memory("register", keeps=keeps, halo="none"))
    arch = Architecture(name="registers", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    cost = tw.evaluate(Mapping(FILTERS, LoopNest.parse(nest)), arch)
    return next((t.reads, t.writes) for t in cost.traffic if (t.memory, t.tensor) == ("DRAM", tensor))


def test_weight_reads_of_two_orders() -> None:
    """Each weight once where it stays in place; all of them at each of the 36 positions where nothing keeps them."""
    assert FILTERS.macs == 5184
    assert words(WEIGHTS_IN_PLACE, "W") == (144, 0)
    assert words(POSITIONS_FIRST, "W") == (144 * 36, 0) == (5184, 0)


def test_input_reads() -> None:
    """The image once, its windows of 9 for each filter, or one word for every product."""
    assert words(IMAGE_IN_PLACE, "I") == (64, 0)
    assert words(WINDOWS_IN_PLACE, "I") == (16 * 324, 0)
    assert words(ONE_WINDOW_FOR_ALL, "I") == (324, 0)
    assert words(WEIGHTS_IN_PLACE, "I") == (5184, 0)


def test_output_writes() -> None:
    assert words(POSITIONS_FIRST, "O") == (0, 16 * 36) == (0, 576)


# ---- systolic arrays -------------------------------------------------------------------------------------------


def systolic(width: int) -> Architecture:
    """width x width PEs, each with one weight: reductions down a column, outputs along a row."""
    weight = Keeps(input="never", weight="must", output="never")
    array = Fanout(name="array", axes=(ArrayAxis(size=width, reuse="output"), ArrayAxis(size=width, reuse="input")))
    levels = (memory("DRAM"), array, memory("register", keeps=weight, size_bits=8))
    return Architecture(name="systolic", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def test_tiles_of_a_wide_layer() -> None:
    """4096 inputs to 4096 outputs on 128 x 128 PEs: the array is filled with weights 32 x 32 = 1,024 times."""
    batch, width = 8, 128
    result = tw.search(tw.gemm(M=batch, N=4096, K=4096), systolic(width), objective="latency,energy")
    assert result.certificate.proven
    fills = next(t.writes for t in result.cost.traffic if t.memory == "register")
    assert fills // width**2 == ceil_div(4096, width) ** 2 == 1024
    assert result.cost.steps == batch * 1024


@pytest.mark.parametrize(
    ("outputs", "passes", "utilization"), [(127, 1, 127 / 128), (128, 1, 1.0), (129, 2, 129 / 256), (256, 2, 1.0)]
)
def test_the_utilization_cliff(outputs: int, passes: int, utilization: float) -> None:
    """One output more than the array has columns takes a second pass for it alone: 100% falls to 50.4%."""
    result = tw.search(tw.gemm(M=64, N=outputs, K=128), systolic(128), objective="latency", tiling="ragged")
    assert result.certificate.proven
    assert result.cost.compute_cycles == 64 * passes
    assert result.cost.utilization == pytest.approx(utilization)


def test_the_cliff_in_both_directions() -> None:
    """129 inputs and 129 outputs: four passes, a quarter of the array."""
    result = tw.search(tw.gemm(M=64, N=129, K=129), systolic(128), objective="latency", tiling="ragged")
    assert result.cost.compute_cycles == 64 * 4
    assert result.cost.utilization == pytest.approx(129 * 129 / (4 * 128 * 128))
