"""What fusing is worth, why it wins nothing, the least traffic of chains, and what is left when time runs out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import tilewright as tw
from tilewright.arch import Architecture
from tilewright.cost_models import ENERGY, LATENCY
from tilewright.ir import Cascade, UndecidedError
from tilewright.mapper import fusing
from tilewright.mapper.answer import Answer
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.constraints.trees import read_tree_constraints
from tilewright.mapper.fusing import answer_cascade, on_chip
from tilewright.mapper.fusing_reasons import why_nothing_is_won
from tilewright.mapper.question import Limits, Question, TreeQuestion
from tilewright.mapper.ski_slope import ski_slope
from tilewright.report.pages.result import result_page
from tilewright.report.parts.text import plain_text

FUSED = Path(__file__).parent.parent / "golden" / "fused"
LINES = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]


def question(arch: Architecture | None = None, name: str | None = None, size: int = 8) -> TreeQuestion:
    whole = tw.cascade(LINES, m=size, k=size, n=size, p=size, name=name)
    return Question(whole, arch or tw.load_arch(FUSED / "F2.yaml"), ENERGY, "perfect")


def machine(size: str, **dram: str) -> Architecture:
    return tw.load_arch(FUSED / "F2.yaml", {"GLB.size": size, **{f"DRAM.{key}": value for key, value in dram.items()}})


def test_what_fusing_saves() -> None:
    answer = answer_cascade(question(machine("256 B")))
    assert answer.unfused is not None
    assert answer.saves is not None
    assert answer.saves == 1 - answer.cost.energy_pj / answer.unfused.energy_pj > 0
    assert on_chip(answer.mapping, answer.cost) == {"T": "GLB"}
    assert fusing.outer_words(answer.cost) == 4 * 64
    assert answer.unfused.outer_words == 6 * 64


@pytest.mark.long
def test_the_first_size_at_which_fusing_wins_is_found() -> None:
    asked = question(machine("8 B"))
    assert answer_cascade(asked).saves == 0
    reason = why_nothing_is_won(asked, answer_cascade)
    assert (reason.memory, reason.size_bits) == ("GLB", 64)
    assert reason.enough_bits is not None
    enough = asked.arch.level("GLB").model_copy(update={"size_bits": reason.enough_bits})
    half = enough.model_copy(update={"size_bits": reason.enough_bits // 2})
    dram = asked.arch.levels[0]
    won, lost = (
        answer_cascade(replace(asked, arch=asked.arch.model_copy(update={"levels": (dram, glb)})))
        for glb in (enough, half)
    )
    assert won.saves == pytest.approx(reason.saves)
    assert (reason.saves > 0, lost.saves) == (True, 0)


def test_room_does_not_help_where_nothing_waits_for_the_outermost_memory() -> None:
    asked = replace(question(machine("64 B", bandwidth="100 B/cycle")), objective=LATENCY)
    assert answer_cascade(asked).saves == 0
    reason = why_nothing_is_won(asked, answer_cascade)
    assert (reason.memories, reason.memory, reason.is_known) == (("GLB",), None, True)


def test_without_a_memory_outside_the_arrays_there_is_no_place() -> None:
    arch = tw.load_arch(FUSED / "F2.yaml")
    bare = arch.model_copy(update={"levels": arch.levels[:1]})
    assert why_nothing_is_won(question(bare), answer_cascade).memories == ()


def test_names_do_not_change_the_key_and_all_else_does() -> None:
    asked = question()
    assert asked.key == (question(name="other")).key
    others = [
        question(size=4),
        question(machine("100 B")),
        replace(asked, fuse="none"),
        replace(asked, space="uneven"),
        replace(asked, tiling="ragged"),
        replace(asked, objective=ENERGY.capped(latency=5)),
    ]
    assert len({one.key for one in (asked, *others)}) == 1 + len(others)
    assert replace(asked, limits=Limits(3.0)).key == asked.key


def test_when_time_runs_out_there_is_a_mapping_and_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not fused is found first, and is the answer where nothing else is."""
    real = fusing.search_cascade

    def impatient(asked: TreeQuestion) -> object:
        if asked.fuse != "none":
            raise UndecidedError("nothing was found in time")
        return real(asked)

    monkeypatch.setattr(fusing, "search_cascade", impatient)
    answer = answer_cascade(question())
    assert answer.unfused is not None
    assert answer.unfused.certificate.proven
    proof = answer.certificate
    assert (proof.proven, proof.value) == (False, answer.unfused.energy_pj)
    assert 0 < proof.lower_bound <= real(question()).certificate.value
    assert proof.proven_among == ("trees with nothing fused",)
    page = plain_text(result_page(answer, question().arch))
    assert "No better fused mapping was found" in page
    assert "Fusing wins nothing" not in page


CHAINS = yaml.load((FUSED / "chains_dram.yaml").read_text(), yaml.CSafeLoader)["cases"]
SMALL = [
    case for case in CHAINS if case.get("N_EINSUMS") == 2 and case["M"] == 64 and case["buffer_bytes"] in (1024, 8192)
]


def chain_of(case: dict[str, int]) -> Cascade:
    count = case["N_EINSUMS"]
    lines = [f"T{i + 1}[m,n{i + 1}] += T{i}[m,n{i}] * W{i}[n{i},n{i + 1}]" for i in range(count)]
    return tw.cascade(lines, {"m": case["M"], **{f"n{i}": case["KN"] for i in range(count + 1)}})


@pytest.mark.parametrize("case", SMALL, ids=lambda case: f"{case['case']} {case['buffer_bytes']}")
def test_least_traffic_of_chains_is_that_of_the_peer(case: dict[str, int]) -> None:
    (point,) = ski_slope(chain_of(case), [case["buffer_bytes"]], "perfect", "uneven")
    assert point.proven
    assert (point.traffic, point.unfused) == (case["fused_dram_bytes"], case["unfused_dram_bytes"])


def test_an_interrupt_before_what_is_asked_for_gives_no_other_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question(machine("256 B"))
    told = replace(asked, constraints=read_tree_constraints(["T in GLB"], asked.cascade, asked.arch))

    def interrupted(one: TreeQuestion) -> Answer:
        found = search_cascade(one)
        return replace(found, certificate=replace(found.certificate, interrupted=True))

    monkeypatch.setattr(fusing, "search_cascade", interrupted)
    assert answer_cascade(asked).certificate.interrupted
    with pytest.raises(KeyboardInterrupt):
        answer_cascade(told)
