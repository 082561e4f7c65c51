"""The annotated nest says what the nest says."""

from __future__ import annotations

import random

import pytest

import longer
from generators import random_architecture, random_mapping, random_problem
from tilewright.arch import load_arch
from tilewright.ir import LoopNest, Mapping, MappingError
from tilewright.report.parts.nest import mapping_document, mapping_lines
from tilewright.workloads import gemm

NEST = """
DRAM keeps A W O
for M in 16
  GLB keeps A O
  parallel K in 8 on array.y
    spad keeps A W O
    for N in 16
      for K in 2
"""


def test_notes_give_tile_sizes_and_axes() -> None:
    mapping = Mapping(gemm(16, 16, 16), LoopNest.parse(NEST))
    assert mapping_lines(mapping, load_arch("eyeriss")) == [
        "DRAM keeps A                  # 256 words, 512 B",
        "DRAM keeps W                  # 256 words, 512 B",
        "DRAM keeps O                  # 256 words, 512 B",
        "for M in 16",
        "  GLB keeps A                 # 16 words, 32 B",
        "  GLB keeps O                 # 16 words, 32 B",
        "  parallel K in 8 on array.y  # axis of 12",
        "    spad keeps A              # 2 words, 4 B",
        "    spad keeps W              # 32 words, 64 B",
        "    spad keeps O              # 16 words, 32 B",
        "    for N in 16",
        "      for K in 2",
    ]


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_the_annotated_nest_parses_back(seed: int) -> None:
    rng = random.Random(seed)
    problem, arch = random_problem(rng), random_architecture(rng)
    try:
        mapping = random_mapping(rng, problem, arch)
    except MappingError:
        pytest.skip("no such mapping")
    assert LoopNest.parse(mapping_document(mapping, arch)) == mapping.nest
