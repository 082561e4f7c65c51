"""The options of a search, from Python and on the command line: strategies, spaces, constraints, the best few."""

from __future__ import annotations

import json
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.ir import ConstraintError
from tilewright.mapper.exact.exploring.found import BestFound
from tilewright.mapper.space.size import space_size
from tilewright.mapper.space.textbook import textbook_estimate
from tilewright.mapper.strategies import STRATEGIES

LAYER = tw.gemm(M=8, N=8, K=8)
WORDS = ("--gemm", "M=8,N=8,K=8", "--arch", "three_level")
EXPRESSION = "GLB.temporal.K<=2"
AS_DICT = {"memories": {"GLB": {"temporal": {"K": {"max": 2}}}}}
LONG = ("--conv", "K=512,C=512,P=7,Q=7,R=3,S=3", "--arch", "eyeriss", "--tiling", "ragged")
"""A search that is not over with its first mapping."""


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments: object) -> Any:
    """The JSON document, or the list of them, that a search prints."""
    done = run("search", *WORDS, *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(autouse=True)
def _short_heuristics(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.mapper.heuristics import search

    monkeypatch.setattr(search, "search_heuristic", partial(search.search_heuristic, evaluations=60))


@pytest.mark.some(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_answers(strategy: str) -> None:
    exact = tw.search(LAYER, "three_level")
    draws = strategy not in ("exact", "cpsat")
    found = tw.search(LAYER, "three_level", strategy=strategy, seed=3 if draws else None)
    proof = found.certificate
    assert proof.strategy == strategy
    assert tw.evaluate(found.mapping, found.arch) == found.cost
    assert found.cost.edp >= exact.cost.edp * (1 - 1e-9)
    assert proof.proven == (strategy in ("exact", "cpsat"))
    assert (proof.gap == 0) == proof.proven
    if proof.proven:
        assert found.cost.edp == pytest.approx(exact.cost.edp)
    document = printed("--strategy", strategy, *(("--seed", 3) if draws else ()))
    assert document["certificate"]["strategy"] == strategy
    if strategy != "cpsat":
        assert tw.load_mapping(json.dumps(document)).mapping == found.mapping


@pytest.mark.some(1)
@pytest.mark.parametrize("strategy", ["random", "anneal", "genetic"])
def test_seeds_repeat(strategy: str) -> None:
    layer = tw.conv2d(K=8, C=8, P=8, Q=8, R=3, S=3)
    found = [tw.search(layer, "eyeriss", strategy=strategy, seed=seed).mapping for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_larger_spaces_are_no_worse() -> None:
    costs = {}
    for space in ("even", "uneven"):
        for tiling in ("perfect", "ragged"):
            found = tw.search(tw.gemm(M=6, N=10, K=12), "three_level", "energy", tiling, space)  # type: ignore[arg-type]
            assert (found.certificate.space, found.certificate.tiling) == (space, tiling)
            assert found.certificate.proven
            costs[space, tiling] = found.cost.energy_pj * (1 - 1e-9)
    for space in ("even", "uneven"):
        assert costs[space, "ragged"] <= tw.search(tw.gemm(M=6, N=10, K=12), "three_level", "energy").cost.energy_pj
    assert costs["uneven", "perfect"] <= costs["even", "perfect"] / (1 - 1e-9)
    assert costs["uneven", "ragged"] <= costs["even", "ragged"] / (1 - 1e-9)


def test_constraints_in_every_form_are_the_same_search(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("memories: {GLB: {temporal: {K: {max: 2}}}}\n", encoding="utf-8")
    found = [tw.search(LAYER, "three_level", constraints=form) for form in (EXPRESSION, AS_DICT, path)]  # type: ignore[arg-type]
    shown = [
        tw.load_mapping(json.dumps(printed(*words)))
        for words in (("--constraint", EXPRESSION), ("--constraints", path))
    ]
    assert len({str(result.mapping.nest) for result in (*found, *shown)}) == 1
    proofs = [result.certificate for result in found] + [loaded.recorded.certificate for loaded in shown]
    assert {proof.constraints for proof in proofs if proof} == {found[0].certificate.constraints}
    assert any("K" in words for words in found[0].certificate.constraints)


def test_dataflows_are_kept() -> None:
    document = printed("--dataflow", "weight-stationary")
    found = tw.search(LAYER, "three_level", constraints="weight-stationary")
    assert tw.load_mapping(json.dumps(document)).mapping == found.mapping
    assert document["certificate"]["constraints"] == list(found.certificate.constraints) != []
    assert found.cost.edp >= tw.search(LAYER, "three_level").cost.edp


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s != "exact"])
def test_what_a_strategy_cannot_do_is_refused(strategy: str) -> None:
    with pytest.raises(tw.TilewrightError, match="even space only") as caught:
        tw.search(LAYER, "three_level", space="uneven", strategy=strategy)
    assert caught.value.where == f"strategy {strategy}"
    with pytest.raises(tw.TilewrightError, match="no constraints"):
        tw.search(LAYER, "three_level", constraints=EXPRESSION, strategy=strategy)


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(tw.TilewrightError, match="expected 1 or more"):
        tw.search_top(LAYER, "three_level", 0)
    with pytest.raises(tw.TilewrightError, match="one value each"):
        tw.search_top(LAYER, "three_level", 2, "latency,energy")
    with pytest.raises(tw.TilewrightError, match="did you mean 'uneven'"):
        tw.search(LAYER, "three_level", space="unevn")  # type: ignore[arg-type]
    with pytest.raises(tw.TilewrightError, match="did you mean 'exact'"):
        tw.search(LAYER, "three_level", strategy="exat")
    with pytest.raises(tw.TilewrightError, match=r"lattice was removed in 0\.5\.0"):
        tw.search(LAYER, "three_level", strategy="lattice")
    with pytest.raises(tw.TilewrightError, match="expected seconds"):
        tw.search(LAYER, "three_level", time_limit=-1)
    with pytest.raises(ConstraintError):
        tw.search_pareto(LAYER, "three_level", constraints="GLB.temporal.Z=1")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--space", "unevn"), "did you mean 'uneven'"),
        (("--strategy", "anneall"), "did you mean 'anneal'"),
        (("--strategy", "lattice"), 'take "exact", which answers all questions that it did'),
        (("--strategy", "cpsat", "--space", "uneven"), 'take strategy "exact"'),
        (("--strategy", "random", "--constraint", EXPRESSION), 'take strategy "exact"'),
        (("--strategy", "random", "--top", "2"), "--top needs the exact strategy"),
        (("--top", "0"), "expected 1 or more"),
        (("--top", "two"), "valid integer"),
        (("--top", "2", "--pareto", "energy,latency"), "expected one of --top and --pareto"),
        (("--top", "2", "--objective", "latency,energy"), "or ask for the Pareto front"),
        (("--pareto", "energy"), "expected energy,latency"),
        (("--dataflow", "weight-stationery"), "did you mean 'weight-stationary'"),
    ],
)
def test_wrong_words_are_one_message(arguments: tuple[str, ...], expected: str) -> None:
    done = run("search", *WORDS, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert expected in done.stderr


@pytest.mark.long
def test_the_best_few_are_listed_and_saved(tmp_path: Path) -> None:
    found = tw.search_top(LAYER, "three_level", 3)
    assert len(found) == 3
    assert [result.cost.edp for result in found] == sorted({result.cost.edp for result in found})
    printed_points = printed("--top", 3)
    documents = printed_points["points"]
    assert (printed_points["complete"], printed_points["gap"], found.complete) == (True, 0.0, True)
    assert [tw.load_mapping(json.dumps(one)).recorded.cost for one in documents] == [one.cost for one in found]
    done = run("search", *WORDS, "--top", 3, "--out", tmp_path / "best")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("proven") == 3
    for number, result in enumerate(found, 1):
        loaded = tw.load_mapping(tmp_path / "best" / str(number) / "mapping.json")
        assert loaded.recorded.cost == result.cost
    assert sorted(path.name for path in (tmp_path / "best").iterdir()) == ["1", "2", "3"]


def test_the_front_is_listed_and_saved(tmp_path: Path) -> None:
    layer = tw.gemm(M=16, N=16, K=16)
    found = tw.search_pareto(layer, "three_level")
    energies, latencies = [r.cost.energy_pj for r in found], [r.cost.latency_cycles for r in found]
    assert energies == sorted(energies)
    assert latencies == sorted(latencies, reverse=True)
    assert all(result.certificate.proven for result in found)
    assert energies[0] == pytest.approx(tw.search(layer, "three_level", "energy").cost.energy_pj)
    assert latencies[-1] == pytest.approx(tw.search(layer, "three_level", "latency").cost.latency_cycles)
    words = ("search", "--gemm", "M=16,N=16,K=16", "--arch", "three_level", "--pareto", "latency, energy")
    printed_front = json.loads(run(*words, "--json", "--out", tmp_path).stdout)
    documents = printed_front["points"]
    assert (printed_front["complete"], printed_front["gap"], found.complete) == (True, 0.0, True)
    assert "The front is complete" in run(*words).stdout
    assert [tw.load_mapping(json.dumps(one)).recorded.cost for one in documents] == [one.cost for one in found]
    assert len(list(tmp_path.iterdir())) == len(found)


@pytest.mark.parametrize("space", ["even", "uneven"])
def test_certificates_come_back(space: Any) -> None:
    result = tw.search(LAYER, "three_level", space=space, constraints=EXPRESSION)
    loaded = tw.load_mapping(result.emit("json"))
    assert loaded.recorded.certificate == result.certificate
    uncounted = json.loads(result.emit("json"))
    uncounted["certificate"]["space_size"] = None
    proof = tw.load_mapping(json.dumps(uncounted)).recorded.certificate
    assert proof is not None
    assert proof.space_size is None


def test_files_from_before_spaces_and_strategies_are_read() -> None:
    document = json.loads(tw.search(LAYER, "three_level", space="uneven").emit("json"))
    for name in ("space", "constraints", "strategy"):
        del document["certificate"][name]
    proof = tw.load_mapping(json.dumps(document)).recorded.certificate
    assert proof is not None
    assert (proof.space, proof.constraints, proof.strategy) == ("even", (), "exact")


def test_an_interrupted_search_hands_over_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """By Ctrl-C, right after the first mapping is found."""
    evaluate = BestFound.evaluate

    def evaluate_and_interrupt(best: BestFound, mapping: tw.Mapping) -> None:
        evaluate(best, mapping)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(BestFound, "evaluate", evaluate_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = run("search", *LONG)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.exit_code == 130, done.output
    assert done.stderr == "interrupted: this is the best found so far; the same command searches to the end\n"
    assert "not proven optimal" in done.stdout
    assert "gap " in done.stdout
    assert run("list", "archs").exit_code == 0, "of the command before"


@pytest.mark.parametrize("space", ["even", "uneven"])
def test_spaces_are_counted_beside_their_estimates(space: Any) -> None:
    done = run("space", *WORDS, "--space", space, "--tiling", "ragged")
    assert done.exit_code == 0, done.output
    cells = [line.strip().split("  ") for line in done.stdout.splitlines() if line.startswith("  ")]
    rows = {name: rest[0].split()[0] for name, *rest in ([c for c in row if c] for row in cells) if rest}
    machine = tw.load_arch("three_level")
    size, estimate = space_size(LAYER, machine, "ragged", space), textbook_estimate(LAYER, machine, "ragged")
    for name, value in (
        ("Placements", size.placements),
        ("Tilings", size.tilings),
        ("Spatial", size.spatial),
        ("Orders", size.orders),
        ("Total", size.total),
        ("Timeloop", estimate.timeloop),
        ("Rule of thumb", estimate.rule_of_thumb),
    ):
        assert float(rows[name].replace(",", "")) == pytest.approx(float(value), rel=1e-3), name


def test_spaces_are_asked_for_as_searches_are() -> None:
    for words, expected in (
        (("space", *WORDS, "--space", "evn"), "did you mean 'even'"),
        (("space", *WORDS, "--tiling", "ragd"), "did you mean 'ragged'"),
        (("space", "--arch", "eyeriss"), "expected one layer, found none"),
        (("space", "resnet50:conv1"), "no architecture is given"),
    ):
        done = run(*words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert expected in done.stderr


def test_spaces_with_zeros_count_formats_beside_mappings() -> None:
    words = ("--gemm", "M=8,N=8,K=8", "--density", "W=0.5", "--arch", "scnn_like")
    choice = ("--set", "weight_FIFO.compress={weight: [bitmask, csr]}")
    one, two = (run("space", *words, *more, "--json") for more in ((), choice))
    assert (one.exit_code, two.exit_code) == (0, 0), one.output + two.output
    one, two = json.loads(one.stdout), json.loads(two.stdout)
    assert one["space"] == "even, perfect tilings"
    assert (one["formats"], two["formats"]) == (1, 2)
    answer = tw.search(tw.gemm(8, 8, 8), "scnn_like", density={"W": 0.5})
    assert one["total"] == two["total"] == answer.certificate.space_size
    page = run("space", *words)
    assert "Density       W 0.5" in page.stdout
    assert "Formats" in page.stdout


def test_a_search_with_zeros() -> None:
    answer = tw.search(tw.gemm(64, 64, 64), "sparse_tensor_core", density={"W": "2:4@K"})
    dense = tw.search(tw.gemm(64, 64, 64), "sparse_tensor_core", tiling="perfect")
    assert answer.certificate.proven
    assert answer.cost == tw.evaluate(answer.mapping, "sparse_tensor_core", density={"W": "2:4@K"})
    assert answer.cost == tw.evaluate(answer.mapping, tw.gemm(64, 64, 64), "sparse_tensor_core")
    assert answer.certificate.value < dense.certificate.value


@pytest.mark.long
def test_results_with_zeros_are_like_others(tmp_path: Path) -> None:
    """They are stored, written and read, verified, explained; measured densities as well."""
    layer, store = tw.gemm(8, 8, 8), tmp_path / "results.db"
    values = np.random.default_rng(0).random((8, 8)) < 0.4
    given: dict[str, Any] = {"density": {"W": values, "A": 0.5}, "objective": "energy"}
    first = tw.search(layer, "scnn_like", store=store, **given)
    again = tw.search(layer, "scnn_like", store=store, **given)
    assert again.cost == first.cost
    assert first.cost.zeros is not None
    (path, *_) = first.save(tmp_path / "out")
    loaded = tw.load_mapping(path)
    assert loaded.recorded.cost == first.cost == tw.evaluate(loaded.mapping, loaded.arch)
    assert loaded.mapping == first.mapping
    assert first.verify()
    best = tw.search_top(layer, "scnn_like", 2, objective="energy", density=given["density"])
    assert best[0].cost.energy_pj == pytest.approx(first.cost.energy_pj)
    assert best[1].certificate.value > best[0].certificate.value
    assert "of 512 MACs" in str(tw.explain(first, changes=False))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"density": 3}, "expected densities by tensor"),
        ({"density": {"W": "5:4"}}, "expected N:M with N from 1 to M"),
        ({"density": {"W": 0.5}, "strategy": "cpsat"}, "strategy cpsat: it knows no densities"),
        ({"density": {"W": 0.5}, "strategy": "random"}, "strategy random: it knows no densities"),
        ({"density": {"W": 0.5}, "layout": "any"}, "layout is not known for densities"),
    ],
)
def test_what_zeros_do_not_know(given: dict[str, Any], message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=message):
        tw.search(tw.gemm(8, 8, 8), "sparse_tensor_core", **given)
