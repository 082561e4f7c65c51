"""The report of `reality.py`: its table, its picture, its page."""

from __future__ import annotations

import csv
import math
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from tilewright.report.parts.figures import figure_style
from tilewright.report.parts.palette import BLUE, GREY, VERMILION

FLAGS = "-O3 -march=native -mprefer-vector-width=512 -fopenmp-simd"
TABLE = "mappings.csv"
PAGE, PICTURE = "README.md", "reality.svg"
_PANELS = 2  # side by side, so that a phone shows their texts

_SETUP = """\
makes this page: mappings of layers for the architecture `cpu` (one Skylake-like core,
[cpu.yaml](../../arch/library/cpu.yaml)), as [C](../../docs/c.md), compiled and timed. The first mapping of a layer has
the least energy-delay product, the second the least latency, both proven; the others are random walks away from them
and random draws, spread evenly over the logarithm of predicted latency, up to 40 times the least. Outputs are copied
into registers; operands and outputs into packed tiles of L2 where the model says that a word is used twice or more
after it has come there. What else the caches keep, they keep by themselves.

Run on: {run_on} `{flags}`,
one thread, on cores that other programs used, too. Times are the least CPU time of eight runs. Every program compared
its output with that of plain loops. BLAS is numpy's (OpenBLAS, one thread): one matrix product for each batch, with the
time to unfold the windows of a convolution.
"""
_COLUMNS = """\
Times in ms. *Rank correlation* is of predicted latency, *of EDP* of the energy-delay product, and measured time.
*Chosen* is the mapping with the least energy-delay product; *its place* among all that were measured, from
the fastest; *plain loops* are those of the emitted file, over the output and then over the sum.
"""
_EFFECTS = """\
## Which effect brings how much

    python benchmarks/reality_effects.py results/cpu

Rank correlations of other predictions with the same measured times, by layer. Each is the one above it with a change;
the last two are the third with another one.
"""
_EFFECTS_READ = """
What brings most is that caches take turns: a core waits for a line, and what comes from L2 is not on its way from L3 at
the same time. Then, that the compiler fills lanes that the mapping leaves empty. Loop overhead orders seven of ten
layers better and the others worse. Sums that wait and whole lines order them worse: the compiler reorders what the
mapping says, packed copies have their lines full, and the rest is prefetched. So 0.74 is about what figures of a
mapping can say here; the rest is what gcc makes of a program. The predictions were compared on the mappings that they
are judged by, and differences of some hundredths between them mean little.
"""
_MISSING = """\
## What the model does not know

- **Lines and layouts.** It counts words. A cache moves lines of 64 bytes, and what is read across the rows of an array
  costs up to 16 times as much. Packed tiles avoid this inside; the packing itself reads across, and does not pay for
  what is used once. The chosen mapping of alexnet:fc7 takes 32 columns of the weights at a time, from rows 16 KiB
  apart; in llama3_8b_decode_block:qk the lanes run along an axis that is not contiguous.
- **The compiler.** It makes vectors of steps that the mapping does one after the other: mappings that leave lanes empty
  in the model are the points far to the right that are fast (resnet18:layer4.0.conv1: predicted 11.6 ms with one lane,
  measured less than a third of that). And partial sums stay in registers only if gcc unrolls all loops of the register
  tile, which it is asked to up to 64 iterations.
- **Chains of additions.** A multiply-add takes four cycles, so eight independent sums are needed to fill two units. A
  mapping with fewer in its innermost tile waits, and the model sees full units.
- **Caches choose by themselves** what they keep, and prefetch; the model lets every level hold the tile that the
  mapping says.
"""


@dataclass(frozen=True)
class Measured:
    """One mapping of one layer: predicted, and measured; times of plain loops and of BLAS are those of the layer."""

    layer: str
    macs: int
    cycles: float
    energy_pj: float
    predicted_s: float
    measured_s: float
    plain_s: float
    blas_s: float
    chosen: bool
    nest: str


def write_table(folder: Path, rows: Sequence[Measured]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / TABLE).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Measured)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) | {"nest": _one_line(row.nest)} for row in rows)


def _one_line(nest: str) -> str:
    return "; ".join(line.strip() for line in re.split("[\n;]", nest))


def read_table(folder: Path) -> list[Measured]:
    with (folder / TABLE).open(encoding="utf-8", newline="") as file:
        return [_row(entry) for entry in csv.DictReader(file)]


def _row(entry: dict[str, str]) -> Measured:
    figures = {name: float(entry[name]) for name in entry if name not in ("layer", "macs", "chosen", "nest")}
    chosen = entry["chosen"] == "True"
    return Measured(layer=entry["layer"], macs=int(entry["macs"]), chosen=chosen, nest=entry["nest"], **figures)


# ---- figures of a layer --------------------------------------------------------------------------------------------


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks; equal values share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    """Rank correlation: 1 if both put everything in the same order, 0 if they have nothing to do with each other."""
    if len({*left}) == 1 or len({*right}) == 1:
        return math.nan
    return float(np.corrcoef(ranks(left), ranks(right))[0, 1])


@dataclass(frozen=True)
class Layer:
    """What the mappings of one layer say together."""

    rows: list[Measured]

    @property
    def name(self) -> str:
        return self.rows[0].layer

    @property
    def chosen(self) -> Measured:
        return next(row for row in self.rows if row.chosen)

    @property
    def best_s(self) -> float:
        return min(row.measured_s for row in self.rows)

    def correlation(self) -> float:
        """Of predicted latency and measured time."""
        return spearman([row.cycles for row in self.rows], [row.measured_s for row in self.rows])

    def correlation_of_edp(self) -> float:
        """Of the predicted energy-delay product and measured time."""
        return spearman([row.cycles * row.energy_pj for row in self.rows], [row.measured_s for row in self.rows])

    def place(self) -> int:
        """Of the chosen mapping among all by measured time, from 1."""
        return 1 + sum(row.measured_s < self.chosen.measured_s for row in self.rows)


def layers_of(rows: Sequence[Measured]) -> list[Layer]:
    names = list(dict.fromkeys(row.layer for row in rows))
    return [Layer([row for row in rows if row.layer == name]) for name in names]


def summary(rows: list[Measured]) -> str:
    layer = Layer(rows)
    times = (layer.chosen.measured_s, layer.best_s, layer.chosen.plain_s, layer.chosen.blas_s)
    chosen, best, plain, blas = (f"{1e3 * s:.2f}" for s in times)
    figures = f"{len(rows)} mappings, rank correlation {layer.correlation():.2f}"
    return f"{layer.name}: {figures}; ms: chosen {chosen}, best {best}, plain {plain}, BLAS {blas}"


# ---- page ----------------------------------------------------------------------------------------------------------


def write_page(folder: Path, rows: Sequence[Measured], effects: Iterable[str], run_on: str) -> None:
    """effects: the table of other predictions, in Markdown; run_on: processor and compiler."""
    layers = layers_of(rows)
    draw(folder / PICTURE, layers)
    (folder / PAGE).write_text("\n".join(page_lines(layers, effects, run_on)) + "\n", encoding="utf-8")


def page_lines(layers: list[Layer], effects: Iterable[str], run_on: str) -> Iterator[str]:
    yield "# Does the model predict a processor?\n"
    yield "    python benchmarks/reality.py --out results/cpu\n"
    yield _SETUP.format(run_on=run_on, flags=FLAGS)
    yield "## What was found\n"
    yield from findings(layers)
    yield f"\n![Measured time against predicted latency]({PICTURE})\n"
    yield "Each point is a mapping; the red one was chosen by the search. Dashed: plain loops. Dotted: BLAS.\n"
    yield "## Layer by layer\n"
    yield _COLUMNS
    columns = ("layer", "MACs", "mappings", "rank correlation", "of EDP", "predicted", "chosen", "its place", "fastest")
    yield f"| {' | '.join((*columns, 'plain loops', 'BLAS', 'chosen, GMAC/s'))} |"
    yield "|---" * (len(columns) + 3) + "|"
    yield from map(table_row, layers)
    yield f"\n[{TABLE}]({TABLE}) has every mapping with its nest.\n"
    yield _EFFECTS
    yield from effects
    yield _EFFECTS_READ
    yield _MISSING


def table_row(layer: Layer) -> str:
    chosen = layer.chosen
    times = (chosen.measured_s, layer.best_s, chosen.plain_s, chosen.blas_s)
    measured, best, plain, blas = (f"{1e3 * seconds:.2f}" for seconds in times)
    cells = (
        layer.name,
        f"{chosen.macs / 1e6:.1f} M",
        len(layer.rows),
        f"{layer.correlation():.2f}",
        f"{layer.correlation_of_edp():.2f}",
        f"{1e3 * chosen.predicted_s:.2f}",
        measured,
        layer.place(),
        best,
        plain,
        blas,
        f"{1e-9 * chosen.macs / chosen.measured_s:.1f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def findings(layers: list[Layer]) -> Iterator[str]:
    """The report in sentences."""
    found = sorted(layer.correlation() for layer in layers)
    products = sorted(layer.correlation_of_edp() for layer in layers)
    chosen = [layer.chosen for layer in layers]
    late = [layer.chosen.measured_s / layer.best_s for layer in layers]
    plain = [c.plain_s / c.measured_s for c in chosen]
    blas = [c.measured_s / c.blas_s for c in chosen]
    model = [c.measured_s / c.predicted_s for c in chosen]
    yield (
        f"- Rank correlation of predicted latency and measured time: median {np.median(found):.2f} of {len(layers)} "
        f"layers, from {found[0]:.2f} to {found[-1]:.2f}. Of the predicted energy-delay product, in which every word "
        f"that moves counts: {np.median(products):.2f}, from {products[0]:.2f} to {products[-1]:.2f}."
    )
    yield (
        f"- The chosen mapping is within 1.25 times the fastest that was tried in {sum(x <= 1.25 for x in late)} of "
        f"{len(layers)} layers; it takes {mean(late):.2f} times as long in geometric mean, {max(late):.1f} at worst."
    )
    yield (
        f"- It is {mean(plain):.1f} times as fast as plain loops, compiled alike, in geometric mean "
        f"({min(plain):.1f} to {max(plain):.1f})."
    )
    yield (
        f"- It takes {mean(blas):.1f} times as long as numpy's BLAS in geometric mean "
        f"({min(blas):.1f} to {max(blas):.1f})."
    )
    yield (
        f"- It takes {np.median(model):.1f} times the predicted time in the median ({min(model):.1f} to "
        f"{max(model):.1f}): the model says what the machine could do, and not what compiled C does."
    )


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(list(ratios)))))


def here() -> str:
    """This processor and compiler."""
    return f"{machine()}, {compiler()}"


def where_measured(folder: Path) -> str:
    """The processor and compiler that a page names."""
    found = re.search(r"Run on: (.+) `", (folder / PAGE).read_text(encoding="utf-8"))
    assert found, f"{folder / PAGE} does not say on what its times were taken"
    return found[1]


def machine() -> str:
    """What Linux calls the processor."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.processor()


def compiler() -> str:
    done = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True)
    return f"gcc {done.stdout.strip()}"


def draw(path: Path, layers: list[Layer]) -> None:
    """Measured time against predicted latency, a panel for each layer; all of them have the same axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    lines = math.ceil(len(layers) / _PANELS)
    with figure_style():
        figure = Figure(figsize=(6.4, 0.9 + 2.2 * lines), layout="constrained")
        FigureCanvasAgg(figure)
        panels = list(figure.subplots(lines, _PANELS, squeeze=False, sharex=True, sharey=True).flat)
        for axes in panels[len(layers) :]:
            axes.set_visible(False)
        for axes, layer in zip(panels, layers, strict=False):
            predicted, measured = ([1e3 * s for s in part] for part in zip(*_points(layer), strict=True))
            axes.loglog(predicted, measured, ".", color=BLUE, markersize=5, label="a mapping")
            chosen = (1e3 * layer.chosen.predicted_s, 1e3 * layer.chosen.measured_s)
            axes.loglog(*chosen, "o", color=VERMILION, zorder=3, label="the mapping that the search chose")
            axes.axhline(1e3 * layer.chosen.plain_s, color=GREY, linewidth=0.9, linestyle="--", label="plain loops")
            axes.axhline(1e3 * layer.chosen.blas_s, color=GREY, linewidth=0.9, linestyle=":", label="numpy's BLAS")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(LogLocator())
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axis.set_minor_formatter(NullFormatter())
            axes.set_title(f"{layer.name}\nrank correlation {layer.correlation():.2f}", fontsize=8)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2, fontsize="small")
        figure.supxlabel("predicted, ms", fontsize=9)
        figure.supylabel("measured, ms", fontsize=9)
        figure.savefig(path, metadata={"Date": None})


def _points(layer: Layer) -> list[tuple[float, float]]:
    return [(row.predicted_s, row.measured_s) for row in layer.rows]
