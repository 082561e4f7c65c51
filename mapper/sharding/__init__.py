"""The search for the best plan of a network on several devices: splits of operations and shardings of tensors.

question.py  what is asked, and what is answered
space.py     the space: splits of operations, and the shardings that they need and make
"""

from __future__ import annotations

from .question import (
    ComparedPlan,
    DeviceMemory,
    DeviceWork,
    Move,
    Resharding,
    ShardedAnswer,
    ShardingQuestion,
)
from .space import OperationRows, RowStride, ShardingSpace

__all__ = [
    "ComparedPlan",
    "DeviceMemory",
    "DeviceWork",
    "Move",
    "OperationRows",
    "Resharding",
    "RowStride",
    "ShardedAnswer",
    "ShardingQuestion",
    "ShardingSpace",
]
