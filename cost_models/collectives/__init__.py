"""Collectives over the axes of a system: bytes on every link, hops, time, energy, and the bounds that they meet.
docs/chips.md has it in words.

    schedules.py   words on every link of a line of devices, by closed forms; the definition, the steps of
                   mapper/emit/sharded/runtime_links.py, moves every block (tests/collective_walk.py)
    bounds.py      what no schedule is below: bytes over cuts, hops to the farthest device
    cost.py        lines side by side, shared ports, several axes one after the other or together
    resharding.py  from one sharding of a tensor to another along one axis: which collective, and its real blocks
"""

from .cost import Blocks, Collective, Lines, Phase, collective_of, phase_of, same_bandwidth
from .resharding import Move, ReshardingSteps, StepCost, most_words, move_of
from .schedules import OPERATIONS, SWITCH, Operation, Round, all_gather, all_reduce, all_to_all, dealt, reduce_scatter

__all__ = [
    "OPERATIONS",
    "SWITCH",
    "Blocks",
    "Collective",
    "Lines",
    "Move",
    "Operation",
    "Phase",
    "ReshardingSteps",
    "Round",
    "StepCost",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "collective_of",
    "dealt",
    "most_words",
    "move_of",
    "phase_of",
    "reduce_scatter",
    "same_bandwidth",
]
