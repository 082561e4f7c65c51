"""Questions: what their key depends on, and limits that hold for a search as a whole."""

from __future__ import annotations

import time
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import pytest

from tilewright.arch import load_arch
from tilewright.cost_models import EDP, parse_objective
from tilewright.ir import TilewrightError
from tilewright.mapper.answer import Answer
from tilewright.mapper.question import Limits, NestQuestion, Question
from tilewright.mapper.several import best_of, search_in_turn
from tilewright.mapper.strategies import STRATEGIES, strategy_named
from tilewright.workloads import gemm


def question(**changes: object) -> NestQuestion:
    return replace(Question(gemm(8, 8, 8), load_arch("three_level"), EDP, "perfect"), **changes)  # type: ignore[arg-type]


def test_limits_are_no_part_of_the_key() -> None:
    assert question(limits=Limits(3.0, 2**20)).key == question().key
    assert question(tiling="ragged").key != question().key


def test_two_searches_share_one_time_limit() -> None:
    left: list[float | None] = []

    def slow(asked: NestQuestion) -> Answer:
        left.append(asked.limits.time_s)
        time.sleep(0.2)
        return best_of(replace(asked, limits=Limits()))

    wanted = parse_objective("latency,energy")
    assert search_in_turn(question(objective=wanted, limits=Limits(10.0)), slow).certificate.proven
    first, second = left
    assert first == 10.0
    assert second is not None
    assert second <= 9.8
    search_in_turn(question(objective=wanted), slow)
    assert left[2:] == [None, None]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_is_frozen_and_named_by_the_table(name: str) -> None:
    strategy = strategy_named(name)
    assert is_dataclass(strategy)
    assert (strategy.name, strategy.tilings[0]) == (name, "perfect")
    with pytest.raises((FrozenInstanceError, TypeError)):
        strategy.seed = 3  # type: ignore[attr-defined]
    for field in fields(strategy):
        assert strategy_named(name, **{field.name: 7}) != strategy


def test_wrong_strategies() -> None:
    with pytest.raises(TilewrightError, match="did you mean 'anneal'"):
        strategy_named("aneal")
    with pytest.raises(TilewrightError, match="seed is no option of the strategy exact"):
        strategy_named("exact", seed=3)
