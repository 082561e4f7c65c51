"""Where the energy goes: every part of it, largest first, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ...cost_models import Cost
from ...ir.units import count, energy, percent, significant

_SAID = 0.95
"""Parts are said one by one until they make up this share of the energy."""

_FEWEST = 2
"""Parts that are left over are said together only if there are so many of them."""


@dataclass(frozen=True)
class EnergyShare:
    """One part of the energy.

    kind      what it is spent on: words of a tensor at a memory, words on their way through a fanout, MACs, leakage
    place     the memory or fanout
    share     of the whole energy
    """

    kind: Literal["memory", "hops", "mac", "leakage"]
    place: str
    tensor: str
    energy_pj: float
    share: float
    words_read: int | float = 0
    words_written: int | float = 0


def energy_parts(cost: Cost) -> tuple[EnergyShare, ...]:
    """All parts, largest first; they add up to the energy of the mapping."""
    whole = cost.energy_pj or 1.0
    parts = [
        EnergyShare("memory", t.memory, t.tensor, t.energy_pj, t.energy_pj / whole, t.reads, t.writes)
        for t in cost.traffic
    ]
    parts += [EnergyShare("hops", n.fanout, n.tensor, n.energy_pj, n.energy_pj / whole) for n in cost.networks]
    parts.append(EnergyShare("mac", "MAC", "", cost.mac_energy_pj, cost.mac_energy_pj / whole))
    if cost.leakage_pj:
        parts.append(EnergyShare("leakage", "", "", cost.leakage_pj, cost.leakage_pj / whole))
    return tuple(sorted(parts, key=lambda part: -part.energy_pj))


def energy_sentences(parts: Sequence[EnergyShare], macs: int, done: float | None = None) -> Iterator[str]:
    """What moves and what computes, then the parts one by one, then the rest of them.

    done  of the MACs, those that are done, where operands have zeros; None: all
    """
    whole = sum(part.energy_pj for part in parts)
    if not whole:
        yield "No energy is spent: all figures of the machine are 0."
        return
    moving = sum(part.energy_pj for part in parts if part.kind in ("memory", "hops"))
    computing = sum(part.energy_pj for part in parts if part.kind == "mac")
    leaking = whole - moving - computing
    leaks = f", {percent(leaking, whole)} leaks" if leaking > 1e-9 * whole else ""
    yield f"{percent(moving, whole)} of {energy(whole)} moves words, {percent(computing, whole)} computes{leaks}."
    said = 0.0
    rest = [part for part in parts if part.energy_pj]
    while rest and (said < _SAID * whole or len(rest) < _FEWEST):
        part = rest.pop(0)
        yield _sentence(part, macs, macs if done is None else done)
        said += part.energy_pj
    if rest:
        names = ", ".join(_name(part) for part in rest)
        yield f"The rest, {percent(whole - said, whole)}, is {names}."


def _sentence(part: EnergyShare, macs: int, done: float) -> str:
    head = f"{percent(part.share, 1)}: {_name(part)}, {energy(part.energy_pj)}"
    if part.kind == "mac":
        of_all = f" of {count(macs)}" if done < macs else ""
        return (
            f"{head}: {count(done)}{of_all} MACs, {energy(part.energy_pj / done)} each."
            if of_all
            else (f"{head}: {count(macs)} MACs of {energy(part.energy_pj / macs)}.")
        )
    words = part.words_read + part.words_written
    if part.kind != "memory" or not words:
        return f"{head}."
    read, written = count(part.words_read), count(part.words_written)
    ways = [f"{read} words read"] * bool(part.words_read)
    ways += [f"{written} {'written' if ways else 'words written'}"] * bool(part.words_written)
    each = energy(part.energy_pj / words)
    return f"{head}: {', '.join(ways)}, {significant(words / macs)} per MAC, {each} each."


def _name(part: EnergyShare) -> str:
    names = {
        "memory": f"{part.tensor} in {part.place}",
        "hops": f"{part.tensor} on its way through {part.place}",
        "mac": "the MACs",
        "leakage": "leakage",
    }
    return names[part.kind]
