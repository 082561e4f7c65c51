"""How often every memory uses a word that it was filled with, and how many instances one read serves.

Of an operand, along its chain of memories from the outside in,

    used     = words read for what lies inside / words filled into the memory             (reuse in time)
    network  = words that all instances inside get / words read                          (multicast)
    halo     = words that its tiles have / words filled, since overlaps stay              (a part of the reuse in time)

and of an output, from the inside out, `used` is updates that arrive / partial sums that leave (accumulation in place)
and `network` partial sums of all instances / updates that arrive (reduction on the way). The outermost memory counts
as filled with every word of the tensor once, and the last to get words are the MACs. So all factors of a tensor
together are the MACs that each of its words takes part in: MACs / words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...cost_models.crossings import Crossing
from ...cost_models.intensity import compulsory_words
from ...ir import Problem
from ...ir.units import count, significant

_MORE = 1.0005
"""Factors below this are not worth a word."""


@dataclass(frozen=True)
class WordReuse:
    """One tensor in one memory.

    filled   words that come in from outside; of an output, those that leave outwards
    used     words read for what lies inside, for several instances at once; of an output, updates that arrive
    network  see above: instances that a word serves, or that are added up into one update
    halo     see above; 1 where no overlap is kept
    """

    tensor: str
    is_output: bool
    memory: str
    inner: str
    filled: int
    used: int
    network: float
    halo: float

    @property
    def factor(self) -> float:
        """How often a word is used here."""
        return self.used / self.filled


def reuse_of(problem: Problem, crossings: Sequence[Crossing]) -> tuple[WordReuse, ...]:
    """Every tensor in every memory that keeps it, tensor by tensor, from the outside in."""
    found: list[WordReuse] = []
    words = compulsory_words(problem)
    for tensor in problem.tensors:
        filled, halo = words[tensor.name], 1.0
        for crossing in crossings:
            if crossing.boundary.tensor is not tensor:
                continue
            total, inner = crossing.total, crossing.boundary.inner
            found.append(
                WordReuse(
                    tensor=tensor.name,
                    is_output=tensor.is_output,
                    memory=crossing.boundary.outer.name,
                    inner=inner.name if inner else "MAC",
                    filled=filled,
                    used=total.taken,
                    network=total.delivered / total.taken,
                    halo=halo,
                )
            )
            filled, halo = total.delivered, total.wanted / total.delivered
    return tuple(found)


def reuse_sentences(problem: Problem, reuse: Sequence[WordReuse]) -> Iterator[str]:
    """One sentence a tensor: the MACs that a word takes part in, and the product that they come from."""
    words = compulsory_words(problem)
    for tensor in problem.tensors:
        factors = [part for r in reuse if r.tensor == tensor.name for part in _factors(r)]
        product = " x ".join(factors) or "1"
        each = significant(problem.macs / words[tensor.name])
        role = "sums up" if tensor.is_output else "is used in"
        yield f"A word of {tensor.name} {role} {each} {'MAC' if each == '1' else 'MACs'} = {product}."


def _factors(reuse: WordReuse) -> Iterator[str]:
    if reuse.factor > _MORE:
        yield f"{significant(reuse.factor)} {reuse.memory}"
    if reuse.network > _MORE:
        yield f"{significant(reuse.network)} {'reduced' if reuse.is_output else 'multicast'}"


def reuse_rows(reuse: Sequence[WordReuse]) -> list[tuple[str, ...]]:
    """Tensor, memory; words in, words used, times used, network, halo: as texts."""
    rows: list[tuple[str, ...]] = []
    last = ""
    for r in reuse:
        network = (
            f"{significant(r.network)} {'sums in one' if r.is_output else 'get each'}" if r.network > _MORE else "-"
        )
        halo = f"{significant(r.halo)}" if r.halo > _MORE else "-"
        name = "" if r.tensor == last else r.tensor
        rows.append((name, r.memory, count(r.filled), count(r.used), significant(r.factor), network, halo))
        last = r.tensor
    return rows
