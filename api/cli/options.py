"""Options and arguments that several commands take: each is declared once, so that it reads the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..ir import TilewrightError
from . import completions
from .terminal import be_quiet

if TYPE_CHECKING:
    from ..mapper.space import Space
    from ..mapper.tilings import Tiling
    from ..workloads.network import Widths

# ---- a layer (`problems.py` makes a problem of them) ---------------------------------------------------------------

LayerArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="LAYER",
        autocompletion=completions.layer,
        help="A layer of a network, such as resnet50:layer1.0.conv2; `tilewright list layers` names them all.",
    ),
]
WorkArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="LAYER|CASCADE",
        autocompletion=completions.layer,
        help="A layer of a network, such as resnet50:layer1.0.conv2 (`tilewright list layers`), or a YAML file with "
        "the operations of a cascade.",
    ),
]
NetworkArgument = Annotated[
    str,
    typer.Argument(
        metavar="NETWORK",
        autocompletion=completions.network,
        help="A network (`tilewright list networks`), or a YAML or ONNX file.",
    ),
]
ConvOption = Annotated[
    str | None,
    typer.Option(
        "--conv", metavar="SIZES", help="A convolution: K, C, P, Q, R, S; optional N, groups, stride, dilation."
    ),
]
GemmOption = Annotated[
    str | None, typer.Option("--gemm", metavar="SIZES", help="A matrix product: M, N, K; optional B, a batch.")
]
EinsumOption = Annotated[
    str | None, typer.Option("--einsum", metavar="SPEC", help="An einsum; its sizes stand in place of the layer.")
]
OpOption = Annotated[
    list[str] | None,
    typer.Option(
        "--op",
        metavar="OPERATION",
        help='An operation of a cascade, such as "T[m,n] += A[m,k] * B[k,n]"; to be repeated. The sizes stand in place '
        "of the layer.",
    ),
]
TreeOption = Annotated[
    Path | None,
    typer.Option(
        "--mapping",
        metavar="FILE",
        help="The tree of a cascade (docs/cascades.md); the argument is its sizes then, with --op, its YAML file, or "
        "layers such as gpt2_small:qk+softmax+av.",
    ),
]
FuseOption = Annotated[
    str,
    typer.Option(
        "--fuse",
        metavar="WHAT",
        autocompletion=completions.words("all", "plain", "whole", "none"),
        help="Of a cascade: all; plain, no shared loops along windows; whole, intermediates whole on chip, no "
        "shared loops; none, all of them in the outermost memory.",
    ),
]
FusedOption = Annotated[
    bool,
    typer.Option(
        "--fuse",
        help="Whole networks with groups of operations mapped as one (`tilewright compile`), beside the best without.",
    ),
]
GroupOption = Annotated[int, typer.Option("--group", metavar="N", help="Operations that are mapped as one, at most.")]
MOST_OF_GROUP = 4
TotalLimitOption = Annotated[
    float | None,
    typer.Option(
        "--total-limit",
        metavar="SECONDS",
        help="For all searches of a network together; then the best of what is known is taken, and said how far off it "
        "can be.",
    ),
]
DimsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dim",
        metavar="SYMBOL=SIZE",
        help="The size of a symbolic dimension of an ONNX file, such as batch=1; may be repeated.",
    ),
]
WidthsOption = Annotated[
    str,
    typer.Option(
        "--widths",
        metavar="SOURCE",
        autocompletion=completions.widths,
        help="Of an ONNX file: words as wide as its element types (file), or as the architecture's (arch).",
    ),
]

FastOption = Annotated[
    bool | None,
    typer.Option(
        "--fast/--every-step",
        help="Run passes over inner loops that repeat others at once, or run every step. Else: by the number of steps.",
    ),
]

MappingArgument = Annotated[
    str,
    typer.Argument(
        metavar="MAPPING",
        help="A mapping.json of `tilewright search`, or a mapping file in YAML; - reads standard input.",
    ),
]

# ---- an architecture (`machines.py`) -------------------------------------------------------------------------------

ArchOption = Annotated[
    str | None,
    typer.Option(
        "--arch",
        metavar="NAME|PATH",
        autocompletion=completions.arch,
        help="An architecture of the library (`tilewright list archs`), or a YAML file.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help='Set a field of the architecture: array.x=128, array=64x64, "GLB.size=1 MiB"; may be repeated.',
    ),
]

DensityOption = Annotated[
    list[str] | None,
    typer.Option(
        "--density",
        metavar="TENSOR=DENSITY",
        help="Zeros of an operand: W=2:4 (of every 4 along the reduction 2 are stored; W=2:4@K names it), I=0.35, "
        "W=band:3, W=weights.npy; may be repeated (docs/sparse.md).",
    ),
]

LayoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--layout",
        metavar="TENSOR=LAYOUT",
        help="Where words lie in memories that have lines: O=NHWC, GLB.I=NCHW16c, W=row-major, or any (whichever is "
        "best); all=any for all tensors; may be repeated (docs/layouts.md).",
    ),
]

# ---- the question --------------------------------------------------------------------------------------------------

ObjectiveOption = Annotated[
    str,
    typer.Option(
        "--objective",
        metavar="WHAT",
        autocompletion=completions.objective,
        help="What to minimize: energy, latency, edp (their product) or ed2p; a formula in energy (pJ) and latency "
        '(cycles) such as "energy * latency ** 0.5"; latency,energy: the least energy of the fastest. '
        'With limits: "energy where latency <= 20000".',
    ),
]
TilingOption = Annotated[
    str | None,
    typer.Option(
        "--tiling",
        metavar="KIND",
        autocompletion=completions.tiling,
        help="ragged: the last tile of a dimension may be smaller; perfect: divisors only. The page says which it was.",
    ),
]
SpaceOption = Annotated[
    str,
    typer.Option(
        "--space",
        metavar="KIND",
        autocompletion=completions.space,
        help="even: one tile boundary for each memory; uneven: for each memory and tensor.",
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="For each search; then it takes the best mapping so far, and says how far off it can be.",
    ),
]
MemoryLimitOption = Annotated[
    str,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Memory of each search, such as 512MiB; what does not fit into it is bounded more coarsely.",
    ),
]
DEFAULT_MEMORY = "1GiB"
DataflowOption = Annotated[
    str | None,
    typer.Option(
        "--dataflow",
        metavar="NAME",
        autocompletion=completions.dataflow,
        help="Only mappings of a dataflow (`tilewright list dataflows`).",
    ),
]
ConstraintsOption = Annotated[
    Path | None,
    typer.Option("--constraints", metavar="FILE", help="Only mappings that satisfy the constraints in a YAML file."),
]
ConstraintOption = Annotated[
    list[str] | None,
    typer.Option(
        "--constraint",
        metavar="EXPR",
        help='One more constraint, such as "GLB.temporal.K<=16", of a cascade "T in GLB"; may be repeated.',
    ),
]

# ---- where searches run, and where results are kept ----------------------------------------------------------------

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="PATH", help="The result store; else TILEWRIGHT_STORE, or one in the user's cache."
    ),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Search again, and keep nothing: neither read nor write the result store.")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Searches at once; one for each core, if not given.")
]
SchedulerOption = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A Dask cluster, such as tcp://host:8786.")
]

# ---- what comes out ------------------------------------------------------------------------------------------------

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=be_quiet,
        is_eager=True,
        help="Print no page, no notes and no progress: errors, and what --json asks for.",
    ),
]
SvgOption = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the picture there.")]
PngOption = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Draw the picture there, as an image.")]
FormatsOption = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME,...", autocompletion=completions.formats, help="Of the tables: csv, json, parquet."
    ),
]


def is_given(context: typer.Context, option: str) -> bool:
    """Whether the command line has an option, a parameter of the command: "no_cache"."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def refuse_given(context: typer.Context, why: str, *options: str, hint: str | None = None) -> None:
    """TilewrightError for the first of these options that the command line has: it would be ignored.

    options  as parameters of the command: "no_cache"
    hint     what to try instead
    """
    for option in options:
        if is_given(context, option):
            written = next((p.opts[0] for p in context.command.params if p.name == option), option)
            raise TilewrightError(why, where=written, hint=hint)


def refuse_ignored_of_batch(context: typer.Context, no_cache: bool, scheduler: str | None, out: Path | None) -> None:
    """TilewrightError for options of a batch of searches that others make useless."""
    if no_cache:
        refuse_given(context, "--no-cache leaves the store alone", "store")
    if scheduler is not None:
        refuse_given(context, "a cluster has its own workers", "workers")
    if out is None:
        refuse_given(context, "tables are written with --out DIR", "formats")


def refuse_ignored_of_fusing(context: typer.Context, fuse: bool, *flows: str) -> None:
    """TilewrightError for options that do not go together with `--fuse`, and for those that need it.

    flows  parameters of the command for dataflows
    """
    if not fuse:
        refuse_given(context, "says how many operations are mapped as one: give --fuse with it", "group")
        refuse_given(context, "is for whole networks: give --fuse with it", "total_limit")
        return
    refuse_given(context, "dataflows constrain single layers: leave it out, or --fuse", *flows)
    refuse_given(context, "whole networks are searched by processes on this machine: leave out --fuse", "scheduler")


def names(text: str) -> list[str]:
    """The names in a text such as `resnet50,bert_base`."""
    return [name for part in text.split(",") if (name := part.strip())]


def widths_named(widths: str) -> Widths:
    """Checked; TilewrightError for a word that is not known."""
    from ..arguments import check_choice
    from ..workloads.network import WIDTHS, Widths

    check_choice("widths", widths, WIDTHS)
    return cast(Widths, widths)


def tiling_and_space(tiling: str | None, space: str = "even") -> tuple[Tiling | None, Space]:
    """Both, checked; TilewrightError for a word that is not known."""
    from ..arguments import check_choice
    from ..mapper.space import SPACES, Space
    from ..mapper.tilings import TILINGS

    if tiling is not None:
        check_choice("tiling", tiling, TILINGS)
    check_choice("space", space, SPACES)
    return cast("Tiling | None", tiling), cast(Space, space)
