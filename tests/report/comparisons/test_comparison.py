"""Comparisons: totals, penalties, winners and hybrids, each recomputed in another way; and their tables."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from batches import DATAFLOWS
from tilewright.cost_models import count_words, parse_objective
from tilewright.ir import TilewrightError
from tilewright.report.comparisons.choice import best_choice
from tilewright.report.comparisons.comparison import Comparison
from tilewright.report.comparisons.costs import outer_bytes
from tilewright.report.comparisons.files import write_comparison
from tilewright.report.comparisons.kinds import layer_kind
from tilewright.report.comparisons.page import comparison_page
from tilewright.report.comparisons.rows import FREE, Row
from tilewright.report.comparisons.summaries import totals
from tilewright.report.comparisons.tables import all_tables, layer_table
from tilewright.report.parts.text import plain_text


def test_every_layer_has_a_row_everywhere(comparison: Comparison) -> None:
    places = {(row.network, row.layer, row.arch, row.dataflow) for row in comparison.rows}
    layers = ("first", "same", "conv", "attention")
    assert places == set(itertools.product(["tiny"], layers, ["eyeriss", "tpu_v1"], DATAFLOWS))
    assert len(places) == len(comparison.rows)
    assert [row.layer for row in comparison.of("tiny", "tpu_v1", FREE)] == list(layers)


def test_rows_are_those_of_single_searches(comparison: Comparison) -> None:
    for row in comparison.rows[::5]:
        constraints = None if row.dataflow == FREE else row.dataflow
        alone = tw.search(row.problem, row.machine, "edp", "perfect", constraints=constraints)
        assert row.cost == alone.cost
        assert row.mapping == alone.mapping
        assert row.status == "proven"


def test_the_parts_of_a_cost_add_up(comparison: Comparison) -> None:
    for row in comparison.rows:
        assert row.cost is not None
        assert math.fsum(part.energy_pj for part in row.energy_parts) == pytest.approx(row.cost.energy_pj)
        overlapped = [m.cycles for m in row.cost.memories if m.overlaps]
        serial = [m.cycles for m in row.cost.memories if not m.overlaps]
        busiest = max([row.latency_parts["compute"], *overlapped])
        adding = [row.latency_parts.get(name, 0) for name in ("fill", "arrays")]
        assert busiest + sum(serial) + sum(adding) == row.cost.latency_cycles
        assert row.latency_parts.keys() - {"fill", "arrays"} == {
            "compute",
            *(memory.name for memory in row.machine.memories),
        }


def test_bytes_at_the_outermost_memory_are_those_of_the_counts(comparison: Comparison) -> None:
    for row in comparison.rows:
        assert row.mapping is not None
        assert row.cost is not None
        counts, outermost, bits = count_words(row.mapping, row.machine), row.machine.memories[0].name, 0
        for tensor in row.problem.tensors:
            a = counts.total[outermost, tensor.name]
            wide, narrow = row.machine.partial_width_bits(tensor), row.machine.width_bits(tensor)
            bits += (a.reads + a.writes - a.finished_reads - a.finished_writes) * wide
            bits += (a.finished_reads + a.finished_writes) * narrow
        assert outer_bytes(row.cost) == bits / 8
        assert row.operational_intensity == row.problem.macs / (bits / 8)


def test_networks_are_sums_with_repeats(comparison: Comparison) -> None:
    for summary in comparison.summaries():
        rows = comparison.of(summary.network, summary.arch, summary.dataflow)
        energy = sum(row.repeat * row.cost.energy_pj for row in rows if row.cost)
        cycles = sum(row.repeat * row.cost.latency_cycles for row in rows if row.cost)
        assert summary.layers == 3 + 1 + 1 + 2
        assert summary.energy_pj == pytest.approx(energy)
        assert summary.latency_cycles == pytest.approx(cycles)
        assert summary.latency_s == pytest.approx(cycles / rows[0].machine.clock_hz)
        assert summary.value == pytest.approx(energy * 1e-12 * cycles / rows[0].machine.clock_hz)
        assert 0 < (summary.utilization or 0) <= 1
        assert summary.proven
        assert summary.missing == ()


def test_penalties_are_factors_over_the_free_optimum(comparison: Comparison) -> None:
    for summary in comparison.summaries():
        rows = comparison.of(summary.network, summary.arch, summary.dataflow)
        free = comparison.of(summary.network, summary.arch, FREE)
        factors = [row.value / best.value for row, best in zip(rows, free, strict=True) if row.value and best.value]
        assert [comparison.penalty(row) for row in rows] == factors
        assert all(factor >= 1 - 1e-9 for factor in factors)
        repeated = [factor for factor, row in zip(factors, rows, strict=True) for _ in range(row.repeat)]
        assert summary.layer_penalty == pytest.approx(math.prod(repeated) ** (1 / len(repeated)))
        if summary.dataflow == FREE:
            assert summary.penalty == summary.layer_penalty == 1


def test_winners_have_the_least_value(comparison: Comparison) -> None:
    winners = comparison.winners()
    assert {w.kind for w in winners} == {"matrix product", "3x1 convolution", "product of activations"}
    assert FREE not in {w.dataflow for w in winners}
    for (arch, kind), group in itertools.groupby(winners, key=lambda w: (w.arch, w.kind)):
        rows = [r for r in comparison.rows if (r.arch, r.kind) == (arch, kind) and r.dataflow != FREE]
        for w in group:
            won = 0
            for row in (r for r in rows if r.dataflow == w.dataflow):
                values = [r.value for r in rows if r.layer == row.layer and r.value is not None]
                won += row.repeat * ((row.value or math.inf) <= min(values) * (1 + 1e-9))
            assert w.wins == won


def test_a_layer_without_a_mapping_is_a_row_and_no_total(with_a_gap: Comparison) -> None:
    by_place = {(s.arch, s.dataflow): s for s in with_a_gap.summaries()}
    spoiled = by_place["eyeriss", "weight-stationary"]
    assert spoiled.missing == ("conv",)
    assert spoiled.energy_pj is spoiled.value is spoiled.penalty is None
    assert spoiled.layer_penalty is not None
    assert by_place["tpu_v1", "weight-stationary"].value is not None
    eyeriss, tpu = with_a_gap.hybrids()
    assert eyeriss.single == "output-stationary"
    assert eyeriss.choice["conv"] == "output-stationary"
    assert tpu.gain is not None
    (row,) = (row for row in with_a_gap.rows if row.cost is None)
    assert row.status == "infeasible"
    assert row.diagnosis == "spad: no mapping of tiny:conv"
    assert (row.nest, row.energy_parts, row.operational_intensity) == ("", (), None)
    text = plain_text(comparison_page(with_a_gap))
    assert "eyeriss, weight-stationary: spad: no mapping of the layer" in text.replace("tiny:conv", "the layer")
    assert "1 layer without" in text


def test_hybrids_are_no_worse_than_any_single_dataflow(comparison: Comparison) -> None:
    for hybrid in comparison.hybrids():
        singles = {
            s.dataflow: s.value
            for s in comparison.summaries()
            if s.arch == hybrid.arch and s.dataflow != FREE and s.value is not None
        }
        assert hybrid.single_value == min(singles.values())
        assert hybrid.single is not None
        assert singles[hybrid.single] == hybrid.single_value
        assert hybrid.hybrid_value is not None
        assert hybrid.gain == pytest.approx(hybrid.single_value / hybrid.hybrid_value)
        assert hybrid.gain >= 1 - 1e-12
        assert hybrid.free_value is not None
        assert hybrid.hybrid_value >= hybrid.free_value


@pytest.mark.parametrize("objective", ["edp", "energy", "latency", "ed2p", "energy + 3 * latency"])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_for_each_layer_is_the_best_of_all_choices(
    comparison: Comparison, objective: str, seed: int
) -> None:
    rng, row, goal = random.Random(seed), comparison.rows[0], parse_objective(objective)
    assert row.answer is not None

    def option() -> Row:
        assert row.answer is not None
        cost = replace(row.answer.cost, energy_pj=rng.randint(1, 50) * 1.0, latency_cycles=rng.randint(1, 50) * 1.0)
        return replace(row, repeat=rng.randint(1, 3), outcome=replace(row.answer, cost=cost))

    options = [[option() for _ in range(rng.randint(1, 4))] for _ in range(5)]

    def value(rows: Any) -> float:
        return totals(goal, [(r.repeat, r.cost) for r in rows]).value

    assert value(best_choice(goal, options)) == pytest.approx(min(map(value, itertools.product(*options))))


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ("resnet50:conv1", "7x7 convolution"),
        ("resnet50:layer1.0.conv1", "1x1 convolution"),
        ("mobilenet_v2:features.1.conv.0", "depthwise convolution"),
        ("alexnet:conv2", "grouped convolution"),
        ("bert_base:q_proj", "matrix product"),
        ("alexnet:fc6", "matrix-vector product"),
    ],
)
def test_kinds_of_layers(layer: str, kind: str) -> None:
    name, _, rest = layer.partition(":")
    layers = {found.name: found for found in tw.load_network(name).layers}
    if rest in layers:
        assert layer_kind(layers[rest]) == kind
    else:
        assert kind in {layer_kind(found) for found in layers.values()}


def test_commands_reproduce_their_rows(comparison: Comparison) -> None:
    row = comparison.rows[-1]
    assert row.command.startswith("tilewright search ")
    assert row.command.endswith(
        "tiny.yaml:attention --arch tpu_v1 --dataflow output-stationary --objective edp --tiling perfect"
    )


# ---- tables ------------------------------------------------------------------------------------------------


@cache
def units() -> tuple[str, ...]:
    return ("_pJ", "_cycles", "_s", "_fraction", "_factor", "_B")


def test_tables_have_units_in_their_names(with_a_gap: Comparison) -> None:
    plain = {"network", "layer", "kind", "repeat", "arch", "dataflow", "objective", "tiling", "space", "status", "macs"}
    plain |= {"lower_bound", "limited_by", "key", "diagnosis", "command", "place", "tensor", "is_limit", "layers"}
    plain |= {"missing_layers", "proven", "mapped_layers", "won_layers", "single_dataflow"}
    for table in all_tables(with_a_gap):
        assert {c for c in table.columns if not c.endswith(units())} <= plain
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_tables_come_back_from_every_format(with_a_gap: Comparison, tmp_path: Path) -> None:
    import pandas

    paths = write_comparison(with_a_gap, tmp_path, ("csv", "json", "parquet"))
    assert {path.name for path in paths} == {path.name for path in tmp_path.iterdir()}
    for table in all_tables(with_a_gap):
        as_csv = list(csv.reader(io.StringIO((tmp_path / f"{table.name}.csv").read_text())))
        assert tuple(as_csv[0]) == table.columns
        assert [tuple(row) for row in as_csv[1:]] == [
            tuple("" if value is None else str(value) for value in row) for row in table.rows
        ]
        as_json = json.loads((tmp_path / f"{table.name}.json").read_text())
        assert as_json == [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        as_parquet = pandas.read_parquet(tmp_path / f"{table.name}.parquet")
        pandas.testing.assert_frame_equal(as_parquet, table.to_frame(), check_dtype=False)


def test_frames_have_a_row_for_each_row(comparison: Comparison) -> None:
    frame = comparison.to_frame()
    assert len(frame) == len(comparison.rows)
    assert frame["energy_pJ"].sum() == pytest.approx(sum(row.cost.energy_pj for row in comparison.rows if row.cost))


def test_a_file_that_cannot_be_written_is_one_message(comparison: Comparison, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(TilewrightError, match="a file is in the way"):
        layer_table(comparison).write(tmp_path / "file" / "layers.csv")
    with pytest.raises(TilewrightError, match="unknown format 'xls'"):
        layer_table(comparison).write(tmp_path / "layers.xls")
    (tmp_path / "layers.csv").mkdir()
    with pytest.raises(TilewrightError, match="cannot be written"):
        layer_table(comparison).write(tmp_path / "layers.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "layers.csv"]


def test_the_page_says_what_was_found(comparison: Comparison) -> None:
    text = plain_text(comparison_page(comparison, ["out/layers.csv"]))
    for part in ("all mappings proven optimal", "eyeriss", "output-stationary", "matrix product", "out/layers.csv"):
        assert part in text
