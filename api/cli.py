"""The command line: `tilewright search resnet50:layer1.0.conv2 --arch eyeriss`.

Everything heavy is imported inside the command that needs it, so that `--help` and `list` answer at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from .ir import Mapping, Problem, TilewrightError, did_you_mean

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .arch import Architecture
    from .cost_models import Cost
    from .documents import LoadedMapping
    from .mapper.certificate import Certificate
    from .workloads import Network

BAD_INPUT = 2
DISAGREES = 1
INTERRUPTED = 130

_SECONDS_PER_STEP = 4e-5
_LONG_RUN = 60.0  # seconds
_LISTS = ("archs", "networks", "layers")

# The base of all usage errors; the place that it can be imported from differs between versions of typer.
_USAGE_ERROR = cast(type[Exception], next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"))

_MappingFile = Annotated[
    str, typer.Argument(metavar="MAPPING.json", help="A mapping.json of `tilewright search`; - reads standard input.")
]


class _Commands(TyperGroup):
    """The commands, with one way to fail: a message on stderr, and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except TilewrightError as error:
            _complain(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            _say("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except typer.Abort:
            _say("interrupted")
            code = INTERRUPTED
        except _USAGE_ERROR as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "tilewright"
            _complain(f"{_usage_text(error)}\nhint: see `{command} --help`")
            code = BAD_INPUT
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    name="tilewright",
    cls=_Commands,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the `tilewright` command."""
    app(prog_name="tilewright")


def _print_version(asked: bool) -> None:
    if asked:
        from . import __version__

        typer.echo(f"tilewright {__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find the best mapping of a layer on an accelerator, and prove it.

    \b
    tilewright search resnet50:layer1.0.conv2 --arch eyeriss
    tilewright search --gemm M=512,N=768,K=768 --arch tpu_v1 --objective energy --out result
    tilewright verify result/mapping.json
    tilewright list archs
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(short_help="Find the best mapping of a layer, with proof.")
def search(
    layer: Annotated[
        str | None,
        typer.Argument(
            metavar="LAYER",
            help="A layer of a network, such as resnet50:layer1.0.conv2; `tilewright list layers` names them all.",
        ),
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH", help="An architecture of the library (`tilewright list archs`), or a YAML file."
        ),
    ] = None,
    objective: Annotated[
        str, typer.Option(metavar="WHAT", help="What to minimize: energy, latency or edp, their product.")
    ] = "edp",
    tiling: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="ragged: the last tile of a dimension may be smaller; perfect: divisors only."
        ),
    ] = "perfect",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Then take the best mapping so far, and say how far off it can be."),
    ] = None,
    conv: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="A convolution: K, C, P, Q, R, S; optional N, groups, stride, dilation."),
    ] = None,
    gemm: Annotated[
        str | None, typer.Option(metavar="SIZES", help="A matrix product: M, N, K; optional B, a batch.")
    ] = None,
    einsum: Annotated[
        str | None, typer.Option(metavar="SPEC", help="An einsum; its sizes stand in place of the layer.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write mapping.json, nest.txt and reference.py there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the mapping.json document, and nothing else.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Run the numpy program of the mapping and compare.")] = False,
) -> None:
    """Search for the best mapping of a layer, and prove that none is better.

    \b
    tilewright search resnet50:layer1.0.conv2 --arch eyeriss --objective edp
    tilewright search --conv K=64,C=64,P=56,Q=56,R=3,S=3,stride=1 --arch tpu_v1 --out result
    tilewright search --gemm M=512,N=768,K=3072 --arch my_chip.yaml --objective latency --verify
    tilewright search --einsum "bhqd,bhkd->bhqk" b=1,h=12,q=128,k=128,d=64 --arch eyeriss --json
    """
    problem = _problem(layer, conv, gemm, einsum)
    machine = _architecture(arch)
    from .cost_models import OBJECTIVES, Objective
    from .mapper.tilings import TILINGS, Tiling
    from .results import check_choice, prepare_folder
    from .results import search as search_for

    check_choice("objective", objective, OBJECTIVES)
    check_choice("tiling", tiling, TILINGS)
    if out is not None:
        prepare_folder(out)
    with _status(f"searching the best mapping of {problem.name} on {machine.name}"):
        result = search_for(problem, machine, cast(Objective, objective), cast(Tiling, tiling), time_limit)
    files = result.save(out) if out is not None else ()
    if json:
        typer.echo(result.emit("json"), nl=False)
    else:
        _show_result(result.mapping, machine, result.cost, result.certificate, files)
    if verify:
        _verify(result.mapping, machine, quiet=json)


@app.command(short_help="Compute what a mapping costs.")
def evaluate(
    mapping: _MappingFile,
    arch: Annotated[
        str | None, typer.Option(metavar="NAME|PATH", help="Evaluate on this architecture, not on the file's own.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a mapping.json with the new figures.")] = False,
) -> None:
    """Compute what a mapping costs, on its own architecture or on another one.

    \b
    tilewright evaluate result/mapping.json
    tilewright evaluate result/mapping.json --arch changed_chip.yaml --json
    """
    loaded = _load(mapping)
    machine = loaded.arch if arch is None else _architecture(arch)
    cost = _cost(mapping, loaded, machine)
    if json:
        from .documents import dump_mapping

        typer.echo(dump_mapping(loaded.mapping, machine, cost), nl=False)
    else:
        _show_result(loaded.mapping, machine, cost)


@app.command(short_help="Run the numpy program of a mapping and compare.")
def verify(mapping: _MappingFile) -> None:
    """Run the numpy program of a mapping: does it compute the layer, and move the words that the model counts?

    The program executes the schedule tile by tile on random operands. The exit code is 1 if anything disagrees.

    \b
    tilewright verify result/mapping.json
    """
    loaded = _load(mapping)
    _cost(mapping, loaded, loaded.arch)
    _verify(loaded.mapping, loaded.arch)


@app.command("list", short_help="List architectures, networks or layers.")
def list_names(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="archs, networks or layers.")],
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="NETWORK", help="For layers: a network, or the path of its YAML file; all, if not given."
        ),
    ] = None,
) -> None:
    """List the names that other commands take, one a line.

    \b
    tilewright list archs
    tilewright list layers resnet50
    """
    if what not in _LISTS:
        raise TilewrightError(f"cannot list {what!r}, expected archs, networks or layers", hint=_near(what, _LISTS))
    if network is not None and what != "layers":
        raise TilewrightError(f"found {network!r} after {what}, expected nothing", hint="only layers take a network")
    typer.echo("\n".join(_names(what, network)))


@app.command(short_help="Show an architecture, a network or a layer.")
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="An architecture, a network, a layer such as resnet50:conv1, or a YAML file."
        ),
    ],
) -> None:
    """Show an architecture, the layers of a network, or one layer.

    \b
    tilewright show eyeriss
    tilewright show resnet50
    tilewright show resnet50:layer1.0.conv2
    tilewright show my_chip.yaml
    """
    page = _page(name)
    from .report.text import write

    write(page)


def _names(what: str, network: str | None) -> Iterable[str]:
    from .workloads import list_networks, load_network

    if what == "archs":
        from .arch import list_archs

        return list_archs()
    if what == "networks":
        return list_networks()
    chosen = list_networks() if network is None else (network,)
    return [f"{name}:{layer.name}" for name in chosen for layer in load_network(name).layers]


def _page(name: str) -> RenderableType:
    """The page of whatever has that name: a file says itself which of both kinds it is."""
    from .arch import list_archs, load_arch
    from .workloads import list_networks, load_layer, load_network

    if name in list_archs():
        found: Architecture | Network | Problem = load_arch(name)
    elif name in list_networks():
        found = load_network(name)
    elif name.endswith((".yaml", ".yml")):
        found = load_network(name) if _is_network_file(Path(name)) else load_arch(name)
    elif ":" in name:
        found = load_layer(name)
    else:
        known = [*list_archs(), *list_networks()]
        raise TilewrightError(f"no architecture or network is named {name!r}", hint=did_you_mean(name, known))
    from .report.describe import page_of

    return page_of(found)


def _is_network_file(path: Path) -> bool:
    """Whether the file starts its table as networks do; one that cannot be read is for the other reader to refuse."""
    try:
        return re.search("^network:", path.read_text(encoding="utf-8"), re.MULTILINE) is not None
    except (OSError, ValueError):
        return False


def _problem(layer: str | None, conv: str | None, gemm: str | None, einsum: str | None) -> Problem:
    """The one layer that the arguments name."""
    given = [option for option, text in (("--conv", conv), ("--gemm", gemm), ("--einsum", einsum)) if text is not None]
    if layer is not None and einsum is None:
        given.insert(0, f"the layer {layer!r}")
    if len(given) != 1:
        found = " and ".join(given) if given else "none"
        hint = "give a name such as resnet50:layer1.0.conv2, or --conv, --gemm or --einsum with sizes"
        raise TilewrightError(f"expected one layer, found {found}", hint=hint)
    from .workloads import conv_from_text, einsum_from_text, gemm_from_text, load_layer

    if conv is not None:
        return conv_from_text(conv)
    if gemm is not None:
        return gemm_from_text(gemm)
    if einsum is None:
        return load_layer(layer or "")
    if layer is None:
        hint = 'write --einsum "mk,kn->mn" m=64,n=64,k=32'
        raise TilewrightError("the sizes of the einsum are missing", where="--einsum", hint=hint)
    return einsum_from_text(einsum, layer)


def _architecture(name: str | None) -> Architecture:
    from .arch import list_archs, load_arch

    if name is None:
        hint = f"write --arch {list_archs()[0]}; the library has {', '.join(list_archs())}, and a YAML file will do too"
        raise TilewrightError("no architecture is given", where="--arch", hint=hint)
    return load_arch(name)


def _load(source: str) -> LoadedMapping:
    from .documents import load_mapping, parse_mapping

    if source != "-":
        return load_mapping(Path(source))
    try:
        return parse_mapping(sys.stdin.read(), "<stdin>")
    except UnicodeDecodeError:
        raise TilewrightError("not a text, expected a mapping.json", where="<stdin>") from None


def _cost(source: str, loaded: LoadedMapping, arch: Architecture) -> Cost:
    """What a file's mapping costs; a note says so if the file claims something else."""
    from .results import evaluate as cost_of

    try:
        cost = cost_of(loaded.mapping, arch)
    except TilewrightError as error:
        raise error.located(source) from None
    recorded = loaded.recorded.cost
    if arch == loaded.arch and not (isclose(cost.energy_pj, recorded.energy_pj) and isclose(cost.edp, recorded.edp)):
        claimed = f"{recorded.energy_pj:,.10g} pJ and {recorded.latency_cycles:,.10g} cycles"
        found = f"{cost.energy_pj:,.10g} pJ and {cost.latency_cycles:,.10g} cycles"
        _say(f"note: {source} records {claimed}, and the mapping in it costs {found}")
    return cost


def _show_result(
    mapping: Mapping, arch: Architecture, cost: Cost, certificate: Certificate | None = None, files: Iterable[Path] = ()
) -> None:
    from .report.text import result_page, write

    write(result_page(mapping, arch, cost, certificate, files))


def _verify(mapping: Mapping, arch: Architecture, quiet: bool = False) -> None:
    """Run the program and say what came of it; exits with 1 if it disagrees."""
    from .mapper.emit import program_steps, verify_numpy
    from .report.units import count, seconds

    expected = program_steps(mapping, arch) * _SECONDS_PER_STEP
    if expected > _LONG_RUN:
        steps = count(program_steps(mapping, arch))
        _say(f"note: the program has {steps} steps and may run for {expected / 60:,.0f} minutes or more")
    try:
        with _status(f"running the program of {mapping.problem.name}"):
            verification = verify_numpy(mapping, arch)
    except MemoryError:
        raise TilewrightError(
            "its tensors do not fit the memory of this computer", where=mapping.problem.name
        ) from None
    verdict = "verified" if verification else "disagrees"
    text = f"{verdict}: {verification.message} ({seconds(verification.seconds)})"
    typer.echo(text, err=quiet or not verification)
    if not verification:
        raise typer.Exit(DISAGREES)


def _status(text: str) -> AbstractContextManager[object]:
    """A moving line on a terminal while something takes its time; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.text import Text

    return Console(stderr=True).status(Text(text))


def _near(word: str, known: Iterable[str]) -> str | None:
    near = did_you_mean(word, known)
    return near if near.startswith("did you mean") else None


def _usage_text(error: Exception) -> str:
    """What typer has to say, as one sentence in the style of all others."""
    say: Callable[[], str] = getattr(error, "format_message", error.__str__)
    text = " ".join(say().split()).rstrip(".")
    return text[:1].lower() + text[1:]


def _complain(text: str) -> None:
    _say(f"error: {text}")


def _say(text: str) -> None:
    typer.echo(text, err=True)
