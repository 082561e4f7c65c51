"""The question and the answer of a search over shardings: one network on several devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...arch.system import System
from ...cost_models import Objective
from ...cost_models.collectives import Move, Phase
from ...ir.sharding import Sharding, Split
from ...workloads.graph import NetworkGraph
from ..answer import Answer
from ..certificate import Certificate
from ..question import DEFAULT_LIMITS, Limits
from ..space import Space
from ..tilings import Tiling


@dataclass(frozen=True)
class ShardingQuestion:
    """One search over the splits of all operations of a network, with everything resolved.

    graph          of the network
    system         devices and links
    objective      latency, energy, or a weighted sum of them
    tiling, space  of the mappings that a device chooses from
    limits         of the search of each divided operation
    fixed          splits that are given, by occurrence
    total_s        seconds for the whole, after which the best so far is taken; None: as long as it takes
    """

    graph: NetworkGraph
    system: System
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    limits: Limits = DEFAULT_LIMITS
    fixed: Mapping[str, Split] = field(default_factory=dict)
    total_s: float | None = None


@dataclass(frozen=True)
class DeviceWork:
    """An operation on all devices at once.

    name         of the occurrence
    split        of it
    seconds      of the slowest device
    energy_pj    of all devices
    answer       the best mapping of the largest divided operation; None: words move, or only a bound is known
    parallelism  by axis, what the field calls the split: "data", "sequence", "tensor", "expert", or "" for none
    """

    name: str
    split: Split
    seconds: float
    energy_pj: float
    answer: Answer | None
    parallelism: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resharding:
    """A step from one sharding of a tensor to another, along one axis.

    tensor         by who makes it
    move, axis     what takes place, and along which axis
    before, after  shardings of the tensor
    phase          bytes on links, hops and time; None: nothing moves
    seconds        of the slowest: links, or the port of the devices' outermost memory
    energy_pj      of links and memories; None if nobody states the energy of a hop
    """

    tensor: str
    move: Move
    axis: str
    before: Sharding
    after: Sharding
    phase: Phase | None
    seconds: float
    energy_pj: float | None


@dataclass(frozen=True)
class DeviceMemory:
    """What lies in the outermost memory of a device at most [bytes].

    weights, cache, live  parameters, caches, and the largest sum of tensors that are alive at once
    size                  of the memory; None: unbounded
    """

    weights: int
    cache: int
    live: int
    size: int | None

    @property
    def used(self) -> int:
        """All together."""
        return self.weights + self.cache + self.live


@dataclass(frozen=True)
class ComparedPlan:
    """A plan that people would choose, to compare with.

    name       "one device", "data parallel", "Megatron"
    seconds    of it; None: it does not fit, or the network has no such plan
    energy_pj  of it
    why        it is none
    """

    name: str
    seconds: float | None
    energy_pj: float | None
    why: str = ""


@dataclass(frozen=True)
class ShardedAnswer:
    """The best plan for several devices.

    question     that was asked
    steps        one after the other: what devices do, and how tensors are brought from one to another
    shardings    by who makes it, the sharding in which a tensor is made, and those that are made of it, in order
    certificate  what is proven of the whole; the value of a latency is in cycles of a device
    memory       of the fullest device
    compared     other plans
    searched     divided operations that were searched
    """

    question: ShardingQuestion
    steps: tuple[DeviceWork | Resharding, ...]
    shardings: Mapping[str, tuple[Sharding, ...]]
    certificate: Certificate
    memory: DeviceMemory
    compared: tuple[ComparedPlan, ...] = ()
    searched: int = 0

    @property
    def seconds(self) -> float:
        """From the first step to the end of the last."""
        return sum(step.seconds for step in self.steps)

    @property
    def energy_pj(self) -> float | None:
        """Of all devices and links; None where the energy of a hop is not known."""
        found = [step.energy_pj for step in self.steps]
        return None if None in found else sum(energy for energy in found if energy is not None)
