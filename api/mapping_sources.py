"""A mapping from any source: a mapping.json, which holds everything, or a mapping file, which needs a layer."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .arch import Architecture, list_archs, load_arch
from .arch.document import read_text
from .arguments import check_layer
from .cost_models import Cost
from .ir import Mapping, MappingError, Problem, TilewrightError
from .mapper.answer import TriedForm, Unfused
from .mapper.certificate import Certificate
from .mapper.mapping_files import MappingFile, read_mapping_file
from .run.documents.files import read_text as document_text
from .run.documents.mappings import Recorded, parse_mapping
from .workloads import conv_from_text, gemm_from_text, load_layer


class SourcedMapping(NamedTuple):
    """A mapping and its architecture.

    recorded  the figures that were written down with it; None where there are none, or for another architecture
    place     what messages call it
    """

    mapping: Mapping
    arch: Architecture
    recorded: Recorded | None
    place: str

    def evaluated(self, cost: Cost) -> EvaluatedMapping:
        """The mapping with what it costs, to be written down."""
        known = self.recorded
        if known is None:
            return EvaluatedMapping(self.mapping, self.arch, cost)
        return EvaluatedMapping(self.mapping, self.arch, cost, known.certificate, known.unfused, known.forms)


class EvaluatedMapping(NamedTuple):
    """A mapping, what it costs, and what was proven of it."""

    mapping: Mapping
    arch: Architecture
    cost: Cost
    certificate: Certificate | None = None
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()


def load_any(
    source: str | os.PathLike[str],
    layer: Problem | str | None = None,
    arch: Architecture | str | os.PathLike[str] | None = None,
    where: str | None = None,
    settings: dict[str, str] | None = None,
) -> SourcedMapping:
    """The mapping in a file or a text, for the layer and architecture given, or else those that it names.

    source  a path; or a text: of a mapping.json if it starts with `{`, of a mapping file if it has several lines
    where   what messages call it; by default its path
    settings  fields of the architecture that the source names or holds
    returns the mapping; and the figures that were recorded with it, unless another architecture is asked for

    Raises MappingError, with file, line and field, for what cannot be read or does not cover its layer.
    """
    text = source if isinstance(source, str) else ""
    is_text = "\n" in text or text.lstrip().startswith("{")
    path = Path(source)
    place = where or ("<text>" if is_text else os.fspath(source))
    if not is_text:
        # MappingError where a mapping is expected and an architecture is named.
        name = os.fspath(path)
        is_file = path.suffix in (".yaml", ".yml") and path.is_file() and re.search("^mac:", _read(path, place), re.M)
        if is_file or (name in list_archs() and not path.exists()):
            search = f"`tilewright search LAYER --arch {name} --out DIR`"
            hint = f"`tilewright show {name}` prints it, {search} writes a mapping"
            raise MappingError("this is an architecture, expected a mapping", where=place, hint=hint)
    if text.lstrip().startswith("{") or (not is_text and path.suffix not in (".yaml", ".yml")):
        return _on(_documented(text if is_text else document_text(path, place), layer, place), arch, settings)
    file = read_mapping_file(text if is_text else _read(path, place), place)
    problem = layer if isinstance(layer, Problem) else load_layer(layer) if layer else _layer_of(file, place)
    machine = _machine(arch) if arch is not None else load_arch(_named(file, place), settings)
    return SourcedMapping(file.mapping(problem, machine), machine, None, place)


def _documented(text: str, layer: Problem | str | None, place: str) -> SourcedMapping:
    """The mapping of a mapping.json, of a layer or of a cascade."""
    loaded = parse_mapping(text, place)
    if loaded.mapping.is_of_cascade:
        check_layer(layer, loaded.mapping.work)
    else:
        problem = loaded.mapping.problem
        asked = load_layer(layer) if isinstance(layer, str) else layer
        if asked is not None and (asked.dims, asked.dense.tensors) != (problem.dims, problem.dense.tensors):
            raise MappingError(f"the mapping is of {problem.name}, and not of the layer that is given", where=place)
    return SourcedMapping(*loaded, place)


def _on(
    loaded: SourcedMapping, arch: Architecture | str | os.PathLike[str] | None, settings: dict[str, str] | None
) -> SourcedMapping:
    """The mapping on an architecture, or on its own with some fields set."""
    machine = loaded.arch
    if arch is not None:
        machine = _machine(arch)
    elif settings:
        machine = changed_architecture(loaded.arch, settings, loaded.place)
    if machine.cost_text == loaded.arch.cost_text:
        return loaded
    return loaded._replace(arch=machine, recorded=None)


def changed_architecture(arch: Architecture, settings: dict[str, str], place: str) -> Architecture:
    """The architecture of a mapping.json, with fields set. It is there as a finished machine; fields are those of the
    file that it is from."""
    if arch.name not in list_archs() or load_arch(arch.name, arch.settings).cost_text != arch.cost_text:
        message = f"its architecture, {arch.name}, is not that of the library: no field of it can be set"
        raise MappingError(message, where=place, hint="give its file as well, with --arch")
    return load_arch(arch.name, {**arch.settings, **settings})


def _machine(arch: Architecture | str | os.PathLike[str]) -> Architecture:
    return arch if isinstance(arch, Architecture) else load_arch(arch)


def _read(path: Path, place: str) -> str:
    try:
        return read_text(path, place, "a mapping file")
    except TilewrightError as error:
        raise MappingError(error.message, where=error.where, hint=error.hint) from None


def _layer_of(file: MappingFile, place: str) -> Problem:
    readers: dict[str, Callable[[str], Problem]] = {"layer": load_layer, "conv": conv_from_text, "gemm": gemm_from_text}
    given = [key for key in readers if key in file.header]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        hint = "write 'layer: resnet50:conv1', or name the layer in the call"
        raise MappingError(f"expected one layer, as layer, conv or gemm, found {found}", where=place, hint=hint)
    return readers[given[0]](file.header[given[0]])


def _named(file: MappingFile, place: str) -> str:
    if "arch" not in file.header:
        hint = "write 'arch: eyeriss', or name the architecture in the call"
        raise MappingError("no architecture is given", where=place, hint=hint)
    return file.header["arch"]
