"""`evaluate`, `verify` and `emit` of trees, as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app

GOLDEN = Path(__file__).parent.parent / "golden" / "fused"
OPS = ["--op", "T[m,n] += A[m,k] * B[k,n]", "--op", "O[m,p] += T[m,n] * C[n,p]"]
SIZES = "m=8,k=4,n=4,p=2"
TREE = """
DRAM keeps A B C O
for M in 4
  GLB keeps A B C T O
  branch T
    for M in 2
      for K in 4
        for N in 4
  branch O
    for M in 2
      for N in 4
        for P in 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tree.txt").write_text(TREE)
    lines = "".join(f"- {line}\n" for line in OPS[1::2])
    Path("chain.yaml").write_text(f"operations:\n{lines}sizes: {{m: 8, k: 4, n: 4, p: 2}}\n")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


ON = ["--arch", str(GOLDEN / "F2.yaml"), "--mapping", "tree.txt"]


@pytest.mark.usefixtures("folder")
def test_operations_and_files_give_the_same_page() -> None:
    code, page = run("evaluate", *OPS, SIZES, *ON)
    assert code == 0
    for part in ("T+O", "# 8 words, 8 B, from T to O", "Operations, one after the other"):
        assert part in page
    assert run("evaluate", "chain.yaml", *ON)[1].replace("chain", "T+O") == page


@pytest.mark.usefixtures("folder")
def test_the_page_is_of_the_cost_that_python_gives() -> None:
    whole = tw.cascade(OPS[1::2], m=8, k=4, n=4, p=2)
    cost = tw.evaluate(tw.Mapping.parse(whole, TREE), GOLDEN / "F2.yaml")
    dram = 32 + 16 + 8 + 16
    assert cost.memories[0].energy_pj == 200 * dram
    assert cost.latency_cycles == dram / 0.5
    _, page = run("evaluate", *OPS, SIZES, *ON)
    assert f"{cost.latency_cycles:,.0f} cycles" in page


@pytest.mark.usefixtures("folder")
def test_programs() -> None:
    code, text = run("verify", "chain.yaml", *ON)
    assert (code, text.startswith("verified: output and words moved agree")) == (0, True)
    for how in ("--fast", "--every-step"):
        code, text = run("verify", "chain.yaml", *ON, how)
        assert (code, text.startswith("verified: output and words moved agree")) == (0, True)
    code, program = run("emit", "chain.yaml", *ON, "--to", "numpy")
    assert (code, program.startswith('"""Operations on one accelerator')) == (0, True)
    code, nest = run("emit", "chain.yaml", *ON, "--to", "nest")
    assert tw.Mapping.parse(tw.cascade(OPS[1::2], m=8, k=4, n=4, p=2), nest).tree.leaves() == {
        "T": (0,),
        "O": (1,),
    }


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "chain.yaml", "--mapping", "tree.txt"], "no architecture is given"),
        (["evaluate", *OPS, SIZES, "--arch", "eyeriss"], "the tree of the cascade is missing"),
        (["evaluate", *OPS, "m=8", *ON], "missing n, k"),
        (["evaluate", "nothing.yaml", *ON], "nothing.yaml: no such file"),
        (["evaluate", "chain.yaml", "--arch", "eyeriss", "--mapping", "none.txt"], "none.txt: no such file"),
        (["evaluate", "chain.yaml", *ON, "--set", "GLB.size=20 B"], "tree.txt: GLB: while T works, tiles of"),
        (["emit", "chain.yaml", *ON, "--to", "tvm"], "tvm does not know cascades"),
        (["verify", "chain.yaml", *ON, "--sets"], "--sets: this option does not know cascades yet"),
        (["verify", "chain.yaml", *ON, "--floats"], "--floats: this option does not know cascades yet"),
        (
            ["emit", "chain.yaml", *ON, "--to", "c", "--fast"],
            "fast: steps can be run at once or one by one in numpy, and not in c",
        ),
        (["verify", "chain.yaml", "--arch", "eyeriss"], "the file has its own architecture"),
    ],
)
def test_bad_input_is_said_in_one_message(arguments: list[str], message: str) -> None:
    code, text = run(*arguments)
    assert code == 2
    assert message in text
