"""How a tensor lies on several devices, and how an operation is divided among them (DESIGN's shardings and splits).

A tensor is a row of words, slowest rank first. Along every axis of the mesh its words are dealt to the devices, all
devices have all of them, or every device has an addend of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

REPLICATED: Final = "replicated"
"""All devices of an axis have the same words."""
PARTIAL: Final = "partial"
"""Every device of an axis has an addend of each word."""
SPREAD: Final = "spread"
"""Every device of an axis has as many of the words, in an order that the plan does not know (a view by experts)."""


@dataclass(frozen=True, order=True)
class Deal:
    """Words dealt in blocks to the devices along an axis: word x of the row goes to device x % period // block.

    period  words after which the deal begins again
    block   words of a block, a divisor of none: the last block may be shorter, or there may be none
    low, high  words before and behind its block that a device has as well, cut at the ends of the period (halo)
    """

    period: int
    block: int
    low: int = 0
    high: int = 0


Placement: TypeAlias = Deal | Literal["replicated", "partial", "spread"]
"""Of a tensor along one axis of the mesh."""

Sharding: TypeAlias = tuple[Placement, ...]
"""Of a tensor along every axis of the mesh, the innermost first."""

Split: TypeAlias = tuple[str | None, ...]
"""Of an operation along every axis of the mesh, the innermost first: one of its dimensions, whose blocks the devices
do; None where all devices do the same; PARTIAL where they do it to addends. An outer axis deals first, an inner one its
blocks. A view has the axes of what it reads as dimensions too, called a, b, ...: then its words are SPREAD."""
