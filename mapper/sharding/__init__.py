"""The search for the best plan of a network on several devices: splits of operations and shardings of tensors.

question.py   what is asked, and what is answered
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

__all__ = [
    "ComparedPlan",
    "DeviceMemory",
    "DeviceWork",
    "Move",
    "Resharding",
    "ShardedAnswer",
    "ShardingQuestion",
]
