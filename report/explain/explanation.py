"""All that is explained of a mapping, as facts and as data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from ...arch import Architecture
from ...cost_models import Cost, Objective
from ...cost_models.crossings import crossings_of
from ...ir import Mapping
from ...ir.display import Shown
from .distance import Distance, distance_of
from .energy import EnergyShare, energy_parts
from .latency import LatencyBound, latency_of
from .loops import LoopRole, loops_of
from .ranking import Tried, best_changes
from .reuse import WordReuse, reuse_of
from .utilization import Utilization, utilization_of


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
class Explanation(Shown):
    """Why a mapping costs what it costs, and what would help; docs/explain.md goes through it.

    mapping, arch, cost  what is explained
    energy       who spends the energy: memories by tensor, networks, MACs, leakage; the largest first
    latency      what bounds it, and how busy everything else is
    utilization  share of the MACs at work, and what the rest is lost to
    reuse        how often each word is used between two memories
    loops        what every loop of the nest is for
    distance     how far energy, latency and words are from what no mapping can go below
    improvement  what searching again has found; None, if nothing was searched for

    `as_dict` has all of it as plain data, in base units, and `to_json` writes that; `text` is what
    `tilewright explain` prints.
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
            "distance": asdict(self.distance),
            "improvement": None if self.improvement is None else _improvement(self.improvement),
        }

    def to_json(self) -> str:
        """`as_dict` as JSON: what `tilewright explain --json` prints."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def svg(self) -> str:
        """The picture of the nest: memories with their tiles, and the loops between them (picture.py)."""
        from .picture import nest_svg

        return nest_svg(self.mapping, self.arch, self.loops)

    def text(self) -> str:
        """All of it in sentences and tables; so is `str` of it."""
        from ..text import plain_text
        from .page import explanation_page

        return plain_text(explanation_page(self))

    def __str__(self) -> str:
        return self.text()


def explain_mapping(mapping: Mapping, arch: Architecture, cost: Cost) -> Explanation:
    """All facts about a mapping that costs `cost`, except what searching again would say."""
    crossings = crossings_of(mapping, arch)
    return Explanation(
        mapping=mapping,
        arch=arch,
        cost=cost,
        energy=energy_parts(cost),
        latency=latency_of(cost, arch),
        utilization=utilization_of(mapping, arch, cost),
        reuse=reuse_of(mapping.problem, crossings),
        loops=loops_of(mapping, arch, crossings),
        distance=distance_of(mapping.problem, arch, cost, crossings),
    )


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
