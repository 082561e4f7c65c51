"""`tilewright list` and `tilewright show`: what is in the libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import TilewrightError, Work, did_you_mean
from ..ir.files import beginning_of
from . import completions
from .groups import grouped
from .machines import architecture_named, settings_named
from .options import JsonOption, QuietOption, SetOption, SizeOptions
from .terminal import near_word, show_document, show_line, show_page

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..arch.system import System
    from ..workloads import Network
    from ..workloads.network import Sizes

_LISTS = ("archs", "systems", "networks", "layers", "dataflows", "gpus")


@grouped
def list_names(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            autocompletion=completions.words(*_LISTS),
            help="archs, systems, networks, layers, dataflows or gpus.",
        ),
    ],
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="NETWORK",
            autocompletion=completions.network,
            help="For layers: a network, or the path of its YAML or ONNX file; all, if not given.",
        ),
    ] = None,
    *,
    sizes: SizeOptions,
    json: JsonOption = False,
) -> None:
    """List the names that other commands take, one a line; architectures and systems with what they are.

    \b
    tilewright list archs
    tilewright list layers resnet50
    tilewright list layers model.onnx --dim batch=1
    """
    if what not in _LISTS:
        expected = "archs, systems, networks, layers, dataflows or gpus"
        raise TilewrightError(f"cannot list {what!r}, expected {expected}", hint=near_word(what, _LISTS))
    if network is not None and what != "layers":
        raise TilewrightError(f"found {network!r} after {what}, expected nothing", hint="only layers take a network")
    if sizes.given and network is None:
        raise TilewrightError("symbols belong to a network, and none is given", where=sizes.given)
    found = _names(what, network, sizes.sizes)
    if json:
        show_document([{"name": name} | ({"description": text} if text else {}) for name, text in found.items()])
        return
    width = max(map(len, found), default=0)
    show_document("\n".join(f"{name:{width}}  {text}".rstrip() for name, text in found.items()))


@grouped
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=completions.anything,
            help="An architecture, a system, a network, a layer such as resnet50:conv1, layers joined by + or .., a "
            "dataflow, a YAML or ONNX file, mapping-schema or architecture-schema.",
        ),
    ],
    set_fields: SetOption = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the architecture as a picture, into this file.")
    ] = None,
    *,
    sizes: SizeOptions,
    yaml: Annotated[
        bool,
        typer.Option(
            "--yaml", help="Print the file of an architecture, a system or a network, to start one of your own from."
        ),
    ] = False,
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Show an architecture, a system of several, the layers of a network, one layer, a cascade, the file of a dataflow,
    or the JSON Schema of mapping.json.

    With --quiet it only checks what is named.

    \b
    tilewright show eyeriss
    tilewright show eyeriss --yaml > my_chip.yaml
    tilewright show systolic --set array=128x128 --svg systolic.svg
    tilewright show h100x8 --set node.size=4
    tilewright show resnet50
    tilewright show alexnet --set fc8.N=10 --yaml > mine.yaml
    tilewright show llama3_8b --phase decode --dim seq=4096
    tilewright show resnet50:layer1.0.conv2
    tilewright show gpt2_small:qk+softmax+av
    tilewright show weight-stationary
    tilewright show my_chip.yaml
    tilewright show mapping-schema
    """
    from ..mapper.constraints.files import dataflow_text, list_dataflows
    from ..run.documents.files import SCHEMA_NAME, schema_text

    if (svg is not None) + yaml + json > 1:
        given = [option for option, has in (("--svg", svg), ("--yaml", yaml), ("--json", json)) if has]
        raise TilewrightError(f"expected one of {' and '.join(given)}, found {len(given)}", where=given[0])
    if name in list_dataflows():
        _only_architectures(name, set_fields, svg)
        show_document(_plain(dataflow_text(name)) if json else dataflow_text(name))
        return
    if name in (SCHEMA_NAME, "architecture-schema"):
        from ..arch.keys import SCHEMA

        _only_architectures(name, set_fields, svg)
        show_document(schema_text() if name == SCHEMA_NAME else SCHEMA.read_text(encoding="utf-8"))
        return
    if yaml:
        show_document(_file_of(name, sizes, set_fields))
        return
    found = _found(name, sizes, set_fields)
    if svg is not None:
        show_line(str(_draw(found, svg)))
        return
    from ..report.pages.describe import data_of, page_of

    if json:
        show_document(data_of(found))
    else:
        show_page(page_of(found))


def _is_system(name: str) -> bool:
    """Whether a system has that name, or a file starts as systems do."""
    from ..arch.system import list_systems

    return name in list_systems() or _starts_with(name, "system")


def _file_of(name: str, sizes: SizeOptions, settings: list[str] | None) -> str:
    """The text of the file of an architecture or of a network's table, with what is set."""
    from ..arch import list_archs, load_arch
    from ..arch.loader import arch_file
    from ..arch.writer import architecture_text
    from ..workloads import list_networks
    from ..workloads.networks import edited_table

    chosen = settings_named(settings or ())
    if _is_system(name):
        from ..arch.system import load_system, system_file

        _refuse_sizes(name, sizes)
        if chosen:
            raise TilewrightError("the file of a system is printed as it is, without what is set", where="--yaml")
        load_system(name)
        return system_file(name)[0]
    if name in list_networks() or _starts_with(name, "network"):
        return edited_table(name, sizes.sizes, chosen)[1]
    if name in list_archs() or name.endswith((".yaml", ".yml")):
        _refuse_sizes(name, sizes)
        return architecture_text(load_arch(name, chosen)) if chosen else arch_file(name)[0]
    _found(name, sizes, settings)
    hint = "`tilewright list archs` and `tilewright list networks` say which there are"
    raise TilewrightError(
        f"{name} has no file of its own, expected an architecture or a network", where="--yaml", hint=hint
    )


def _refuse_sizes(name: str, sizes: SizeOptions) -> None:
    if sizes.given:
        raise TilewrightError(f"symbols belong to a network, and {name} is none", where=sizes.given)


def _plain(text: str) -> object:
    """What a YAML file says, in Python's lists and dicts."""
    import yaml

    data: object = yaml.safe_load(text)
    return data


def _draw(found: Architecture | System | Network | Work, file: Path) -> Path:
    from ..arch import Architecture
    from ..report.pages.arch_picture import architecture_svg
    from ..results import write_file

    if not isinstance(found, Architecture):
        raise _no_architecture(found.name, "--svg")
    return write_file(file, architecture_svg(found))


def _only_architectures(name: str, settings: list[str] | None, svg: Path | None = None) -> None:
    """TilewrightError when options of an architecture are given for something else."""
    if settings:
        raise _no_architecture(name, "--set")
    if svg is not None:
        raise _no_architecture(name, "--svg")


def _no_architecture(name: str, option: str) -> TilewrightError:
    return TilewrightError(f"{name} is no architecture, expected one", where=option, hint="`tilewright list archs`")


def _names(what: str, network: str | None, dims: Sizes) -> dict[str, str]:
    """The names, each with its description; architectures and systems alone have one."""
    if what == "archs":
        from ..arch import list_archs, load_arch

        return {name: load_arch(name).description for name in list_archs()}
    if what == "systems":
        from ..arch.system import list_systems, load_system

        return {name: load_system(name).description for name in list_systems()}
    return dict.fromkeys(_plain_names(what, network, dims), "")


def _plain_names(what: str, network: str | None, dims: Sizes) -> Iterable[str]:
    from ..workloads import list_networks
    from ..workloads.networks import network_at

    if what == "networks":
        return list_networks()
    if what == "dataflows":
        from ..mapper.constraints.files import list_dataflows

        return list_dataflows()
    if what == "gpus":
        from ..cost_models.gpu import list_gpus

        return list_gpus()
    chosen = list_networks() if network is None else (network,)
    return [f"{name}:{layer.name}" for name in chosen for layer in network_at(name, dims).layers]


def _found(name: str, sizes: SizeOptions, settings: list[str] | None) -> Architecture | System | Network | Work:
    """Whatever has that name: a file says itself which of four kinds it is."""
    from ..arch import list_archs
    from ..arch.system import list_systems
    from ..workloads import ONNX, list_networks, names_cascade, resolve_cascade
    from ..workloads.networks import edited_table, layer_at, network_at

    dims = sizes.sizes
    is_yaml = name.endswith((".yaml", ".yml"))
    if _is_system(name):
        from ..arch.system import load_system

        _refuse_sizes(name, sizes)
        return load_system(name, settings_named(settings or ()))
    if name not in list_archs() and names_cascade(name, dims):
        _only_architectures(name, settings)
        return resolve_cascade(name, dims)
    if name in list_archs() or (is_yaml and not _starts_with(name, "network")):
        _refuse_sizes(name, sizes)
        return architecture_named(name, settings)
    if name in list_networks() or name.lower().endswith(ONNX) or is_yaml:
        if settings and not name.lower().endswith(ONNX):
            return edited_table(name, dims, settings_named(settings))[0]
        _only_architectures(name, settings)
        return network_at(name, dims)
    if ":" in name:
        _only_architectures(name, settings)
        return layer_at(name, dims)
    from ..mapper.constraints.files import list_dataflows

    known = [*list_archs(), *list_systems(), *list_networks(), *list_dataflows()]
    message = f"no architecture, system, network or dataflow is named {name!r}"
    raise TilewrightError(message, hint=did_you_mean(name, known))


def _starts_with(name: str, key: str) -> bool:
    """Whether a YAML file starts with a key at its top; one that cannot be read is for another reader to refuse."""
    is_yaml = name.endswith((".yaml", ".yml"))
    return is_yaml and re.search(f"^{key}:", beginning_of(Path(name)), re.MULTILINE) is not None
