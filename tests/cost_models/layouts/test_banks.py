"""Banks of lines: conflicts, what they do to the time of a memory, and how a machine states them."""

from __future__ import annotations

from pathlib import Path

import pytest

from generators import memory
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac, load_arch
from tilewright.arch.writer import architecture_text
from tilewright.cost_models import evaluate
from tilewright.ir import ArchitectureError, Axis, Loop, LoopNest, Mapping, Node
from tilewright.workloads import gemm

PROBLEM = gemm(8, 8, 8)
NEVER = {"input": "never", "weight": "never", "output": "never"}


def cycles(layout: str, spread: str, **fields: object) -> float:
    """Of a memory that gives eight MACs, side by side along a dimension, the weights of each step: lines of one word,
    in eight banks unless stated. A and O take no time."""
    weights = {"layouts": {"W": layout}, "keeps": {**NEVER, "weight": "must"}}
    levels = (
        memory("OUT"),
        memory("M", **{"line_bits": 8, "banks": 8, **weights, **fields}),
        Fanout(name="array", axes=(ArrayAxis(size=8),)),
        memory("R", keeps={"input": "must", "weight": "never", "output": "must"}),
    )
    arch = Architecture(name="m", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))
    rest = [Loop(dim, 8) for dim in ("M", "N", "K") if dim != spread]
    outer = [*(Node("OUT", t) for t in "AWO"), Node("M", "W"), *rest]
    nest = [*outer, Loop(spread, 8, Axis("array", 0)), Node("R", "A"), Node("R", "O")]
    cost = evaluate(Mapping(PROBLEM, LoopNest(tuple(nest))), arch)
    return next(use.cycles for use in cost.memories if use.name == "M")


FILLED = 8
"""All 64 weights come in at once, eight into each bank."""


def test_words_of_one_bank_pass_one_after_the_other() -> None:
    """W[K, N] row by row: neighbours along N lie in different banks, those along K in one."""
    assert cycles("K,N", "N") == FILLED + 64
    assert cycles("K,N", "K") == FILLED + 64 * 8
    assert cycles("N,K", "K") == FILLED + 64
    assert cycles("K,N", "M") == FILLED + 64  # one word for all


def test_lines_ports_and_bandwidth() -> None:
    assert cycles("K,N", "K", bank_ports=2) == FILLED / 2 + 64 * 4
    assert cycles("N,K", "K", line_bits=16, banks=4) == FILLED + 64  # four lines of two words each
    assert cycles("K,N", "K", line_bits=16, banks=4) == FILLED + 64 * 8
    assert cycles("N,K", "K", banks=16) == FILLED / 2 + 64
    apart = {"read_bits_per_cycle": 1000.0, "write_bits_per_cycle": 1000.0}
    assert cycles("K,N", "N", **apart) == 64
    assert cycles("K,N", "N", shared_bits_per_cycle=4.0) == (64 + 64 * 8) * 8 / 4


def test_blocks_that_banks_do_not_divide_lie_in_all_of_them() -> None:
    """Eight lines of a block in three banks: 3, 3 and 2 of them. They were taken to lie in one bank, as if a line
    had to end with its block."""
    assert cycles("N,K8", "K", banks=3) == FILLED * 3 + 64 * 3
    assert cycles("K,N", "N", banks=3) == FILLED * 3 + 64 * 3  # the same of a rank


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"GLB.banks": "4"}, "banks are given without a line"),
        ({"GLB.line": "8 B", "GLB.bank_ports": "2"}, "bank_ports are given without banks"),
        ({"GLB.line": "8 B", "GLB.banks": "0"}, "expected a number of banks such as 16"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, str], found: str) -> None:
    with pytest.raises(ArchitectureError, match=found):
        load_arch("eyeriss", fields)


def test_banks_are_written_and_read(tmp_path: Path) -> None:
    arch = load_arch("eyeriss", {"GLB.line": "8 B", "GLB.banks": "4", "GLB.bank_ports": "2"})
    (tmp_path / "mine.yaml").write_text(architecture_text(arch), encoding="utf-8")
    again = load_arch(str(tmp_path / "mine.yaml")).memories[1]
    assert (again.line_bits, again.banks, again.bank_ports) == (64, 4, 2)
