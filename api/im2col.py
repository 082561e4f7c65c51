"""A convolution in its direct form and as a product with a lowered operand (im2col), for callers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .arguments import (
    ArchitectureLike,
    ConstraintsLike,
    LayoutLike,
    SizeLike,
    as_problem,
    laid_out,
    limits_of,
    question_of,
    tiling_or_default,
)
from .cost_models import ObjectiveLike
from .ir import Problem
from .mapper.lowering import Forms, search_forms
from .mapper.means import DEFAULT_MEMORY_LIMIT
from .mapper.question import NestQuestion
from .mapper.space import Space
from .mapper.tilings import Tiling
from .results import SearchResult


@dataclass(frozen=True)
class ConvolutionForms:
    """A convolution in both of its forms, each with its best mapping.

    direct           the convolution itself
    product          the product with a lowered operand, whose objective has the cost of lowering added
    image_words      that lowering reads, once each, and
    lowered_words    that it writes, once each, both in the outermost memory
    lowering_pj      energy that this takes, in pJ
    lowering_cycles  cycles that it takes, before the product begins
    value            the objective of the product and lowering together
    wins             whether that is less than the direct form's
    proven           whether no mapping of either form costs less than the better one of these two
    """

    direct: SearchResult
    product: SearchResult
    image_words: int
    lowered_words: int
    lowering_pj: float
    lowering_cycles: float
    value: float
    wins: bool
    proven: bool

    @classmethod
    def of(cls, question: NestQuestion, forms: Forms) -> ConvolutionForms:
        """Of a question about the direct form, and its answer in both."""
        spent = forms.lowering
        return cls(
            SearchResult.of(question, forms.direct),
            SearchResult.of(forms.product_question, forms.product),
            spent.image_words,
            spent.lowered_words,
            spent.energy_pj,
            spent.cycles,
            forms.value,
            forms.wins,
            forms.proven,
        )

    @property
    def better(self) -> SearchResult:
        """The result of the form that costs less; the direct one where both cost the same."""
        return self.product if self.wins else self.direct

    def __str__(self) -> str:
        times = self.value / self.direct.certificate.value
        verdict = "proven" if self.proven else "not proven"
        taken = "as a product" if self.wins else "direct"
        return f"{taken}, {verdict}: as a product with lowering it costs {times:.4g} times as much as direct"


def search_im2col(
    problem: Problem | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    layout: LayoutLike = None,
) -> ConvolutionForms:
    """The best mapping of a convolution, and the best one of the product that it is with a lowered operand (im2col),
    lowering included (docs/layouts.md).

    problem    a convolution, or a layer by name
    arch       an architecture, or one of the library by name, or the path of an architecture file
    objective  "energy", "latency", "edp", "ed2p" or a formula, without limits
    tiling, space, constraints  as of `search`, for both forms
    time_limit seconds for the search of each form; None: no limit
    memory_limit  bytes that each search may take, or a text such as "2 GiB"
    layout     where words lie in memories that have lines, as of `search`; the lowered operand lies as is best

    Raises TilewrightError as `search` does, and for objectives with limits or several parts; ProblemError for what
    reads no operand in windows, or several.
    """
    limits = limits_of(time_limit, memory_limit)
    question = question_of(as_problem(problem), arch, objective, tiling_or_default(tiling), space, constraints, limits)
    question = replace(question, arch=laid_out(question.arch, question.problem, layout))
    return ConvolutionForms.of(question, search_forms(question))
