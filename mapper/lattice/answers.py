"""What the search comes to: a mapping, with what the cost model says of it."""

from __future__ import annotations

from dataclasses import dataclass

from ...cost_models import Cost
from ...ir import Mapping


@dataclass(frozen=True)
class Found:
    """A mapping, what it costs, and the value of the objective."""

    value: float
    mapping: Mapping
    cost: Cost
