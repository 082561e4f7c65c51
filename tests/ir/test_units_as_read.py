"""Numbers as people read them."""

from __future__ import annotations

import pytest

from tilewright.ir.units import clock, count, energy, percent, plural, power_of_ten, seconds, significant, size


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (energy(0), "0 pJ"),
        (energy(0.45), "450 fJ"),
        (energy(999.96), "1 nJ"),
        (energy(180736), "180.7 nJ"),
        (energy(1.5e12), "1.5 J"),
        (energy(1e-9), "0.001 aJ"),
        (seconds(0.003277), "3.277 ms"),
        (seconds(90), "90 s"),
        (clock(200e6), "200 MHz"),
        (size(8 * 108 * 1024), "108 KiB"),
        (size(0), "0 B"),
        (size(12), "12 bit"),
        (size(8 * 24), "24 B"),
        (count(1234567), "1,234,567"),
        (count(4.25), "4.2"),
        (count(10**30), "1.000e30"),
        (power_of_ten(10**400), "1.000e400"),
        (percent(1, 3), "33.3%"),
        (percent(1, 10**9), "<0.1%"),
        (percent(0, 5), "0.0%"),
        (percent(0, 0), "-"),
        (plural(1, "mapping"), "1 mapping"),
        (plural(2000, "mapping"), "2,000 mappings"),
        (significant(65536), "65,536"),
        (significant(0.0123456), "0.01235"),
        (significant(1.157e12), "1.157e12"),
    ],
)
def test_numbers(found: str, expected: str) -> None:
    assert found == expected
