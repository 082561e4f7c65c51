"""`tilewright emit`: a mapping as a program, as a page, or as a file for another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..ir import TilewrightError
from . import completions
from .groups import grouped
from .mappings import MappingOptions, evaluated
from .options import FastOption, MappingArgument, names, refuse_given
from .sources import read_source
from .terminal import show_document


@grouped
def emit(
    context: typer.Context,
    mapping: MappingArgument,
    on: MappingOptions,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            autocompletion=completions.form,
            help="c, a C99 file; numpy, the program of `verify`; nest, the loop nest; json, mapping.json; yaml, a "
            "mapping file; timeloop, Timeloop's files in one; mlir and tvm, a function for these compilers; trace, "
            "what happens when, for Perfetto.",
        ),
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there, not to standard output.")] = None,
    element: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            autocompletion=completions.element,
            help="Of the arrays in c, mlir and tvm: float (the default), double or int32.",
        ),
    ] = None,
    copied: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Copy only these tiles in c, mlir, tvm: memories (L2), tensors in them (registers.O), or none. Else "
            "all.",
        ),
    ] = None,
    fast: FastOption = None,
) -> None:
    """Print a mapping in another form: a program that executes it, or a file that others read. Of a network's plan.json
    the form is trace or json.

    \b
    tilewright emit result/mapping.json --to c --out schedule.c
    tilewright emit result/mapping.json --to c --copied L2,registers.O --element double
    tilewright emit result/mapping.json --to mlir --out layer.mlir
    tilewright emit result/mapping.json --to yaml > mine.yaml
    tilewright emit result/mapping.json --to trace --out trace.json
    tilewright emit build/mobilenet/plan.json --to trace --out trace.json
    tilewright emit mine.yaml --layer resnet50:layer1.0.conv2 --arch eyeriss --to json
    tilewright emit cascade.yaml --arch chip.yaml --mapping tree.txt --to numpy
    """
    from ..forms import emit_mapping, emit_plan, form_named
    from ..results import write_file

    form_named(to)
    tiles = None if copied is None else names(copied)
    if tiles == []:
        raise TilewrightError(f"found {copied!r}, expected memories, tensors in them, or none", where="--copied")
    chosen = None if tiles is None else [name for name in tiles if name != "none"]
    source = read_source(mapping)
    if source.is_plan and source.text is not None:
        from ..run.documents.network_plans import parse_network_plan

        refuse_given(
            context, "a plan says for what it is", *(p for p in context.params if p not in ("mapping", "to", "out"))
        )
        text = emit_plan(parse_network_plan(source.text, source.place), to, source.place)
    else:
        found = evaluated(on.loaded(context, source))
        text = emit_mapping(found, to, element=element, copied=chosen, fast=fast)
    if out is None:
        show_document(text)
    else:
        write_file(out, text)
