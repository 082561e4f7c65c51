"""The search for the best plan of a network on several devices: splits of operations and shardings of tensors.

question.py  what is asked, and what is answered
space.py     the space: splits of operations, and the shardings that they need and make
dividing.py  which problems devices have of a divided operation
devices.py   what these cost: a bound at once, by search where it matters
memory.py    what lies in the memory of a device
fixing.py    splits that users fix, read from texts
stages.py    stages of a pipeline, along an axis of their own
staging.py   which axis and how many microbatches, or no stages at all
texts.py     shardings as the field writes them
usual.py     plans that people would choose, to compare with
tensors.py   shardings of a tensor, steps between them, and least trees of these
tables.py    sums of costs over splits, relaxed
search.py    the search
"""

from __future__ import annotations

from .devices import DeviceCosts, SplitCost, weights_of_plan
from .dividing import dims_of, divided, divided_sizes
from .fixing import fixed_splits
from .memory import DeviceRoom
from .question import (
    ComparedPlan,
    DeviceMemory,
    DeviceWork,
    Resharding,
    ShardedAnswer,
    ShardingQuestion,
)
from .search import shard
from .space import OperationRows, RowStride, ShardingSpace
from .stages import Pipeline, PipelineStage
from .staging import PlanChoices, compiled_on_system
from .texts import sharding_text
from .usual import UsualPlan, usual_plans

__all__ = [
    "ComparedPlan",
    "DeviceCosts",
    "DeviceMemory",
    "DeviceRoom",
    "DeviceWork",
    "OperationRows",
    "Pipeline",
    "PipelineStage",
    "PlanChoices",
    "Resharding",
    "RowStride",
    "ShardedAnswer",
    "ShardingQuestion",
    "ShardingSpace",
    "SplitCost",
    "UsualPlan",
    "compiled_on_system",
    "dims_of",
    "divided",
    "divided_sizes",
    "fixed_splits",
    "shard",
    "sharding_text",
    "usual_plans",
    "weights_of_plan",
]
