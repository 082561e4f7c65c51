"""What is known of the words of a tensor before a program runs: between which numbers they are, and of which kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .....ir import Call, Expression, Number, Operand

_WHOLE, _SINGLE = (float(2 / np.finfo(kind).eps) for kind in (np.float64, np.float32))
"""The largest whole numbers up to which doubles, and words of single precision, hold all."""


@dataclass(frozen=True)
class KnownWords:
    """All words of a tensor; as it stands, nothing is known of them.

    low, high    between which they are, those that are numbers
    is_whole     whether they are whole numbers, or infinite
    is_single    whether single precision holds them
    may_be_none  whether some may be no number (NaN)
    """

    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False
    is_single: bool = False
    may_be_none: bool = True

    @property
    def is_exact(self) -> bool:
        """Whether they are whole numbers that doubles hold."""
        return self.is_whole and not self.may_be_none and max(-self.low, self.high) <= _WHOLE

    def with_zero(self) -> KnownWords:
        """These and 0."""
        return either(self, whole(0, 0))

    def times(self, count: int) -> KnownWords:
        """Sums of up to so many of them."""
        found = KnownWords(min(self.low * count, 0), max(self.high * count, 0), self.is_whole, may_be_none=False)
        return _checked(found) if self.is_exact else KnownWords()


UNKNOWN = KnownWords()


def whole(low: float, high: float) -> KnownWords:
    """Whole numbers from one to another."""
    return _checked(KnownWords(float(low), float(high), is_whole=True, may_be_none=False))


def either(one: KnownWords, other: KnownWords) -> KnownWords:
    """Words that are of the one or of the other."""
    return KnownWords(
        min(one.low, other.low),
        max(one.high, other.high),
        one.is_whole and other.is_whole,
        one.is_single and other.is_single,
        one.may_be_none or other.may_be_none,
    )


def known_values(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> KnownWords:
    """What stored numbers are."""
    if not values.size or not np.isfinite(values).all():
        return UNKNOWN
    singles = bool((values == values.astype(np.float32)).all())
    return KnownWords(float(values.min()), float(values.max()), bool((values == np.rint(values)).all()), singles, False)


def known_value(value: float) -> KnownWords:
    """What one number is."""
    return known_values(np.array([value], np.float64))


def known_words(expression: Expression, given: Mapping[str, KnownWords]) -> KnownWords:
    """What an expression makes of words, as C computes it in doubles: `larger(a, b)` is b where a is no number."""
    if isinstance(expression, Operand):
        return given[expression.tensor]
    if isinstance(expression, Number):
        return known_value(expression.value)
    return _called(expression, [known_words(one, given) for one in expression.arguments])


def _called(call: Call, given: list[KnownWords]) -> KnownWords:
    match call.function:
        case "max":
            return _larger(*given)
        case "relu":
            return _larger(given[0], whole(0, 0))
        case "min":
            return _negative(_larger(_negative(given[0]), _negative(given[1])))
        case "neg":
            return _negative(given[0])
        case "rint" | "floor" | "ceil" | "trunc":
            return _rounded(given[0])
        case "single":
            return _single(given[0])
        case "equal" | "less" | "not":
            return whole(0, 1)
        case "select":
            return either(given[1], given[2])
        case "add" | "sub" | "mul":
            return _arithmetic(call.function, *given)
    return _of_whole(call.function, given)


def _of_whole(function: str, given: list[KnownWords]) -> KnownWords:
    """Arithmetic of whole numbers, as a type has them."""
    if function in ("wrapped", "whole_product", "whole_power"):
        return _wrapped(function, given)
    if function not in ("quotient", "whole_remainder", "whole_fmod") or not all(one.is_exact for one in given):
        return UNKNOWN
    largest = given[function != "quotient"]
    return whole(-max(-largest.low, largest.high), max(-largest.low, largest.high))


def _wrapped(function: str, given: list[KnownWords]) -> KnownWords:
    """Whole numbers of a type, which the last two arguments state; those that are in it stay what they are."""
    *words, least, count = given
    low, high = least.low, least.low + count.low - 1
    found = (
        words[0] if function == "wrapped" else _arithmetic("mul", *words) if function == "whole_product" else UNKNOWN
    )
    if found.is_exact and low <= found.low and found.high <= high:
        return found
    if not all(one.is_exact for one in words) or (function == "whole_power" and words[1].low < 0):
        return KnownWords(low, high, is_whole=True)
    return whole(low, high) if count.low <= 2.0**32 else KnownWords(low, high, is_whole=True)


def _larger(left: KnownWords, right: KnownWords) -> KnownWords:
    low = right.low if left.may_be_none else max(left.low, right.low)
    singles = left.is_single and right.is_single
    return KnownWords(low, max(left.high, right.high), left.is_whole and right.is_whole, singles, right.may_be_none)


def _negative(x: KnownWords) -> KnownWords:
    return KnownWords(-x.high, -x.low, x.is_whole, x.is_single, x.may_be_none)


def _single(x: KnownWords) -> KnownWords:
    """Rounding keeps the order of numbers, and whole ones whole; beyond single precision they are infinite."""
    with np.errstate(over="ignore"):
        return KnownWords(float(np.float32(x.low)), float(np.float32(x.high)), x.is_whole, True, x.may_be_none)


def _rounded(x: KnownWords) -> KnownWords:
    """Rounded in some way."""
    low, high = (end if math.isinf(end) else float(way(end)) for way, end in ((math.floor, x.low), (math.ceil, x.high)))
    return KnownWords(low, high, True, x.is_single, x.may_be_none)


def _arithmetic(function: str, left: KnownWords, right: KnownWords) -> KnownWords:
    """Sums and products of whole numbers are such, of large doubles as well, all of which are whole."""
    if not left.is_exact or not right.is_exact:
        return KnownWords(is_whole=left.is_whole and right.is_whole)
    if function == "sub":
        right = _negative(right)
    if function != "mul":
        return whole(left.low + right.low, left.high + right.high)
    ends = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
    return whole(min(ends), max(ends))


def _checked(words: KnownWords) -> KnownWords:
    """Unknown where doubles do not hold all of these whole numbers; in single precision where that does."""
    if not words.is_exact:
        return UNKNOWN
    largest = max(abs(words.low), abs(words.high))
    return KnownWords(words.low, words.high, True, largest <= _SINGLE, False)
