"""What each mechanism of the searches is worth: CPU seconds and gaps with it and without, over a set of questions.

    python benchmarks/ablation.py                                     # every mechanism, every question
    python benchmarks/ablation.py --without "first trees,nothing shared" --kinds trees
    python benchmarks/ablation.py --only "ff2 eyeriss_like,vgg16" --without "rough groups"    # single questions
    python benchmarks/ablation.py --without "operations: few x2,operations: few /2"           # settings
    python benchmarks/ablation.py --list
    python benchmarks/ablation.py --csv results/ablation/trees.csv --kinds trees

A mechanism is switched off from outside: `SWITCHES` says what to put in place of which function, so that the searches
themselves know of no switch. A setting is halved and doubled instead (`--list` names these rows as well). Each search
runs in a process of its own, forked from this one; a question is asked with all mechanisms, then without each, then
with all again, so that a machine that changes its speed says so (the last column of the table). Seconds are CPU seconds
of the search after import; a search ends after `--seconds` of them.

A mechanism earns its place when without it the set takes over 10 % longer (the geometric mean), or any question twice
as long, or one stays open that is proven with it.
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import tilewright as tw
from tilewright.ir import UndecidedError
from tilewright.mapper.cascades.branches.shared_branches import KnownOperations
from tilewright.mapper.effort import EFFORT, PLAN_EFFORT, TREE_EFFORT

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
FOLDERS = (GOLDEN / "cases" / "machines", GOLDEN / "fused", GOLDEN / "cases" / "networks")
FOLDERS += (Path(__file__).parent / "ablation_networks",)
"""Where machines and networks of questions are that are none of the library's."""

MOBILE = "mobilenet_v2:{0}.expand+{0}.dw+{0}.project"
BOTTLENECK = "resnet50:{0}.conv1+{0}.conv2+{0}.conv3"
CHAIN = ("T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]")
LONG_CHAIN = (*CHAIN, "V[m,q] += O[m,p] * D[p,q]", "W[m,r] += V[m,q] * E[q,r]")
GATED = (
    "G[m,n] += X[m,k] * V[k,n]",
    "U[m,n] += X[m,k] * W[k,n]",
    "H[m,n] = G[m,n] * U[m,n]",
    "O[m,p] += H[m,n] * Y[n,p]",
)
ATTENTION = ("S[b,m,n] += Q[b,m,e] * K[b,n,e]", "P[b,m,n] = exp(S[b,m,n])", "O[b,m,f] += P[b,m,n] * V[b,n,f]")
HEADS = (*ATTENTION, "Y[m,d] += O[b,m,f] * W[b,f,d]")
"""Attention of several heads, with the projection that sums over them."""

LEAST_SECONDS = 0.02
"""Searches that take less are told apart from nothing but the machine's noise: they count as so long."""


@dataclass(frozen=True)
class Asked:
    """A question of the set.

    kind    operations, trees or networks
    what    a layer or layers joined by +, an einsum or several, a network
    changed  of the machine
    dense    of operands with zeros, their densities
    """

    kind: str
    what: str | tuple[str, ...]
    arch: str
    objective: str = "edp"
    tiling: str = "perfect"
    space: str = "even"
    sizes: tuple[tuple[str, int], ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    dense: tuple[tuple[str, float], ...] = ()
    layout: str | None = None

    @property
    def name(self) -> str:
        what = self.what if isinstance(self.what, str) else "; ".join(self.what)
        changed = "".join(f" {key}={value}" for key, value in self.changed)
        zeros = " zeros" * bool(self.dense)
        layout = f" layout={self.layout}" * bool(self.layout)
        return f"{what} {self.arch}{changed}{layout} {self.objective} {self.tiling} {self.space}{zeros}"


def operations() -> Iterator[Asked]:
    """Single operations: layers of four networks on the library's machines and those of users, most of them short."""
    conv, wide, depth = "resnet50:layer1.0.conv2", "resnet50:layer4.0.conv3", "mobilenet_v2:b3.dw"
    strided, point = "resnet50:layer2.0.conv2", "mobilenet_v2:b14.expand"
    dense, attention = "bert_base:ff1", "bert_base:qk"
    for arch in ("eyeriss", "simba", "tpu_v1", "quad.yaml", "fast.yaml", "slow_cheap.yaml"):
        yield Asked("operations", conv, arch)
        yield Asked("operations", attention, arch, "energy")
    for arch in ("eyeriss_like", "shidiannao", "gemmini", "window_chip.yaml"):
        yield Asked("operations", strided, arch, "energy")
    yield Asked("operations", wide, "cpu")
    yield Asked("operations", wide, "nvdla_small", "latency")
    yield Asked("operations", dense, "h100")
    yield Asked("operations", attention, "minigpu.yaml")
    for what, arch, objective in (
        (dense, "sa32.yaml", "edp"),
        (dense, "three_level", "energy"),
        (point, "quad.yaml", "edp"),
        (point, "eyeriss", "edp"),
        (conv, "eyeriss", "edp"),
        (depth, "eyeriss", "energy"),
        (conv, "tpu_v1", "energy"),
        (wide, "gemmini", "edp"),
        (wide, "diannao", "energy"),
        (dense, "simba", "edp"),
        ("mobilenet_v2:b14.project", "h100", "edp"),
    ):
        yield Asked("operations", what, arch, objective, "ragged")
    for what, arch, objective in (
        (wide, "cpu", "edp"),
        (dense, "cpu", "energy"),
        (wide, "simba", "energy"),
        (dense, "three_level", "edp"),
        (conv, "three_level", "energy"),
        (depth, "eyeriss", "energy"),
        (point, "gemmini", "edp"),
    ):
        yield Asked("operations", what, arch, objective, "perfect", "uneven")
    yield Asked("operations", point, "three_level", "energy", "ragged", "uneven")
    for what, arch, tiling, line in (
        (dense, "three_level", "perfect", "32 B"),
        (conv, "eyeriss", "perfect", "64 B"),
        (point, "tpu_v1", "ragged", "32 B"),
    ):
        yield Asked("operations", what, arch, "energy", tiling, changed=(("DRAM.line", line),))
    # Layouts that are chosen with the mapping.
    for what, arch, line in ((conv, "eyeriss", "16 B"), ("resnet50:layer3.x.conv1", "simba", "16 B")):
        yield Asked("operations", what, arch, "energy", "ragged", changed=(("DRAM.line", line),), layout="any")
    yield Asked("operations", dense, "eyeriss", "edp", "ragged", changed=(("DRAM.line", "64 B"),), layout="any")
    for what, arch in ((point, "eyeriss_v2_like"), (conv, "scnn_like")):
        yield Asked("operations", what, arch, "energy", dense=(("W", 0.4),))
    first, small = "resnet50:conv1", "resnet50:layer3.x.conv2"
    for what, arch, memories, objective in (
        (first, "eyeriss", "DRAM GLB spad", "edp"),
        (first, "diannao", "DRAM SB NBout NBin NFU2_registers", "energy"),
        (small, "eyeriss", "GLB", "energy"),
        (depth, "eyeriss", "GLB spad", "edp"),
    ):
        yield Asked(
            "operations", what, arch, objective, changed=tuple((f"{m}.halo", "exact") for m in memories.split())
        )
    # Longer ones, for what is made for searches that take long.
    yield Asked("operations", "resnet50:layer3.x.conv2", "simba", "edp", "ragged")
    yield Asked("operations", "bert_base:ff2", "eyeriss_like", "edp", "ragged")
    yield Asked("operations", "resnet50:layer4.0.conv2", "eyeriss", "edp", "ragged")
    yield Asked("operations", "mobilenet_v2:conv1", "v100", "edp", "ragged")
    yield Asked("operations", "vgg16:conv4_2", "simba", "energy")
    yield Asked("operations", "resnet50:layer1.0.conv2", "eyeriss_v2_like", "edp")
    yield Asked("operations", dense, "v100", "edp", "perfect", "uneven")
    # Sizes that few numbers divide.
    for arch, objective in (("simba", "edp"), ("simba", "latency"), ("eyeriss", "energy"), ("quad.yaml", "edp")):
        yield Asked("operations", "gpt2_small:lm_head", arch, objective, "ragged")


def minutes() -> Iterator[Asked]:
    """Single operations that take about a minute, or are ended after one."""
    yield Asked("operations", "bert_base:ff2", "eyeriss_like", "edp", "ragged", "uneven")
    yield Asked("operations", "vgg16:conv4_2", "simba", "edp", "ragged")
    yield Asked("operations", "bert_base:ff1", "simba", "edp", "ragged", "uneven")


def trees() -> Iterator[Asked]:
    """Cascades: chains of products, blocks of networks, attention."""
    sizes, square = _sizes(m=128, k=64, n=128, p=64), _sizes(m=64, k=64, n=64, p=64)
    for objective in ("energy", "edp"):
        yield Asked("trees", CHAIN, "three_level", objective, sizes=sizes)
        yield Asked("trees", CHAIN, "eyeriss", objective, sizes=sizes)
        yield Asked("trees", MOBILE.format("b3"), "eyeriss", objective)
        yield Asked("trees", MOBILE.format("b14"), "three_level", objective)
    yield Asked("trees", CHAIN, "gemmini", "energy", "ragged", sizes=sizes)
    yield Asked("trees", MOBILE.format("b14"), "three_level", "edp", "ragged")
    yield Asked("trees", BOTTLENECK.format("layer2.1"), "simba", "energy")
    yield Asked("trees", BOTTLENECK.format("layer1.0"), "tpu_v1", "energy")
    yield Asked("trees", ATTENTION, "tpu_v4i", "energy", sizes=_sizes(b=12, m=128, n=128, e=64, f=64))
    yield Asked("trees", ATTENTION, "cpu", "latency", sizes=_sizes(b=12, m=128, n=128, e=64, f=64))
    long = (*square, *_sizes(q=64, r=64))
    # The peers' machines: with `reuse: at_node` tables are exact.
    small, anew = ("GLB.size", "4096 B"), ("reuse", "at_node")
    yield Asked("trees", GATED, "F2.yaml", "energy", "perfect", "uneven", square, (("GLB.size", "8192 B"), anew))
    yield Asked("trees", LONG_CHAIN, "F2.yaml", "edp", "perfect", "uneven", long, (("GLB.size", "8192 B"), anew))
    yield Asked("trees", CHAIN, "F3.yaml", "edp", "perfect", "uneven", square, (("GLB.size", "8192 B"), anew))
    yield Asked("trees", GATED, "F2.yaml", "edp", sizes=square, changed=(small,))
    yield Asked("trees", ATTENTION, "F3.yaml", "latency", sizes=_sizes(b=4, m=64, n=64, e=16, f=16), changed=(small,))
    # Rows and columns that change places.
    mirrored = ("S[m,n] += X[m,e] * Y[n,e]", "P[m,n] = exp(S[m,n])")
    yield Asked("trees", mirrored, "F3.yaml", "edp", sizes=_sizes(m=128, n=128, e=64), changed=(small,))
    # Heads.
    heads = _sizes(b=4, m=64, n=64, e=16, f=16, d=64)
    yield Asked("trees", HEADS, "three_level", "energy", sizes=heads)
    yield Asked("trees", HEADS, "eyeriss", "edp", sizes=heads)
    yield Asked("trees", HEADS, "tpu_v4i", "energy", sizes=_sizes(b=12, m=512, n=512, e=64, f=64, d=768))
    # Sizes of few divisors.
    odd = _sizes(m=50, k=30, n=70, p=20)
    yield Asked("trees", CHAIN, "eyeriss", "energy", "ragged", sizes=odd)
    yield Asked("trees", CHAIN, "three_level", "edp", "ragged", sizes=odd)


def _sizes(**sizes: int) -> tuple[tuple[str, int], ...]:
    return tuple(sizes.items())


def networks() -> Iterator[Asked]:
    """Small networks of equal blocks."""
    yield Asked("networks", "mlp.yaml", "three_level", "edp")
    yield Asked("networks", "mlp.yaml", "eyeriss", "energy")
    yield Asked("networks", "mlp.yaml", "three_level", "latency", "ragged")
    yield Asked("networks", "inverted.yaml", "three_level", "energy")
    yield Asked("networks", "encoder.yaml", "three_level", "energy")


def hurried() -> Iterator[Asked]:
    """Networks of which time runs out: their gaps and values say what a mechanism is worth."""
    yield Asked("networks", "resnet18", "cpu", "energy")
    yield Asked("networks", "resnet50", "cpu", "energy")
    yield Asked("networks", "mobilenet_v2", "cpu", "energy")
    yield Asked("networks", "mobilenet_v2", "eyeriss", "edp")
    yield Asked("networks", "bert_base", "simba", "energy")
    yield Asked("networks", "alexnet", "eyeriss", "energy")


KINDS: dict[str, Callable[[], Iterator[Asked]]] = {
    "operations": operations,
    "trees": trees,
    "networks": networks,
    "minutes": minutes,
    "hurried": hurried,
}


def _no(*_: Any, **__: Any) -> bool:
    return False


def _none(*_: Any, **__: Any) -> None:
    return None


def _nothing(*_: Any, **__: Any) -> float:
    return 0.0


def _second(_: Any, second: Any, *__: Any) -> Any:
    return second


Switch = tuple[str, str, Any]
"""A module below tilewright.mapper, a dotted name in it, and what stands there without the mechanism."""

TREES, EXACT, GROUPS = "cascades", "exact", "segmentation"
SWITCHES: dict[str, tuple[str, tuple[Switch, ...]]] = {
    "rows queued before": ("operations", ((f"{EXACT}.growing.known_rows", "KnownRows.new_ones", _second),)),
    "words that arrays ask for": (
        "operations",
        tuple(
            (f"{EXACT}.bounds.once", f"OnceEach.{f}", lambda self, *at, f=f: getattr(super(type(self), self), f)(*at))
            for f in ("_copies", "_inner_loads", "_outer_loads")
        ),
    ),
    "innermost tiles at once": ("operations", ((f"{EXACT}.growing.loop_band", "first_tiles", _none),)),
    "loops further out": ("operations", ((f"{EXACT}.growing.context", "SearchContext.may_stand_further_out", False),)),
    "tables for groups": (
        "operations",
        (
            (f"{EXACT}.exploring.exploring", "Exploring._groups_first", property(_no)),
            (f"{EXACT}.exploring.exploring", "Exploring._pays_to_group", _no),
            (f"{EXACT}.exploring.own_tables", "OwnTablesAsked.pay_in_groups", _no),
        ),
    ),
    "tables for choices": ("operations", ((f"{EXACT}.exploring.own_tables", "OwnTablesAsked.pay", _no),)),
    "bounds by own arrays": ("operations", ((f"{EXACT}.growing.context", "SearchContext.many_arrays", property(_no)),)),
    "a smaller space first": ("operations", ((f"{EXACT}.search", "ExactSearch._start_from_smaller_space", _none),)),
    "larger sizes first": ("operations", ((f"{EXACT}.search", "ExactSearch._start_from_larger_sizes", _none),)),
    "full lines first": ("operations", ((f"{EXACT}.search", "ExactSearch._start_from_full_lines", _none),)),
    "innermost halos first": ("operations", ((f"{EXACT}.search", "ExactSearch._start_from_innermost_halos", _none),)),
    "halos from loop to loop": (
        "operations",
        ((f"{EXACT}.question.reduced", "ReducedQuestion.follows_halos", property(_no)),),
    ),
    "orders that may be best": ("operations", ((f"{EXACT}.exploring.finishing", "Finishing._few_orders", _no),)),
    "rough groups": ("operations", ((f"{EXACT}.exploring.own_tables", "RoughGroups.pay", _no),)),
    "mirrored dimensions": ("operations", ((f"{EXACT}.question.reduced", "mirror_of", _none),)),
    "nothing shared": ("trees", ((f"{TREES}.objectives.weighted_sums", "shares_nothing", _no),)),
    "fewer steps": ("trees", ((f"{TREES}.space.fewer_steps", "FewerSteps.stand_for_others", _no),)),
    "branches: between weights": (
        "trees",
        (
            (f"{TREES}.relaxations.known_branches", "KnownBranches._between_weights", _none),
            (f"{TREES}.relaxations.known_branches", "KnownBranches.between", _nothing),
        ),
    ),
    "branches: parts of larger tiles": (
        "trees",
        ((f"{TREES}.relaxations.known_branches", "KnownBranches.part_of_larger", _nothing),),
    ),
    "tables for branches": ("trees", ((f"{TREES}.tree_searches", "supports", _no),)),
    "first trees": ("trees", ((f"{TREES}.objectives.first_trees", "FirstTrees._first_tree", _none),)),
    "greedy first trees": ("trees", ((f"{TREES}.objectives.first_trees", "FirstTrees._is_short", property(_no)),)),
    "rooms of operations": ("trees", ((f"{TREES}.tree_search", "RoomBounds", _none),)),
    "endless room first": ("trees", ((f"{TREES}.branches.oracle", "ExactBranches._is_tile", _no),)),
    "all ways to part": ("trees", ((f"{TREES}.space.splits", "Splits.least", _nothing),)),
    "by the nearest": ("trees", ((f"{TREES}.relaxations.operation_bounds", "OperationBounds.by_nearest", _none),)),
    "energy and latency together": ("trees", ((f"{TREES}.relaxations.part_bounds", "PartBounds._both_pj", _nothing),)),
    "ceilings soon reached": ("trees", ((f"{EXACT}.search", "ExactSearch._is_soon_done", _no),)),
    "equal operations": ("trees", ((f"{TREES}.branches.shared_branches", "form_of", lambda c, _: c.operations[0]),)),
    "branches shared by groups": (
        "networks",
        ((f"{TREES}.branches.oracle", "known_operations", lambda arch, *_: KnownOperations(arch)),),
    ),
    "ways beyond bounds": ("networks", ((f"{GROUPS}.lazy_path", "hoped_of", lambda edge: edge.bound),)),
    "small groups first": ("networks", ((f"{GROUPS}.group_search", "GroupSearch._small_groups", _none),)),
    "most first": (
        "networks",
        (
            (
                f"{GROUPS}.group_costs",
                "GroupCosts._most_first",
                lambda _, every: [a for a in every if hasattr(a[0], "kind")],
            ),
        ),
    ),
    "nothing more in more time": (
        "networks",
        tuple((f"{GROUPS}.kinds", f"GroupKind.{f}", _no) for f in ("finds_no_more", "repeats")),
    ),
}


EFFORTS: dict[str, object] = {"operations": EFFORT, "trees": TREE_EFFORT, "networks": PLAN_EFFORT}


def halved_and_doubled() -> Iterator[str]:
    """Settings of the searches, each at half and at twice its value: rows that are asked for by name only."""
    for kind, effort in EFFORTS.items():
        yield from (f"{kind}: {setting} {change}" for setting in vars(effort) for change in ("/2", "x2"))


@contextmanager
def without(name: str | None) -> Iterator[None]:
    """Searches without a mechanism, or with a setting changed."""
    with ExitStack() as changed:
        if name in SWITCHES:
            for module, function, other in SWITCHES[name][1]:
                changed.enter_context(mock.patch(f"tilewright.mapper.{module}.{function}", other))
        elif name:
            kind, setting, change = name.replace(":", "").split()
            settings = vars(EFFORTS[kind])
            value = settings[setting] * (2 if change == "x2" else 0.5)
            value = type(settings[setting])(value)
            changed.enter_context(mock.patch.dict(settings, {setting: value}))
        yield


def kind_of(name: str) -> str:
    """The kind of questions that a mechanism, or a setting, acts on; on networks all of them do."""
    return SWITCHES[name][0] if name in SWITCHES else name.partition(":")[0]


@dataclass(frozen=True)
class Run:
    """A search as it went: CPU seconds, the gap that it left, the value."""

    seconds: float
    gap: float
    value: float


def run(asked: Asked, left_out: str | None, seconds: float) -> Run:
    """A search in a process of its own."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_run_here, (asked, left_out, seconds))


def _run_here(asked: Asked, left_out: str | None, seconds: float) -> Run:
    time.perf_counter = time.process_time  # limits are of CPU seconds
    started = time.process_time()
    try:
        with without(left_out):
            certificate = _certificate(asked, seconds)
    except UndecidedError:
        return Run(time.process_time() - started, math.inf, math.inf)
    return Run(time.process_time() - started, certificate.gap, certificate.value)


def _certificate(asked: Asked, seconds: float) -> Any:
    arch = tw.load_arch(_found(asked.arch), dict(asked.changed))
    settings = {"objective": asked.objective, "tiling": asked.tiling, "space": asked.space}
    if asked.kind == "networks":
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder, "store.sqlite3")
            return tw.compile(
                _found(asked.what), arch, total_limit=seconds, workers=1, store=store, **settings
            ).certificate
    if isinstance(asked.what, tuple):
        what = tw.cascade(asked.what, dict(asked.sizes))
    else:
        what = tw.load_layer(asked.what) if "+" not in asked.what else tw.cascade_of(*asked.what.split(":"))
    settings |= {"density": dict(asked.dense) or None, "layout": asked.layout}
    return tw.search(what, arch, time_limit=seconds, **settings).certificate


def _found(name: Any) -> Any:
    """The path of a file, or a name of the library."""
    return next((str(path) for folder in FOLDERS if (path := folder / name).suffix and path.is_file()), name)


def table(questions: list[Asked], mechanisms: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """A row for each question and mechanism: seconds with (the mean of before and after) and without, and gaps."""
    for asked in questions:
        known = [name for name in mechanisms if asked.kind in (kind_of(name), "networks")]
        before = run(asked, None, seconds)
        others = {name: run(asked, name, seconds) for name in known}
        after = run(asked, None, seconds)
        mean = (before.seconds + after.seconds) / 2
        for name, other in others.items():
            yield {
                "question": asked.name,
                "mechanism": name,
                "seconds with": round(mean, 3),
                "seconds without": round(other.seconds, 3),
                "times": round(max(other.seconds, LEAST_SECONDS) / max(mean, LEAST_SECONDS), 3),
                "gap with": min(before.gap, after.gap),
                "gap without": other.gap,
                "same value": math.isclose(before.value, other.value, rel_tol=1e-9),
                "noise": round(max(before.seconds, after.seconds) / max(min(before.seconds, after.seconds), 1e-9), 2),
            }


def verdicts(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Of each mechanism, how many times as long the set takes without it, its worst question, and what stays open."""
    for name in dict.fromkeys(row["mechanism"] for row in rows):
        own = [row for row in rows if row["mechanism"] == name]
        mean = statistics.geometric_mean(row["times"] for row in own)
        worst = max(own, key=lambda row: row["times"])
        opened = sum(row["gap with"] <= 0 < row["gap without"] for row in own)
        earns = mean > 1.1 or worst["times"] >= 2 or opened
        verdict = "stays" if earns else "goes"
        yield f"{name:34} {mean:6.3f} {worst['times']:8.2f} {opened:4}  {verdict}  ({worst['question']})"


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows to a table; rows of other mechanisms and questions that it has already stay."""
    kept: list[dict[str, Any]] = []
    if path.is_file():
        measured = {(row["question"], row["mechanism"]) for row in rows}
        with path.open(newline="") as file:
            kept = [dict(row) for row in csv.DictReader(file) if (row["question"], row["mechanism"]) not in measured]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([*kept, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="operations,trees,networks")
    parser.add_argument("--only", default="", help="questions that have all words of one of these, given as NAME,NAME")
    parser.add_argument("--without", default=",".join(SWITCHES), help="mechanisms and settings, as NAME,NAME")
    parser.add_argument("--seconds", type=float, default=60.0, help="of one search")
    parser.add_argument("--csv", type=Path, default=None, help="table that takes the rows; others in it stay")
    parser.add_argument("--list", action="store_true", help="what there is to leave out")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name:34} {kind_of(name)}" for name in (*SWITCHES, *halved_and_doubled())))
        return
    for _, switches in SWITCHES.values():
        for module, _, _ in switches:
            import_module(f"tilewright.mapper.{module}")
    tw.search("bert_base:qk", "eyeriss", "energy")  # so that no search counts what is loaded for all
    questions = [asked for kind in options.kinds.split(",") for asked in KINDS[kind]()]
    if options.only:
        named = [only.split() for only in options.only.split(",")]
        questions = [q for q in questions if any(all(word in q.name for word in words) for words in named)]
    rows = []
    for row in table(questions, options.without.split(","), options.seconds):
        rows.append(row)
        print(*row.values(), sep="  ", file=sys.stderr, flush=True)
    if options.csv and rows:
        write_table(options.csv, rows)
    print(f"{'without':34} {'times':>6} {'worst':>8} open")
    print("\n".join(verdicts(rows)))


if __name__ == "__main__":
    main()
