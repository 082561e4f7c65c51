"""mapping.json: a mapping with everything that it needs to be understood, run and checked elsewhere.

    {
      "schema_version": 1,
      "written_by": "tilewright 0.1.0",
      "summary": {"energy_pj": ..., "latency_cycles": ..., "edp": ..., "proven": true, ...},
      "problem": {"name": ..., "dims": [["M", 16], ...], "tensors": [...]},
      "architecture": {...},         the whole specification, in base units
      "nest": [{"kind": "node", "memory": "DRAM", "tensor": "A"}, {"kind": "loop", "dim": "M", "trips": 16}, ...],
      "cost": {...},                 what the mapping costs, by memory and tensor
      "certificate": {...}           what the search proved; null for a mapping that was not searched for
    }

The nest is a list of loops and nodes, outermost first; a loop with an axis is spatial. A tensor's rank is a list of
(dimension, coefficient). Unknown keys are refused, so a reader never overlooks what a newer writer meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from ...arch import Architecture, Fanout, Memory
from ...cost_models import Cost, MemoryUse, NetworkUse, TensorTraffic, parse_objective
from ...cost_models.layouts import Lines
from ...cost_models.zeros import Operations, TensorZeros, Zeros
from ...inputs import checks
from ...ir import LoopNest, Mapping, MappingError, Problem, ProblemError, TilewrightError
from ...ir.limits import check_countable
from ...mapper.certificate import Certificate, OpenPart
from .files import SCHEMA_VERSION, Strict, check_version, document_from, members_of, read_text, spread
from .parts import (
    PART_MODELS,
    ArchitecturePart,
    LoopPart,
    NodePart,
    ProblemPart,
    architecture_of,
    architecture_part,
    item_of,
    item_part,
    plain,
    problem_of,
    problem_part,
)


@dataclass(frozen=True)
class Recorded:
    """The figures that a document carries; recomputing them is `evaluate`.

    cost         what the mapping costs
    certificate  what is proven of it; None for a mapping that was not searched for
    """

    cost: Cost
    certificate: Certificate | None


class LoadedMapping(NamedTuple):
    """What a document holds.

    mapping   with its problem
    arch      that it is for
    recorded  figures that were written down with it
    """

    mapping: Mapping
    arch: Architecture
    recorded: Recorded


class _Summary(Strict):
    """The figures that most readers want, some of them derived from those in `cost` and `certificate`.

    energy_pj, latency_cycles, utilization, limited_by  as in `cost`
    latency_s  the whole run, in seconds
    edp        energy x latency, in pJ x cycles
    proven     whether no mapping of the space is better; null: it was not searched for
    gap        how much better another one could be at most, as a fraction of the value; null: it was not searched for
    """

    energy_pj: float
    latency_cycles: float
    latency_s: float
    edp: float
    utilization: float
    limited_by: str
    proven: bool | None
    gap: float | None


class MappingDocument(Strict):
    """A mapping of a layer on an accelerator, with everything that it needs to be understood, run and checked.

    schema_version  of this document
    written_by      the program and its version
    summary         figures that most readers want
    problem         the layer
    architecture    the machine
    nest            loops and storage nodes, outermost first
    cost            what the mapping costs, by memory and tensor
    certificate     what the search proved; null for a mapping that was not searched for
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    written_by: str
    summary: _Summary
    problem: ProblemPart
    architecture: ArchitecturePart
    nest: tuple[Annotated[LoopPart | NodePart, Field(discriminator="kind")], ...]
    cost: Cost
    certificate: Certificate | None


def dump_mapping(mapping: Mapping, arch: Architecture, cost: Cost, certificate: Certificate | None = None) -> str:
    """The mapping.json text of a mapping and its cost; without a certificate for one that was not searched for."""
    document = document_of(mapping, arch, cost, certificate)
    return spread(plain(document), 0) + "\n"


def document_of(
    mapping: Mapping, arch: Architecture, cost: Cost, certificate: Certificate | None = None
) -> MappingDocument:
    """The document of a mapping and its cost."""
    return MappingDocument(
        written_by=written_by(),
        summary=_summary_of(cost, certificate),
        problem=problem_part(mapping.problem),
        architecture=architecture_part(arch),
        nest=tuple(item_part(item) for item in mapping.nest),
        cost=cost,
        certificate=certificate,
    )


@cache
def written_by() -> str:
    """What documents and records say of their writer, such as "tilewright 0.1.0"."""
    return f"tilewright {version('tilewright')}"


def load_mapping(text_or_path: str | os.PathLike[str], where: str | None = None) -> LoadedMapping:
    """The mapping, architecture and recorded figures of a mapping.json.

    text_or_path  its path, or its text, which starts with `{`
    where  what messages call the document; by default its path

    Raises MappingError, with file and field path, for a document that cannot be read, is not of this version, or
    holds a nest that does not cover its problem.
    """
    if where is not None:
        checks.text(where, "where", "what messages call the document", MappingError)
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{"):
        return parse_mapping(text_or_path, where or "<text>")
    path = checks.path(text_or_path, "the mapping", "the path or the text of a mapping.json", MappingError)
    place = where or path
    return parse_mapping(read_text(Path(text_or_path), place), place)


def parse_mapping(text: str, where: str) -> LoadedMapping:
    """As `load_mapping`, of a text; `where` is what messages call it."""
    document = _parse(text, where)
    problem, nest = _problem_and_nest(document, where)
    try:
        mapping = Mapping(problem, nest)
    except TilewrightError as error:
        raise error.located(f"{where}: nest") from None
    if document.certificate:
        check_objective(document.certificate, f"{where}: certificate")
    arch = architecture_of(document.architecture)
    return LoadedMapping(mapping, arch, Recorded(document.cost, document.certificate))


def parse_nest(text: str, where: str) -> tuple[Problem, LoopNest]:
    """As `parse_mapping`, but for the problem and the nest alone: the nest need not cover the problem."""
    return _problem_and_nest(_parse(text, where), where)


def _problem_and_nest(document: MappingDocument, where: str) -> tuple[Problem, LoopNest]:
    try:
        problem = problem_of(document.problem)
        check_countable(problem)
    except ProblemError as error:
        raise MappingError(error.message, where=f"{where}: problem: {error.where}", hint=error.hint) from None
    return problem, LoopNest(tuple(item_of(part) for part in document.nest))


def check_objective(certificate: Certificate, where: str) -> None:
    """MappingError for a certificate whose objective cannot be read."""
    try:
        parse_objective(certificate.objective)
    except TilewrightError as error:
        raise MappingError(error.message, where=f"{where}.{error.where}", hint=error.hint) from None


def _summary_of(cost: Cost, certificate: Certificate | None) -> _Summary:
    return _Summary(
        energy_pj=cost.energy_pj,
        latency_cycles=cost.latency_cycles,
        latency_s=cost.latency_s,
        edp=cost.edp,
        utilization=cost.utilization,
        limited_by=cost.limited_by,
        proven=certificate.proven if certificate else None,
        gap=certificate.gap if certificate else None,
    )


def _parse(text: str, where: str) -> MappingDocument:
    """The document of a text: first as JSON, then its version, then all its fields."""
    check_version(members_of(text, where), SCHEMA_VERSION, where)
    return document_from(text, MappingDocument, _known_keys(), where)


def _known_keys() -> Iterator[str]:
    """Every key of a document."""
    for model in (MappingDocument, _Summary, *PART_MODELS, Architecture, Memory, Fanout):
        yield from model.model_fields
    for record in (
        Cost,
        MemoryUse,
        NetworkUse,
        TensorTraffic,
        Lines,
        Zeros,
        Operations,
        TensorZeros,
        Certificate,
        OpenPart,
    ):
        yield from (field.name for field in fields(record))
