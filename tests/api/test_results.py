"""Search, evaluation and results, as called from Python."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.ir import ArchitectureError, ConstraintError, InfeasibleError, ProblemError
from tilewright.results import SearchResult


@cache
def result() -> SearchResult:
    return tw.search(tw.gemm(M=16, N=16, K=16), tw.load_arch("eyeriss"), objective="edp")


def test_a_result_is_proven_and_verified() -> None:
    assert result().certificate.proven
    assert result().certificate.value == pytest.approx(result().cost.edp)
    assert result().verify()
    assert "gemm on eyeriss" in str(result())
    assert "proven optimal" in str(result())


def test_the_objective_is_the_least_of_all() -> None:
    for objective in ("energy", "latency", "edp"):
        best = tw.search(tw.gemm(M=8, N=8, K=8), "eyeriss", objective=objective)
        assert best.cost.objective(objective) <= result().cost.objective(objective)


def test_names_and_paths_are_accepted(tmp_path: Path) -> None:
    library = Path(sys.modules["tilewright.arch.loader"].__file__ or "").parent / "library" / "eyeriss.yaml"
    path = tmp_path / "copy.yaml"
    path.write_text(library.read_text(encoding="utf-8"), encoding="utf-8")
    problem = tw.gemm(M=8, N=8, K=8)
    assert tw.search(problem, path).mapping == tw.search(problem, "eyeriss").mapping
    with pytest.raises(ProblemError, match="unknown layer 'conv9'"):
        tw.search("alexnet:conv9", "eyeriss")
    with pytest.raises(ArchitectureError, match="did you mean 'eyeriss'"):
        tw.search(problem, "eyeris")


def test_misspelt_options_name_the_nearest() -> None:
    problem = tw.gemm(M=8, N=8, K=8)
    with pytest.raises(tw.TilewrightError, match="did you mean 'energy'"):
        tw.search(problem, "eyeriss", objective="engery")  # type: ignore[arg-type]
    with pytest.raises(tw.TilewrightError, match="did you mean 'perfect'"):
        tw.search(problem, "eyeriss", tiling="perfekt")  # type: ignore[arg-type]
    with pytest.raises(tw.TilewrightError, match="did you mean 'json'"):
        result().emit("jsn")  # type: ignore[arg-type]


def test_problems_beyond_exact_counting_are_refused() -> None:
    with pytest.raises(ProblemError, match="expected 2\\^53 at most"):
        tw.search(tw.gemm(M=10**9, N=10**9, K=10**9), "eyeriss")


def test_every_form_of_a_result() -> None:
    assert tw.LoopNest.parse(result().emit("nest")) == result().mapping.nest
    assert tw.load_mapping(result().emit("json")).mapping == result().mapping
    assert "import numpy as np" in result().emit("numpy")


def test_saved_files_stand_on_their_own(tmp_path: Path) -> None:
    files = result().save(tmp_path / "new" / "folder")
    assert [path.name for path in files] == ["mapping.json", "nest.txt", "reference.py"]
    done = subprocess.run([sys.executable, str(files[2])], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert tw.evaluate(files[0]) == result().cost


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / "nest.txt").mkdir(parents=True)
    for folder, expected in {"file": "not a directory", "file/below": "not a directory", "taken": "nest.txt"}.items():
        with pytest.raises(tw.TilewrightError, match=expected):
            result().save(tmp_path / folder)


def test_evaluation_takes_a_mapping_a_text_or_a_path(tmp_path: Path) -> None:
    mapping, cost = result().mapping, result().cost
    assert tw.evaluate(mapping, "eyeriss") == cost
    assert tw.evaluate(mapping, tw.load_arch("eyeriss")) == cost
    assert tw.evaluate(result().emit("json")) == cost
    with pytest.raises(tw.TilewrightError, match="no architecture is given"):
        tw.evaluate(mapping)
    with pytest.raises(tw.TilewrightError, match="no such file"):
        tw.evaluate(tmp_path / "none.json")
    with pytest.raises(tw.TilewrightError):
        tw.evaluate(result().emit("json"), "tpu_v1")


def test_figures_beyond_floats_are_refused() -> None:
    arch = tw.load_arch("eyeriss")
    dram = arch.memories[0].model_copy(update={"read_energy_pj": 1e306})
    huge = arch.model_copy(update={"levels": (dram, *arch.levels[1:])})
    with pytest.raises(tw.TilewrightError, match="too large"):
        tw.evaluate(result().mapping, huge)


def test_an_innermost_memory_that_is_too_small_is_named() -> None:
    arch = tw.load_arch("three_level")
    small = arch.memories[-1].model_copy(update={"size_bits": 16, "keeps": arch.memories[0].keeps})
    with pytest.raises(InfeasibleError) as caught:
        tw.search(tw.gemm(M=4, N=4, K=4), arch.model_copy(update={"levels": (*arch.levels[:-1], small)}))
    assert "RF" in str(caught.value)


def test_the_simulator_counts_what_the_cost_says() -> None:
    counts = tw.simulate(result().mapping, result().arch)
    for traffic in result().cost.traffic:
        accesses = counts.total[traffic.memory, traffic.tensor]
        assert (accesses.reads, accesses.writes) == (traffic.reads, traffic.writes)


def test_constraints_are_understood_before_the_search() -> None:
    with pytest.raises(ConstraintError, match="did you mean 'weight-stationary'"):
        tw.search(tw.gemm(M=4, N=4, K=4), "three_level", constraints="weight-stationery")
    with pytest.raises(ConstraintError, match="no dimension 'R'"):
        tw.search(
            tw.gemm(M=4, N=4, K=4), "three_level", constraints=["free", {"memories": {"GLB": {"temporal": {"R": 1}}}}]
        )
    assert tw.search(tw.gemm(M=4, N=4, K=4), "three_level", constraints="free").certificate.proven
