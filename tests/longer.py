"""How much the tests try.

By default few seeds of each random test, few cases of each test that is marked `some`, and no test that is marked
`long`: three minutes altogether. With TILEWRIGHT_TESTS=1, as in `.ci/run`, all of them; with 20, twenty
times as many seeds.
"""

from __future__ import annotations

import os

ALL = "TILEWRIGHT_TESTS" in os.environ
TIMES = int(os.environ.get("TILEWRIGHT_TESTS", "1"))
SHARE = 40
"""Of so many seeds the default tries one."""


def seeds(number: int) -> range:
    """The seeds of a random test."""
    return range(number * TIMES) if ALL else range(-(-number // SHARE))


def blocks(number: int, size: int) -> list[range]:
    """The same seeds in blocks of a size, a test for each, which processes share."""
    tried = seeds(number)
    return [tried[start : start + size] for start in range(0, len(tried), size)]


def occurs(enough: bool) -> bool:
    """Whether all seeds meet something often enough. Few seeds need not."""
    return bool(enough) or not ALL
