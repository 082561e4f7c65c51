"""`tilewright network`: the layers of a network with their figures, and its totals."""

from __future__ import annotations

from typing import Annotated

import typer

from ..ir import TilewrightError
from .groups import grouped
from .options import (
    InputsOption,
    NetworkArgument,
    SizeOptions,
    WidthsOption,
    values_of_inputs,
    widths_named,
)
from .terminal import show_document, show_page


@grouped
def network(
    name: NetworkArgument,
    sizes: SizeOptions,
    given: InputsOption = None,
    widths: WidthsOption = "file",
    word: Annotated[
        int, typer.Option(metavar="BITS", help="Width of words where the network says none, for the intensity.")
    ] = 16,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")] = False,
) -> None:
    """Print the layers of a network: shapes, multiply-accumulates, weights, arithmetic intensity and repeats.

    Of an ONNX file also what is not searched, with its share of all operations.

    \b
    tilewright network resnet50
    tilewright network llama3_8b --phase decode --batch 8
    tilewright network model.onnx --dim batch=1
    tilewright network model.onnx --dim batch=1 --json
    """
    if word < 1:
        raise TilewrightError(f"the width is {word}, expected 1 bit or more", where="--word")
    from ..report.networks.network import network_document, network_page
    from ..workloads.networks import network_at

    found = network_at(name, sizes.sizes, widths_named(widths), values_of_inputs(given))
    if json:
        show_document(network_document(found, word))
    else:
        show_page(network_page(found, word))
