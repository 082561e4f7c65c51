"""All that is explained of a mapping, as data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from ...arch import Architecture
from ...cost_models import Cost, Objective
from ...ir import Mapping
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
class Facts:
    """Why a mapping costs what it costs, and what would help.

    mapping, arch, cost  what is explained
    energy       who spends the energy: memories by tensor, networks, MACs, leakage; the largest first
    latency      what bounds it, and how busy everything else is
    utilization  share of the MACs at work, and what the rest is lost to
    reuse        how often each word is used between two memories
    loops        what every loop of the nest is for
    distance     how far energy, latency and words are from what no mapping can go below; of layers without zeros
    improvement  what searching again has found; None, if nothing was searched for

    `as_dict` has all of it as plain data, in base units, and `to_json` writes that.
    """

    mapping: Mapping
    arch: Architecture
    cost: Cost
    energy: tuple[EnergyShare, ...]
    latency: LatencyBound
    utilization: Utilization
    reuse: tuple[WordReuse, ...]
    loops: tuple[LoopRole, ...]
    distance: Distance
    improvement: Improvement | None = None

    def as_dict(self) -> dict[str, Any]:
        """All facts as plain data, in base units: words, pJ, cycles, shares of 1."""
        return {
            "problem": self.mapping.problem.name,
            "architecture": self.arch.name,
            "energy_pj": self.cost.energy_pj,
            "latency_cycles": self.cost.latency_cycles,
            "energy": [asdict(part) for part in self.energy],
            "latency": asdict(self.latency),
            "utilization": asdict(self.utilization),
            "reuse": [asdict(r) | {"factor": r.factor} for r in self.reuse],
            "loops": [asdict(loop) for loop in self.loops],
            "distance": asdict(self.distance) if self.cost.zeros is None else None,
            "improvement": None if self.improvement is None else _improvement(self.improvement),
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
