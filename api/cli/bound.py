"""`tilewright bound`: the least traffic of a layer or a cascade against the size of one buffer, with what bounds it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..ir import Problem, TilewrightError, need_package
from .groups import grouped
from .options import (
    HtmlOption,
    JsonOption,
    KindOptions,
    LimitOptions,
    QuietOption,
    refuse_given,
    widths_named,
)
from .problems import WorkOptions, names_network
from .terminal import noting_interrupts, own_command, say, show_document, show_line, show_page, signs

_SIZES = re.compile(r"([0-9]{1,15}):([0-9]{1,15}):x([0-9]{1,6})")
_FILES = ("README.md", "traffic.svg", "traffic.png")
_MOST_SIZES = 200


@grouped
def bound(
    context: typer.Context,
    work: WorkOptions,
    kinds: KindOptions,
    limits: LimitOptions,
    sizes: Annotated[
        str,
        typer.Option(
            metavar="RANGE", help="Sizes of the buffer in words: FIRST:LAST:xFACTOR, or a list such as 64,100,4096."
        ),
    ] = "64:1048576:x2",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write README.md, traffic.svg and traffic.png there.")
    ] = None,
    html: HtmlOption = None,
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Find the least traffic between memory and one buffer, for a range of buffer sizes, and prove it.

    Beside it stand what no schedule can go below, and compulsory traffic, every word once; of a cascade of operations,
    what is least with nothing fused. Of a whole network, the sum over its layers, each with the buffer for itself.

    \b
    tilewright bound --gemm M=512,N=512,K=512 --out result
    tilewright bound resnet50:layer1.0.conv2 --sizes 256:262144:x4
    tilewright bound --gemm M=512,N=512,K=512 --density W=2:4
    tilewright bound model.onnx --dim batch=1 --sizes 4096,65536
    tilewright bound --op "T[m,n] += A[m,k] * B[k,n]" --op "O[m,p] += T[m,n] * C[n,p]" m=64,k=64,n=64,p=64
    """
    if names_network(work.layer):
        refuse_given(
            context,
            "the traffic of a whole network is printed",
            "out",
            "html",
            "density",
            hint="name a layer, or --json",
        )
        _bound_of_network(work, sizes_named(sizes), kinds, limits, json)
        return
    asked = work.named(context)
    from ..ir.limits import check_countable
    from ..mapper.ski_slope import DEFAULT_TILING, ski_slope
    from ..report.pages.bound import bound_data, bound_document, bound_page, draw
    from ..results import prepare_folder, write_file

    if isinstance(asked, Problem):
        check_countable(asked)
    tiling, space = kinds.checked()
    tilings = tiling or DEFAULT_TILING
    words = sizes_named(sizes)
    if out is not None:
        need_package("matplotlib", "plots", "--out")
        prepare_folder(out, _FILES)
    points: list[Any] = []
    with noting_interrupts() as interrupts, signs(f"searching the least traffic of {asked.name}") as shown:
        shown.begin("sizes of the buffer", 1, len(words))
        for point in ski_slope(asked, words, tilings, space, limits.limits()):
            points.append(point)
            shown.begin("sizes of the buffer", len(points) + 1, len(words))
            if interrupts:  # the search of one size hands over what it has; the others are left out
                break
    if interrupts:
        left = ",".join(map(str, words[len(points) :]))
        say(f"interrupted: {len(points)} of {len(words)} sizes{f'; go on with --sizes {left}' if left else ''}")
    kind = f"{space} space, {tilings} tilings"
    if json:
        show_document(bound_data(asked, points, kind))
    else:
        show_page(bound_page(asked, points, kind))
    if html is not None:
        from ..report.pages.html_pages import bound_html

        one = own_command(("--sizes", "--html", "--out"))
        write_file(html, bound_html(asked, points, kind, bound_page(asked, points, kind), own_command(), one))
    if out is not None:
        given = [("--conv", work.conv), ("--gemm", work.gemm), ("--einsum", work.einsum)]
        given += [*(("--op", one) for one in work.op or ()), *(("--density", one) for one in work.density or ())]
        given += [("--sizes", sizes), ("--tiling", tilings), ("--space", space), ("--out", str(out))]
        write_file(out / _FILES[0], bound_document(asked, points, kind, _command(work.layer, given)))
        draw(asked, points, [out / name for name in _FILES[1:]])
        show_line("\n".join(["", "Files", *(f"  {out / name}" for name in _FILES)]))


def _bound_of_network(
    work: WorkOptions, words: list[int], kinds: KindOptions, limits: LimitOptions, json: bool
) -> None:
    """The page of a whole network; after Ctrl-C that of the layers that are done."""
    from ..mapper.ski_slope import DEFAULT_TILING, ski_slope
    from ..report.pages.network_bound import LayerSlope, network_bound_data, network_bound_page
    from ..workloads.networks import network_at

    found = network_at(work.layer or "", work.sizes, widths_named(work.widths))
    tiling, space = kinds.checked()
    tilings, slopes = tiling or DEFAULT_TILING, []
    with noting_interrupts() as interrupts, signs("searching the least traffic") as shown:
        for number, layer in enumerate(found.layers):
            shown.begin(layer.name, number + 1, len(found.layers))
            points = tuple(ski_slope(layer.problem, words, tilings, space, limits.limits()))
            if interrupts:
                break
            slopes.append(LayerSlope(layer, points))
    if interrupts:
        say(f"interrupted: {len(slopes)} of {len(found.layers)} layers")
    kind = f"{space} space, {tilings} tilings"
    if json:
        show_document(network_bound_data(found, slopes, kind))
    else:
        show_page(network_bound_page(found, slopes, kind))


def _command(layer: str | None, options: Iterable[tuple[str, str | None]]) -> str:
    """The command that does the same again; the even space is left out."""
    words = ["tilewright", "bound", *([layer] if layer is not None else [])]
    for option, text in options:
        if text not in (None, "even"):
            words += [option, str(text)]
    return shlex.join(words)


def sizes_named(text: str) -> list[int]:
    """The sizes of `64:1048576:x2`, or of a list such as `64,100`; TilewrightError for anything else."""
    wrong = TilewrightError(
        f"found {text!r}, expected sizes in words",
        where="--sizes",
        hint="write 64:1048576:x2 for 64, 128, ... up to 1048576, or a list such as 64,100,4096",
    )
    if match := _SIZES.fullmatch(text):
        first, last, factor = map(int, match.groups())
        if not 0 < first <= last or factor < 2:
            raise wrong
        sizes = [first]
        while sizes[-1] * factor <= last:
            sizes.append(sizes[-1] * factor)
        return sizes
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > _MOST_SIZES or not all(re.fullmatch("[1-9][0-9]{0,14}", part) for part in parts):
        raise wrong
    return [int(part) for part in parts]
