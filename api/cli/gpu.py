"""`tilewright gpu`: matrix products on GPUs, as a grid of tiles over the SMs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..ir import TilewrightError
from . import completions
from .groups import grouped
from .options import PngOption, QuietOption, SvgOption
from .terminal import say, show_document, show_page

if TYPE_CHECKING:
    from ..cost_models.gpu import Choice, Gemm

gpu_commands = typer.Typer(help="Model matrix products on GPUs.", rich_markup_mode=None, no_args_is_help=True)

_RANGE = re.compile(r"(\d{1,15}):(\d{1,15})(?::(\d{1,15}))?")
_MOST_POINTS = 20_000
_LARGEST = 9_999_999

GpuOption = Annotated[
    str,
    typer.Option(
        "--gpu", metavar="NAME|PATH", autocompletion=completions.gpu, help="A GPU (`tilewright list gpus`), or a file."
    ),
]
DtypeOption = Annotated[
    str, typer.Option(metavar="TYPE", autocompletion=completions.dtype, help="fp16, bf16, tf32, int8 or fp8.")
]
AOption = Annotated[
    str,
    typer.Option(
        "--a", metavar="ORDER", autocompletion=completions.order, help="A is row-major (row) or column-major (column)."
    ),
]
BOption = Annotated[
    str,
    typer.Option(
        "--b", metavar="ORDER", autocompletion=completions.order, help="B is row-major (row) or column-major (column)."
    ),
]
TileOption = Annotated[str | None, typer.Option(metavar="ROWSxCOLUMNS", help="This tile alone, such as 256x128.")]
SplitOption = Annotated[bool, typer.Option("--split-k/--no-split-k", help="Whether K may be cut into parts.")]
StreamOption = Annotated[bool, typer.Option("--stream-k", help="Whether SMs may share the K steps of tiles.")]


@dataclass(frozen=True)
class OperandOptions:
    """The operands of a product."""

    dtype: DtypeOption = "fp16"
    a: AOption = "row"
    b: BOption = "row"

    def layout(self) -> dict[str, Any]:
        """As a `Gemm` takes them."""
        return {"dtype": self.dtype, "a": self.a, "b": self.b}


@dataclass(frozen=True)
class ChoiceOptions:
    """How a product is cut into tiles."""

    tile: TileOption = None
    split_k: SplitOption = True
    stream_k: StreamOption = False

    def made(self) -> Choice:
        """The tiles to choose from."""
        from ..cost_models.gpu import TILES, Choice
        from ..cost_models.gpu.tiles import tile_named

        return Choice(TILES if self.tile is None else (tile_named(self.tile),), self.split_k, self.stream_k)


@gpu_commands.command("sweep", short_help="Draw FLOP/s against N.")
@grouped
def sweep_command(
    *,
    gpu: GpuOption = "a100",
    n: Annotated[str, typer.Option(metavar="FROM:TO[:STEP]", help="Sizes N, the last one included.")] = "1024:4096:32",
    m: Annotated[int | None, typer.Option(min=1, metavar="SIZE", help="M; as N, if not given.")] = None,
    k: Annotated[int | None, typer.Option(min=1, metavar="SIZE", help="K; as N, if not given.")] = None,
    operands: OperandOptions,
    choice: ChoiceOptions,
    svg: SvgOption = None,
    png: PngOption = None,
    out_csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the points as a table.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the points as JSON, and nothing else.")] = False,
    _quiet: QuietOption = False,
) -> None:
    """Model the rate of products of many sizes, each run with its fastest tile.

    The picture is coloured by the largest power of two that divides N: rows that do not start on lines of memory make
    the tiers, waves of tiles that are not full make the stripes.

    \b
    tilewright gpu sweep --gpu a100 --n 1024:4096:32 --svg sweep.svg
    tilewright gpu sweep --gpu h100 --n 1024:4096:1 --dtype bf16 --csv sweep.csv --svg sweep.png
    tilewright gpu sweep --n 1024:4096:32 --tile 256x128 --stream-k
    """
    from ..cost_models.gpu import Gemm, load_gpu, sweep
    from ..report.pages.gpu import draw_sweep, sweep_csv, sweep_page
    from ..report.parts.figures import check_pictures, save_figure
    from ..report.parts.files import write_bytes

    machine, chosen = load_gpu(gpu), choice.made()
    layout = operands.layout()
    gemms = [Gemm(m or size, size, k or size, **layout) for size in parse_sizes(n)]
    pictures = check_pictures(svg, png)
    points = sweep(machine, gemms, chosen)
    shape = " ".join(f"{name}={size or 'N'}" for name, size in (("M", m), ("K", k)))
    title = f"C[M, N] = A[M, K] B[K, N] on {machine.name}, {operands.dtype}, {shape}: {_how(chosen)}"
    for picture in pictures:
        save_figure(draw_sweep(title, points), picture)
    if out_csv is not None:
        write_bytes(out_csv, sweep_csv(points))
    if json:
        show_document([point.as_dict() for point in points])
        return
    show_page(sweep_page(machine, operands.dtype, points))
    for path in filter(None, (*pictures, out_csv)):
        say(f"wrote {path}")


@gpu_commands.command("advise", short_help="Say which padding of a product pays.")
@grouped
def advise_command(
    *,
    gemm: Annotated[str, typer.Option(metavar="SIZES", help="A matrix product: M, N, K; optional B, a batch.")],
    gpu: GpuOption = "a100",
    operands: OperandOptions,
    choice: ChoiceOptions,
    json: Annotated[bool, typer.Option("--json", help="Print the advice as JSON, and nothing else.")] = False,
) -> None:
    """Say which padding of M, N and K would make a product faster, and by how much.

    Every dimension is tried as it is and rounded up to a multiple of 2, 4, ... 256, in all combinations.

    \b
    tilewright gpu advise --gemm M=8192,N=50257,K=768 --gpu a100
    tilewright gpu advise --gemm M=4095,N=4095,K=4095 --gpu h100 --a column
    """
    from ..cost_models.gpu import advise, load_gpu
    from ..report.pages.gpu import advice_page

    machine, product = load_gpu(gpu), _product(gemm, operands)
    advice = advise(machine, product, choice.made())
    if json:
        from dataclasses import asdict

        show_document(asdict(advice))
        return
    show_page(advice_page(machine, product, advice))


@gpu_commands.command("compare", short_help="Compare the model with measured times.")
def compare_command(
    measured: Annotated[Path, typer.Argument(metavar="FILE", help="A table that benchmarks/gpu_measure.py wrote.")],
    gpu: GpuOption = "a100",
    split_k: SplitOption = True,
    stream_k: StreamOption = False,
    svg: SvgOption = None,
    png: PngOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON, and nothing else.")] = False,
) -> None:
    """Compare the model with measured times: rank correlation, median error, and where it is furthest off.

    The picture has modelled rates below measured ones, for tables of many sizes N.

    \b
    python benchmarks/gpu_measure.py --n 1024:4096:32 --out measured.csv     on a machine with a GPU
    tilewright gpu compare measured.csv --gpu a100
    """
    from ..cost_models.gpu import compare, load_gpu, read_measurements
    from ..report.pages.gpu import comparison_page, draw_comparison
    from ..report.parts.figures import check_pictures, save_figure

    machine = load_gpu(gpu)
    pictures = check_pictures(svg, png)
    comparison = compare(machine, read_measurements(measured), ChoiceOptions(None, split_k, stream_k).made())
    for picture in pictures:
        save_figure(draw_comparison(f"{measured.name}, and the model of {machine.name}", comparison), picture)
    if json:
        from dataclasses import asdict

        show_document(asdict(comparison))
        return
    show_page(comparison_page(machine, comparison))
    for path in pictures:
        say(f"wrote {path}")


def _how(choice: Choice) -> str:
    tile = "fastest tile" if len(choice.tiles) > 1 else f"tile {choice.tiles[0]}"
    return tile + (", stream-K allowed" if choice.stream_k else "")


def _product(text: str, operands: OperandOptions) -> Gemm:
    from ..cost_models.gpu import Gemm
    from ..workloads import gemm_from_text

    sizes = gemm_from_text(text).sizes
    return Gemm(sizes["M"], sizes["N"], sizes["K"], sizes.get("B", 1), **operands.layout())


def parse_sizes(text: str) -> range:
    """The sizes of FROM:TO:STEP, the last one included."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise TilewrightError(
            f"found {text!r}, expected FROM:TO or FROM:TO:STEP", where="--n", hint="write 1024:4096:32"
        )
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if not 1 <= first <= last or step < 1:
        raise TilewrightError(f"{text!r} has no sizes, expected 1 <= FROM <= TO and a step of 1 or more", where="--n")
    if last > _LARGEST:
        raise TilewrightError(f"{text!r} ends at {last:,}, expected {_LARGEST:,} at most", where="--n")
    sizes = range(first, last + 1, step)
    if len(sizes) > _MOST_POINTS:
        raise TilewrightError(
            f"{len(sizes):,} sizes, expected {_MOST_POINTS:,} at most", where="--n", hint="widen the step"
        )
    return sizes
