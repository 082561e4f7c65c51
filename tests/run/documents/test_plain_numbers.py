"""What searches hand out are plain numbers, and every form of a result gives back what it says."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tilewright as tw
from cases import CASES
from tilewright.mapper.certificate import Certificate

OBJECTIVES = ("energy", "edp", "energy + 100 * latency", "energy where latency <= 1e9")


def numpy_numbers(value: object, where: str) -> list[str]:
    """Where numpy's scalars are in what dataclasses hold."""
    if isinstance(value, np.generic):
        return [where]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return [found for name, one in fields for found in numpy_numbers(one, f"{where}.{name}")]
    if isinstance(value, dict):
        return [found for name, one in value.items() for found in numpy_numbers(one, f"{where}[{name}]")]
    if isinstance(value, (list, tuple)):
        return [found for i, one in enumerate(value) for found in numpy_numbers(one, f"{where}[{i}]")]
    return []


def read_back(result: object, folder: Path) -> None:
    """JSON, HTML and CSV of a result, each read again."""
    for part in ("certificate", "cost"):
        assert numpy_numbers(getattr(result, part), part) == []
    files = result.save(folder)  # type: ignore[attr-defined]
    documents = {path.name: json.loads(path.read_text()) for path in files if path.suffix == ".json"}
    document = documents["plan.json" if "plan.json" in documents else "mapping.json"]
    certificate = result.certificate  # type: ignore[attr-defined]
    stated = document.get("certificate") or document["summary"]
    assert (stated["value"], stated["lower_bound"]) == (certificate.value, certificate.lower_bound)
    assert stated.get("proven", certificate.proven) is certificate.proven
    for path in files:
        if path.suffix in (".html", ".txt"):
            assert "np.float" not in path.read_text()
    frame = result.to_frame()  # type: ignore[attr-defined]
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    for name in frame.columns:
        assert list(again[name].dropna()) == list(frame[name].replace("", np.nan).dropna()), name


@pytest.mark.some(1)
@pytest.mark.parametrize("leakage", [None, "5 mW"])
@pytest.mark.parametrize("limit", [0.0, None], ids=["cut short", "proven"])
def test_every_form_gives_back_what_a_result_says(leakage: str | None, limit: float | None, tmp_path: Path) -> None:
    arch = tw.load_arch("three_level", {"leakage": leakage} if leakage else {})
    network = tw.load_network(CASES / "networks" / "mlp.yaml")
    pair = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=2, n=2, k=2, p=2)
    for number, objective in enumerate(OBJECTIVES):
        found = [tw.search(tw.gemm(8, 4, 8), arch, objective, "perfect", time_limit=limit)]
        if number % 2 == 0:
            seconds = None if limit is None else 0.05
            found.append(tw.search(pair, arch, objective, "perfect", time_limit=seconds))
            found.append(tw.compile(network, arch, objective, "perfect", most=1, total_limit=seconds, workers=1))
        for kind, result in enumerate(found):
            read_back(result, tmp_path / f"{number}-{kind}")
    for kind, result in enumerate(tw.search_pareto(tw.gemm(4, 4, 4), arch, "perfect", time_limit=limit)):
        read_back(result, tmp_path / f"front-{kind}")


def test_a_certificate_has_plain_numbers_whatever_a_search_gave_it() -> None:
    value = np.float64(2.5)
    pruned = {"loops": np.int64(3)}
    found = Certificate("energy", "perfect", value, np.float64(2.0), None, np.int64(1), np.int64(4), pruned, value)  # type: ignore[arg-type]
    assert numpy_numbers(found, "certificate") == []
    assert type(found.proven) is bool
    assert type(found.gap) is float
