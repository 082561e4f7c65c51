"""`tilewright emit`: a mapping as a program, as a page, or as a file for another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..ir import TilewrightError
from . import completions
from .cascades import fused_named
from .mappings import cost_of, load_on
from .options import (
    ConvOption,
    EinsumOption,
    FastOption,
    GemmOption,
    MappingArgument,
    OpOption,
    SetOption,
    TreeOption,
    names,
    refuse_given,
)
from .problems import problem_named
from .sources import read_source
from .terminal import show_document


def emit(
    context: typer.Context,
    mapping: MappingArgument,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            autocompletion=completions.form,
            help="c, a C99 file; numpy, the program of `verify`; nest, the loop nest; json, mapping.json; yaml, a "
            "mapping file; timeloop, Timeloop's files in one; mlir and tvm, a function for these compilers.",
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
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.arch, help="For this architecture, not for the file's own."
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER",
            autocompletion=completions.layer,
            help="The layer that a mapping file is for, such as resnet50:conv1.",
        ),
    ] = None,
    conv: ConvOption = None,
    gemm: GemmOption = None,
    einsum: EinsumOption = None,
    op: OpOption = None,
    tree: TreeOption = None,
    set_fields: SetOption = None,
) -> None:
    """Print a mapping in another form: a program that executes it, or a file that others read.

    \b
    tilewright emit result/mapping.json --to c --out schedule.c
    tilewright emit result/mapping.json --to c --copied L2,registers.O --element double
    tilewright emit result/mapping.json --to mlir --out layer.mlir
    tilewright emit result/mapping.json --to yaml > mine.yaml
    tilewright emit mine.yaml --layer resnet50:layer1.0.conv2 --arch eyeriss --to json
    tilewright emit cascade.yaml --arch chip.yaml --mapping tree.txt --to numpy
    """
    from ..forms import emit_mapping, form_named

    form_named(to)
    source = read_source(mapping)
    if op or tree or source.is_fused:
        refuse_given(context, "a cascade is given already", "layer", "conv", "gemm", "einsum")
        refuse_given(context, "this option does not know cascades yet", "fast")
    tiles = None if copied is None else names(copied)
    if tiles == []:
        raise TilewrightError(f"found {copied!r}, expected memories, tensors in them, or none", where="--copied")
    chosen = None if tiles is None else [name for name in tiles if name != "none"]
    if op or tree or source.is_fused:
        fused = fused_named(source, op, tree, arch, set_fields)
        _write(emit_mapping(fused, to, element=element, copied=chosen), out)
        return
    given = any(text is not None for text in (layer, conv, gemm, einsum))
    problem = problem_named(layer, conv, gemm, einsum) if given else None
    loaded = load_on(source, problem, arch, set_fields)
    text = emit_mapping(loaded.evaluated(cost_of(mapping, loaded)), to, element=element, copied=chosen, fast=fast)
    _write(text, out)


def _write(text: str, out: Path | None) -> None:
    from ..results import write_file

    if out is None:
        show_document(text)
    else:
        write_file(out, text)
