"""How long the C program of a network takes, layer by layer: beside its plain loops, numpy, and onnxruntime.

    pip install onnxruntime
    python benchmarks/programs.py mobilenet_v2 --arch cpu --element float

All on one thread. The network is one of `seeded_models.py`, compiled without fusing so that every layer is a step of
its own. Times are the least of several runs: of the emitted tree and of the same operation in plain loops (both gcc,
-O3 -march=native, in one program with -DTIMES), of the layer in numpy (windows as a view, then a matrix product by
BLAS), and of the node in onnxruntime (its profile; batch norms and functions are part of convolutions there, as here).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# BLAS reads these when numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from seeded_models import MODELS  # noqa: E402

import tilewright as tw  # noqa: E402

Times = dict[str, float]
FLAGS = ("-O3", "-march=native", "-fopenmp", "-DTIMES")


def emitted(result: tw.CompiledNetwork, folder: Path, element: str, runs: int) -> tuple[Times, Times, str]:
    """Seconds of every step by its tree and in plain loops, and what the program says of its outputs."""
    result.save_program(folder, "c", element)  # type: ignore[arg-type]
    program = folder / "run"
    subprocess.run(["gcc", *FLAGS, str(folder / "network.c"), "-lm", "-o", str(program)], check=True)
    done = subprocess.run([str(program), "0", str(runs)], capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("step\t")]
    trees, plain = ({name: float(each[at]) for _, name, *each in lines} for at in (0, 1))
    return trees, plain, done.stdout.splitlines()[0]


def in_numpy(model: onnx.ModelProto, runs: int) -> Times:
    """Seconds of every convolution and product."""
    shapes = {value.name: _shape(value) for value in (*model.graph.input, *model.graph.value_info)}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    return {
        node.name: _least(_layer(node, shapes), runs)
        for node in model.graph.node
        if node.op_type in ("Conv", "Gemm", "MatMul")
    }


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


def _least(run: Callable[[], Any], runs: int) -> float:
    found = []
    for _ in range(runs):
        begun = time.perf_counter()
        run()
        found.append(time.perf_counter() - begun)
    return min(found)


def _layer(node: onnx.NodeProto, shapes: dict[str, tuple[int, ...]]) -> Callable[[], Any]:
    given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    x, w = (np.random.default_rng(0).standard_normal(shapes[name]).astype(np.float32) for name in node.input[:2])
    if node.op_type != "Conv":
        return lambda: x @ (w.T if given.get("transB") else w)
    pad, stride, groups = given["pads"][0], given["strides"][0], given["group"]
    filters, channels, *kernel = w.shape

    def convolved() -> Any:
        padded = np.pad(x[0], ((0, 0), (pad, pad), (pad, pad)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(1, 2))[:, ::stride, ::stride]
        if groups == 1:
            return np.tensordot(w, windows, axes=((1, 2, 3), (0, 3, 4)))
        split = windows.reshape(groups, channels, *windows.shape[1:])
        return np.einsum("gkcrs,gcpqrs->gkpq", w.reshape(groups, filters // groups, channels, *kernel), split)

    return convolved


def in_onnxruntime(path: Path, model: onnx.ModelProto, runs: int) -> tuple[Times, float]:
    """Seconds of every node, and of the whole."""
    import onnxruntime  # type: ignore[import-not-found]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = str(path.with_suffix(".profile"))
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal(_shape(model.graph.input[0])).astype(np.float32)
    whole = _least(lambda: session.run(None, {"x": x}), runs)
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    found: Times = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            name, seconds = _layer_of(event["name"], model), event["dur"] * 1e-6
            found[name] = min(seconds, found.get(name, seconds))
    return found, whole


def _layer_of(event: str, model: onnx.ModelProto) -> str:
    """The node of the model that an event is of: fused ones are called after the last, and have more behind it."""
    names = [node.name for node in model.graph.node if event.startswith(node.name)]
    longest = max(names, key=len, default=event)
    return longest.removesuffix(".relu").removesuffix(".bn")


def rows(names: list[str], columns: list[Times]) -> Iterator[str]:
    """A line of a table for each layer, in milliseconds, and one of all."""
    for name in [*names, "all"]:
        cells = []
        for times in columns:
            known = [times[each] for each in names if each in times] if name == "all" else [times.get(name)]
            seconds = sum(one for one in known if one is not None) if any(known) else None
            cells.append("" if seconds is None else f"{seconds * 1e3:.3f}")
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--element", default="float", choices=("float", "double"))
    parser.add_argument("--objective", default="energy")
    parser.add_argument("--time-limit", type=float, default=2.0)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("build/programs"))
    given = parser.parse_args()
    folder = given.out / f"{given.model}-{given.arch}-{given.element}"
    folder.mkdir(parents=True, exist_ok=True)
    model, path = MODELS[given.model](), folder / "model.onnx"
    onnx.save(model, path)
    result = tw.compile(
        path,
        given.arch,
        given.objective,
        "perfect",
        fuse="none",
        stays=False,
        widths="arch",
        time_limit=given.time_limit,
    )
    trees, plain, said = emitted(result, folder, given.element, given.runs)
    columns, heads = [trees, plain, in_numpy(model, given.runs)], ["emitted", "plain loops", "numpy"]
    whole = None
    try:
        times, whole = in_onnxruntime(path, model, given.runs)
        columns.append(times)
        heads.append("onnxruntime")
    except ImportError:
        print("onnxruntime is not installed: its column is left out")
    print(f"{given.model} on {given.arch}, {given.element}; milliseconds, one thread; {said}\n")
    print(f"| layer | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    print("\n".join(rows(list(trees), columns)))
    if whole is not None:
        print(f"\nonnxruntime, the whole network at once: {whole * 1e3:.3f} ms")


if __name__ == "__main__":
    main()
