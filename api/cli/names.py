"""`tilewright list` and `tilewright show`: what is in the libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import Problem, TilewrightError, did_you_mean
from .problems import Dims, sizes_of_symbols
from .terminal import near_word

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..arch import Architecture
    from ..workloads import Network

_LISTS = ("archs", "networks", "layers", "dataflows", "gpus")


def list_names(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="archs, networks, layers, dataflows or gpus.")],
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="NETWORK", help="For layers: a network, or the path of its YAML or ONNX file; all, if not given."
        ),
    ] = None,
    dim: Dims = None,
) -> None:
    """List the names that other commands take, one a line.

    \b
    tilewright list archs
    tilewright list layers resnet50
    tilewright list layers model.onnx --dim batch=1
    """
    if what not in _LISTS:
        expected = "archs, networks, layers, dataflows or gpus"
        raise TilewrightError(f"cannot list {what!r}, expected {expected}", hint=near_word(what, _LISTS))
    if network is not None and what != "layers":
        raise TilewrightError(f"found {network!r} after {what}, expected nothing", hint="only layers take a network")
    if dim and network is None:
        raise TilewrightError("symbols belong to an ONNX file, and none is given", where="--dim")
    typer.echo("\n".join(_names(what, network, sizes_of_symbols(dim))))


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An architecture, a network, a layer such as resnet50:conv1, a dataflow, or a YAML or ONNX file.",
        ),
    ],
    dim: Dims = None,
) -> None:
    """Show an architecture, the layers of a network, one layer, or the file of a dataflow.

    \b
    tilewright show eyeriss
    tilewright show resnet50
    tilewright show resnet50:layer1.0.conv2
    tilewright show weight-stationary
    tilewright show my_chip.yaml
    """
    from ..mapper.constraint_files import dataflow_text, list_dataflows

    if name in list_dataflows():
        typer.echo(dataflow_text(name), nl=False)
        return
    page = _page(name, sizes_of_symbols(dim))
    from ..report.text import write

    write(page)


def _names(what: str, network: str | None, dims: Mapping[str, int]) -> Iterable[str]:
    from ..workloads import list_networks, load_network

    if what == "archs":
        from ..arch import list_archs

        return list_archs()
    if what == "networks":
        return list_networks()
    if what == "dataflows":
        from ..mapper.constraint_files import list_dataflows

        return list_dataflows()
    if what == "gpus":
        from ..cost_models.gpu import list_gpus

        return list_gpus()
    chosen = list_networks() if network is None else (network,)
    return [f"{name}:{layer.name}" for name in chosen for layer in load_network(name, dims).layers]


def _page(name: str, dims: Mapping[str, int]) -> RenderableType:
    """The page of whatever has that name: a file says itself which of both kinds it is."""
    from ..arch import list_archs, load_arch
    from ..workloads import ONNX, list_networks, load_layer, load_network

    if name in list_archs():
        found: Architecture | Network | Problem = load_arch(name)
    elif name in list_networks() or name.lower().endswith(ONNX):
        found = load_network(name, dims)
    elif name.endswith((".yaml", ".yml")):
        found = load_network(name) if _is_network_file(Path(name)) else load_arch(name)
    elif ":" in name:
        found = load_layer(name, dims)
    else:
        from ..mapper.constraint_files import list_dataflows

        known = [*list_archs(), *list_networks(), *list_dataflows()]
        message = f"no architecture, network or dataflow is named {name!r}"
        raise TilewrightError(message, hint=did_you_mean(name, known))
    from ..report.describe import page_of

    return page_of(found)


def _is_network_file(path: Path) -> bool:
    """Whether the file starts its table as networks do; one that cannot be read is for the other reader to refuse."""
    try:
        return re.search("^network:", path.read_text(encoding="utf-8"), re.MULTILINE) is not None
    except (OSError, ValueError):
        return False
