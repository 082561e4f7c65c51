"""Options and arguments that several commands take: each is declared once, so that it reads the same everywhere."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..ir import TilewrightError
from ..options import OPTIONS
from . import completions
from .terminal import be_quiet

if TYPE_CHECKING:
    from ..mapper.constraints.files import ConstraintSource
    from ..mapper.question import Limits
    from ..mapper.space import Space
    from ..mapper.tilings import Tiling
    from ..workloads.network import Sizes, Widths


def option(name: str) -> Any:
    """An option that Python calls have too (`api/options.py`)."""
    one = OPTIONS[name]
    flag, words = one.flag or f"--{name.replace('_', '-')}", one.words
    known = getattr(completions, words) if isinstance(words, str) and words else completions.words(*words)
    if one.metavar == "SECONDS":
        return seconds_option(one.help, flag)
    return typer.Option(flag, metavar=one.metavar, help=one.help, autocompletion=known if words else None)


def seconds_option(told: str, flag: str = "--time-limit") -> Any:
    """An option for a time, in seconds or with its unit."""

    def read(text: str | float) -> float:
        return text if isinstance(text, float) else _seconds(text, flag)  # a default is none of a text

    return typer.Option(flag, metavar="SECONDS", help=told, parser=read)


def _seconds(text: str, flag: str) -> float:
    """The seconds of a text such as 30, 500ms or 2min; TilewrightError for anything else."""
    number, unit = re.fullmatch(r"\s*([^a-zA-Z]*)(.*?)\s*", text, re.DOTALL).groups()  # type: ignore[union-attr]
    try:
        return float(number) * _SECONDS[unit] if unit in _SECONDS else float(text)
    except ValueError:
        message = f"found {text!r}, expected seconds, or a time such as 500ms, 30s, 2min or 1h"
        raise TilewrightError(message, where=flag) from None


_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


DEFAULTS: dict[str, Any] = {name: one.default for name, one in OPTIONS.items()}
"""What such options are where they are not given."""

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
        "--conv", metavar="SIZES", help="A convolution: K, C, P, Q, R, S; optional N, groups, stride, dilation, pad."
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
FuseOption = Annotated[str, option("fuse")]
FusedOption = Annotated[
    bool,
    typer.Option(
        "--fuse",
        help="Whole networks with groups of operations mapped as one (`tilewright compile`), beside the best without.",
    ),
]
GroupOption = Annotated[int, option("most")]
TotalLimitOption = Annotated[float | None, option("total_limit")]
DimsOption = Annotated[list[str] | None, option("dims")]
PhaseOption = Annotated[str | None, option("phase")]
BatchOption = Annotated[int | None, option("batch")]
InputsOption = Annotated[list[str] | None, option("inputs")]
WidthsOption = Annotated[str, option("widths")]

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

DensityOption = Annotated[list[str] | None, option("density")]

LayoutOption = Annotated[list[str] | None, option("layout")]

# ---- the question --------------------------------------------------------------------------------------------------

ObjectiveOption = Annotated[str, option("objective")]
TilingOption = Annotated[str | None, option("tiling")]
SpaceOption = Annotated[str, option("space")]
TimeLimitOption = Annotated[float | None, option("time_limit")]
MemoryLimitOption = Annotated[str, option("memory_limit")]
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

StoreOption = Annotated[Path | None, option("store")]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Search again, and keep nothing: neither read nor write the result store.")
]
WorkersOption = Annotated[int | None, option("workers")]
SchedulerOption = Annotated[str | None, option("scheduler")]

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
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write page and picture there, as one HTML file.")
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


def names(text: str) -> list[str]:
    """The names in a text such as `resnet50,bert_base`."""
    return [name for part in text.split(",") if (name := part.strip())]


@dataclass(frozen=True)
class SizeOptions:
    """The sizes of a network."""

    dim: DimsOption = DEFAULTS["dims"]
    phase: PhaseOption = DEFAULTS["phase"]
    batch: BatchOption = DEFAULTS["batch"]

    @property
    def sizes(self) -> Sizes:
        """What the options say; TilewrightError for one that is malformed or given twice."""
        from ..workloads.inline import parse_sizes
        from ..workloads.network import sizes_asked

        sizes = parse_sizes(",".join(self.dim)) if self.dim else {}
        return sizes_asked(sizes, self.phase, self.batch)

    @property
    def given(self) -> str | None:
        """The first of the options that is given."""
        every = (("--dim", self.dim), ("--phase", self.phase), ("--batch", self.batch))
        return next((name for name, value in every if value is not None), None)


NO_OPTIONS = SizeOptions()
"""Sizes as the network's file has them."""


def by_name(
    texts: Iterable[str] | None, flag: str, expected: str, hint: str, alone: bool = False
) -> dict[str, str | None]:
    """Name -> value of options of the form NAME=VALUE; TilewrightError for one that is malformed or given twice.

    expected  the form that is expected, in words
    alone     whether a name may stand without a value, which then is None
    """
    found: dict[str, str | None] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or (not value if equals else not alone):
            raise TilewrightError(f"found {text!r}, expected {expected}", where=flag, hint=hint)
        if name in found:
            told = "".join(f", {which} {one!r}" for which, one in (("as", found[name]), ("and as", value)) if one)
            raise TilewrightError(f"{name} is given twice{told.replace(', and', ' and')}", where=flag)
        found[name] = value if equals else None
    return found


def values_of_inputs(inputs: Iterable[str] | None) -> dict[str, object]:
    """What the --input options say: numbers, or lists of them; TilewrightError for one that is malformed or given
    twice."""
    expected, hint = "INPUT=VALUE", "write sr=16000, or sizes=[1,3]"
    values: dict[str, object] = {}
    for name, text in by_name(inputs, "--input", expected, hint).items():
        value = {"true": "True", "false": "False"}.get(text or "", text or "")
        with suppress(SyntaxError, ValueError):
            values[name] = literal_eval(value)
        if not isinstance(values.get(name), (bool, int, float, list, tuple)):
            raise TilewrightError(f"found '{name}={text}', expected {expected}", where="--input", hint=hint)
    return values


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


# ---- groups (`groups.py`) ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KindOptions:
    """The mappings to choose from."""

    tiling: TilingOption = DEFAULTS["tiling"]
    space: SpaceOption = DEFAULTS["space"]

    def checked(self) -> tuple[Tiling | None, Space]:
        """Both; TilewrightError for a word that is not known."""
        return tiling_and_space(self.tiling, self.space)


@dataclass(frozen=True)
class LimitOptions:
    """What a search may take."""

    time_limit: TimeLimitOption = DEFAULTS["time_limit"]
    memory_limit: MemoryLimitOption = DEFAULTS["memory_limit"]

    def limits(self) -> Limits:
        """Both, checked."""
        from ..arguments import limits_of

        return limits_of(self.time_limit, self.memory_limit)


@dataclass(frozen=True)
class StoreOptions:
    """Where results are kept."""

    store: StoreOption = DEFAULTS["store"]
    no_cache: NoCacheOption = False

    def refuse_ignored(self, context: typer.Context) -> None:
        """TilewrightError for a store that --no-cache makes useless."""
        if self.no_cache:
            refuse_given(context, "--no-cache leaves the store alone", "store")


@dataclass(frozen=True)
class RuleOptions:
    """What mappings have to satisfy."""

    dataflow: DataflowOption = None
    constraints: ConstraintsOption = None
    constraint: ConstraintOption = None

    def of_kind(self, of_cascade: bool) -> Sequence[ConstraintSource]:
        """What the options name, for a layer or for a cascade, which has lines of its own."""
        return tuple(self.constraint or ()) if of_cascade else self.sources()

    def sources(self) -> list[ConstraintSource]:
        """What the options name, still to be resolved for a layer and an architecture.

        Raises ConstraintError for a dataflow that does not exist and a line that cannot be read.
        """
        from ..mapper.constraints.files import dataflow_text
        from ..mapper.constraints.inline import parse_inline

        sources: list[ConstraintSource] = []
        if self.dataflow is not None:
            dataflow_text(self.dataflow)
            sources.append(self.dataflow)
        if self.constraints is not None:
            sources.append(self.constraints)
        return [*sources, *map(parse_inline, self.constraint or ())]


@dataclass(frozen=True)
class BatchOptions(SizeOptions):
    """Whole networks, many searches at once."""

    fuse: FusedOption = False
    group: GroupOption = DEFAULTS["most"]
    total_limit: TotalLimitOption = DEFAULTS["total_limit"]
    widths: WidthsOption = DEFAULTS["widths"]
    workers: WorkersOption = DEFAULTS["workers"]
    scheduler: SchedulerOption = DEFAULTS["scheduler"]
    store: StoreOption = DEFAULTS["store"]
    no_cache: NoCacheOption = False

    @property
    def is_fused(self) -> bool:
        """Whether whole networks are mapped, of which a total limit is too."""
        return self.fuse or self.total_limit is not None

    def refuse_ignored(self, context: typer.Context, out: Path | None, flows: str) -> None:
        """TilewrightError for options that others make useless, and for those that do not go together with `--fuse`.

        flows  the parameter of the command for dataflows
        """
        if self.no_cache:
            refuse_given(context, "--no-cache leaves the store alone", "store")
        if self.scheduler is not None:
            refuse_given(context, "a cluster has its own workers", "workers")
        if out is None:
            refuse_given(context, "tables are written with --out DIR", "formats")
        if not self.is_fused:
            refuse_given(context, "says how many operations are mapped as one: give --fuse with it", "group")
            return
        refuse_given(context, "dataflows constrain single layers: leave it out, or --fuse and --total-limit", flows)
        refuse_given(context, "whole networks are searched by processes on this machine: leave out --fuse", "scheduler")

    def arguments(self) -> dict[str, Any]:
        """As Python calls take them."""
        return {
            "fuse": self.is_fused,
            "most": self.group,
            "total_limit": self.total_limit,
            "dims": self.sizes,
            "widths": widths_named(self.widths),
            "workers": self.workers,
            "scheduler": self.scheduler,
            "store": self.store,
            "cache": not self.no_cache,
        }
