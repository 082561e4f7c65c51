"""All that is explained of a mapping, as data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from ...arch import Architecture
from ...cost_models import Cost, Objective
from ...ir import Mapping, TilewrightError
from .distance import Distance
from .energy import EnergyShare
from .latency import LatencyBound
from .loops import LoopRole
from .ranking import Tried, best_changes
from .reuse import WordReuse
from .utilization import Utilization


@dataclass(frozen=True)
class Improvement:
    """What searching again says: on the machine as it is, and on changed ones.

    objective  what is minimized
    kind       the space that is searched: `even space, perfect tilings`
    given      its value for the mapping that is explained
    present    its least value on the machine as it is, and whether that is proven
    tried      all changes that were searched, best first
    notes      what a reader has to know about these searches
    """

    objective: Objective
    kind: str
    given: float
    present: float
    proven: bool
    tried: tuple[Tried, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperationFacts:
    """One operation of a mapping; a layer is one.

    name         of it
    text         what it does
    points       that are done, those that are done again included
    energy_pj    of it
    cycles       that it takes
    energy       who spends it: memories by tensor, networks, MACs, leakage; the largest first
    latency      what bounds it, and how busy everything else is
    utilization  share of the MACs at work, and what the rest is lost to
    loops        what every loop of its own is for; of loops above a split see `shared_loops`
    """

    name: str
    text: str
    points: int
    energy_pj: float
    cycles: float
    energy: tuple[EnergyShare, ...]
    latency: LatencyBound
    utilization: Utilization
    loops: tuple[LoopRole, ...]


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
class Facts:
    """Why a mapping costs what it costs, and what would help.

    mapping, arch, cost  what is explained
    operations    one after the other, in the order in which they are done; of a layer, one
    reuse         how often each word is used between two memories; of layers
    distance      how far energy, latency and words are from what no mapping can go below; of layers without zeros
    shared_loops  above splits, outermost first
    lifetimes     of intermediates in memories other than the outermost
    memories      what bounded ones hold while each of several operations works, outermost first
    improvement   what searching again has found; None, if nothing was searched for

    `as_dict` has all of it as plain data, in base units, and `to_json` writes that.
    """

    mapping: Mapping
    arch: Architecture
    cost: Cost
    operations: tuple[OperationFacts, ...]
    reuse: tuple[WordReuse, ...] = ()
    distance: Distance | None = None
    shared_loops: tuple[SharedLoopFacts, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()
    memories: tuple[MemoryLoad, ...] = ()
    improvement: Improvement | None = None

    @property
    def energy(self) -> tuple[EnergyShare, ...]:
        """Of a layer, who spends the energy; TilewrightError for a cascade, whose `operations` have it."""
        return self._only.energy

    @property
    def latency(self) -> LatencyBound:
        """Of a layer, what bounds the latency."""
        return self._only.latency

    @property
    def utilization(self) -> Utilization:
        """Of a layer, the share of the MACs at work."""
        return self._only.utilization

    @property
    def loops(self) -> tuple[LoopRole, ...]:
        """Of a layer, what every loop is for."""
        return self._only.loops

    @property
    def _only(self) -> OperationFacts:
        if len(self.operations) > 1:
            raise TilewrightError("a cascade has several operations", hint="look at one of `operations`")
        return self.operations[0]

    def as_dict(self) -> dict[str, Any]:
        """All facts as plain data, in base units: words, bits, pJ, cycles, shares of 1."""
        is_layer = not self.mapping.is_of_cascade
        return {
            "problem" if is_layer else "cascade": self.mapping.work.name,
            "architecture": self.arch.name,
            "energy_pj": self.cost.energy_pj,
            "latency_cycles": self.cost.latency_cycles,
            **(self._of_layer() if is_layer else self._of_cascade()),
        }

    def _of_layer(self) -> dict[str, Any]:
        parts = asdict(self._only)
        return {
            **{key: parts[key] for key in ("energy", "latency", "utilization")},
            "reuse": [asdict(r) | {"factor": r.factor} for r in self.reuse],
            "loops": parts["loops"],
            "distance": None if self.distance is None else asdict(self.distance),
            "improvement": None if self.improvement is None else _improvement(self.improvement),
        }

    def _of_cascade(self) -> dict[str, Any]:
        return {
            "operations": [asdict(one) for one in self.operations],
            "shared_loops": [asdict(one) for one in self.shared_loops],
            "lifetimes": [asdict(one) for one in self.lifetimes],
            "memories": [asdict(one) for one in self.memories],
        }

    def to_json(self) -> str:
        """`as_dict` as JSON: what `tilewright explain --json` prints."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)


def _improvement(found: Improvement) -> dict[str, Any]:
    best = {id(one) for one in best_changes(found.tried)}
    return {
        "objective": found.objective.name,
        "searched": found.kind,
        "given": _finite(found.given),
        "least": _finite(found.present),
        "proven": found.proven,
        "changes": [_tried(one) | {"listed": id(one) in best} for one in found.tried],
        "notes": list(found.notes),
    }


def _tried(one: Tried) -> dict[str, Any]:
    return {
        "field": one.change.field,
        "set": one.change.setting,
        "text": one.change.text,
        "adds": one.change.adds,
        "cost_doublings": one.change.cost,
        "value": None if one.value is None else _finite(one.value),
        "gain": _finite(one.gain),
        "proven": one.proven,
        "reason": one.reason,
    }


def _finite(value: float) -> float | None:
    """The number; None for what has none, such as an objective whose limit is not kept to."""
    return value if isfinite(value) else None
