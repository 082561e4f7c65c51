"""The options that Python calls and commands have in common: names, types, defaults and what the help says.

Python calls take them as keywords, typed by the dictionaries below (PEP 692). Commands take them from the same table
(`cli/groups.py`). Other arguments of a call stand in its signature.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar

from .inputs.checks import known_keywords
from .ir import TilewrightError

if TYPE_CHECKING:
    from .arguments import LayoutLike, SizeLike, StoreLike, WeightsLike
    from .cost_models.sparse import DensityLike
    from .mapper.progress import SearchProgress
    from .mapper.question import Fuse
    from .results import ManyResult
    from .run.batch.run import Watch
    from .workloads.network import Widths

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """An option.

    default  where it is not given
    metavar  what stands for its value in a help text; empty: it is not on the command line as it is in Python
    help     that the command line prints; docs of the functions say more
    flag     how the command line calls it, if not by its name
    words    values to complete: a name in `cli/completions.py`, or the words
    """

    default: Any
    metavar: str = ""
    help: str = ""
    flag: str = ""
    words: str | tuple[str, ...] = ()


def _nothing(*_: object) -> None:
    """A callback that does nothing."""


def _never() -> bool:
    """Nothing is cancelled."""
    return False


OPTIONS: Final[MappingABC[str, Option]] = {
    "objective": Option(
        "edp",
        "WHAT",
        "What to minimize: energy, latency, edp (their product) or ed2p; a formula in energy (pJ) and latency "
        '(cycles) such as "energy * latency ** 0.5"; latency,energy: the least energy of the fastest. '
        'With limits: "latency where energy <= 3 uJ".',
        words="objective",
    ),
    "tiling": Option(
        None,
        "KIND",
        "ragged, the default wherever it is known: the last tile of a dimension may be smaller; perfect: divisors "
        "only, which is quicker. The page says which it was.",
        words="tiling",
    ),
    "space": Option(
        "even",
        "KIND",
        "even: one tile boundary for each memory; uneven: for each memory and tensor.",
        words="space",
    ),
    "strategy": Option(
        "exact",
        "NAME",
        "exact; cpsat, an independent exact model; random, anneal or genetic, which prove nothing.",
        words=("exact", "cpsat", "random", "anneal", "genetic"),
    ),
    "seed": Option(None, "NUMBER", "Of the strategies that draw lots; 0, if not given."),
    "time_limit": Option(
        None,
        "SECONDS",
        "For each search, such as 30 or 2min; then it takes the best mapping so far, and says how far off it can be. "
        "Without it, as long as the proof takes.",
    ),
    "memory_limit": Option(
        "1GiB",
        "SIZE",
        "Memory of each search, such as 512MiB; what does not fit into it is bounded more coarsely.",
    ),
    "fuse": Option(
        "all",
        "WHAT",
        "Of a cascade: all; plain, no shared loops along windows; whole, intermediates whole on chip, no shared "
        "loops; none, all of them in the outermost memory.",
        words=("all", "plain", "whole", "none"),
    ),
    "density": Option(
        None,
        "TENSOR=DENSITY",
        "Zeros of an operand: W=2:4 (of every 4 along the reduction 2 are stored; W=2:4@K names it), I=0.35, "
        "W=band:3, W=weights.npy; may be repeated (docs/sparse.md).",
    ),
    "layout": Option(
        None,
        "TENSOR=LAYOUT",
        "Where words lie in memories that have lines: O=NHWC, GLB.I=NCHW16c, W=row-major, or any (whichever is "
        "best); all=any for all tensors; may be repeated (docs/layouts.md).",
    ),
    "most": Option(4, "N", "Operations that are mapped as one, at most.", "--group"),
    "total_limit": Option(
        None,
        "SECONDS",
        "For all searches of a network together, such as 2min; then the best of what is known is taken, and said how "
        "far off it can be. Without it, as long as they take. In a comparison it implies --fuse.",
    ),
    "dims": Option(
        None,
        "SYMBOL=SIZE",
        "The size of a symbolic dimension of a network, such as batch=1 or kv=4096, or of an ONNX file the value of an "
        "input that is one number, such as sr=16000; may be repeated.",
        "--dim",
    ),
    "phase": Option(
        None,
        "PHASE",
        "Of a network that has some, which one: prefill or decode of a language model. Without it, the first.",
        words=("prefill", "decode"),
    ),
    "batch": Option(None, "N", "Of a network whose batch is free: short for --dim batch=N."),
    "inputs": Option(
        None,
        "INPUT=VALUE",
        "The value that an input of an ONNX file has in every run, such as sr=16000; may be repeated.",
        "--input",
    ),
    "widths": Option(
        "file",
        "SOURCE",
        "Of an ONNX file: words as wide as its element types (file), or as the architecture's (arch).",
        words="widths",
    ),
    "workers": Option(None, "N", "Searches at once; one for each core, if not given."),
    "scheduler": Option(None, "ADDRESS", "A Dask cluster, such as tcp://host:8786."),
    "store": Option(None, "PATH", "The result store; else TILEWRIGHT_STORE, or one in the user's cache."),
    "cache": Option(True),
    "changes": Option(True),
    "stays": Option(True),
    "weights_in": Option(None),
    "fix": Option(
        (),
        "NAME: DIM@AXIS",
        "Of a system, a split that is given: 'block.*.qk: g@node', with * in names of operations; none@AXIS: all "
        "devices of the axis do the same. May be repeated.",
    ),
    "stages": Option(
        None,
        "AXIS",
        "Of a system, the axis along which stages of a pipeline lie: runs of consecutive operations, each on other "
        "devices; free: whichever axis is best, or none.",
    ),
    "microbatches": Option(
        (1,),
        "N,...",
        "Into how many parts a batch is cut that pass the stages one after the other; of several, the best.",
    ),
    "watch": Option(_nothing),
    "progress": Option(None),
    "each": Option(None),
    "cancel": Option(_never),
}
"""By name in Python."""


class LimitKeywords(TypedDict, total=False):
    """Of every search."""

    time_limit: float | None
    memory_limit: SizeLike


class SearchKeywords(LimitKeywords, total=False):
    """Of the search for the best mapping."""

    strategy: str
    seed: int | None
    store: StoreLike | None
    fuse: Fuse
    density: MappingABC[str, DensityLike] | None
    layout: LayoutLike


class FewKeywords(LimitKeywords, total=False):
    """Of the search for the best few."""

    fuse: Fuse
    density: MappingABC[str, DensityLike] | None


class FrontKeywords(FewKeywords, total=False):
    """Of the search for a Pareto front."""

    store: StoreLike | None


class ExplainKeywords(LimitKeywords, total=False):
    """Of the searches for what would help."""

    changes: bool
    store: StoreLike | None
    cache: bool


class BatchKeywords(LimitKeywords, total=False):
    """Of many searches at once."""

    workers: int | None
    scheduler: str | None
    store: StoreLike | None
    cache: bool
    watch: Watch
    progress: bool | None


class ManyKeywords(BatchKeywords, total=False):
    """Of the searches of many layers."""

    each: Callable[[int, ManyResult], None] | None
    cancel: Callable[[], bool]


class NetworkKeywords(BatchKeywords, total=False):
    """Of searches of whole networks on several machines."""

    most: int
    dims: MappingABC[str, int] | None
    phase: str | None
    batch: int | None
    widths: Widths
    total_limit: float | None


class CompileKeywords(LimitKeywords, total=False):
    """Of the search for the best groups of a network."""

    fuse: Fuse
    most: int
    dims: MappingABC[str, int] | None
    phase: str | None
    batch: int | None
    inputs: MappingABC[str, object] | None
    widths: Widths
    stays: bool
    weights_in: WeightsLike
    fix: Sequence[str]
    stages: str | None
    microbatches: Sequence[int]
    total_limit: float | None
    workers: int | None
    store: StoreLike | None
    watch: Callable[[SearchProgress], None] | None
    progress: bool | None


def refuse(options: MappingABC[str, Any], names: Sequence[str], why: str) -> None:
    """TilewrightError for the first of some options that is not as it is where nobody gives it: it would be ignored."""
    for name in names:
        default = OPTIONS[name].default
        if type(options[name]) is not type(default) or options[name] != default:
            raise TilewrightError(why, where=name)


def takes(kind: type, **defaults: object) -> Callable[[F], F]:
    """Have a function with `**options` take those of a kind: the function gets all of them, with their defaults, its
    signature shows them, and others are a TypeError.

    defaults  those of this function that are not those of the table
    """
    known = {name: defaults.get(name, OPTIONS[name].default) for name in kind.__annotations__}

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]

        @functools.wraps(function)
        def called(*arguments: Any, **given: Any) -> Any:
            from .report.parts.progress import signs_of_life

            if "progress" in known:
                return function(*arguments, **{**known, **given})
            with signs_of_life(f"tw.{function.__name__}", wanted=None):
                return function(*arguments, **{**known, **given})

        options = [_parameter(name, kind.__annotations__[name], default) for name, default in known.items()]
        called.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return known_keywords(called)  # type: ignore[return-value]

    return decorate


def _parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    """An option as a signature shows it."""
    told = getattr(annotation, "__forward_arg__", annotation)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=told)
