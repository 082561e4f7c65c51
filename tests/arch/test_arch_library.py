"""The library machines against the tables that they cite, written down a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.arch import ArrayAxis, Fanout, Keeps, Memory, list_archs, load_arch
from tilewright.arch.units import clock_hz

KIB = 1024 * 8
MIB = 1024 * KIB


# MAC units and clock of every machine.
MACS = {
    "a100": (110_592, 1.41e9),
    "ascend_like": (1_024, 1e9),
    "cpu": (16, 2.5e9),
    "diannao": (256, 0.98e9),
    "edge_tpu_like": (1_024, 1e9),
    "eyeriss": (168, 200e6),
    "eyeriss_like": (168, 1e9),
    "eyeriss_v2_like": (192, 200e6),
    "gemmini": (256, 1e9),
    "h100": (270_336, 1.83e9),
    "meta_prototype_like": (1_024, 1e9),
    "nvdla_full": (2_048, 1e9),
    "nvdla_small": (64, 1e9),
    "scnn_like": (1_024, 1e9),
    "shidiannao": (64, 1e9),
    "simba": (1_024, 2e9),
    "sparse_tensor_core": (1024, 1.41e9),
    "systolic": (256, 1e9),
    "tesla_npu_like": (4_096, 1e9),
    "three_level": (256, 1e9),
    "tpu_v1": (65_536, 700e6),
    "tpu_v4i": (65_536, 1.05e9),
    "v100": (40_960, 1.53e9),
}
# Peaks that their makers state, in operations a second (a multiply-accumulate is two), and how far rounding may go.
PEAKS = {
    "a100": (312e12, 0.001),
    "eyeriss": (2 * 33.6e9, 0),
    "h100": (989.4e12, 0.001),
    "simba": (4e12, 0.03),
    "tpu_v1": (92e12, 0.003),
    "tpu_v4i": (138e12, 0.003),
    "v100": (125e12, 0.003),
}


def memory(arch: str, name: str) -> Memory:
    level = load_arch(arch).level(name)
    assert isinstance(level, Memory)
    return level


def test_names() -> None:
    assert list_archs() == tuple(sorted(MACS))


@pytest.mark.parametrize("name", list_archs())
def test_every_machine_loads_and_says_what_it_is(name: str) -> None:
    arch = load_arch(name)
    assert arch.name == name
    assert arch.description
    assert arch.technology
    assert arch.source
    assert load_arch(name) == arch


@pytest.mark.parametrize("name", MACS)
def test_mac_units_and_clock(name: str) -> None:
    arch = load_arch(name)
    assert (arch.mac_instances, arch.clock_hz) == MACS[name]


@pytest.mark.parametrize("name", PEAKS)
def test_published_peaks(name: str) -> None:
    arch, (peak, within) = load_arch(name), PEAKS[name]
    assert 2 * arch.mac_instances * arch.mac.per_cycle * arch.clock_hz == pytest.approx(peak, rel=within, abs=0)


# Sizes of one instance, and how many there are, in the words of the sources.
SIZES = [
    ("a100", "L2", 40 * MIB, 1),
    ("a100", "shared", 164 * KIB, 108),
    ("a100", "registers", 64 * KIB, 4 * 108),
    ("ascend_like", "output_buffer", 256 * KIB, 1),
    ("ascend_like", "weight_buffer", 65536, 1),
    ("cpu", "L1", 32 * KIB, 1),
    ("cpu", "L2", 1 * MIB, 1),
    ("cpu", "registers", 32 * 512, 1),
    ("diannao", "NBin", 64 * 16 * 16, 1),
    ("diannao", "NBout", 64 * 16 * 16, 1),
    ("diannao", "SB", 64 * 256 * 16, 1),
    ("edge_tpu_like", "activation_memory", 2 * MIB, 1),
    ("edge_tpu_like", "output_register", 16, 8 * 4 * 4),
    ("eyeriss_like", "shared_glb", 16384 * 64, 1),
    ("eyeriss_like", "ifmap_spad", 12 * 16, 168),
    ("eyeriss_like", "weights_spad", 192 * 16, 168),
    ("eyeriss_like", "psum_spad", 16 * 16, 168),
    ("gemmini", "accumulator", 64 * KIB, 1),
    ("gemmini", "scratchpad", 256 * KIB, 1),
    ("h100", "L2", 50 * MIB, 1),
    ("h100", "shared", 228 * KIB, 132),
    ("meta_prototype_like", "input_buffer", 262144, 1),
    ("meta_prototype_like", "weight_buffer", 524288, 1),
    ("nvdla_full", "CBUF", 16 * 512 * 64 * 8, 1),
    ("nvdla_full", "CACC", 32 * 32 * 34, 1),
    ("nvdla_small", "CBUF", 32 * 512 * 8 * 8, 1),
    ("nvdla_small", "CACC", 32 * 8 * 34, 1),
    ("shidiannao", "SB", 128 * KIB, 1),
    ("simba", "accumulation_buffer", 128 * 24, 16 * 8),
    ("simba", "global_buffer", 64 * KIB, 1),
    ("simba", "input_buffer", 8 * KIB, 16),
    ("simba", "weight_buffer", 4096 * 8, 16 * 8),
    ("simba", "weight_register", 8, 1024),
    ("tesla_npu_like", "output_register", 32, 32 * 32 * 4),
    ("tpu_v4i", "CMEM", 128 * MIB, 1),
    ("tpu_v4i", "VMEM", 16 * MIB // 4, 4),
    ("v100", "L2", 6 * MIB, 1),
    ("v100", "shared", 96 * KIB, 80),
]


@pytest.mark.parametrize(("name", "level", "bits", "count"), SIZES)
def test_sizes(name: str, level: str, bits: int, count: int) -> None:
    assert memory(name, level).size_bits == bits
    assert load_arch(name).instances(level) == count


@pytest.mark.parametrize(
    ("name", "level", "gigabytes_per_second"),
    [
        ("a100", "HBM", 2039),
        ("h100", "HBM", 3350),
        ("v100", "HBM", 900),
        ("tpu_v4i", "HBM", 614),
        ("nvdla_full", "DRAM", 64),
        ("nvdla_small", "DRAM", 8),
        ("cpu", "L2", 160),
    ],
)
def test_links(name: str, level: str, gigabytes_per_second: float) -> None:
    bits = memory(name, level).shared_bits_per_cycle
    assert bits is not None
    assert bits / 8 * load_arch(name).clock_hz == pytest.approx(gigabytes_per_second * 1e9)


@pytest.mark.parametrize("name", ["ascend_like", "edge_tpu_like", "meta_prototype_like", "tesla_npu_like"])
def test_copies_of_a_shared_register_cost_what_the_register_does(name: str) -> None:
    """ZigZag: 0.01 pJ for a weight register that serves the MACs of all pixels."""
    pixels = load_arch(name).level("pixels")
    assert isinstance(pixels, Fanout)
    assert memory(name, "weight_register").read_energy_pj * pixels.instances == pytest.approx(0.01)


class TestEyeriss:
    def test_machine(self) -> None:
        arch = load_arch("eyeriss")
        assert (arch.clock_hz, arch.word_bits, arch.partial_sum_bits) == (200e6, 16, 16)
        assert [level.name for level in arch.levels] == ["DRAM", "GLB", "array", "spad"]
        assert arch.fanouts[0].axes == (ArrayAxis(size=14), ArrayAxis(size=12))
        assert arch.fanouts[0].multicast
        assert arch.fanouts[0].spatial_reduction
        assert arch.mac_instances == 168
        assert arch.mac_instances * arch.clock_hz == 33.6e9  # peak MAC/s of the paper at 200 MHz

    def test_sizes(self) -> None:
        assert memory("eyeriss", "GLB").size_bits == 108 * KIB
        spad = memory("eyeriss", "spad")
        assert spad.size_bits is None
        assert spad.partition_bits == {"input": 24 * 8, "weight": 448 * 8, "output": 48 * 8}

    def test_on_chip_sram_adds_up_to_the_published_total(self) -> None:
        glb = memory("eyeriss", "GLB").size_bits
        assert glb is not None
        assert glb + 168 * memory("eyeriss", "spad").partition_bits["weight"] == 181.5 * KIB

    def test_placement(self) -> None:
        assert memory("eyeriss", "GLB").keeps == Keeps(weight="never")
        assert memory("eyeriss", "spad").keeps == Keeps()

    @pytest.mark.parametrize(("name", "relative"), [("DRAM", 200), ("GLB", 6), ("spad", 1)])
    def test_energies_relative_to_a_mac(self, name: str, relative: int) -> None:
        level = memory("eyeriss", name)
        assert (level.access_bits, level.read_energy_pj, level.write_energy_pj) == (16, relative, relative)
        assert load_arch("eyeriss").mac.energy_pj == 1

    def test_bandwidths(self) -> None:
        link = memory("eyeriss", "DRAM").shared_bits_per_cycle
        assert link == 480e6 * 8 / 200e6 == 64 * 60e6 / 200e6
        assert memory("eyeriss", "GLB").shared_bits_per_cycle == 2 * 64
        spad = memory("eyeriss", "spad")
        assert (spad.read_bits_per_cycle, spad.write_bits_per_cycle, spad.shared_bits_per_cycle) == (None, None, None)


class TestTpu:
    def test_machine(self) -> None:
        arch = load_arch("tpu_v1")
        assert (arch.clock_hz, arch.word_bits, arch.partial_sum_bits) == (700e6, 8, 32)
        names = [level.name for level in arch.levels]
        assert names == ["DRAM", "unified_buffer", "accumulators", "array", "weight_register"]
        down, along = (ArrayAxis(size=256, reuse=reuse, latency_cycles=1.0) for reuse in ("output", "input"))
        assert arch.fanouts[0].axes == (down, along)
        assert 2 * arch.mac_instances * arch.clock_hz == pytest.approx(91.75e12, rel=1e-4)

    def test_sizes(self) -> None:
        assert memory("tpu_v1", "unified_buffer").size_bits == 24 * MIB
        assert memory("tpu_v1", "accumulators").size_bits == 4 * MIB == 4096 * 256 * 32
        assert memory("tpu_v1", "weight_register").size_bits == 8

    def test_placement(self) -> None:
        assert memory("tpu_v1", "unified_buffer").keeps == Keeps(weight="never")
        assert memory("tpu_v1", "accumulators").keeps == Keeps(input="never", weight="never")
        assert memory("tpu_v1", "weight_register").keeps == Keeps(input="never", output="never")
        assert memory("tpu_v1", "accumulators").double_buffered
        assert not memory("tpu_v1", "weight_register").double_buffered

    def test_bandwidths(self) -> None:
        outside = memory("tpu_v1", "DRAM")
        weights = outside.weight_bits_per_cycle
        assert weights is not None
        assert outside.input_bits_per_cycle == outside.output_bits_per_cycle == pytest.approx(14e9 * 8 / 700e6)
        assert weights == pytest.approx(34e9 * 8 / 700e6)
        assert load_arch("tpu_v1").mac_instances / (weights / 8) == pytest.approx(1349, abs=1)  # MACs a weight byte
        buffer = memory("tpu_v1", "unified_buffer")
        assert (buffer.read_bits_per_cycle, buffer.write_bits_per_cycle) == (2048, 2048)

    @pytest.mark.parametrize(
        ("name", "access", "picojoules"),
        [("DRAM", 1, 70), ("unified_buffer", 64, 100), ("accumulators", 64, 20), ("weight_register", 1, 0.009)],
    )
    def test_energies(self, name: str, access: int, picojoules: float) -> None:
        level = memory("tpu_v1", name)
        assert (level.access_bits, level.read_energy_pj, level.write_energy_pj) == (access, picojoules, picojoules)
        assert load_arch("tpu_v1").mac.energy_pj == 0.3


class TestThreeLevel:
    def test_machine(self) -> None:
        arch = load_arch("three_level")
        assert (arch.clock_hz, arch.word_bits, arch.mac.energy_pj, arch.mac.per_cycle) == (1e9, 8, 0.5, 1)
        assert [level.name for level in arch.levels] == ["DRAM", "GLB", "array", "RF"]
        assert arch.fanouts[0].axes == (ArrayAxis(size=16), ArrayAxis(size=16))

    @pytest.mark.parametrize(
        ("name", "size", "picojoules", "words", "keep"),
        [("DRAM", None, 200, 16, "must"), ("GLB", 128 * KIB, 6, 64, "may"), ("RF", 512 * 8, 1, 4, "may")],
    )
    def test_memory(self, name: str, size: int | None, picojoules: float, words: int, keep: str) -> None:
        level = memory("three_level", name)
        assert level.size_bits == size
        assert (level.access_bits, level.read_energy_pj, level.write_energy_pj) == (8, picojoules, picojoules)
        assert level.shared_bits_per_cycle == words * 8
        assert {level.keeps[role] for role in ("input", "weight", "output")} == {keep}


class TestDocumentation:
    PAGE = (Path(__file__).parents[2] / "docs" / "architectures.md").read_text(encoding="utf-8")

    def test_every_machine_has_its_row(self) -> None:
        rows = [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in self.PAGE.splitlines() if line[:3] == "| `"
        ]
        assert [row[0].strip("`") for row in rows] == list(list_archs())
        for name, macs, clock, bits, memories, source in rows:
            arch = load_arch(name.strip("`"))
            assert float(macs.replace(",", "")) == arch.mac_instances * arch.mac.per_cycle
            assert clock_hz(clock) == arch.clock_hz
            assert int(bits) == arch.word_bits
            assert [memory.split()[0] for memory in memories.split(", ")] == [m.name for m in arch.memories[1:]]
            assert source == arch.source.partition("; estimates: ")[0]
