"""Our side of the comparison with AccelForge; the other one needs AccelForge."""

from __future__ import annotations

import pytest
from accelforge_beside import search

from peers import accelforge_cases, compare


def test_one_search_of_a_process() -> None:
    cases = accelforge_cases()
    number = next(i for i, case in enumerate(cases) if case.name == "G2 gemm64" and case.objective == "energy")
    seconds, value = search(number)
    assert seconds > 0
    assert value == pytest.approx(cases[number].value, rel=1e-9)
    assert len(compare(cases[number], "uneven", None, searches=2).cpu_s) == 2
