from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.units import area_mm2, bits_per_cycle, clock_hz, energy_pj, pj_per_bit, pj_per_cycle, size_bits
from tilewright.ir import ArchitectureError


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("512 bit", 512),
        ("1 bits", 1),
        ("24 B", 192),
        ("1.5 B", 12),
        ("108 KiB", 108 * 1024 * 8),
        ("24 MiB", 24 * 2**23),
        ("1 GiB", 2**33),
        ("1 kB", 8000),
        ("2 MB", 16_000_000),
        ("1 GB", 8 * 10**9),
        ("64 Kibit", 65536),
        ("12 words", 192),
        ("1 word", 16),
        ("24B", 192),
        ("  24   B ", 192),
        ("1e3 B", 8000),
        (".5 KiB", 4096),
    ],
)
def test_size(text: str, bits: int) -> None:
    assert size_bits(text, word_bits=16) == bits


@pytest.mark.parametrize(
    ("text", "picojoules"),
    [
        ("6 pJ", 6.0),
        ("0.45 nJ", 450.0),
        ("12 fJ", 0.012),
        ("1 uJ", 1e6),
        ("9 aJ", 9e-6),
        ("0 pJ", 0.0),
        ("0.1 pJ", 0.1),
    ],
)
def test_energy(text: str, picojoules: float) -> None:
    assert energy_pj(text) == picojoules


@pytest.mark.parametrize(("text", "hertz"), [("200 MHz", 2e8), ("1 GHz", 1e9), ("1.05 GHz", 1.05e9), ("32 kHz", 32e3)])
def test_clock(text: str, hertz: float) -> None:
    assert clock_hz(text) == hertz


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16 B/cycle", 128.0),
        ("128 bit/cycle", 128.0),
        ("4 words/cycle", 64.0),
        ("1 word/cycle", 16.0),
        ("0.5 bit/cycle", 0.5),
        ("16 B / cycle", 128.0),
        ("480 MB/s", 19.2),
        ("34 GB/s", 1360.0),
        ("1 GiB/s", 2**33 / 2e8),
    ],
)
def test_bandwidth(text: str, expected: float) -> None:
    assert bits_per_cycle(text, word_bits=16, clock_hz=2e8) == expected


SIZE = "expected a size such as 108 KiB"
ENERGY = "expected an energy such as 6 pJ"
CLOCK = "expected a clock such as 200 MHz"
BANDWIDTH = "expected a bandwidth such as 16 B/cycle or 34 GB/s"


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (size_bits, "108", f"'108' has no unit, {SIZE}\nhint: units: bit, B, KiB, MiB, GiB, words"),
        (size_bits, "-3 KiB", f"'-3 KiB' is negative, {SIZE}"),
        (size_bits, "0 B", f"'0 B' is zero, {SIZE}"),
        (size_bits, "large", f"'large' is not a size, {SIZE}"),
        (size_bits, "1,024 B", f"',024 B' in '1,024 B' is not a unit of size, {SIZE}\nhint: write the number without"),
        (size_bits, "6 MHz", f"'MHz' in '6 MHz' is not a unit of size, {SIZE}\nhint: units: bit, B,"),
        (size_bits, "4 KB", "hint: KB may be 1024 or 1000 bytes: write KiB for 1024 B or kB for 1000 B"),
        (size_bits, "4 b", "hint: b may be bits or bytes: write bit or B"),
        (size_bits, "4 kib", "hint: did you mean 'KiB'?"),
        (size_bits, "4 byte", f"'byte' in '4 byte' is not a unit of size, {SIZE}"),
        (size_bits, "0.3 B", "'0.3 B' is 2.4 bits, expected a whole number of bits"),
        (size_bits, "12 words", "'12 words' is in words, and no word width is known here, expected bit or B"),
        (size_bits, "1e90 GiB", f"'1e90 GiB' is too large, {SIZE}\nhint: the largest size is 128 PiB"),
        (energy_pj, "6", f"'6' has no unit, {ENERGY}\nhint: units: pJ, fJ, nJ"),
        (energy_pj, "6 MHz", f"'MHz' in '6 MHz' is not a unit of energy, {ENERGY}\nhint: units: pJ,"),
        (energy_pj, "-1 pJ", f"'-1 pJ' is negative, {ENERGY}"),
        (energy_pj, "6 PJ", "hint: did you mean 'pJ'?"),
        (clock_hz, "200", f"'200' has no unit, {CLOCK}"),
        (clock_hz, "0 MHz", f"'0 MHz' is zero, {CLOCK}"),
        (clock_hz, "-5 MHz", f"'-5 MHz' is negative, {CLOCK}"),
        (clock_hz, "200 Mhz", f"'Mhz' in '200 Mhz' is not a unit of clock, {CLOCK}\nhint: did you mean 'MHz'?"),
        (bits_per_cycle, "16", f"'16' has no unit, {BANDWIDTH}"),
        (bits_per_cycle, "16 B", f"'B' in '16 B' is not a unit of bandwidth, {BANDWIDTH}"),
        (bits_per_cycle, "16 B/tick", f"'B/tick' in '16 B/tick' is not a unit of bandwidth, {BANDWIDTH}"),
        (bits_per_cycle, "16 J/cycle", f"'J/cycle' in '16 J/cycle' is not a unit of bandwidth, {BANDWIDTH}"),
        (bits_per_cycle, "0 B/cycle", f"'0 B/cycle' is zero, {BANDWIDTH}"),
        (bits_per_cycle, "4 KB/s", "hint: KB may be 1024 or 1000 bytes"),
        (bits_per_cycle, "4 words/cycle", "no word width is known here"),
        (bits_per_cycle, "4 MB/s", "'4 MB/s' is per second, and no clock is known; expected one per cycle"),
    ],
)
def test_bad_quantity(read: Callable[[str], float], text: str, message: str) -> None:
    with pytest.raises(ArchitectureError) as caught:
        read(text)
    assert message in str(caught.value)


def test_messages_cut_long_texts() -> None:
    with pytest.raises(ArchitectureError) as caught:
        size_bits("x" * 10_000)
    assert len(str(caught.value)) < 200


@given(st.text(max_size=40) | st.from_regex(r"[0-9.e+-]{1,12} ?[a-zA-Z]{0,4}(/[a-z]{1,5})?", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (size_bits, energy_pj, clock_hz, bits_per_cycle, pj_per_cycle, pj_per_bit, area_mm2):
        try:
            value = read(text)
        except ArchitectureError:
            continue
        assert value > 0 or read in (energy_pj, pj_per_cycle, pj_per_bit)


@given(st.integers(1, 2**40), st.sampled_from(["bit", "B", "KiB", "kB"]))
def test_sizes_are_exact(number: int, unit: str) -> None:
    assert size_bits(f"{number} {unit}") == number * size_bits(f"1 {unit}")
