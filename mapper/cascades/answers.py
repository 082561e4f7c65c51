"""Questions about cascades, answered: by the search for the machine."""

from __future__ import annotations

from ...ir import TilewrightError
from ..means import Means
from .filled import FilledSearch
from .overlapped import OverlappedSearch
from .part_bounds import Nearest
from .question import CascadeAnswer, CascadeQuestion, NothingBelow
from .search import CascadeSearch
from .single_bounds import SingleLeast
from .weighted_sums import Corner
from .weights import weights_of


def search_alone(question: CascadeQuestion) -> CascadeAnswer:
    """The proven best fused mapping of one form of a cascade; where time or memory run out, the best found and its gap.

    Raises InfeasibleError when nothing fits, UndecidedError when time or memory run out before anything is found, and
    TilewrightError for what cannot be searched.
    """
    return _search(question).run()


def search_cascade_below(question: CascadeQuestion) -> CascadeAnswer | NothingBelow:
    """As `search_cascade`, only for what is less than `below`; of objectives that add up over operations.

    Raises TilewrightError for what cannot be searched.
    """
    return _search(question).run_below()


def search_cascade_front(question: CascadeQuestion) -> list[CascadeAnswer]:
    """The front of energy and latency, from the least energy to the least latency; what it is least of is not looked
    at."""
    search = _search(question, whole_front=True)
    search.run()
    return search.front_answers()


def bound_cascade(question: CascadeQuestion, nearest: Nearest | None = None) -> float:
    """What no tree of the cascade has less of, seen without a search over trees; 0 where there are no means to see it.

    nearest  what is known of single operations on the same machine, in the same space; more is noted there

    Raises TilewrightError for what cannot be searched, and for objectives that do not add up over operations.
    """
    weights = weights_of(question.objective)
    if weights is None:
        raise TilewrightError(f"objective {question.objective.name} has no bound that adds up over operations")
    return _search(question, nearest=nearest).least_of(weights)


def bound_by_singles(question: CascadeQuestion, known: SingleLeast | None = None) -> float:
    """What no tree of the cascade has less energy than, by what each of its operations costs at best on its own
    (`single_bounds.py`): closer than `bound_cascade`, and a search for each operation that is not known. 0 for other
    objectives, and on machines where it would take long.

    known  what is known of single operations on the same machine; more is noted there
    """
    weights = weights_of(question.objective)
    bounds = None if weights is None else _search(question, singles=known).single_bounds(weights)
    return 0.0 if bounds is None else bounds.of_all()


def _search(
    question: CascadeQuestion,
    whole_front: bool = False,
    nearest: Nearest | None = None,
    singles: SingleLeast | None = None,
) -> CascadeSearch:
    means = Means.from_now(question.limits.time_s, question.limits.memory_bytes)
    known, alone = {} if nearest is None else nearest, {} if singles is None else singles
    return _kind(question, whole_front)(question, means, whole_front=whole_front, nearest=known, singles=alone)


def _kind(question: CascadeQuestion, whole_front: bool) -> type[CascadeSearch]:
    """The search for a machine on which latencies add up over operations, or one on which they do not."""
    if question.overlaps or (whole_front and question.arch.overlap == "across_operations"):
        return OverlappedSearch
    is_filled = question.arch.latency == "with_fill" and len(question.cascade.operations) > 1
    return FilledSearch if is_filled else CascadeSearch


def search_against(question: CascadeQuestion, means: Means, known: list[Corner]) -> CascadeSearch:
    """A search of one form of a cascade for what is better than mappings of others; where latencies do not add up over
    operations, for its best."""
    kind = _kind(question, whole_front=False)
    return kind(question, means, corners=known) if kind is CascadeSearch else kind(question, means)
