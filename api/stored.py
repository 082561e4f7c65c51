"""Searches that are answered from the result store where they can be, and kept there where they cannot."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from .arguments import StoreLike
from .ir import InfeasibleError, StoreError
from .mapper.answer import Answer
from .mapper.cascades import NothingBelow
from .mapper.certificate import Certificate, Points
from .mapper.fusing import answer_below, answer_cascade
from .mapper.question import AnyQuestion, NestQuestion, TreeQuestion, is_about_cascade
from .mapper.segmentation import Solve
from .mapper.several import search_front
from .mapper.strategies import Exact
from .results import SearchResult
from .run.store import NoMapping, Record, Store, was_interrupted
from .run.store.opening import not_kept, opened
from .run.store.result import Kept

Note = Callable[[str], None]
"""Called with what is worth knowing, such as that nothing can be kept."""


def search_stored(question: AnyQuestion, store: StoreLike | None, note: Note) -> tuple[SearchResult, Record | None]:
    """The exact search of a question, answered from the store if it can be: the result, and the record that it was
    taken from; None where it has just been found.

    store  path of the store; None: `TILEWRIGHT_STORE`, or the cache folder of the user

    Raises StoreError for a store that is damaged or of another version, and for one that was chosen and cannot be
    written. Where nobody chose a store, that is a note: the search does not need it.
    """
    with opened(store, note) as keeper:
        answer, record = _answered(question, keeper, note)
        return SearchResult.of(question, answer), record


def front_stored(question: NestQuestion, store: StoreLike | None, note: Note) -> Points[SearchResult]:
    """As `search_pareto`; each of the searches that a point of the front takes is answered from the store if it can be.

    store, note, errors  as of `search_stored`
    """
    with opened(store, note) as keeper:

        def search(one: NestQuestion) -> Answer:
            return _answered(one, keeper, note)[0]

        return search_front(question, search).each(lambda point: SearchResult.of(question, point))


def _answered(question: AnyQuestion, keeper: Store | None, note: Note) -> tuple[Answer, Record | None]:
    """The answer, and the record that it is from; raises the InfeasibleError of a result that there is none."""
    recalled = keeper.recall(question) if keeper else None
    if recalled is not None:
        return _found(recalled.result), recalled.record
    started = time.perf_counter()
    try:
        result: Kept = answer_cascade(question) if is_about_cascade(question) else Exact().search(question)
    except InfeasibleError as error:
        result = _missing(question, error)
    if keeper and (isinstance(result, NoMapping) or _may_be_kept(_found(result).certificate)):
        with _noting(note):
            result = keeper.keep_best(question, result, time.perf_counter() - started)
    return _found(result), None


def _missing(question: AnyQuestion, error: InfeasibleError) -> NoMapping:
    return NoMapping(question.work.name, error.message, error.where, error.hint)


def _found(result: Kept) -> Answer:
    """The answer; raises the InfeasibleError of a result that there is none."""
    if isinstance(result, NoMapping):
        raise result.error
    assert isinstance(result, Answer), "a mapping was asked for"
    return result


def _may_be_kept(certificate: Certificate) -> bool:
    """Whether the same search would come to the same result: not when it was interrupted before the proof."""
    return certificate.proven or not certificate.interrupted


def group_solver(store: StoreLike | None, note: Note) -> Solve:
    """Answers questions about groups as `group_stored` does; processes can be handed it."""
    return partial(group_stored, store=store, note=note)


def group_stored(question: TreeQuestion, store: StoreLike | None, note: Note) -> Answer | NothingBelow:
    """As `search_stored`, where only what is better than `below` may be of interest."""
    with opened(store, note) as keeper:
        if question.below == math.inf:
            return _answered(question, keeper, note)[0]
        return answer_below(question) if keeper is None else _answered_below(question, keeper, note)


def _answered_below(question: TreeQuestion, keeper: Store, note: Note) -> Answer | NothingBelow:
    """What a search comes to that goes on from what the store knows; raises InfeasibleError where there is no tree."""
    known = keeper.recall_trees(question)
    if isinstance(known, NoMapping):
        raise known.error
    outcome = known.outcome(question)
    if outcome is not None:
        return outcome
    started, asked = time.perf_counter(), known.narrowed(question)
    try:
        found = answer_below(asked)
    except InfeasibleError as error:
        with _noting(note):
            keeper.keep_trees(question, _missing(question, error), time.perf_counter() - started)
        raise
    known = known.with_outcome(asked, found)
    with _noting(note):
        keeper.keep_trees(question, known, time.perf_counter() - started)
    return (None if was_interrupted(found) else known.outcome(question)) or found


@contextmanager
def _noting(note: Note) -> Iterator[None]:
    """What cannot be kept is a note: the result is there, and must not be lost with it."""
    try:
        yield
    except StoreError as error:
        note(not_kept(error))
