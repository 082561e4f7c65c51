"""Constraints on the mapping space, as the search consumes them: by name, resolved for one problem and one machine.

`files.py` makes them from what a user writes; `violations.py` says what a mapping breaks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from ...ir import ConstraintError

Range: TypeAlias = tuple[int, int | None]
"""The least and the most trips, both inclusive; None is no limit."""
Groups: TypeAlias = tuple[frozenset[str], ...]

ANY: Range = (1, None)
_AXIS = "xy"


@dataclass(frozen=True)
class Constraints:
    """A part of the mapping space; without any entry, all of it.

    The temporal loops *at* a memory are those for which it is the innermost memory that has a node above them: they
    stand below its outermost node, and above the outermost node of the next memory inwards that keeps something. In
    the even space they stand directly below its nodes. A memory that keeps nothing has no loops, which counts as one
    trip of everything.

    name             what messages and reports call them; no part of equality
    keeps            (memory, tensor): True, it must keep it; False, it must not; absent, as the architecture says
    temporal         (memory, dim): least and most trips of the dimension's temporal loops at the memory, multiplied
    orders           memory: groups of dimensions, outermost first. Of its temporal loops with more than one trip, each
                     of an earlier group stands outside each of a later group; dimensions in no group are free
    spatial          (fanout, axis, dim), axis 0 is x and 1 is y: least and most trips of the dimension's loops there
    utilization      fanout: the least share of its instances in use, that is with work at any time
    min_utilization  the least share of MACs at work while any is: MACs / (MAC instances x steps), where steps are the
                     time steps in which at least one MAC works (`Cost.steps`). It is what utilization is when no
                     transfer takes longer than the computation

    Entries that exclude nothing are dropped, so equal constraints are equal records, with equal hashes.

    Raises ConstraintError when no mapping whatever can satisfy an entry.
    """

    name: str = field(default="free", compare=False)
    keeps: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    temporal: Mapping[tuple[str, str], Range] = field(default_factory=dict)
    orders: Mapping[str, Groups] = field(default_factory=dict)
    spatial: Mapping[tuple[str, int, str], Range] = field(default_factory=dict)
    utilization: Mapping[str, float] = field(default_factory=dict)
    min_utilization: float = 0.0

    def __post_init__(self) -> None:
        for (memory, dim), span in self.temporal.items():
            _check_range(span, f"trips of {dim} at {memory}")
        for (fanout, axis, dim), span in self.spatial.items():
            _check_range(span, f"trips of {dim} on {fanout}.{_AXIS[axis]}")
        for memory, groups in self.orders.items():
            seen: set[str] = set()
            for group in groups:
                if seen & group:
                    raise ConstraintError(
                        f"the order at {memory} has {', '.join(sorted(seen & group))} in two of its groups"
                    )
                seen |= group
        for what, share in (*self.utilization.items(), ("the MACs", self.min_utilization)):
            if not 0 <= share <= 1:
                raise ConstraintError(f"the utilization of {what} is {share}, expected a share from 0 to 1")
        object.__setattr__(self, "keeps", _sorted(self.keeps))
        object.__setattr__(self, "temporal", _sorted({k: v for k, v in self.temporal.items() if v != ANY}))
        nonempty = {memory: tuple(filter(None, groups)) for memory, groups in self.orders.items()}
        object.__setattr__(self, "orders", _sorted({k: v for k, v in nonempty.items() if len(v) > 1}))
        object.__setattr__(self, "spatial", _sorted({k: v for k, v in self.spatial.items() if v != ANY}))
        object.__setattr__(self, "utilization", _sorted({k: v for k, v in self.utilization.items() if v > 0}))

    def key(self) -> tuple[Hashable, ...]:
        """Everything but the name, as one hashable value; equal constraints have equal keys."""
        values = (getattr(self, f.name) for f in fields(self) if f.compare)
        return tuple(tuple(v.items()) if isinstance(v, dict) else v for v in values)

    def __hash__(self) -> int:
        return hash(self.key())

    @property
    def is_free(self) -> bool:
        """Whether they exclude nothing."""
        return self == Constraints()

    def singles(self) -> tuple[Constraints, ...]:
        """The same, one entry each; each is named by its own words."""
        parts: list[dict[str, Any]] = []
        for f in fields(self):
            value = getattr(self, f.name)
            entries = [{k: v} for k, v in value.items()] if isinstance(value, dict) else [value]
            parts += [{f.name: entry} for entry in entries if f.compare and entry]
        return tuple(replace(single, name=single.in_words()) for single in (Constraints(**part) for part in parts))

    def describe(self) -> tuple[str, ...]:
        """Every entry in words, in a fixed order."""
        return tuple(single.name for single in self.singles())

    def in_words(self) -> str:
        """The one entry that there is; of `singles`."""
        for (memory, tensor), keep in self.keeps.items():
            return f"{memory} {'keeps' if keep else 'does not keep'} {tensor}"
        for (memory, dim), span in self.temporal.items():
            return f"no loop over {dim} at {memory}" if span[1] == 1 else f"{trips(span)} of {dim} at {memory}"
        for memory, groups in self.orders.items():
            return f"at {memory}, {' outside '.join(' '.join(sorted(group)) for group in groups)}"
        for (fanout, axis, dim), span in self.spatial.items():
            place = f"{fanout}.{_AXIS[axis]}"
            return f"{dim} is not spread over {place}" if span[1] == 1 else f"{trips(span)} of {dim} on {place}"
        for fanout, share in self.utilization.items():
            return f"at least {share:.4g} of {fanout} in use"
        return f"at least {self.min_utilization:.4g} of the MACs at work"


def combine(parts: Iterable[Constraints], name: str | None = None) -> Constraints:
    """What satisfies all of them.

    name  of the result; else the names of the parts that exclude something and have one

    Raises ConstraintError where two of them contradict each other, or give a memory two different orders.
    """
    given = [part for part in parts if not part.is_free]
    found = dict.fromkeys(part.name for part in given if part.name != "free")
    title = name or " + ".join(found) or ("constraints" if given else "free")
    keeps: dict[tuple[str, str], bool] = {}
    temporal: dict[tuple[str, str], Range] = {}
    orders: dict[str, Groups] = {}
    spatial: dict[tuple[str, int, str], Range] = {}
    utilization: dict[str, float] = {}
    for part in given:
        for holder, keep in part.keeps.items():
            if keeps.setdefault(holder, keep) != keep:
                raise ConstraintError(f"{holder[0]} must keep {holder[1]}, and must not", where=title)
        for memory, groups in part.orders.items():
            if orders.setdefault(memory, groups) != groups:
                hint = "write one order for each memory"
                raise ConstraintError(f"{memory} is given two orders of its loops", where=title, hint=hint)
        for place, span in part.temporal.items():
            temporal[place] = _both(temporal.get(place, ANY), span)
        for slot, span in part.spatial.items():
            spatial[slot] = _both(spatial.get(slot, ANY), span)
        for fanout, share in part.utilization.items():
            utilization[fanout] = max(utilization.get(fanout, 0.0), share)
    least = max((part.min_utilization for part in given), default=0.0)
    try:
        return Constraints(title, keeps, temporal, orders, spatial, utilization, least)
    except ConstraintError as error:
        raise error.located(title) from None


def trips(span: Range) -> str:
    """A range in words: `at most 4 trips`."""
    least, most = span
    if most is None:
        text = f"at least {least}"
    elif least == most:
        text = f"{least}" if least == 1 else f"exactly {least}"
    else:
        text = f"at most {most}" if least == 1 else f"{least} to {most}"
    return f"{text} trip{'' if (most or least) == 1 else 's'}"


def _both(one: Range, other: Range) -> Range:
    mosts = [most for _, most in (one, other) if most is not None]
    return max(one[0], other[0]), min(mosts, default=None)


def _check_range(span: Range, what: str) -> None:
    least, most = span
    if least < 1 or (most is not None and most < least):
        shown = f"at least {least}" + ("" if most is None else f" and at most {most}")
        raise ConstraintError(f"the {what} are {shown}, which no mapping has", hint="the least number of trips is 1")


def _sorted(entries: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: entries[key] for key in sorted(entries)}
