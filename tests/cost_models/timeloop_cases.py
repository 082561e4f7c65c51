"""Timeloop's golden cases as problems, architectures and mappings of ours, with the figures to compare.

A level of Timeloop keeps its tiles above its own loops, and its spatial loops fan out to the next level inwards:

    level keeps ...      nodes of the kept tensors
    for ...              temporal loops of the level
    parallel ...         spatial loops of the level, Y outside X, on the fanout below it
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

    level_cycles  cycles that each level needs, rounded up; not printed by the exercises
    leakage_pj    leakage over the whole run, which the exercises' totals contain and our model leaves out
    rounding_pj   half of the last printed digit of an energy per tensor, and `total_rounding_pj` of the total
    """

    name: str
    mapping: Mapping
    arch: Architecture
    traffic: tuple[Traffic, ...]
    macs: int
    mac_energy_pj: float
    cycles: int
    utilization: float
    level_cycles: dict[str, int]
    block_words: dict[str, int]
    total_pj: float
    leakage_pj: float = 0.0
    rounding_pj: float = 0.0
    total_rounding_pj: float = 0.0


def gemm_cases() -> list[Case]:
    """The model runs on GEMM mappings."""
    lines = (GOLDEN / "timeloop_gemm.jsonl").read_text().splitlines()
    return [_gemm_case(json.loads(line)) for line in lines]


def exercise_cases() -> list[Case]:
    """The published outputs of the tutorial exercises."""
    return [_exercise_case(case) for case in yaml.safe_load((GOLDEN / "timeloop_exercises.yaml").read_text())]


def _gemm_case(case: dict[str, Any]) -> Case:
    layer, levels, results = case["layer"], case["arch"]["levels"], case["results"]
    return Case(
        name=case["id"],
        mapping=Mapping(_gemm_problem(layer), _gemm_nest(case["mapping"]["levels"])),
        arch=_gemm_architecture(case["arch"]),
        traffic=tuple(
            Traffic(
                level=level,
                tensor=name,
                tile_words=figures["utilized_capacity"],
                instances=figures["instances"],
                reads=figures["reads"],
                fills=figures["fills"],
                updates=figures["updates"],
                energy_pj=figures["energy_total_pJ"],
            )
            for level, block in results["levels"].items()
            for name, figures in block["dataspaces"].items()
        ),
        macs=results["macs"],
        mac_energy_pj=results["mac_energy_pJ"],
        cycles=results["cycles"],
        utilization=results["utilization"],
        level_cycles={level: block["cycles"] for level, block in results["levels"].items()},
        block_words={level["name"]: level["block_size"] for level in levels},
        total_pj=results["total_energy_pJ"],
    )


def _gemm_problem(layer: dict[str, Any]) -> Problem:
    roles = {name: "output" if name == layer["read_write"] else "input" for name in layer["dataspaces"]}
    operands = [name for name, role in roles.items() if role == "input"]
    roles[operands[-1]] = "weight"
    names = [*operands, layer["read_write"]]
    tensors = tuple(tensor(name, roles[name], *(dim for [dim] in layer["dataspaces"][name])) for name in names)
    return Problem(layer["name"], tuple(layer["dims"].items()), tensors)


def _gemm_nest(levels: list[dict[str, Any]]) -> LoopNest:
    items: list[Loop | Node] = []
    for level in levels:
        items += [Node(level["name"], name) for name in level["keep"]]
        items += [Loop(dim, trips) for dim, trips in level["temporal"]]
        items += [
            Loop(dim, trips, Axis(_fanout_below(level["name"]), "XY".index(axis)))
            for wanted in "YX"
            for dim, trips, axis in level["spatial"]
            if axis == wanted
        ]
    return LoopNest(tuple(items))


def _gemm_architecture(arch: dict[str, Any]) -> Architecture:
    """Levels with a fanout between wherever the mesh of instances grows."""
    levels: list[Memory | Fanout] = []
    for level, below in zip(arch["levels"], [*arch["levels"][1:], arch["mac"]], strict=True):
        bits = level["word_bits"]
        outermost = not levels
        levels.append(
            Memory(
                name=level["name"],
                size_bits=None if outermost or level["size_words"] is None else level["size_words"] * bits,
                access_bits=level["block_size"] * bits,
                read_energy_pj=level["vector_access_energy_pJ"],
                write_energy_pj=level["vector_access_energy_pJ"],
                read_bits_per_cycle=level["read_bandwidth"] and level["read_bandwidth"] * bits,
                write_bits_per_cycle=level["write_bandwidth"] and level["write_bandwidth"] * bits,
                keeps=Keeps() if outermost else MAY,
            )
        )
        if below["instances"] > level["instances"]:
            sizes = [below[mesh] // level[mesh] for mesh in ("meshX", "meshY")]
            axes = tuple(ArrayAxis(size=size) for size in sizes)
            levels.append(Fanout(name=_fanout_below(level["name"]), axes=axes))
    return _architecture(arch["name"], arch["mac"]["word_bits"], levels, arch["mac"]["energy_pJ"])


def _exercise_case(case: dict[str, Any]) -> Case:
    figures = {level["name"]: level for level in case["levels_inner_to_outer"]}
    compute = next(level for level in figures.values() if level.get("compute"))
    memories = {name: level for name, level in figures.items() if not level.get("compute")}
    summary = case["summary"]
    return Case(
        name=case["case"],
        mapping=Mapping(_exercise_problem(case["problem"]), _exercise_nest(case["nest_outer_to_inner"])),
        arch=_exercise_architecture(case["case"], case["nest_outer_to_inner"], memories, compute),
        traffic=tuple(
            Traffic(
                level=block["level"],
                tensor=name,
                tile_words=words,
                energy_pj=tensors[name]["energy_total_pj"],
                **{key: tensors[name][key] for key in ("instances", "reads", "fills", "updates")},
            )
            for block in case["nest_outer_to_inner"]
            if block["tiles"]
            for tensors in [memories[block["level"]]["tensors"]]
            for name, words in block["tiles"].items()
        ),
        macs=compute["computes"],
        mac_energy_pj=compute["energy_total_pj"],
        cycles=summary["cycles"],
        utilization=float(summary["utilization"].rstrip("%")) / 100,
        level_cycles={},
        block_words={name: level["block_words"] for name, level in memories.items()},
        total_pj=float(summary["per_compute_total"].removesuffix(" fJ")) * compute["computes"] / 1000,
        leakage_pj=summary["cycles"]
        * sum(
            level["energy_pj_per_block_access"]["leak"] * max(t["instances"] for t in level["tensors"].values())
            for level in memories.values()
        ),
        rounding_pj=0.005,
        total_rounding_pj=0.005 * compute["computes"] / 1000,
    )


def _exercise_problem(sizes: dict[str, int]) -> Problem:
    """A 1-D convolution; input and output channels are there when the exercise has them."""

    def present(*names: str) -> list[str]:
        return [name for name in names if name in sizes]

    tensors: tuple[Tensor, ...] = (
        tensor("Weights", "weight", *present("K", "C", "R")),
        tensor("Inputs", "input", *present("C"), {"P": 1, "R": 1}),
        tensor("Outputs", "output", *present("K"), "P"),
    )
    return Problem("conv1d", tuple(sizes.items()), tensors)


def _exercise_nest(blocks: list[dict[str, Any]]) -> LoopNest:
    items: list[Loop | Node] = []
    for block in blocks:
        items += [Node(block["level"], name) for name in block["tiles"]]
        for dim, trips, *spatial in block["loops"]:
            axis = Axis(block["level"], "XY".index(spatial[0][-1])) if spatial else None
            items.append(Loop(dim, trips, axis))
    return LoopNest(tuple(items))


def _exercise_architecture(
    name: str, blocks: Sequence[dict[str, Any]], memories: dict[str, dict[str, Any]], compute: dict[str, Any]
) -> Architecture:
    levels: list[Memory | Fanout] = []
    for block in blocks:
        if not block["tiles"]:
            ((_, trips, _),) = block["loops"]
            levels.append(Fanout(name=block["level"], axes=(ArrayAxis(size=trips),)))
            continue
        level = memories[block["level"]]
        bits, energy = level["word_bits"], level["energy_pj_per_block_access"]
        levels.append(
            Memory(
                name=block["level"],
                size_bits=level["size_words"] * bits if levels and level["size_words"] else None,
                access_bits=level["block_words"] * bits,
                read_energy_pj=energy["read"],
                write_energy_pj=energy["write"],
                keeps=MAY if levels else Keeps(),
            )
        )
    (bits,) = {level["word_bits"] for level in memories.values()}
    return _architecture(name, bits, levels, compute["energy_pj"]["compute"])


def _architecture(name: str, bits: int, levels: Iterable[Memory | Fanout], mac_pj: float) -> Architecture:
    return Architecture(
        name=name,
        clock_hz=1e9,
        word_bits=bits,
        inner_drain_read=False,
        levels=tuple(levels),
        mac=Mac(energy_pj=mac_pj),
    )


def _fanout_below(level: str) -> str:
    return f"below_{level}"
