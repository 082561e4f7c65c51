"""The command line: what every command prints, and that whatever is wrong with the input is one clear message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.files import list_dataflows, load_constraints
from tilewright.mapper.question import NestQuestion
from tilewright.mapper.strategies import Exact

GEMM = ("--gemm", "M=16,N=16,K=16")
PROGRAM = [sys.executable, "-c", "from tilewright.cli import main; main()"]


def run(*arguments: object, text: str | None = None) -> Any:
    """One call of the command, with its exit code, stdout and stderr."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


def shell(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, as from a shell."""
    words = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def architecture_file(folder: Path, old: str = "", new: str = "", name: str = "three_level") -> Path:
    """A file of the library, with one text in it replaced."""
    from tilewright.arch import loader

    text = (Path(loader.__file__).parent / "library" / f"{name}.yaml").read_text(encoding="utf-8")
    assert old in text
    path = folder / "machine.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three files of a search."""
    folder = tmp_path_factory.mktemp("saved")
    done = run("search", *GEMM, "--arch", "eyeriss", "--out", folder)
    assert done.exit_code == 0, done.output
    return folder


def refused(*arguments: object) -> str:
    """The message of a call that must fail as a user's mistake does."""
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert "pydantic" not in done.stderr
    assert len(done.stderr.splitlines()) <= 4
    return str(done.stderr)


def test_search_prints_the_whole_page(tmp_path: Path) -> None:
    done = run("search", *GEMM, "--arch", "eyeriss", "--objective", "energy", "--out", tmp_path, "--verify")
    assert done.exit_code == 0, done.output
    for part in (
        "O[m, n] += A[m, k] * W[k, n]",
        "eyeriss",
        "DRAM keeps A",
        "Energy",
        "Utilization",
        "Bound by",
        "words read",
        "proven optimal",
        "Lower bound",
        str(tmp_path / "mapping.json"),
        "verified: ",
    ):
        assert part in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mapping.json", "nest.txt", "reference.py"]


@pytest.mark.parametrize(
    ("objective", "name", "value"),
    [
        ("ed2p", "ed2p", "pJ x cycles^2"),
        ("energy*latency**0.5", "energy * latency ** 0.5", "(of pJ and cycles)"),
        ("energy where latency<=1e6", "energy where latency <= 1000000", "pJ"),
    ],
)
def test_every_objective_is_printed_and_read_back(objective: str, name: str, value: str, tmp_path: Path) -> None:
    done = run("search", *GEMM, "--arch", "eyeriss", "--objective", objective, "--tiling", "perfect", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    rows = {line.split("  ")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("  ")}
    assert f"{name}: proven optimal" in rows["Objective"]
    assert "even, perfect tilings, " in rows["Space"]
    assert rows["Value"].endswith(value)
    assert {"Energy", "Latency", "EDP"} <= set(rows)
    certificate = tw.load_mapping(tmp_path / "mapping.json").recorded.certificate
    assert certificate is not None
    assert certificate.objective == name


def test_search_prints_one_document_with_json() -> None:
    done = run("search", *GEMM, "--arch", "eyeriss", "--json", "--verify")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["schema_version"] == 6
    assert document["summary"]["proven"] is True
    assert "verified: " in done.stderr


def test_a_saved_document_and_a_printed_one_differ_in_the_clock_alone(saved: Path) -> None:
    printed = json.loads(run("search", *GEMM, "--arch", "eyeriss", "--json").stdout)
    kept = json.loads((saved / "mapping.json").read_text(encoding="utf-8"))
    printed["certificate"]["seconds"] = kept["certificate"]["seconds"] = 0
    assert printed == kept


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("--conv", "K=2,C=2,P=4,Q=4,R=2,S=2,stride=2"), "conv2d"),
        (("--gemm", "B=2,M=4,N=4,K=4"), "batched_gemm"),
        (("--einsum", "mk,kn->mn", "m=4,n=4,k=4"), "mk,kn->mn"),
    ],
)
def test_layers_are_given_inline(arguments: tuple[str, ...], name: str) -> None:
    done = run("search", *arguments, "--arch", "eyeriss", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["cascade"]["name"] == name


def test_an_architecture_is_given_as_a_file(tmp_path: Path) -> None:
    path = architecture_file(tmp_path, "name: eyeriss", "name: mine", "eyeriss")
    done = run("search", *GEMM, "--arch", path, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["architecture"]["name"] == "mine"


def test_evaluate_prints_the_figures_again(saved: Path) -> None:
    done = run("evaluate", saved / "mapping.json")
    assert done.exit_code == 0, done.output
    assert "Energy" in done.stdout
    assert "Certificate" not in done.stdout
    assert done.stderr == ""


def test_evaluate_on_another_architecture(saved: Path, tmp_path: Path) -> None:
    path = architecture_file(tmp_path, "read: 200 pJ", "read: 400 pJ", "eyeriss")
    document = json.loads(run("evaluate", saved / "mapping.json", "--arch", path, "--json").stdout)
    before = json.loads((saved / "mapping.json").read_text(encoding="utf-8"))
    assert document["cost"]["energy_pj"] > before["cost"]["energy_pj"]
    assert document["certificate"] is None


def test_evaluate_says_when_a_file_claims_too_much(saved: Path, tmp_path: Path) -> None:
    document = json.loads((saved / "mapping.json").read_text(encoding="utf-8"))
    document["cost"]["energy_pj"] /= 2
    (tmp_path / "boast.json").write_text(json.dumps(document), encoding="utf-8")
    done = run("evaluate", tmp_path / "boast.json")
    assert done.exit_code == 0
    assert done.stderr.startswith("note: ")


def test_verify_runs_the_program(saved: Path) -> None:
    done = run("verify", saved / "mapping.json")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("verified: output and words moved agree (")


def test_verify_reads_standard_input(saved: Path) -> None:
    done = run("verify", "-", text=(saved / "mapping.json").read_text(encoding="utf-8"))
    assert done.exit_code == 0, done.output
    assert run("verify", "-", text="nothing").exit_code == 2


def test_verify_exits_with_1_when_the_program_disagrees(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.mapper import emit

    wrong = emit.Verification(False, True, 0.1, {}, {}, "3 elements of the output differ")
    monkeypatch.setattr(emit, "verify_numpy", lambda *_, **__: wrong)
    done = run("verify", saved / "mapping.json")
    assert done.exit_code == 1
    assert done.stderr.startswith("disagrees: 3 elements of the output differ")


def test_verify_sets_proves_the_schedule(saved: Path) -> None:
    done = run("verify", "--sets", saved / "mapping.json")
    assert done.exit_code == 0, done.output
    for part in ("every point", "once", "order", "parallel", "held", "tiles", "legal: proven for all 4,096 points"):
        assert part in done.stdout
    assert done.stderr == ""


def test_verify_sets_names_a_point_that_is_left_out(saved: Path) -> None:
    document = json.loads((saved / "mapping.json").read_text(encoding="utf-8"))
    loops = [item for item in document["tree"]["items"] if item["kind"] == "loop" and item["dim"] == "K"]
    document["tree"]["items"] = [item for item in document["tree"]["items"] if item not in loops]
    done = run("verify", "-", "--sets", text=json.dumps(document))
    assert done.exit_code == 1
    assert done.stderr == "illegal: <stdin>: the point M=0, N=0, K=1 is never visited\n"
    assert run("verify", "-", text=json.dumps(document)).exit_code == 2, "its program is not even written"


def test_verify_sets_proves_a_mapping_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = (
        "gemm: M=4,N=4,K=4\narch: three_level\nlevels:\n  - {memory: DRAM, keep: [A, W, O], loops: [M=4, N=4, K=4]}\n"
    )
    path.write_text(text)
    assert "legal: proven for all 64 points" in run("verify", "--sets", path).stdout
    path.write_text(text.replace("K=4]", "K=2]"))
    assert f"{path}:4: levels[0].loops[2]: dimension K" in refused("verify", "--sets", path)


def test_verify_sets_without_islpy(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.ir.errors.find_spec", lambda name: None)
    done = run("verify", "--sets", saved / "mapping.json")
    assert done.exit_code == 2
    assert done.stderr.endswith("the package islpy is not installed\nhint: pip install 'tilewright[sets]'\n")


def test_verify_warns_of_a_long_run(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.mapper import emit

    monkeypatch.setattr(emit, "program_steps", lambda *_: 10**8)
    done = run("verify", saved / "mapping.json")
    assert done.exit_code == 0
    assert "100,000,000 steps" in done.stderr


def test_verify_runs_passes_at_once_or_every_step(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "gemm: M=16,N=16,K=16\narch: three_level\nlevels:\n"
        "  - {memory: DRAM, keep: [A, W, O], loops: [M=16, N=16, K=16]}\n  - {memory: RF, keep: [A, W, O]}\n"
    )
    told = "of 4,096 steps were run one by one, the others at once, in passes like one of those"
    assert told in run("verify", "--fast", path).stdout
    assert told not in run("verify", "--every-step", path).stdout
    assert "pass1.repeats(" in run("emit", "--to", "numpy", "--fast", path).stdout
    assert "pass1.repeats(" not in run("emit", "--to", "numpy", path).stdout
    assert "and not in c" in refused("emit", "--to", "c", "--every-step", path)


def test_lists_are_one_name_a_line() -> None:
    lines = run("list", "archs").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(tw.list_archs())
    assert lines[tw.list_archs().index("eyeriss")].endswith(tw.load_arch("eyeriss").description)
    assert run("list", "networks").stdout.split() == list(tw.list_networks())
    assert run("list", "dataflows").stdout.split() == list(list_dataflows())
    layers = run("list", "layers", "resnet50").stdout.split()
    assert "resnet50:layer1.0.conv2" in layers
    assert set(layers) < set(run("list", "layers").stdout.split())


@pytest.mark.parametrize("name", ["eyeriss", "three_level", "tpu_v1"])
def test_show_architecture(name: str) -> None:
    done = run("show", name)
    assert done.exit_code == 0
    for level in tw.load_arch(name).levels:
        assert level.name in done.stdout


@pytest.mark.parametrize("name", ["free", "weight-stationary"])
def test_show_dataflow(name: str, tmp_path: Path) -> None:
    """What is shown is a constraints file: read back, it is the dataflow."""
    path = tmp_path / "shown.yaml"
    path.write_text(run("show", name).stdout, encoding="utf-8")
    layer, machine = tw.gemm(M=4, N=4, K=4), tw.load_arch("three_level")
    shown, named = (load_constraints(source, layer, machine) for source in (path, name))
    assert (shown, shown.name) == (named, name)


def test_constraints_are_passed_on_to_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def remember(_: Exact, question: NestQuestion) -> None:
        asked.append(question.constraints)
        raise tw.TilewrightError("enough")

    monkeypatch.setattr(Exact, "search", remember)
    path = tmp_path / "mine.yaml"
    path.write_text("memories: {GLB: {temporal: {K: 1}}}")
    lines = ("--constraint", "array.utilization>=0.5", "--constraint", "utilization>=0.25")
    words = ("search", *GEMM, "--arch", "three_level", "--no-cache")
    refused(*words, "--dataflow", "weight-stationary", "--constraints", path, *lines)
    refused(*words)
    machine = tw.load_arch("three_level")
    sources = ["weight-stationary", path, lines[1], lines[3]]
    assert asked == [load_constraints(sources, tw.gemm(M=16, N=16, K=16), machine), Constraints()]
    assert not asked[0].is_free


def test_show_network_and_layer_and_files(tmp_path: Path) -> None:
    network = run("show", "resnet50").stdout
    assert "layer1.0.conv2" in network
    assert f"{tw.load_network('resnet50').macs:,}" in network
    layer = run("show", "resnet50:conv1").stdout
    assert "2*p+r" in layer
    assert "P=112" in layer
    assert "Hierarchy" in run("show", architecture_file(tmp_path)).stdout
    path = tmp_path / "net.yaml"
    path.write_text("network: mine\nlayers:\n  - {name: one, op: gemm, M: 4, N: 4, K: 4, weight: true}\n")
    assert "M=4 N=4 K=4" in run("show", path).stdout
    assert "M=4 N=4 K=4" in run("show", f"{path}:one").stdout


def test_help_and_version() -> None:
    for words in ((), ("--help",), ("-h",)):
        done = run(*words)
        assert done.exit_code == 0
        assert "tilewright search resnet50:layer1.0.conv2 --arch eyeriss" in done.stdout
    for command in ("search", "space", "bound", "evaluate", "verify", "list", "show"):
        done = run(command, "--help")
        assert done.exit_code == 0
        assert f"tilewright {command} " in done.stdout
    assert run("--version").stdout == f"tilewright {tw.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("search",), "expected one layer, found none"),
        (("search", "resnet50"), "a whole network"),
        (("search", "resnet50:layer1.0.conv22", "--arch", "eyeriss"), "did you mean 'layer1.0.conv2'"),
        (("search", "resnet5:conv1", "--arch", "eyeriss"), "did you mean 'resnet50'"),
        (("search", "resnet50:conv1", *GEMM), "found the layer 'resnet50:conv1' and --gemm"),
        (("search", "--conv", "K=1", *GEMM), "found --conv and --gemm"),
        (("search", "--gemm", "M=-4,N=4,K=4"), "M is -4, expected 1 or more"),
        (("search", "--gemm", "M=0,N=4,K=4"), "M is 0, expected 1 or more"),
        (("search", "--gemm", "M=1.5,N=4,K=4"), "M is '1.5', expected a whole number"),
        (("search", "--gemm", "M=4,N=4,k=4"), "did you mean 'K'"),
        (("search", "--gemm", "M=1000000000,N=1000000000,K=4", "--arch", "eyeriss"), "2^53 at most"),
        (("search", "--einsum", "mk,kn->mn"), "the sizes of the einsum are missing"),
        (("search", "--einsum", "mk,kn->mx", "m=4"), "output index 'x' is in no operand"),
        (("search", *GEMM), "no architecture is given"),
        (("search", *GEMM, "--arch", "eyeris"), "did you mean 'eyeriss'"),
        (("search", *GEMM, "--arch", "none.yaml"), "none.yaml: no such file"),
        (("search", *GEMM, "--arch", "eyeriss", "--objective", "engery"), "did you mean 'energy'"),
        (("search", *GEMM, "--arch", "eyeriss", "--objective", "energy/latency"), "falls when latency grows"),
        (("search", *GEMM, "--arch", "eyeriss", "--objective", "latency,edp"), "expected latency,energy or energy,lat"),
        (
            ("search", *GEMM, "--arch", "eyeriss", "--objective", "energy where latency <= 60"),
            "the least latency is 640",
        ),
        (("search", *GEMM, "--arch", "eyeriss", "--tiling", "rag"), "did you mean 'ragged'"),
        (("search", *GEMM, "--arch", "eyeriss", "--dataflow", "weight-stat"), "did you mean 'weight-stationary'"),
        (("search", *GEMM, "--arch", "eyeriss", "--constraints", "none.yaml"), "none.yaml: no such file"),
        (("search", *GEMM, "--arch", "eyeriss", "--constraint", "free"), "found no '='"),
        (("search", *GEMM, "--arch", "eyeriss", "--constraint", "GLB.order=M>KK"), "no dimension 'KK'"),
        (("search", "--archs"), "no such option: --archs"),
        (("search", *GEMM, "--arch"), "requires an argument"),
        (("serch",), "no such command 'serch'"),
        (("evaluate",), "missing argument 'MAPPING'"),
        (("evaluate", "none.json"), "none.json: no such file"),
        (("verify", "none.json"), "none.json: no such file"),
        (("list", "arch"), "did you mean 'archs'"),
        (("list", "archs", "resnet50"), "only layers take a network"),
        (("list", "layers", "resnet51"), "did you mean 'resnet50'"),
        (("show", "eyeris"), "did you mean 'eyeriss'"),
        (("show", "row-stationery"), "did you mean 'row-stationary'"),
        (("show", "none.yaml"), "none.yaml: no such file"),
        (("show", "a", "b"), "unexpected extra argument"),
    ],
)
def test_bad_arguments_are_one_message(arguments: tuple[str, ...], expected: str) -> None:
    assert expected in refused(*arguments)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("clock: 1 GHz", "clok: 1 GHz", "did you mean 'clock'"),
        ("size: 128 KiB", "size: -128 KiB", "'-128 KiB' is negative"),
        ("size: 128 KiB", "size: 128 KB", "KB may be 1024 or 1000 bytes"),
        ("read: 6 pJ", "read: 6 pW", "'pW'"),
        ("keep: may", "keep: {inputs: may}", "did you mean 'input'"),
        ("x: 16", "x: 0", "levels[2].x"),
        ("levels:", "levels: [", "not YAML"),
    ],
)
def test_bad_architecture_files_are_one_message(tmp_path: Path, old: str, new: str, expected: str) -> None:
    path = architecture_file(tmp_path, old, new)
    text = refused("search", *GEMM, "--arch", path)
    assert f"{path}:" in text
    assert expected in text


def test_a_memory_that_cannot_hold_one_element_of_each_tensor(tmp_path: Path) -> None:
    path = architecture_file(tmp_path, "size: 512 B", "size: 2 B")
    path.write_text(path.read_text(encoding="utf-8").replace("keep: may", "keep: must"), encoding="utf-8")
    done = run("search", *GEMM, "--arch", path)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert "RF" in done.stderr
    assert "2 B" in done.stderr


def test_a_mapping_that_does_not_fit_another_architecture(saved: Path) -> None:
    assert str(saved / "mapping.json") in refused("evaluate", saved / "mapping.json", "--arch", "tpu_v1")


def test_an_unwritable_folder_is_found_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(Exact, "search", never)
    (tmp_path / "file").write_text("")
    assert "not a directory" in refused("search", *GEMM, "--arch", "eyeriss", "--out", tmp_path / "file")
    assert "not a directory" in refused("search", *GEMM, "--arch", "eyeriss", "--out", tmp_path / "file" / "below")


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "cannot be written" in refused("search", *GEMM, "--arch", "eyeriss", "--out", tmp_path / "locked" / "new")


@pytest.mark.long
def test_in_a_shell_output_is_plain_and_errors_go_to_stderr(saved: Path) -> None:
    done = shell("evaluate", saved / "mapping.json")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    done = shell("search", "--gemm", "M=0,N=1,K=1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert shell("--bad").returncode == 2


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Exact, "search", interrupted)
    done = run("search", *GEMM, "--arch", "eyeriss", "--no-cache")
    assert done.exit_code == 130
    assert done.stderr == "interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_an_interrupt_from_a_shell_is_one_line(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    code = (
        "import pathlib, time\nfrom tilewright.mapper.strategies import Exact\n"
        f"def slow(*_, **__):\n    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(60)\n"
        "Exact.search = slow\nfrom tilewright.cli import main\nmain()"
    )
    words = [sys.executable, "-c", code, "search", *GEMM, "--arch", "eyeriss", "--no-cache"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes differ")
def test_a_reader_that_leaves_early_is_no_error() -> None:
    words = " ".join([sys.executable, "-c", "'from tilewright.cli import main; main()'", "list", "layers"])
    done = subprocess.run(f"{words} | head -n 1", shell=True, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


SMALL = ("--gemm", "M=16,N=16,K=16")


def test_fields_that_are_set_are_in_the_result_and_stay_there(tmp_path: Path) -> None:
    options = ("--arch", "systolic", "--set", "array=4x8", "--set", "buffer.size=1 MiB")
    done = run("search", *SMALL, *options, "--out", tmp_path)
    assert done.exit_code == 0
    assert "set array=4x8, buffer.size=1 MiB" in " ".join(done.stdout.split())
    assert "32 MAC units" in done.stdout
    stored = tw.load_mapping(tmp_path / "mapping.json").arch
    assert stored == tw.load_arch("systolic", set={"array": "4x8", "buffer.size": "1 MiB"})
    again = run("evaluate", tmp_path / "mapping.json")
    assert "set array=4x8, buffer.size=1 MiB" in " ".join(again.stdout.split())
    assert run("evaluate", tmp_path / "mapping.json", *options).stdout == again.stdout
    assert run("verify", tmp_path / "mapping.json").exit_code == 0
    assert run("space", *SMALL, *options).exit_code == 0


def test_a_space_that_memory_cannot_hold_the_counts_of_is_refused() -> None:
    asked = ("space", "--gemm", "M=99999999999,N=4,K=4", "--arch", "three_level")
    done = run(*asked)
    assert done.exit_code == 2
    assert "its space is too large to be counted" in done.output
    assert run(*asked, "--tiling", "perfect").exit_code == 0


def test_show_draws_a_picture(tmp_path: Path) -> None:
    from tilewright.report.pages.arch_picture import architecture_svg

    path = tmp_path / "a.svg"
    done = run("show", "systolic", "--set", "array=4x8", "--svg", path)
    assert (done.exit_code, done.stdout.strip()) == (0, str(path))
    assert path.read_text(encoding="utf-8") == architecture_svg(tw.load_arch("systolic", set={"array": "4x8"}))
    assert "4 (sharing the output, a hop takes 1 cycle) x 8" in run("show", "systolic", "--set", "array=4x8").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("search", *SMALL, "--arch", "eyeriss", "--set", "array"), "--set: found 'array', expected FIELD=VALUE"),
        (
            ("search", *SMALL, "--arch", "eyeriss", "--set", "a=1", "--set", "a=2"),
            "a is given twice, as '1' and as '2'",
        ),
        (("search", *SMALL, "--arch", "eyeriss", "--set", "spd.read=1 pJ"), "did you mean 'spad.read'?"),
        (("search", *SMALL, "--set", "array.x=4"), "--arch: no architecture is given"),
        (("show", "resnet50", "--set", "array.x=4"), "no layer 'array', expected LAYER.KEY=VALUE"),
        (("show", "resnet50:conv1", "--svg", "a.svg"), "--svg: resnet50:conv1 is no architecture"),
        (("show", "weight-stationary", "--svg", "a.svg"), "--svg: weight-stationary is no architecture"),
        (("show", "eyeriss", "--svg", "/dev/null/a.svg"), "/dev/null/a.svg: its folder cannot be made"),
    ],
)
def test_settings_and_pictures_that_cannot_be(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("search", *GEMM, "--time-limit", "5x"),
            "--time-limit: found '5x', expected seconds, or a time such as 500ms",
        ),
        (("evaluate", "eyeriss"), "eyeriss: this is an architecture, expected a mapping"),
        (
            ("explore", "--network", "alexnet", "--arch", "eyeriss", "--sweep", "GLB.size=64KiB..1MiB"),
            "hint: write GLB.size=64KiB:1MiB:x2",
        ),
    ],
)
def test_what_new_users_write_is_refused_with_what_to_write(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_times_have_units_and_files_that_are_written_over_are_named(tmp_path: Path) -> None:
    for size, replaced in (("8", False), ("16", True)):
        asked = ["search", "--gemm", f"M=4,N=4,K={size}", "--arch", "three_level", "--time-limit", "2min"]
        done = run(*asked, "--out", tmp_path)
        assert done.exit_code == 0, done.output
        assert (f"note: written over: {tmp_path / 'mapping.json'}" in done.stderr) == replaced
    done = run(*asked)
    assert "TILEWRIGHT_STORE" in os.environ
    assert f"in {os.environ['TILEWRIGHT_STORE']} (--no-cache" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compile",), "missing argument 'NETWORK'"),
        (("explore", "--arch", "eyeriss", "--sweep", "array=8x8"), "missing option '--network'"),
    ],
)
def test_what_a_command_needs_is_named(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "required" in run(words[0], "--help").stdout
