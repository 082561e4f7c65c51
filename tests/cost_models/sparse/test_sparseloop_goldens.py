"""Sparse counts that Timeloop's model (Sparseloop) printed for given mappings, figure by figure.

Every run that touches none of its defects, 107 in all. Integers that come from a floor of a sum of floats may be one
off, as in a recomputation by its own rules; all else agrees to the printed digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sparseloop import Even, SparseloopCounts, count_sparseloop
from sparseloop_nest import Saving, SparseMachine
from sparseloop_ranks import RankFormat

from generators import tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import Accesses, AccessTable, count_words
from tilewright.cost_models.sparse.densities import Density, Uniform
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Node, Problem, TilewrightError

GOLDEN = Path(__file__).parents[2] / "golden" / "timeloop_sparse_runs.jsonl"
RUNS = {run["id"]: run for run in map(json.loads, GOLDEN.read_text().splitlines())}
DEFECTS = GOLDEN.with_name("timeloop_sparse_defects.jsonl")
DEFECTIVE = {run["id"]: run for run in map(json.loads, DEFECTS.read_text().splitlines())}
"""Runs that touch one of its defects, which are in the metadata that moves, in occupancies, or (Q4) in savings."""
MOVES = ("reads", "fills", "updates")
WHICH = {"random": "actual", "gated": "gated", "skipped": "skipped"}
OTHER_DENSE_COUNTS = {"arr2_none", "arr2_skipGLB", "rnd42"}
"""Without zeros, a tensor stays in an array of MACs here over a loop along which it is spread as well; ours reads it
again at every step. The rest of these runs follows from the dense counts."""


def mapping_of(run: dict[str, Any]) -> Mapping:
    layer = run["layer"]
    operands = [name for name in layer["dataspaces"] if name != layer["read_write"]]
    tensors = [
        tensor(
            name,
            "output" if name == layer["read_write"] else "weight" if name in ("W", "Weights") else "input",
            *({term if isinstance(term, str) else term[0]: 1 for term in rank} for rank in layer["dataspaces"][name]),
        )
        for name in (*operands, layer["read_write"])
    ]
    items: list[Loop | Node] = []
    for name, temporal, spatial, keep in run["mapping"]:
        items += [Node(name, which) for which in keep]
        items += [Loop(dim, trips) for dim, trips in temporal]
        items += [
            Loop(dim, trips, Axis(f"below {name}", "XY".index(axis)))
            for wanted in "XY"
            for dim, trips, axis in spatial
            if axis == wanted
        ]
    return Mapping(Problem(run["id"], tuple(layer["dims"].items()), tuple(tensors)), LoopNest(tuple(items)))


def machine_of(run: dict[str, Any]) -> Architecture:
    levels: list[Memory | Fanout] = []
    shapes = [level[1:4] for level in run["levels"]] + [run["mac"]]
    for (name, instances, *mesh, _, _, _), (inside, *inner_mesh) in zip(run["levels"], shapes[1:], strict=True):
        keeps = Keeps(input="may", weight="may", output="may") if levels else Keeps()
        levels.append(Memory(name=name, access_bits=16, read_energy_pj=0, write_energy_pj=0, keeps=keeps))
        if inside > instances:
            axes = tuple(ArrayAxis(size=inner // outer) for inner, outer in zip(inner_mesh, mesh, strict=True))
            levels.append(Fanout(name=f"below {name}", axes=axes))
    return Architecture(
        name=run["id"],
        clock_hz=1e9,
        word_bits=16,
        inner_drain_read=False,
        footprint="box",
        levels=tuple(levels),
        mac=Mac(energy_pj=1),
    )


def features_of(run: dict[str, Any]) -> SparseMachine:
    formats, savings, mac = {}, [], set()
    for target in run["sparse"]:
        for space in target.get("representation_format", {}).get("data_spaces", []):
            formats[target["name"], space["name"]] = tuple(rank_of(rank) for rank in space["ranks"])
        savings += [
            Saving(target["name"], action["type"], action["target"], tuple(action["condition_on"]))
            for action in target.get("action_optimization", [])
        ]
        mac |= {action["type"] for action in target.get("compute_optimization", [])}
    return SparseMachine(
        formats=formats,
        savings=tuple(savings),
        mac_gates="gating" in mac,
        mac_skips="skipping" in mac,
        unit_bits={name: bits for name, *_, bits, _ in run["levels"]},
        unit_access_bits={name: bits for name, *_, bits in run["levels"]},
        block_words={level[0]: level[4] for level in run["levels"]},
    )


def rank_of(rank: dict[str, Any]) -> RankFormat:
    together = rank.get("flattened_rankIDs")
    return RankFormat(
        kind=rank["format"],
        dims=frozenset(dim for group in together for dim in group) if together else None,
        bits=rank.get("metadata_word_bits"),
        payload_bits=rank.get("payload_word_bits"),
    )


def densities_of(run: dict[str, Any]) -> dict[str, Density]:
    kinds = {"hypergeometric": Uniform, "fixed_structured": Even}
    return {name: kinds[d["distribution"]](d["density"]) for name, d in run["layer"]["densities"].items()}


def dense_counts(run: dict[str, Any]) -> AccessTable:
    found = {}
    for memory, name, figures in traffic_of(run):
        reads, fills, updates = figures.get("algorithmic", (0, 0, 0))
        found[memory, name] = Accesses(reads=reads, writes=fills + updates, fills=fills)
    return found


def traffic_of(run: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for memory, spaces in run["traffic"].items():
        for name, figures in spaces.items():
            yield memory, name, figures


@cache
def counts_of(name: str) -> SparseloopCounts:
    run = RUNS.get(name) or DEFECTIVE[name]
    dense = dense_counts(run) if name in OTHER_DENSE_COUNTS else None
    return count_sparseloop(mapping_of(run), machine_of(run), features_of(run), densities_of(run), dense)


every_run = pytest.mark.parametrize("name", RUNS)


def test_all_runs_are_there() -> None:
    assert len(RUNS) == 107
    assert sum(any("format" in figures for *_, figures in traffic_of(run)) for run in RUNS.values()) > 50


def test_dense_counts() -> None:
    differing = set()
    for name, run in RUNS.items():
        ours = count_words(mapping_of(run), machine_of(run)).busiest
        for key, theirs in dense_counts(run).items():
            if (ours[key].reads, ours[key].writes, ours[key].fills) != (theirs.reads, theirs.writes, theirs.fills):
                differing.add(name)
    assert differing == OTHER_DENSE_COUNTS


@pytest.mark.some(20)
@every_run
def test_operations(name: str) -> None:
    counts = counts_of(name)
    ours = (counts.done, counts.gated, counts.skipped, counts.cycles)
    assert ours == pytest.approx(RUNS[name]["compute"], abs=1, rel=0)


@pytest.mark.some(20)
@every_run
def test_tiles_and_words(name: str) -> None:
    for memory, which, figures in traffic_of(RUNS[name]):
        ours = counts_of(name).traffic[memory, which]
        assert [ours.tile_words, ours.expected, ours.most, ours.instances] == pytest.approx(figures["tile"], rel=1e-6)
        for kind in ("actual", "gated", "skipped"):
            words = getattr(ours, kind)
            expected = figures.get(kind, [0, 0, 0])
            assert [words[move] for move in MOVES] == pytest.approx(expected, abs=1, rel=0), (memory, which, kind)


@pytest.mark.some(20)
@every_run
def test_metadata(name: str) -> None:
    for memory, which, figures in traffic_of(RUNS[name]):
        ours = counts_of(name).traffic[memory, which]
        if "units" not in figures:
            assert not ours.units
            continue
        assert ours.shapes == figures["shapes"]
        for units, most, width, theirs, their_most in zip(
            ours.units, ours.most_units, ours.width, figures["units"], figures["most_units"], strict=True
        ):
            metadata, payload, *widths = theirs
            assert [units.metadata, units.payload] == pytest.approx([metadata, payload], rel=1e-6)
            assert [most.metadata, most.payload] == pytest.approx(their_most, rel=1e-6)
            assert not metadata or width[0] == widths[0]
            assert not payload or width[1] == widths[1]
        assert ours.unit_bits == pytest.approx(figures["bits"], abs=1, rel=0)
        for kind, expected in figures["format"].items():
            which_kind, _, move = kind.split("_")
            moved = getattr(ours, f"format_{WHICH[which_kind]}")[f"{move}s"]
            assert [list(units) for units in moved] == [pytest.approx(units, abs=1, rel=0) for units in expected]


@pytest.mark.parametrize("name", DEFECTIVE)
def test_what_defects_do_not_touch(name: str) -> None:
    counts, run = counts_of(name), DEFECTIVE[name]
    assert (counts.done, counts.gated, counts.skipped, counts.cycles) == pytest.approx(run["compute"], abs=1, rel=0)
    if "Q4_negative_wraps" in run["quirks"]:
        return
    for memory, which, figures in traffic_of(run):
        for kind in ("actual", "gated", "skipped"):
            words = getattr(counts.traffic[memory, which], kind)
            expected = figures.get(kind, [0, 0, 0])
            assert [words[move] for move in MOVES] == pytest.approx(expected, abs=1, rel=0), (memory, which, kind)


def test_metadata_below_a_saving_is_left_out_with_its_words() -> None:
    """Theirs fills all 36 words' metadata, of which DRAM has not sent a tenth (Q1)."""
    assert counts_of("rnd9").traffic["GLB", "W"].format_actual["fills"] == [(33, 0)]


def test_too_few_ranks() -> None:
    run = RUNS["fmt_CSR_h.25"]
    features = SparseMachine(formats={("GLB", "A"): (RankFormat("CP"),)})
    with pytest.raises(TilewrightError, match=r"1 ranks for 2 loops of A"):
        count_sparseloop(mapping_of(run), machine_of(run), features, densities_of(run))
