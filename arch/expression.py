"""Formulas of numbers with units: `6 pJ * (size / 108 KiB)**0.5`.

    numbers      3   0.5   1e-3, and with a unit behind: 108 KiB, 16 B/cycle, 0.5 mW, 28 nm; (lanes + 1) words
    operations   + - * /, ** for powers, parentheses
    functions    min(a, b, ...)  max(a, b, ...)  sqrt(a)  log2(a)  ceil(a)  floor(a)  round(a)
    names        of fields and parameters; who evaluates says what they stand for (`formulas.py`)

Units are counted along: a size by a size is a number, an energy plus a size is an error. A whole power of a number is
exact, as are sums, products and quotients; other powers are floats. The text is read by a parser of its own, and
nothing of it is ever run as a program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeAlias

from ..ir import ArchitectureError, did_you_mean
from .units import AMBIGUOUS_UNITS, BASE_UNITS, number_text, shown, size_text

LONGEST = 200
"""Characters of the longest formula."""
DEEPEST = 30
"""Parentheses inside each other, at most; signs and powers count too."""

Number: TypeAlias = Fraction | float

_DIMENSIONS = ("bit", "pJ", "s", "cycle", "mm")
_LARGEST = 1e30
_MOST_DIGITS = 2000  # bits of a numerator or denominator; a float takes over beyond
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2}(?![\w.]))?)"
    r"|(?P<name>\$?[^\W\d]\w*(?:\.[^\W\d]\w*)*)|(?P<sign>\*\*|[-+*/(),]))"
)
_FUNCTIONS = ("min", "max", "sqrt", "log2", "ceil", "floor", "round")
_ROUNDING: dict[str, Callable[[Number], int]] = {"ceil": math.ceil, "floor": math.floor, "round": round}


@dataclass(frozen=True)
class Quantity:
    """A number in base units, and its dimension.

    number  exact where only whole powers were taken
    powers  of bit, pJ, s, cycle and mm
    """

    number: Number
    powers: tuple[Fraction, ...] = (Fraction(0),) * len(_DIMENSIONS)

    @property
    def text(self) -> str:
        """As a file writes it: `64 KiB`, `6 pJ`, `16 B/cycle`; with powers where no field has such a quantity."""
        return _text(self)


Lookup: TypeAlias = Callable[[str], "Quantity | None"]
"""What a name stands for; None for a name that nothing has."""


def unit(name: str) -> Quantity | None:
    """One of a unit, such as `KiB` or `pJ`; None for a word that is none. A word has no width here."""
    if name not in BASE_UNITS:
        return None
    number, base = BASE_UNITS[name]
    return Quantity(Fraction(number), tuple(Fraction(base.get(dimension, 0)) for dimension in _DIMENSIONS))


def evaluate(text: str, lookup: Lookup, known: Callable[[], list[str]] = list) -> Quantity:
    """What a formula comes to.

    lookup  of names; `word` and `words` are asked for too, where they are units
    known   all names, to suggest one

    Raises ArchitectureError for a text that is no formula, an unknown name, units that do not fit, a division by zero,
    and numbers beyond 1e30 of a base unit.
    """
    if len(text) > LONGEST:
        raise ArchitectureError(f"a formula of {len(text)} characters, expected {LONGEST} at most")
    return _Parser(text, lookup, known).whole()


class UnreadableFormulaError(ArchitectureError):
    """A text that is no formula at all, whatever its names stand for."""


class _Parser:
    """Reads and evaluates in one pass: sums of products of powers."""

    def __init__(self, text: str, lookup: Lookup, known: Callable[[], list[str]]) -> None:
        self.text, self.lookup, self.known = text, lookup, known
        self.tokens = self._tokens()
        self.at = self.depth = 0

    def _tokens(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        end = len(self.text.rstrip())
        position = 0
        while position < end:
            match = _TOKEN.match(self.text, position)
            if match is None:
                rest = self.text[position:].strip()
                hint = "a power is written **" if rest.startswith("^") else None
                self._unreadable(f"cannot read {shown(rest)}", hint)
            found.append((match.lastgroup or "", match[match.lastgroup or ""]))
            position = match.end()
        return [*found, ("end", "")]

    def _refuse(self, message: str, hint: str | None = None) -> NoReturn:
        raise ArchitectureError(f"formula {shown(self.text)}: {message}", hint=hint)

    def _unreadable(self, message: str, hint: str | None = None) -> NoReturn:
        raise UnreadableFormulaError(f"formula {shown(self.text)}: {message}", hint=hint)

    def _take(self, *signs: str) -> str:
        """The next token if it is one of these signs, and then the one after it is next; or nothing."""
        kind, token = self.tokens[self.at]
        if kind != "sign" or token not in signs:
            return ""
        self.at += 1
        return token

    def _found(self) -> str:
        return shown(self.tokens[self.at][1]) if self.tokens[self.at][0] != "end" else "the end"

    def whole(self) -> Quantity:
        value = self._sum()
        kind, token = self.tokens[self.at]
        if kind != "end":
            hint = AMBIGUOUS_UNITS.get(token) if kind == "name" else None
            hint = hint or (did_you_mean(token, BASE_UNITS) if kind == "name" else None)
            self._unreadable(f"found {shown(token)} behind a value, expected an operation such as * or a unit", hint)
        return value

    def _sum(self) -> Quantity:
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            self._check_alike(value, other, f"{'added to' if sign == '+' else 'subtracted from'}")
            number = value.number + other.number if sign == "+" else value.number - other.number
            value = self._checked(number, value.powers)
        return value

    def _product(self) -> Quantity:
        value = self._signed()
        while sign := self._take("*", "/"):
            other = self._signed()
            if sign == "/" and not other.number:
                self._refuse("a division by zero")
            turn = 1 if sign == "*" else -1
            number = value.number * other.number if sign == "*" else value.number / other.number
            powers = tuple(a + turn * b for a, b in zip(value.powers, other.powers, strict=True))
            value = self._checked(number, powers)
        return value

    def _signed(self) -> Quantity:
        """A sign before a power holds for the power: -2**2 is -4."""
        if not (sign := self._take("+", "-")):
            return self._power()
        value = self._deeper(self._signed)
        return Quantity(-value.number if sign == "-" else value.number, value.powers)

    def _power(self) -> Quantity:
        base = self._with_units()
        if not self._take("**"):
            return base
        exponent = self._deeper(self._signed)
        if any(exponent.powers):
            self._refuse(f"the exponent {exponent.text} has a unit, expected a number")
        return self._raised(base, exponent.number)

    def _raised(self, base: Quantity, exponent: Number) -> Quantity:
        exact = Fraction(exponent).limit_denominator(64)
        if base.number == 0 and exponent < 0:
            self._refuse("a division by zero: zero has no negative power")
        if base.number < 0 and exact.denominator != 1:
            self._refuse(f"{base.text} is negative, and only whole powers of it are numbers")
        powers = tuple(power * exact for power in base.powers)
        if not -64 <= exponent <= 64:
            self._refuse(f"the exponent is {float(exponent):g}, expected one from -64 to 64")
        is_whole = exact.denominator == 1 and exact == exponent
        try:
            number: Number = base.number ** int(exact) if is_whole else float(base.number) ** float(exponent)
        except OverflowError:
            self._refuse("a power is too large for a number")
        return self._checked(number, powers)

    def _with_units(self) -> Quantity:
        """A value and the units right behind it: 108 KiB, (lanes + 1) words."""
        value = self._primary()
        while self.tokens[self.at][0] == "name" and (behind := self._unit(self.tokens[self.at][1])) is not None:
            self.at += 1
            powers = tuple(a + b for a, b in zip(value.powers, behind.powers, strict=True))
            value = self._checked(value.number * behind.number, powers)
        return value

    def _unit(self, name: str) -> Quantity | None:
        return self.lookup("word") if name in ("word", "words") else unit(name)

    def _primary(self) -> Quantity:
        kind, token = self.tokens[self.at]
        if self._take("("):
            value = self._deeper(self._sum)
            if not self._take(")"):
                self._unreadable(f"found {self._found()}, expected a closing parenthesis")
            return value
        if kind not in ("number", "name"):
            self._unreadable(f"found {self._found()}, expected a number, a name or a parenthesis")
        self.at += 1
        if kind == "number":
            return self._checked(Fraction(token), Quantity(0).powers)
        return self._call(token) if self._take("(") else self._named(token)

    def _named(self, name: str) -> Quantity:
        """A unit alone is one of it: 6 pJ/bit. A name that is a unit too needs a $."""
        value = self._unit(name) or self.lookup(name)
        if value is None:
            hint = AMBIGUOUS_UNITS.get(name) or did_you_mean(name.lstrip("$"), [*self.known(), *BASE_UNITS])
            self._refuse(f"unknown name {shown(name)}, expected a field, a parameter or a unit", hint)
        return value

    def _call(self, name: str) -> Quantity:
        if name not in _FUNCTIONS:
            self._unreadable(f"unknown function {shown(name)}", did_you_mean(name, _FUNCTIONS))
        parts = [self._deeper(self._sum)]
        while self._take(","):
            parts.append(self._deeper(self._sum))
        if not self._take(")"):
            self._unreadable(f"found {self._found()}, expected a comma or a closing parenthesis")
        if name in ("min", "max"):
            for other in parts[1:]:
                self._check_alike(parts[0], other, "compared with")
            return (min if name == "min" else max)(parts, key=lambda part: part.number)
        if len(parts) != 1:
            self._refuse(f"{name} takes one value, found {len(parts)}")
        return self._function(name, parts[0])

    def _function(self, name: str, value: Quantity) -> Quantity:
        if name == "sqrt":
            return self._raised(value, Fraction(1, 2))
        if name == "log2":
            if any(value.powers) or value.number <= 0:
                self._refuse(f"log2 of {value.text}, expected a positive number without a unit")
            return Quantity(math.log2(value.number))
        if any(value.powers[1:]):
            self._refuse(f"{name} of {value.text}, expected a number or a size: sizes are rounded to bits")
        return Quantity(Fraction(_ROUNDING[name](value.number)), value.powers)

    def _check_alike(self, one: Quantity, other: Quantity, what: str) -> None:
        if one.powers != other.powers:
            found = f"{other.text} is {what} {one.text}" if what != "compared with" else f"{one.text} and {other.text}"
            self._refuse(f"the units do not fit: {found}", "both sides need the same kind of unit")

    def _deeper(self, part: Callable[[], Quantity]) -> Quantity:
        self.depth += 1
        if self.depth > DEEPEST:
            self._refuse(f"more than {DEEPEST} parentheses, signs or powers inside each other")
        value = part()
        self.depth -= 1
        return value

    def _checked(self, number: Number, powers: tuple[Fraction, ...]) -> Quantity:
        """Within the range of what a machine has, and of bounded length."""
        if isinstance(number, float) and not math.isfinite(number):
            self._refuse("a value is too large for a number")
        if not -_LARGEST <= number <= _LARGEST:
            self._refuse(f"a value is beyond {_LARGEST:g}, expected a smaller one")
        if isinstance(number, Fraction) and max(map(int.bit_length, number.as_integer_ratio())) > _MOST_DIGITS:
            number = float(number)
        return Quantity(number, powers)


_SIZE = tuple(map(Fraction, (1, 0, 0, 0, 0)))

# The dimensions that fields have, with the unit that a value is written in and how many base units that is.
_WRITTEN: dict[tuple[int | Fraction, ...], tuple[str, Fraction]] = {
    (0, 0, 0, 0, 0): ("", Fraction(1)),
    (0, 1, 0, 0, 0): ("pJ", Fraction(1)),
    (0, 1, 0, -1, 0): ("pJ/cycle", Fraction(1)),
    (0, 1, -1, 0, 0): ("mW", Fraction(10**9)),
    (-1, 1, 0, 0, 0): ("pJ/bit", Fraction(1)),
    (1, 0, 0, -1, 0): ("bit/cycle", Fraction(1)),
    (1, 0, -1, 0, 0): ("bit/s", Fraction(1)),
    (0, 0, -1, 1, 0): ("Hz", Fraction(1)),
    (0, 0, 1, 0, 0): ("s", Fraction(1)),
    (0, 0, 0, 0, 1): ("nm", Fraction(1, 10**6)),
    (0, 0, 0, 0, 2): ("mm2", Fraction(1)),
}


def _text(value: Quantity) -> str:
    if value.powers == _SIZE:
        return size_text(value.number)
    if value.powers in _WRITTEN:
        name, base = _WRITTEN[value.powers]
        return f"{number_text(value.number / base)} {name}".rstrip()
    powers = zip(_DIMENSIONS, value.powers, strict=True)
    words = [name if power == 1 else f"{name}^{number_text(power)}" for name, power in powers if power]
    return " ".join([number_text(value.number), *words])
