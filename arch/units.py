"""Quantities with their units written out, into the base units: bits, pJ, hertz, bits or pJ per cycle, square mm.

    size       108 KiB   24 B   512 bit   12 words        KiB, MiB, GiB are powers of 1024; kB, MB, GB of 1000
    energy     6 pJ   12 fJ   0.45 nJ
    clock      200 MHz   1 GHz
    bandwidth  16 B/cycle   4 words/cycle   480 MB/s      any size per cycle or per second; of a link, per second
    leakage    0.5 mW   2 pJ/cycle                        a power, or any energy per cycle
    hop        0.06 pJ/bit   1 pJ/word                    any energy per size
    area       0.05 mm2   1200 um2
    time       3 us   10 ns
    duration   1 cycle   2 ns                             cycles, or any time
    length     28 nm

A number is never read without its unit. Arithmetic is exact until the last step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ..ir import ArchitectureError, did_you_mean

_BYTE = 8
_SIZES: Mapping[str, int] = {
    "bit": 1,
    "bits": 1,
    "kbit": 10**3,
    "Mbit": 10**6,
    "Gbit": 10**9,
    "Kibit": 2**10,
    "Mibit": 2**20,
    "Gibit": 2**30,
    "B": _BYTE,
    "kB": _BYTE * 10**3,
    "MB": _BYTE * 10**6,
    "GB": _BYTE * 10**9,
    "TB": _BYTE * 10**12,
    "KiB": _BYTE * 2**10,
    "MiB": _BYTE * 2**20,
    "GiB": _BYTE * 2**30,
    "TiB": _BYTE * 2**40,
}
_WORDS = ("word", "words")
_ENERGIES: Mapping[str, Fraction] = {
    "aJ": Fraction(1, 10**6),
    "fJ": Fraction(1, 1000),
    "pJ": Fraction(1),
    "nJ": Fraction(1000),
    "uJ": Fraction(10**6),
    "µJ": Fraction(10**6),  # the micro sign ...
    "μJ": Fraction(10**6),  # ... and the Greek letter, which looks the same
    "mJ": Fraction(10**9),
    "J": Fraction(10**12),
}
_CLOCKS: Mapping[str, int] = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_POWERS: Mapping[str, Fraction] = {  # pJ per second
    "nW": Fraction(10**3),
    "uW": Fraction(10**6),
    "mW": Fraction(10**9),
    "W": Fraction(10**12),
}
_AREAS: Mapping[str, Fraction] = {"um2": Fraction(1, 10**6), "mm2": Fraction(1), "cm2": Fraction(100)}
_LENGTHS: Mapping[str, Fraction] = {"nm": Fraction(1, 10**6), "um": Fraction(1, 10**3), "mm": Fraction(1)}
_PERIODS = ("cycle", "s")
_TIMES: Mapping[str, Fraction] = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}

BASE_UNITS: Mapping[str, tuple[Fraction, Mapping[str, int]]] = {
    **{name: (Fraction(bits), {"bit": 1}) for name, bits in _SIZES.items()},
    **{name: (pj, {"pJ": 1}) for name, pj in _ENERGIES.items()},
    **{name: (Fraction(hz), {"cycle": 1, "s": -1}) for name, hz in _CLOCKS.items()},
    **{name: (pj, {"pJ": 1, "s": -1}) for name, pj in _POWERS.items()},
    **{name: (mm2, {"mm": 2}) for name, mm2 in _AREAS.items()},
    **{name: (s, {"s": 1}) for name, s in _TIMES.items()},
    **{name: (mm, {"mm": 1}) for name, mm in _LENGTHS.items()},
    **dict.fromkeys(("cycle", "cycles"), (Fraction(1), {"cycle": 1})),
}
"""Every simple unit but the word: how many base units it is, and the powers of bit, pJ, s, cycle and mm in it."""

# Spellings that people use for two different things; the nearest name would be a guess.
AMBIGUOUS_UNITS = {
    "b": "b may be bits or bytes: write bit or B",
    "K": "write the unit out: KiB is 1024 B, kB is 1000 B, and 1 kbit is 1000 bit",
    "KB": "KB may be 1024 or 1000 bytes: write KiB for 1024 B or kB for 1000 B",
    "Kb": "write Kibit or kbit for bits, KiB or kB for bytes",
    "kb": "write Kibit or kbit for bits, KiB or kB for bytes",
    "Mb": "write Mibit or Mbit for bits, MiB or MB for bytes",
    "Gb": "write Gibit or Gbit for bits, GiB or GB for bytes",
}

# The digits are bounded so that no text, however odd, costs time or memory to read.
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?)\s*(.*)", re.DOTALL
)
_MORE_DIGITS = re.compile(r"[0-9.]|[eE][+-]?[0-9]")
LARGEST_BITS = 2**60
"""Of a memory; capacities are counted in 64-bit integers further on."""

_WRITTEN_SIZES = (("MiB", 2**23), ("KiB", 2**13), ("B", 8), ("bit", 1))


@dataclass(frozen=True)
class _Kind:
    """What is being read: its name with an article, an example, and the units that a hint lists.

    table  of a quantity in simple units, how much each of them is
    zero   whether it may be: a model may leave a part out
    """

    what: str
    example: str
    units: tuple[str, ...]
    table: Mapping[str, Fraction | int] = field(default_factory=dict)
    zero: bool = False

    @property
    def expected(self) -> str:
        return f"expected {self.what} such as {self.example}"

    def value(self, text: str) -> Fraction:
        """A quantity in simple units."""
        number, unit = self.split(text)
        if unit not in self.table:
            raise self.wrong_unit(text, unit)
        return number * self.table[unit]

    def split(self, text: str) -> tuple[Fraction, str]:
        """The number and the unit of a quantity."""
        match = _QUANTITY.fullmatch(text.strip())
        if match is None:
            raise ArchitectureError(f"{shown(text)} is not {self.what}, {self.expected}")
        number, unit = Fraction(match[1]), match[2].strip()
        if _MORE_DIGITS.match(unit):
            message = f"the number of {shown(text)} has too many digits, {self.expected}"
            raise ArchitectureError(message, hint="numbers have up to 30 digits, and exponents up to 2")
        if not unit:
            raise ArchitectureError(f"{shown(text)} has no unit, {self.expected}", hint=self._units_hint())
        if number < 0 or (number == 0 and not self.zero):
            raise ArchitectureError(f"{shown(text)} is {'negative' if number else 'zero'}, {self.expected}")
        return number, unit

    def bits_of(self, unit: str, word_bits: int | None, text: str) -> int:
        """Bits of one unit of size."""
        if unit in _WORDS and word_bits is None:
            raise ArchitectureError(f"{shown(text)} is in words, and no word width is known here, expected bit or B")
        if unit not in _WORDS and unit not in _SIZES:
            raise self.wrong_unit(text, unit)
        return _SIZES.get(unit) or word_bits or 0

    def wrong_unit(self, text: str, unit: str) -> ArchitectureError:
        message = f"{shown(unit)} in {shown(text)} is not a unit of {self.what.split()[1]}, {self.expected}"
        return ArchitectureError(message, hint=self._unit_hint(unit))

    def _unit_hint(self, unit: str) -> str:
        if unit[0] in ",_'":
            return "write the number without separators, such as 1024"
        size = unit.partition("/")[0].strip()
        if size in AMBIGUOUS_UNITS and self in (_SIZE, _BANDWIDTH, _RATE):
            return AMBIGUOUS_UNITS[size]
        for known in self.units:
            if known.casefold() == unit.casefold():
                return f"did you mean {known!r}?"
        near = did_you_mean(unit, dict.fromkeys(self.units))
        return near if near.startswith("did you mean") else self._units_hint()

    def _units_hint(self) -> str:
        return "units: " + ", ".join(list(dict.fromkeys(self.units))[:6])


_SIZE = _Kind("a size", "108 KiB", ("bit", "B", "KiB", "MiB", "GiB", "words", *_SIZES))
_ENERGY = _Kind("an energy", "6 pJ", ("pJ", "fJ", "nJ", *_ENERGIES), _ENERGIES, zero=True)
_CLOCK = _Kind("a clock", "200 MHz", tuple(_CLOCKS), _CLOCKS)
_TIME = _Kind("a time", "3 us", tuple(_TIMES), _TIMES, zero=True)
_DURATION = _Kind("a duration", "1 cycle or 2 ns", ("cycle", "cycles", *_TIMES), zero=True)
_BANDWIDTH = _Kind(
    "a bandwidth", "16 B/cycle or 34 GB/s", ("bit/cycle", "B/cycle", "words/cycle", "MB/s", "GB/s", "GiB/s")
)
_RATE = _Kind("a bandwidth", "25 GB/s", ("GB/s", "MB/s", "TB/s", "GiB/s", "Gbit/s"))
_LEAKAGE = _Kind("a leakage", "0.5 mW or 2 pJ/cycle", (*_POWERS, "pJ/cycle", "fJ/cycle"), zero=True)
_PER_SIZE = _Kind("an energy per size", "0.06 pJ/bit", ("pJ/bit", "fJ/bit", "pJ/B", "pJ/word"), zero=True)
_LENGTH = _Kind("a length", "28 nm", tuple(_LENGTHS), _LENGTHS)
_AREA = _Kind("an area", "0.05 mm2", tuple(_AREAS), _AREAS)

# All of these raise ArchitectureError for a missing or wrong unit, and for a number that is negative, or zero where the
# examples at the top of the module do not say that a model may leave it out.


def size_bits(text: str, *, word_bits: int | None = None) -> int:
    """A size such as `108 KiB`, `512 bit` or `12 words`, in bits: a whole number of them.

    word_bits  width of a word [bit]; without it `words` is refused
    """
    number, unit = _SIZE.split(text)
    bits = number * _SIZE.bits_of(unit, word_bits, text)
    if bits.denominator != 1:
        raise ArchitectureError(f"{shown(text)} is {float(bits):g} bits, expected a whole number of bits")
    if bits > LARGEST_BITS:
        raise ArchitectureError(f"{shown(text)} is too large, {_SIZE.expected}", hint="the largest size is 128 PiB")
    return int(bits)


def energy_pj(text: str) -> float:
    """An energy such as `6 pJ` or `0.45 nJ`, in picojoules. Zero is an energy: a model may leave a part out."""
    return float(_ENERGY.value(text))


def clock_hz(text: str) -> float:
    """A clock such as `200 MHz`, in hertz."""
    return float(_CLOCK.value(text))


def seconds(text: str) -> float:
    """A time such as `3 us`, in seconds. Zero is a time: a model may leave a part out."""
    return float(_TIME.value(text))


def area_mm2(text: str) -> float:
    """An area such as `0.05 mm2`, in square millimetres."""
    return float(_AREA.value(text))


def length_nm(text: str) -> float:
    """A length such as `28 nm`, in nanometres."""
    return float(_LENGTH.value(text) * 10**6)


def cycles(text: str, *, clock_hz: float | None = None) -> float:
    """A duration such as `1 cycle` or `2 ns`, in cycles. Zero is one.

    clock_hz   clock [Hz]; without it a time is refused
    """
    number, unit = _DURATION.split(text)
    if unit in ("cycle", "cycles"):
        return float(number)
    if unit not in _TIMES:
        raise _DURATION.wrong_unit(text, unit)
    if clock_hz is None:
        raise ArchitectureError(f"{shown(text)} is a time, and no clock is known; expected cycles")
    return float(number * _TIMES[unit] * Fraction(clock_hz))


def bits_per_cycle(text: str, *, word_bits: int | None = None, clock_hz: float | None = None) -> float:
    """A bandwidth such as `16 B/cycle`, `4 words/cycle` or `480 MB/s`, in bits per cycle.

    word_bits  width of a word [bit]; without it `words` is refused
    clock_hz   clock [Hz]; without it a bandwidth per second is refused
    """
    number, unit = _BANDWIDTH.split(text)
    amount, _, period = (part.strip() for part in unit.partition("/"))
    if period not in _PERIODS or amount not in (*_SIZES, *_WORDS):
        raise _BANDWIDTH.wrong_unit(text, unit)
    bits = number * _BANDWIDTH.bits_of(amount, word_bits, text)
    if period == "cycle":
        return float(bits)
    if clock_hz is None:
        raise ArchitectureError(f"{shown(text)} is per second, and no clock is known; expected one per cycle")
    return float(bits / Fraction(clock_hz))


def bytes_per_second(text: str) -> float:
    """The bandwidth of a link such as `25 GB/s` or `400 Gbit/s`, in bytes per second."""
    number, unit = _RATE.split(text)
    amount, _, period = (part.strip() for part in unit.partition("/"))
    if period != "s" or amount not in _SIZES:
        raise _RATE.wrong_unit(text, unit)
    return float(number * _SIZES[amount] / _BYTE)


def pj_per_cycle(text: str, *, clock_hz: float | None = None) -> float:
    """A leakage such as `0.5 mW` or `2 pJ/cycle`, in pJ per cycle. Zero is one.

    clock_hz   clock [Hz]; without it a power is refused
    """
    number, unit = _LEAKAGE.split(text)
    amount, _, period = (part.strip() for part in unit.partition("/"))
    if period == "cycle" and amount in _ENERGIES:
        return float(number * _ENERGIES[amount])
    if unit not in _POWERS:
        raise _LEAKAGE.wrong_unit(text, unit)
    if clock_hz is None:
        raise ArchitectureError(f"{shown(text)} is a power, and no clock is known; expected an energy per cycle")
    return float(number * _POWERS[unit] / Fraction(clock_hz))


def pj_per_bit(text: str, *, word_bits: int | None = None) -> float:
    """An energy per size such as `0.06 pJ/bit` or `1 pJ/word`, in pJ per bit. Zero is one.

    word_bits  width of a word [bit]; without it `words` is refused
    """
    number, unit = _PER_SIZE.split(text)
    energy, _, amount = (part.strip() for part in unit.partition("/"))
    if energy not in _ENERGIES or amount not in (*_SIZES, *_WORDS):
        raise _PER_SIZE.wrong_unit(text, unit)
    return float(number * _ENERGIES[energy] / _PER_SIZE.bits_of(amount, word_bits, text))


def size_text(bits: Fraction | float) -> str:
    """A size as a file writes it: a whole number of bits in the largest unit of which it is a whole number."""
    exact = Fraction(bits)
    if exact.denominator != 1 or not exact:
        return f"{number_text(bits)} bit"
    name, by = next((name, by) for name, by in _WRITTEN_SIZES if exact % by == 0)
    return f"{number_text(exact / by)} {name}"


def size_words(bits: int) -> str:
    """A size as a message says it, rounded: 5.28 MiB."""
    name, by = next(((name, by) for name, by in _WRITTEN_SIZES if bits >= by), _WRITTEN_SIZES[-1])
    return f"{bits / by:,.2f}".rstrip("0").rstrip(".") + f" {name}"


def number_text(value: Fraction | float) -> str:
    """A number in the shortest way that gives the same float again."""
    exact = Fraction(value)
    return str(exact.numerator) if exact.denominator == 1 and abs(exact) < 10**15 else repr(float(value))


def shown(text: str, longest: int = 60) -> str:
    """The text as a message quotes it: in quotation marks, on one line, cut when it is long."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")
