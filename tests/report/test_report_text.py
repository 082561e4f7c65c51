"""Pages of text: complete, whole at any width, and plain when piped."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import Cost, evaluate
from tilewright.ir import LoopNest, Mapping
from tilewright.mapper.certificate import Certificate
from tilewright.report.describe import page_of
from tilewright.report.text import bound_text, certificate_rows, plain_text, result_page, write
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
    text = plain_text(result_page(MAPPING, machine(), cost(), CERTIFICATE, ["out/mapping.json"]), width)
    rows = [line.split() for line in text.splitlines()]
    for traffic in cost().traffic:
        words = [traffic.tensor, f"{traffic.reads:,}", f"{traffic.writes:,}"]
        assert any(words in (row[:3], row[1:4]) for row in rows)
    assert "…" not in text
    assert "\x1b" not in text
    assert "out/mapping.json" in text


def test_a_page_fits_80_columns() -> None:
    text = plain_text(result_page(MAPPING, machine(), cost(), CERTIFICATE), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_page_into_a_pipe_is_plain() -> None:
    file = io.StringIO()
    write(result_page(MAPPING, machine(), cost(), CERTIFICATE), file)
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
