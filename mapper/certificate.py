"""What a search proves, and what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, overload

from .kernel.tolerance import reaches
from .space import Space
from .tilings import Tiling

PointT = TypeVar("PointT")
OtherT = TypeVar("OtherT")

Ended = Literal["time", "memory", "interrupt"]
"""What may end a search before its proof is complete."""


@dataclass(frozen=True)
class OpenPart:
    """Of what is open where a search ends before its proof is complete, the part with the lowest bound. Energy and
    latency are parts of those of the mapping found, and so is the bound of its value.

    ended     what ended the search
    bound     nothing that is open has a lower value
    memories  tensors of which it is decided which memories keep them, and how many there are
    arrays    fanouts of which it is decided how many instances work, and how many there are
    tiles     tiles that are decided, and how many there are; (0, 0) before memories and arrays are
    energy    least energy; None: not worked out, or there is none
    charged   of that, what is known exactly, rather than a bound on what is still to be decided
    latency   least latency
    below     partial mappings, and choices, that are open with bounds under 99 % of the value
    """

    ended: Ended
    bound: float
    memories: tuple[int, int]
    arrays: tuple[int, int]
    tiles: tuple[int, int]
    energy: float | None
    charged: float | None
    latency: float | None
    below: int

    def __str__(self) -> str:
        """One line."""
        ended = {"time": "time ran out", "memory": "memory ran out", "interrupt": "interrupted"}[self.ended]
        told = [ended, f"lowest bound {self.bound:.1%} of the best: {self._decided}"]
        if self.energy is not None and self.latency is not None:
            told.append(f"energy {self.energy:.1%} ({self.charged:.1%} charged), latency {self.latency:.1%} at least")
        return "; ".join((*told, f"{self.below:,} open below 99 %"))

    @property
    def _decided(self) -> str:
        """How far it is decided."""
        if self.memories[0] < self.memories[1]:
            return f"memories of {self.memories[0]} of {self.memories[1]} tensors chosen"
        if self.arrays[0] < self.arrays[1]:
            return f"memories chosen, arrays of {self.arrays[0]} of {self.arrays[1]} fanouts"
        return f"{self.tiles[0]} of {self.tiles[1]} tiles chosen{', all arrays' if self.arrays[1] else ''}"


@dataclass(frozen=True)
class PartProof:
    """What is proven of a part of the space that was asked for, where it is more than is proven of all.

    among        the mappings of that part, in words: "trees without shared loops along windows"
    lower_bound  none of them has a lower value
    """

    among: str
    lower_bound: float


@dataclass(frozen=True)
class Certificate:
    """The proof record of a search.

    objective    text of what was minimized, as `objective=` of a search takes it
    tiling, space  as asked for
    value        objective of the mapping found, in the objective's unit
    lower_bound  no mapping of the space that was asked for has a lower one
    space_size   mappings in the space, before capacities and constraints are looked at; None: not counted
    placements   choices of the tensors that each memory keeps
    evaluated    complete mappings whose cost was computed
    pruned       partial mappings left aside, by rule
    seconds      that the search took
    constraints  what the mappings of the space had to satisfy, in words
    strategy     how it was searched: only "exact" and "cpsat" prove anything
    interrupted  whether the search was interrupted (Ctrl-C)
    open_part    of the exact search: where the lowest open bound stands; None where the proof is complete, or before
                 anything has a bound
    parts        what is proven of parts of the space, where that is more than of all of it
    """

    objective: str
    tiling: Tiling
    value: float
    lower_bound: float
    space_size: int | None
    placements: int
    evaluated: int
    pruned: dict[str, int]
    seconds: float
    space: Space = "even"
    constraints: tuple[str, ...] = ()
    strategy: str = "exact"
    interrupted: bool = False
    open_part: OpenPart | None = None
    parts: tuple[PartProof, ...] = ()

    def __post_init__(self) -> None:
        """Make numpy's numbers plain ones, and -0.0 a 0: certificates are where the results of searches leave them."""
        parts = tuple(PartProof(part.among, float(part.lower_bound)) for part in self.parts)
        plain = {
            "value": float(self.value),
            "lower_bound": float(self.lower_bound) + 0.0,
            "seconds": float(self.seconds),
        }
        counts = {"placements": int(self.placements), "evaluated": int(self.evaluated)}
        pruned = {name: int(count) for name, count in self.pruned.items()}
        for name, number in {**plain, **counts, "pruned": pruned, "parts": parts}.items():
            object.__setattr__(self, name, number)

    @property
    def proven(self) -> bool:
        """Whether the bound meets the value (to the rounding of float arithmetic)."""
        return reaches(self.lower_bound, self.value)

    def with_bound(self, lower_bound: float) -> Certificate:
        """The same with another bound on all mappings; of parts what is more than that stays."""
        bound = min(lower_bound, self.value)
        return replace(self, lower_bound=bound, parts=tuple(one for one in self.parts if one.lower_bound > bound))

    @property
    def proven_among(self) -> tuple[str, ...]:
        """The parts of the space in which nothing is better, where that is not proven of all of it."""
        met = (part for part in self.parts if reaches(part.lower_bound, self.value))
        return () if self.proven else tuple(part.among for part in met)

    @property
    def gap(self) -> float:
        """How much better than this mapping another one could be at most, as a fraction of the value."""
        return max(0.0, 1 - self.lower_bound / self.value) if self.value else 0.0


@dataclass(frozen=True)
class Points(Sequence[PointT]):
    """Several answers, as a sequence, and whether any is missing: a front of energy and latency, or a ranking.

    points    from the least energy to the least latency; of a ranking the best first
    complete  whether it is proven that none is missing, and that none of these is beaten
    gap       how far what is missing could be from these. Of a front: every mapping has more than 1 - gap times the
              energy and the latency of some point, or as much; 0 where it is complete. Of a ranking: the largest gap of
              its points
    """

    points: tuple[PointT, ...]
    complete: bool
    gap: float = 0.0

    @overload
    def __getitem__(self, index: int) -> PointT: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PointT, ...]: ...
    def __getitem__(self, index: int | slice) -> PointT | tuple[PointT, ...]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def each(self, convert: Callable[[PointT], OtherT]) -> Points[OtherT]:
        """The same with every point converted."""
        return Points(tuple(map(convert, self.points)), self.complete, self.gap)
