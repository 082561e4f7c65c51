"""What counts words alone refuses machines with lines, by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from event_clock import clocked_cycles

import tilewright as tw
from tilewright.arch import Architecture, load_arch
from tilewright.ir import ArchitectureError, TilewrightError

GEMM = tw.gemm(4, 4, 4)
CASCADE = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=4, k=4, n=4, p=4)


def lined() -> Architecture:
    return load_arch("three_level", {"DRAM.line": "16 B"})


def mapping() -> tw.Mapping:
    return tw.search(GEMM, "three_level", tiling="perfect").mapping


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: tw.search(GEMM, lined(), strategy="cpsat"), "it does not know line"),
        (
            lambda: tw.search_pareto(CASCADE, lined()),
            "DRAM.line: fronts, rankings and groups of cascades know no lines",
        ),
        (
            lambda: tw.search_top(CASCADE, lined(), 2),
            "DRAM.line: fronts, rankings and groups of cascades know no lines",
        ),
        (lambda: tw.search(GEMM, lined(), density={"W": 0.5}), "zeros are not known to DRAM.line"),
        (lambda: tw.evaluate(mapping(), lined(), density={"W": 0.5}), "zeros are not known to DRAM.line"),
        (lambda: clocked_cycles(mapping(), lined()), "DRAM.line: clocks know no lines"),
    ],
)
def test_lines_are_refused_by_name(what: Callable[[], object], message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        what()


def test_first_tiles_know_no_banks_and_no_open_layouts() -> None:
    filled = {"DRAM.line": "16 B", "latency": "with_fill"}
    with pytest.raises(ArchitectureError, match="DRAM has banks"):
        load_arch("three_level", {**filled, "DRAM.banks": "4"})
    with pytest.raises(TilewrightError, match="open layouts are not known to 'latency: with_fill'"):
        tw.search(GEMM, load_arch("three_level", filled), layout="any")
    with pytest.raises(TilewrightError, match="lines of the first tiles of trees"):
        tw.search(CASCADE, load_arch("three_level", filled))
