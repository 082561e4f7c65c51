"""The program as a whole: its help, its version, shell completion, and the one way in which its commands fail."""

from __future__ import annotations

import errno
import gc
import io
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from ..ir import TilewrightError
from .commands import COMMANDS, LazyCommands, keep_descriptions
from .terminal import begin_command, complain, say, say_what_was_replaced, was_interrupted

BAD_INPUT = 2
INTERRUPTED = 130
READER_GONE = 141  # as of a program that SIGPIPE ends

# The base of all usage errors; the place that it can be imported from differs between versions of typer.
_USAGE_ERROR = cast(type[Exception], next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"))


class _Commands(TyperGroup):
    """The commands, each built when it is used, with one way to fail: a message on stderr, and an exit code."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands()

    def list_commands(self, _: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, _: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_options_as_values(command, rest)
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            say(f"interrupted{f': {error}' if str(error) else ''}")
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
        begin_command()
        try:
            _refuse_empty(sys.argv[1:] if args is None else args)
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
            say_what_was_replaced()
        except TilewrightError as error:
            complain(str(error))
            code = BAD_INPUT
        except typer.Abort:
            say("interrupted")
            code = INTERRUPTED
        except _USAGE_ERROR as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "tilewright"
            complain(f"{_usage_text(error)}\nhint: see `{command} --help`")
            code = BAD_INPUT
        if was_interrupted() and not code:
            code = INTERRUPTED
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    name="tilewright",
    cls=_Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the `tilewright` command."""
    # Two things that a short command would pay for at its start: to collect garbage again and again while modules are
    # loaded, and to look through all installed packages for plugins of pydantic, which have no business here.
    gc.set_threshold(50_000, *gc.get_threshold()[1:])
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    prepare_streams()
    try:
        app(prog_name="tilewright")
    except ReaderGoneError:
        sys.exit(READER_GONE)


def _print_version(asked: bool) -> None:
    if asked:
        from .. import __version__

        typer.echo(f"tilewright {__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
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


def _refuse_empty(arguments: Sequence[str]) -> None:
    """TilewrightError for an empty text: nothing is called so, and as a path it would be the folder that one is in."""
    for before, argument in itertools.pairwise(("", *arguments)):
        option, equals, value = argument.partition("=")
        empty_here = option.startswith("--") and equals and not value.strip()
        if empty_here or not argument.strip():
            named = option if empty_here else before if before.startswith("-") and before != "--" else None
            raise TilewrightError("found an empty text, expected a value", where=named, hint="is a variable not set?")


def _refuse_options_as_values(command: Any, arguments: Sequence[str]) -> None:
    """TilewrightError for an option that would take the next option as its value, since its own is missing."""
    inner = getattr(command, "commands", {}).get(arguments[0] if arguments else None)
    if inner is not None:
        command, arguments = inner, arguments[1:]
    options = [one for one in command.params if one.opts[0].startswith("-")]
    known = {text for one in options for text in (*one.opts, *one.secondary_opts)}
    valued = {text: one for one in options if not one.is_flag for text in one.opts}
    for before, argument in itertools.pairwise(itertools.takewhile(lambda text: text != "--", arguments)):
        if before in valued and argument in known:
            expected = valued[before].metavar or "a value"
            raise TilewrightError(f"found the option {argument}, expected {expected}", where=before)


def _usage_text(error: Exception) -> str:
    """What typer has to say, as one sentence in the style of all others."""
    say: Callable[[], str] = getattr(error, "format_message", error.__str__)
    text = " ".join(say().split()).rstrip(".")
    return text[:1].lower() + text[1:]


# Python opens no streams where the shell has closed them, keeps what could not be written for its last moment, and then
# complains in its own words. Here every failure to write is one error, at the moment when it happens, and only once.

_STANDARD = 3  # streams: input, output, errors


class ReaderGoneError(Exception):
    """Whoever read the output has seen enough, as `| head` does."""


class _Output(io.FileIO):
    """A file that fails once, in words, and then takes anything."""

    def __init__(self, descriptor: int, quietly: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._quietly, self._failed = quietly, False

    def write(self, data: Any, /) -> int:
        if not self._failed:
            try:
                return super().write(data) or 0
            except OSError as error:
                self._failed = True
                if not self._quietly:
                    raise _explained(error) from None
        return len(memoryview(data).cast("B"))


def prepare_streams() -> None:
    """Have the standard streams open, and fail as said above."""
    # Open what the shell has closed: or the next file that the program opens would be its output.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < _STANDARD:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = _guarded(sys.stdout, 1, quietly=False)
    sys.stderr = _guarded(sys.stderr, 2, quietly=True)  # there is nobody to tell


def _guarded(stream: TextIO | None, descriptor: int, quietly: bool) -> TextIO:
    encoding, errors = (stream.encoding, stream.errors or "strict") if stream is not None else ("utf-8", "strict")
    if errors == "strict":
        errors = "replace"  # a terminal that has no such letter is no reason to fail
    buffer = io.BufferedWriter(_Output(descriptor, quietly))
    return io.TextIOWrapper(buffer, encoding, errors, line_buffering=quietly or os.isatty(descriptor))


def _explained(error: OSError) -> Exception:
    if error.errno == errno.EPIPE:
        return ReaderGoneError()
    return TilewrightError(f"cannot be written: {error.strerror}", where="the output")


keep_descriptions(sys.modules[__name__])
