"""Whole numbers for the solver: decimal figures as exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction


def fraction_of(figure: float) -> Fraction:
    """The simplest fraction that is written as this float: 0.1 is 1/10, 34e9 * 8 / 700e6 is 2720/7."""
    exact = Fraction(figure)
    for digits in range(1, 16):
        simple = exact.limit_denominator(10**digits)
        if float(simple) == figure:
            return simple
    return exact


def common_unit(fractions: Iterable[Fraction]) -> Fraction:
    """The largest unit of which all the fractions are whole multiples; 1 if all are 0."""
    numerator, denominator = 0, 1
    for fraction in fractions:
        if fraction:
            numerator = math.gcd(numerator, fraction.numerator)
            denominator = math.lcm(denominator, fraction.denominator)
    return Fraction(numerator or 1, denominator)
