"""Our side of the comparison with AccelForge; the other one needs AccelForge."""

from __future__ import annotations

import pytest
from accelforge_beside import fused_cascades, search, search_fused, single_operations
from accelforge_itself import fused_case, fused_machine, fused_workload

from peers import accelforge_cases, compare


def test_one_search_of_a_process() -> None:
    cases = accelforge_cases()
    number = next(i for i, case in enumerate(cases) if case.name == "G2 gemm64" and case.objective == "energy")
    seconds, value = search(number, 1)
    assert seconds > 0
    assert value == pytest.approx(cases[number].value, rel=1e-9)
    assert len(compare(cases[number], "uneven", None, searches=2).cpu_s) == 2


@pytest.mark.parametrize("objective", ["energy", "edp", "front"])
def test_a_cascade_of_each_kind(objective: str) -> None:
    case = next(case for case in fused_cascades() if case.name == "F2 mm2_64 8192" and case.objective == objective)
    seconds, value = search_fused(case.number, 2)
    assert seconds > 0
    assert value == pytest.approx(case.value, rel=1e-9)


def test_both_search_the_same() -> None:
    """The number of a case says the same of what is known of it, and of what the other side is asked."""
    assert len(single_operations()) > 10
    for case in fused_cascades():
        asked = fused_case(case.number)
        assert case.name == f"{asked['machine']} {asked['case']} {asked['glb_words']}"
        assert f"size: {asked['glb_words'] * 8}\n" in fused_machine(asked)
        assert all(f"    {dim}: 0 <= {dim} < {size}\n" in fused_workload(asked) for dim, size in asked["sizes"].items())
