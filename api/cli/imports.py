"""`tilewright import`: other tools' files, read; what they describe is evaluated, or written in our forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import TilewrightError
from ..ir.files import beginning_of
from . import completions
from .machines import settings_named
from .options import QuietOption, SetOption
from .terminal import say, show_document, show_page

if TYPE_CHECKING:
    from ..mapper.importers import ImportedMachine

imports = typer.Typer(
    help="Read the files of another tool: mappings, which are evaluated, or machines, layers and constraints alone.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the other tool.")]
WordOption = Annotated[str, typer.Option(metavar="BITS", help="The width of a word, which the file does not state.")]
OutOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the architecture file there.")]


@imports.callback()
def import_files() -> None:
    """Read the files of another tool."""


@imports.command("timeloop", short_help="Read Timeloop v0.4 architecture, problem, mapping.")
def import_timeloop(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="With architecture, problem, mapping, ERT, ART: what there is."),
    ],
    json: Annotated[
        bool, typer.Option("--json", help="Print a mapping.json, which holds all three, and nothing else.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Without a mapping: write machine, network and constraints there."),
    ] = None,
    _quiet: QuietOption = False,
) -> None:
    """Evaluate a mapping that is given as Timeloop v0.4 files, under Timeloop's rules; without a mapping, write the
    architecture, the problem and the constraints of the architecture in our forms.

    \b
    tilewright import timeloop arch.yaml problem.yaml mapping.yaml ERT.yaml
    tilewright import timeloop arch.yaml problem.yaml mapping.yaml ERT.yaml --json > mapping.json
    tilewright import timeloop arch.yaml ERT.yaml ART.yaml > machine.yaml
    tilewright import timeloop arch.yaml problem.yaml ERT.yaml --out imported
    tilewright emit result/mapping.json --to timeloop > case.yaml
    """
    from ..mapper.timeloop import complete, read_parts

    with _knowing("timeloop", files):
        parts = read_parts(files)
    if "mapping" not in parts.given and not json and (parts.arch is not None or parts.problem is not None):
        from ..imported import timeloop_files

        _write_or_print(timeloop_files(parts, [path.name for path in files]), out)
        return
    if out is not None:
        raise TilewrightError("there is a mapping, which is evaluated and not written", where="--out", hint="--json")
    from ..results import evaluate

    mapping, arch = complete(parts)
    cost = evaluate(mapping, arch)
    for note in parts.notes:
        say(f"note: {note}")
    if json:
        from ..run.documents.mappings import dump_mapping

        show_document(dump_mapping(mapping, arch, cost))
    else:
        from ..report.pages.result import evaluated_page

        show_page(evaluated_page(mapping, arch, cost))


@imports.command("accelergy", short_help="Put Accelergy's energies and areas into an architecture.")
def import_accelergy(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="With an ERT, an ART, or both.")],
    arch: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.arch, help="The architecture that the figures go into."
        ),
    ],
    set_fields: SetOption = None,
    out: OutOption = None,
) -> None:
    """Write an architecture with the energies and areas that Accelergy's tables have for its levels.

    \b
    tilewright import accelergy ERT.yaml ART.yaml --arch eyeriss_like > machine.yaml
    """
    from ..mapper.importers import with_tables

    with _knowing("accelergy", files):
        found = with_tables(arch, files, settings_named(set_fields or ()))
    _show(found, out)


@imports.command("accelforge", short_help="Read an architecture of AccelForge.")
def import_accelforge(file: FileArgument, word: WordOption = "8 bit", out: OutOption = None) -> None:
    """Write an architecture of AccelForge as an architecture file.

    \b
    tilewright import accelforge tpu_v4i.yaml > machine.yaml
    """
    from ..mapper.importers import read_accelforge

    with _knowing("accelforge", [file]):
        found = read_accelforge(file, _bits(word))
    _show(found, out)


@imports.command("zigzag", short_help="Read a hardware file of ZigZag.")
def import_zigzag(file: FileArgument, word: WordOption = "8 bit", out: OutOption = None) -> None:
    """Write a hardware file of ZigZag as an architecture file.

    \b
    tilewright import zigzag meta_prototype.yaml > machine.yaml
    """
    from ..mapper.importers import read_zigzag

    with _knowing("zigzag", [file]):
        found = read_zigzag(file, _bits(word))
    _show(found, out)


@contextmanager
def _knowing(command: str, files: Iterable[Path]) -> Iterator[None]:
    """Where a file cannot be read since it is another tool's than this command's, the message says whose."""
    try:
        yield
    except TilewrightError:
        from ..arch.loader import tool_file

        for file in files:
            other = tool_file(beginning_of(file), str(file))
            if other is not None and other.command != command and (command, other.command) != ("timeloop", "accelergy"):
                expected = f"expected what `tilewright import {command}` reads"
                raise TilewrightError(f"this is {other.what}, {expected}", where=str(file), hint=other.hint) from None
        raise


def _bits(word: str) -> int:
    from ..arch.units import size_bits

    try:
        return size_bits(word if not word.strip().isdigit() else f"{word} bit")
    except TilewrightError as error:
        raise error.located("--word") from None


def _show(found: ImportedMachine, out: Path | None) -> None:
    from ..arch.writer import architecture_text

    text = architecture_text(found.arch, found.notes)
    if out is None:
        show_document(text)
    else:
        _write([(out, text)])


def _write_or_print(texts: dict[str, str], out: Path | None) -> None:
    """Files by name; one alone may be printed."""
    if out is None and len(texts) > 1:
        hint = f"--out DIR writes {', '.join(texts)}"
        raise TilewrightError("an architecture and what goes with it are several files", where="--out", hint=hint)
    if out is None:
        show_document(next(iter(texts.values())))
    else:
        from ..results import prepare_folder

        prepare_folder(out)
        _write((out / name, text) for name, text in texts.items())


def _write(texts: Iterable[tuple[Path, str]]) -> None:
    from ..results import write_file

    for path, text in texts:
        typer.echo(write_file(path, text))
