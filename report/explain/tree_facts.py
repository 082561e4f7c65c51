"""All that is explained of a fused mapping, as data: its operations, its shared loops, what stays on chip how long."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from ...arch import Architecture
from ...cost_models.cascades import FusedCost
from ...ir import FusedMapping
from .energy import EnergyShare
from .latency import LatencyBound


@dataclass(frozen=True)
class OperationFacts:
    """One operation of a fused mapping.

    name       of it
    text       what it does
    points     that are done, those that are done again included
    energy_pj  of it
    cycles     that it takes
    energy     who spends it, the largest first
    latency    what bounds it
    """

    name: str
    text: str
    points: int
    energy_pj: float
    cycles: float
    energy: tuple[EnergyShare, ...]
    latency: LatencyBound


@dataclass(frozen=True)
class SharedLoopFacts:
    """A loop above a split.

    loop        as the tree has it
    operations  that step with it
    moves       tensors whose tiles change as it steps
    stays       other tensors of these operations
    adds        outputs to whose tiles every step adds
    """

    loop: str
    operations: tuple[str, ...]
    moves: tuple[str, ...]
    stays: tuple[str, ...]
    adds: tuple[str, ...]


@dataclass(frozen=True)
class Lifetime:
    """An intermediate in a memory where branches exchange it.

    tensor, memory  their names
    first, last  operations: it takes room from the one to the other
    words, bits  of its tile there
    of_words     that the whole tensor has
    """

    tensor: str
    memory: str
    first: str
    last: str
    words: int
    bits: int
    of_words: int


@dataclass(frozen=True)
class MemoryLoad:
    """A bounded memory while each operation works.

    memory         its name
    capacity_bits  of one instance
    held           by operation, tiles as (tensor, bits, whether branches exchange it there)
    """

    memory: str
    capacity_bits: int
    held: tuple[tuple[str, tuple[tuple[str, int, bool], ...]], ...]

    def bits(self, operation: str) -> int:
        """In use while an operation works."""
        return sum(bits for _, bits, _ in dict(self.held)[operation])

    @property
    def fullest(self) -> str:
        """The operation during which most is in use."""
        return max((name for name, _ in self.held), key=self.bits)


@dataclass(frozen=True)
class TreeFacts:
    """All that is explained of a fused mapping, as data.

    mapping, arch, cost  what is explained
    operations  in the order in which they are done
    loops       above splits, outermost first
    lifetimes   of intermediates in memories other than the outermost
    loads       of bounded memories, outermost first
    """

    mapping: FusedMapping
    arch: Architecture
    cost: FusedCost
    operations: tuple[OperationFacts, ...]
    loops: tuple[SharedLoopFacts, ...]
    lifetimes: tuple[Lifetime, ...]
    loads: tuple[MemoryLoad, ...]

    def as_dict(self) -> dict[str, Any]:
        """All facts as plain data, in base units: words, bits, pJ, cycles."""
        return {
            "cascade": self.mapping.cascade.name,
            "architecture": self.arch.name,
            "energy_pj": self.cost.energy_pj,
            "latency_cycles": self.cost.latency_cycles,
            "operations": [asdict(one) for one in self.operations],
            "shared_loops": [asdict(one) for one in self.loops],
            "lifetimes": [asdict(one) for one in self.lifetimes],
            "memories": [asdict(one) for one in self.loads],
        }

    def to_json(self) -> str:
        """`as_dict` as JSON: what `tilewright explain --json` prints."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)
