"""Machines that are written as files are read back as they were."""

from __future__ import annotations

import random

import pytest

import longer
from generators import random_architecture
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, Op, list_archs, load_arch, parse_arch
from tilewright.arch.writer import architecture_text
from tilewright.ir import ArchitectureError


@pytest.mark.parametrize("name", list_archs())
def test_the_library(name: str) -> None:
    arch = load_arch(name)
    assert parse_arch(architecture_text(arch)) == arch


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_random_machines(seed: int) -> None:
    arch = random_architecture(random.Random(seed), capacity=200)
    assert parse_arch(architecture_text(arch)) == arch


def test_everything_that_a_machine_can_have() -> None:
    axes = (ArrayAxis(size=3, dims=("K", "C"), reuse="output"), ArrayAxis(size=2, reduce=False, latency_cycles=1.5))
    arch = Architecture(
        name='odd: "name" # 1',
        description="#1 \\ two: 'lines'",
        technology="7 nm",
        source="- here",
        clock_hz=1e9 / 3,
        word_bits=7,
        partial_sum_bits=34,
        inner_drain_read=False,
        first_read_elision=False,
        reuse="at_node",
        footprint="box",
        latency="with_fill",
        overlap="across_operations",
        leakage_pj_per_cycle=0.1,
        area_mm2=1 / 3,
        levels=(
            Memory(name="DRAM", access_bits=64, read_energy_pj=512, write_energy_pj=1e-7, shared_bits_per_cycle=0.1),
            Fanout(name="array", axes=axes, multicast=False, spatial_reduction=False, hop_pj_per_bit=0.06),
            Memory(name="spad", size_bits=9, partition_bits={"input": 192, "weight": 3584}, access_bits=16,
                   read_energy_pj=1, write_energy_pj=2, read_bits_per_cycle=16, write_bits_per_cycle=3.5,
                   weight_bits_per_cycle=4, is_cache=True,
                   keeps=Keeps(output="may"), halo="exact", double_buffered=True, overlaps=False, block_bits=24,
                   leakage_pj_per_cycle=2, area_mm2=3),
        ),
        mac=Mac(energy_pj=0.3, per_cycle=0.5, leakage_pj_per_cycle=1, area_mm2=1e-5,
                ops={"exp": Op(energy_pj=2, per_cycle=0.25)}),
    )  # fmt: skip
    assert parse_arch(architecture_text(arch, ["a note", "of a name \0 with\nothers"])) == arch


def test_names_that_no_file_can_hold() -> None:
    arch = load_arch("eyeriss")
    renamed = arch.levels[1].model_copy(update={"name": "G L B"})
    with pytest.raises(ArchitectureError, match="eyeriss: a file cannot hold the name 'G L B'"):
        architecture_text(arch.model_copy(update={"levels": (arch.levels[0], renamed, *arch.levels[2:])}))
    with pytest.raises(ArchitectureError, match="a file cannot hold the text 'costs"):
        architecture_text(arch.model_copy(update={"description": "costs $x"}))
