"""The proven best mapping where operands have zeros: an exact search for a dense problem that costs the same.

Where every memory that may keep an operand compresses it in one format whose bits grow with the words alone, the mean
bits of a word are one number: for blocks of N:M, N / M x (width + ceil(log2 M)); for a bitmask, density x width + 1.
The MAC leaves out a part of the operations that depends on no mapping. So every mapping costs as much as it costs
without zeros for a problem whose words of that operand have that width, on a machine whose MACs need that part of the
energy and time: the *stand-in*. (Widths are whole bits; where they are not, all widths of the stand-in are multiplied.)

Capacities are those of the fullest tiles, which the stand-in takes for the mean ones. It allows all mappings that fit
and some that do not, so no mapping that fits is better than its best one; if that one fits, the proof holds. It does
wherever tiles are of whole blocks; otherwise the search says so, and gives no mapping.

What depends on tiles has no stand-in, and is refused: savings at memories, and formats whose indices are as wide as
their tile. Ragged tiles are not known to zeros at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace
from fractions import Fraction

from ..arch import Architecture, Memory
from ..cost_models.sparse import Density, SparseCost, Structured, evaluate_sparse
from ..cost_models.sparse.formats import bits_for
from ..cost_models.sparse.savings import box
from ..cost_models.sparse.shares import check_known, zeros_at_mac
from ..ir import Mapping, MappingError, Problem, Tensor, TilewrightError, UndecidedError
from ..ir.display import Shown
from .certificate import Certificate
from .question import Question
from .strategies import strategy_named

LARGEST_FACTOR = 2**20


@dataclass(frozen=True)
class SparseAnswer(Shown):
    """What a search comes to: the best mapping, its mean cost, and what is proven of it."""

    mapping: Mapping
    cost: SparseCost
    certificate: Certificate

    def __str__(self) -> str:
        proof = "proven optimal" if self.certificate.proven else "not proven optimal"
        return f"{self.mapping.problem.name}: {self.cost}, {proof} for {self.certificate.objective}"


def search_sparse(question: Question, densities: MappingABC[str, Density]) -> SparseAnswer:
    """The best mapping of a question whose operands have zeros.

    Raises TilewrightError for what has no stand-in, InfeasibleError if nothing fits, and UndecidedError if the best
    mapping of the stand-in does not hold its fullest tiles.
    """
    if question.tiling != "perfect":
        raise TilewrightError("ragged tiles are not known to zeros", where="tiling", hint="ask for perfect tilings")
    problem, arch = stand_in(question.problem, question.arch, densities)
    answer = strategy_named("exact").search(replace(question, problem=problem, arch=arch))
    mapping = Mapping(question.problem, answer.mapping.nest)
    try:
        cost = evaluate_sparse(mapping, question.arch, densities)
    except MappingError as error:
        raise UndecidedError(
            f"the best mapping for tiles of mean size does not hold the fullest ones: {error.message}",
            where=error.where,
            hint="make that memory a little smaller with --set, so that mean tiles leave room",
        ) from None
    return SparseAnswer(mapping, cost, answer.certificate)


def stand_in(problem: Problem, arch: Architecture, densities: MappingABC[str, Density]) -> tuple[Problem, Architecture]:
    """The dense problem and machine on which every mapping costs what it costs with these zeros."""
    check_known(problem, arch)
    _refuse_savings(problem, arch, densities)
    widths = {t.name: _mean_width(problem, t, arch, densities) for t in problem.tensors}
    factor = math.lcm(*(width.denominator for width in widths.values()))
    if factor > LARGEST_FACTOR:
        raise TilewrightError(
            f"words of {max(widths, key=lambda name: widths[name].denominator)} have no whole width in any unit",
            where="density",
            hint="give a density with a small denominator, such as 0.25 or 2:4",
        )
    energy = cycles = 1.0
    for tensor in problem.operands:
        if tensor.name in densities:
            gated, skipped = zeros_at_mac(
                arch.mac, tensor, densities[tensor.name], float(_nonzero(problem, tensor, arch, densities[tensor.name]))
            )
            energy, cycles = energy * (1.0 - max(gated, skipped)), cycles * (1.0 - skipped)
    tensors = tuple(_widened(tensor, widths[tensor.name], factor) for tensor in problem.tensors)
    mac = arch.mac.model_copy(
        update={"energy_pj": arch.mac.energy_pj * energy, "per_cycle": arch.mac.per_cycle / cycles}
    )
    partial = arch.partial_width_bits(problem.output) * factor
    machine = arch.model_copy(
        update={
            "word_bits": arch.word_bits * factor,
            "partial_sum_bits": partial,
            "levels": tuple(_scaled(level, factor) if isinstance(level, Memory) else level for level in arch.levels),
            "mac": mac,
        }
    )
    return replace(problem, tensors=tensors), machine


def _refuse_savings(problem: Problem, arch: Architecture, densities: MappingABC[str, Density]) -> None:
    roles = {problem.tensor(name).role for name in densities}
    for memory in arch.memories:
        for key, saved in (("gate", memory.gates), ("skip", memory.skips)):
            if any(roles & {*on} for on in saved.values()):
                raise TilewrightError(
                    f"what {key} saves depends on tiles, and is not known to the search",
                    where=f"{arch.name}: {memory.name}.{key}",
                    hint="evaluate knows it; leave it out of the machine to search",
                )


def _nonzero(problem: Problem, tensor: Tensor, arch: Architecture, density: Density) -> Fraction:
    """Nonzero words of all words."""
    shape = box(tensor, problem.sizes, arch.footprint)
    return Fraction(round(density.words(shape, shape).mean), math.prod(shape))


def _mean_width(problem: Problem, tensor: Tensor, arch: Architecture, densities: MappingABC[str, Density]) -> Fraction:
    """Bits of a word with its part of the metadata, in every memory that may keep the tensor."""
    width = arch.width_bits(tensor)
    if tensor.name not in densities:
        return Fraction(width)
    density = densities[tensor.name]
    keeping = [memory for memory in arch.memories if memory.keeps[tensor.role] != "never"]
    formats = {memory.formats.get(tensor.role, "") for memory in keeping}
    if formats == {""}:
        return Fraction(width)
    known = len(formats) == 1 and formats <= {"blocks", "bitmask"}
    if not known or ("blocks" in formats and not isinstance(density, Structured)):
        found = ", ".join(f"{memory.name} {memory.formats.get(tensor.role, 'uncompressed')}" for memory in keeping)
        raise TilewrightError(
            f"the search knows blocks of N:M, or bitmasks, in all memories that may keep {tensor.name}, found {found}",
            where=arch.name,
            hint="evaluate knows all formats; set compress of these memories alike to search",
        )
    nonzero = _nonzero(problem, tensor, arch, density)
    if formats == {"bitmask"}:
        return nonzero * width + 1
    assert isinstance(density, Structured)
    return nonzero * (width + bits_for(density.block))


def _widened(tensor: Tensor, width: Fraction, factor: int) -> Tensor:
    partial = tensor.partial_bits * factor if tensor.partial_bits else None
    return replace(tensor, bits=int(width * factor), partial_bits=partial)


def _scaled(memory: Memory, factor: int) -> Memory:
    """The memory with all widths multiplied; its formats are in the widths already."""
    ports = ("read_bits_per_cycle", "write_bits_per_cycle", "shared_bits_per_cycle", "size_bits")
    return memory.model_copy(
        update={
            "access_bits": memory.access_bits * factor,
            "partition_bits": {role: bits * factor for role, bits in memory.partition_bits.items()},
            **{key: value * factor for key in ports if (value := getattr(memory, key)) is not None},
            "formats": {},
        }
    )
