"""Pages of text: complete, whole at any width, and plain when piped."""

from __future__ import annotations

import io
import itertools
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from rich.text import Text

from tilewright import search
from tilewright.arch import Architecture, ArrayAxis, Fanout, Memory, load_arch
from tilewright.cost_models import Cost, evaluate
from tilewright.cost_models.parallel import most_at_work
from tilewright.ir import LoopNest, Mapping, Problem
from tilewright.mapper.answer import Answer
from tilewright.mapper.certificate import Certificate
from tilewright.report.pages.describe import page_of
from tilewright.report.pages.result import beyond_rows, certificate_rows, evaluated_page, result_page
from tilewright.report.parts.costs import bound_text
from tilewright.report.parts.html import to_html
from tilewright.report.parts.text import plain_text, write
from tilewright.workloads import gemm, list_networks, load_layer, load_network

NEST = """
DRAM keeps A W O
for M in 16
  GLB keeps A O
  parallel K in 8 on array.y
    spad keeps A W O
    for N in 16
      for K in 2
"""
MAPPING = Mapping(gemm(16, 16, 16), LoopNest.parse(NEST))
CERTIFICATE = Certificate(
    objective="edp",
    tiling="ragged",
    value=123456789.0,
    lower_bound=123456789.0,
    space_size=10**12,
    placements=1,
    evaluated=3,
    pruned={"bound": 1234, "capacity": 5},
    seconds=0.25,
)


def machine(**changes: object) -> Architecture:
    """Eyeriss, with a different DRAM."""
    arch = load_arch("eyeriss")
    dram = arch.memories[0].model_copy(update=changes)
    return arch.model_copy(update={"levels": (dram, *arch.levels[1:])})


def cost(**changes: object) -> Cost:
    return evaluate(MAPPING, machine(**changes))


@pytest.mark.parametrize("width", [20, 80, 120])
def test_no_number_is_cut_at_any_width(width: int) -> None:
    text = plain_text(result_page(Answer(MAPPING, cost(), CERTIFICATE), machine(), ["out/mapping.json"]), width)
    rows = [line.split() for line in text.splitlines()]
    for traffic in cost().traffic:
        words = [traffic.tensor, f"{traffic.reads:,}", f"{traffic.writes:,}"]
        assert any(words in (row[:3], row[1:4]) for row in rows)
    assert "…" not in text
    assert "\x1b" not in text
    assert "out/mapping.json" in text


def test_a_page_fits_80_columns() -> None:
    text = plain_text(result_page(Answer(MAPPING, cost(), CERTIFICATE), machine()), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_page_into_a_pipe_is_plain() -> None:
    file = io.StringIO()
    write(result_page(Answer(MAPPING, cost(), CERTIFICATE), machine()), file)
    assert "\x1b" not in file.getvalue()
    assert "proven optimal" in file.getvalue()


def test_what_bounds_the_latency() -> None:
    assert bound_text(cost()).startswith("bandwidth of DRAM, ")
    fast = bound_text(cost(shared_bits_per_cycle=10_000.0))
    assert fast.startswith("compute, 512 cycles; the busiest memory, GLB, needs")
    serial = bound_text(cost(overlaps=False))
    assert serial.startswith("DRAM, whose ")
    assert "add to the 512 cycles of compute" in serial
    some_serial = bound_text(cost(overlaps=False, shared_bits_per_cycle=10_000.0))
    assert some_serial.startswith("compute, 512 cycles")
    assert "then DRAM, whose" in some_serial
    assert some_serial.count("DRAM") == 1


def test_the_roof_that_binds_is_marked() -> None:
    def rows(**changes: object) -> dict[str, str]:
        lines = (
            plain_text(evaluated_page(MAPPING, machine(**changes), cost(**changes))).split("Roofline")[1].splitlines()
        )
        return {line.split()[0]: line for line in lines[3:] if line}

    assert rows()["DRAM"].endswith("binds")
    assert not rows()["compute"].endswith("binds")
    fast = rows(shared_bits_per_cycle=10_000.0)
    assert fast["compute"].endswith("binds")
    assert not fast["DRAM"].endswith("binds")


def special() -> Architecture:
    """Eyeriss with all that most machines leave out."""
    arch = load_arch("eyeriss")
    dram, glb, array, spad = arch.levels
    levels = (
        dram,
        glb.model_copy(update={"block_bits": 64, "leakage_pj_per_cycle": 2.5, "area_mm2": 0.5}),
        array.model_copy(update={"hop_pj_per_bit": 0.06}),
        spad,
    )
    return arch.model_copy(update={"levels": levels, "latency": "with_fill"})


def test_what_most_machines_leave_out_is_on_the_page_of_those_that_have_it() -> None:
    found = evaluate(MAPPING, special())
    text = plain_text(evaluated_page(MAPPING, special(), found))
    assert f"{found.fill_cycles:,.1f}".removesuffix(".0") + " of them add to fill and to drain" in text
    assert "array hops  A" in text
    assert "leakage" in text
    assert "mm2" not in text, "areas that are estimates stay on the page of the machine"
    stated = special().model_copy(update={"source": "", "area_mm2": 2.5})
    assert f"{stated.total_area_mm2:.4g} mm2, as far" in plain_text(evaluated_page(MAPPING, stated, found))
    plain = plain_text(evaluated_page(MAPPING, machine(), cost()))
    assert not any(word in plain for word in ("hops", "leakage", "mm2", "fill and to drain"))


def test_what_most_machines_leave_out_is_shown_with_the_machine() -> None:
    text = plain_text(page_of(special()))
    for part in ("blocks of 8 B", "leaks 2.5 pJ per cycle", "0.5 mm2", "60 fJ per bit and hop", "fill and drain times"):
        assert part in text
    assert "500 uW" in text  # 2.5 pJ at 200 MHz


def test_certificates_say_what_is_proven() -> None:
    rows = dict(certificate_rows(CERTIFICATE))
    assert rows["Objective"] == "edp: proven optimal"
    assert rows["Space"] == "even, ragged tilings, 1.000e12 mappings, 1 placement"
    assert rows["Pruned"] == "bound 1,234, capacity 5"
    assert not {"Constraints", "Strategy"} & set(rows)
    open_search = dict(certificate_rows(replace(CERTIFICATE, lower_bound=111111110.1)))
    assert open_search["Objective"] == "edp: gap 10.0%, not proven optimal"


def test_certificates_say_what_was_searched_and_how() -> None:
    asked = replace(CERTIFICATE, space="uneven", space_size=None, constraints=("a", "b"), strategy="cpsat")
    rows = dict(certificate_rows(asked))
    assert rows["Space"] == "uneven, ragged tilings, not counted, 1 placement"
    assert rows["Constraints"] == "a; b"
    assert rows["Strategy"] == "cpsat"


@pytest.mark.parametrize("name", ["eyeriss", "three_level", "tpu_v1"])
def test_architecture_pages(name: str) -> None:
    arch = load_arch(name)
    text = plain_text(page_of(arch))
    for level in arch.levels:
        assert level.name in text
    at_node = plain_text(page_of(arch.model_copy(update={"reuse": "at_node"})))
    assert ("at nodes only" in at_node, "at nodes only" in text) == (True, False)


@pytest.mark.some(8)
@pytest.mark.parametrize("name", list_networks())
def test_network_pages(name: str) -> None:
    network = load_network(name)
    text = plain_text(page_of(network))
    for layer in network.layers:
        assert layer.name in text
        assert f"{layer.macs:,}" in text
    assert f"{network.macs:,}" in text


def test_layer_pages() -> None:
    text = plain_text(page_of(load_layer("alexnet:conv1")))
    assert "4*p+r" in text
    assert "input" in text


def beyond(problem: Problem, arch: str, objective: str = "edp", **settings: Any) -> list[tuple[str, str]]:
    """What the page of the best mapping with perfect tiles says of other tiles."""
    machine = load_arch(arch, **settings)
    found = search(problem, machine, objective, "perfect")
    return beyond_rows(found.certificate, found.cost, problem, machine)


def test_a_page_says_where_ragged_tiles_use_more_of_the_macs() -> None:
    """17 and 19 have no divisors, and an array of 16 x 16 is idle but for one instance."""
    arch = {"set": {"array": "16x16", "DRAM.bandwidth": "1 TB/s", "GLB.bandwidth": "4096 words/cycle"}}
    narrow = {"set": {**arch["set"], "DRAM.bandwidth": "10 MB/s"}}
    ((name, words),) = beyond(gemm(M=17, N=19, K=23), "three_level", "latency", **arch)
    assert name == "Beyond"
    assert (
        words == "0.4% of the MACs are at work, and perfect tiles can have 0.4%: --tiling ragged may use more of them"
    )
    assert not beyond(gemm(M=17, N=19, K=23), "three_level", "energy", **arch), "energy gains nothing by it"
    assert not beyond(gemm(M=17, N=19, K=23), "three_level", "latency", **narrow), "a port binds"
    assert not beyond(gemm(M=17, N=19, K=64), "three_level", "latency", set={"array": "16x4"}), "perfect tiles use all"


def test_what_perfect_tiles_can_have_at_work_is_the_most_of_all() -> None:
    rng = random.Random(1)
    for _ in range(30):
        sizes = [rng.randint(1, 6) for _ in range(3)]
        axes = tuple(ArrayAxis(size=rng.randint(2, 4), dims=rng.choice([None, ("M", "K")])) for _ in range(2))
        machine, problem = load_arch("three_level"), gemm(*sizes)
        levels = [replace_axes(level, axes) for level in machine.levels]
        machine = machine.model_copy(update={"levels": tuple(levels)})
        ways = [[t for t in itertools.product(range(1, 5), repeat=3) if allowed(t, axis)] for axis in axes]
        most = max(
            math.prod(math.prod(trips) for trips in spread)
            for spread in itertools.product(*ways)
            if all(size % (x * y) == 0 for size, x, y in zip(sizes, *spread, strict=True))
        )
        assert most_at_work(problem, machine) == pytest.approx(most / (axes[0].size * axes[1].size))


def replace_axes(level: Memory | Fanout, axes: tuple[ArrayAxis, ...]) -> Memory | Fanout:
    return level.model_copy(update={"axes": axes}) if isinstance(level, Fanout) else level


def allowed(trips: tuple[int, ...], axis: ArrayAxis) -> bool:
    """Trips of M, N and K on an axis."""
    return math.prod(trips) <= axis.size and (axis.dims is None or trips[1] == 1)


def test_sentences_that_a_terminal_breaks_stand_in_one_line_of_a_page() -> None:
    told = Text("This sentence goes on\n  below.\nThis is another one.", no_wrap=True, overflow="fold")
    assert to_html(told, styled=False) == '<div class="told">This sentence goes on below.\nThis is another one.</div>'
