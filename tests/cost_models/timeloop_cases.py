"""Timeloop's golden cases as problems, architectures and mappings of ours, with the figures to compare.

A level of Timeloop keeps its tiles above its own loops, and its spatial loops fan out to the next level inwards:

    level keeps ...      nodes of the kept tensors
    for ...              temporal loops of the level
    parallel ...         spatial loops of the level, Y outside X, on the fanout below it
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from generators import tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Node, Problem, Tensor

GOLDEN = Path(__file__).parent.parent / "golden"
MAY = Keeps(input="may", weight="may", output="may")


@dataclass(frozen=True)
class Traffic:
    """One tensor at one level, as Timeloop prints it: words of one instance, energy of all."""

    level: str
    tensor: str
    tile_words: int
    instances: int
    reads: int
    fills: int
    updates: int
    energy_pj: float


@dataclass(frozen=True)
class Case:
    """One golden case.

    level_cycles  cycles that each level needs, rounded up; not in the published outputs
    total_pj      with leakage; None where a part of it was not published
    leakage_pj    leakage over the whole run, which the published totals contain and our model leaves out
    rounding_pj   half of the last printed digit of an energy per tensor, and `total_rounding_pj` of the total
    rounding      relative error of energies that comes from the printed digits of the energies per access
    from_2022     an output of the Timeloop of 2022, which counts the first fill of a partial sum, too
    """

    name: str
    mapping: Mapping
    arch: Architecture
    traffic: tuple[Traffic, ...]
    macs: int
    mac_energy_pj: float
    cycles: int
    utilization: float | None
    level_cycles: dict[str, int]
    block_words: dict[str, int]
    total_pj: float | None
    leakage_pj: float = 0.0
    rounding_pj: float = 0.0
    total_rounding_pj: float = 0.0
    rounding: float = 1e-12
    from_2022: bool = False


def run_cases() -> list[Case]:
    """The model runs on hand-made and random mappings."""
    machines = json.loads((GOLDEN / "timeloop_machines.json").read_text())
    lines = (GOLDEN / "timeloop_runs.jsonl").read_text().splitlines()
    return [_run_case(json.loads(line), machines) for line in lines]


def published_cases() -> list[Case]:
    """The published outputs of the tutorial exercises and of example designs."""
    return [
        _published_case(case) for case in yaml.load((GOLDEN / "timeloop_published.yaml").read_text(), yaml.CSafeLoader)
    ]


def _run_case(case: dict[str, Any], machines: dict[str, Any]) -> Case:
    arch, layer = machines["architectures"][case["arch"]], machines["layers"][case["layer"]]
    return Case(
        name=case["id"],
        mapping=Mapping(_run_problem(case["layer"], layer), _run_nest(case["mapping"])),
        arch=_run_architecture(case["arch"], arch),
        traffic=tuple(
            Traffic(level, tensor, *figures)
            for level, block in case["levels"].items()
            for tensor, figures in block.items()
            if tensor != "cycles"
        ),
        macs=case["macs"],
        mac_energy_pj=case["mac_energy_pJ"],
        cycles=case["cycles"],
        utilization=case["utilization"],
        level_cycles={level: block["cycles"] for level, block in case["levels"].items()},
        block_words={level["name"]: level["block_size"] for level in arch["levels"]},
        total_pj=case["total_energy_pJ"],
    )


def _run_problem(name: str, layer: dict[str, Any]) -> Problem:
    operands = [which for which in layer["dataspaces"] if which != layer["read_write"]]
    tensors = []
    for which in (*operands, layer["read_write"]):
        role = "output" if which == layer["read_write"] else "weight" if which in ("B", "Weights") else "input"
        tensors.append(tensor(which, role, *(_run_rank(rank, layer) for rank in layer["dataspaces"][which])))
    return Problem(name, tuple(layer["dims"].items()), tuple(tensors))


def _run_rank(rank: list[Any], layer: dict[str, Any]) -> dict[str, int]:
    """A term is a dimension, or a dimension and the name of its coefficient."""
    terms = [(term, None) if isinstance(term, str) else (*term, None)[:2] for term in rank]
    return {dim: layer[coefficient] if coefficient else 1 for dim, coefficient in terms}


def _run_nest(levels: list[Any]) -> LoopNest:
    items: list[Loop | Node] = []
    for name, temporal, spatial, keep in levels:
        items += [Node(name, which) for which in keep]
        items += [Loop(dim, trips) for dim, trips in temporal]
        items += [
            Loop(dim, trips, Axis(_fanout_below(name), "XY".index(axis)))
            for wanted in "YX"
            for dim, trips, axis in spatial
            if axis == wanted
        ]
    return LoopNest(tuple(items))


def _run_architecture(name: str, arch: dict[str, Any]) -> Architecture:
    """Levels with a fanout between wherever the mesh of instances grows."""
    levels: list[Memory | Fanout] = []
    for level, below in zip(arch["levels"], [*arch["levels"][1:], arch["mac"]], strict=True):
        bits = level["word_bits"]
        levels.append(
            Memory(
                name=level["name"],
                size_bits=level["size_words"] * bits if levels and level["size_words"] else None,
                access_bits=level["block_size"] * bits,
                block_bits=level["block_size"] * bits,
                read_energy_pj=level["vector_access_energy_pJ"],
                write_energy_pj=level["vector_access_energy_pJ"],
                read_bits_per_cycle=level["read_bandwidth"] and level["read_bandwidth"] * bits,
                write_bits_per_cycle=level["write_bandwidth"] and level["write_bandwidth"] * bits,
                keeps=MAY if levels else Keeps(),
            )
        )
        if below["instances"] > level["instances"]:
            sizes = [below[mesh] // level[mesh] for mesh in ("meshX", "meshY")]
            axes = tuple(ArrayAxis(size=size) for size in sizes)
            levels.append(Fanout(name=_fanout_below(level["name"]), axes=axes))
    return _architecture(name, arch["mac"]["word_bits"], levels, arch["mac"]["energy_pJ"])


def _published_case(case: dict[str, Any]) -> Case:
    figures = {level["name"]: level for level in case["levels_inner_to_outer"]}
    compute = next((level for level in figures.values() if level.get("compute")), None)
    blocks = case["nest_outer_to_inner"]
    # A memory that is not used leaks as well, but its figures are not among the published ones.
    leaks_unknown = any(not b["tiles"] and not any(len(loop) > 2 for loop in b["loops"]) for b in blocks)
    from_2022 = "baseline-designs" in case["source"]
    memories = {name: level for name, level in figures.items() if not level.get("compute")}
    nest = _published_nest(blocks)
    problem = _published_problem(case["problem"])
    mac_pj = compute["energy_pj"]["compute"] if compute else 0.0
    summary = case["summary"]
    per_mac, unit = summary["per_compute_total"].split()
    return Case(
        name=case["case"],
        mapping=Mapping(problem, nest),
        arch=_published_architecture(case["case"], blocks, nest, memories, mac_pj),
        traffic=tuple(
            Traffic(block["level"], name, words, **_printed(memories[block["level"]]["tensors"][name]))
            for block in blocks
            for name, words in block["tiles"].items()
        ),
        macs=problem.macs,
        mac_energy_pj=compute["energy_total_pj"] if compute else 0.0,
        cycles=summary["cycles"],
        utilization=1.0 if summary["utilization"] == "100.00%" else None,
        level_cycles={},
        block_words={name: level["block_words"] for name, level in memories.items()},
        total_pj=None if from_2022 or leaks_unknown else float(per_mac) * problem.macs * {"fJ": 1e-3, "pJ": 1.0}[unit],
        leakage_pj=summary["cycles"] * sum(_leak_pj(level) for level in memories.values()),
        rounding_pj=0.005,
        total_rounding_pj=0.005 * problem.macs * {"fJ": 1e-3, "pJ": 1.0}[unit],
        rounding=max(map(_rounding, memories.values())) if from_2022 else 1e-12,
        from_2022=from_2022,
    )


def _leak_pj(level: dict[str, Any]) -> float:
    """Leakage of a memory's instances in use, in pJ per cycle."""
    instances = max(tensor["instances"] for tensor in level["tensors"].values())
    return float(_energies(level).get("leak", 0.0)) * int(instances)


def _energies(level: dict[str, Any]) -> dict[str, float]:
    energies: dict[str, float] = level["energy_pj_per_block_access"]
    return energies


def _rounding(level: dict[str, Any]) -> float:
    """Half of the last printed digit of an energy per access, relative to it."""
    printed = Decimal(repr(_energies(level)["read"]))
    exponent = printed.as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent) / float(printed)


def _printed(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "energy_pj": figures["energy_total_pj"],
        **{key: figures[key] for key in ("instances", "reads", "fills", "updates")},
    }


def _published_problem(given: dict[str, int]) -> Problem:
    """A convolution in one dimension or two, in the dimensions that the case has; M or K are output channels."""
    sizes = {name: size for name, size in given.items() if name != "stride"}
    stride = given.get("stride", 1)

    def present(*names: str) -> list[str]:
        return [name for name in names if name in sizes]

    windows = [{p: stride, r: 1} for p, r in (("P", "R"), ("Q", "S")) if p in sizes]
    tensors: tuple[Tensor, ...] = (
        tensor("Weights", "weight", *present("M", "K", "C", "R", "S")),
        tensor("Inputs", "input", *present("N", "C"), *windows),
        tensor("Outputs", "output", *present("N", "M", "K", "P", "Q")),
    )
    return Problem("convolution", tuple(sizes.items()), tensors)


def _published_nest(blocks: list[dict[str, Any]]) -> LoopNest:
    """Spatial loops run on the block's own fanout if it keeps nothing, and below its memory otherwise."""
    items: list[Loop | Node] = []
    for block in blocks:
        items += [Node(block["level"], name) for name in block["tiles"]]
        fanout = _fanout_below(block["level"]) if block["tiles"] else block["level"]
        for dim, trips, *spatial in block["loops"]:
            items.append(Loop(dim, trips, Axis(fanout, "XY".index(spatial[0][-1])) if spatial else None))
    return LoopNest(tuple(items))


def _published_architecture(
    name: str,
    blocks: Sequence[dict[str, Any]],
    nest: LoopNest,
    memories: dict[str, dict[str, Any]],
    mac_pj: float,
) -> Architecture:
    """Memories in words of 8 bits, whatever their own width: every count there is in words. Arrays as large as used."""
    levels: list[Memory | Fanout] = []
    for block in blocks:
        if block["level"] in memories:
            levels.append(_published_memory(memories[block["level"]], outermost=not levels))
        fanout = _fanout_below(block["level"]) if block["tiles"] else block["level"]
        on_axes = [[loop.trips for loop in nest.loops if loop.axis == Axis(fanout, index)] for index in range(2)]
        if any(on_axes):
            levels.append(Fanout(name=fanout, axes=tuple(ArrayAxis(size=math.prod(trips)) for trips in on_axes)))
    return _architecture(name, 8, levels, mac_pj)


def _published_memory(level: dict[str, Any], *, outermost: bool) -> Memory:
    energy = _energies(level)
    return Memory(
        name=level["name"],
        size_bits=level["size_words"] * 8 if not outermost and level["size_words"] else None,
        access_bits=level["block_words"] * 8,
        block_bits=level["block_words"] * 8,
        read_energy_pj=energy["read"],
        write_energy_pj=energy["write"],
        keeps=Keeps() if outermost else MAY,
    )


def _architecture(name: str, bits: int, levels: Iterable[Memory | Fanout], mac_pj: float) -> Architecture:
    return Architecture(
        name=name,
        clock_hz=1e9,
        word_bits=bits,
        inner_drain_read=False,
        footprint="box",
        levels=tuple(levels),
        mac=Mac(energy_pj=mac_pj),
    )


def _fanout_below(level: str) -> str:
    return f"below_{level}"
