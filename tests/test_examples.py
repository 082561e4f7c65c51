"""The notebooks are run, cell by cell, and print what they show.

`jupyter nbconvert --to notebook --execute --inplace examples/*.ipynb` writes their outputs again. The cells are run
here without a kernel, in one namespace, so that neither Jupyter nor its time is needed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT, run_python

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 4


@pytest.mark.some(1)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt  # by the process that runs it, not by each that collects

    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    names: dict[str, Any] = {}
    drawn = 0
    cells = [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    for cell in cells:
        printed = run_python("".join(cell["source"]), names)
        assert printed == "".join("".join(output.get("text", "")) for output in cell["outputs"])
        pictures = sum("image/png" in output.get("data", {}) for output in cell["outputs"])
        drawn += pictures
        assert len(plt.get_fignums()) == drawn
    plt.close("all")
    assert sum(len(cell["outputs"]) for cell in cells) >= 2
