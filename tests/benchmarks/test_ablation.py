"""The table of the ablation takes rows without losing those of other mechanisms."""

from __future__ import annotations

import csv
from pathlib import Path

from ablation import write_table


def test_rows_of_other_mechanisms_stay(tmp_path: Path) -> None:
    path = tmp_path / "trees.csv"
    write_table(path, [{"question": "q", "mechanism": m, "times": 1.0} for m in ("first", "second")])
    write_table(path, [{"question": "q", "mechanism": "second", "times": 2.0}])
    with path.open(newline="") as file:
        rows = [(row["mechanism"], float(row["times"])) for row in csv.DictReader(file)]
    assert rows == [("first", 1.0), ("second", 2.0)]
