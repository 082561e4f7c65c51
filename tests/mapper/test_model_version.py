"""MODEL_VERSION: a change of what mappings cost, or of which there are, needs a new number.

Stored results are used as long as the number stays. So `golden/model_version.json` has searches with their results
under the present number. When this test fails because results are meant to have changed:
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

from tilewright import SearchResult, TilewrightError, search
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import evaluate
from tilewright.ir import LoopNest, Mapping, Problem, Tensor
from tilewright.mapper.model_version import MODEL_VERSION
from tilewright.workloads import conv2d, gemm

GOLDEN = Path(__file__).parent.parent / "golden" / "model_version.json"
CASES = 20


def cases() -> list[Any]:
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert recorded["model_version"] == MODEL_VERSION, "write golden/model_version.json again (see this file's top)"
    found: list[Any] = recorded["cases"]
    return found


@pytest.mark.some(8)
@pytest.mark.parametrize("number", range(CASES))
def test_results_change_only_with_the_version(number: int) -> None:
    case = cases()[number]
    tensors = (Tensor(n, tuple(tuple(map(tuple, rank)) for rank in ranks), role) for n, ranks, role in case["tensors"])
    problem = Problem("golden", tuple(map(tuple, case["dims"])), tuple(tensors))
    arch = Architecture.model_validate(case["architecture"])
    found = search(problem, arch, case["objective"], case["tiling"], case["space"])
    raise_it = "results have changed: raise MODEL_VERSION (see this file's top)"
    for cost in (evaluate(Mapping(problem, LoopNest.parse(case["nest"])), arch), found.cost):
        assert isclose(cost.objective(case["objective"]), case["value"], rel_tol=1e-9), raise_it
    cost = evaluate(Mapping(problem, LoopNest.parse(case["nest"])), arch)
    assert isclose(cost.energy_pj, case["energy_pj"], rel_tol=1e-9), raise_it
    assert isclose(cost.latency_cycles, case["latency_cycles"], rel_tol=1e-9), raise_it
    assert found.certificate.space_size == case["space_size"], raise_it


def case_of(result: SearchResult) -> dict[str, Any]:
    return {
        "dims": result.problem.dims,
        "tensors": [[t.name, t.ranks, t.role] for t in result.problem.tensors],
        "architecture": json.loads(result.arch.model_dump_json(exclude_defaults=True)),
        "objective": result.certificate.objective,
        "tiling": result.certificate.tiling,
        "space": result.certificate.space,
        "nest": str(result.mapping),
        "value": result.certificate.value,
        "energy_pj": result.cost.energy_pj,
        "latency_cycles": result.cost.latency_cycles,
        "space_size": result.certificate.space_size,
    }


def results() -> Iterator[SearchResult]:
    """Searches of every kind: machines of the library, and random ones with all their switches."""
    from generators import random_architecture, random_problem

    small, strided = gemm(M=8, N=4, K=6), conv2d(K=4, C=2, P=4, Q=4, R=3, S=3, stride=2)
    kinds = (("perfect", "even", "edp"), ("perfect", "uneven", "energy"), ("ragged", "even", "latency"))
    for arch in map(load_arch, ("eyeriss", "tpu_v1")):
        yield search(strided, arch, tiling="perfect")
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
    lines = ",\n".join(json.dumps(case_of(result)) for result in found)
    GOLDEN.write_text(f'{{"model_version": {MODEL_VERSION}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    write()
