"""The GPU model beside a measured table: what is read, and what is made of it."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import gpu_advice
import gpu_sectors
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpu_measure
from tilewright.cost_models.gpu import Gemm, advise, best_plan, compare, load_gpu, read_measurements
from tilewright.cost_models.gpu.comparison import ranks
from tilewright.ir import TilewrightError

A100 = load_gpu("a100")
GOLDEN = Path(__file__).parent.parent / "golden"
RESULTS = Path(__file__).parent.parent.parent / "results" / "gpu"
HEADER = "m,n,k,batch,dtype,a,b,seconds\n"


def table(folder: Path, text: str) -> Path:
    path = folder / "measured.csv"
    path.write_text(text)
    return path


def synthetic(factor: float, sizes: range = range(1024, 2048, 100)) -> str:
    """A table in which every product takes `factor` times what the model says."""
    rows = [f"{n},{n},{n},1,fp16,row,row,{factor * best_plan(A100, Gemm(n, n, n)).seconds!r}" for n in sizes]
    return "# made up, not measured\n" + HEADER + "\n".join(rows) + "\n"


def test_a_model_that_is_right_agrees(tmp_path: Path) -> None:
    found = compare(A100, read_measurements(table(tmp_path, synthetic(1.0))))
    assert found.rank_correlation == pytest.approx(1)
    assert found.median_error == 0
    assert found.median_ratio == 1
    assert len(found.rows) == 11


def test_a_model_that_is_too_fast_by_a_quarter(tmp_path: Path) -> None:
    found = compare(A100, read_measurements(table(tmp_path, synthetic(1.25))))
    assert found.rank_correlation == pytest.approx(1)
    assert found.median_error == pytest.approx(0.2)
    assert found.median_ratio == pytest.approx(0.8)


def test_products_in_the_opposite_order(tmp_path: Path) -> None:
    """Measured rates that fall where the model's rise."""
    gemms = sorted((Gemm(n, n, n) for n in (512, 1000, 2048, 4096)), key=lambda g: best_plan(A100, g).flop_per_s)
    rows = [f"{g.m},{g.n},{g.k},1,fp16,row,row,{g.flop * (1 + i) / 1e14!r}" for i, g in enumerate(gemms)]
    found = compare(A100, read_measurements(table(tmp_path, HEADER + "\n".join(rows))))
    assert found.rank_correlation == pytest.approx(-1)


@given(st.lists(st.integers(0, 9), min_size=1))
def test_ranks(values: list[int]) -> None:
    found = ranks(values)
    for value, rank in zip(values, found, strict=True):
        below, equal = sum(v < value for v in values), values.count(value)
        assert rank == below + (equal + 1) / 2


def test_layouts_types_and_batches_are_read(tmp_path: Path) -> None:
    path = table(tmp_path, HEADER + "8,16,32,4,bf16,column,row,1e-6\n")
    assert read_measurements(path)[0].gemm == Gemm(8, 16, 32, 4, "bf16", "column", "row")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m,n\n1,2\n", "missing the columns k, batch, dtype, a, b, seconds"),
        (HEADER + "1,2,many,1,fp16,row,row,1\n", "measured.csv:2: .*expected whole sizes"),
        (HEADER + "1,2,3,1,fp16,row,row,fast\n", "measured.csv:2: .*positive time"),
        ("# note\n" + HEADER + "1,2,3,1,fp16,row,row,-1\n", "measured.csv:3: .*positive time"),
        (HEADER + "1,2,3,1,fp17,row,row,1\n", "measured.csv:2: .*unknown element type"),
        (HEADER + "0,2,3,1,fp16,row,row,1\n", "measured.csv:2: .*m is 0"),
        (HEADER + "1,2,3\n", "measured.csv:2"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        read_measurements(table(tmp_path, text))


def test_too_little_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="found 2 products, expected 3"):
        compare(A100, read_measurements(table(tmp_path, synthetic(1, range(1000, 1200, 100)))))
    same = HEADER + "64,64,64,1,fp16,row,row,1\n" * 3
    with pytest.raises(TilewrightError, match="equally fast"):
        compare(A100, read_measurements(table(tmp_path, same)))


PUBLISHED = list(
    csv.DictReader(line for line in (GOLDEN / "gpu_published.csv").read_text().splitlines() if not line.startswith("#"))
)


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row['gpu']}-{row['tflops']}")
def test_the_ceiling_is_near_published_rates(row: dict[str, str]) -> None:
    """Boards do not hold their boost clock, so the model may be too fast, by as much as results/gpu says."""
    m, n, k = (int(row[size]) for size in "mnk")
    modelled = best_plan(load_gpu(row["gpu"]), Gemm(m, n, k, dtype=row["dtype"], b="column")).flop_per_s / 1e12
    ratio = modelled / float(row["tflops"])
    assert 0.95 < ratio < 1.35
    line = f"| {row['gpu']} | {m} x {n} x {k} | {row['tflops']} | {modelled:.1f} | {ratio:.2f} |"
    assert line in (GOLDEN.parent.parent / "results" / "gpu" / "README.md").read_text(encoding="utf-8")


def test_the_measuring_script_writes_what_is_read(tmp_path: Path) -> None:
    """All of it but the GPU: options, rows and the table, with a made-up clock."""
    options = gpu_measure.parser().parse_args(["--n", "1024:1280:128", "--k", "512", "--b", "column", "--out", "x"])
    file = io.StringIO()
    gpu_measure.write_table(file, ["made up"], gpu_measure.rows(options, lambda gemm: gemm.m * gemm.n * gemm.k / 1e14))
    found = read_measurements(table(tmp_path, file.getvalue()))
    assert [entry.gemm for entry in found] == [Gemm(n, n, 512, b="column") for n in (1024, 1152, 1280)]
    assert found[0].seconds == pytest.approx(1024 * 1024 * 512 / 1e14)


@pytest.mark.long
def test_the_measuring_script_measures_what_is_advised(tmp_path: Path) -> None:
    """Every product with its best padding and three other layouts; of random ones, and of those of a table."""
    options = gpu_measure.parser().parse_args(["--random", "20", "--advised", "h100", "--out", "x"])
    found = list(gpu_measure.rows(options, lambda gemm: gemm.flop / 1e14))
    gemms = list(gpu_measure.drawn(20))
    assert len(set(gemms)) == 20
    assert {row["of"] for row in found} == set(range(20))
    for number, gemm in enumerate(gemms):
        beside = [row for row in found if row["of"] == number]
        advice = advise(load_gpu("h100"), gemm)
        assert len(beside) == 4 + (advice.best is not None)
        assert (beside[0]["m"], beside[0]["n"], beside[0]["k"]) == (gemm.m, gemm.n, gemm.k)
    file = io.StringIO()
    gpu_measure.write_table(file, ["made up"], iter(found))
    again = gpu_measure.parser().parse_args(["--products", str(table(tmp_path, file.getvalue())), "--out", "x"])
    assert len(list(gpu_measure.products(again))) == len(found)


def test_what_advice_is_worth_stands_in_the_docs() -> None:
    """As `benchmarks/gpu_advice.py` prints it."""
    page = (GOLDEN.parent.parent / "docs" / "gpu.md").read_text(encoding="utf-8")
    found = list(gpu_advice.changes(load_gpu("h100"), RESULTS / "h100_advised.csv"))
    for kind in ("padding", "layout"):
        assert gpu_advice.row(kind, [each for each in found if each.kind == kind]) in page


def test_the_measuring_script_needs_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    monkeypatch.setattr(sys, "argv", ["gpu_measure.py", "--out", str(tmp_path / "x.csv")])
    with pytest.raises(SystemExit, match="needs torch"):
        gpu_measure.main()


@pytest.mark.parametrize(
    ("file", "rank", "error"), [("h100_fp16", 0.96, 0.12), ("h100_random", 0.97, 0.17), ("h100_advised", 0.97, 0.16)]
)
def test_the_model_is_as_near_to_an_h100_as_is_said(file: str, rank: float, error: float) -> None:
    """As measured; every 17th size of the sweep."""
    measured = read_measurements(RESULTS / f"{file}.csv")
    found = compare(load_gpu("h100"), measured[::17] if file == "h100_fp16" else measured)
    assert found.rank_correlation > rank
    assert found.median_error < error


@pytest.mark.long
def test_lines_are_the_sectors_that_a_gpu_counts() -> None:
    """Mappings of matrices and images as programs of a warp, and the rows of matrices: closed form, and counter."""
    with (GOLDEN / "gpu_sectors.csv").open(encoding="utf-8") as file:
        counted = {row["case"]: (int(row["loads"]), float(row["sectors"])) for row in csv.DictReader(file)}
    found = {case.name: (len(case.steps), pytest.approx(case.modelled)) for case in gpu_sectors.cases()}
    assert len(counted) == 128
    assert counted == found
