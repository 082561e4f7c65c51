"""A small comparison, for all tests of what is made of one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batches import DATAFLOWS, Here, cells, settings
from tilewright.report.comparisons.comparison import Comparison, comparison_of
from tilewright.report.comparisons.rows import Row
from tilewright.run.batch.plan import distinct_questions
from tilewright.run.batch.run import run_batch
from tilewright.run.store import NoMapping


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    found = cells(tmp_path_factory.mktemp("net"), archs=("eyeriss", "tpu_v1"), dataflows=DATAFLOWS)
    outcomes = run_batch(distinct_questions(found), None, Here)
    return comparison_of(found, outcomes, settings(), "tilewright compare", "tilewright")


@pytest.fixture(scope="session")
def with_a_gap(comparison: Comparison) -> Comparison:
    """The same where one layer has no mapping under one dataflow."""

    def spoiled(row: Row) -> Row:
        if (row.layer, row.arch, row.dataflow) != ("conv", "eyeriss", "weight-stationary"):
            return row
        return replace(row, outcome=NoMapping(row.problem.name, f"no mapping of {row.problem.name}", "spad", None))

    return replace(comparison, rows=tuple(map(spoiled, comparison.rows)))
