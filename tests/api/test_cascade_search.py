"""`search` of cascades, as a user types it and calls it: pages, files, documents, the store, what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.ir import InfeasibleError, TilewrightError
from tilewright.mapper.fusing import on_chip

F2 = Path(__file__).parent.parent / "golden" / "fused" / "F2.yaml"
LINES = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]
OPS = ["--op", LINES[0], "--op", LINES[1]]
SIZES = "m=4,k=2,n=4,p=2"
QUICK = ["--tiling", "perfect", "--objective", "energy"]


@pytest.fixture(scope="module")
def chain() -> tw.Cascade:
    return tw.cascade(LINES, m=4, k=2, n=4, p=2)


@pytest.fixture(scope="module")
def result(chain: tw.Cascade) -> tw.SearchResult:
    return tw.search(chain, F2, "energy", "perfect")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store.sqlite3"))
    lines = "".join(f"- {line}\n" for line in LINES)
    Path("chain.yaml").write_text(f"operations:\n{lines}sizes: {{m: 4, k: 2, n: 4, p: 2}}\n")
    return tmp_path


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments), input=stdin)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


ON = ["--arch", str(F2), *QUICK]


def test_a_result_has_what_results_have(result: tw.SearchResult) -> None:
    assert result.certificate.proven
    assert result.cost == tw.evaluate(result.mapping, F2)
    assert result.cost.energy_pj == result.certificate.value
    assert result.unfused is not None
    assert result.saves is not None
    assert result.saves == 1 - result.cost.energy_pj / result.unfused.energy_pj > 0
    assert result.verify()
    assert tw.Mapping.parse(result.problem, result.emit("nest")) == result.mapping
    assert "proven optimal for energy; fusing saves" in str(result)
    assert "<table" in (result._repr_html_() or "")
    assert list(result.to_frame().columns)[:3] == ["operation", "place", "tensor"]
    assert [text.get_text() for text in result.figure().axes[0].texts][-2:] == ["1", "2"]
    assert tw.evaluate(result.emit("json")) == result.cost
    with pytest.raises(TilewrightError, match="floats: this option does not know cascades yet"):
        result.verify(floats=True)
    with pytest.raises(
        TilewrightError, match="element: kinds of elements can be chosen in c or mlir or tvm, and not in"
    ):
        result.emit("nest", element="double")
    with pytest.raises(TilewrightError, match="tvm does not know cascades"):
        result.emit("tvm")


def test_the_best_with_nothing_fused_is_that_of_the_operations_alone(result: tw.SearchResult) -> None:
    problems = [tw.einsum("mk,kn->mn", m=4, k=2, n=4), tw.einsum("mn,np->mp", m=4, n=4, p=2)]
    alone = sum(tw.search(problem, F2, "energy", "perfect").cost.energy_pj for problem in problems)
    assert result.unfused is not None
    assert result.unfused.energy_pj == pytest.approx(alone)
    none = tw.search(result.problem, F2, "energy", "perfect", fuse="none")
    assert (none.cost.energy_pj, none.unfused) == (pytest.approx(alone), None)
    assert "nothing fused" in none.certificate.constraints[0]
    assert result.cost.energy_pj <= tw.search(result.problem, F2, "energy", "perfect", fuse="whole").cost.energy_pj


@pytest.mark.usefixtures("folder")
def test_operations_and_files_give_the_page_and_the_files() -> None:
    code, page = run("search", *OPS, SIZES, *ON, "--out", "out", "--verify")
    assert code == 0
    for part in ("T+O", "GLB keeps T", "Intermediates", "Fusing saves", "proven optimal", "different", "verified:"):
        assert part in page
    assert sorted(path.name for path in Path("out").iterdir()) == ["mapping.json", "nest.txt", "reference.py"]
    code, again = run("search", "chain.yaml", *ON, "--no-cache")
    assert code == 0
    assert again.replace("chain", "T+O").split("Certificate")[0] == page.split("Certificate")[0]
    parsed = tw.Mapping.parse(tw.cascade(LINES, m=4, k=2, n=4, p=2), Path("out/nest.txt").read_text())
    assert parsed == tw.load_mapping("out/mapping.json").mapping


@pytest.mark.usefixtures("folder")
def test_a_mapping_json_is_evaluated_verified_emitted_and_explained() -> None:
    _, text = run("search", "chain.yaml", *ON, "--json")
    Path("mapping.json").write_text(text)
    summary = json.loads(text)["summary"]
    assert summary["proven"] is True
    assert 0 < summary["saves"] < 1
    code, page = run("evaluate", "mapping.json")
    assert code == 0
    assert "GLB keeps T" in page
    assert run("evaluate", "-", stdin=text) == (0, page)
    code, cheaper = run("evaluate", "mapping.json", "--arch", str(F2), "--set", "DRAM.read=100 pJ", "--json")
    assert code == 0
    assert json.loads(cheaper)["summary"]["energy_pj"] < summary["energy_pj"]
    assert json.loads(cheaper)["certificate"] is None
    assert run("verify", "mapping.json")[1].startswith("verified: output and words moved agree")
    assert run("emit", "mapping.json", "--to", "numpy")[1].startswith('"""Operations on one accelerator')
    code, told = run("explain", "mapping.json", "--svg", "tree.svg", "--html", "tree.html")
    assert code == 0
    assert "T in GLB from T to O" in told
    assert Path("tree.svg").read_text().startswith("<svg")
    assert "data:image/svg+xml" in Path("tree.html").read_text()
    apart = run("explain", "chain.yaml", *ON, "--constraint", "T apart")[1]
    assert "T passes through the outermost memory" in apart
    assert run("explain", "chain.yaml", *ON, "--fuse", "none")[1] == apart
    assert "the tree is given" in run("explain", "mapping.json", "--fuse", "none")[1]
    facts = json.loads(run("explain", "chain.yaml", *ON, "--json")[1])
    assert [operation["name"] for operation in facts["operations"]] == ["T", "O"]


@pytest.mark.usefixtures("folder")
def test_a_repeated_search_is_answered_from_the_store() -> None:
    assert "Recalled" not in run("search", "chain.yaml", *ON)[1]
    code, page = run("search", "chain.yaml", *ON)
    assert (code, "Recalled     from the store" in page) == (0, True)
    assert "Recalled" not in run("search", "chain.yaml", *ON, "--fuse", "none")[1]
    listed = json.loads(run("results", "list", "--json")[1])
    assert [(r["layer"], r["dataflow"], r["status"]) for r in listed] == [
        ("chain", "free", "proven"),
        ("chain", "fuse none", "proven"),
    ]
    assert "GLB keeps T" in run("results", "show", listed[0]["key"][:12])[1]
    refused = run("search", "chain.yaml", *ON, "--set", "GLB.size=2 B")
    assert refused == run("search", "chain.yaml", *ON, "--set", "GLB.size=2 B")
    assert (refused[0], "GLB: T does not fit: one word of A, B and T needs 3 B" in refused[1]) == (2, True)


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_where_fusing_wins_nothing_the_page_says_which_memory_is_too_small() -> None:
    code, page = run("search", *OPS, "m=8,k=8,n=8,p=8", *ON, "--set", "GLB.size=8 B")
    assert code == 0
    assert "Fusing wins nothing for energy. GLB is too small: with" in page
    assert run("search", *OPS, "m=8,k=8,n=8,p=8", *ON, "--set", "GLB.size=8 B", "-q") == (0, "")


@pytest.mark.usefixtures("folder")
def test_fronts() -> None:
    code, page = run("search", "chain.yaml", "--arch", str(F2), "--tiling", "perfect", "--pareto", "energy,latency")
    assert (code, "no mapping of the space costs as little energy and latency" in page) == (0, True)
    front = tw.search_pareto(tw.cascade(LINES, m=4, k=2, n=4, p=2), F2, "perfect")
    energies = [point.cost.energy_pj for point in front]
    assert energies == sorted(energies)


def test_limits_that_cannot_be_kept_are_named(chain: tw.Cascade) -> None:
    with pytest.raises(InfeasibleError, match="no mapping keeps the limit: the least latency is"):
        tw.search(chain, F2, "energy where latency <= 3", "perfect")
    found = tw.search(chain, F2, "energy where latency <= 1e6", "perfect")
    assert found.certificate.proven


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "objective", ["latency,energy", "max(energy, 50 * latency)", "energy + 3 * latency", "ed2p where energy <= 1000000"]
)
def test_formulas_and_lists_are_proven(chain: tw.Cascade, objective: str) -> None:
    found = tw.search(chain, F2, objective, "perfect")
    assert found.certificate.objective == objective
    assert found.certificate.proven
    assert found.unfused is not None
    assert found.unfused.certificate.objective == objective


def test_constraints_are_kept_and_said(chain: tw.Cascade, result: tw.SearchResult) -> None:
    apart = tw.search(chain, F2, "energy", "perfect", constraints="T apart")
    assert (apart.certificate.constraints, apart.certificate.proven) == (("T apart",), True)
    assert apart.cost.energy_pj == tw.search(chain, F2, "energy", "perfect", fuse="none").cost.energy_pj
    small = tw.search(chain, F2, "energy", "perfect", constraints=["T in GLB", "T <= 4 B", "no loops over M"])
    held = [tile.words for tiles in small.cost.occupancy.values() for tile in tiles if tile.is_intermediate]
    assert max(held) == 4
    assert not any(loop.dim == "M" for loop in small.mapping.paths["T"].shared_loops)
    assert small.cost.energy_pj >= result.cost.energy_pj
    for lines in (["T in GLB", "T <= 4 B", "T <= 8 B"], ["T in GLB", "T <= 8 B", "T <= 4 B"]):
        both = tw.search(chain, F2, "energy", "perfect", constraints=lines)
        assert max(t.words for tiles in both.cost.occupancy.values() for t in tiles if t.is_intermediate) <= 4
    only = tw.search(chain, F2, "energy", "perfect", constraints=["T <= 4 B", "loops over M"])
    assert only.certificate.proven
    assert only.unfused is not None


@pytest.mark.long
@pytest.mark.parametrize("fuse", ["all", "plain"])
def test_a_shared_loop_is_asked_for_and_barred(
    chain: tw.Cascade, result: tw.SearchResult, fuse: Literal["all", "plain"]
) -> None:
    values = []
    for lines in ("T along M", "T not along M"):
        found = tw.search(chain, F2, "energy", "perfect", fuse=fuse, constraints=lines)
        stepped = {loop.dim for loop in found.mapping.paths["T"].shared_loops if loop.trips > 1}
        assert found.certificate.proven
        assert ("M" in stepped) == (lines == "T along M")
        values.append(found.cost.energy_pj)
    assert min(values) == pytest.approx(result.cost.energy_pj)
    apart = tw.search(chain, F2, "energy", "perfect", constraints="T not in GLB")
    assert not on_chip(apart.mapping, apart.cost)


@pytest.mark.long
def test_tiles_and_steps_of_shared_loops_are_asked_for(chain: tw.Cascade, result: tw.SearchResult) -> None:
    best = []
    for tile in range(1, 5):
        lines = ["T in GLB", f"T tile M = {tile}"]
        found = tw.search(chain, F2, "energy", "ragged" if tile == 3 else "perfect", constraints=lines)
        trips = math.prod(loop.trips for loop in found.mapping.paths["T"].shared_loops if loop.dim == "M")
        assert (trips, found.certificate.proven) == (-(-4 // tile), True)
        best += [found.cost.energy_pj] if tile != 3 else []
    assert min(best) == pytest.approx(result.cost.energy_pj)
    halves = tw.search(chain, F2, "energy", "perfect", constraints=["T along M", "for M in 2"])
    assert [loop.trips for loop in halves.mapping.paths["T"].shared_loops if loop.dim == "M"] == [2]
    for line in ("T tile M = 5", "for M in 1", "for X in 2", "T tile K = 2"):
        with pytest.raises(tw.TilewrightError):
            tw.search(chain, F2, "energy", "perfect", constraints=line)
    with pytest.raises(tw.TilewrightError, match="no loop is shared"):
        tw.search(chain, F2, "energy", "perfect", fuse="whole", constraints="T tile M = 2")


def test_operations_that_may_fuse_are_named(chain: tw.Cascade) -> None:
    every = tw.search(chain, F2, "energy", "perfect", constraints="only T, O fused")
    assert on_chip(every.mapping, every.cost)
    none = tw.search(chain, F2, "energy", "perfect", constraints="only O fused")
    assert not on_chip(none.mapping, none.cost)


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_the_best_few_are_fused_in_different_ways() -> None:
    code, page = run("search", "chain.yaml", *ON, "--top", "2", "--out", "few")
    assert (code, "How intermediates pass" in page, "1  T in GLB" in page) == (0, True, True)
    first, second = (tw.load_mapping(f"few/{number}/mapping.json") for number in (1, 2))
    assert str(first.mapping) != str(second.mapping)
    documents = json.loads(run("search", "chain.yaml", *ON, "--top", "2", "--json")[1])
    assert (documents["complete"], documents["gap"]) == (True, 0.0)
    assert [one["summary"]["proven"] for one in documents["points"]] == [True, True]


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_constraints_are_a_part_of_what_the_store_knows() -> None:
    run("search", "chain.yaml", *ON)
    code, page = run("search", "chain.yaml", *ON, "--constraint", "T apart")
    assert (code, "Constraints  T apart" in page, "Recalled" in page) == (0, True, False)
    assert "Recalled" in run("search", "chain.yaml", *ON, "--constraint", "T apart")[1]


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_bounds_and_spaces() -> None:
    code, page = run("bound", "chain.yaml", "--sizes", "4,64", "--tiling", "perfect")
    assert code == 0
    assert "nothing fused" in page
    points = json.loads(run("bound", "chain.yaml", "--sizes", "2,64", "--tiling", "perfect", "--json")[1])["points"]
    assert [point["traffic_words"] for point in points] == [None, 8 + 8 + 8 + 8]
    assert points[1]["unfused_words"] == 8 + 8 + 16 + 16 + 8 + 8
    code, page = run("space", "chain.yaml", "--arch", str(F2))
    assert (code, "T O         M, N" in page) == (0, True)


@pytest.mark.some(10)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "chain.yaml", *ON, "--top", "0"], "the number of mappings is 0, expected 1 or more"),
        (["search", "chain.yaml", *ON, "--strategy", "anneal"], "--strategy: this option does not know cascades yet"),
        (["search", "chain.yaml", *ON, "--constraint", "GLB.temporal.M"], "cannot be understood as a constraint on tr"),
        (["search", "chain.yaml", *ON, "--constraint", "X in GLB"], "X in GLB: X is no intermediate of chain"),
        (["search", "chain.yaml", *ON, "--constraint", "T in RF"], "RF is no memory outside all arrays"),
        (["search", "chain.yaml", *ON, "--constraint", "no loops over Z"], "Z is no dimension of chain"),
        (["search", "chain.yaml", *ON, "--constraint", "T <= 3 parsecs"], "T <= 3 parsecs: "),
        (["search", "chain.yaml", *ON, "--constraint", "only T, X fused"], "X is no operation of chain"),
        (
            ["search", "chain.yaml", *ON, "--constraint", "T in GLB", "--constraint", "only O fused"],
            "only O fused: T is to pass in GLB and in DRAM",
        ),
        (["search", "chain.yaml", *ON, "--constraint", "T along K"], "T along K: K is no dimension of T"),
        (
            ["search", "chain.yaml", *ON, "--fuse", "none", "--constraint", "T in GLB"],
            "T in GLB: asks for fusing that fuse 'none' leaves out",
        ),
        (
            ["search", "chain.yaml", *ON, "--fuse", "whole", "--constraint", "T along M"],
            "T along M: asks for fusing that fuse 'whole' leaves out",
        ),
        (
            ["search", "chain.yaml", *ON, "--constraint", "T along M", "--constraint", "no loops over M"],
            "no tree satisfies 'T along M' and 'no loops over M'",
        ),
        (
            ["search", "chain.yaml", *ON, "--constraint", "T in GLB", "--constraint", "T apart"],
            "T apart: T is to pass in GLB and in DRAM",
        ),
        (
            [
                "search",
                "chain.yaml",
                *ON,
                "--constraint",
                "T in GLB",
                "--constraint",
                "T <= 1 B",
                "--constraint",
                "no loops over M, N",
                "--constraint",
                "loops over M, N",
            ],
            "chain: no tree satisfies 'T in GLB' and 'T <= 1 B' and 'no loops over M, N'",
        ),
        (["search", "chain.yaml", *ON, "--dataflow", "row-stationary"], "--dataflow: this option does not know"),
        (["search", "chain.yaml", *ON, "--to", "mlir"], "mlir does not know cascades"),
        (["search", "chain.yaml", *ON, "--fuse", "some"], "unknown fuse 'some'"),
        (["search", "chain.yaml", *ON, "--gemm", "M=2,N=2,K=2"], "--gemm: a cascade is given already"),
        (["search", "--gemm", "M=2,N=2,K=2", *ON, "--fuse", "none"], "--fuse: one layer has nothing to fuse"),
        (["search", *OPS, *ON], "the sizes of the cascade are missing"),
        (["search", "--op", LINES[0], "--op", "O[m,p] += X[m,q] * C[q,p]", "m=2,k=2,n=2,p=2,q=2", *ON], "no tensor in"),
        (["search", "--op", LINES[0], "--op", "T[m,n] = A[m,n]", "m=2,k=2,n=2", *ON], "expected one producer"),
        (["search", "nothing.yaml", *ON], "nothing.yaml: no such file"),
        (["search", "chain.yaml"], "no architecture is given"),
        (["compare", "--networks", "chain.yaml", "--archs", "eyeriss"], "found a cascade of operations, expected a ne"),
        (["roofline", "chain.yaml", *ON[:2]], "found a cascade of operations, expected a network"),
        (["explain", "chain.yaml", *ON[:2], "--dataflow", "x"], "--dataflow: this option does not know cascades yet"),
    ],
)
def test_what_cascades_do_not_know_is_refused_by_name(arguments: list[str], message: str) -> None:
    code, text = run(*arguments)
    assert code == 2
    assert message in text


def test_python_refuses_the_same(chain: tw.Cascade) -> None:
    with pytest.raises(TilewrightError, match="is no intermediate of"):
        tw.search(chain, F2, constraints="GLB.temporal.M<=2")
    with pytest.raises(TilewrightError, match="strategy is not known for cascades yet"):
        tw.search(chain, F2, strategy="anneal")  # type: ignore[call-overload]
    with pytest.raises(TilewrightError, match="one layer has nothing to fuse"):
        tw.search(tw.gemm(M=2, N=2, K=2), F2, fuse="none")  # type: ignore[call-overload]
