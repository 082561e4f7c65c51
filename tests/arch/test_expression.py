"""The language of formulas: what texts come to, and what they are refused for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.expression import DEEPEST, LONGEST, Quantity, evaluate, unit
from tilewright.arch.units import BASE_UNITS
from tilewright.ir import ArchitectureError

VALUES = {"size": "64 KiB", "lanes": "8", "GLB.read": "6 pJ", "$lanes": "8", "clock": "200 MHz", "word": "16 bit"}


def lookup(name: str) -> Quantity | None:
    return evaluate(VALUES[name], lambda _: None) if name in VALUES else None


def value(text: str) -> str:
    return evaluate(text, lookup, lambda: list(VALUES)).text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "-4"),
        ("8 - 2 - 1", "5"),
        ("8 / 2 / 2", "2"),
        ("1 / 3 * 3", "1"),
        ("2 * 3 pJ", "6 pJ"),
        ("6 pJ * (size / 16 KiB)**0.5", "12 pJ"),
        ("6 pJ * sqrt(size / 16 KiB)", "12 pJ"),
        ("size * lanes", "512 KiB"),
        ("size / lanes", "8 KiB"),
        ("$lanes words", "16 B"),
        ("(lanes + 1) words/cycle", "144 bit/cycle"),
        ("34 GB/s", "272000000000 bit/s"),
        ("34 GB/s / clock", "1360 bit/cycle"),
        ("64 bit/cycle * clock", "12800000000 bit/s"),
        ("5 mW", "5 mW"),
        ("5 mW / clock", "25 pJ/cycle"),
        ("GLB.read / 16 bit", "0.375 pJ/bit"),
        ("2 * clock", "400000000 Hz"),
        ("100 um * 200 um", "0.02 mm2"),
        ("sqrt(4 mm2)", "2000000 nm"),
        ("28 nm / 14 nm", "2"),
        ("max(4, lanes, 6) + min(1, 2)", "9"),
        ("max(4 KiB, size)", "64 KiB"),
        ("ceil(10 bit / 4)", "3 bit"),
        ("floor(2.7) + round(2.7)", "5"),
        ("log2(size / 1 bit)", "19"),
        ("1e3 + 1.5e-1", "1000.15"),
        ("size * size", "274877906944 bit^2"),
    ],
)
def test_values(text: str, result: str) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size + GLB.read", "the units do not fit: 6 pJ is added to 64 KiB"),
        ("1 - 1 B", "the units do not fit: 1 B is subtracted from 1"),
        ("max(1, 2 B)", "the units do not fit: 1 and 2 B"),
        ("2 ** size", "the exponent 64 KiB has a unit"),
        ("2 ** 65", "the exponent is 65, expected one from -64 to 64"),
        ("1 / (lanes - 8)", "a division by zero"),
        ("(lanes - 8) ** -1", "a division by zero"),
        ("(lanes - 9) ** 0.5", "-1 is negative, and only whole powers"),
        ("log2(0)", "log2 of 0, expected a positive number"),
        ("log2(size)", "log2 of 64 KiB"),
        ("ceil(GLB.read)", "ceil of 6 pJ, expected a number or a size"),
        ("sise * 2", "unknown name 'sise', expected a field, a parameter or a unit\nhint: did you mean 'size'?"),
        ("2 * lane", "did you mean 'lanes'?"),
        ("3 KB + 1 B", "KB may be 1024 or 1000 bytes"),
        ("3 lanes", "found 'lanes' behind a value, expected an operation such as * or a unit"),
        ("sqr(4)", "unknown function 'sqr'\nhint: did you mean 'sqrt'?"),
        ("sqrt(1, 2)", "sqrt takes one value, found 2"),
        ("2 ^ 3", "cannot read '^ 3'\nhint: a power is written **"),
        ("2 *", "found the end, expected a number, a name or a parenthesis"),
        ("(2 + 3", "found the end, expected a closing parenthesis"),
        ("min(2", "found the end, expected a comma or a closing parenthesis"),
        ("2 + ; 3", "cannot read '; 3'"),
        ("__import__('os')", "cannot read"),
        ("lanes.__class__", "unknown name 'lanes.__class__'"),
        ("9 ** 64 ** 2", "expected one from -64 to 64"),
        ("1e20 * 1e20", "a value is beyond 1e+30"),
        ("9 ** 60", "a value is beyond 1e+30"),
        ("1.5 ** 0.5 ** -64", "expected one from -64 to 64"),
        ("(" * 60 + "1" + ")" * 60, f"more than {DEEPEST} parentheses"),
        ("-" * 100 + "1", f"more than {DEEPEST} parentheses"),
        ("1" + " + 1" * 60, f"a formula of 241 characters, expected {LONGEST} at most"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ArchitectureError) as error:
        value(text)
    assert message in str(error.value)


@given(st.text(alphabet="0123456789.+-*/() pJKiBsizelanex,$^mW", max_size=60))
def test_any_text_has_a_value_or_an_error(text: str) -> None:
    try:
        found = evaluate(text, lookup)
    except ArchitectureError:
        return
    assert math.isfinite(found.number)


@given(st.integers(1, 10**12), st.integers(1, 1000), st.sampled_from(["pJ", "bit", "mm2", "pJ/cycle", "Hz", "nm"]))
def test_values_are_written_so_that_they_are_read_again(number: int, by: int, name: str) -> None:
    first = evaluate(f"{number} {name} / {by}", lookup)
    again = evaluate(first.text, lookup)
    assert (float(again.number), again.powers) == (pytest.approx(float(first.number), rel=1e-15), first.powers)


@pytest.mark.parametrize("name", BASE_UNITS)
def test_every_unit_is_one_of_itself(name: str) -> None:
    one = unit(name)
    assert one is not None
    assert evaluate(f"3 {name} / (1.5 {name})", lookup) == Quantity(Fraction(2))
