"""MODEL_VERSION: a change of what mappings cost, or of which there are, needs a new number.

Stored results are used as long as the number stays. So `golden/model_version.json` has searches with their results
under the present number, as mapping.json documents. When this test fails because results are meant to have changed:
raise MODEL_VERSION in mapper/model_version.py, and write the file again by `python tests/mapper/test_model_version.py`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from tilewright import TilewrightError, search
from tilewright.arch import load_arch
from tilewright.cost_models import evaluate
from tilewright.mapper.model_version import MODEL_VERSION
from tilewright.report.documents import document_of, parse_mapping
from tilewright.workloads import conv2d, gemm

GOLDEN = Path(__file__).parent.parent / "golden" / "model_version.json"
CASES = 20


def documents() -> list[Any]:
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert recorded["model_version"] == MODEL_VERSION, "write golden/model_version.json again (see this file's top)"
    found: list[Any] = recorded["results"]
    return found


@pytest.mark.parametrize("number", range(CASES))
def test_results_change_only_with_the_version(number: int) -> None:
    loaded = parse_mapping(json.dumps(documents()[number]), f"result {number}")
    cost, proof = loaded.recorded.cost, loaded.recorded.certificate
    assert proof is not None
    again = evaluate(loaded.mapping, loaded.arch)
    found = search(loaded.mapping.problem, loaded.arch, proof.objective, proof.tiling, proof.space)
    raise_it = "results have changed: raise MODEL_VERSION (see this file's top)"
    for one in (again, found.cost):
        assert isclose(one.objective(proof.objective), proof.value, rel_tol=1e-9), raise_it
    assert isclose(again.energy_pj, cost.energy_pj, rel_tol=1e-9), raise_it
    assert isclose(again.latency_cycles, cost.latency_cycles, rel_tol=1e-9), raise_it
    assert found.certificate.space_size == proof.space_size, raise_it


def results() -> Iterator[Any]:
    """Searches of every kind: machines of the library, and random ones with all their switches."""
    from generators import random_architecture, random_problem

    small, strided = gemm(M=8, N=4, K=6), conv2d(K=4, C=2, P=4, Q=4, R=3, S=3, stride=2)
    kinds = (("perfect", "even", "edp"), ("perfect", "uneven", "energy"), ("ragged", "even", "latency"))
    for arch in map(load_arch, ("eyeriss", "tpu_v1")):
        yield search(strided, arch)
        for tiling, space, objective in kinds:
            yield search(small, arch, objective, tiling, space)  # type: ignore[arg-type]
    for seed in range(1000):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng)
        tiling, space, objective = kinds[seed % len(kinds)]
        try:
            yield search(problem, arch, objective, tiling, space)  # type: ignore[arg-type]
        except TilewrightError:
            continue


def write() -> None:
    if GOLDEN.exists() and json.loads(GOLDEN.read_text())["model_version"] == MODEL_VERSION:
        sys.exit("golden/model_version.json is of this MODEL_VERSION: raise that first")
    found = [result for result, _ in zip(results(), range(CASES), strict=False)]
    texts = [document_of(r.mapping, r.arch, r.cost, r.certificate).model_dump_json() for r in found]
    lines = ",\n".join(texts)
    GOLDEN.write_text(f'{{"model_version": {MODEL_VERSION}, "results": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    write()
