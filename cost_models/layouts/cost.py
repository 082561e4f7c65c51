"""What a mapping costs where tensors have layouts: lines through the ports, and their energy, in the place of words."""

from __future__ import annotations

from dataclasses import dataclass

from ...arch import Architecture
from ...ir import Mapping, TilewrightError
from ..closed_form import count_words
from ..cost import Cost, PortBits, check_fit, cost_of
from ..objective import ObjectiveLike
from ..ports import AccessBits
from .counts import LineTable, count_lines, lines_of
from .parsing import Layouts


@dataclass(frozen=True)
class LineTraffic:
    """One tensor with a layout at one memory, over all instances.

    memory, tensor  their names
    layout         as it was given
    line_words     words that a full line holds there; a line may have room for more
    reads, writes  lines
    words_read, words_written  for which they are read and written
    energy_pj      of these lines
    packed_pj      of the words alone
    """

    memory: str
    tensor: str
    layout: str
    line_words: int
    reads: int
    writes: int
    words_read: int
    words_written: int
    energy_pj: float
    packed_pj: float


@dataclass(frozen=True)
class LayoutCost:
    """What a mapping costs with some layouts.

    cost    with lines counted: energies, bits and cycles are those of whole lines, words those that are asked for
    packed  the same mapping where every word is read and written by itself
    lines   tensors with a layout, outermost memory first
    """

    cost: Cost
    packed: Cost
    lines: tuple[LineTraffic, ...]

    @property
    def energy_pj(self) -> float:
        """Of the whole run."""
        return self.cost.energy_pj

    @property
    def latency_cycles(self) -> float:
        """Of the whole run."""
        return self.cost.latency_cycles

    @property
    def edp(self) -> float:
        """Energy-delay product, in pJ x cycles."""
        return self.cost.edp

    def objective(self, objective: ObjectiveLike) -> float:
        """The figure that a search minimizes.

        Raises TilewrightError for an unknown objective, and for a lexicographic one: it has no single value.
        """
        return self.cost.objective(objective)


def check_known(arch: Architecture, layouts: Layouts) -> None:
    """TilewrightError for switches of a machine that lines are not known to."""
    unknown = [("latency: with_fill", arch.latency == "with_fill")]
    with_layout = {memory for memory, _ in layouts}
    unknown += [(f"{m.name}.block", m.block_bits is not None) for m in arch.memories if m.name in with_layout]
    for name, there in unknown:
        if there:
            raise TilewrightError(f"layouts are not known to {name}", where=arch.name, hint="leave it out")


def evaluate_layouts(mapping: Mapping, arch: Architecture, layouts: Layouts) -> LayoutCost:
    """The cost of a mapping whose tensors lie in lines.

    Raises MappingError when the mapping does not fit, and TilewrightError for lines smaller than a word, and for what
    lines are not known to.
    """
    check_known(arch, layouts)
    check_fit(mapping, arch)
    words, lines = count_words(mapping, arch), count_lines(mapping, arch, layouts)
    packed = cost_of(mapping, arch, words)
    bits = PortBits(*(_line_bits(arch, table) for table in (lines.total, lines.busiest)))
    cost = cost_of(mapping, arch, words, lines=bits)
    traffic = tuple(
        LineTraffic(
            memory=found.memory,
            tensor=found.tensor,
            layout=layouts[key].text,
            line_words=_line_words(mapping, arch, layouts, key),
            reads=lines.total[key].reads,
            writes=lines.total[key].writes,
            words_read=found.reads,
            words_written=found.writes,
            energy_pj=found.energy_pj,
            packed_pj=before.energy_pj,
        )
        for found, before in zip(cost.traffic, packed.traffic, strict=True)
        if (key := (found.memory, found.tensor)) in lines.total
    )
    return LayoutCost(cost, packed, traffic)


def _line_bits(arch: Architecture, table: LineTable) -> dict[tuple[str, str], AccessBits]:
    width = {memory.name: memory.line_bits or 0 for memory in arch.memories}
    return {
        key: AccessBits(
            supplied=lines.reads * width[key[0]], drained=0, collected=0, filled=lines.writes * width[key[0]]
        )
        for key, lines in table.items()
    }


def _line_words(mapping: Mapping, arch: Architecture, layouts: Layouts, key: tuple[str, str]) -> int:
    memory = next(each for each in arch.memories if each.name == key[0])
    words = 1
    for rank in lines_of(mapping.problem, arch, memory, mapping.problem.tensor(key[1]), layouts[key]):
        words *= rank.words
    return words
