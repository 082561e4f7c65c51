"""What searches of one batch know of one another is the better for all of them, and true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from batches import Here, questions
from tilewright.cost_models import evaluate
from tilewright.mapper.answer import Answer
from tilewright.mapper.constraints.violations import violations
from tilewright.mapper.question import NestQuestion
from tilewright.mapper.simplest import simplest_mapping
from tilewright.run.batch import run as run_module
from tilewright.run.batch.job import Done, Failure, Outcome, run_job
from tilewright.run.batch.run import run_batch
from tilewright.run.batch.sharing import shared
from tilewright.run.store import Store


@pytest.fixture
def asked(tmp_path: Path) -> list[NestQuestion]:
    """One layer, free and under two dataflows."""
    found = questions(tmp_path, dataflows=("free", "weight-stationary", "output-stationary"))
    return [question for question in found if question.problem == found[0].problem]


def poor(question: NestQuestion, bound: float) -> Answer:
    """What a search that ran out might say: the simplest mapping, and a bound in parts of the optimum."""
    best = run_job(question).result
    assert isinstance(best, Answer)
    mapping = simplest_mapping(question.problem, question.arch)
    cost = evaluate(mapping, question.arch)
    value = cost.objective(question.objective)
    assert value > best.certificate.value
    proof = replace(best.certificate, value=value, lower_bound=bound * best.certificate.value)
    return Answer(mapping, cost, proof)


def test_the_free_search_takes_over_what_a_fixed_one_found(asked: list[NestQuestion]) -> None:
    free, *fixed = asked
    outcomes: dict[str, Outcome] = {question.key: run_job(question).result for question in fixed}
    own = outcomes[free.key] = poor(free, 0.5)
    found = shared(asked, outcomes)
    assert found.keys() == {free.key}, "the others are proven"
    values = [one.certificate.value for one in outcomes.values() if isinstance(one, Answer)]
    proof = found[free.key].certificate
    assert proof.value == min(values) == evaluate(found[free.key].mapping, free.arch).objective(free.objective)
    assert proof.lower_bound == own.certificate.lower_bound
    assert not proof.proven
    assert proof.constraints == ()


def test_the_bound_of_the_whole_holds_for_its_parts(asked: list[NestQuestion]) -> None:
    free, fixed, _ = asked
    best = run_job(free).result
    assert isinstance(best, Answer)
    found = shared(asked, {free.key: best, fixed.key: poor(fixed, 0.5)})
    assert found[fixed.key].certificate.lower_bound == best.certificate.value
    assert shared(asked, {free.key: best, fixed.key: run_job(fixed).result}) == {}


def test_a_search_that_found_nothing_has_what_another_one_found(asked: list[NestQuestion]) -> None:
    free, fixed, _ = asked
    known = run_job(fixed).result
    best = run_job(free).result
    assert isinstance(known, Answer)
    assert isinstance(best, Answer)
    proof = shared(asked, {free.key: Failure("no time"), fixed.key: known})[free.key].certificate
    assert proof.value == known.certificate.value
    assert 0 < proof.lower_bound <= best.certificate.value
    back = shared(asked, {free.key: known, fixed.key: Failure("no time")})[fixed.key]
    assert back.mapping == known.mapping, "it keeps the constraints of the fixed one"
    assert back.certificate.constraints == fixed.constraints.describe() != ()
    bad = violations(best.mapping, fixed.arch, fixed.constraints)
    assert bool(shared(asked, {free.key: best, fixed.key: Failure("no time")})) is not bool(bad)


def test_a_batch_counts_and_keeps_what_is_shared(
    asked: list[NestQuestion], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = asked[0]
    cut = poor(free, 0.5)
    asked = [replace(question, limits=replace(question.limits, time_s=9.0)) for question in asked]

    def job(question: NestQuestion) -> Done:
        done = run_job(question)
        return replace(done, result=cut) if question.constraints.is_free else done

    monkeypatch.setattr(run_module, "run_job", job)
    with Store(tmp_path / "store.sqlite3") as store:
        found = run_batch(asked, store, Here)
        answer = found.outcomes[free.key]
        assert isinstance(answer, Answer)
        assert answer.certificate.value < cut.certificate.value
        assert (found.progress.unproven, found.progress.failed) == (1, 0)
        recalled = store.recall(asked[0])
        assert recalled is not None
        assert recalled.result == answer
