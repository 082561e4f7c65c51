"""The library machines against the tables that they cite, written down a second time."""

from __future__ import annotations

import pytest

from tilewright.arch import ArrayAxis, Keeps, Memory, list_archs, load_arch

KIB = 1024 * 8
MIB = 1024 * KIB


def memory(arch: str, name: str) -> Memory:
    level = load_arch(arch).level(name)
    assert isinstance(level, Memory)
    return level


def test_names() -> None:
    assert list_archs() == ("eyeriss", "three_level", "tpu_v1")


@pytest.mark.parametrize("name", list_archs())
def test_every_machine_loads_and_says_what_it_is(name: str) -> None:
    arch = load_arch(name)
    assert arch.name == name
    assert arch.description
    assert arch.technology
    assert arch.source
    assert load_arch(name) == arch


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
        assert arch.fanouts[0].axes == (ArrayAxis(size=256, reuse="output"), ArrayAxis(size=256, reuse="input"))
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
        weights = memory("tpu_v1", "DRAM").shared_bits_per_cycle
        assert weights is not None
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
