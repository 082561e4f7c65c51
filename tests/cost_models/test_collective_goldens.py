"""Collectives against figures of others (tests/golden/chips.jsonl), each by the rule that makes them comparable."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tilewright.arch import load_arch
from tilewright.arch.system import FabricKind, MeshAxis, System, load_system
from tilewright.cost_models.collectives import Collective, Operation, collective_of

GOLDEN = Path(__file__).parents[1] / "golden" / "chips.jsonl"
ROWS = {row["id"]: row for row in map(json.loads, GOLDEN.read_text(encoding="utf-8").splitlines())}
DEVICE = load_arch("three_level")
GB, GIB = 10**9, 2**30
TOPOLOGIES: dict[str, FabricKind] = {"ring": "ring", "line": "line", "full": "full", "hub": "switch"}


def cost(operation: Operation, size: int, *axes: MeshAxis, together: bool = False) -> Collective:
    return collective_of(System("golden", DEVICE, axes), operation, size, axes, together)


def axis(kind: FabricKind, n: int, bandwidth: float, latency: float = 0.0, **more: Any) -> MeshAxis:
    return MeshAxis("x", kind, n, bandwidth, latency, **more)


def bound(row: dict[str, Any]) -> None:
    """Rounds for a chunk, and steps, of SCCL; a step through a hub is one there, and two hops here."""
    given, expected = row["inputs"], row["outputs"]
    kind, n = TOPOLOGIES[given["topology"].rstrip("0123456789")], given["n"]
    names: dict[str, Operation] = {
        "Allgather": "all-gather",
        "ReduceScatter": "reduce-scatter",
        "Alltoall": "all-to-all",
    }
    operation, chunk = names[given["collective"]], 8
    found = cost(operation, chunk * n * (n if operation == "all-to-all" else 1), axis(kind, n, GB))
    phase = found.phases[0]
    assert Fraction(phase.bytes, chunk) == Fraction(expected["rounds_per_chunk"])
    assert phase.is_best
    assert found.hops == expected["steps"] * (2 if kind == "switch" else 1)


def volume(row: dict[str, Any]) -> None:
    """One way round a ring every link carries all blocks but one; both ways half of that."""
    n = row["inputs"]["n"]
    size = 8 * n * n
    found = cost("all-gather", size, axis("ring", n, GB))
    assert 2 * Fraction(found.phases[0].bytes, size) == Fraction(row["outputs"]["all_gather_per_link"])


def genz(row: dict[str, Any]) -> None:
    """One way round: as many bytes as both ways at half the bandwidth, n - 1 hops, and 5 us besides."""
    given = row["inputs"]
    n, latency = given["n"], given["latency_us"]
    ring = axis("ring", n, given["GBps_binary"] * GIB / 2)
    for operation, key, times in (("all-reduce", "ms_all_reduce", 2), ("all-gather", "ms_all_gather", 1)):
        found = cost(operation, given["bytes"], ring)  # type: ignore[arg-type]
        expected = 5e-6 + times * (n - 1) * latency * 1e-6 + found.time
        assert row["outputs"][key] * 1e-3 == pytest.approx(expected, rel=2e-4), operation


def llmcompass(row: dict[str, Any]) -> None:
    """A ring both ways of 4 chips or 16, headers of 16 B a packet, n - 1 steps twice; of 4 once inside a chip."""
    size, n = row["inputs"]["bytes"], 16 if "16" in row["inputs"]["fabric"] else 4
    block = -(-size // n)
    sent = 16 + -(-block // 256) * 16 + block
    found = cost("all-reduce", sent * n, axis("ring", n, 40.625e9))
    inside = size / 162.5e9 if n == 4 else 0
    assert row["outputs"]["s"] == pytest.approx(2 * (n - 1) * 150e-6 + found.time + inside, rel=1e-6)


def levels(row: dict[str, Any]) -> None:
    """Bytes per second of the tensor, level by level."""
    for level, expected in zip(row["inputs"]["levels"], row["outputs"]["per_level"], strict=True):
        found = cost("all-gather", GB * level["degree"], axis("switch", level["degree"], level["GBps"] * GB))
        assert found.size / found.time / GB == pytest.approx(expected, abs=0.6)


def astra(row: dict[str, Any]) -> None:
    """The wire part: 4 chunks of 14 steps of 32,768 B one way round, 610 ns each."""
    found = cost("all-reduce", row["inputs"]["bytes"], axis("ring", 8, 50 * GIB))
    assert 2 * found.phases[0].bytes == 56 * 32_768


def everybody(row: dict[str, Any]) -> None:
    """Ties of a ring go up there, 36 messages on its busiest link; here one half of each goes either way."""
    n = row["inputs"]["n"]
    found = cost("all-to-all", 1024 * n * n, axis("ring", n, GB))
    assert (found.phases[0].bytes, found.hops) == (1024 * 32, n // 2)
    assert row["outputs"]["ns"] == 36 * 19_531 + 2 * 500


def book(row: dict[str, Any]) -> None:
    """The book leaves out (n - 1) / n, and rounds."""
    given, name = row["inputs"], row["id"]
    w = given.get("GBps_per_direction", 45) * GB
    if name == "collective-03":
        assert axis("line", given["n"], w).diameter * given["latency_us"] == row["outputs"]["us"]
    elif name == "collective-07":
        assert axis("ring", given["n"], w).diameter * given["latency_us"] == row["outputs"]["us"]
    elif name == "collective-04":
        time = cost("all-gather", given["bytes"], axis("ring", 4, w)).time
        assert (round(time * 1e6, 1), int(time * 4 / 3 * 1e6)) == (17.5, row["outputs"]["us"])
    elif name == "collective-05":
        torus = [MeshAxis(name, "ring", 4, w) for name in "xy"]
        time = cost("all-gather", given["bytes"], *torus, together=True).bound
        assert int(time * 16 / 15 * 1e6) == row["outputs"]["us"]
    else:  # the whole array there; a sixteenth of it is on a line once the other axes have dealt it
        time = cost("all-reduce", given["bytes"] // 16, axis("ring", 4, w)).time
        assert round(time * 1e6, 1) == 8.7
        assert time * 4 / 3 * 16 * 1e6 == pytest.approx(row["outputs"]["us"], rel=0.02)


def in_a_node(row: dict[str, Any]) -> None:
    size, n, w = 64 * 1000, row["inputs"]["n"], row["inputs"]["GBps"] * GB
    assert cost("all-to-all", size, axis("switch", n, w)).time == pytest.approx(size * 7 / (64 * w))


def calculon(row: dict[str, Any]) -> None:
    """Twice (n - 1) / n over NVLink; once in its network, which adds."""
    given = row["inputs"]
    adds = given["scalar_offset"] == [1.0, 0]
    port = axis("switch", given["n"], given["bandwidth_GBps"] * given["efficiency"] * GB, reduces=adds)
    time = given["latency_s"] + cost("all-reduce", given["bytes"], port).time
    assert time == pytest.approx(row["outputs"]["s"])


def taper(row: dict[str, Any]) -> None:
    """The memory of an H100, its NVLink both ways, a PCIe slot, a NIC."""
    cluster, box = load_system("h100x8x32"), load_system("h100_pcie_x8")
    memory = cluster.device.memories[0].shared_bits_per_cycle
    assert memory is not None
    node, nic = (one.bytes_per_second for one in cluster.axes)
    rates = [memory * cluster.device.clock_hz / 8, 2 * node, box.axes[0].bytes_per_second, nic]
    assert [round(rate / GB) for rate in rates] == row["outputs"]["GBps"]


def ranges(row: dict[str, Any]) -> None:
    slots = [load_system(name).axes[0].bytes_per_second / GB for name in ("a100_pcie_x4", "h100_pcie_x8")]
    nodes = [2 * load_system(name).axes[0].bytes_per_second / GB for name in ("a100x8", "h100x8")]
    nics = [load_system(name).axes[1].bytes_per_second / GB for name in ("a100x8x4", "h100x8x32")]
    assert (nodes, slots, nics) == tuple(row["outputs"][key] for key in ("NVLink_GBps", "PCIe_GBps", "NIC_GBps"))


RULES: dict[str, Callable[[dict[str, Any]], None]] = {
    **{"seed-03": taper, "seed-04": ranges, "p2p-10": everybody, "collective-01": astra},
    **dict.fromkeys([f"collective-{i:02}" for i in (3, 4, 5, 6, 7)], book),
    **dict.fromkeys(["collective-10", "collective-11"], levels),
    **{"collective-13": in_a_node, "collective-40": calculon, "collective-47": calculon},
    **dict.fromkeys([f"collective-{i}" for i in (19, 20, 21, 23)], llmcompass),
    **dict.fromkeys([f"collective-{i}" for i in (27, 28, 29, 31, 33, 34)], genz),
    **{name: {"bound": bound, "volume": volume}[name.partition("-")[0]] for name in ROWS if name[0] in "bv"},
}
ON_PAGES = {"seed-01", "seed-05", "seed-06", "seed-08"}
"""Figures of the textbook that the command prints: tests/api/test_collective_command.py."""


@pytest.mark.parametrize("name", sorted({*ROWS} - ON_PAGES))
def test_the_figure_follows_by_its_rule(name: str) -> None:
    RULES[name](ROWS[name])
