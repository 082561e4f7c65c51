"""Every command with its options, as the program itself has them, and what to write for wrong ones of every kind."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine_files import ACCELFORGE, ART, ERT, ZIGZAG
from typer.testing import CliRunner

import tilewright as tw
from generators import memory
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cli import app
from tilewright.cli.commands import COMMANDS, LazyCommands
from tilewright.mapper.emit import emit_timeloop

LAYER = ("--gemm", "M=2,N=2,K=2")
MACHINE = ("--arch", "three_level")

BASES: dict[str, tuple[str, ...]] = {
    "search": (*LAYER, *MACHINE, "--no-cache"),
    "space": (*LAYER, *MACHINE),
    "compare": ("--networks", "tiny.yaml", "--archs", "three_level", "--dataflows", "free", "--no-cache"),
    "compile": ("tiny.yaml", *MACHINE, "--no-cache"),
    "layouts": ("tiny.yaml", *MACHINE, "--set", "DRAM.line=64 B"),
    "explore": ("--network", "tiny.yaml", *MACHINE, "--sweep", "GLB.size=32KiB", "--no-cache"),
    "bound": (*LAYER, "--sizes", "4"),
    "evaluate": ("mapping.json",),
    "explain": ("mapping.json", "--no-cache"),
    "verify": ("mapping.json",),
    "emit": ("mapping.json", "--to", "c"),
    "list": ("archs",),
    "show": ("three_level",),
    "roofline": (*LAYER, *MACHINE),
    "network": ("tiny.yaml",),
    "collective": ("all-reduce", "1 MB", "--system", "h100x8"),
    "plan": ("buffers.csv",),
    "results list": (),
    "results show": ("0000",),
    "results export": ("results.csv",),
    "results gc": ("--dry-run",),
    "import timeloop": ("case.yaml",),
    "import accelergy": ("tables.yaml", "--arch", "three_level"),
    "import accelforge": ("accelforge.yaml",),
    "import zigzag": ("zigzag.yaml",),
    "gpu sweep": ("--n", "64:64"),
    "gpu advise": ("--gemm", "M=64,N=64,K=64"),
    "gpu compare": ("measured.csv",),
}
"""What each command is given beside the wrong word; files are those of the folder that `prepare` makes."""

_CASCADE = ("--op", "T[m,n] += A[m,k] * B[k,n]", "--op", "U[m,p] += T[m,n] * D[n,p]", "m=2,n=2,k=2,p=2")
_TREE = (*_CASCADE, *MACHINE, "--mapping", "tree.txt")

CASCADES: dict[str, tuple[str, ...]] = {
    "search": (*_CASCADE, *MACHINE, "--no-cache"),
    "space": (*_CASCADE, *MACHINE),
    "bound": (*_CASCADE, "--sizes", "4"),
    "evaluate": _TREE,
    "explain": _TREE,
    "verify": _TREE,
    "emit": (*_TREE, "--to", "c"),
}
"""The same for a cascade, of the commands that take one."""

MEASURED = "m,n,k,batch,dtype,a,b,seconds\n" + "".join(
    f"{size},{size},{size},1,fp16,row,row,{1e-5 * size}\n" for size in (64, 128, 256, 512)
)

NO_FILE = ("nowhere.yaml", "folder.yaml", "binary.yaml", "empty.yaml", "link.yaml", "/dev/null/x.yaml", "a" * 5000)
NO_WORD = ("nonsense", "Even", "edp,,", "--", "'", "\x1b[31m", "名", "a" * 5000)
NO_NUMBER = ("x", "1.5", "-1", "1e3", "0x10", "", " ", "9" * 5000, "１²")
NO_SIZES = ("M", "M=", "=1", "M=x", "M=0", "M=-1", "M=1.5", "M=1,M=2", "Z=1", f"M={'9' * 20},N=1,K=1", ",", "M=1;N=2")
NO_OUTPUT = ("/dev/null/x.svg", "folder.svg", "a" * 5000 + ".svg")
NO_STORE = ("/dev/null/s.sqlite3", "folder.yaml", "binary.yaml")

BAD: dict[str, tuple[str, ...]] = {
    "LAYER": ("nonsense", "alexnet", "alexnet:nonsense", "nonsense:conv1", "nowhere.yaml:conv1", ":", "nowhere.onnx:a"),
    "INPUT=VALUE": ("nothing", "=", "x", "x=", "=1", "nowhere=1"),
    "LAYER|CASCADE": (
        *("nonsense", "alexnet", "alexnet:nonsense", "nonsense:conv1", "nowhere.yaml:conv1", ":", "nowhere.onnx:a"),
        *("nowhere.yaml", "alexnet:conv1+nonsense", "alexnet:conv1..nonsense"),
    ),
    "MAPPING": (*NO_FILE, "tiny.yaml"),
    "NAME|PATH": (*NO_WORD, *NO_FILE),
    "NAME": NO_WORD,
    "NAME,...": (*NO_WORD, ",", "alexnet,alexnet,"),
    "NETWORK": (*NO_WORD, *NO_FILE, "nowhere.onnx", "folder.onnx", "binary.onnx"),
    "PATTERN": ("",),
    "WHAT": (*NO_WORD, "energy where", "energy ** -1", "1 / latency", "energy where latency <= x", "energy,"),
    "KIND": NO_WORD,
    "FORM": NO_WORD,
    "PHASE": NO_WORD,
    "SOURCE": NO_WORD,
    "TYPE": NO_WORD,
    "ORDER": NO_WORD,
    "WORD": NO_WORD,
    "SIZES": NO_SIZES,
    "SYMBOL=SIZE": NO_SIZES,
    "SPEC": ("nonsense", "->", "mk,kn->mq", "m1,kn->mn", "mk;kn->mn"),
    "FIELD=VALUE": ("x", "x=1", "=1", "GLB.size", "GLB.size=", "GLB.size=-1 KiB", "GLB.size=1e400 KiB", "GLB=3"),
    "LAYOUT": ("x", "ZZ", "NHCW", "any", "O=NHWC", ""),
    "MEMORY[=OPERATION,...]": ("x", "=", "GLB=", "=conv1", "GLB=,", "GLB=nonsense", "RF", "DRAM"),
    "TENSOR=LAYOUT": ("x", "=NHWC", "O=", "O=NHWC", "X=NHWC", "O=ZZ", "O=K0", "O=any", "GLB.O=any", "O=NHWC=NCHW"),
    "TENSOR=DENSITY": (
        *(
            "x",
            "W",
            "W=",
            "=1",
            "W=0",
            "W=1.5",
            "W=-1",
            "W=nan",
            "W=4:2",
            "W=0:4",
            "W=2:4@Z",
            "W=band:x",
            "O=0.5",
            "Z=0.5",
        ),
        *("W=nowhere.npy", "W=tiny.yaml", f"W={'9' * 5000}", f"W={'a' * 5000}.npy"),
    ),
    "FIELD=VALUES|FILE": (
        "x",
        "GLB.size=",
        "GLB.nothing=1:2:x2",
        "GLB.size=2KiB:1KiB:x2",
        "GLB.size=a",
        "nowhere.yaml",
    ),
    "MEASURE<=VALUE": ("x", "area", "area<=x", "nothing <= 3", "energy <= ", "area <= 4 pJ"),
    "MEASURE,...": ("nonsense", "energy", "energy,energy", ","),
    "OPERATION": ("nonsense", "x[", "x[m,n] = ", "a[m,n] = b[m,k] * ", "= b[m]", "a = b ** c"),
    "EXPR": ("nonsense", "GLB.temporal.K", "GLB.temporal.K<=x", "nowhere.temporal.K<=4", "<=", "GLB.temporal.Z<=1"),
    "RANGE": ("x", "0", "64:1:x2", "64:128", "64:128:x1", "-1", "1,,2", "9" * 30),
    "FROM:TO[:STEP]": ("x", "64", "64:1", "0:64", "1:1000000000:1", "64:128:0", "-1:64"),
    "ROWSxCOLUMNS": ("x", "64", "0x64", "64x", "3x5x7", "-64x64"),
    "energy,latency": ("energy", "latency", "nonsense", "energy,energy"),
    "ADDRESS": ("nonsense", "tcp://", "tcp://host", "host:99999", "http://host/x"),
    "SECONDS": ("x", "-1", "nan", "-inf", "1e400", "1 day"),
    "SIZE": (*NO_NUMBER, "0"),
    "NUMBER": NO_NUMBER,
    "N,...": (*NO_NUMBER, "1,x"),
    "AXIS": NO_WORD,
    "NAME: DIM@AXIS": ("x", "x:", "x: m", "x: m@", "@x: m@node", "x: m@node, n@node"),
    "N": (*NO_NUMBER, "0"),
    "BITS": (*NO_NUMBER, "0"),
    "TIME": ("x", "12", "-1d", "1y", "1.5d", "9" * 30 + "d"),
    "KEY": ("x", "zzzz", "00", "../x", "0" * 100, "ffff"),
    "DIR": ("/dev/null/x", "tiny.yaml", "a" * 5000),
    "FILE": NO_OUTPUT,
    "FILE...": (*NO_FILE, "tiny.yaml"),
    "PATH": NO_STORE,
}
"""By the metavar of an option or argument, which says its kind: what is wrong for all of them."""

READ = {
    "--constraints": NO_FILE,
    "import accelforge FILE argument": (*NO_FILE, "tiny.yaml"),
    "import zigzag FILE argument": (*NO_FILE, "tiny.yaml"),
    "plan FILE argument": (*NO_FILE, "tiny.yaml"),
    "gpu compare FILE": (*NO_FILE, "tiny.yaml"),
    "list NETWORK": BAD["NETWORK"],
    "bound LAYER|CASCADE argument": tuple(value for value in BAD["LAYER|CASCADE"] if value != "alexnet"),
    "roofline LAYER argument": tuple(value for value in BAD["LAYER"] if value != "alexnet"),
}
"""Of a kind whose metavar does not say all: what is read, and not written."""


@dataclass(frozen=True)
class Asked:
    """One option or argument of a command."""

    command: str
    option: str
    metavar: str
    is_argument: bool

    @property
    def bad(self) -> tuple[str, ...]:
        """What is wrong for it."""
        if self.is_argument and f"{self.command} {self.metavar} argument" in READ:
            return READ[f"{self.command} {self.metavar} argument"]
        special = READ.get(self.option) or READ.get(f"{self.command} {self.metavar}")
        return special or BAD[self.metavar]

    def line(self, value: str) -> list[str]:
        """A command line that is right but for this value."""
        base = list(BASES[self.command])
        if self.is_argument or self.option in ("--conv", "--einsum", "--gemm", "--network"):
            base = without_option(
                base, *(("--gemm", "--network") if self.command not in ("gpu advise",) else ("--gemm",))
            )
        if self.command == "collective" and self.is_argument:
            given = {"operation": "all-reduce", "size": "1 MB"} | {self.option: value}
            return ["collective", *base[2:], "--", *given.values()]
        if self.is_argument:
            base = base if base and base[0].startswith("--") else base[1:]
            before = {"list": ["layers"]}.get(self.command, []) if self.metavar == "NETWORK" else []
            return [*self.command.split(), *before, *base, "--", value]
        sizes = ["--layer"] if self.command in ("evaluate", "explain", "emit", "verify") else []
        beside = [*sizes, "m=2,n=2,k=2"] if self.option == "--einsum" else []
        beside = without_option(beside, self.option)
        without = ("--no-cache",) if self.option in ("--store", "--mapping") else ()
        base = [word for word in without_option(base, self.option) if word not in without]
        if self.option == "--op":  # operations have their sizes where other commands have the mapping
            base = ["m=2,n=2,k=2" if word == "mapping.json" else word for word in base]
            base = base if "m=2,n=2,k=2" in base else ["m=2,n=2,k=2", *without_option(base, "--gemm")]
        return [*self.command.split(), *beside, *base, f"{self.option}={value}"]


def without_option(words: list[str], *options: str) -> list[str]:
    """The words without these options and what belongs to them."""
    kept, skip = [], False
    for word in words:
        if not skip and word not in options:
            kept.append(word)
        skip = word in options
    return kept


def every_command() -> Iterator[tuple[str, Any]]:
    """The name and the command, those inside groups included."""
    for name, command in ((name, LazyCommands()[name]) for name in COMMANDS):
        for inner, one in getattr(command, "commands", {"": command}).items():
            yield f"{name} {inner}".strip(), one


def everything_asked() -> list[Asked]:
    """All options and arguments that take a value."""
    found = []
    for name, command in every_command():
        for parameter in command.params:
            if parameter.metavar is not None:
                is_argument = not parameter.opts[0].startswith("-")
                found.append(Asked(name, parameter.opts[0], parameter.metavar, is_argument))
    return found


def flags() -> list[tuple[str, str]]:
    """The command and the name of all options without a value."""
    return [
        (name, parameter.opts[0])
        for name, command in every_command()
        for parameter in command.params
        if parameter.metavar is None and parameter.opts[0] != "--help"
    ]


def timeloop_case() -> str:
    """A case that Timeloop would read."""
    levels = (memory("DRAM"), Fanout(name="array", axes=(ArrayAxis(size=4),)), memory("spad", size_bits=2**10))
    mac = Mac(energy_pj=1.0)
    arch = Architecture(name="simple", clock_hz=1e9, word_bits=8, levels=levels, mac=mac, footprint="box")
    return emit_timeloop(tw.search(tw.gemm(M=4, N=2, K=2), arch).mapping, arch)


def prepare(folder: Path) -> None:
    """Make the files that the command lines name."""
    (folder / "folder.yaml").mkdir()
    (folder / "folder.svg").mkdir()
    (folder / "folder.onnx").mkdir()
    for name in ("binary.yaml", "binary.onnx"):
        (folder / name).write_bytes(bytes(range(256)) * 3)
    (folder / "empty.yaml").write_bytes(b"")
    (folder / "link.yaml").symlink_to("nowhere")
    rows = "layers:\n  - {name: only, op: gemm, M: 2, N: 2, K: 2, weight: true}\n"
    (folder / "tiny.yaml").write_text(f"network: tiny\n{rows}graph: [only]\n", encoding="utf-8")
    (folder / "buffers.csv").write_text("id,lower,upper,size\na,0,2,8\nb,1,3,8\n", encoding="utf-8")
    (folder / "measured.csv").write_text(MEASURED, encoding="utf-8")
    for name, text in (("tables", f"{ERT}\n{ART}"), ("accelforge", ACCELFORGE), ("zigzag", ZIGZAG)):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    tree = ("DRAM keeps A B D T U", "branch T", "  for M in 2", "    for N in 2", "      for K in 2")
    tree += ("branch U", "  for M in 2", "    for P in 2", "      for N in 2")
    (folder / "tree.txt").write_text("\n".join(tree) + "\n", encoding="utf-8")
    (folder / "case.yaml").write_text(timeloop_case(), encoding="utf-8")
    done = CliRunner().invoke(app, ["search", *LAYER, *MACHINE, "--out", str(folder), "-q"])
    assert done.exit_code == 0, done.output


def refusal(words: list[str]) -> str:
    """The message of a command that must be refused; it fails for a traceback, another exit code, or no clear words."""
    message = answer_or_refusal(words)
    assert message is not None, f"{_shown(words)}: exit code 0"
    return message


def answer_or_refusal(words: list[str]) -> str | None:
    """The same of a command that may be refused; None where it is answered."""
    with contextlib.redirect_stderr(io.StringIO()):
        done = CliRunner().invoke(app, words)
    if done.exit_code == 0 and done.exception is None:
        return None
    shown = _shown(words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise AssertionError(shown) from done.exception
    assert done.exit_code == 2, f"{shown}: exit code {done.exit_code}\n{done.output[:500]}"
    message: str = done.stderr
    assert message.startswith("error: "), f"{shown}: {message[:200]}"
    assert message.count("error:") == 1, f"{shown}: {message[:200]}"
    assert "Traceback" not in message
    assert len(message) < 3000, f"{shown}: a message of {len(message)} characters"
    return message


def _shown(words: list[str]) -> str:
    return " ".join(word[:80] for word in words)
