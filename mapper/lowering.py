"""im2col as a way to run a convolution: the best mapping of the product, what lowering adds, and the direct form.

Lowering reads the image once and writes the lowered operand once, both in the outermost memory, before the product
begins. So it adds the same energy and time to every mapping of the product, and the best of all is the best mapping of
the product under an objective that has these added.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from ..arch import Architecture, Memory
from ..cost_models import Objective, evaluate_open, parse_objective
from ..cost_models.cost import held_width_bits, tensor_tile_words
from ..cost_models.formula import number_text
from ..cost_models.layouts import has_lines, layout_in, line_box
from ..cost_models.layouts.choices import possible_layouts, with_layouts
from ..cost_models.padding import counted
from ..cost_models.ports import port_cycles
from ..cost_models.sets import Move, lines_along_rank
from ..ir import Problem, Tensor, TilewrightError, ceil_div
from ..workloads.lowering import LOWERED, Lowered, lowered
from .answer import Answer
from .kernel.tolerance import is_better, reaches
from .question import NestQuestion
from .several import best_of


@dataclass(frozen=True)
class LoweringCost:
    """What it takes to lower an image.

    image_words, lowered_words  that are read and written, once each
    energy_pj, cycles  of the outermost memory
    """

    image_words: int
    lowered_words: int
    energy_pj: float
    cycles: float


@dataclass(frozen=True)
class Forms:
    """A convolution in its direct form, and as a product.

    product_question  what the product answers: the least with lowering added
    lowering  what it takes to lower the image, as the product's layouts have it
    value     of the product and lowering together; `bound`: no mapping of the product costs less with it
    """

    objective: Objective
    lowered: Lowered
    direct: Answer
    product: Answer
    product_question: NestQuestion
    lowering: LoweringCost
    value: float
    bound: float

    @property
    def wins(self) -> bool:
        """Whether the product, with lowering, costs less than the direct form."""
        return is_better(self.value, self.direct.certificate.value)

    @property
    def proven(self) -> bool:
        """Whether the better one of the two is proven to be the best of both forms."""
        floor = min(self.bound, self.direct.certificate.lower_bound)
        return reaches(floor, min(self.value, self.direct.certificate.value))


def search_forms(question: NestQuestion) -> Forms:
    """The best mapping of a convolution in its direct form, and of the product that it is with a lowered operand.

    The lowered operand lies in lines as is best for the product; all else as the machine states it.

    Raises ProblemError for what cannot be lowered, TilewrightError for objectives with limits or several parts, and
    InfeasibleError where nothing fits.
    """
    if type(question.objective) is not Objective or question.objective.is_lexicographic:
        raise TilewrightError(
            f"im2col knows no objective such as {question.objective.name}",
            where="--im2col",
            hint="minimize energy, latency, edp, ed2p or a formula, without limits",
        )
    form = lowered(question.problem)
    machine = with_layouts(question.arch, form.product, {LOWERED: "any"}) if has_lines(question.arch) else question.arch
    least = _lowering_cost(form, question.problem, machine, None)
    objective = _with_lowering(question.objective, least)
    direct = best_of(question)
    asked = replace(question, work=form.product, arch=machine, objective=objective)
    product = best_of(asked)
    cost, closed = evaluate_open(product.mapping, machine, objective)
    spent = _lowering_cost(form, question.problem, machine, closed)
    value = question.objective.value(cost.energy_pj + spent.energy_pj, cost.latency_cycles + spent.cycles)
    return Forms(question.objective, form, direct, product, asked, spent, value, product.certificate.lower_bound)


def _with_lowering(objective: Objective, spent: LoweringCost) -> Objective:
    """The same of a mapping's energy and latency with those of lowering added."""
    added = {"energy": spent.energy_pj, "latency": spent.cycles}
    texts = {name: f"({name} + {number_text(value)})" for name, value in added.items() if value}
    return parse_objective(re.sub(r"\b(energy|latency)\b", lambda m: texts.get(m[1], m[1]), objective.formula))


def _lowering_cost(form: Lowered, problem: Problem, machine: Architecture, closed: Architecture | None) -> LoweringCost:
    """What it takes to read the image once and to write the lowered operand once.

    closed  the machine with the layout in which the lowered operand is written; None: with no line that is not full
    """
    outer = machine.memories[0]
    image, operand = form.image, form.operand
    stored = counted(problem, machine).tensor(image.name)
    words = tensor_tile_words(stored, problem.sizes), math.prod(problem.sizes[dim] for dim in operand.dims)
    read = words[0] * held_width_bits(machine, outer, image)
    written = words[1] * held_width_bits(machine, outer, operand)
    if outer.line_bits is not None:
        read = outer.line_bits * _image_lines(problem, machine, outer, image)
        written = ceil_div(written, outer.line_bits) * outer.line_bits
        if closed is not None:
            memory = closed.memories[0]
            width = held_width_bits(closed, memory, operand)
            box = line_box(memory, form.product, operand, layout_in(memory, operand), width)
            extents = form.product.extents(operand.name)
            written = outer.line_bits * math.prod(map(ceil_div, extents, box))
    cycles = port_cycles(outer, {image.role: (read, written)})
    energy = (read * outer.read_energy_pj + written * outer.write_energy_pj) / outer.access_bits
    return LoweringCost(*words, energy + cycles * machine.total_leakage_pj_per_cycle, cycles)


def _image_lines(problem: Problem, machine: Architecture, memory: Memory, image: Tensor) -> int:
    """Lines that the words of the image lie in; the fewest, where its layout is open."""
    ways = possible_layouts(machine, memory, problem, image, held_width_bits(machine, memory, image))
    whole = [tuple((Move(0, problem.sizes[dim], 1, problem.sizes[dim]),) for dim, _ in rank) for rank in image.ranks]
    return min(
        math.prod(
            lines_along_rank(tuple(c for _, c in rank), moves, machine.footprint, per_line, 0)[0]
            for rank, moves, per_line in zip(image.ranks, whole, way.words.line, strict=True)
        )
        for way in ways
    )
