"""Traces: JSON as viewers read it, lanes in which nothing overlaps, and times that are those of the cost model."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from pages import run
from tilewright.report.traces.first_tiles import STEPS

NETWORK = """
network: pair
layers:
  - {name: a, op: gemm, M: 8, N: 16, K: 16, weight: true}
  - {name: b, op: gemm, M: 8, N: 8, K: 16, weight: true}
graph:
  - a
  - b
"""


def events_of(text: str) -> tuple[list[dict[str, Any]], dict[tuple[int, int | None], str]]:
    """The events that take time, with the names of their processes and lanes."""
    found = json.loads(text)["traceEvents"]
    assert {event["ph"] for event in found} <= {"M", "X", "C"}
    names = {
        (event["pid"], event.get("tid")): event["args"]["name"]
        for event in found
        if event["name"] in ("process_name", "thread_name")
    }
    pids, tids = {event["pid"] for event in found}, {event["tid"] for event in found if "tid" in event}
    assert not pids & tids  # Perfetto calls such a lane the main thread
    timed = [event for event in found if event["ph"] == "X"]
    for event in timed:
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        assert (event["pid"], None) in names
        assert (event["pid"], event["tid"]) in names
    return timed, names


def check_lanes(events: list[dict[str, Any]]) -> None:
    """Nothing in a lane begins before what is before it has ended, in whole nanoseconds, as viewers read times."""
    for lane in {(event["pid"], event["tid"]) for event in events}:
        times = [(round(1e3 * e["ts"]), round(1e3 * e["dur"])) for e in events if (e["pid"], e["tid"]) == lane]
        assert all(first + long <= second for (first, long), (second, _) in itertools.pairwise(sorted(times)))


@pytest.fixture(scope="module")
def result() -> tw.SearchResult:
    return tw.search(tw.conv2d(K=16, C=8, P=14, Q=14, R=3, S=3), "eyeriss", "energy", tiling="perfect")


def test_the_first_tiles_of_a_layer(result: tw.SearchResult) -> None:
    events, names = events_of(result.emit("trace"))
    check_lanes(events)
    (whole,) = (event for event in events if names[event["pid"], None] == "operations")
    assert whole["args"]["cycles"] == pytest.approx(result.cost.latency_cycles)
    kept = {node.memory for node in result.mapping.nest.items if hasattr(node, "memory")} - {"DRAM"}
    assert {name for (_, lane), name in names.items() if lane is None} == {
        "operations", "busy", *(f"tiles of {memory}" for memory in kept)
    }  # fmt: skip
    for memory in kept:
        (process,) = (pid for (pid, lane), name in names.items() if lane is None and name == f"tiles of {memory}")
        steps = [event for event in events if event["pid"] == process and event["name"].startswith("step ")]
        assert 1 <= len(steps) <= STEPS
        share = int(steps[0]["name"].split()[-1].replace(",", ""))
        macs = sum(event["args"]["macs"] for event in steps)
        assert macs == pytest.approx(result.problem.macs * len(steps) / share)
        loads = [event for event in events if event["pid"] == process and event["name"].startswith("load ")]
        assert loads[0]["ts"] == 0
        assert steps[0]["ts"] >= loads[0]["dur"]  # nothing is computed before the first tile is there


def test_loads_hide_behind_the_computation_where_that_binds() -> None:
    """Then the run takes as long as the cost model says, and the first load."""
    arch = tw.load_arch("eyeriss", {"DRAM.bandwidth": "1000 B/cycle", "GLB.bandwidth": "1000 B/cycle"})
    found = tw.search(tw.conv2d(K=16, C=8, P=14, Q=14, R=3, S=3), arch, "edp", tiling="perfect")
    assert found.cost.limited_by == "compute"
    events, names = events_of(found.emit("trace"))
    (process,) = (pid for (pid, lane), name in names.items() if lane is None and name == "tiles of GLB")
    steps = [event for event in events if event["pid"] == process and event["name"].startswith("step ")]
    assert steps[0]["name"].endswith(f" of {len(steps)}")  # all of them are drawn
    end = (steps[-1]["ts"] + steps[-1]["dur"] - steps[0]["ts"]) * arch.clock_hz / 1e6
    assert end == pytest.approx(found.cost.compute_cycles)


def test_operations_of_a_network_fill_its_run(tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(NETWORK)
    found = tw.compile(tmp_path / "pair.yaml", "three_level", tiling="perfect", store=None, workers=1)
    files = {path.name: path for path in found.save(tmp_path / "out")}
    events, names = events_of(files["trace.json"].read_text())
    check_lanes(events)
    working = [event for event in events if names[event["pid"], None] == "operations"]
    assert [event["name"] for event in working] == [name for one in found.segments for name in one.names]
    assert sum(event["args"]["cycles"] for event in working) == pytest.approx(found.latency_cycles)
    end = max(event["ts"] + event["dur"] for event in working)
    tiles = [event for event in events if names[event["pid"], None].startswith("in ")]
    assert tiles
    assert all(event["ts"] + event["dur"] <= end * (1 + 1e-9) for event in tiles)
    with pytest.raises(tw.TilewrightError, match="the trace of a network is no program"):
        found.emit("trace")  # type: ignore[arg-type]

    plan = str(files["plan.json"])
    assert run(["emit", plan, "--to", "trace"]).stdout == files["trace.json"].read_text()
    assert run(["emit", plan, "--to", "json"]).stdout == files["plan.json"].read_text()
    assert "compile pair --emit c" in run(["emit", plan, "--to", "c"]).stderr
    assert "name a group" in run(["emit", plan, "--to", "yaml"]).stderr
    assert "--layer: a plan says for what it is" in run(["emit", plan, "--to", "json", "--layer", "a"]).stderr
    older = re.sub(r'\s+"clock_hz": [^,]*,', "", files["plan.json"].read_text())
    (tmp_path / "older.json").write_text(older.replace('"network_plan_version": 6', '"network_plan_version": 4'))
    assert "version 4 does not say when" in run(["emit", str(tmp_path / "older.json"), "--to", "trace"]).stderr


def test_a_tree_has_a_trace() -> None:
    cascade = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "U[m,p] += T[m,n] * C[n,p]"], m=8, n=8, k=8, p=8)
    found = tw.search(cascade, "three_level", "energy")
    events, _ = events_of(found.emit("trace"))
    assert [event["name"] for event in events] == ["T", "U"]
    assert sum(event["args"]["cycles"] for event in events) == pytest.approx(found.cost.latency_cycles)
