"""Numbers as people read them: a unit that fits, and no digits that mean nothing."""

from __future__ import annotations

_ENERGY_UNITS = ((1e12, "J"), (1e9, "mJ"), (1e6, "uJ"), (1e3, "nJ"), (1.0, "pJ"), (1e-3, "fJ"), (1e-6, "aJ"))
_POWER_UNITS = ((1e12, "W"), (1e9, "mW"), (1e6, "uW"), (1e3, "nW"), (1.0, "pW"))
_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))
_CLOCK_UNITS = ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz"))
_RATE_UNITS = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
_BYTE_UNITS = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_LARGEST_IN_DIGITS = 10**15


def significant(value: float, digits: int = 4) -> str:
    """A number with a few significant digits; in full below 10^9, as a power of ten beyond."""
    if 10 ** (digits - 1) <= abs(value) < 10**9:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}".replace("e+", "e")


def count(value: float) -> str:
    """A count in full with thousands separated, or as a power of ten where nobody would read the digits."""
    if abs(value) >= _LARGEST_IN_DIGITS:
        return power_of_ten(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def power_of_ten(value: float) -> str:
    """A large count as 1.234e56, for integers beyond the range of floats too."""
    try:
        return f"{float(value):.3e}".replace("e+", "e")
    except OverflowError:
        digits = str(value)
        return f"{digits[0]}.{digits[1:4]}e{len(digits) - 1}"


def energy(picojoules: float) -> str:
    """An energy such as 12.35 uJ."""
    return _scaled(picojoules, _ENERGY_UNITS)


def joule_seconds(picojoules: float, seconds: float) -> float:
    """An energy-delay product in J s: what machines of different clocks are compared by."""
    return picojoules * 1e-12 * seconds


def watts(picojoules_per_second: float) -> str:
    """A power such as 12.35 mW."""
    return _scaled(picojoules_per_second, _POWER_UNITS)


def seconds(value: float) -> str:
    """A time such as 3.277 ms."""
    return _scaled(value, _TIME_UNITS)


def clock(hertz: float) -> str:
    """A clock such as 200 MHz."""
    return _scaled(hertz, _CLOCK_UNITS)


def rate(bytes_per_second: float) -> str:
    """The bandwidth of a link such as 25 GB/s; GB are 10^9 bytes."""
    return _scaled(bytes_per_second, _RATE_UNITS)


def size(bits: float) -> str:
    """A capacity such as 108 KiB; bits where it is not a whole number of bytes."""
    return f"{bits:,.0f} bit" if bits % 8 else _scaled(bits / 8, _BYTE_UNITS)


def exact_size(number: int) -> str:
    """Bytes as an option takes them, with no digit lost: 512MiB, 1000B."""
    for scale, unit in _BYTE_UNITS[1:]:
        if number % int(scale) == 0:
            return f"{number // int(scale)}{unit}"
    return f"{number}B"


def percent(part: float, whole: float) -> str:
    """A share such as 12.3%; a part that is too small to show, yet there, is <0.1%."""
    if not whole:
        return "-"
    share = 100 * part / whole
    return "<0.1%" if 0 < share < 0.05 else f"{share:.1f}%"


def exact(value: float) -> str:
    """Digits enough that two values that differ look different."""
    return f"{value:,.10g}".replace("e+", "e")


def plural(number: int, one: str, many: str | None = None) -> str:
    """A counted noun such as `1 mapping` or `2 mappings`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """The value in the largest unit of which it has at least one, after rounding."""
    if not value:
        return f"0 {next(unit for scale, unit in units if scale == 1.0)}"
    for scale, unit in units:
        if abs(value) / scale >= 0.99995:
            return f"{significant(value / scale)} {unit}"
    scale, unit = units[-1]
    return f"{significant(value / scale)} {unit}"
