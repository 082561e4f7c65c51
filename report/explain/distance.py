"""How far a mapping is from what no mapping of its layer can do without: traffic, time, energy.

traffic  words read and written at the outermost memory, against every word once, and against the bound for all
         schedules that have as many words of memory on the chip (`cost_models/traffic_bounds.py`)
time     cycles, against those that all MACs need if none ever idles, and those that the outermost port needs for
         every word once
energy   against that of the MACs and of every word once at the outermost memory
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

from ...arch import Architecture
from ...cost_models import Cost
from ...cost_models.cost import capacity_parts
from ...cost_models.crossings import Crossing
from ...cost_models.intensity import compulsory_words
from ...cost_models.ports import port_cycles
from ...cost_models.traffic_bounds import traffic_bound
from ...ir import Problem
from ...ir.problem import ROLES
from ...ir.units import count, energy, significant


@dataclass(frozen=True)
class TensorDistance:
    """Words of a tensor that cross between the outermost memory and the chip, and the fewest that can."""

    tensor: str
    words: int | float
    least: int


@dataclass(frozen=True)
class Distance:
    """A figure of the mapping, and a lower bound of it for every mapping, three times.

    outermost     the memory that traffic is counted at
    tensors       its traffic, tensor by tensor: operands read, outputs written
    words         read and written there
    least_words   by any schedule with the memory that is on the chip
    on_chip_words that it holds, None if a memory has no limit
    least_cycles  by the MACs, or by the outermost port for every word once: `least_cycles_of` says which
    """

    outermost: str
    tensors: tuple[TensorDistance, ...]
    words: int | float
    least_words: float
    on_chip_words: int | None
    cycles: float
    least_cycles: float
    least_cycles_of: str
    energy_pj: float
    least_energy_pj: float


def distance_of(problem: Problem, arch: Architecture, cost: Cost, crossings: Sequence[Crossing]) -> Distance:
    """How far a mapping that costs `cost` is from its bounds."""
    outermost = arch.memories[0]
    crossed = {c.boundary.tensor.name: c.total.taken for c in crossings if c.boundary.outer is outermost}
    least = compulsory_words(problem)
    on_chip = _words_on_chip(problem, arch)
    bits = {t.name: least[t.name] * arch.width_bits(t) for t in problem.tensors}
    read = sum(bits[t.name] for t in problem.operands)
    written = bits[problem.output.name]
    passing = {role: (sum(bits[t.name] for t in problem.operands if t.role == role), 0) for role in ROLES}
    passing[problem.output.role] = 0, written
    transfers = (read * outermost.read_energy_pj + written * outermost.write_energy_pj) / outermost.access_bits
    compute = problem.macs / (arch.mac_instances * arch.mac.per_cycle)
    port = port_cycles(outermost, passing)
    return Distance(
        outermost=outermost.name,
        tensors=tuple(TensorDistance(t.name, crossed[t.name], least[t.name]) for t in problem.tensors),
        words=sum([t.reads + t.writes for t in cost.traffic if t.memory == outermost.name]),
        least_words=traffic_bound(problem, on_chip) if on_chip else float(sum(least.values())),
        on_chip_words=on_chip,
        cycles=cost.latency_cycles,
        least_cycles=max(compute, port),
        least_cycles_of="the MACs" if compute >= port else f"the port of {outermost.name}",
        energy_pj=cost.energy_pj,
        least_energy_pj=problem.macs * arch.mac.energy_pj + transfers,
    )


def _words_on_chip(problem: Problem, arch: Architecture) -> int | None:
    """Words of the narrowest tensor that all memories but the outermost hold together; None if one has no limit."""
    bits = 0
    for memory in arch.memories[1:]:
        parts = capacity_parts(memory)
        shared = memory.size_bits is not None or len(memory.partition_bits) == len(("input", "weight", "output"))
        if not shared:
            return None
        bits += arch.instances(memory.name) * sum(part.bits for part in parts)
    return floor(bits / min(arch.width_bits(t) for t in problem.tensors)) or None


def distance_sentences(distance: Distance) -> Iterator[str]:
    """One sentence for traffic, one for tensors that cross more often than once, one each for time and energy."""
    d = distance
    bound = f"the least for any schedule is {count(round(d.least_words))}"
    if d.on_chip_words:
        bound += f" with the {count(d.on_chip_words)} words that the chip holds"
    yield f"{d.outermost} moves {count(d.words)} words, {_times(d.words, d.least_words)}: {bound}."
    again = [t for t in d.tensors if t.words > t.least]
    once = [t.tensor for t in d.tensors if t.words == t.least]
    if again:
        often = ", ".join(f"{t.tensor} {significant(t.words / t.least, 3)} times" for t in again)
        rest = f"; {' and '.join(once)} once" if once else ""
        yield f"Words cross between {d.outermost} and the chip: {often}{rest}."
    else:
        yield f"Every word crosses between {d.outermost} and the chip once."
    yield (
        f"{count(d.cycles)} cycles are {_times(d.cycles, d.least_cycles)}: "
        f"{d.least_cycles_of} cannot do with less than {count(d.least_cycles)}."
    )
    if d.least_energy_pj:
        yield (
            f"{energy(d.energy_pj)} are {_times(d.energy_pj, d.least_energy_pj)}: the MACs, and every word once at "
            f"{d.outermost}, take {energy(d.least_energy_pj)}."
        )


def _times(value: float, least: float) -> str:
    factor = value / least
    return "the least possible" if factor < 1 + 1e-9 else f"{significant(factor, 3)} times the bound"
